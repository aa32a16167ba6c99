// SPDX-License-Identifier: Apache-2.0
// A read or map of a buffer or image that begins while the split launch before it still computes:
// what a package has written is fetched when that package has ended, with a thread and a queue for
// each device. Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/thread_annotations.h"
#include "scheduler/command/work.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/run/split_run.h"

namespace tutti::scheduler {

class EarlyRead {
 public:
  /// What is read, and to where.
  struct Wanted {
    BufferView view;
    ByteRange range;                 // of the buffer
    std::byte* to = nullptr;         // for its first byte; null: the host's copy, of which the
                                     // rest of the work makes what it wants
    std::optional<RectWork> pixels;  // of an image: to where that says
  };
  /// `number`: of the read in the trace, or 0.
  EarlyRead(BackendSet& backends, std::shared_ptr<SplitRun> before, Wanted wanted, uint64_t number)
      : backends_(backends),
        before_(std::move(before)),
        wanted_(std::move(wanted)),
        number_(number) {}
  ~EarlyRead() { finish(); }

  /// What `work` reads, if it is one that may begin early.
  static std::optional<Wanted> reading(const Work& work);
  /// Whether it is worth its threads: of `devices`, those with memory of their own have something
  /// that takes a while.
  static bool pays(BackendSet& backends, std::span<const uint32_t> devices, const Wanted& wanted,
                   bool always);
  void start() TUTTI_EXCLUDES(mutex_);
  /// To be called when the launch has ended: afterwards nothing is read any more. What was read, as
  /// ranges of the buffer that lie apart, ascending; none where the launch has failed.
  std::vector<ByteRange> finish() TUTTI_EXCLUDES(mutex_);

 private:
  void read_from(uint32_t backend);
  Status read(uint32_t backend, const ByteRange& range);

  BackendSet& backends_;
  const std::shared_ptr<SplitRun> before_;
  const Wanted wanted_;
  const uint64_t number_;
  Mutex mutex_;
  bool over_ TUTTI_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ TUTTI_GUARDED_BY(mutex_);
  std::vector<ByteRange> done_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
