// SPDX-License-Identifier: Apache-2.0
// Walks the instructions of one optimised kernel and records its accesses to memory objects and
// the facts that keep it whole.
//
// Obligation: every instruction that may touch global or constant memory is recorded, or the
// kernel is kept whole. Instructions and functions not known here do the latter.
//
// Not thread-safe; lives for the analysis of one function.
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernel_compiler/access_control.h"
#include "kernel_compiler/access_expr.h"
#include "kernel_compiler/access_pointer.h"
#include "kernel_compiler/atomic_results.h"
#include "kernel_compiler/builtin_names.h"
#include "kernel_compiler/content_bounds.h"
#include "kernel_compiler/exchange_loops.h"
#include "kernel_compiler/private_functions.h"

namespace tutti::kernel_compiler {

class AccessCollector {
 public:
  AccessCollector(scheduler::KernelSummary& summary, llvm::Function& kernel,
                  llvm::DominatorTree& tree, llvm::LoopInfo& loops,
                  llvm::ScalarEvolution& evolution, const std::set<std::string>& foreign);

  void run();

  /// How much has been looked at: grows with the kernel's length, and no faster.
  uint64_t steps() const { return steps_ + control_.steps() + summary_.exprs.size(); }

 private:
  /// One access to record. `offset` and `loop` extend it for asynchronous copies.
  struct Site {
    scheduler::AccessKind kind = scheduler::AccessKind::kLoad;
    llvm::Instruction* at = nullptr;
    llvm::Value* pointer = nullptr;
    uint32_t size = 0;
    std::string atomic_op = {};
    bool result_used = false;
    bool is_volatile = false;
  };
  /// The repetition of an access by an asynchronous copy.
  struct Repetition {
    uint32_t loop = 0;
    uint32_t offset = 0;
    std::vector<scheduler::Guard> guards = {};
    bool exact = false;
  };

  void visit(llvm::Instruction& instruction);
  void visit_call(llvm::CallBase& call);
  void visit_intrinsic(llvm::IntrinsicInst& call);
  void visit_atomic_call(llvm::CallBase& call, const BuiltinName& name);
  void visit_async_copy(llvm::CallBase& call, const BuiltinName& name);
  void visit_pointer_result(llvm::CallBase& call, const BuiltinName& name);
  void visit_barrier(llvm::CallBase& call, const BuiltinName& name);
  void visit_fence(llvm::CallBase& call, const BuiltinName& name);

  // Images: access_image.cpp. Whether the call is about one.
  bool visit_image_call(llvm::CallBase& call, const BuiltinName& name);
  void visit_image_write(llvm::CallBase& call, const llvm::Argument& image);
  void visit_image_read(llvm::CallBase& call, const llvm::Argument& image);
  uint32_t image_loop(unsigned dimension, uint32_t last);
  scheduler::Access image_access(llvm::CallBase& call, scheduler::AccessKind kind,
                                 uint32_t argument, uint32_t offset, uint32_t block_bytes);

  void record(const Site& site, const Repetition* repetition = nullptr);
  void record_unknown_load(const Site& site);
  /// `load`: it is that one alone.
  void append(scheduler::Access access, const llvm::LoadInst* load = nullptr);
  /// Whether a pointer may lead to memory objects (or is not followed).
  bool touches_objects(llvm::Value* pointer, llvm::Instruction& at);
  void keep_whole(const llvm::Instruction& at, std::string reason);
  uint32_t store_size(llvm::Type* type) const;
  const llvm::Loop* scope_of(const llvm::Instruction& at) const;

  scheduler::KernelSummary& summary_;
  llvm::Function& kernel_;
  llvm::DominatorTree& tree_;
  llvm::LoopInfo& loops_;
  const std::set<std::string>& foreign_;
  const llvm::DataLayout& layout_;
  ExprBuilder builder_;
  PointerResolver resolver_;
  ControlAnalysis control_;
  ContentBoundsFinder content_;
  AtomicResults results_;
  ExchangeLoops exchange_loops_;
  PrivateFunctions private_;
  std::map<std::pair<unsigned, uint32_t>, uint32_t> image_loops_;
  // Accesses that differ in few things, by argument, offset, size and guards.
  std::map<std::vector<uint32_t>, std::vector<uint32_t>> alike_;
  uint64_t steps_ = 0;
  bool has_variables_ = false;  // the program has writable variables in global memory
};

}  // namespace tutti::kernel_compiler
