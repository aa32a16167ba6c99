// SPDX-License-Identifier: Apache-2.0
#include "record/writer.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <filesystem>

namespace tutti::record {

Status AppendFile::create(const std::string& name, std::string_view magic) {
  name_ = name;
  descriptor_ = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0644);
  if (descriptor_ < 0) {
    return fail(errno == EEXIST ? CL_INVALID_OPERATION : CL_INVALID_VALUE,
                fmt::format("{}: {}", name, strerror(errno)));
  }
  return append(magic);
}

Status AppendFile::append(std::string_view bytes) {
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::write(descriptor_, bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = count < 0 ? errno : ENOSPC;
      // No half entry stays behind, if the file system can still do that much.
      const int cut = ftruncate(descriptor_, static_cast<off_t>(size_));
      (void)cut;
      return fail(CL_OUT_OF_RESOURCES, fmt::format("{}: {}", name_, strerror(error)));
    }
    written += static_cast<size_t>(count);
  }
  size_ += bytes.size();
  return {};
}

Result<std::unique_ptr<Writer>> Writer::create(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return fail(CL_INVALID_VALUE, fmt::format("{}: {}", folder, error.message()));
  }
  auto writer = std::make_unique<Writer>();
  // The calls' file first: whoever makes it owns the folder.
  {
    const MutexLock lock(writer->mutex_);
    TUTTI_TRY(writer->file_.create(calls_file(folder), kCallsMagic));
  }
  TUTTI_TRY(writer->content_.create(folder));
  return writer;
}

Result<Content> Writer::put(std::span<const std::byte> bytes) { return content_.put(bytes); }

Status Writer::write(Call& call) {
  const MutexLock lock(mutex_);
  call.end = tick();
  const std::string body = encode(call);
  const CallHead head{static_cast<uint32_t>(body.size()),
                      static_cast<uint32_t>(hash_of(std::as_bytes(std::span(body))).low)};
  std::string entry(reinterpret_cast<const char*>(&head), sizeof head);
  entry += body;
  return file_.append(entry);
}

}  // namespace tutti::record
