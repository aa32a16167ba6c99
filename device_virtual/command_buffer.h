// SPDX-License-Identifier: Apache-2.0
// A command buffer (cl_khr_command_buffer): commands that were found valid when they were recorded,
// with what each of them comes after, enqueued together as often as the application likes; in a
// mutable one, launches may be updated in between. Commands in flight do not need it. Thread-safe.
#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_annotations.h"
#include "device_virtual/buffer.h"
#include "device_virtual/command_buffer_api.h"
#include "device_virtual/command_queue.h"
#include "device_virtual/context.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"
#include "device_virtual/kernel.h"
#include "device_virtual/mutable_command.h"
#include "device_virtual/recorded_launch.h"
#include "scheduler/command/command_group.h"
#include "scheduler/command/work.h"

namespace tutti::device_virtual {

class CommandBuffer : public Handle<CommandBuffer, _cl_command_buffer_khr, Kind::kCommandBuffer> {
 public:
  /// `properties`: as given to clCreateCommandBufferKHR, with the closing 0; empty if NULL.
  CommandBuffer(CommandQueue& queue, std::vector<cl_command_buffer_properties_khr> properties);
  ~CommandBuffer();

  Context& context() const { return queue_->context(); }
  /// For which it was made.
  CommandQueue& queue() const { return *queue_; }
  bool is_finalized() const { return finalized_.load(std::memory_order_acquire); }
  /// Finalized, and no launch lacks an argument.
  bool is_executable() const { return is_finalized() && !lacking_.load(std::memory_order_acquire); }
  bool is_mutable() const { return mutable_; }
  /// The value of the property, 0 where it was not given.
  cl_command_buffer_properties_khr property(cl_command_buffer_properties_khr name) const {
    return property_in(properties_, name, 0);
  }
  /// Whether a command recorded here has that synchronization point.
  bool has(cl_sync_point_khr point) TUTTI_EXCLUDES(mutex_);

  /// A command with what it needs. It and what it names are found valid.
  struct Recorded {
    cl_command_type type = 0;
    scheduler::Work work;  // MarkerWork: a barrier; of a launch: what it is where it is empty
    std::vector<PublicRef<Buffer>> memory;
    // Of a launch.
    PublicRef<Kernel> kernel{};  // the application's
    std::shared_ptr<const RecordedLaunch> launch{};
    Ref<MutableCommand> handle{};  // null: the application has asked for none
  };
  /// `waits`: points of this command buffer. The point of the new command. CL_INVALID_OPERATION
  /// when it is finalized.
  Result<cl_sync_point_khr> record(Recorded command, std::span<const cl_sync_point_khr> waits)
      TUTTI_EXCLUDES(mutex_);
  /// CL_INVALID_OPERATION when it is already.
  Status finalize() TUTTI_EXCLUDES(mutex_);

  /// All commands, after those of `wait_list`, on a queue of the same device; it is finalized.
  /// `event`, unless null, gets one that ends with them and fails if one of them does. On error
  /// some may have been enqueued.
  Status enqueue(CommandQueue& queue, std::span<scheduler::Command* const> wait_list,
                 cl_event* event);

  /// As it is enqueued now.
  std::shared_ptr<const RecordedLaunch> launch_of(const MutableCommand& command)
      TUTTI_EXCLUDES(mutex_);
  struct Update {
    const MutableCommand* command = nullptr;
    std::shared_ptr<const RecordedLaunch> from, to;
  };
  /// All of them or none; false: a command is not as in `from` any more. Each command at most once;
  /// it is mutable and finalized.
  bool update(std::span<const Update> updates) TUTTI_EXCLUDES(mutex_);

  Status info(cl_command_buffer_info_khr what, const InfoAnswer& answer);

 private:
  struct Entry {
    Recorded command;
    // Entries that it comes after, where the queue does not see to that.
    std::vector<uint32_t> after{};
    bool named = false;  // another one comes after it
  };
  struct Enqueuing;

  Result<Ref<scheduler::Command>> enqueue_one(const Entry& entry, const RecordedLaunch* launch,
                                              const Enqueuing& all,
                                              const scheduler::EnqueueOptions& options);
  /// By the order of the queue, which is that of recording.
  Status enqueue_in_order(Enqueuing& all);
  /// Each command names those that it comes after.
  Status enqueue_unordered(Enqueuing& all);

  const PublicRef<CommandQueue> queue_;
  const std::vector<cl_command_buffer_properties_khr> properties_;
  const bool mutable_;
  Mutex mutex_;
  std::vector<Entry> entries_;  // changed under mutex_, and not at all once finalized
  // The entries' launches once it is finalized, null for other commands. Another list after each
  // update, under mutex_; the same for ever where it is not mutable, and then read without.
  std::shared_ptr<const RecordedLaunches> launches_;
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t barrier_ TUTTI_GUARDED_BY(mutex_) = kNone;  // the newest
  std::atomic<bool> finalized_{false};
  std::atomic<bool> lacking_{false};  // changed under mutex_
};

}  // namespace tutti::device_virtual
