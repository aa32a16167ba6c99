// SPDX-License-Identifier: Apache-2.0
// A kernel, what it is given and how it is launched, as plain data; and its text form, in which
// failures are kept (tests/kernels/regressions) whatever becomes of the generator.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::kernel_fuzz {

using Bytes = std::vector<uint8_t>;

/// Elements i = 0 … count − 1 of `width` bytes at byte `offset`: (i · multiplier + addend) %
/// modulo.
struct Pattern {
  uint64_t offset = 0;
  uint32_t width = 4;
  uint64_t count = 0;
  uint64_t multiplier = 0;
  uint64_t addend = 0;
  uint64_t modulo = 1;
};

/// An allocation: random bytes from a seed, and patterns over them.
struct Root {
  uint64_t size = 0;
  uint64_t seed = 0;
  std::vector<Pattern> patterns;
  // The application never writes it: only what does not depend on its content is compared.
  bool unwritten = false;
  Bytes contents() const;
};

struct CaseArgument {
  enum class Kind { kBuffer, kScalar, kLocal };
  Kind kind = Kind::kScalar;
  // Buffers: the window [origin, origin + size) of a root; the whole of it is no sub-buffer.
  uint32_t root = 0;
  uint64_t origin = 0;
  uint64_t size = 0;  // local memory: its size
  Bytes scalar;
};

constexpr uint32_t kMaxRoots = 6;

struct KernelCase {
  std::string source;  // '$' stands for the case's number; the kernel is called k$
  uint32_t dims = 1;
  std::array<uint64_t, 3> global = {1, 1, 1};
  std::array<uint64_t, 3> local = {0, 0, 0};  // local[0] == 0: none given
  std::array<uint64_t, 3> offset = {0, 0, 0};
  uint32_t repeat = 1;      // launches, one after the other on the same buffers
  std::vector<Root> roots;  // kMaxRoots at most
  std::vector<CaseArgument> arguments;
  bool local_given() const { return local[0] != 0; }
  /// Of all roots, before the first launch.
  std::vector<Bytes> contents() const;
  bool has_unwritten() const;
  /// Its source with the number in place.
  std::string text(uint64_t number) const;
};

/// What all kernels share: the macros of accesses, plain or (`twin`) recording. `atomics64`: with
/// the extensions of 64-bit atomics enabled.
std::string prelude(bool twin, bool atomics64);

std::string to_text(const KernelCase& kernel);
/// Throws std::runtime_error with the line at fault.
KernelCase from_text(const std::string& text);

}  // namespace tutti::kernel_fuzz
