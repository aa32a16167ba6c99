// SPDX-License-Identifier: Apache-2.0
// The numbers that lie in memory arguments when a launch begins, as far as they bound what it
// touches (ContentBounds): the least and the largest one of any part of them. Immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "scheduler/access/access_summary.h"
#include "scheduler/access/affine.h"
#include "scheduler/access/byte_range.h"

namespace tutti::scheduler {

class ContentValues {
 public:
  /// Of `bytes`, which are an argument's window and aligned as its numbers are: those of that kind.
  void add(uint32_t argument, const ContentBounds& kind, std::span<const std::byte> bytes);
  /// The same as if `size` bytes held ascending numbers that lead evenly through `reached` bytes of
  /// another argument.
  void guess(uint32_t argument, const ContentBounds& kind, uint64_t size, uint64_t reached);
  bool has(uint32_t argument, const ContentBounds& kind) const {
    return trees_.contains(key(argument, kind)) || guesses_.contains(key(argument, kind));
  }
  /// The least and the largest number that lies in the range, or near to it; anything where nothing
  /// is known of the argument.
  affine::Interval within(uint32_t argument, const ContentBounds& kind,
                          const ByteRange& range) const;

 private:
  using Key = std::tuple<uint32_t, uint8_t, bool>;
  static Key key(uint32_t argument, const ContentBounds& kind) {
    return {argument, kind.width, kind.is_signed};
  }
  struct Extremes {
    int64_t least = 0, largest = 0;  // of 64 unsigned bits: as they are, less 2^63
  };
  /// Of blocks of numbers: a binary tree in one array, whose second half are the blocks.
  using Tree = std::vector<Extremes>;
  std::map<Key, Tree> trees_;
  struct Guess {
    uint64_t size = 0;     // bytes
    uint64_t largest = 0;  // number
  };
  std::map<Key, Guess> guesses_;
};

}  // namespace tutti::scheduler
