// SPDX-License-Identifier: Apache-2.0
// Content-addressed data of a record: pieces of at most kPieceBytes, each stored once, compressed
// by zstd. The writer is thread-safe; the reader is used by one thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "record/call.h"
#include "record/files.h"

namespace tutti::record {

class ContentWriter {
 public:
  Status create(const std::string& folder);
  Result<Content> put(std::span<const std::byte> bytes);

 private:
  Mutex mutex_;
  std::set<Hash> known_ TUTTI_GUARDED_BY(mutex_);
  std::vector<std::byte> buffer_ TUTTI_GUARDED_BY(mutex_);
  AppendFile file_ TUTTI_GUARDED_BY(mutex_);
};

class ContentReader {
 public:
  /// Reads which pieces there are. Damage is not an error: warning() tells, and what lies behind
  /// it is not found.
  Status open(const std::string& folder);
  const std::string& warning() const { return warning_; }
  /// An error when a piece is missing or damaged, or it is larger than the caller has use for: a
  /// few damaged bytes can name one piece a million times.
  Result<std::vector<std::byte>> get(const Content& content, uint64_t most_bytes = UINT64_MAX);
  uint64_t pieces() const { return places_.size(); }
  uint64_t stored_bytes() const { return stored_bytes_; }

 private:
  struct Place {
    uint64_t offset = 0;
    uint32_t stored = 0, size = 0;
  };
  bool read_at(uint64_t offset, void* into, size_t size) const;
  Status read_piece(const Hash& hash, std::byte* into, uint64_t size);

  Descriptor file_;
  std::string name_, warning_;
  std::map<Hash, Place> places_;
  uint64_t stored_bytes_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace tutti::record
