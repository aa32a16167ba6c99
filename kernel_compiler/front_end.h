// SPDX-License-Identifier: Apache-2.0
// Clang in this process: preprocesses an OpenCL C program for the vendors, and parses the result
// to an abstract syntax tree and unoptimised LLVM IR. Stateless; safe to call from any thread, each
// call has Clang and LLVM objects of its own. Reads the file system only for the program's
// `#include`s; prints nothing and installs no handlers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernel_compiler/build_options.h"
#include "kernel_compiler/compile_types.h"

namespace clang {
class ASTContext;
class CodeGenerator;
}  // namespace clang
namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace tutti::kernel_compiler {

/// The program's own name in messages and line marks.
inline constexpr char kSourceName[] = "<source>";

/// What both stages need to know of the request.
struct FrontEndSettings {
  const CompileRequest* request = nullptr;
  BuildOptions options;
  uint32_t language = 120;
};

/// Stage one, to `output.preprocessed`; notes on what else that depends. Returns whether it
/// succeeded; diagnostics are appended to the log either way.
bool preprocess(const FrontEndSettings& settings, CompileOutput& output);

/// Called after a translation unit was parsed without errors, while its tree and the code
/// generator's names are alive.
using TreeVisitor = std::function<void(clang::ASTContext&, clang::CodeGenerator&)>;

/// What code is generated for: everything, or kernels and the functions that they reach.
enum class Emit { kAll, kReached };

/// Stage two. Null on errors; diagnostics are appended to `log`.
std::unique_ptr<llvm::Module> parse(const FrontEndSettings& settings, const std::string& text,
                                    llvm::LLVMContext& context, const TreeVisitor& visit, Emit emit,
                                    std::string& log);

/// Whether `text` compiles; diagnostics are appended to `log`. With `visit`, the tree is shown to
/// it, also that of a text with errors if `with_errors`.
bool check(const FrontEndSettings& settings, const std::string& text, std::string& log,
           const std::function<void(clang::ASTContext&)>& visit = {}, bool with_errors = false);

}  // namespace tutti::kernel_compiler
