// SPDX-License-Identifier: Apache-2.0
#include "base/helper_message.h"

#include <poll.h>
#include <sys/socket.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/clock.h"

namespace tutti {
namespace {

constexpr uint64_t kMostMessageBytes = uint64_t{1} << 30;

/// A helper that crashes may have sent a part of its answer before its end is told.
struct Header {
  uint32_t magic = 0x54545569;
  HelperMessageKind kind = HelperMessageKind::kTransient;
  uint64_t size = 0;
  uint64_t hash = 0;
};

bool receive_bytes(int socket, void* data, size_t size, uint64_t deadline_ns) {
  auto* bytes = static_cast<char*>(data);
  while (size > 0) {
    int milliseconds = -1;
    const uint64_t now = deadline_ns != UINT64_MAX ? now_ns() : 0;
    if (now >= deadline_ns) {
      milliseconds = 0;  // what is there counts
    } else if (deadline_ns != UINT64_MAX) {
      milliseconds =
          static_cast<int>(std::min<uint64_t>((deadline_ns - now) / 1'000'000 + 1, INT_MAX));
    }
    pollfd entry{socket, POLLIN, 0};
    const int ready = poll(&entry, 1, milliseconds);
    if (ready < 0 && errno != EINTR) return false;
    if (ready == 0 && milliseconds == 0) return false;
    if (ready <= 0) continue;
    const ssize_t count = recv(socket, bytes, size, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

bool send_bytes(int socket, const void* data, size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t count = send(socket, bytes, size, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool send_helper_message(int socket, HelperMessageKind kind, std::string_view text) {
  Header header;
  header.kind = kind;
  header.size = text.size();
  header.hash = XXH3_64bits(text.data(), text.size());
  return send_bytes(socket, &header, sizeof header) && send_bytes(socket, text.data(), text.size());
}

std::optional<HelperMessage> receive_helper_message(int socket, uint64_t deadline_ns) {
  Header header;
  const uint32_t magic = header.magic;
  if (!receive_bytes(socket, &header, sizeof header, deadline_ns) || header.magic != magic ||
      header.kind > HelperMessageKind::kTransient || header.size > kMostMessageBytes) {
    return std::nullopt;
  }
  HelperMessage message{header.kind, std::string(header.size, '\0')};
  if (!receive_bytes(socket, message.text.data(), message.text.size(), deadline_ns) ||
      XXH3_64bits(message.text.data(), message.text.size()) != header.hash) {
    return std::nullopt;
  }
  return message;
}

}  // namespace tutti
