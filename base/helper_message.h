// SPDX-License-Identifier: Apache-2.0
// What the driver (helper_process.h) and a helper (helper_service.h) send each other over a socket:
// messages with a kind and a text, whole or not at all. Stateless, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tutti {

enum class HelperMessageKind : uint32_t {
  kRequest,
  kAnswer,
  kFailed,     // why there is no answer; the same request will fare no better
  kTransient,  // likewise, but it may
  kGone,       // never sent: the other side has ended without a word
};

struct HelperMessage {
  HelperMessageKind kind = HelperMessageKind::kTransient;
  std::string text;
};

/// All of them, whatever the system takes at a time. False when the other side has gone; errno says
/// why.
bool send_bytes(int socket, const void* data, size_t size);

/// False when the other side has gone.
bool send_helper_message(int socket, HelperMessageKind kind, std::string_view text);

/// Waits for one. Nothing when the other side has gone, when what it sent is damaged, and where it
/// has not come when now_ns() is `deadline_ns`.
std::optional<HelperMessage> receive_helper_message(int socket, uint64_t deadline_ns);

}  // namespace tutti
