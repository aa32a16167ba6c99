// SPDX-License-Identifier: Apache-2.0
#include "base/safe_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tutti {
namespace {

constexpr mode_t kPrivateFile = 0600, kPrivateFolder = 0700;
constexpr size_t kBlock = size_t{1} << 14;

tl::unexpected<Error> system_failure(int error, cl_int code = CL_INVALID_VALUE) {
  return fail(code, std::strerror(error));
}

/// What is wrong with a file's kind; empty: nothing.
std::string kind_problem(mode_t mode, FileKind wanted) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return "it is a folder";
  const bool stream = S_ISFIFO(mode) || S_ISCHR(mode);
  if (wanted == FileKind::kStream && stream) return {};
  if (S_ISFIFO(mode)) return "it is a pipe, not a file";
  return "it is no regular file";
}

std::string owner_problem(const struct stat& status, Owner wanted) {
  if (wanted == Owner::kAnybody) return {};
  const bool root = wanted == Owner::kUserOrRoot && status.st_uid == 0;
  if (status.st_uid != geteuid() && !root) return "it belongs to another user";
  const mode_t others = wanted == Owner::kUser ? S_IWGRP | S_IWOTH : S_IWOTH;
  return (status.st_mode & others) != 0 ? "others may write to it" : "";
}

std::string size_problem(uint64_t most_bytes) {
  return most_bytes < kMiB ? fmt::format("it is larger than {} KiB", most_bytes >> 10)
                           : fmt::format("it is larger than {} MiB", most_bytes >> 20);
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ < 0) return;
  const int error = errno;
  close(number_);
  errno = error;
}

Result<Descriptor> open_to_read(const std::string& path, const ReadRules& rules, int folder) {
  const bool follows = folder == AT_FDCWD;
  struct stat status {};
  // Before it is opened, too: that alone does something to a device.
  if (fstatat(folder, path.c_str(), &status, follows ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
    return system_failure(errno);
  }
  if (std::string problem = kind_problem(status.st_mode, rules.kind); !problem.empty()) {
    return fail(CL_INVALID_VALUE, std::move(problem));
  }
  const int waits = S_ISREG(status.st_mode) ? O_NONBLOCK : 0;
  Descriptor file(openat(folder, path.c_str(),
                         O_RDONLY | O_CLOEXEC | O_NOCTTY | waits | (follows ? 0 : O_NOFOLLOW)));
  if (!file || fstat(file.get(), &status) != 0) return system_failure(errno);
  for (const std::string& problem :
       {kind_problem(status.st_mode, rules.kind), owner_problem(status, rules.owner),
        S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) > rules.most_bytes
            ? size_problem(rules.most_bytes)
            : std::string()}) {
    if (!problem.empty()) return fail(CL_INVALID_VALUE, problem);
  }
  return file;
}

Result<std::string> read_rest(const Descriptor& file, uint64_t most_bytes) {
  std::string content;
  struct stat status {};
  // Files of /proc and /sys say nothing of their size, or too much; one may also grow meanwhile.
  if (fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    content.reserve(std::min(static_cast<uint64_t>(status.st_size), most_bytes) + kBlock);
  }
  for (;;) {
    const size_t before = content.size();
    content.resize(std::max(content.capacity(), before + kBlock));
    const ssize_t got = read(file.get(), content.data() + before, content.size() - before);
    const int error = errno;
    content.resize(before + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got == 0) return content;
    if (got < 0 && error != EINTR) return system_failure(error);
    if (content.size() > most_bytes) return fail(CL_INVALID_VALUE, size_problem(most_bytes));
  }
}

Result<std::string> read_file(const std::string& path, const ReadRules& rules, int folder) {
  TUTTI_ASSIGN(const Descriptor file, open_to_read(path, rules, folder));
  return read_rest(file, rules.most_bytes);
}

std::string first_line_of(const std::string& path) {
  errno = 0;
  const auto content = read_file(path, {});
  return content ? content->substr(0, content->find('\n')) : std::string();
}

Result<Descriptor> make_private_file(const std::string& path, int flags, int folder) {
  Descriptor file(openat(folder, path.c_str(),
                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | flags, kPrivateFile));
  if (!file) {
    return system_failure(errno, errno == EEXIST ? CL_INVALID_OPERATION : CL_INVALID_VALUE);
  }
  return file;
}

Status make_private_folders(const std::string& path) {
  for (size_t end = path.find('/', 1); !path.empty(); end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    if (mkdir(folder.c_str(), kPrivateFolder) != 0) {
      const int error = errno;
      struct stat status {};
      const bool there = stat(folder.c_str(), &status) == 0;
      if (!there) return system_failure(error);
      if (!S_ISDIR(status.st_mode)) return system_failure(ENOTDIR);
    }
    if (end == std::string::npos) break;
  }
  return {};
}

Status write_all(const Descriptor& file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return system_failure(written < 0 ? errno : ENOSPC, CL_OUT_OF_RESOURCES);
    content.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace tutti
