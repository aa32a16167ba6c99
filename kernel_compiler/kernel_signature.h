// SPDX-License-Identifier: Apache-2.0
// What a program declares of its kernels: names, arguments, attributes. Pure functions.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kernel_compiler/build_options.h"
#include "scheduler/access/access_summary.h"

namespace clang {
class ASTContext;
class CodeGenerator;
}  // namespace clang
namespace llvm {
class Function;
}

namespace tutti::kernel_compiler {

/// The program's kernels in source order: name, file, attributes, reqd_local, whether their
/// arguments may be asked for and their last work-groups be smaller, with everything else empty.
std::vector<scheduler::KernelSummary> declared_kernels(clang::ASTContext& context,
                                                       const BuildOptions& options);

/// Names in LLVM IR of functions that the program declares and calls but does not define.
std::set<std::string> foreign_functions(clang::CodeGenerator& generator);

/// The arguments as clGetKernelArgInfo reports them, from the kernel's IR and its metadata. False
/// when IR and declaration do not correspond one to one (then the names are right, no more).
bool read_arguments(const llvm::Function& kernel, std::vector<scheduler::Argument>& arguments);

}  // namespace tutti::kernel_compiler
