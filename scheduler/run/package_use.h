// SPDX-License-Identifier: Apache-2.0
// What a package of a launch, or a whole launch, does to buffers on the device that computes it;
// and how it is undone where that device fails. Plain values; not thread-safe.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "scheduler/access/byte_range.h"
#include "scheduler/command/work.h"
#include "scheduler/memory/logical_buffer.h"
#include "scheduler/plan/planner.h"

namespace tutti::scheduler {

/// What a package does to a buffer, in bytes of it.
struct PackageUse {
  LogicalBuffer* buffer = nullptr;
  Place place = kHostPlace;
  ByteStrips read;
  ByteStrips write;
  bool overwrites = false;
  // What it needs has to be brought to the host's copy first, there to stay or on its way.
  bool into_host = false;
  uint32_t argument = 0;
};

/// Sets into_host, by where the content lies now.
void find_ways(std::span<PackageUse> uses);

/// Of these slices on the device. What merges see to is not written.
std::vector<PackageUse> uses_of_package(const KernelWork& work, const KernelPlan& plan,
                                        uint32_t backend, uint64_t first, uint64_t count);

/// Whether all that the package writes may be written again: it overwrites that, and reads none
/// of it.
bool writes_anew(std::span<const PackageUse> uses);

/// What a package overwrites of what it needs, for the case that it fails.
class ContentBefore {
 public:
  /// Before it runs: a copy of that is in another memory, or here.
  Status keep(std::span<const PackageUse> uses);
  /// It has failed, computes no more, and its writes have been discarded: what it has needed is
  /// there as before. False: it is not.
  bool restore(std::span<const PackageUse> uses) const;

 private:
  struct Kept {
    LogicalBuffer* buffer;
    ByteStrips strips;
    std::vector<std::byte> bytes;  // one strip after the other
  };
  std::vector<Kept> kept_;
};

}  // namespace tutti::scheduler
