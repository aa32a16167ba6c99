// SPDX-License-Identifier: Apache-2.0
// Room for commands in the memory of devices: allocates what buffers lack there, and where that
// does not fit, what was used longest ago goes back to the host, when nobody uses it any more.
// Thread-safe; one command at a time makes room, and waits only for commands that need none.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/thread_annotations.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/order/buffer_uses.h"
#include "scheduler/order/command_log.h"

namespace tutti::scheduler {

class MemoryRoom {
 public:
  /// What else there is to ask for when memory is lacking.
  class Others {
   public:
    /// Ends commands that go on for nothing but others to come.
    virtual void end_idle() = 0;
    /// With the log's lock held: commands that may have memory of their own while they run.
    virtual std::vector<Ref<Node>> with_own_memory() = 0;
    /// Returns when the command's data are in place.
    virtual void wait_for_data(const Ref<Node>& command) = 0;

   protected:
    ~Others() = default;
  };
  /// `owner`: of the commands that stand for evictions.
  MemoryRoom(BackendSet& backends, CommandLog& log, NodeOwner& owner, Others& others)
      : backends_(backends), log_(log), owner_(owner), others_(others) {}

  /// Allocates what buffers lack on the device, as far as there is room.
  void allocate_what_fits(std::span<const BufferUse> uses, uint32_t backend);
  /// The same, for which buffers that nobody uses give up what they have there. Waits for nobody:
  /// for who others may wait for.
  void allocate_at_once(std::span<const BufferUse> uses, uint32_t backend) TUTTI_EXCLUDES(mutex_);
  /// Room for so many bytes that no command asks for, in the same way and as far as that goes.
  void free_at_once(uint32_t backend, uint64_t bytes) TUTTI_EXCLUDES(mutex_);
  /// For a command that is `allocating`: allocates what its buffers lack on the devices, and makes
  /// room there.
  Status allocate(Node& command, std::span<const BufferUse> uses, std::span<const uint32_t> devices)
      TUTTI_EXCLUDES(mutex_) {
    return allocate(command, needs_of(uses, devices));
  }
  /// The same of what is needed; `otherwise`: where that cannot be had. A failure tells of the
  /// former alone.
  Status allocate(Node& command, const MemoryNeeds& needs, const MemoryNeeds& otherwise = {})
      TUTTI_EXCLUDES(mutex_);
  /// The device's context was lost, and it has another one: all memory of the old one is let go of,
  /// once nobody uses it. False: some is in use for long. In the thread for commands that wait for
  /// room.
  bool let_go(uint32_t backend) TUTTI_EXCLUDES(mutex_);

 private:
  /// `needs`: all of the command's.
  Status allocate_one(const Node& command, const MemoryNeeds& needs, const MemoryNeed& need)
      TUTTI_REQUIRES(mutex_);
  /// What other buffers have on the device beyond the command's needs is free afterwards.
  Status shrink(const MemoryNeeds& needs, const MemoryNeed& wanted) TUTTI_REQUIRES(mutex_);
  Status allocate_all(const Node& command, const MemoryNeeds& needs) TUTTI_REQUIRES(mutex_);
  /// The device has memory for that range of the buffer from now on, once nobody uses what it has.
  Status reshape(LogicalBuffer& buffer, uint32_t backend, const ByteRange& range)
      TUTTI_REQUIRES(mutex_);
  /// Who uses memory of the device that is to be let go of; none: it is.
  std::vector<Ref<Node>> let_go_of_unused(uint32_t backend) TUTTI_EXCLUDES(mutex_);
  /// Those of the users of the buffer's memory on the device that have begun; with the log's lock
  /// held.
  std::vector<Ref<Node>> users_of(const LogicalBuffer& buffer, uint32_t backend) const;
  /// Somebody's after the other, of what nobody uses, until `enough`, or until there is no more.
  void free_unused(uint32_t backend, const std::function<bool()>& enough) TUTTI_EXCLUDES(mutex_);
  /// Somebody's memory on the device is free now, or may be; false: the command has all that
  /// buffers have. No command: nobody is waited for, and false says that all of it is in use.
  Result<bool> free_some(const Node* command, uint32_t backend) TUTTI_REQUIRES(mutex_);

  BackendSet& backends_;
  CommandLog& log_;
  NodeOwner& owner_;
  Others& others_;
  Mutex mutex_;  // held while waiting for others
};

}  // namespace tutti::scheduler
