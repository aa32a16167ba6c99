// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/access_control.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <optional>
#include <set>

namespace tutti::kernel_compiler {
namespace {

using llvm::BasicBlock;
using llvm::Loop;
using llvm::Value;
using scheduler::Compare;
using scheduler::Guard;

// Long chains of tests (generated code) tell little and cost much.
constexpr int kDeepestCondition = 32;
constexpr size_t kMostGuards = 32;

std::optional<Compare> compare_of(llvm::CmpInst::Predicate predicate) {
  switch (predicate) {
    case llvm::CmpInst::ICMP_EQ:
      return Compare::kEq;
    case llvm::CmpInst::ICMP_NE:
      return Compare::kNe;
    case llvm::CmpInst::ICMP_ULT:
      return Compare::kULt;
    case llvm::CmpInst::ICMP_ULE:
      return Compare::kULe;
    case llvm::CmpInst::ICMP_UGT:
      return Compare::kUGt;
    case llvm::CmpInst::ICMP_UGE:
      return Compare::kUGe;
    case llvm::CmpInst::ICMP_SLT:
      return Compare::kSLt;
    case llvm::CmpInst::ICMP_SLE:
      return Compare::kSLe;
    case llvm::CmpInst::ICMP_SGT:
      return Compare::kSGt;
    case llvm::CmpInst::ICMP_SGE:
      return Compare::kSGe;
    default:
      return std::nullopt;
  }
}

}  // namespace

ControlAnalysis::ControlAnalysis(const scheduler::KernelSummary& summary, ExprBuilder& builder,
                                 llvm::DominatorTree& tree, llvm::LoopInfo& loops,
                                 llvm::ScalarEvolution& evolution)
    : summary_(summary), builder_(builder), tree_(tree), loops_(loops), evolution_(evolution) {}

bool ControlAnalysis::add_guard(const Guard& guard, std::vector<Guard>& guards) {
  // A bound that may be any of several values bounds nothing for certain.
  if (!builder_.exact(guard.left) || !builder_.exact(guard.right) || guards.size() >= kMostGuards) {
    return false;
  }
  if (std::find(guards.begin(), guards.end(), guard) == guards.end()) {
    guards.push_back(guard);
  }
  return true;
}

bool ControlAnalysis::add_compare(Value* left, Value* right, Compare compare, const Loop* where,
                                  const Loop* scope, std::vector<Guard>& guards) {
  if (!left->getType()->isIntegerTy() || left->getType()->getIntegerBitWidth() > 64) {
    return false;
  }
  return add_guard(
      {compare, builder_.translate(left, where, scope), builder_.translate(right, where, scope)},
      guards);
}

/// For a loop whose number of iterations is not known (`i += get_global_size(0)` may wrap around):
/// where `i < n` is tested before the loop and again before each further iteration, it holds in
/// every iteration, whatever the number. Necessary, so it takes nothing from exactness.
void ControlAnalysis::add_loop_bound(const Loop* loop, const Loop* scope,
                                     std::vector<Guard>& guards) {
  const BasicBlock* latch = loop->getLoopLatch();
  const auto* branch =
      latch != nullptr ? llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator()) : nullptr;
  if (branch == nullptr || !branch->isConditional() ||
      branch->getSuccessor(0) == branch->getSuccessor(1)) {
    return;
  }
  auto* test = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (test == nullptr || !evolution_.isSCEVable(test->getOperand(0)->getType())) {
    return;
  }
  auto predicate = branch->getSuccessor(0) == loop->getHeader() ? test->getPredicate()
                                                                : test->getInversePredicate();
  const llvm::SCEV* left = evolution_.getSCEV(test->getOperand(0));
  const llvm::SCEV* right = evolution_.getSCEV(test->getOperand(1));
  if (evolution_.isLoopInvariant(left, loop)) {
    std::swap(left, right);
    predicate = llvm::ICmpInst::getSwappedPredicate(predicate);
  }
  const auto* next = llvm::dyn_cast<llvm::SCEVAddRecExpr>(left);
  const auto compare = compare_of(predicate);
  if (next == nullptr || next->getLoop() != loop || !next->isAffine() || !compare ||
      !evolution_.isLoopInvariant(right, loop) || !next->getType()->isIntegerTy() ||
      next->getType()->getIntegerBitWidth() > 64) {
    return;
  }
  // `next` of one iteration is the value of the following one.
  const llvm::SCEV* step = next->getStepRecurrence(evolution_);
  const llvm::SCEV* start = evolution_.getMinusSCEV(next->getStart(), step);
  if (!evolution_.isLoopEntryGuardedByCond(loop, predicate, start, right)) {
    return;
  }
  const llvm::SCEV* current = evolution_.getAddRecExpr(start, step, loop, llvm::SCEV::FlagAnyWrap);
  add_guard({*compare, builder_.translate(current, scope), builder_.translate(right, scope)},
            guards);
}

