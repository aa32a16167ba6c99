// SPDX-License-Identifier: Apache-2.0
// Small files that are kept for later runs, in folders that are this user's alone: whoever reads
// one sees all of it or an older one, with any number of processes at once. What another user owns,
// or may write, is neither read nor replaced; a shared folder, whose files may be anybody's, is for
// what needs not be true. Stateless but for the open folder, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/safe_file.h"

namespace tutti {

/// An open folder that belongs to root or to this user, where nobody can remove or rename what is
/// another's: others may not write there, or it has the sticky bit. What lies in it may be
/// anybody's and anything. Names are those of entries, without folders.
class SharedFolder {
 public:
  /// Errors say what is wrong without the folder's name; the code is CL_INVALID_OPERATION where
  /// there is none.
  static Result<SharedFolder> open(const std::string& path);

  int descriptor() const { return folder_.get(); }
  /// Absolute and without links; empty where that cannot be told.
  std::string path() const;

  /// A regular file of whatever user, open to be read: neither that nor reading it waits, whatever
  /// its owner does.
  Result<Descriptor> open_anybodys(const std::string& name, uint64_t most_bytes) const;
  void remove(const std::string& name) const;
  /// Of at most so many entries, in no order.
  std::vector<std::string> names(size_t most) const;

 protected:
  explicit SharedFolder(Descriptor folder) : folder_(std::move(folder)) {}

 private:
  Descriptor folder_;
};

/// An open folder that belongs to this user, and that nobody else may write. The folders that we
/// name ourselves (tutti, probe, programs, nodes, top) are made 0700 where others may look into
/// them; one that a person named keeps its mode.
class OwnFolder : public SharedFolder {
 public:
  enum class Missing : uint8_t { kFails, kIsMade };
  /// Errors say what is wrong without the folder's name.
  static Result<OwnFolder> open(const std::string& path, Missing missing);

  bool has(const std::string& name) const;
  /// Open, and by now for nobody else to read; an error where it is missing or not trusted.
  Result<Descriptor> open_file(const std::string& name, uint64_t most_bytes) const;
  Result<std::string> read(const std::string& name, uint64_t most_bytes) const;
  /// Makes or replaces it. On error nothing has changed.
  Status keep(const std::string& name, std::string_view content) const;

 private:
  using SharedFolder::SharedFolder;
};

/// open()'s messages where nothing in a folder can be trusted.
inline constexpr char kOthersMayWrite[] = "others may write there";
inline constexpr char kNotSticky[] = "others may remove there what is not theirs";

/// A file's name for what is kept under a key. Two keys may have the same, so that the file holds
/// its key.
std::string kept_name(std::string_view key);

inline constexpr uint64_t kMostKeptBytes = 16 * kMiB;

/// All of a file; nothing where it cannot be read, or is not this user's alone.
std::optional<std::string> read_kept(const std::string& path);

/// Makes the file, and its folder, or replaces it. On error nothing has changed.
Status keep_file(const std::string& path, std::string_view content);

}  // namespace tutti
