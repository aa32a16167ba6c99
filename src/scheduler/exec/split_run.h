// SPDX-License-Identifier: Apache-2.0
// One launch of a kernel that is computed by several devices: hands packages to the devices'
// workers as the balancer says, two in flight per device, and ends when the last package has ended.
// Shared by the workers' tasks; thread-safe. Its lock is never held while a vendor is called.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "platform/thread_annotations.h"
#include "scheduler/balance/balancer.h"
#include "scheduler/balance/regions.h"
#include "scheduler/exec/merge.h"
#include "scheduler/exec/run_summary.h"
#include "scheduler/exec/run_trace.h"
#include "scheduler/exec/stream.h"
#include "scheduler/exec/work.h"
#include "scheduler/log/command.h"
#include "scheduler/plan/planner.h"

namespace tutti::scheduler {

class SplitRun {
 public:
  struct Parts {
    BackendSet& backends;
    RunSummary& summary;
    BlockCompare& compare;
    RunTrace& trace;
    std::shared_ptr<CommandTrace> command;  // null: not traced
    std::vector<uint64_t> rounds;           // per participant: the slices that fill it, ≥ 1
  };
  struct Outcome {
    Status status;
    std::span<const PackageRecord> packages;
    std::vector<uint64_t> slices;  // per participant
    bool nothing_ran = false;      // no device could launch anything: buffers are as they were
    uint64_t begun_ns = 0;
  };
  /// Called once, by the worker that ends last, when all results are in the directory.
  using Ended = std::function<void(const Outcome&)>;
  SplitRun(Parts parts, KernelWork work, KernelPlan plan, Ref<Stream> stream,
           std::unique_ptr<Balancer> balancer, Ended ended);

  size_t participants() const { return plan_.participants.size(); }
  uint32_t backend(size_t participant) const { return plan_.participants[participant]; }
  /// A participant's whole share of the launch; each is called once, on its device's worker.
  void take_part(size_t participant);

 private:
  using Range = SliceRange;
  struct InFlight {
    Range range;
    backends::CompletionPtr completion;
    uint64_t launched_ns = 0;
    uint64_t begun_ns = 0;  // when its data began to move, else when it was launched
  };
  struct Seat;  // what one participant needs to launch packages

  Range next_range(size_t participant, bool insist) TUTTI_EXCLUDES(mutex_);
  void give_back(size_t participant, Range range, Error error) TUTTI_EXCLUDES(mutex_);
  /// Whether packages in flight on the device run side by side, on queues of their own.
  bool side_by_side(uint32_t backend) const;
  void note_end(size_t participant, Seat& seat, const InFlight& package, uint64_t previous_end)
      TUTTI_EXCLUDES(mutex_);
  Status sit_down(size_t participant, Seat& seat);
  /// Everything that the package reads is valid where it runs, and what it writes is announced.
  /// `moved`: bytes.
  Status prepare_data(Seat& seat, Range range, uint64_t& moved);
  Result<InFlight> launch(Seat& seat, Range range);
  void work_off(size_t participant, bool insist);
  void learn(std::vector<PackageRecord> packages);
  std::vector<uint64_t> slices_of_each(const std::vector<PackageRecord>& packages) const;
  void note_launch() TUTTI_EXCLUDES(mutex_);
  /// Where several places changed what only one may (MergeRegion::alone): gives back the packages
  /// of all but one, whose participant is returned.
  std::optional<size_t> drop_conflicts() TUTTI_EXCLUDES(mutex_);
  /// The last participant to end: whatever is left is done by a device that works.
  void complete() TUTTI_EXCLUDES(mutex_);
  Status merge(Status status);
  uint64_t number() const { return parts_.command ? parts_.command->number : 0; }  // in the trace
  void finish();

  Parts parts_;
  const KernelWork work_;
  const KernelPlan plan_;
  const Ref<Stream> stream_;
  const uint32_t dimension_;
  const uint64_t slices_;
  const uint64_t begun_ns_;
  Ended ended_;
  std::vector<std::unique_ptr<Merge>> merges_;
  bool repeated_ = false;  // drop_conflicts() found some

  Mutex mutex_;
  std::unique_ptr<Balancer> balancer_ TUTTI_GUARDED_BY(mutex_);
  Regions regions_ TUTTI_GUARDED_BY(mutex_);
  size_t active_ TUTTI_GUARDED_BY(mutex_);
  std::vector<bool> failed_ TUTTI_GUARDED_BY(mutex_);  // per participant
  Status status_ TUTTI_GUARDED_BY(mutex_);             // of a package that failed while it ran
  Error last_error_ TUTTI_GUARDED_BY(mutex_);          // of a package that was not launched
  std::vector<PackageRecord> packages_ TUTTI_GUARDED_BY(mutex_);
  bool launched_ TUTTI_GUARDED_BY(mutex_) = false;  // some package was
};

}  // namespace tutti::scheduler
