// SPDX-License-Identifier: Apache-2.0
// Launches chained to each other: what the next one must know of the packages under way.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "scheduler/run/split_run.h"

namespace tutti::scheduler {
namespace {

bool needs_any(std::span<const PackageUse> uses) {
  return std::any_of(uses.begin(), uses.end(),
                     [&](const PackageUse& use) { return needs_before(use, uses); });
}

}  // namespace

std::optional<uint64_t> SplitRun::announce_at_once(uint32_t backend, std::span<PackageUse> uses,
                                                   bool behind_last) {
  uint64_t number = 0;
  const bool kept = parts_.backends.health().suspect(backend);
  for (PackageUse& use : uses) use.kept |= kept;
  if (before()) find_ways(uses);
  {
    MutexLock lock(mutex_);
    number = ++last_number_;
    Running& announced = running_.emplace_back();
    announced.number = number;
    announced.backend = announced.device = backend;
    announced.uses.assign(uses.begin(), uses.end());
  }
  // Asked when everybody can see the package: one of an earlier launch may have to be computed anew
  // (take_back), which asks the other way round.
  for (auto earlier = before(); earlier; earlier = earlier->before()) {
    if (!earlier->meets_others(uses, backend, std::exchange(behind_last, false))) continue;
    withdraw(number);
    return std::nullopt;
  }
  return number;
}

uint64_t SplitRun::announce(uint32_t backend, std::span<PackageUse> uses) {
  for (;;) {
    for (auto earlier = before(); earlier; earlier = earlier->before()) {
      earlier->wait_for_others(uses, backend);
    }
    if (const auto number = announce_at_once(backend, uses)) return *number;
  }
}

void SplitRun::withdraw(uint64_t number) {
  {
    MutexLock lock(mutex_);
    std::erase_if(running_, [&](const Running& package) { return package.number == number; });
  }
  package_ended_.notify_all();
}

void SplitRun::note_written(uint64_t number, bool failed) {
  const auto numbered = [number](const Running& package) { return package.number == number; };
  std::vector<PackageUse> uses;
  {
    MutexLock lock(mutex_);
    uses = std::find_if(running_.begin(), running_.end(), numbered)->uses;
  }
  // What has been shown is not to be had again as it was before.
  const bool sends = parts_.prefetch && !failed && !(needs_any(uses) && is_elsewhere(uses));
  {
    MutexLock lock(mutex_);
    const auto found = std::find_if(running_.begin(), running_.end(), numbered);
    if (!failed) written_.insert(written_.end(), uses.begin(), uses.end());
    if (!shows_) {
      keep_unshown(uses, sends);
      if (uses.empty()) running_.erase(found);
    }
  }
  if (uses.empty()) return package_ended_.notify_all();
  end_writes(uses, false);
  {
    MutexLock lock(mutex_);
    std::erase_if(running_, numbered);
  }
  package_ended_.notify_all();
  if (!sends) return;
  for (const PackageUse& use : uses) parts_.prefetch->wrote(use);
}

void SplitRun::keep_unshown(std::vector<PackageUse>& uses, bool sends) {
  // What runs before it, or computes the same once more, may still use what is there.
  sends = sends && !before_ && !computes_again_ && !went_without_ && dropped_.empty();
  const auto kept = std::stable_partition(uses.begin(), uses.end(), [&](const PackageUse& use) {
    return sends && parts_.prefetch->wants(use);
  });
  std::copy_if(uses.begin(), kept, std::back_inserter(shown_early_),
               [&](const PackageUse& use) { return needs_before(use, uses); });
  not_shown_.insert(not_shown_.end(), kept, uses.end());
  uses.erase(kept, uses.end());
}

std::vector<ByteRange> SplitRun::next_written(const LogicalBuffer& buffer, Place place,
                                              size_t& seen) {
  std::vector<ByteRange> ranges;
  // What is fetched may come to the host's copy, where packages of the launch before may still
  // read.
  bool in_host = false;
  for (uint32_t i = 0; i < parts_.backends.count(); ++i) {
    in_host |= buffer.place_on(i) == kHostPlace;
  }
  MutexLock lock(mutex_);
  read_meanwhile_ = true;
  package_ended_.wait(mutex_, [&]() TUTTI_REQUIRES(mutex_) {
    for (; seen < written_.size(); ++seen) {
      const PackageUse& use = written_[seen];
      const bool here = use.buffer == &buffer && use.place == place && !use.write.strided();
      if (here && !use.write.empty()) ranges.push_back(use.write.range);
    }
    return finished_ || (!ranges.empty() && !(before_ && in_host));
  });
  if (finished_) ranges.clear();
  return ranges;
}

bool SplitRun::succeeded() {
  MutexLock lock(mutex_);
  return finished_ && status_ && regions_.remaining() == 0;
}

void SplitRun::end_writes(std::span<const PackageUse> uses, bool discard) {
  for (const PackageUse& use : uses) {
    if (!use.write.empty()) use.buffer->end_write(this, use.place, use.write, discard);
  }
}

void SplitRun::show_launched() {
  std::vector<PackageUse> ended;
  std::function<void()> start;
  {
    MutexLock lock(mutex_);
    const bool all = starting_ == 0 && regions_.remaining() == 0 && status_;
    if (!all || !start_next_) return;
    // From here on this launch moves no data, which might be those from before it.
    shows_ = true;
    ended.swap(not_shown_);
    start.swap(start_next_);
  }
  stop_prefetch();  // what comes behind may change that
  end_writes(ended, false);
  start();
  MutexLock lock(mutex_);
  next_started_ = true;
}

bool SplitRun::meets(std::span<const PackageUse> uses, uint32_t backend, bool behind) const {
  // With two queues they come so only where they wait for each other.
  const bool in_order = behind || !side_by_side(backend);
  const auto meet = [](const PackageUse& later, const PackageUse& running, bool anywhere) {
    const bool overwritten = anywhere || later.place == running.place;
    // Content that is newer than what runs there must not come to the host's copy under it.
    const bool comes = later.into_host && running.place == kHostPlace;
    return later.buffer == running.buffer &&
           (!apart(later.write, running.write) || !apart(later.read, running.write) ||
            ((overwritten || comes) && !apart(later.write, running.read)) ||
            (comes && !apart(later.read, running.read)));
  };
  return std::any_of(running_.begin(), running_.end(), [&](const Running& package) {
    return std::any_of(uses.begin(), uses.end(), [&](const PackageUse& later) {
      // The device's own packages come one after the other; what is copied, or comes to the host's
      // copy, does so at once.
      if (package.backend == backend && in_order && !later.kept && !later.into_host) return false;
      return std::any_of(package.uses.begin(), package.uses.end(), [&](const PackageUse& use) {
        return meet(later, use, package.backend == kNobody);
      });
    });
  });
}

bool SplitRun::meets_others(std::span<const PackageUse> uses, uint32_t backend, bool behind) {
  MutexLock lock(mutex_);
  return !finished_ && meets(uses, backend, behind);
}

void SplitRun::wait_for_others(std::span<const PackageUse> uses, uint32_t backend) {
  MutexLock lock(mutex_);
  package_ended_.wait(
      mutex_, [&]() TUTTI_REQUIRES(mutex_) { return finished_ || !meets(uses, backend, false); });
}

std::shared_ptr<SplitRun> SplitRun::before() {
  MutexLock lock(mutex_);
  return before_;
}

std::shared_ptr<SplitRun> SplitRun::started_next() {
  MutexLock lock(mutex_);
  return next_started_ ? next_ : nullptr;
}

void SplitRun::first_now() {
  std::shared_ptr<SplitRun> earlier;
  {
    MutexLock lock(mutex_);
    earlier.swap(before_);
    first_ns_ = now_ns();
  }
  package_ended_.notify_all();
  leave();
}

void SplitRun::chain(const std::shared_ptr<SplitRun>& before, const std::shared_ptr<SplitRun>& next,
                     std::function<void()> start) {
  {
    MutexLock lock(next->mutex_);
    next->before_ = before;
    ++next->active_;
  }
  bool over = false;
  {
    MutexLock lock(before->mutex_);
    over = before->finished_;
    if (!over) {
      before->next_ = next;
      before->start_next_ = std::move(start);
    }
  }
  if (!over) return before->show_launched();
  next->first_now();
  start();
}

std::vector<SplitRun::Part> SplitRun::parts_of(const KernelPlan& plan) {
  if (!plan.split) return {{plan.backend, {0, 1}}};
  std::vector<Part> parts;
  uint64_t first = 0;
  for (size_t i = 0; i < plan.shares.size(); first += plan.shares[i++]) {
    parts.push_back({plan.participants[i], {first, plan.shares[i]}});
  }
  return parts;
}

uint64_t SplitRun::bytes_between(const KernelWork& next, const KernelPlan& plan) const {
  uint64_t bytes = 0;
  const auto own_parts = parts_of(plan_);
  for (const Part& part : parts_of(plan)) {
    for (const ArgumentUse& use : plan.touched(part.range.first, part.range.count)) {
      const BufferView& view = (*next.arguments)[use.argument].view;
      if (!view.buffer) continue;
      for (const Part& own_part : own_parts) {
        if (own_part.backend == part.backend) continue;
        for (const PackageUse& own : uses_of(own_part.backend, own_part.range)) {
          if (own.buffer != view.buffer.get() || own.place == own.buffer->place_on(part.backend)) {
            continue;
          }
          for (const ByteStrips& read : use.read_parts()) {
            read.moved(view.origin).for_each([&](uint64_t begin, uint64_t end) {
              own.write.for_each_in(begin, end,
                                    [&](uint64_t from, uint64_t to) { bytes += to - from; });
            });
          }
        }
      }
    }
  }
  return bytes;
}

}  // namespace tutti::scheduler
