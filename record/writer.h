// SPDX-License-Identifier: Apache-2.0
// Writes a record's folder as it goes: what was written before a crash can be read. Whoever gets an
// error (a full disk) stops writing. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/thread_annotations.h"
#include "record/call.h"
#include "record/content_store.h"
#include "record/files.h"

namespace tutti::record {

class Writer {
 public:
  /// Makes the folder; one that holds a record already is an error with code
  /// CL_INVALID_OPERATION.
  static Result<std::unique_ptr<Writer>> create(const std::string& folder);

  /// The clock of begins and ends.
  uint64_t tick() { return clock_.fetch_add(1, std::memory_order_relaxed); }
  Result<Content> put(std::span<const std::byte> bytes);
  /// Sets the call's `end`: entries stand in the order of their ends.
  Status write(Call& call);

 private:
  std::atomic<uint64_t> clock_{1};
  ContentWriter content_;
  Mutex mutex_;
  AppendFile file_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::record