/// Adds what follows from `condition` being `truth`; returns whether that is all that it says.
bool ControlAnalysis::add_condition(Value* condition, bool truth, const Loop* scope,
                                    std::vector<Guard>& guards, int depth) {
  if (depth > kDeepestCondition) {
    return false;
  }
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    return constant->isOne() == truth;
  }
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(condition);
  if (instruction == nullptr) {
    return false;
  }
  const auto both = [&](Value* left, Value* right) {
    const bool first = add_condition(left, truth, scope, guards, depth + 1);
    const bool second = add_condition(right, truth, scope, guards, depth + 1);
    return first && second;
  };
  const auto is_constant = [](const Value* value, bool wanted) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
    return constant != nullptr && constant->isOne() == wanted;
  };
  switch (instruction->getOpcode()) {
    case llvm::Instruction::ICmp: {
      auto* test = llvm::cast<llvm::ICmpInst>(instruction);
      const auto compare = compare_of(truth ? test->getPredicate() : test->getInversePredicate());
      return compare && add_compare(test->getOperand(0), test->getOperand(1), *compare,
                                    loops_.getLoopFor(test->getParent()), scope, guards);
    }
    case llvm::Instruction::And:
      return truth && both(instruction->getOperand(0), instruction->getOperand(1));
    case llvm::Instruction::Or:
      return !truth && both(instruction->getOperand(0), instruction->getOperand(1));
    case llvm::Instruction::Select:
      if (truth && is_constant(instruction->getOperand(2), false)) {  // a && b
        return both(instruction->getOperand(0), instruction->getOperand(1));
      }
      if (!truth && is_constant(instruction->getOperand(1), true)) {  // a || b
        return both(instruction->getOperand(0), instruction->getOperand(2));
      }
      return false;
    case llvm::Instruction::Xor:
      return is_constant(instruction->getOperand(1), true) &&
             add_condition(instruction->getOperand(0), !truth, scope, guards, depth + 1);
    case llvm::Instruction::Freeze:
      return add_condition(instruction->getOperand(0), truth, scope, guards, depth + 1);
    default:
      return false;
  }
}

/// Adds what follows from control having passed from `from` to `to`.
bool ControlAnalysis::add_branch(BasicBlock* from, BasicBlock* to, const Loop* scope,
                                 std::vector<Guard>& guards) {
  llvm::Instruction* end = from->getTerminator();
  if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(end)) {
    return branch->isConditional() && branch->getSuccessor(0) != branch->getSuccessor(1) &&
           add_condition(branch->getCondition(), branch->getSuccessor(0) == to, scope, guards, 0);
  }
  auto* choice = llvm::dyn_cast<llvm::SwitchInst>(end);
  if (choice == nullptr) {
    return false;
  }
  const Loop* where = loops_.getLoopFor(from);
  if (choice->getDefaultDest() == to) {
    bool complete = true;
    for (auto entry : choice->cases()) {
      if (entry.getCaseSuccessor() == to) {
        complete = false;  // this value comes here as well
      } else {
        complete = add_compare(choice->getCondition(), entry.getCaseValue(), Compare::kNe, where,
                               scope, guards) &&
                   complete;
      }
    }
    return complete;
  }
  llvm::ConstantInt* value = choice->findCaseDest(to);  // null where several values come here
  return value != nullptr &&
         add_compare(choice->getCondition(), value, Compare::kEq, where, scope, guards);
}

const Conditions& ControlAnalysis::of(BasicBlock* block) {
  if (const auto it = known_.find(block); it != known_.end()) {
    return it->second;
  }
  const Loop* scope = loops_.getLoopFor(block);
  Conditions result;
  result.loops = builder_.enclosing(scope);
  Forced forced;
  // A branch edge that dominates the block was the last one taken from its branch before the
  // block ran, in the same iteration of every loop around both: its condition holds. Conditions
  // over counters of ended loops do not translate (access_expr.h).
  for (auto* node = tree_.getNode(block); node != nullptr && node->getIDom() != nullptr;
       node = node->getIDom()) {
    BasicBlock* from = node->getIDom()->getBlock();
    for (BasicBlock* to : llvm::successors(from)) {
      if (from->getTerminator()->getNumSuccessors() > 1 &&
          tree_.dominates(llvm::BasicBlockEdge(from, to), block)) {
        if (add_branch(from, to, scope, result.guards)) {
          forced[from] = to;
        }
        break;
      }
    }
  }
  std::reverse(result.guards.begin(), result.guards.end());  // outermost first
  for (const Loop* loop = scope; loop != nullptr; loop = loop->getParentLoop()) {
    if (!summary_.loops[builder_.loop_index(loop)].exact) {
      add_loop_bound(loop, scope, result.guards);
    }
  }
  result.exact = always_reached(block, forced);
  return known_.emplace(block, std::move(result)).first->second;
}

bool ControlAnalysis::always_reached(BasicBlock* block, const Forced& forced) const {
  std::vector<const Loop*> around;
  for (const Loop* loop = loops_.getLoopFor(block); loop != nullptr; loop = loop->getParentLoop()) {
    around.push_back(loop);
  }
  std::reverse(around.begin(), around.end());
  const Loop* region = nullptr;
  const BasicBlock* start = &block->getParent()->getEntryBlock();
  for (const Loop* loop : around) {
    // The loop is entered in every iteration of the one outside it, and runs to its `last`.
    if (!summary_.loops[builder_.loop_index(loop)].exact ||
        !reaches(start, loop->getHeader(), region, forced)) {
      return false;
    }
    region = loop;
    start = loop->getHeader();
  }
  return reaches(start, block, region, forced);
}

/// Whether every path from `start`, taking forced branches as forced, comes to `target` before it
/// ends the function, or leaves the region's loop or its current iteration.
bool ControlAnalysis::reaches(const BasicBlock* start, const BasicBlock* target, const Loop* region,
                              const Forced& forced) const {
  if (start == target) {
    return true;
  }
  std::set<const BasicBlock*> seen = {start};
  std::vector<const BasicBlock*> open = {start};
  while (!open.empty()) {
    const BasicBlock* block = open.back();
    open.pop_back();
    if (llvm::succ_empty(block)) {
      return false;
    }
    const auto only = forced.find(block);
    for (const BasicBlock* next : llvm::successors(block)) {
      if (next == target || (only != forced.end() && next != only->second)) {
        continue;
      }
      if (region != nullptr && (next == region->getHeader() || !region->contains(next))) {
        return false;
      }
      if (seen.insert(next).second) {
        open.push_back(next);
      }
    }
  }
  return true;
}

}  // namespace tutti::kernel_compiler
