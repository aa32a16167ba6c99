// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/module_preparation.h"

#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>
#include <map>
#include <vector>

#include "kernel_compiler/builtin_lowering.h"
#include "kernel_compiler/kept_stores.h"
#include "kernel_compiler/linear_passes.h"
#include "kernel_compiler/private_functions.h"

namespace tutti::kernel_compiler {
namespace {

/// Instructions of a kernel with everything inlined; beyond, time and memory are not bounded well.
constexpr uint64_t kMostInstructions = 50'000;
/// From so many on, private functions of some length stay apart, which takes a fraction of the
/// time.
constexpr uint64_t kManyInstructions = 20'000;
constexpr uint64_t kWorthApart = 100;
// What LLVM's passes do grows with the square of these: the blocks that are searched for where
// values meet, and whose tests are merged to switches; the variables in registers, whose phi nodes
// are compared; the uses of an array, which are looked at whenever one of them has changed. Each
// number takes one or two seconds.
constexpr uint64_t kMostBlocks = 16'000;
constexpr uint64_t kMostVariables = 8'000;
constexpr uint64_t kMostUses = 6'000;

using Functions = std::set<const llvm::Function*>;

bool is_kernel(const llvm::Function& function) {
  return function.getCallingConv() == llvm::CallingConv::SPIR_KERNEL;
}

std::vector<llvm::CallBase*> calls_in(llvm::Function& function) {
  std::vector<llvm::CallBase*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
    if (callee != nullptr && !callee->isDeclaration()) calls.push_back(call);
  }
  return calls;
}

bool is_too_long(const llvm::Function& function) {
  if (function.size() > kMostBlocks) return true;
  uint64_t variables = 0;
  for (const llvm::Instruction& instruction : function.front()) {
    const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (variable == nullptr) continue;
    // Loads and stores of a single value go at once.
    if (++variables > kMostVariables ||
        (!llvm::isAllocaPromotable(variable) && variable->hasNUsesOrMore(kMostUses))) {
      return true;
    }
  }
  return false;
}

/// The functions that the passes would take long for.
Functions long_functions(const llvm::Module& module) {
  Functions result;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() && is_too_long(function)) result.insert(&function);
  }
  return result;
}

/// All functions but the long ones.
void run_on_short(llvm::FunctionPassManager passes, llvm::Module& module, const Functions& too_long,
                  Analyses& analyses) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || too_long.contains(&function)) continue;
    const llvm::PreservedAnalyses preserved = passes.run(function, analyses.functions);
    analyses.functions.invalidate(function, preserved);
  }
}

/// Marks for inlining every function that is not recursive and fits into its callers, but those
/// that stay `apart`, up to `most` instructions. Call chains can double the size at every level, so
/// sizes are computed before anything is inlined. Returns whether all calls could be marked.
bool choose_inlining(llvm::Module& module, const Functions& apart, uint64_t most) {
  llvm::CallGraph graph(module);
  std::map<const llvm::Function*, uint64_t> size;  // after inlining
  bool all = true;
  // Strongly connected components, callees first.
  for (auto scc = llvm::scc_begin(&graph); !scc.isAtEnd(); ++scc) {
    for (const llvm::CallGraphNode* node : *scc) {
      llvm::Function* function = node->getFunction();
      if (function == nullptr || function->isDeclaration()) {
        continue;
      }
      function->removeFnAttr(llvm::Attribute::NoInline);
      function->removeFnAttr(llvm::Attribute::OptimizeNone);
      function->removeFnAttr(llvm::Attribute::AlwaysInline);
      const uint64_t own = function->getInstructionCount();
      uint64_t total = own;
      const std::vector<llvm::CallBase*> calls = calls_in(*function);
      for (const llvm::CallBase* call : calls) {
        const llvm::Function* callee = call->getCalledFunction();
        if (apart.count(callee) == 0) total += size[callee];
      }
      const bool fits = total <= most;
      all = all && fits;
      for (llvm::CallBase* call : calls) {
        if (!fits || apart.count(call->getCalledFunction()) != 0) {
          call->setIsNoInline();
        } else {
          call->removeFnAttr(llvm::Attribute::NoInline);
        }
      }
      size[function] = fits ? total : own;
      if (!scc.hasCycle()) {
        function->addFnAttr(llvm::Attribute::AlwaysInline);
      }
    }
  }
  return all;
}

/// The larger functions that are of no interest to a summary.
Functions large_private_functions(const llvm::Module& module,
                                  const std::set<std::string>& foreign) {
  PrivateFunctions functions(foreign);
  Functions result;
  for (const llvm::Function& function : module) {
    if (!is_kernel(function) && function.getInstructionCount() >= kWorthApart &&
        functions.contains(function)) {
      result.insert(&function);
    }
  }
  return result;
}

