// SPDX-License-Identifier: Apache-2.0
// Memory that the application shares with the helpers that drive devices (backends/process): one
// file without a name, as large as the machine's memory, of which only what is used takes room. All
// helpers map it whole, so that a place in it is an offset that holds everywhere, and memory that
// one device transfers from another one can transfer to without a copy. What is free is known in
// the application alone, out of the helpers' reach.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/result.h"
#include "base/safe_file.h"
#include "base/thread_annotations.h"

namespace boost::interprocess {
class mapped_region;
}

namespace tutti::backends::process {

/// The mapping alone, as a helper has it. Immutable, thread-safe.
class SharedMapping {
 public:
  /// `size` bytes of an open file.
  static Result<SharedMapping> map(int file, uint64_t size);
  SharedMapping(SharedMapping&&) noexcept;
  SharedMapping& operator=(SharedMapping&&) = delete;
  ~SharedMapping();

  std::byte* data() const;
  uint64_t size() const;
  /// Null: not all of that is in it.
  std::byte* at(uint64_t offset, uint64_t size) const {
    return offset <= this->size() && size <= this->size() - offset ? data() + offset : nullptr;
  }

 private:
  explicit SharedMapping(std::unique_ptr<boost::interprocess::mapped_region> region);
  std::unique_ptr<boost::interprocess::mapped_region> region_;
};

class SharedArena;

/// A part of it, given back at the end.
class SharedRange {
 public:
  SharedRange() = default;
  SharedRange(SharedRange&& other) noexcept
      : arena_(std::exchange(other.arena_, nullptr)), offset_(other.offset_), size_(other.size_) {}
  SharedRange& operator=(SharedRange&& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(offset_, other.offset_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~SharedRange();

  explicit operator bool() const { return arena_ != nullptr; }
  std::byte* data() const;
  uint64_t offset() const { return offset_; }
  uint64_t size() const { return size_; }

 private:
  friend class SharedArena;
  SharedRange(SharedArena& arena, uint64_t offset, uint64_t size)
      : arena_(&arena), offset_(offset), size_(size) {}

  SharedArena* arena_ = nullptr;
  uint64_t offset_ = 0, size_ = 0;
};

/// The application's side. Thread-safe.
class SharedArena {
 public:
  /// The process's own, made at first use and never destroyed.
  static Result<SharedArena*> of_process();
  /// Of at most so many bytes.
  static Result<std::unique_ptr<SharedArena>> create(uint64_t most);

  /// Whole pages, as somebody has left them.
  Result<SharedRange> allocate(uint64_t size) TUTTI_EXCLUDES(mutex_);
  /// Of memory that lies in it; nothing for all other memory.
  std::optional<uint64_t> offset_of(const void* data, uint64_t size) const;

  /// From now on nothing that was allocated is given to anybody else: somebody may still write to
  /// it.
  void keep_all() { keeps_all_.store(true, std::memory_order_release); }

  int file() const { return file_.get(); }
  const SharedMapping& mapping() const { return mapping_; }

 private:
  friend class SharedRange;
  SharedArena(Descriptor file, SharedMapping mapping);
  void give_back(uint64_t offset, uint64_t size) noexcept TUTTI_EXCLUDES(mutex_);

  const Descriptor file_;
  const SharedMapping mapping_;
  std::atomic<bool> keeps_all_{false};
  Mutex mutex_;
  uint64_t kept_ TUTTI_GUARDED_BY(mutex_) = 0;  // bytes that are free and have pages, about
  std::map<uint64_t, uint64_t> free_ TUTTI_GUARDED_BY(mutex_);                // offset, size
  std::set<std::pair<uint64_t, uint64_t>> by_size_ TUTTI_GUARDED_BY(mutex_);  // size, offset
};

}  // namespace tutti::backends::process
