// SPDX-License-Identifier: Apache-2.0
// What the engine launches: one kernel of a built program with its vendor kernels, one per backend
// and variant, made at first use. Each kernel object of the application has its own, so that two of
// them never wait for each other's arguments. Commands share it, so it outlives the handle.
// Thread-safe and lock-free after the first use of a vendor kernel.
#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_virtual/built_program.h"
#include "scheduler/command/work.h"

namespace tutti::device_virtual {

class KernelExecutable final : public scheduler::LaunchableKernel {
 public:
  KernelExecutable(std::shared_ptr<BuiltProgram> program, uint32_t index);
  ~KernelExecutable() override;

  const std::shared_ptr<BuiltProgram>& program() const { return program_; }
  uint32_t index() const { return index_; }

  const scheduler::KernelSummary& summary() const override { return summary_; }
  /// A kernel whose sub-groups or program's variables tell devices apart runs on fewer: on those
  /// that are like the primary, or on that alone.
  uint64_t built_on() const override;
  uint64_t failed_on() const override { return program_->modules().unable(index_); }
  std::string lacking(uint32_t backend) const override {
    return program_->modules().lacking(backend, index_);
  }
  Result<backends::Kernel*> vendor_kernel(uint32_t backend,
                                          scheduler::KernelVariant variant) override;
  uint32_t shard_arguments() override { return program_->modules().shard_arguments(index_); }
  uint32_t panel_arguments() override { return program_->modules().panel_arguments(index_); }
  uint64_t model_key() const override { return model_key_; }
  uint64_t ready_on(scheduler::KernelVariant variant) const override {
    return program_->modules().ready(variant_of(variant));
  }
  double seconds_until_ready(uint64_t backends, scheduler::KernelVariant variant) const override {
    return program_->modules().seconds_until_ready(backends, variant_of(variant));
  }
  void note_gain(double seconds, uint64_t backends, scheduler::KernelVariant variant) override {
    program_->modules().note_gain(seconds, backends, variant_of(variant));
  }
  bool build_if_worth(uint64_t backends, scheduler::KernelVariant variant) override {
    return program_->modules().build_if_worth(backends, variant_of(variant));
  }
  uint64_t most_in_group(uint32_t backend) const override {
    return most_in_group_[backend].load(std::memory_order_relaxed);
  }

  // What clGetKernelWorkGroupInfo answers: the primary's answers, of the devices that can build the
  // program. It is built there if it is not yet. Devices that take less take no part in launches
  // that need more.
  Result<size_t> max_work_group_size();
  Result<size_t> preferred_multiple();
  /// Bytes, without the kernel's local memory arguments.
  Result<uint64_t> static_local_memory();
  /// Bytes per work-item.
  Result<uint64_t> private_memory();
  /// What clGetKernelSubGroupInfo answers: as the primary.
  Result<std::vector<std::byte>> sub_group_info(cl_kernel_sub_group_info what,
                                                std::span<const size_t> input, size_t size);
  /// Whether the primary may run so many in a group: max_work_group_size() is at least that, or
  /// only advice. Asks no vendor where all devices that have built the program take so many, and
  /// others would by what they say of all kernels.
  Result<bool> takes_group(uint64_t work_items);

 private:
  /// A kernel that needs no rewriting has one variant, beside that for shards.
  scheduler::KernelVariant variant_of(scheduler::KernelVariant wanted) const {
    const bool one = wanted == scheduler::KernelVariant::kSubRange && !summary_.needs_rewrite;
    return one ? scheduler::KernelVariant::kUntouched : wanted;
  }
  /// Calls `ask(backend, variant)`, a Result, for the primary; when it has none to give, for the
  /// next best.
  template <typename Ask>
  auto ask_primary(Ask&& ask) -> decltype(ask(0, scheduler::KernelVariant::kUntouched));
  /// A kernel's answer of that type, 0 where the vendor has none.
  template <typename T>
  Result<T> primary_answer(cl_kernel_work_group_info what);

  const std::shared_ptr<BuiltProgram> program_;
  const uint32_t index_;
  const scheduler::KernelSummary& summary_;  // the program's
  const uint64_t model_key_;
  const Bound bound_;
  // [variant * backends + backend]; null until first used, then owned and constant.
  const std::unique_ptr<std::atomic<backends::Kernel*>[]> vendor_kernels_;
  // By backend: work-items in a group, no more than which the vendor allows; UINT64_MAX: not known.
  const std::unique_ptr<std::atomic<uint64_t>[]> most_in_group_;
  std::atomic<size_t> max_work_group_size_{0};  // 0: not asked yet
  std::atomic<size_t> taken_by_all_{0};         // by takes_group()
};

}  // namespace tutti::device_virtual
