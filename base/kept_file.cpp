// SPDX-License-Identifier: Apache-2.0
#include "base/kept_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace tutti {
namespace {

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

/// False, too, where the file has become shorter.
bool read_all(int file, std::string& content) {
  for (size_t done = 0; done < content.size();) {
    const ssize_t got = read(file, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

std::optional<std::string> read_kept(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat status {};
  std::optional<std::string> content;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    content.emplace(static_cast<size_t>(status.st_size), '\0');
    if (!read_all(file, *content)) content.reset();
  }
  close(file);
  return content;
}

Status keep_file(const std::string& path, std::string_view content) {
  const auto failure = [&] {
    return fail(CL_OUT_OF_RESOURCES, path + " cannot be written: " + strerror(errno));
  };
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  std::string temporary = path + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return failure();
  const bool written = write_all(file, content);
  const int why = errno;
  close(file);
  if (written && rename(temporary.c_str(), path.c_str()) == 0) return {};
  if (!written) errno = why;
  auto failed = failure();
  unlink(temporary.c_str());
  return failed;
}

}  // namespace tutti
