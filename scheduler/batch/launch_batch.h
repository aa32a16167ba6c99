// SPDX-License-Identifier: Apache-2.0
// What a launch batch knows of the launches that have joined it. Guarded by the log's lock, or by
// its lease (scheduler/order/log_mutex.h).
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "scheduler/command/enqueue_options.h"
#include "scheduler/command/launched_arguments.h"
#include "scheduler/command/work.h"
#include "scheduler/plan/planner.h"
#include "scheduler/run/direct_path.h"

namespace tutti::scheduler {

class LaunchBatch {
 public:
  /// Of the launches that have joined, one that differs from others in more than numbers.
  struct Kind {
    KernelWork work;
    std::shared_ptr<const KernelPlan> plan;  // null: each launch is planned
    uint32_t left = 0;                       // so many more launches need no plan
    uint32_t granted = 0;                    // and so many when it was made
    bool brief = false;                      // as their plan says
    // Its buffers were where the launch has left them when the last one joined: one of this kind
    // needs no look at them.
    bool unchanged = false;
    // Of the thread that launches: so many have begun that later plans do not reckon with.
    uint32_t unexpected = 0;
    VendorLaunch vendor;
    LaunchedArguments arguments;
    bool has_shape(const LaunchableKernel* kernel, const LaunchShape& shape,
                   bool local_given) const {
      return kernel == work.kernel.get() && shape == work.shape && local_given == work.local_given;
    }
  };

  /// `first`: the plan of its first launch, if it will do for others like that, or null.
  explicit LaunchBatch(std::shared_ptr<const KernelPlan> first) : first_(std::move(first)) {}

  bool has_room() const { return members_.size() < kMost && events_ < kMostEvents; }
  /// Only what is brief may join.
  bool has_events() const { return has_events_; }
  /// `first`: all events that it has taken before have ended.
  void take_event(bool first) {
    has_events_ = true;
    events_ = first ? 1 : events_ + 1;
  }
  bool has_kinds() const { return kinds_ != nullptr; }

  /// A plan by which a launch of that kernel and shape has begun or joined the batch that `first`
  /// has begun, and that will do for `work`; null: there is none, or it has done for many.
  std::shared_ptr<const KernelPlan> planned_before(const KernelWork& first, const KernelWork& work);
  /// Launches of that kernel and shape which the last plan of one has done for.
  uint32_t unplanned(const KernelWork& work) const;
  /// The kind of `work`, to which it belongs from now on. `plan` (null: none) will do for
  /// `launches` more of that kernel and shape, unless it was made earlier and is not `anew`.
  /// `replaced` gets what is to be let go of once the log's lock has been.
  Kind& kind_of(const KernelWork& work, std::shared_ptr<const KernelPlan> plan, uint32_t launches,
                bool anew, std::shared_ptr<const void>& replaced);
  /// The kind whose launch may be repeated with these arguments, which is counted; null: none.
  Kind* find_kind(const LaunchAgain& launch, bool brief);
  /// Launches of each kind look at their buffers again.
  void look_again() {
    if (!kinds_) return;
    for (Kind& kind : kinds_->kinds) kind.unchanged = false;
  }
  /// What a launch that has joined needs beside its buffers lives on with the batch that `first`
  /// has begun.
  void keep(const KernelWork& first, const KernelWork& work);

 private:
  static constexpr size_t kMost = 256;  // kernels
  static constexpr uint32_t kMostEvents = 1024;
  struct Member {
    std::shared_ptr<LaunchableKernel> kernel;
    std::shared_ptr<const ArgumentSet> arguments;  // null: nothing of them has to live on
  };
  struct Kinds {
    std::deque<Kind> kinds;  // of which references stay valid
    size_t next = 0;         // to be replaced, where there are as many as may be
    size_t last = 0;         // found
  };
  // A step of a molecular dynamics program launches some thirty, one after the other.
  static constexpr size_t kMostKinds = 64;

  std::vector<Member> members_;
  std::unique_ptr<Kinds> kinds_;  // null: none yet
  bool has_events_ = false;
  uint32_t events_ = 0;  // since all before them had ended
  const std::shared_ptr<const KernelPlan> first_;
};

}  // namespace tutti::scheduler
