// SPDX-License-Identifier: Apache-2.0
// The two files of a record's folder, and how both are appended to: whole entries or nothing, so
// that a full disk or a crash leaves what was there before readable.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tutti::record {

inline std::string calls_file(const std::string& folder) { return folder + "/calls.tutti"; }
inline std::string content_file(const std::string& folder) { return folder + "/content.tutti"; }

/// Their first bytes; the digit is the format's version.
inline constexpr std::string_view kCallsMagic = "TuttiCalls1\n", kContentMagic = "TuttiContent1\n";

/// A call's entry: this, then the encoded call.
struct CallHead {
  uint32_t size = 0;
  uint32_t check = 0;  // the low half of XXH3-128's low half
};

/// A piece of content: this, then the zstd frame.
struct PieceHead {
  uint32_t check = 0;  // of what follows in this head
  uint32_t stored = 0, size = 0;
  uint32_t zero = 0;
  uint64_t low = 0, high = 0;  // the hash of the uncompressed bytes
};
static_assert(sizeof(CallHead) == 8 && sizeof(PieceHead) == 32);

/// Appends to a file that only this process writes. Not thread-safe; the owner locks.
class AppendFile {
 public:
  AppendFile() = default;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  /// The file must not exist yet.
  Status create(const std::string& name, std::string_view magic);
  Status append(std::string_view bytes);

 private:
  std::string name_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

}  // namespace tutti::record
