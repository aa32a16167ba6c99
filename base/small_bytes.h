// SPDX-License-Identifier: Apache-2.0
// Comparing and copying values that mostly are single numbers, which then takes no call. Stateless.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace tutti {

inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.size() != b.size()) return false;
  if (a.size() == 4) return std::memcmp(a.data(), b.data(), 4) == 0;
  if (a.size() == 8) return std::memcmp(a.data(), b.data(), 8) == 0;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0;
}

/// `to` has the size of `from`.
inline void copy_bytes(std::span<std::byte> to, std::span<const std::byte> from) {
  if (from.size() == 4) {
    std::memcpy(to.data(), from.data(), 4);
  } else if (from.size() == 8) {
    std::memcpy(to.data(), from.data(), 8);
  } else if (!from.empty()) {
    std::memcpy(to.data(), from.data(), from.size());
  }
}

}  // namespace tutti
