// SPDX-License-Identifier: Apache-2.0
// Finds what a launch changed, on the device: compares memory with a copy from before, block by
// block, so that only changed blocks have to travel. Its kernel is built at first use, once per
// device. Thread-safe.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/thread_annotations.h"
#include "scheduler/access/byte_range.h"
#include "scheduler/devices/backend_set.h"

namespace tutti::scheduler {

class BlockCompare {
 public:
  static constexpr uint64_t kBlock = 4096;  // bytes
  static constexpr uint64_t kAlignment = 16;

  explicit BlockCompare(BackendSet& backends) : backends_(backends) {}

  /// The blocks of now[begin, begin + size) that differ from before[0, size), adjacent ones joined,
  /// as ranges within `now`. `begin` is a multiple of kAlignment. Everything, where the device
  /// cannot compare. Waits for the answer.
  Result<std::vector<ByteRange>> changed(uint32_t backend, backends::Memory& now, uint64_t begin,
                                         backends::Memory& before, uint64_t size);

 private:
  struct Program {
    std::unique_ptr<backends::Module> module;
    std::unique_ptr<backends::Kernel> kernel;  // null: could not be built
    bool tried = false;
  };
  backends::Kernel* kernel_on(uint32_t backend);

  BackendSet& backends_;
  Mutex mutex_;  // held while building
  std::array<Program, kMostBackends> programs_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
