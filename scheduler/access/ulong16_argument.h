// SPDX-License-Identifier: Apache-2.0
// What the hidden arguments of rewritten kernels are: a `ulong16` by value. A plain value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::scheduler {

class Ulong16Argument {
 public:
  static constexpr size_t kBytes = 128;

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(s_)); }

 protected:
  alignas(16) std::array<uint64_t, 16> s_{};
};
static_assert(sizeof(std::array<uint64_t, 16>) == Ulong16Argument::kBytes);

}  // namespace tutti::scheduler
