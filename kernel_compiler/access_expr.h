// SPDX-License-Identifier: Apache-2.0
// Turns values of optimised LLVM IR into the expressions of a KernelSummary.
//
// Obligation: an expression denotes, for every work-item and every value of the loop counters of
// the loops around the place it is made for, the value that the IR has there, or kUnknown stands
// where that is not certain. A `scope` says for which place: its innermost loop (null: none).
// Values of loops that do not enclose the scope (they have ended) are never expressed by counters.
//
// Not thread-safe; lives for the analysis of one function.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/DataLayout.h>

#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "scheduler/access/access_summary.h"

namespace llvm {
class SCEVNAryExpr;
}

namespace tutti::kernel_compiler {

class ExprBuilder {
 public:
  ExprBuilder(scheduler::KernelSummary& summary, llvm::ScalarEvolution& evolution,
              llvm::LoopInfo& loops, const llvm::DataLayout& layout);

  uint32_t translate(const llvm::SCEV* value, const llvm::Loop* scope);
  /// `value` as seen by `user_loop`, the innermost loop of the instruction that uses it.
  uint32_t translate(llvm::Value* value, const llvm::Loop* user_loop, const llvm::Loop* scope);

  uint32_t constant(uint8_t width, int64_t value);
  /// `width` bits of a scalar argument's value, or of an image argument's ImageLayout.
  uint32_t argument(uint32_t index, uint64_t byte_offset, uint8_t width);
  uint32_t unknown(uint8_t width);
  uint32_t loop_counter(uint32_t loop, uint8_t width);
  uint32_t hull(uint8_t width, std::vector<uint32_t> options);
  uint32_t node(scheduler::ExprKind kind, uint8_t width, std::vector<uint32_t> operands);
  /// `expr` as a signed (or unsigned) number of 64 bits.
  uint32_t widened(uint32_t expr, bool is_signed);

  /// Free of kUnknown and kHull: the expression is the value, not a bound of it.
  bool exact(uint32_t expr) const { return exact_[expr]; }
  const scheduler::Expr& at(uint32_t expr) const { return summary_.exprs[expr]; }

  /// The summary's loop for `loop`, made at first use.
  uint32_t loop_index(const llvm::Loop* loop);
  /// A loop that is not in the IR (asynchronous copies): `last` iterations after the first.
  uint32_t synthetic_loop(uint32_t last);
  /// The loops around `scope`, outermost first.
  std::vector<uint32_t> enclosing(const llvm::Loop* scope);

 private:
  /// What `last` of a loop is that LLVM knows no bound of (access_loop.cpp).
  std::optional<uint32_t> last_by_exit_test(const llvm::Loop* loop);
  uint32_t add(scheduler::Expr expr);
  uint32_t translate_new(const llvm::SCEV* value, const llvm::Loop* scope);
  uint32_t nary(scheduler::ExprKind kind, const llvm::SCEVNAryExpr* value, const llvm::Loop* scope);
  uint32_t leaf(llvm::Value* value, const llvm::Loop* scope);
  uint32_t instruction(llvm::Instruction* value, uint8_t width, const llvm::Loop* scope);
  uint32_t call(llvm::CallInst* value, uint8_t width);
  uint32_t argument_part(llvm::Instruction* value, uint8_t width);
  uint32_t image_size(const llvm::CallInst& query, std::string_view name, unsigned lane,
                      uint8_t width);
  uint32_t work_item(scheduler::ExprKind kind, uint32_t dimension, uint8_t width);

  scheduler::KernelSummary& summary_;
  llvm::ScalarEvolution& evolution_;
  llvm::LoopInfo& loops_;
  const llvm::DataLayout& layout_;
  std::vector<bool> exact_;
  std::map<std::tuple<scheduler::ExprKind, uint8_t, uint32_t, int64_t, std::vector<uint32_t>>,
           uint32_t>
      known_;
  std::map<std::pair<const llvm::SCEV*, const llvm::Loop*>, uint32_t> translated_;
  std::map<const llvm::Loop*, uint32_t> loop_indices_;
  int depth_ = 0;
};

}  // namespace tutti::kernel_compiler
