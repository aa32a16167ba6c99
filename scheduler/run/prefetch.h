// SPDX-License-Identifier: Apache-2.0
// What packages of a split launch have written is sent, as soon as they have ended, to where the
// launch that is expected next will read it, while others still compute. A guess that is wrong
// costs what nobody else wanted to send at the time. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/devices/workers.h"
#include "scheduler/observe/run_summary.h"
#include "scheduler/run/launch_sequences.h"
#include "scheduler/run/package_use.h"

namespace tutti::scheduler {

/// What they have read where.
PlaceReads reads_of(std::span<const PackageUse> uses);
/// The same whenever a kernel is launched alike with the same buffers; not 0.
uint64_t launch_id(const KernelWork& work);

class Prefetch : public std::enable_shared_from_this<Prefetch> {
 public:
  struct Parts {
    BackendSet& backends;
    Workers& workers;
    RunSummary& summary;
    bool always = false;  // also where it takes time of devices that compute, or is little
    bool forced = false;  // packages are as a seed says
  };
  /// Of a launch with this plan, whose next one is expected to read `next`; null where that is not
  /// worth it. `number`: of the launch in the trace, or 0.
  static std::shared_ptr<Prefetch> of(const Parts& parts, const KernelWork& work,
                                      const KernelPlan& plan, const PlaceReads& next,
                                      uint64_t number);
  struct Target {
    LogicalBuffer* buffer;
    Place place;
    ByteStrips strips;
  };
  /// `bytes`: of the targets, that are to be sent if the launch is divided as planned.
  Prefetch(const Parts& parts, std::vector<Target> targets, uint64_t bytes, double seconds,
           uint64_t number)
      : parts_(parts),
        targets_(std::move(targets)),
        bytes_(bytes),
        seconds_(seconds),
        number_(number) {}

  /// They take so long that shares are to be computed in several packages: what the first of these
  /// have written travels while the last ones compute.
  bool divides() const;
  /// Something of what this use of a package has written is wanted elsewhere.
  bool wants(const PackageUse& use) const;
  /// The directory shows what the package has written.
  void wrote(const PackageUse& use) TUTTI_EXCLUDES(mutex_);
  /// Nothing more is sent; waits for what is on its way, which is a few MiB at most.
  void stop() TUTTI_EXCLUDES(mutex_);

 private:
  /// Part by part, until stop().
  void send(const Target& target, const ByteStrips& strips) TUTTI_EXCLUDES(mutex_);
  /// False: nothing more is to be sent.
  bool send_part(const Target& target, const ByteStrips& strips) TUTTI_EXCLUDES(mutex_);

  const Parts parts_;
  const std::vector<Target> targets_;  // whose buffers are there until stop() returns
  const uint64_t bytes_;
  const double seconds_;  // that the launch is expected to take; 0: not known
  const uint64_t number_;
  Mutex mutex_;
  bool stopped_ TUTTI_GUARDED_BY(mutex_) = false;
  size_t sending_ TUTTI_GUARDED_BY(mutex_) = 0;
  ConditionVariable ended_;
};

}  // namespace tutti::scheduler
