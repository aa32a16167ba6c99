// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/overdue_packages.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/live_counters.h"
#include "base/log.h"
#include "base/memory_reserve.h"
#include "scheduler/run/split_run.h"

namespace tutti::scheduler {

OverduePackages::~OverduePackages() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  timer_.stop();
}

void OverduePackages::watch(const std::shared_ptr<SplitRun>& run, bool at_once) {
  MutexLock lock(mutex_);
  if (stopping_) return;
  try {
    watched_.push_back({run.get(), run, now_ns() + (at_once ? 0 : least_ns_)});
    // A thread that waits does so for no longer than this may take: it need not be woken.
    if (asking_ && at_once) changed_.notify_all();
    if (!asking_) timer_.post([this] { ask_in_time(); });
    asking_ = true;
  } catch (const std::exception&) {  // no memory, or no thread: its packages are waited for
    std::erase_if(watched_, [&](const Watched& one) { return one.launch == run.get(); });
  }
}

void OverduePackages::unwatch(const SplitRun& run) {
  MutexLock lock(mutex_);
  std::erase_if(watched_, [&](const Watched& one) { return one.launch == &run; });
}

void OverduePackages::ask_in_time() {
  MutexLock lock(mutex_);
  while (!stopping_ && !watched_.empty()) {
    const auto first =
        std::min_element(watched_.begin(), watched_.end(),
                         [](const Watched& a, const Watched& b) { return a.due_ns < b.due_ns; });
    const uint64_t now = now_ns();
    if (first->due_ns > now) {
      const uint64_t wait_ns = std::min(first->due_ns - now, least_ns_);
      changed_.wait_for(mutex_, static_cast<unsigned>(wait_ns / 1'000'000 + 1));
      continue;
    }
    const SplitRun* const launch = first->launch;
    std::shared_ptr<SplitRun> run = first->run.lock();
    lock.unlock();
    std::optional<uint64_t> next;
    if (run) {
      const MemoryReserved reserved;
      // Where there is no memory for it, later.
      if (!guarded([&] { next = run->look_for_overdue(); })) next = now + least_ns_;
    }
    run.reset();
    lock.lock();
    const auto asked = std::find_if(watched_.begin(), watched_.end(),
                                    [&](const Watched& one) { return one.launch == launch; });
    if (asked == watched_.end()) continue;
    if (next) {
      asked->due_ns = *next;
    } else {
      watched_.erase(asked);
    }
  }
  asking_ = false;
}

bool OverduePackages::run_apart(std::function<void()> task) {
  MutexLock lock(mutex_);
  if (stopping_) return false;
  try {
    auto thread =
        std::find_if(apart_.begin(), apart_.end(), [](const auto& one) { return one->idle(); });
    if (thread == apart_.end()) {
      apart_.push_back(std::make_unique<TaskThread>("tutti-again"));
      thread = std::prev(apart_.end());
    }
    (*thread)->post([task = std::move(task)] {
      const MemoryReserved reserved;
      static_cast<void>(guarded(task));
    });
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

std::optional<LatePackage> OverduePackages::hold(uint32_t backend, std::span<const PackageUse> uses,
                                                 const Node& launch, bool alone) {
  LatePackage late{
      backend, make_ref<Node>(parts_.owner, 0, MarkerWork{}), {uses.begin(), uses.end()}, now_ns()};
  std::vector<BufferUse> held;
  for (const PackageUse& use : uses) {
    for (const ByteStrips* strips : {&use.read, &use.write}) {
      if (!strips->empty()) held.push_back({use.buffer, strips->range.begin, strips->range.end});
    }
  }
  // From now on nothing new is brought to its memory.
  parts_.backends.health().begin_late(backend);
  {
    MutexLock lock(parts_.log.mutex());
    if (parts_.log.hold_late(*late.node, held, backend, launch, alone)) return late;
  }
  parts_.backends.health().end_late(backend);
  return std::nullopt;
}

void OverduePackages::let_go(const LatePackage& late) {
  parts_.log.finish(late.node, CL_COMPLETE);
  parts_.backends.health().end_late(late.backend);
}

void OverduePackages::note_dropped(const LatePackage& late, const std::string& kernel,
                                   double seconds) {
  const backends::DeviceTraits& traits = parts_.backends.traits(late.backend);
  log(parts_.backends.health().late_packages(late.backend) > 1 ? LogLevel::kInfo
                                                               : LogLevel::kWarning,
      "{} has not computed its part of {} within {:.1f} s: another device has, and it takes no "
      "part until it is done",
      traits.device_name, kernel, seconds);
  parts_.backends.health().note_late(late.backend);
  parts_.trace.late(late.backend, kernel);
  live::set_lost(traits.index, true);
}

void OverduePackages::beaten(uint32_t backend, std::span<const PackageUse> uses,
                             const Status& status) {
  if (status || !parts_.backends.may_write_late(backend)) return;
  // It has not ended, and is waited for no longer: at any time it may write there.
  for (const PackageUse& use : uses) {
    if (use.place != kHostPlace || use.write.empty()) continue;
    const ByteRange range = use.write.range;
    parts_.log.note_lost(*use.buffer, {&range, 1}, status.error().code);
  }
}

void OverduePackages::ended(const LatePackage& late, const Status& status) {
  BackendSet& backends = parts_.backends;
  beaten(late.backend, late.uses, status);
  const uint64_t now = now_ns();
  parts_.trace.was_lost(late.backend, late.since_ns, now);
  backends.health().end_late(late.backend);
  const BackendMask away = backends.health().lost() | backends.health().late();
  if ((away & backend_bit(late.backend)) == 0) {
    live::set_lost(backends.traits(late.backend).index, false);
    log(LogLevel::kInfo, "{} is done {:.1f} s later, and takes part again",
        backends.traits(late.backend).device_name, seconds_between(late.since_ns, now));
  }
  parts_.log.finish(late.node, CL_COMPLETE);
}

}  // namespace tutti::scheduler
