// SPDX-License-Identifier: Apache-2.0
// What becomes of a split launch's packages where devices fail, or must not have computed them.
#include <algorithm>
#include <bit>
#include <iterator>

#include "base/log.h"
#include "base/process_exit.h"
#include "scheduler/run/split_run.h"

namespace tutti::scheduler {

void SplitRun::complete() {
  // What others gave back or the balancer held back.
  for (;;) {
    size_t helper = 0;
    {
      MutexLock lock(mutex_);
      const bool left = status_ && !vendors_gone() && regions_.remaining() > 0;
      while (helper < failed_.size() && failed_[helper]) ++helper;
      if (!left || helper == failed_.size()) break;
    }
    work_off(helper, true);
  }
}

std::optional<size_t> SplitRun::drop_conflicts() {
  if (!plan_.access->verdict().alone || merges_.empty()) return std::nullopt;
  const TransferCause cause("merged", number(), kernel_name(work_));
  {
    MutexLock lock(mutex_);
    if (!status_ || regions_.remaining() > 0) return std::nullopt;  // it fails anyhow
  }
  PlaceSet changed = 0;
  for (const auto& merge : merges_) {
    auto places = merge->changed_alone();
    if (!places) {
      MutexLock lock(mutex_);
      status_ = tl::unexpected<Error>(std::move(places).error());
      return std::nullopt;
    }
    changed |= *places;
  }
  if (std::popcount(changed) < 2) return std::nullopt;
  MutexLock lock(mutex_);
  // Who has computed most of it, among those that can go on.
  std::vector<uint64_t> slices = slices_of_each(packages_);
  for (size_t i = 0; i < slices.size(); ++i) {
    if (failed_[i]) slices[i] = 0;
  }
  const auto kept =
      static_cast<size_t>(std::max_element(slices.begin(), slices.end()) - slices.begin());
  const Place place = parts_.backends.place(backend(kept));
  std::vector<PackageRecord> packages;
  for (const PackageRecord& package : packages_) {
    if (parts_.backends.place(package.device) == place) {
      packages.push_back(package);
    } else {
      regions_.give_back({package.first, package.count});
    }
  }
  packages_.swap(packages);
  for (size_t i = 0; i < failed_.size(); ++i) {
    if (parts_.backends.place(backend(i)) != place) failed_[i] = true;
  }
  for (const auto& merge : merges_) merge->keep_only(place);
  return kept;
}

void SplitRun::give_back(size_t participant, Range range, Error error) {
  // At the end of the process every device gives back, and nobody asks for the result.
  LogLevel level = vendors_gone() ? LogLevel::kDebug : LogLevel::kInfo;
  if (level == LogLevel::kInfo && parts_.backends.health().tells(backend(participant))) {
    level = LogLevel::kWarning;
  }
  log(level, "device {} does not take part further in this launch of {}: {}",
      parts_.backends.traits(backend(participant)).device_name, work_.kernel->summary().name,
      error.message);
  MutexLock lock(mutex_);
  failed_[participant] = true;
  balancer_->lost(static_cast<uint32_t>(participant));
  regions_.give_back(range);
  if (range.count > 0) {
    --starting_;
    --taking_[participant];
  }
  last_error_ = std::move(error);
}

bool SplitRun::drop_merged(size_t participant) {
  const uint32_t device = backend(participant);
  std::vector<PackageRecord> done;
  {
    MutexLock lock(mutex_);
    std::copy_if(packages_.begin(), packages_.end(), std::back_inserter(done),
                 [&](const PackageRecord& package) { return package.device == device; });
  }
  const bool again = std::all_of(done.begin(), done.end(), [&](const PackageRecord& package) {
    return writes_anew(uses_of(device, {package.first, package.count}));
  });
  if (!again || !std::all_of(merges_.begin(), merges_.end(),
                             [&](const auto& merge) { return merge->drop(device); })) {
    return false;
  }
  MutexLock lock(mutex_);
  for (const PackageRecord& package : done) regions_.give_back({package.first, package.count});
  std::erase_if(packages_, [&](const PackageRecord& package) { return package.device == device; });
  return true;
}

bool SplitRun::drop_unreachable() {
  {
    MutexLock lock(mutex_);
    if (!status_ || regions_.remaining() > 0) return false;  // it fails anyhow
  }
  const TransferCause cause("merged", number(), kernel_name(work_));
  for (const auto& merge : merges_) {
    const auto device = merge->unreachable();
    if (!device || vendors_gone()) continue;
    const auto found = std::find(devices().begin(), devices().end(), *device);
    const auto participant = static_cast<size_t>(found - devices().begin());
    if (!drop_merged(participant)) return false;
    give_back(participant, {}, Error{CL_OUT_OF_RESOURCES, "what it has computed cannot be read"});
    return true;
  }
  return false;
}

bool SplitRun::take_back(size_t participant, const InFlight& package, bool& dropped,
                         const Error& why) {
  if (vendors_gone() || parts_.backends.may_write_late(backend(participant))) return false;
  const auto uses = uses_of(backend(participant), package.range);
  if (!merges_.empty()) {
    if (!writes_anew(uses)) return false;
    if (!dropped && !drop_merged(participant)) return false;
    dropped = true;
  }
  const auto set_backend = [&](uint32_t backend) TUTTI_REQUIRES(mutex_) {
    for (Running& one : running_) {
      if (one.number == package.number) one.backend = one.device = backend;
    }
  };
  std::shared_ptr<SplitRun> next;
  {
    MutexLock lock(mutex_);
    if (!status_ || (shows_ && whole())) return false;
    if (shows_) next = next_;
    ++starting_;  // from now on nothing begins behind it
    ++taking_[participant];
    set_backend(kNobody);
  }
  const bool again = !next || next->wait_for_again(uses, backend(participant));
  if (again) end_writes(uses, true);
  if (!again || !package.before.restore(uses)) {
    MutexLock lock(mutex_);
    --starting_;
    --taking_[participant];
    set_backend(backend(participant));
    return false;
  }
  give_back(participant, package.range, why);
  return true;
}

bool SplitRun::in_vain(const InFlight& package) {
  MutexLock lock(mutex_);
  return std::any_of(running_.begin(), running_.end(), [&](const Running& one) {
    return one.number == package.number && one.in_vain;
  });
}

bool SplitRun::may_change(std::span<const PackageUse> uses, uint32_t backend, bool marks) {
  std::shared_ptr<SplitRun> next;
  {
    MutexLock lock(mutex_);
    const auto any = [&](std::span<const PackageUse> own, const auto& meet) {
      return std::any_of(uses.begin(), uses.end(), [&](const PackageUse& again) {
        return std::any_of(own.begin(), own.end(), [&](const PackageUse& use) {
          return again.buffer == use.buffer && meet(again, use);
        });
      });
    };
    // What it reads must be as it was, wherever that is.
    const auto changes = [](const PackageUse& again, const PackageUse& use) {
      return !apart(use.write, again.read) || !apart(use.write, again.write);
    };
    const auto used = [](const PackageUse& again, const PackageUse& use) {
      return !apart(again.write, use.read);
    };
    if (any(written_, changes) || any(written_, used)) return false;
    for (Running& one : running_) {
      if (any(one.uses, changes)) return false;
      // It has computed with what is not there, or will.
      if (!any(one.uses, used)) continue;
      if (one.device != backend) return false;
      one.in_vain |= marks;
    }
    if (shows_) next = next_;
  }
  return !next || next->may_change(uses, backend, marks);
}

void SplitRun::spoil_behind(std::span<const PackageUse> uses, uint32_t device) {
  std::shared_ptr<SplitRun> next;
  {
    MutexLock lock(mutex_);
    next = next_;
  }
  if (!next) return;
  {
    MutexLock lock(next->mutex_);
    for (Running& one : next->running_) {
      one.in_vain |= one.device == device &&
                     std::any_of(uses.begin(), uses.end(), [&](const PackageUse& failed) {
                       return std::any_of(one.uses.begin(), one.uses.end(), [&](const auto& use) {
                         return failed.buffer == use.buffer && !apart(failed.write, use.read);
                       });
                     });
    }
  }
  next->spoil_behind(uses, device);
}

}  // namespace tutti::scheduler
