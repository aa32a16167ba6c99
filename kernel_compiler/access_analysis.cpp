// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/access_analysis.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "kernel_compiler/access_collector.h"
#include "kernel_compiler/address_space.h"
#include "kernel_compiler/address_use.h"
#include "kernel_compiler/image_coordinates.h"
#include "kernel_compiler/kernel_signature.h"
#include "kernel_compiler/module_preparation.h"
#include "kernel_compiler/source_line.h"

namespace tutti::kernel_compiler {
namespace {

using scheduler::ArgKind;
using scheduler::Argument;
using scheduler::KernelSummary;

constexpr std::string_view kEnqueues = "__opencl_c_device_enqueue";

void keep_whole(KernelSummary& summary, std::string reason, uint32_t line) {
  if (summary.whole_reason.empty()) {
    summary.whole_reason = std::move(reason);
    summary.whole_line = line;
  }
}

/// Instructions of `kernel` that use `value`, also inside constant expressions.
const llvm::Instruction* user_in(const llvm::Value& value, const llvm::Function& kernel) {
  for (const llvm::User* user : value.users()) {
    if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user)) {
      if (instruction->getFunction() == &kernel) {
        return instruction;
      }
    } else if (llvm::isa<llvm::Constant>(user)) {
      if (const llvm::Instruction* inner = user_in(*user, kernel)) {
        return inner;
      }
    }
  }
  return nullptr;
}

void check_arguments(const llvm::Function& kernel, KernelSummary& summary, uint32_t line) {
  for (unsigned i = 0; i < summary.arguments.size(); ++i) {
    const Argument& argument = summary.arguments[i];
    switch (argument.kind) {
      case ArgKind::kImage:
        if (argument.access != "read_only" &&
            (argument.access != "write_only" || !image_kind(kernel.getArg(i)->getType()))) {
          keep_whole(summary,
                     "writes to image argument " + argument.name + " of type " + argument.type_name,
                     line);
        }
        break;
      case ArgKind::kPipe:
        keep_whole(summary, "argument " + argument.name + " is a pipe, which one device has", line);
        break;
      case ArgKind::kOther:
        keep_whole(summary, "argument " + argument.name + " of type " + argument.type_name, line);
        break;
      case ArgKind::kLocal:
        summary.uses_local_memory = true;
        break;
      default:
        break;
    }
  }
}

void check_variables(const llvm::Function& kernel, KernelSummary& summary) {
  for (const llvm::GlobalVariable& variable : kernel.getParent()->globals()) {
    if (variable.getAddressSpace() == kLocalSpace) {
      summary.uses_local_memory |= user_in(variable, kernel) != nullptr;
    } else if (variable.getAddressSpace() == kGlobalSpace && !variable.isConstant()) {
      if (const llvm::Instruction* user = user_in(variable, kernel)) {
        keep_whole(summary, "uses the program's variable " + variable.getName().str(),
                   source_line(*user));
      }
    }
  }
}

/// How many steps it took.
uint64_t analyse(llvm::Function& kernel, bool too_long, Analyses& analyses,
                 const std::set<std::string>& foreign, KernelSummary& summary) {
  const uint32_t line = kernel.getSubprogram() != nullptr ? kernel.getSubprogram()->getLine() : 0;
  const bool matched = read_arguments(kernel, summary.arguments);
  if (!matched) {
    keep_whole(summary, "arguments that are not understood", line);
    return 0;
  }
  if (too_long) {
    keep_whole(summary, "more branches and variables than can be analysed", line);
    return 0;
  }
  if (summary.uses(kEnqueues)) {
    keep_whole(summary, "enqueues kernels, which may touch all that it is given", line);
  }
  check_arguments(kernel, summary, line);
  check_variables(kernel, summary);
  auto& loops = analyses.functions.getResult<llvm::LoopAnalysis>(kernel);
  llvm::ReversePostOrderTraversal<llvm::Function*> order(&kernel);
  if (llvm::containsIrreducibleCFG<llvm::BasicBlock*>(order, loops)) {
    // Loops that LoopInfo does not see: "the current iteration" would mean nothing.
    keep_whole(summary, "jumps into the middle of a loop", line);
    return 0;
  }
  AccessCollector collector(
      summary, kernel, analyses.functions.getResult<llvm::DominatorTreeAnalysis>(kernel), loops,
      analyses.functions.getResult<llvm::ScalarEvolutionAnalysis>(kernel), foreign);
  collector.run();
  return collector.steps();
}

}  // namespace

void keep_all_whole(const llvm::Module& module, const std::string& reason,
                    std::vector<KernelSummary>& kernels) {
  for (KernelSummary& summary : kernels) {
    const llvm::Function* kernel = module.getFunction(summary.name);
    if (kernel != nullptr && !kernel->isDeclaration()) {
      read_arguments(*kernel, summary.arguments);
    }
    summary.uses_addresses = true;  // for all that is known
    keep_whole(summary, reason, 0);
  }
}

uint64_t analyse_accesses(llvm::Module& module, const std::set<std::string>& foreign,
                          std::vector<KernelSummary>& kernels) {
  Analyses analyses;
  uint64_t steps = 0;
  const auto too_long = prepare_module(module, analyses, foreign);
  for (KernelSummary& summary : kernels) {
    llvm::Function* kernel = module.getFunction(summary.name);
    if (kernel == nullptr || kernel->isDeclaration()) {
      summary.uses_addresses = true;
      keep_whole(summary, "no code was generated", 0);
      continue;
    }
    steps += analyse(*kernel, too_long.contains(kernel), analyses, foreign, summary);
    // Kernels that it enqueues get what it has captured.
    summary.uses_addresses =
        summary.uses(kEnqueues) || uses_addresses(*kernel, summary.arguments, foreign);
  }
  return steps;
}

}  // namespace tutti::kernel_compiler
