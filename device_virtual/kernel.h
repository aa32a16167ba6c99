// SPDX-License-Identifier: Apache-2.0
// A kernel object: the executable that the engine launches, and the argument values set so far. It
// is attached to its program while the application holds it. Commands in flight hold the executable
// and a snapshot of the arguments, never this object. Thread-safe.
#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "device_virtual/buffer.h"
#include "device_virtual/command_queue.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"
#include "device_virtual/kernel_arguments.h"
#include "device_virtual/kernel_executable.h"
#include "device_virtual/program.h"

namespace tutti::device_virtual {

class Kernel : public Handle<Kernel, _cl_kernel, Kind::kKernel> {
 public:
  Kernel(Program& program, std::shared_ptr<KernelExecutable> executable);
  /// clCloneKernel: the same function with the same argument values, and its own from then on.
  Result<Kernel*> clone();
  /// The same function with the same argument values, for a recorded command that may be updated.
  /// Memory objects do not know of it: what they are keeps its memory, though the application
  /// release them, until another value takes its place. The copy of such a copy is the same kernel
  /// to the engine, so that of the copies of one at most one may be changed and launched.
  Ref<Kernel> copy_for_command() const;
  ~Kernel();

  Program& program() const { return *program_; }
  Context& context() const { return program_->context(); }
  const scheduler::KernelSummary& summary() const { return executable_->summary(); }
  KernelExecutable& executable() const { return *executable_; }

  // The argument exists and is of that kind; sizes have been checked.
  void set_bytes(uint32_t index, std::span<const std::byte> value) {
    arguments_->set_bytes(index, value);
  }
  void set_local(uint32_t index, uint64_t size);
  void set_buffer(uint32_t index, Buffer* buffer);            // or image; null: the NULL pointer
  void set_queue(uint32_t index, const CommandQueue& queue);  // which is on the device
  void set_sampler(uint32_t index, const backends::SamplerState& sampler);
  /// A pointer to this byte of the allocation, or of the buffer.
  void set_shared(uint32_t index, const SharedAllocations::Place& place);
  KernelArguments::Snapshot arguments() { return arguments_->snapshot(); }

  /// Launches with `arguments` (complete); with a zero in shape.global nothing is computed.
  Status enqueue(CommandQueue& queue, std::shared_ptr<const scheduler::ArgumentSet> arguments,
                 const scheduler::LaunchShape& shape, bool local_given,
                 const Submission& submission) const;

  /// Launches what the queue has launched of late but for numbers; absent: it is no such launch.
  /// `shape` need not have been checked: nothing is launched that was not found valid before.
  /// `event` may be null.
  std::optional<Status> launch_again(CommandQueue& queue, const scheduler::LaunchShape& shape,
                                     bool local_given,
                                     std::span<scheduler::Command* const> wait_list,
                                     cl_command_type type, cl_event* event) {
    if (!may_repeat(local_given)) return std::nullopt;
    const scheduler::LaunchAgain launch{*executable_, shape, local_given, *arguments_, wait_list};
    if (event == nullptr) return queue.launch_again(launch);
    return queue.launch_again(launch, type, event);
  }

  /// Whether a launch may be one that repeats another, but for numbers.
  bool may_repeat(bool local_given) const {
    if (!local_given && suggested_.load(std::memory_order_relaxed)) return false;
    // What it may reach need not be what it was.
    return !summary().uses_addresses || !context().any_reachable();
  }
  scheduler::KernelWork launch_of(std::shared_ptr<const scheduler::ArgumentSet> arguments,
                                  const scheduler::LaunchShape& shape, bool local_given) const {
    return {executable_, std::move(arguments), shape, local_given};
  }
  /// A launch of this kernel as it is to be enqueued now: with what it may reach, and the local
  /// size that has been suggested.
  Result<scheduler::KernelWork> launch_now(scheduler::KernelWork work) const;

  /// clGetKernelSuggestedLocalWorkSizeKHR: fills in shape.local. From then on it is what launches
  /// without a size of the application's get; before, their devices choose.
  Status suggest_local(scheduler::LaunchShape& shape);

  Status info(cl_kernel_info what, const InfoAnswer& answer) const;
  /// The argument exists.
  Status argument_info(uint32_t index, cl_kernel_arg_info what, const InfoAnswer& answer) const;
  Status work_group_info(cl_kernel_work_group_info what, const InfoAnswer& answer);
  Status sub_group_info(cl_kernel_sub_group_info what, std::span<const size_t> input,
                        const InfoAnswer& answer);

  void last_public_release();

 private:
  Kernel(Program& program, std::shared_ptr<KernelExecutable> executable,
         std::shared_ptr<KernelArguments> arguments, bool of_command = false);

  const Ref<Program> program_;  // first, so that its context outlives the rest
  const std::shared_ptr<KernelExecutable> executable_;
  const std::shared_ptr<KernelArguments> arguments_;  // memory objects hold it weakly
  std::atomic<bool> suggested_{false};                // suggest_local() was asked
  const bool of_command_ = false;                     // made by copy_for_command()
  bool attached_ = true;  // changed by the last public release, before the destructor
};

/// What clGetKernelArgInfo answers, from the argument's declaration.
cl_kernel_arg_address_qualifier address_qualifier(const scheduler::Argument& argument);
cl_kernel_arg_access_qualifier access_qualifier(const scheduler::Argument& argument);
cl_kernel_arg_type_qualifier type_qualifier(const scheduler::Argument& argument);

}  // namespace tutti::device_virtual
