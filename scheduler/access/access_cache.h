// SPDX-License-Identifier: Apache-2.0
// The evaluations of a kernel's last launches: programs repeat them, or take turns between two
// buffers. Thread-safe.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "base/thread_annotations.h"
#include "scheduler/access/access_eval.h"

namespace tutti::scheduler {

class AccessCache {
 public:
  /// `launch`: everything that was evaluated, as bytes. Null: it is none of the last ones.
  std::shared_ptr<const LaunchAccess> find(const std::string& launch) const {
    MutexLock lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.access && entry.launch == launch) return entry.access;
    }
    return nullptr;
  }
  void keep(std::string launch, std::shared_ptr<const LaunchAccess> access) {
    MutexLock lock(mutex_);
    entries_[next_++ % entries_.size()] = {std::move(launch), std::move(access)};
  }

 private:
  struct Entry {
    std::string launch;
    std::shared_ptr<const LaunchAccess> access;
  };
  mutable Mutex mutex_;
  std::array<Entry, 4> entries_ TUTTI_GUARDED_BY(mutex_);
  size_t next_ TUTTI_GUARDED_BY(mutex_) = 0;
};

}  // namespace tutti::scheduler
