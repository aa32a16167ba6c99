// SPDX-License-Identifier: Apache-2.0
#include "record/writer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

namespace tutti::record {

Status AppendFile::create(const std::string& name, std::string_view magic) {
  name_ = name;
  auto made = make_private_file(name, O_APPEND);
  if (!made) return fail(made.error().code, fmt::format("{}: {}", name, made.error().message));
  file_ = std::move(*made);
  return append(magic);
}

Status AppendFile::append(std::string_view bytes) {
  if (const Status written = write_all(file_, bytes); !written) {
    // No half entry stays behind, if the file system can still do that much.
    (void)!ftruncate(file_.get(), static_cast<off_t>(size_));
    return fail(CL_OUT_OF_RESOURCES, fmt::format("{}: {}", name_, written.error().message));
  }
  size_ += bytes.size();
  return {};
}

Result<std::unique_ptr<Writer>> Writer::create(const std::string& folder) {
  if (const Status made = make_private_folders(folder); !made) {
    return fail(CL_INVALID_VALUE, fmt::format("{}: {}", folder, made.error().message));
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
