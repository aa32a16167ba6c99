// SPDX-License-Identifier: Apache-2.0
// Split launches that may have overdue packages, and packages that go on though their launch has
// ended without them. A thread that sleeps until the first launch is due asks each watched one what
// is overdue. What a late package may read or write is kept from others by a command of its own in
// the graph (CommandLog::hold_late), and its device takes no part in launches, until it has ended.
// Thread-safe; no lock is held while a launch is asked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task_thread.h"
#include "base/thread_annotations.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/observe/run_trace.h"
#include "scheduler/order/command_log.h"
#include "scheduler/run/package_use.h"

namespace tutti::scheduler {

class SplitRun;

/// A package that its launch does not wait for.
struct LatePackage {
  uint32_t backend = 0;
  Ref<Node> node;  // stands for it in the graph
  std::vector<PackageUse> uses;
  uint64_t since_ns = 0;
};

class OverduePackages {
 public:
  /// Of the engine, for as long as this lives.
  struct Parts {
    BackendSet& backends;
    CommandLog& log;
    NodeOwner& owner;
    RunTrace& trace;
  };
  /// `least_ns`: nothing is overdue before.
  OverduePackages(const Parts& parts, uint64_t least_ns) : parts_(parts), least_ns_(least_ns) {}
  ~OverduePackages();

  uint64_t least_ns() const { return least_ns_; }
  /// Somebody of the launch has nothing to do while others compute: asks it after least_ns(), or
  /// `at_once`, and then when it says.
  void watch(const std::shared_ptr<SplitRun>& run, bool at_once) TUTTI_EXCLUDES(mutex_);
  /// It has ended.
  void unwatch(const SplitRun& run) TUTTI_EXCLUDES(mutex_);
  /// Runs a task that may wait for a device, in a thread of its own. False: there is none.
  bool run_apart(std::function<void()> task) TUTTI_EXCLUDES(mutex_);

  /// `launch` is about to go on without a package with these uses; absent where it must wait, since
  /// something has begun that would disturb it. `alone`: the device's own thread waits for it.
  std::optional<LatePackage> hold(uint32_t backend, std::span<const PackageUse> uses,
                                  const Node& launch, bool alone);
  /// The launch goes on without it, which had `seconds`.
  void note_dropped(const LatePackage& late, const std::string& kernel, double seconds);
  /// It has ended before anybody went on without it.
  void let_go(const LatePackage& late);
  /// It has ended so, after others went on without it.
  void ended(const LatePackage& late, const Status& status);
  /// A package of the device has ended so, in whose place another one counts: what it may write
  /// yet, since the device hangs, has failed.
  void beaten(uint32_t backend, std::span<const PackageUse> uses, const Status& status);

 private:
  struct Watched {
    const SplitRun* launch;
    std::weak_ptr<SplitRun> run;
    uint64_t due_ns;
  };
  void ask_in_time() TUTTI_EXCLUDES(mutex_);

  const Parts parts_;
  const uint64_t least_ns_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Watched> watched_ TUTTI_GUARDED_BY(mutex_);
  bool asking_ TUTTI_GUARDED_BY(mutex_) = false;  // the thread has something to wait for
  bool stopping_ TUTTI_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<TaskThread>> apart_ TUTTI_GUARDED_BY(mutex_);
  // The process's exit does not wait for the time that something may take.
  TaskThread timer_{"tutti-overdue", TaskThread::AtExit::kLeftAlone};
};

}  // namespace tutti::scheduler
