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

/// A pointer of eight bytes at byte `offset`, to byte `at` of a shared root.
struct Link {
  uint64_t offset = 0;
  uint32_t root = 0;
  uint64_t at = 0;
};

/// An allocation: random bytes from a seed, and patterns over them.
struct Root {
  enum class Kind {
    kBuffer,
    kShared,      // shared virtual memory; arguments are pointers into it
    kSharedBoth,  // every second argument is a buffer over it
  };
  uint64_t size = 0;
  uint64_t seed = 0;
  std::vector<Pattern> patterns;
  // What is in their place in contents() and in results is no address, but what pointer_symbol()
  // says.
  std::vector<Link> links;
  Kind kind = Kind::kBuffer;
  // The application never writes it: only what does not depend on its content is compared.
  bool unwritten = false;
  bool shared() const { return kind != Kind::kBuffer; }
  Bytes contents() const;
};

constexpr uint64_t pointer_symbol(uint32_t root, uint64_t at) {
  return uint64_t{0x5a} << 56 | uint64_t{root} << 40 | at;
}

struct CaseArgument {
  enum class Kind { kBuffer, kScalar, kLocal };
  Kind kind = Kind::kScalar;
  // Buffers: the window [origin, origin + size) of a root; the whole of it is no sub-buffer. Of a
  // shared root, the window from there to its end.
  uint32_t root = 0;
  uint64_t origin = 0;
  uint64_t size = 0;  // local memory: its size
  Bytes scalar;
};

constexpr uint32_t kMaxRoots = 6;

struct KernelCase {
  std::string source;     // '$' stands for the case's number; the kernel is called k$
  uint32_t language = 0;  // 300: OpenCL C 3.0
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
  bool has_shared() const;
  /// Its source with the number in place.
  std::string text(uint64_t number) const;
};

/// What all kernels share: the macros of accesses, plain or (`twin`) recording. `atomics64`: with
/// the extensions of 64-bit atomics enabled.
std::string prelude(bool twin, bool atomics64);

/// For clBuildProgram, with a blank before.
std::string language_option(uint32_t language);

std::string to_text(const KernelCase& kernel);
/// Throws std::runtime_error with the line at fault.
KernelCase from_text(const std::string& text);

}  // namespace tutti::kernel_fuzz
