// SPDX-License-Identifier: Apache-2.0
// The argument values of one kernel object. A launch takes a snapshot: a shared, immutable set,
// which is copied only when an argument changes afterwards (copy on write), so enqueuing allocates
// nothing. One that repeats another takes numbers that have changed, and no set.
//
// A kernel must not keep memory objects alive (clSetKernelArg: "A kernel object does not update the
// reference count for objects such as memory … specified as argument values"; an application frees
// its CL_MEM_USE_HOST_PTR memory when the object's destructor callback comes). So every memory
// object lists the argument sets that name it (ArgumentHolders), and empties those slots at its
// release.
//
// Thread-safe, although the specification does not ask it for one kernel: a misuse by the
// application must not corrupt memory. The lock is never held while other code is called.
#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_annotations.h"
#include "scheduler/command/launched_arguments.h"
#include "scheduler/command/work.h"

namespace tutti::device_virtual {

class KernelArguments final : public scheduler::ArgumentSource {
 public:
  struct Snapshot {
    std::shared_ptr<const scheduler::ArgumentSet> set;
    bool complete = false;     // every argument has been set
    uint64_t local_bytes = 0;  // sum over the local memory arguments
  };

  explicit KernelArguments(size_t count);
  /// With the values of another kernel (clCloneKernel). Does not register with memory objects.
  KernelArguments(const KernelArguments& other);
  KernelArguments& operator=(const KernelArguments&) = delete;

  void set_bytes(uint32_t index, std::span<const std::byte> value);
  void set_local(uint32_t index, uint64_t size);
  /// `owner` identifies the memory object (null: the NULL pointer). True when the caller must now
  /// register this set with the owner's ArgumentHolders.
  bool set_buffer(uint32_t index, const void* owner, const scheduler::BufferView& view,
                  const Ref<scheduler::BufferImage>& image = nullptr);
  void set_sampler(uint32_t index, const backends::SamplerState& sampler);
  /// `home`: the device that it is on.
  void set_queue(uint32_t index, std::shared_ptr<backends::DeviceQueue> queue, uint32_t home);
  /// The memory object has been released: the slots that name it are unset again.
  void forget(const void* owner);

  Snapshot snapshot();
  bool give_numbers(scheduler::LaunchedArguments& launched) override;
  uint64_t local_bytes() const;
  /// The memory objects named by arguments, each once.
  std::vector<const void*> owners() const;

 private:
  // What an update replaces: memory may end with it, so it is kept until the lock has been let go.
  using Retired = std::shared_ptr<const scheduler::ArgumentSet>;
  scheduler::ArgumentSlot& writable(uint32_t index, Retired& retired) TUTTI_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::shared_ptr<scheduler::ArgumentSet> set_ TUTTI_GUARDED_BY(mutex_);
  std::atomic<uint64_t> version_{0};                          // the set's; changed under mutex_
  bool shared_ TUTTI_GUARDED_BY(mutex_) = false;              // others may have set_
  std::vector<const void*> owners_ TUTTI_GUARDED_BY(mutex_);  // per argument
};

/// The values of a snapshot, for launches that get the same each time. Immutable.
class KeptArguments final : public scheduler::ArgumentSource {
 public:
  explicit KeptArguments(const scheduler::ArgumentSet& set) : set_(set) {}
  bool give_numbers(scheduler::LaunchedArguments& launched) override {
    return launched.are(set_.version) || launched.take_numbers(set_);
  }

 private:
  const scheduler::ArgumentSet& set_;
};

/// The argument sets that name one memory object. Member of the object; thread-safe.
class ArgumentHolders {
 public:
  void add(const std::shared_ptr<KernelArguments>& arguments);
  /// Empties the slots that name `owner` everywhere.
  void forget(const void* owner);
  size_t size();

 private:
  struct Holder {
    const KernelArguments* identity;
    std::weak_ptr<KernelArguments> arguments;
  };
  Mutex mutex_;
  std::vector<Holder> holders_ TUTTI_GUARDED_BY(mutex_);
  size_t prune_at_ TUTTI_GUARDED_BY(mutex_) = 16;  // entries of dead kernels go when this many
};

}  // namespace tutti::device_virtual
