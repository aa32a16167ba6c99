// SPDX-License-Identifier: Apache-2.0
// The two files of a record's folder, and how both are appended to: whole entries or nothing, so
// that a full disk or a crash leaves what was there before readable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/safe_file.h"

namespace tutti::record {

inline std::string calls_file(const std::string& folder) { return folder + "/calls.tutti"; }
inline std::string content_file(const std::string& folder) { return folder + "/content.tutti"; }

/// Of the calls' file, which is read as a whole.
inline constexpr uint64_t kMostCallsBytes = 4096 * kMiB;

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
  /// The file must not exist yet; else the code is CL_INVALID_OPERATION. Only this user may read
  /// it.
  Status create(const std::string& name, std::string_view magic);
  Status append(std::string_view bytes);

 private:
  std::string name_;
  Descriptor file_;
  uint64_t size_ = 0;
};

}  // namespace tutti::record
