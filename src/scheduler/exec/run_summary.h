// SPDX-License-Identifier: Apache-2.0
// What happened to each kernel of this process, for TUTTI_SUMMARY: counts, verdict, reason, and the
// packages of the last split launch; and the energy, where it is measured. Thread-safe. Costs
// nothing when off.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "platform/thread_annotations.h"
#include "scheduler/exec/backend_set.h"
#include "scheduler/exec/energy_monitor.h"
#include "scheduler/plan/planner.h"

namespace tutti::scheduler {

/// One package of a split launch. Times in nanoseconds of the process's clock.
struct PackageRecord {
  uint32_t device = 0;  // index in the BackendSet
  uint64_t first = 0;   // slice
  uint64_t count = 0;   // slices
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

class RunSummary {
 public:
  /// `target`: as TUTTI_SUMMARY; empty = off.
  RunSummary(BackendSet& backends, std::string target, const EnergyMonitor& energy)
      : backends_(backends), target_(std::move(target)), energy_(energy) {}

  bool enabled() const { return !target_.empty(); }
  void launched_whole(const std::string& kernel, const KernelPlan& plan, uint32_t device);
  /// `repeated`: more than one device changed what only one may, and one did all the others' work.
  void launched_split(const std::string& kernel, const KernelPlan& plan,
                      std::vector<PackageRecord> packages, bool repeated);
  /// Writes the file, or the text to stderr; says so in the log when it cannot.
  void write() const;
  std::string json() const;
  std::string text() const;

 private:
  struct Entry {
    uint64_t launches = 0;
    uint64_t split = 0;
    uint64_t repeated = 0;
    std::string mode;
    std::string reason;
    uint32_t line = 0;
    uint32_t dimension = 0;
    std::map<uint32_t, uint64_t> whole;  // launches by device
    LaunchShape shape;                   // of the last split launch
    std::vector<PackageRecord> packages;
  };

  BackendSet& backends_;
  const std::string target_;
  const EnergyMonitor& energy_;
  mutable Mutex mutex_;
  std::map<std::string, Entry> kernels_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
