// SPDX-License-Identifier: Apache-2.0
// Panels: columns of a matrix, packed one row behind the other, as blocked matrix products do it. A
// streaming device has memory for a panel of an argument of which each slice reads all of some
// columns, instead of for all of it. Plain values, pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/access/byte_range.h"

namespace tutti::scheduler {

/// Rows of `length` bytes, each `pitch` behind the one before, the first at `begin`, as far as they
/// lie in a window of `size` bytes; in the panel `width` apart from its begin on.
struct PanelShape {
  int64_t begin = 0;
  uint64_t pitch = 0, length = 0, size = 0;
  uint64_t width = 0, rows = 0;

  uint64_t bytes() const { return rows * width; }
  /// Bytes [from, to) of the panel, out of the window at `window`. Between rows they stay as they
  /// are.
  void pack(const std::byte* window, uint64_t from, uint64_t to, std::byte* panel) const;
  /// What lies before the panel for kernels that find it as the n-th of several of this size, one
  /// behind the other: each is as many rows.
  uint64_t before(uint64_t n) const { return static_cast<uint64_t>(begin) - n * rows * pitch; }
  bool operator==(const PanelShape&) const = default;
};

/// What these slices touch of a window of `size` bytes as a panel. As many bytes for other slices
/// of the same number. Absent: `copies` of it would be as large as the window, or kernels could not
/// use them.
std::optional<PanelShape> panel_of(const StridedAccesses& columns, uint64_t first, uint64_t count,
                                   uint64_t size, uint64_t copies = 1);

/// Which arguments a launch's streaming participants have panels of.
struct Panels {
  struct Argument {
    uint32_t argument = 0;
    StridedAccesses columns;
    uint64_t size = 0;  // bytes of its window
    bool operator==(const Argument&) const = default;
  };
  std::vector<Argument> arguments;
  // Panels hold what work-groups along this dimension read: those of a package, if the launch is
  // split along it; else `block` of them at a time, over which each package is computed in turn.
  uint32_t dimension = 0;
  uint64_t block = 0;
  // For so many of each there is memory: the next one comes while a launch computes with another.
  uint64_t copies = 1;

  bool empty() const { return arguments.empty(); }
  const Argument* find(uint32_t argument) const;
};

}  // namespace tutti::scheduler
