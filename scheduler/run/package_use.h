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
#include "scheduler/order/buffer_uses.h"
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
  bool kept = false;  // what it overwrites of what it needs is copied first
  uint32_t argument = 0;
};

/// Sets into_host, by where the content lies now, and where it is `kept`.
void find_ways(std::span<PackageUse> uses);

/// Of these slices on the device. What merges see to is not written.
std::vector<PackageUse> uses_of_package(const KernelWork& work, const KernelPlan& plan,
                                        uint32_t backend, uint64_t first, uint64_t count);

/// What was where this use writes is of use afterwards, to the package or between what it writes.
bool needs_before(const PackageUse& use, std::span<const PackageUse> uses);
/// The package reads what it writes by this use: who computes it anew needs what was there before.
bool reads_what_it_writes(const PackageUse& use, std::span<const PackageUse> uses);
/// Whether all that the package writes may be written again: it reads none of that. A package that
/// fails has done any part of what it should have.
bool writes_anew(std::span<const PackageUse> uses);
/// Whether what was where the package writes, as far as that matters, was sent from the host's
/// copy.
bool was_sent(std::span<const PackageUse> uses, std::span<const SentRange> sent);
/// Whether what was where the package has written, as far as that matters, is not on its device
/// alone.
bool is_elsewhere(std::span<const PackageUse> uses);

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
