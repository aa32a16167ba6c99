// SPDX-License-Identifier: Apache-2.0
// How files are opened to be read, and made for one user: the one place that does so. Nothing that
// is opened here can make us wait (a pipe), do something by being opened (a device), fill the
// memory, or come from somebody who is not trusted. What a person names to be written is in
// output_file.h, folders of this user's alone are in kept_file.h. Stateless, thread-safe.
//
// Errors say what is wrong without the file's name, which the caller knows better.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace tutti {

/// An open file or folder, closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.give_up()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }
  /// Whoever gets it closes it.
  int give_up() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// Whose files are read.
enum class Owner : uint8_t {
  kAnybody,
  kUserOrRoot,  // and none that everybody may write
  kUser         // and none that anybody else may write
};

/// What may be read. Pipes and terminals (kStream) are for what a person names on a command line:
/// opening and reading one waits.
enum class FileKind : uint8_t { kRegular, kStream };

inline constexpr uint64_t kMiB = uint64_t{1} << 20;

struct ReadRules {
  uint64_t most_bytes = kMiB;
  Owner owner = Owner::kAnybody;
  FileKind kind = FileKind::kRegular;
};

/// `folder`: an open one that `path` is relative to, where links are not followed.
Result<Descriptor> open_to_read(const std::string& path, const ReadRules& rules,
                                int folder = AT_FDCWD);

/// All of a file.
Result<std::string> read_file(const std::string& path, const ReadRules& rules,
                              int folder = AT_FDCWD);
Result<std::string> read_rest(const Descriptor& file, uint64_t most_bytes);

/// Its first line, without the end; empty where it cannot be read, and errno tells why.
std::string first_line_of(const std::string& path);

/// Makes a file that only this user may read, to be read and written, or appended to with O_APPEND
/// among `flags`. The code is CL_INVALID_OPERATION where there is something of that name.
Result<Descriptor> make_private_file(const std::string& path, int flags = 0, int folder = AT_FDCWD);

/// Makes a folder and those above it, each for this user alone. Those that exist stay as they are.
Status make_private_folders(const std::string& path);

/// All of it, or an error.
Status write_all(const Descriptor& file, std::string_view content);

}  // namespace tutti
