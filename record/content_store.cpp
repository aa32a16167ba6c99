// SPDX-License-Identifier: Apache-2.0
#include "record/content_store.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

namespace tutti::record {
namespace {

uint32_t check_of(const PieceHead& head) {
  const auto bytes = std::as_bytes(std::span(&head, 1)).subspan(sizeof head.check);
  return static_cast<uint32_t>(hash_of(bytes).low);
}

}  // namespace

Status ContentWriter::create(const std::string& folder) {
  const MutexLock lock(mutex_);
  return file_.create(content_file(folder), kContentMagic);
}

Result<Content> ContentWriter::put(std::span<const std::byte> bytes) {
  Content content = content_of(bytes);
  for (size_t i = 0; i < content.pieces.size(); ++i) {
    const Hash& hash = content.pieces[i];
    const auto piece = bytes.subspan(i * kPieceBytes,
                                     std::min<size_t>(kPieceBytes, bytes.size() - i * kPieceBytes));
    const MutexLock lock(mutex_);
    if (known_.contains(hash)) continue;
    buffer_.resize(sizeof(PieceHead) + ZSTD_compressBound(piece.size()));
    // The fastest level: the application waits for it.
    const size_t stored =
        ZSTD_compress(buffer_.data() + sizeof(PieceHead), buffer_.size() - sizeof(PieceHead),
                      piece.data(), piece.size(), 1);
    if (ZSTD_isError(stored)) return fail(CL_OUT_OF_HOST_MEMORY, ZSTD_getErrorName(stored));
    PieceHead head{.stored = static_cast<uint32_t>(stored),
                   .size = static_cast<uint32_t>(piece.size()),
                   .low = hash.low,
                   .high = hash.high};
    head.check = check_of(head);
    std::memcpy(buffer_.data(), &head, sizeof head);
    TUTTI_TRY(file_.append({reinterpret_cast<const char*>(buffer_.data()), sizeof head + stored}));
    known_.insert(hash);
  }
  return content;
}

Status ContentReader::open(const std::string& folder) {
  name_ = content_file(folder);
  // Of any size: what it holds is read piece by piece.
  auto opened = open_to_read(name_, {.most_bytes = UINT64_MAX});
  if (!opened) return fail(CL_INVALID_VALUE, fmt::format("{}: {}", name_, opened.error().message));
  file_ = std::move(*opened);
  std::string magic(kContentMagic.size(), '\0');
  if (!read_at(0, magic.data(), magic.size()) || magic != kContentMagic) {
    return fail(CL_INVALID_VALUE, fmt::format("{} is not the content of a record", name_));
  }
  struct stat status {};
  const uint64_t end = fstat(file_.get(), &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
  uint64_t offset = magic.size();
  PieceHead head;
  while (offset < end) {
    if (!read_at(offset, &head, sizeof head) ||
        (head.check == check_of(head) && head.stored > end - offset - sizeof head)) {
      warning_ = fmt::format("{} is cut off at byte {}", name_, offset);
      break;
    }
    if (head.check != check_of(head) || head.size > kPieceBytes ||
        head.stored > ZSTD_compressBound(kPieceBytes)) {
      warning_ = fmt::format("{} is damaged at byte {}; what follows is not read", name_, offset);
      break;
    }
    places_[{head.low, head.high}] = {offset + sizeof head, head.stored, head.size};
    stored_bytes_ += head.stored;
    offset += sizeof head + head.stored;
  }
  return {};
}

bool ContentReader::read_at(uint64_t offset, void* into, size_t size) const {
  auto* to = static_cast<char*>(into);
  while (size > 0) {
    const ssize_t got = pread(file_.get(), to, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  return true;
}

Status ContentReader::read_piece(const Hash& hash, std::byte* into, uint64_t size) {
  const auto found = places_.find(hash);
  if (found == places_.end() || found->second.size != size) {
    return fail(CL_INVALID_VALUE,
                fmt::format("{}: content {:016x}{:016x} is missing", name_, hash.high, hash.low));
  }
  buffer_.resize(found->second.stored);
  const bool read = read_at(found->second.offset, buffer_.data(), buffer_.size());
  if (!read || ZSTD_decompress(into, size, buffer_.data(), buffer_.size()) != size ||
      hash_of({into, size}) != hash) {
    return fail(CL_INVALID_VALUE, fmt::format("{} is damaged: content {:016x}{:016x} at byte {}",
                                              name_, hash.high, hash.low, found->second.offset));
  }
  return {};
}

Result<std::vector<std::byte>> ContentReader::get(const Content& content, uint64_t most_bytes) {
  if (content.size > most_bytes) {
    return fail(CL_INVALID_VALUE,
                fmt::format("{}: {} bytes are more than there can be", name_, content.size));
  }
  // The sizes of pieces are checked before memory is taken: a damaged size could ask for anything.
  uint64_t offset = 0;
  for (const Hash& piece : content.pieces) {
    const auto found = places_.find(piece);
    if (found == places_.end()) {
      return fail(CL_INVALID_VALUE, fmt::format("{}: content {:016x}{:016x} is missing", name_,
                                                piece.high, piece.low));
    }
    offset += found->second.size;
  }
  if (offset != content.size) return fail(CL_INVALID_VALUE, name_ + ": sizes contradict");
  std::vector<std::byte> bytes(content.size);
  offset = 0;
  for (const Hash& piece : content.pieces) {
    const uint64_t size = std::min(kPieceBytes, content.size - offset);
    TUTTI_TRY(read_piece(piece, bytes.data() + offset, size));
    offset += size;
  }
  return bytes;
}

}  // namespace tutti::record
