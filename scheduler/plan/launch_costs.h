// SPDX-License-Identifier: Apache-2.0
// What one launch is expected to cost on each device: computing, from the performance model or,
// before anything is known, from nominal speeds; and transfers of what is not valid there yet.
// Seconds. Stateless beside the model; thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "scheduler/access/access_eval.h"
#include "scheduler/command/work.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/model/performance_model.h"

namespace tutti::scheduler {

/// What hosts and links reach at least, for what is not measured.
inline constexpr double kLinkBytesPerSecond = 6e9;

/// Computing: t(items) = startup + items / rate.
struct ComputeCost {
  double startup = 0;       // that of the call included
  double call = 0;          // what the call takes, while the device may still do other things
  double rate = 1;          // work-items per second; where nothing is known, only ratios count
  double irregularity = 0;  // of the known times
  bool measured = false;    // of this kernel, on this device
  double wait = 0;          // until the device is free, once the data are there
  double others = 0;        // of that: other processes' work
  // Of a whole launch of the items that were asked about, where such launches are known.
  double whole = std::numeric_limits<double>::infinity();
  /// Of a whole launch. No device is slower alone than beside its neighbours.
  double seconds(double items) const { return std::min(startup + items / rate, whole); }
};

/// Arguments that some store or atomic of the kernel may reach, as bits (argument 63 stands for all
/// from there on). Everything writable when the kernel is not understood.
uint64_t written_arguments(const KernelSummary& summary);
inline bool argument_written(uint64_t bits, size_t index) {
  return bits >> (index < 63 ? index : 63) & 1;
}

class LaunchCosts {
 public:
  explicit LaunchCosts(BackendSet& backends) : backends_(backends) {}

  /// Bytes per second that pass to the device and back at least, where that is not learned.
  double link_rate(uint32_t backend) const;
  /// What a launch takes beside its kernel, until its end is known (docs/platform-notes.md).
  double call_seconds(uint32_t backend) const;
  /// One per device of `devices`. True: some are measured, and so all times are in seconds.
  bool compute(uint64_t key, uint64_t items, std::span<const uint32_t> devices,
               std::vector<ComputeCost>& costs) const;
  /// Everything that the kernel's arguments show must become valid on the device; with `exact`
  /// what it says of the whole launch.
  double whole_transfers(const ArgumentSet& arguments, const LaunchAccess* exact,
                         uint32_t backend) const;
  /// The same for what slices [first, first + count) need.
  double package_transfers(const ArgumentSet& arguments, const LaunchAccess& access, uint64_t first,
                           uint64_t count, uint32_t backend) const;
  /// The part of a launch's results that `backend` computes, brought to the host, as far as the
  /// application is expected to read it.
  double gather(const KernelWork& work, uint32_t backend, double part) const;
  /// What a whole launch on `from` writes, brought to `to`.
  double return_transfers(const KernelWork& work, uint32_t from, uint32_t to) const;

 private:
  double transfers(const ArgumentSet& arguments, std::span<const ArgumentUse> uses,
                   uint32_t backend) const;
  double transfer(const LogicalBuffer& buffer, const ByteStrips& strips, uint32_t backend) const;
  double one_way(uint64_t direction, uint32_t backend, uint64_t bytes, uint64_t rows = 1) const;
  /// How fast `backend` should be, when `other` does `rate`.
  double scaled(double rate, uint32_t other, uint32_t backend) const;

  BackendSet& backends_;
};

}  // namespace tutti::scheduler
