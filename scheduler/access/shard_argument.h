// SPDX-License-Identifier: Apache-2.0
// The hidden last argument of a kernel's shard variant, behind that of the sub-range variant where
// there is one: a `ulong16` by value that says how many bytes of what a pointer argument shows lie
// before the memory that the kernel gets for it. Written here, read by the code that
// kernel_compiler's rewriter puts into the kernel. A plain value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::scheduler {

/// s[i]: of argument i. Later arguments are not shifted, nor those that the variant leaves as they
/// are.
class ShardArgument {
 public:
  static constexpr size_t kArguments = 16;
  static constexpr size_t kBytes = 128;

  /// `shifted`: KernelSummary::shard_arguments.
  explicit ShardArgument(uint32_t shifted = 0) : shifted_(shifted) {}

  /// False: the variant does not shift that argument.
  bool set(size_t argument, uint64_t before) {
    if (argument >= kArguments || (shifted_ >> argument & 1) == 0) return before == 0;
    s_[argument] = before;
    return true;
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(s_)); }

 private:
  alignas(16) std::array<uint64_t, kArguments> s_{};
  uint32_t shifted_ = 0;
};
static_assert(sizeof(std::array<uint64_t, ShardArgument::kArguments>) == ShardArgument::kBytes);

}  // namespace tutti::scheduler
