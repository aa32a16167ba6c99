// SPDX-License-Identifier: Apache-2.0
// Evaluates a kernel's access summary for one launch: which bytes does a package of slices read and
// write, and along which dimension do packages' writes never meet? Pure logic, no OpenCL calls.
// A LaunchAccess is immutable after evaluate() and may be read by many threads; it keeps no pointer
// into its inputs except the summary, which must outlive it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scheduler/access/access_summary.h"
#include "scheduler/access/byte_range.h"
#include "scheduler/access/content_values.h"
#include "scheduler/access/merge_region.h"
#include "scheduler/access/split_policy.h"

namespace tutti::scheduler {

/// The whole launch as the application asked for it. Unused dimensions: offset 0, global 1,
/// local 1.
struct LaunchShape {
  uint32_t dims = 1;
  std::array<uint64_t, 3> offset{0, 0, 0};
  std::array<uint64_t, 3> global{1, 1, 1};
  // Where it does not divide global, the last group of that dimension is smaller, and groups() does
  // not count it: such launches run whole.
  std::array<uint64_t, 3> local{1, 1, 1};
  uint64_t groups(uint32_t d) const { return global[d] / local[d]; }
  /// The greatest offset at which a package may begin, and more.
  uint64_t last_offset(uint32_t d) const { return offset[d] + global[d] - 1; }
  bool smaller_groups() const {
    return global[0] % local[0] != 0 || global[1] % local[1] != 0 || global[2] % local[2] != 0;
  }
  uint64_t items() const { return global[0] * global[1] * global[2]; }
  bool is_empty() const { return global[0] == 0 || global[1] == 0 || global[2] == 0; }
  /// As by default, but without calls: compared at each of many small launches.
  bool operator==(const LaunchShape& other) const {
    uint64_t differing = dims ^ other.dims;
    for (size_t d = 0; d < 3; ++d) {
      differing |= (offset[d] ^ other.offset[d]) | (global[d] ^ other.global[d]) |
                   (local[d] ^ other.local[d]);
    }
    return differing == 0;
  }
};

/// One kernel argument's value at launch.
struct ArgumentValue {
  // Scalars: the bytes given to clSetKernelArg; images: an ImageLayout; samplers: a SamplerLayout;
  // else empty.
  std::span<const std::byte> scalar;
  // Memory objects: the root buffer (an id equal for all views of one allocation), where this
  // argument's window begins in it, and the window's size. buffer == 0: NULL or no memory object.
  uint64_t buffer = 0;
  uint64_t origin = 0;
  uint64_t size = 0;
  // So many bytes before the window are the application's to use, too: it is a pointer into shared
  // virtual memory. Only launches that leave them alone are understood.
  uint64_t before = 0;
  // Bytes that are read, written and moved as one: the pixel of an image that is none of a buffer.
  uint64_t unit = 1;
};

/// Less travels along with what is beside it as fast as a second transfer begins.
inline constexpr uint64_t kWorthLeavingOut = 64 * 1024;
/// The same of what lies between two strips: a rectangle is one transfer.
inline constexpr uint64_t kWorthLeavingOutOfRows = 256;

/// What one package does to one argument, in bytes of its window.
struct ArgumentUse {
  uint32_t argument = 0;
  ByteStrips read;   // loads (whole window where unknown): bounding ranges
  ByteStrips write;  // stores and atomics: bounding ranges; what lies in between is untouched
  // Every byte of `write` is provably stored by the package, and the package reads none of them
  // through another argument: what was there before does not matter beyond `read`.
  bool overwrites = false;
  // Other than kDisjoint: the writes belong to one of regions(), and say what the launch writes.
  MergeMode merge = MergeMode::kDisjoint;
  // Within `read`, where that is one range: the largest piece of which nothing is loaded; or empty.
  ByteRange unread{};
  /// What is to be moved for `read`: strips where what lies in between is worth to be left out, and
  /// without `unread` where that is worth a second transfer; else the second one is empty.
  std::array<ByteStrips, 2> read_parts() const {
    if (unread.size() >= kWorthLeavingOut) return read_around_unread();
    const bool apart = read.strided() && read.period - read.length >= kWorthLeavingOutOfRows;
    return {apart ? read : ByteStrips{.range = read.range}, ByteStrips{}};
  }
  /// Calls visit(begin, end) for all pieces of which something may be loaded, ascending.
  template <typename Visit>
  void for_each_read(Visit&& visit) const {
    if (unread.empty()) return read.for_each(visit);
    for (const ByteStrips& part : read_around_unread()) part.for_each(visit);
  }
  uint64_t bytes_read() const { return read.size() - unread.size(); }
  bool operator==(const ArgumentUse&) const = default;

 private:
  std::array<ByteStrips, 2> read_around_unread() const {
    return {ByteStrips{.range = {read.range.begin, unread.begin}},
            ByteStrips{.range = {unread.end, read.range.end}}};
  }
};

/// May this launch be split, how, and if not, why.
struct Verdict {
  MergeMode mode = MergeMode::kWhole;
  uint32_t dimension = 0;  // for a split: slices are the groups that share an index here
  std::string reason;  // in words; for kDisjoint too ("writes of argument 'out' are 64 bytes apart
                       // per slice")
  uint32_t line = 0;   // source line that forced kWhole, 0 = none
  bool alone = false;  // kDiff: of some regions at most one place may change what is in them
};

class LaunchAccess {
 public:
  /// `arguments` has one entry per kernel argument, in order. With
  /// policy.distrust_races, a launch whose packages' plain reads and writes might meet is kept
  /// whole (TUTTI_RACES).
  static LaunchAccess evaluate(const KernelSummary& summary, const LaunchShape& shape,
                               std::span<const ArgumentValue> arguments,
                               const SplitPolicy& policy = {});

  const Verdict& verdict() const { return verdict_; }
  /// What slices [first, first + count) along `dimension` do, one entry per memory argument used.
  /// For a whole launch: any dimension with first = 0 and count = its number of groups.
  std::vector<ArgumentUse> package(uint32_t dimension, uint64_t first, uint64_t count) const;
  /// What the whole launch does, whatever the verdict; to be relied on where exact().
  const std::vector<ArgumentUse>& whole() const { return whole_; }
  /// whole() leaves out nothing that the kernel does.
  bool exact() const { return exact_; }
  /// Other local sizes, of the same launch, might make it touch something else.
  bool by_groups() const { return by_groups_; }
  /// What has to be merged after a split; none for kDisjoint.
  std::span<const MergeRegion> regions() const;

  /// What slices along any dimension load of an argument of whose buffer the launch writes nothing,
  /// where that are strips that repeat, such as columns of a matrix; else with a period of 0.
  StridedAccesses columns(uint32_t argument, uint32_t dimension) const;

  /// Of arguments whose content says more of what packages read: accesses (ContentBounds) whose
  /// numbers the launch leaves alone.
  std::vector<uint32_t> bounded_by_content() const;
  /// The same launch with what the content says of its packages; whole() stays as it is.
  LaunchAccess with_content(std::shared_ptr<const ContentValues> content) const;

 private:
  struct Impl;
  Verdict verdict_;
  std::vector<ArgumentUse> whole_;
  bool exact_ = false, by_groups_ = true;
  std::shared_ptr<const Impl> impl_;
  std::shared_ptr<const ContentValues> content_;  // null: nothing is known of it
};

}  // namespace tutti::scheduler
