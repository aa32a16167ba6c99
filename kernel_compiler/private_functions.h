// SPDX-License-Identifier: Apache-2.0
// Which functions of a program touch private and local memory only, and compute values. What they
// do is of no interest to an access summary, so calls of large ones need not be inlined.
//
// Obligation: a function that may touch global memory or a kernel's constant arguments, work as one
// group, or do what keeps a kernel whole, is not among them.
//
// Not thread-safe; must not outlive the module, whose functions must not change meanwhile.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <map>
#include <set>
#include <string>

namespace tutti::kernel_compiler {

class PrivateFunctions {
 public:
  /// `foreign`: functions that the program calls and does not define.
  explicit PrivateFunctions(const std::set<std::string>& foreign) : foreign_(foreign) {}

  bool contains(const llvm::Function& function);

 private:
  bool harmless(const llvm::Instruction& instruction);
  bool harmless_call(const llvm::CallBase& call);

  const std::set<std::string>& foreign_;
  std::map<const llvm::Function*, bool> known_;  // false while it is looked at: recursive ones
};

}  // namespace tutti::kernel_compiler
