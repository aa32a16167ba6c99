// SPDX-License-Identifier: Apache-2.0
// Memory of the host through which one block at a time passes on its way from or to a device,
// pinned where it can be. For one thread; what is sent from it, or comes to it, is waited for
// before it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backends/api/backend.h"
#include "base/result.h"
#include "scheduler/devices/pinned_pool.h"

namespace tutti::scheduler {

class BackendSet;

class Stage {
 public:
  /// For blocks of up to `size` bytes from or to that device.
  Stage(BackendSet& backends, uint32_t backend, uint64_t size);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  /// Pinned by a driver; null: there is none.
  std::byte* pinned();
  /// The same where `first`, the bytes of the first block, are worth it and there is some; else
  /// plain memory for so many. The same from then on.
  std::byte* memory(uint64_t first);

  /// The stage is in use until this has ended.
  void sent(backends::CompletionPtr command) { sent_.push_back(std::move(command)); }
  std::vector<backends::CompletionPtr>& sent() { return sent_; }
  /// Waits for what is under way from or to here.
  Status wait();

 private:
  BackendSet& backends_;
  const uint32_t backend_;
  const uint64_t size_;
  PinnedPool::Block pinned_;
  std::unique_ptr<std::byte[]> plain_;
  std::vector<backends::CompletionPtr> sent_;
};

}  // namespace tutti::scheduler
