// SPDX-License-Identifier: Apache-2.0
// The real devices that take part, in the user's order, with the places their memory stands for.
// Made once per process, never destroyed; immutable, so free to share by threads.
#pragma once

#include <memory>
#include <vector>

#include "backends/api/backend.h"
#include "platform/thread_annotations.h"
#include "scheduler/memory/residency_map.h"

namespace tutti::scheduler {

class BackendSet {
 public:
  explicit BackendSet(std::vector<std::unique_ptr<backends::Backend>> backends);

  uint32_t count() const { return static_cast<uint32_t>(backends_.size()); }
  backends::Backend& at(uint32_t index) { return *backends_[index]; }
  const backends::DeviceTraits& traits(uint32_t index) const { return backends_[index]->traits(); }
  /// The host's place where the device shares the host's memory, else one of its own.
  Place place(uint32_t backend) const {
    return backends_[backend]->traits().shares_host_memory ? kHostPlace : backend + 1;
  }
  /// The queue for transfers outside any stream, made at first use.
  Result<backends::Queue*> transfer_queue(uint32_t backend);

 private:
  std::vector<std::unique_ptr<backends::Backend>> backends_;
  Mutex mutex_;
  std::vector<std::unique_ptr<backends::Queue>> transfer_queues_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
