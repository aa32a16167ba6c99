// SPDX-License-Identifier: Apache-2.0
// Bounds of loops whose counter may wrap around as far as LLVM knows, so that it gives none:
// for (uint i = get_global_id(0); i < n; i += get_global_size(0)). Whether it wraps is known at
// launch; the bound says so in its value.
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

#include "kernel_compiler/access_expr.h"

namespace tutti::kernel_compiler {

using llvm::CmpInst;
using llvm::SCEV;
using scheduler::ExprKind;

namespace {

// Loops that go on for longer than this do not end.
constexpr int64_t kForever = int64_t{1} << 62;

/// The loop goes on while `counter` (start, then start + step …) is less than `bound`.
struct ExitTest {
  const llvm::SCEVAddRecExpr* counter = nullptr;
  const SCEV* bound = nullptr;
  bool or_equal = false;
  bool is_signed = false;
};

std::optional<ExitTest> exit_test(llvm::BasicBlock& block, const llvm::Loop& loop,
                                  llvm::ScalarEvolution& evolution) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
  if (branch == nullptr || !branch->isConditional()) return std::nullopt;
  const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (compare == nullptr || !compare->getOperand(0)->getType()->isIntegerTy()) return std::nullopt;
  // The predicate under which the loop goes on, with the counter at the left.
  CmpInst::Predicate predicate = loop.contains(branch->getSuccessor(0))
                                     ? compare->getPredicate()
                                     : compare->getInversePredicate();
  const SCEV* left = evolution.getSCEV(compare->getOperand(0));
  const SCEV* right = evolution.getSCEV(compare->getOperand(1));
  if (evolution.isLoopInvariant(left, &loop)) {
    std::swap(left, right);
    predicate = CmpInst::getSwappedPredicate(predicate);
  }
  ExitTest test;
  test.counter = llvm::dyn_cast<llvm::SCEVAddRecExpr>(left);
  test.bound = right;
  if (test.counter == nullptr || test.counter->getLoop() != &loop || !test.counter->isAffine() ||
      !evolution.isLoopInvariant(right, &loop)) {
    return std::nullopt;
  }
  switch (predicate) {
    case CmpInst::ICMP_ULT:
    case CmpInst::ICMP_ULE:
    case CmpInst::ICMP_SLT:
    case CmpInst::ICMP_SLE:
      break;
    default:
      return std::nullopt;
  }
  test.or_equal = predicate == CmpInst::ICMP_ULE || predicate == CmpInst::ICMP_SLE;
  test.is_signed = CmpInst::isSigned(predicate);
  return test;
}

}  // namespace

/// Proof obligation: while the loop goes on, the counter c is less than n; if n − 1 + step fits the
/// type, c + step does not wrap, so the counter grows by step each time, and at most
/// max(0, n − 1 − start + step) / step times. Where it does not fit, kForever is added.
std::optional<uint32_t> ExprBuilder::last_by_exit_test(const llvm::Loop* loop) {
  llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
  loop->getExitingBlocks(exiting);
  const llvm::BasicBlock* latch = loop->getLoopLatch();
  const llvm::Loop* outside = loop->getParentLoop();
  for (llvm::BasicBlock* block : exiting) {
    // Tested in every iteration: the latch itself, or the loop's first block.
    if (block != latch && block != loop->getHeader()) continue;
    const auto test = exit_test(*block, *loop, evolution_);
    if (!test) continue;
    const auto bits = static_cast<uint8_t>(test->bound->getType()->getIntegerBitWidth());
    if (bits > 64) continue;
    const auto of = [&](const SCEV* value, bool is_signed) {
      return widened(translate(value, outside), is_signed);
    };
    const uint32_t start = of(test->counter->getStart(), test->is_signed);
    const uint32_t step = of(test->counter->getStepRecurrence(evolution_), false);
    const uint32_t bound = of(test->bound, test->is_signed);
    for (const uint32_t part : {start, step, bound}) {
      if (at(part).kind == ExprKind::kUnknown) return std::nullopt;
    }
    const auto sum = [&](std::vector<uint32_t> parts) {
      return node(ExprKind::kAdd, 64, std::move(parts));
    };
    const uint32_t zero = constant(64, 0);
    const uint32_t one = constant(64, 1);
    // The largest value that the counter can have after one that goes on.
    const uint32_t highest = sum({bound, step, constant(64, test->or_equal ? 0 : -1)});
    uint32_t wraps = 0;
    if (bits == 64) {
      if (test->is_signed) continue;
      for (const uint32_t part : {start, step, bound}) {
        const uint32_t large = node(ExprKind::kLShr, 64, {part, constant(64, 61)});
        wraps = part == start ? large : sum({wraps, large});
      }
    } else {
      wraps = node(ExprKind::kLShr, 64,
                   {node(ExprKind::kSMax, 64, {highest, zero}),
                    constant(64, test->is_signed ? bits - 1 : bits)});
    }
    const uint32_t distance =
        node(ExprKind::kSMax, 64, {node(ExprKind::kSub, 64, {highest, start}), zero});
    const uint32_t times =
        node(ExprKind::kUDiv, 64, {distance, node(ExprKind::kUMax, 64, {step, one})});
    const uint32_t endless =
        node(ExprKind::kMul, 64, {node(ExprKind::kUMin, 64, {wraps, one}), constant(64, kForever)});
    return sum({times, endless});
  }
  return std::nullopt;
}

}  // namespace tutti::kernel_compiler