/// Only what touches memory or is called is ever named to the user; every other location would be
/// copied with each inlining.
void drop_locations(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        if (!instruction.mayReadOrWriteMemory() && !llvm::isa<llvm::CallBase>(instruction)) {
          instruction.setDebugLoc({});
        }
      }
    }
  }
}

/// A structure passed by value may be changed by the kernel. A private copy of it lets SROA tell
/// the values it came with (loads of the argument itself) from later ones.
void copy_by_value_arguments(llvm::Function& kernel) {
  const llvm::DataLayout& layout = kernel.getParent()->getDataLayout();
  llvm::IRBuilder<> builder(&kernel.getEntryBlock(), kernel.getEntryBlock().getFirstInsertionPt());
  for (llvm::Argument& argument : kernel.args()) {
    llvm::Type* type = argument.getParamByValType();
    if (type == nullptr) {
      continue;
    }
    llvm::AllocaInst* copy = builder.CreateAlloca(type);
    const llvm::Align align = argument.getParamAlign().value_or(llvm::Align(1));
    copy->setAlignment(align);
    argument.replaceAllUsesWith(copy);
    builder.CreateMemCpy(copy, align, &argument, align,
                         layout.getTypeAllocSize(type).getFixedValue());
  }
}

llvm::FunctionPassManager pipeline() {
  llvm::FunctionPassManager passes;
  const auto clean = [&] {
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(KeepStoresPass());
    passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
    passes.addPass(HideConditionsPass());
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(HideEmptyBlocksPass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(ShowEmptyBlocksPass());
    passes.addPass(ShowConditionsPass());
  };
  clean();
  // Coordinates are often kept in small vectors; their lanes are what addresses are made of.
  passes.addPass(llvm::ScalarizerPass());
  clean();
  passes.addPass(llvm::ADCEPass());
  passes.addPass(llvm::LoopSimplifyPass());
  passes.addPass(llvm::LCSSAPass());
  passes.addPass(RotateLoopsPass());
  // Scalar evolution takes for invariant only what stands outside a loop. No promotion of memory to
  // registers (the second number: not for loops with more accesses than 0).
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(
      llvm::LICMPass(/*LicmMssaOptCap=*/100, /*LicmMssaNoAccForPromotionCap=*/0,
                     /*AllowSpeculation=*/true),
      /*UseMemorySSA=*/true));
  clean();
  passes.addPass(ReleaseStoresPass());
  passes.addPass(llvm::LoopSimplifyPass());
  passes.addPass(llvm::LCSSAPass());
  return passes;
}

}  // namespace

Analyses::Analyses() {
  // Registered first, so that they win over the defaults: no library function has a known meaning
  // here (a program's own `memcpy` or `floor` is just a function), and memory is told apart only by
  // what the code shows, not by types, which programs pun.
  functions.registerPass([] {
    llvm::TargetLibraryInfoImpl library;
    library.disableAllFunctions();
    return llvm::TargetLibraryAnalysis(library);
  });
  functions.registerPass([] {
    llvm::AAManager aliases;
    aliases.registerFunctionAnalysis<llvm::BasicAA>();
    return aliases;
  });
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
}

Functions prepare_module(llvm::Module& module, Analyses& analyses,
                         const std::set<std::string>& foreign) {
  lower_builtins(module, foreign);
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && !is_kernel(function)) {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
  }
  // Programs include libraries of functions of which a kernel uses few. What is left is simplified
  // before it is copied into its callers: as Clang emits it, code is several times as long.
  llvm::ModulePassManager first;
  first.addPass(llvm::GlobalDCEPass());
  first.run(module, analyses.modules);
  Functions too_long = long_functions(module);
  llvm::FunctionPassManager simplify;
  simplify.addPass(PromoteInPartsPass());
  simplify.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  simplify.addPass(KeepStoresPass());
  simplify.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  run_on_short(std::move(simplify), module, too_long, analyses);
  drop_locations(module);

  if (!choose_inlining(module, too_long, kManyInstructions)) {
    Functions apart = large_private_functions(module, foreign);
    apart.insert(too_long.begin(), too_long.end());
    choose_inlining(module, apart, kMostInstructions);
  }
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && is_kernel(function)) {
      copy_by_value_arguments(function);
    }
  }
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  passes.run(module, analyses.modules);
  too_long = long_functions(module);  // those of before are as they were, unless they were dropped
  run_on_short(pipeline(), module, too_long, analyses);
  std::erase_if(too_long, [](const llvm::Function* function) { return !is_kernel(*function); });
  return too_long;
}

}  // namespace tutti::kernel_compiler
