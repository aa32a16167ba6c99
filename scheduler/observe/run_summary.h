// SPDX-License-Identifier: Apache-2.0
// What happened to each kernel of this process, for TUTTI_SUMMARY: how often and how long it ran
// where, split or whole and why, and what splitting gained; bytes moved; and the energy, where it
// is measured. Thread-safe. Costs nothing when off.
//
// Times: a split launch's is from its begin to the end of its merges. Of whole launches those count
// that were measured anyway; the others are estimated by what the performance model knows, so that
// a summary changes nothing of what it tells of.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/observe/energy_monitor.h"
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
  void launched_whole(const KernelWork& work, const KernelPlan& plan, uint32_t device);
  /// What a whole launch took, which is told besides. `key`: as model_key().
  void measured_whole(const std::string& kernel, uint64_t key, uint64_t items, uint32_t device,
                      double seconds);
  /// `seconds`: until all was merged. `repeated`: more than one device changed what only one may,
  /// and one did all the others' work.
  void launched_split(const KernelWork& work, const KernelPlan& plan,
                      std::vector<PackageRecord> packages, double seconds, bool repeated);
  /// What a launch has written was sent to where the next one is expected to read it.
  void sent_ahead(uint64_t bytes) { sent_ahead_.fetch_add(bytes, std::memory_order_relaxed); }
  /// Which launch comes next was said, and has turned out so.
  void guessed(bool right) {
    (right ? guessed_right_ : guessed_wrong_).fetch_add(1, std::memory_order_relaxed);
  }
  /// Writes the file, or the text to stderr; says so in the log when it cannot.
  void write() const;
  std::string json() const;
  /// A line for each device that has voted on results; empty where none has.
  std::string votes_text() const;
  std::string text() const;

 private:
  /// Launches with one verdict.
  struct Kind {
    bool split = false;
    KernelPlan::Why why = KernelPlan::Why::kVerdict;
    MergeMode mode = MergeMode::kWhole;  // of a split
    WholeReasons whole;                  // of the last one, as the line is
    std::string how;                     // likewise, of a split
    uint32_t line = 0;
    bool varies = false;  // the words were others at earlier ones
    uint64_t launches = 0;
    std::string reason() const { return split ? how : whole.text(); }
  };
  /// Whole launches of one kernel and local size on one device.
  struct Runs {
    uint64_t launches = 0, measured = 0;
    double items = 0, measured_items = 0, seconds = 0;  // seconds: of the measured ones
  };
  struct Entry {
    std::vector<Kind> kinds;
    std::map<std::pair<uint64_t, uint32_t>, Runs> runs;  // by model key and device
    uint64_t split = 0, repeated = 0, streamed = 0, panels = 0;
    double split_seconds = 0;
    // What the best device would have taken alone, of those splits where that can be told, and what
    // these took.
    double alone_seconds = 0, compared_seconds = 0;
    // Of the last split launch:
    uint32_t dimension = 0;
    LaunchShape shape;
    std::vector<PackageRecord> packages;
  };
  /// Of whole launches, all or those of one device.
  struct WholeTime {
    uint64_t launches = 0, measured = 0, unknown = 0;
    double seconds = 0;  // but for the unknown ones
  };
  /// What is said of a kernel, or of all.
  struct Numbers {
    WholeTime whole;
    std::map<uint32_t, WholeTime> devices;
    uint64_t split = 0;
    double split_seconds = 0, alone_seconds = 0, compared_seconds = 0;
    uint64_t launches() const { return whole.launches + split; }
    double seconds() const { return whole.seconds + split_seconds; }
    /// How many times as fast splits were as the best device alone; absent: not known.
    std::optional<double> gain() const;
  };
  struct Shown {
    const std::string* name;
    const Entry* entry;
    Numbers numbers;
  };

  static Kind& kind_of(Entry& entry, bool split, KernelPlan::Why why, MergeMode mode,
                       const std::string& forbids);
  Numbers numbers_of(const Entry& entry) const;
  /// Every kernel, the one that took longest first; and the sum of all.
  std::pair<std::vector<Shown>, Numbers> by_time() const TUTTI_REQUIRES(mutex_);
  /// Seconds that the best device would have taken for a split launch; 0: not known.
  double best_alone(const KernelWork& work, const KernelPlan& plan,
                    const std::vector<PackageRecord>& packages) const;
  backends::Traffic traffic() const;
  nlohmann::json kernel_json(const Shown& shown) const;
  std::string kernel_text(const Shown& shown, double total_seconds) const;
  /// Who computed how much of the last split launch.
  std::string shares_text(const Entry& entry) const;
  std::string device_name(uint32_t device) const;

  BackendSet& backends_;
  const std::string target_;
  const EnergyMonitor& energy_;
  std::atomic<uint64_t> sent_ahead_{0};  // bytes
  std::atomic<uint64_t> guessed_right_{0}, guessed_wrong_{0};
  mutable Mutex mutex_;
  std::map<std::string, Entry> kernels_ TUTTI_GUARDED_BY(mutex_);
  uint64_t beside_others_ TUTTI_GUARDED_BY(mutex_) = 0;  // launches, see KernelPlan
};

}  // namespace tutti::scheduler
