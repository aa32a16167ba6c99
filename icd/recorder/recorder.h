// SPDX-License-Identifier: Apache-2.0
// The recorder (TUTTI_RECORD): numbers for handles, and what must be written once a command has
// ended. It exists only when asked for; then recording functions stand in the dispatch table before
// the entry points. Never destroyed. Thread-safe. A failure (a full disk) ends the record with one
// line in the log, never the application's call.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ref_counted.h"
#include "base/thread_annotations.h"
#include "device_virtual/event.h"
#include "record/writer.h"

namespace tutti::icd::recorder {

/// Memory of the application as rows; written to the record without the gaps between them.
struct HostRegion {
  std::byte* begin = nullptr;
  size_t row_bytes = 0, rows = 1, slices = 1;
  size_t row_pitch = 0, slice_pitch = 0;

  static HostRegion bytes(const void* begin, size_t size) {
    return {static_cast<std::byte*>(const_cast<void*>(begin)), size};
  }
  bool is_dense() const {
    return slices == 0 || rows == 0 ||
           ((rows == 1 || row_pitch == row_bytes) &&
            (slices == 1 || slice_pitch == rows * row_bytes));
  }
  size_t size() const { return row_bytes * rows * slices; }
  std::vector<std::byte> packed() const;
};

class Recorder {
 public:
  /// Null when nothing is recorded: not asked for, ended by a failure, or in a forked child.
  static Recorder* current() noexcept;
  /// Begins a record in this folder, or logs why that cannot be.
  static void start(const std::string& folder);
  /// Ends the record for this reason.
  void stop(const std::string& reason) noexcept;

  record::Object object_of(record::ObjectKind kind, const void* handle);
  /// A handle that a call has just made: it gets a number of its own, whatever had its address.
  record::Object created(record::ObjectKind kind, const void* handle);
  /// A handle that a call gave, made now or long ago.
  record::Object found(record::ObjectKind kind, const void* handle);

  uint64_t tick() { return writer_->tick(); }
  record::Value content_of(const HostRegion& region);
  void write(record::Call& call);
  void note(std::string text);
  /// The same note once.
  void note_once(const std::string& text);

  /// What is written once a command has ended.
  struct Pending {
    // Not its event: that holds the context, whose end the application may wait for.
    scheduler::BackendLeasePtr lease;  // first, so that it outlives the command
    Ref<scheduler::Command> command;
    uint64_t call = 0;
    bool is_kernel = false;
    HostRegion region;  // the data that the application gets; none of a kernel
  };
  void add_pending(Pending pending);
  /// Writes what has ended. Every call that may tell the application so asks for it before it
  /// returns: afterwards the application may do what it likes with its memory.
  void write_ended();

  struct Mapping {
    const void* memory = nullptr;
    const void* pointer = nullptr;
    uint64_t call = 0;
    bool writes = false;
    HostRegion region;
  };
  void add_mapping(const Mapping& mapping);
  /// Takes out a mapping; `call` is 0 when there is none.
  Mapping take_mapping(const void* memory, const void* pointer);

 private:
  explicit Recorder(std::unique_ptr<record::Writer> writer) : writer_(std::move(writer)) {}
  record::Object number(record::ObjectKind kind, const void* handle, bool anew);

  const std::unique_ptr<record::Writer> writer_;
  Mutex objects_mutex_;
  std::map<std::pair<record::ObjectKind, const void*>, uint64_t> objects_
      TUTTI_GUARDED_BY(objects_mutex_);
  uint64_t last_number_ TUTTI_GUARDED_BY(objects_mutex_) = 0;
  std::vector<std::string> notes_ TUTTI_GUARDED_BY(objects_mutex_);
  std::vector<Mapping> mappings_ TUTTI_GUARDED_BY(objects_mutex_);
  Mutex pending_mutex_;
  std::vector<Pending> pending_ TUTTI_GUARDED_BY(pending_mutex_);
};

}  // namespace tutti::icd::recorder
