// SPDX-License-Identifier: Apache-2.0
// Small things that benchmarks share: input generation and element-wise comparison. Pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "benchmark.h"

namespace tutti::bench {

/// What outputs hold before a launch: a NaN as float, and no likely value as an integer.
inline constexpr cl_uint kPoison = 0x7fc0deadU;

/// Reproducible inputs (splitmix64): the same on every machine and standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint32_t bits() { return static_cast<std::uint32_t>(next() >> 32); }
  /// In [0, bound); bound > 0.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((std::uint64_t{bits()} * bound) >> 32);
  }
  /// In [0, 1), a multiple of 2^-24.
  float unit() { return static_cast<float>(next() >> 40) * 0x1p-24F; }

 private:
  std::uint64_t state_;
};

/// Every element must be equal.
template <typename T>
Verdict verify_equal(std::span<const T> found, std::span<const T> expected) {
  Verdict verdict;
  verdict.checked = expected.size();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (found[i] == expected[i]) continue;
    if (verdict.wrong++ == 0) {
      verdict.first_wrong = "element " + std::to_string(i) + ": " + std::to_string(found[i]) +
                            ", expected " + std::to_string(expected[i]);
    }
  }
  return verdict;
}

/// How a pixel compares with the reference.
enum class Pixel {
  kEqual,
  kClose,       ///< tolerated however often it occurs
  kDifferent,   ///< rounding that differs may do that at an edge
  kImpossible,  ///< never written
};

/// A picture, row by row, that differs in at most `per_mille` pixels of 1000 and never in more than
/// `longest_run` in a row: a lost group or row shows as a run that is at least as long as a group
/// is wide. compare(index) returns a Pixel, describe(index) what is found and expected.
template <typename Compare, typename Describe>
Verdict verify_picture(std::size_t width, std::size_t height, std::size_t per_mille,
                       std::size_t longest_run, const Compare& compare, const Describe& describe) {
  Verdict verdict;
  verdict.checked = width * height;
  std::size_t different = 0;
  std::size_t close = 0;
  std::size_t first = 0;
  bool intolerable = false;
  for (std::size_t y = 0; y < height; ++y) {
    std::size_t run = 0;
    for (std::size_t i = y * width; i < (y + 1) * width; ++i) {
      const Pixel pixel = compare(i);
      if (pixel == Pixel::kClose) ++close;
      if (pixel == Pixel::kEqual || pixel == Pixel::kClose) {
        run = 0;
        continue;
      }
      if (different++ == 0) first = i;
      if ((++run > longest_run || pixel == Pixel::kImpossible) && !intolerable) {
        intolerable = true;
        first = i;
      }
    }
  }
  if (intolerable || different * 1000 > per_mille * verdict.checked) {
    verdict.wrong = different;
    verdict.first_wrong = "pixel (" + std::to_string(first % width) + ", " +
                          std::to_string(first / width) + "): " + describe(first);
  } else {
    verdict.tolerated = different + close;
  }
  return verdict;
}

}  // namespace tutti::bench
