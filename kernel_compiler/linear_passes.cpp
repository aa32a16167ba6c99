// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/linear_passes.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopRotationUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tutti::kernel_compiler {
namespace {

constexpr size_t kPromotedTogether = 64;
/// A variable of so many blocks at most, like a loop's counter, is local to them.
constexpr size_t kLocalBlocks = 8;
constexpr unsigned kConditionsPerValue = 32;
constexpr const char* kHiddenCondition = "tutti.hidden.condition";
constexpr unsigned kMeetingBlocks = 256;
constexpr const char* kHiddenBlock = "tutti.hidden.block";
/// Instructions of a header that are copied before the loop; LLVM's number.
constexpr unsigned kLongestHeader = 16;
/// From so many exits on a loop stays as it is: each gets a block of its own, for which all the
/// others are looked at.
constexpr size_t kMostExits = 256;

/// Cuts a loop out of its function, in which then nothing is reachable but the entry block, the
/// loop, and the blocks that it exits to; puts it back in its destructor.
class LoopAlone {
 public:
  LoopAlone(llvm::Loop& loop, llvm::LoopInfo& loops) {
    llvm::BasicBlock* preheader = loop.getLoopPreheader();
    llvm::BasicBlock* entry = &preheader->getParent()->getEntryBlock();
    // Without phi nodes, which would want a value for the way from the entry.
    llvm::BasicBlock* start = llvm::SplitBlock(preheader, preheader->getTerminator()->getIterator(),
                                               static_cast<llvm::DomTreeUpdater*>(nullptr), &loops);
    llvm::SmallVector<llvm::BasicBlock*, 8> exits;
    loop.getUniqueExitBlocks(exits);
    for (llvm::BasicBlock* exit : exits) {
      take_end(*exit);
      new llvm::UnreachableInst(exit->getContext(), exit);
    }
    if (entry != preheader) {
      take_end(*entry);
      llvm::BranchInst::Create(start, entry);
    }
  }
  LoopAlone(const LoopAlone&) = delete;
  LoopAlone& operator=(const LoopAlone&) = delete;
  ~LoopAlone() {
    for (const auto& [block, end] : ends_) {
      block->getTerminator()->eraseFromParent();
      end->insertInto(block, block->end());
    }
  }

 private:
  void take_end(llvm::BasicBlock& block) {
    ends_.emplace_back(&block, block.getTerminator());
    ends_.back().second->removeFromParent();
  }

  std::vector<std::pair<llvm::BasicBlock*, llvm::Instruction*>> ends_;
};

/// Puts a variable in registers that is stored and used in few blocks, looking at the way between
/// them alone; mem2reg looks at all that its first store dominates. False: it is none such.
bool promote_local(llvm::AllocaInst& variable) {
  llvm::SmallVector<llvm::Instruction*, 16> uses;
  llvm::SmallPtrSet<const llvm::BasicBlock*, kLocalBlocks> blocks;
  size_t stores = 0;
  for (llvm::User* user : variable.users()) {
    auto* use = llvm::cast<llvm::Instruction>(user);
    const bool store = llvm::isa<llvm::StoreInst>(use);
    if (!store && !llvm::isa<llvm::LoadInst>(use)) return false;
    if (llvm::getLoadStoreType(use) != variable.getAllocatedType()) return false;
    stores += store ? 1 : 0;
    uses.push_back(use);
    blocks.insert(use->getParent());
    if (blocks.size() > kLocalBlocks) return false;
  }
  if (stores < 2) return false;  // mem2reg is quick then
  llvm::SSAUpdater updater;
  llvm::LoadAndStorePromoter(uses, updater, variable.getName()).run(uses);
  variable.eraseFromParent();
  return true;
}

size_t exit_edges(const llvm::Loop& loop) {
  llvm::SmallVector<llvm::Loop::Edge, 8> edges;
  loop.getExitEdges(edges);
  return edges.size();
}

}  // namespace

llvm::PreservedAnalyses PromoteInPartsPass::run(llvm::Function& function,
                                                llvm::FunctionAnalysisManager& analyses) {
  std::vector<llvm::AllocaInst*> variables;
  for (llvm::Instruction& instruction : function.getEntryBlock()) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (variable != nullptr && llvm::isAllocaPromotable(variable)) variables.push_back(variable);
  }
  if (variables.size() <= kPromotedTogether) return llvm::PreservedAnalyses::all();
  auto& tree = analyses.getResult<llvm::DominatorTreeAnalysis>(function);
  auto& assumptions = analyses.getResult<llvm::AssumptionAnalysis>(function);
  std::erase_if(variables, [](llvm::AllocaInst* variable) { return promote_local(*variable); });
  const llvm::ArrayRef<llvm::AllocaInst*> all(variables);
  for (size_t i = 0; i < all.size(); i += kPromotedTogether) {
    llvm::PromoteMemToReg(all.slice(i, std::min(kPromotedTogether, all.size() - i)), tree,
                          &assumptions);
  }
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

