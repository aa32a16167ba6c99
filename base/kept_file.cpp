// SPDX-License-Identifier: Apache-2.0
#include "base/kept_file.h"

#include <dirent.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace tutti {
namespace {

constexpr std::string_view kOwnNames[] = {"tutti", "probe", "programs", "nodes", "top"};

struct Place {
  std::string folder, name;
};

/// Where a path's last part lies. Slashes at its end say nothing.
Place place_of(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {".", std::string(path)};
  return {std::string(path.substr(0, std::max<size_t>(slash, 1))),
          std::string(path.substr(slash + 1))};
}

tl::unexpected<Error> cannot_keep(const std::string& path, const Error& why) {
  return fail(CL_OUT_OF_RESOURCES, path + " cannot be written: " + why.message);
}

}  // namespace

std::string kept_name(std::string_view key) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

Result<SharedFolder> SharedFolder::open(const std::string& path) {
  struct stat status {};
  // A link leads where its owner wants.
  if (lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode) && status.st_uid != 0 &&
      status.st_uid != geteuid()) {
    return fail(CL_INVALID_VALUE, "it is another user's link");
  }
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || fstat(folder.get(), &status) != 0) {
    return fail(errno == ENOENT ? CL_INVALID_OPERATION : CL_INVALID_VALUE, std::strerror(errno));
  }
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    return fail(CL_INVALID_VALUE, "it belongs to another user");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (status.st_mode & S_ISVTX) == 0) {
    return fail(CL_INVALID_VALUE, kNotSticky);
  }
  return SharedFolder(std::move(folder));
}

Result<OwnFolder> OwnFolder::open(const std::string& path, Missing missing) {
  const Place place = place_of(path);
  // Ours, too, and a way to what lies in it.
  if (place_of(place.folder).name == kOwnNames[0]) TUTTI_TRY(open(place.folder, missing));
  // A link to another place is fine, if that is this user's.
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  Descriptor folder(::open(path.c_str(), kFlags));
  if (!folder && errno == ENOENT && missing == Missing::kIsMade) {
    TUTTI_TRY(make_private_folders(path));
    folder = Descriptor(::open(path.c_str(), kFlags));
  }
  struct stat status {};
  if (!folder || fstat(folder.get(), &status) != 0) {
    return fail(CL_INVALID_VALUE, std::strerror(errno));
  }
  if (status.st_uid != geteuid()) return fail(CL_INVALID_VALUE, "it belongs to another user");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(CL_INVALID_VALUE, kOthersMayWrite);
  }
  const bool ours =
      std::find(std::begin(kOwnNames), std::end(kOwnNames), place.name) != std::end(kOwnNames);
  if (ours && (status.st_mode & 077) != 0 && fchmod(folder.get(), 0700) != 0) {
    return fail(CL_INVALID_VALUE, std::strerror(errno));
  }
  return OwnFolder(std::move(folder));
}

std::string SharedFolder::path() const {
  const std::unique_ptr<char, void (*)(void*)> real(
      realpath(fmt::format("/proc/self/fd/{}", folder_.get()).c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : std::string();
}

bool OwnFolder::has(const std::string& name) const {
  struct stat status {};
  return fstatat(descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

Result<Descriptor> OwnFolder::open_file(const std::string& name, uint64_t most_bytes) const {
  TUTTI_ASSIGN(Descriptor file, open_to_read(name, {most_bytes, Owner::kUser}, descriptor()));
  struct stat status {};
  if (fstat(file.get(), &status) == 0 && (status.st_mode & 077) != 0) {
    (void)!fchmod(file.get(), status.st_mode & 0700);  // stays as it was where that cannot be
  }
  return file;
}

Result<std::string> OwnFolder::read(const std::string& name, uint64_t most_bytes) const {
  TUTTI_ASSIGN(const Descriptor file, open_file(name, most_bytes));
  return read_rest(file, most_bytes);
}

Status OwnFolder::keep(const std::string& name, std::string_view content) const {
  static std::atomic<uint64_t> last{0};
  constexpr int kTries = 100;  // of names that a process which was killed may have left
  for (int i = 0; i < kTries; ++i) {
    const std::string temporary = fmt::format("{}.{}-{}", name, getpid(), ++last);
    auto file = make_private_file(temporary, 0, descriptor());
    if (!file && file.error().code == CL_INVALID_OPERATION && i + 1 < kTries) continue;
    if (!file) return tl::unexpected<Error>(std::move(file).error());
    Status done = write_all(*file, content);
    if (done && renameat(descriptor(), temporary.c_str(), descriptor(), name.c_str()) != 0) {
      done = fail(CL_OUT_OF_RESOURCES, std::strerror(errno));
    }
    if (!done) remove(temporary);
    return done;
  }
  return {};
}

void SharedFolder::remove(const std::string& name) const {
  unlinkat(folder_.get(), name.c_str(), 0);
}

Result<Descriptor> SharedFolder::open_anybodys(const std::string& name, uint64_t most_bytes) const {
  // Without O_NONBLOCK a pipe waits for a writer, and a file whose owner has a lease on it for that
  // one. A user may also mount a file system of its own over its file, whose answers it can delay:
  // mounts are not entered. (Before Linux 5.6 that cannot be said.)
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  Descriptor file(
      static_cast<int>(syscall(SYS_openat2, descriptor(), name.c_str(), &how, sizeof how)));
  if (!file && errno == ENOSYS) return open_to_read(name, {most_bytes}, descriptor());
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return fail(CL_INVALID_VALUE, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return fail(CL_INVALID_VALUE, "it is no regular file");
  if (static_cast<uint64_t>(status.st_size) > most_bytes) {
    return fail(CL_INVALID_VALUE, "it is too large");
  }
  return file;
}

std::vector<std::string> SharedFolder::names(size_t most) const {
  std::vector<std::string> found;
  const int again = openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (again < 0) return found;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(again), closedir);
  if (!entries) {
    close(again);
    return found;
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours
  while (const dirent* entry = found.size() < most ? readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") found.emplace_back(name);
  }
  return found;
}

std::optional<std::string> read_kept(const std::string& path) {
  const Place place = place_of(path);
  const auto folder = OwnFolder::open(place.folder, OwnFolder::Missing::kFails);
  if (!folder) return std::nullopt;
  auto content = folder->read(place.name, kMostKeptBytes);
  return content ? std::optional(std::move(*content)) : std::nullopt;
}

Status keep_file(const std::string& path, std::string_view content) {
  const Place place = place_of(path);
  const auto folder = OwnFolder::open(place.folder, OwnFolder::Missing::kIsMade);
  if (!folder) return cannot_keep(path, folder.error());
  const Status kept = folder->keep(place.name, content);
  if (!kept) return cannot_keep(path, kept.error());
  return {};
}

}  // namespace tutti
