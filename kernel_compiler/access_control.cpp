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
// Blocks that are searched for ways past others, by kernel. Beyond, no more is claimed to be passed
// for certain.
constexpr uint64_t kMostVisited = 200'000;

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
    : summary_(summary),
      builder_(builder),
      tree_(tree),
      loops_(loops),
      evolution_(evolution),
      post_(*tree.getRoot()->getParent()) {}

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
  if (depth > kDeepestCondition || guards.size() >= kMostGuards) {
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
      if (guards.size() >= kMostGuards) {
        return false;
      }
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
  llvm::ConstantInt* value = only_case(*choice, to);
  return value != nullptr &&
         add_compare(choice->getCondition(), value, Compare::kEq, where, scope, guards);
}

/// The value that alone leads to `to`; null where several do.
llvm::ConstantInt* ControlAnalysis::only_case(llvm::SwitchInst& choice, const BasicBlock* to) {
  const auto [entry, added] = cases_.try_emplace(&choice);
  Cases& cases = entry->second;
  if (added) {
    for (auto each : choice.cases()) {
      const auto [known, first] = cases.emplace(each.getCaseSuccessor(), each.getCaseValue());
      if (!first) {
        known->second = nullptr;
      }
    }
  }
  const auto known = cases.find(to);
  return known == cases.end() ? nullptr : known->second;
}

const Conditions& ControlAnalysis::of(BasicBlock* block) {
  if (const auto it = known_.find(block); it != known_.end()) {
    return it->second;
  }
  const Loop* scope = loops_.getLoopFor(block);
  Conditions result;
  result.loops = builder_.enclosing(scope);
  const Link& way = link(block, scope);
  result.guards.assign(way.guards.rbegin(), way.guards.rend());  // outermost first
  // What suffices has to be among what is told.
  result.exact =
      way.sufficient && std::all_of(way.needed.begin(), way.needed.end(), [&](const Guard& guard) {
        return std::find(way.guards.begin(), way.guards.end(), guard) != way.guards.end();
      });
  for (const Loop* loop = scope; loop != nullptr; loop = loop->getParentLoop()) {
    if (!summary_.loops[builder_.loop_index(loop)].exact) {
      add_loop_bound(loop, scope, result.guards);
      result.exact = false;  // it need not run to its `last`
    }
  }
  return known_.emplace(block, std::move(result)).first->second;
}

/// What leads to `block`, in terms of the loops around `scope`, which contains it.
///
/// A branch edge that dominates the block was the last one taken from its branch before the block
/// ran, in the same iteration of every loop around both: its condition holds. Conditions over
/// counters of ended loops do not translate (access_expr.h). A loop of the scope that contains a
/// dominator contains the dominators below it as well; so above a block only the loops around it
/// matter, and a block has no more links than loops around it.
const ControlAnalysis::Link& ControlAnalysis::link(BasicBlock* block, const Loop* scope) {
  static const Link kNothing;
  const Link* above = &kNothing;
  std::vector<Place> open;  // a loop, not recursion: there may be thousands
  BasicBlock* at = block;
  for (auto* node = tree_.getNode(block); node->getIDom() != nullptr; node = node->getIDom()) {
    at = node->getBlock();
    while (scope != nullptr && !scope->contains(at)) scope = scope->getParentLoop();
    if (const auto it = links_.find({at, scope}); it != links_.end()) {
      above = &it->second;
      break;
    }
    open.emplace_back(at, scope);
  }
  for (auto place = open.rbegin(); place != open.rend(); ++place) {
    auto* to = const_cast<BasicBlock*>(place->first);
    BasicBlock* from = tree_.getNode(to)->getIDom()->getBlock();
    const Loop* region = place->second;
    while (region != nullptr && !region->contains(from)) region = region->getParentLoop();
    above = &links_.emplace(*place, make_link(from, to, region, *above)).first->second;
  }
  return *above;
}

/// Whether control comes to `to`, which `from` dominates immediately, by this edge alone.
bool ControlAnalysis::dominates(BasicBlock* from, BasicBlock* to) const {
  return from->getTerminator()->getNumSuccessors() > 1 &&
         std::find(llvm::pred_begin(to), llvm::pred_end(to), from) != llvm::pred_end(to) &&
         tree_.dominates(llvm::BasicBlockEdge(from, to), to);
}

ControlAnalysis::Link ControlAnalysis::make_link(BasicBlock* from, BasicBlock* to,
                                                 const Loop* region, const Link& above) {
  Link result;
  result.own_complete = dominates(from, to) && add_branch(from, to, region, result.own);
  const auto add_all = [](const std::vector<Guard>& from_list, std::vector<Guard>& list) {
    for (const Guard& guard : from_list) {
      if (std::find(list.begin(), list.end(), guard) != list.end()) continue;
      if (list.size() >= kMostGuards) return false;
      list.push_back(guard);
    }
    return true;
  };
  result.guards = result.own;
  add_all(above.guards, result.guards);
  result.needed = above.needed;
  std::vector<Guard> on_the_way;
  const bool passed = passes(from, to, region, on_the_way);
  result.sufficient = above.sufficient && (passed || result.own_complete) &&
                      add_all(passed ? on_the_way : result.own, result.needed);
  return result;
}

/// Tests above `from` that have one outcome only, as guards tell, in loops that have ended when
/// `region` goes on.
ControlAnalysis::Forced ControlAnalysis::forced_in_ended_loops(BasicBlock* from,
                                                               const Loop* region) {
  Forced forced;
  const Loop* ended = loops_.getLoopFor(from);
  while (ended->getParentLoop() != region) ended = ended->getParentLoop();
  for (auto* node = tree_.getNode(from);
       ended->contains(node->getBlock()) && node->getIDom() != nullptr; node = node->getIDom()) {
    ++visited_;
    const auto known = links_.find({node->getBlock(), region});
    if (known != links_.end() && known->second.own_complete) {
      forced[node->getIDom()->getBlock()] = node->getBlock();
    }
  }
  return forced;
}

/// Whether every path from `from` comes to `to`, which it dominates immediately, before it ends the
/// function, or leaves the region's loop or its current iteration; where guards are `needed` for
/// that, they are added.
bool ControlAnalysis::passes(BasicBlock* from, const BasicBlock* to, const Loop* region,
                             std::vector<Guard>& needed) {
  if (visited_ >= kMostVisited) return false;
  Forced forced;
  if (loops_.getLoopFor(from) != region) {
    forced = forced_in_ended_loops(from, region);
  } else if (!post_.dominates(to, from)) {
    return false;
  }
  std::set<const BasicBlock*> seen = {from};
  std::vector<const BasicBlock*> open = {from};
  while (!open.empty()) {
    const BasicBlock* block = open.back();
    open.pop_back();
    if (llvm::succ_empty(block) || ++visited_ >= kMostVisited) {
      return false;
    }
    const auto only = forced.find(block);
    if (only != forced.end()) {
      const auto& own = links_.at({only->second, region}).own;
      needed.insert(needed.end(), own.begin(), own.end());
    }
    for (const BasicBlock* next : llvm::successors(block)) {
      if (next == to || (only != forced.end() && next != only->second)) {
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
