// SPDX-License-Identifier: Apache-2.0
// What becomes of a split launch's packages where devices fail, or must not have computed them.
#include <algorithm>
#include <bit>
#include <iterator>

#include "base/log.h"
#include "base/process_exit.h"
#include "scheduler/run/given_up.h"
#include "scheduler/run/split_run.h"

namespace tutti::scheduler {

void SplitRun::complete() {
  // What others gave back or the balancer held back.
  for (;;) {
    size_t helper = 0;
    {
      MutexLock lock(mutex_);
      const bool left = status_ && !vendors_gone() && regions_.remaining() > 0;
      while (helper < failed_.size() && (failed_[helper] || !regions_.has_for(helper, 1))) ++helper;
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

bool SplitRun::reads_nothing_merged() const {
  const auto& whole = plan_.access->whole();
  const auto view = [&](uint32_t argument) -> const BufferView& {
    return (*work_.arguments)[argument].view;
  };
  const auto regions = plan_.access->regions();
  return std::none_of(whole.begin(), whole.end(), [&](const ArgumentUse& use) {
    if (use.read.empty() || !view(use.argument).buffer) return false;
    const ByteStrips read = use.read.moved(view(use.argument).origin);
    return std::any_of(regions.begin(), regions.end(), [&](const MergeRegion& region) {
      return view(region.arguments.front()).buffer == view(use.argument).buffer &&
             !apart(read, ByteStrips{.range = region.range});
    });
  });
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
  const bool unread = reads_nothing_merged();
  if (!again || !std::all_of(merges_.begin(), merges_.end(),
                             [&](const auto& merge) { return merge->drop(device, unread); })) {
    return false;
  }
  // What they wrote side by side counts no more either.
  for (const PackageRecord& package : done) {
    const auto uses = uses_of(device, {package.first, package.count});
    end_writes(uses, true);
    static_cast<void>(ContentBefore().restore(uses));
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

bool SplitRun::drop_lost(bool any_device) {
  for (size_t i = 0; i < participants(); ++i) {
    const uint32_t device = backend(i);
    Error why{CL_OUT_OF_RESOURCES, "what it has computed is lost"};
    bool any = false, failed = false;
    {
      MutexLock lock(mutex_);
      if (!status_ || shows_ || read_meanwhile_ || vendors_gone()) return false;
      failed = failed_[i];
      if (failed && !last_error_.message.empty()) why = last_error_;
      any = std::any_of(packages_.begin(), packages_.end(),
                        [&](const auto& one) { return one.device == device; });
    }
    if (failed && !any) {  // it may have a copy, and has changed nothing there
      for (const auto& merge : merges_) merge->drop(device, true);
    }
    const bool maybe = any_device || failed || parts_.backends.health().lost() != 0;
    if (!any || !maybe) continue;
    // One that has failed in this launch may not be known to be lost.
    if (parts_.backends.health().confirm(device, why)) continue;
    const bool dropped = merges_.empty() ? drop_packages(i) : drop_merged(i);
    if (dropped) {
      give_back(i, {}, std::move(why));
      return true;
    }
  }
  return false;
}

Status SplitRun::merge_without_lost(Status failed) {
  if (!drop_lost(true)) return failed;
  complete();
  Status status;
  {
    MutexLock lock(mutex_);
    status = status_;
    if (status && regions_.remaining() > 0) status = tl::unexpected<Error>(last_error_);
  }
  return merge(std::move(status));
}

bool SplitRun::drop_packages(size_t participant) {
  const uint32_t device = backend(participant);
  std::vector<std::pair<PackageRecord, std::vector<PackageUse>>> lost;
  {
    MutexLock lock(mutex_);
    for (const PackageRecord& package : packages_) {
      if (package.device != device) continue;
      auto uses = uses_of(device, {package.first, package.count});
      const bool there = std::any_of(uses.begin(), uses.end(), [](const PackageUse& use) {
        return !use.write.empty() && use.place != kHostPlace;
      });
      bool shown = false;
      for (const PackageUse& one : shown_early_) {
        shown |= std::any_of(uses.begin(), uses.end(), [&](const PackageUse& use) {
          return one.buffer == use.buffer && one.place == use.place && one.write == use.write;
        });
      }
      if (there && !shown) lost.emplace_back(package, std::move(uses));
    }
  }
  // What it has needed, and lay there alone, is gone for good; so is what it has made of that.
  std::erase_if(lost, [](const auto& package) { return !is_elsewhere(package.second); });
  if (lost.empty()) return false;
  {
    MutexLock lock(mutex_);
    // Who reads what this launch has written does so no more, and nobody has.
    if (shows_ || read_meanwhile_) return false;
    for (const auto& [package, uses] : lost) {
      std::erase_if(packages_, [&, first = package.first](const PackageRecord& one) {
        return one.device == device && one.first == first;
      });
      for (const PackageUse& use : uses) {
        const auto same = [&](const PackageUse& one) {
          return one.buffer == use.buffer && one.place == use.place && one.write == use.write;
        };
        std::erase_if(written_, same);
        std::erase_if(not_shown_, same);
      }
      regions_.give_back({package.first, package.count});
    }
  }
  for (const auto& [package, uses] : lost) {
    end_writes(uses, true);
    if (ContentBefore().restore(uses)) continue;
    fail_with(Error{CL_OUT_OF_RESOURCES, "what a lost device has needed is gone"});
  }
  return true;
}

bool SplitRun::take_back(size_t participant, const InFlight& package, bool& dropped,
                         const Error& why) {
  if (vendors_gone()) return false;
  const auto uses = uses_of(backend(participant), package.range);
  const auto given_up = [&](NotAnew reason) {
    tell_given_up(work_, reason, why, uses);
    return false;
  };
  if (parts_.backends.may_write_late(backend(participant))) return given_up(NotAnew::kMayGoOn);
  if (!merges_.empty()) {
    if (!writes_anew(uses)) return given_up(NotAnew::kOverwritten);
    if (!dropped && !drop_merged(participant)) return given_up(NotAnew::kOverwritten);
    dropped = true;
  }
  const auto set_backend = [&](uint32_t backend) TUTTI_REQUIRES(mutex_) {
    for (Running& one : running_) {
      if (one.number == package.number) one.backend = one.device = backend;
    }
  };
  std::shared_ptr<SplitRun> next;
  bool relied_on = false;
  {
    MutexLock lock(mutex_);
    if (!status_) return false;
    relied_on = shows_ && whole();
    if (shows_) next = next_;
    if (!relied_on) {
      ++starting_;  // from now on nothing begins behind it
      ++taking_[participant];
      set_backend(kNobody);
    }
  }
  if (relied_on) return given_up(NotAnew::kReliedOn);
  const bool again = !next || next->wait_for_again(uses, backend(participant));
  if (again) end_writes(uses, true);
  if (!again || !package.before.restore(uses)) {
    {
      MutexLock lock(mutex_);
      --starting_;
      --taking_[participant];
      set_backend(backend(participant));
    }
    return given_up(again ? NotAnew::kOverwritten : NotAnew::kReliedOn);
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