llvm::PreservedAnalyses HideConditionsPass::run(llvm::Function& function,
                                                llvm::FunctionAnalysisManager&) {
  llvm::DenseMap<const llvm::Value*, unsigned> conditions;
  std::vector<llvm::BranchInst*> hidden;
  for (llvm::BasicBlock& block : function) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (branch == nullptr || !branch->isConditional()) continue;
    bool too_many = false;
    llvm::findValuesAffectedByCondition(
        branch->getCondition(), /*IsAssume=*/false,
        [&](llvm::Value* value) { too_many |= ++conditions[value] > kConditionsPerValue; });
    if (too_many) hidden.push_back(branch);
  }
  if (hidden.empty()) return llvm::PreservedAnalyses::all();
  llvm::Type* type = llvm::Type::getInt1Ty(function.getContext());
  llvm::FunctionCallee hide =
      function.getParent()->getOrInsertFunction(kHiddenCondition, type, type);
  auto* declaration = llvm::cast<llvm::Function>(hide.getCallee());
  declaration->setDoesNotAccessMemory();
  declaration->setDoesNotThrow();
  declaration->setWillReturn();
  for (llvm::BranchInst* branch : hidden) {
    llvm::IRBuilder<> builder(branch);
    branch->setCondition(builder.CreateCall(hide, {branch->getCondition()}));
  }
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

llvm::PreservedAnalyses ShowConditionsPass::run(llvm::Function& function,
                                                llvm::FunctionAnalysisManager&) {
  const llvm::Function* hide = function.getParent()->getFunction(kHiddenCondition);
  if (hide == nullptr) return llvm::PreservedAnalyses::all();
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call == nullptr || call->getCalledFunction() != hide) continue;
    call->replaceAllUsesWith(call->getArgOperand(0));
    call->eraseFromParent();
  }
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

llvm::PreservedAnalyses HideEmptyBlocksPass::run(llvm::Function& function,
                                                 llvm::FunctionAnalysisManager&) {
  std::vector<llvm::Instruction*> hidden;
  for (llvm::BasicBlock& block : function) {
    if (!block.hasNPredecessorsOrMore(kMeetingBlocks)) continue;
    for (llvm::BasicBlock* before : llvm::predecessors(&block)) {
      llvm::Instruction* end = before->getTerminator();
      if (before->getFirstNonPHIOrDbg() == end && before->getSingleSuccessor() == &block) {
        hidden.push_back(end);
      }
    }
  }
  if (hidden.empty()) return llvm::PreservedAnalyses::all();
  llvm::FunctionCallee hide = function.getParent()->getOrInsertFunction(
      kHiddenBlock, llvm::Type::getVoidTy(function.getContext()));
  auto* declaration = llvm::cast<llvm::Function>(hide.getCallee());
  // Else it would be dropped.
  declaration->setOnlyAccessesInaccessibleMemory();
  declaration->setDoesNotThrow();
  declaration->setWillReturn();
  for (llvm::Instruction* end : hidden) llvm::CallInst::Create(hide, "", end->getIterator());
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

llvm::PreservedAnalyses ShowEmptyBlocksPass::run(llvm::Function& function,
                                                 llvm::FunctionAnalysisManager&) {
  llvm::Function* hide = function.getParent()->getFunction(kHiddenBlock);
  if (hide == nullptr) return llvm::PreservedAnalyses::all();
  for (llvm::User* call : llvm::make_early_inc_range(hide->users())) {
    auto* instruction = llvm::cast<llvm::Instruction>(call);
    if (instruction->getFunction() == &function) instruction->eraseFromParent();
  }
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

llvm::PreservedAnalyses RotateLoopsPass::run(llvm::Function& function,
                                             llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  if (loops.empty()) return llvm::PreservedAnalyses::all();
  auto& assumptions = analyses.getResult<llvm::AssumptionAnalysis>(function);
  const auto& target = analyses.getResult<llvm::TargetIRAnalysis>(function);
  // Without a dominator tree: that of a loop alone knows nothing of what is before it.
  const llvm::SimplifyQuery query(function.getParent()->getDataLayout(),
                                  &analyses.getResult<llvm::TargetLibraryAnalysis>(function),
                                  /*DT=*/nullptr, &assumptions);
  const auto outer_first = loops.getLoopsInPreorder();
  for (auto loop = outer_first.rbegin(); loop != outer_first.rend(); ++loop) {
    if (!(*loop)->isLoopSimplifyForm() || exit_edges(**loop) > kMostExits) continue;
    const LoopAlone alone(**loop, loops);
    llvm::DominatorTree tree(function);
    llvm::LoopRotation(*loop, &loops, &target, &assumptions, &tree, /*SE=*/nullptr,
                       /*MSSAU=*/nullptr, query, /*RotationOnly=*/false, kLongestHeader,
                       /*IsUtilMode=*/false);
  }
  return llvm::PreservedAnalyses::none();
}

}  // namespace tutti::kernel_compiler
