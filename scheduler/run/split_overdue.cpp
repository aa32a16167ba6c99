// SPDX-License-Identifier: Apache-2.0
// Packages that are overdue: a participant that has nothing to do computes them as well, and the
// launch goes on with whichever of the two ends first. The other one is dropped: what it writes
// counts nowhere, and whatever would disturb it waits until it has ended (OverduePackages).
//
// Both must find what was there before the launch. In memory of their own they do, if what the
// overdue one overwrites of that is also somewhere else; in memory that they share, only if nothing
// is overwritten that is needed. What is merged, and what the application may free or read at any
// time since it is its own memory, is computed once.
#include <algorithm>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/log.h"
#include "base/process_exit.h"
#include "scheduler/run/split_seat.h"

namespace tutti::scheduler {
namespace {

// A package may take so many times as long as its device's own speed lets expect. Slices of one
// launch differ, and other programs use the device; to compute again what would have ended soon
// costs others' time, though never more than the launch would have waited.
constexpr double kPatience = 8;
// The same where only other devices' speeds are known, which may be much faster ones.
constexpr double kPatienceWithStrangers = 64;

/// Whether a package with these uses computes in the host's memory.
bool shares_memory(std::span<const PackageUse> uses) {
  return std::any_of(uses.begin(), uses.end(),
                     [](const PackageUse& use) { return use.place == kHostPlace; });
}

/// Whether a package with these uses may go on when others have read and, in other memory, written
/// what it uses: in memory that it shares it writes the same bytes then.
bool may_go_on(std::span<const PackageUse> uses) {
  return (!shares_memory(uses) || writes_anew(uses)) &&
         std::none_of(uses.begin(), uses.end(), [](const PackageUse& use) {
           return use.place == kHostPlace && use.buffer->in_user_memory();
         });
}

}  // namespace

bool SplitRun::begins_watch() {
  const auto left = std::find(presence_.begin(), presence_.end(), Presence::kLeft);
  return twice_ && left != presence_.end() && !std::exchange(watched_, true);
}

SplitRun::Running* SplitRun::running(uint64_t number) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const Running& one) { return one.number == number; });
  return found == running_.end() ? nullptr : &*found;
}

std::optional<SplitRun::Pace> SplitRun::pace_of(size_t participant,
                                                std::span<const double> model) const {
  const auto measured = [&](size_t i) TUTTI_REQUIRES(mutex_) {
    double slices = 0, seconds = 0;
    for (const PackageRecord& package : packages_) {
      if (package.device != backend(i)) continue;
      slices += static_cast<double>(package.count);
      seconds += seconds_between(package.start_ns, package.end_ns);
    }
    return seconds > 0 ? slices / seconds : 0;
  };
  if (const double own = measured(participant); own > 0) return Pace{own, kPatience};
  if (model[participant] > 0) return Pace{model[participant], kPatience};
  Pace slowest{0, kPatienceWithStrangers};
  for (size_t i = 0; i < participants(); ++i) {
    const double other = measured(i);
    if (other > 0 && (slowest.slices_per_second == 0 || other < slowest.slices_per_second)) {
      slowest.slices_per_second = other;
    }
  }
  return slowest.slices_per_second > 0 ? std::optional(slowest) : std::nullopt;
}

std::optional<size_t> SplitRun::overdue_participant(uint64_t now, std::span<const double> model,
                                                    uint64_t& next) const {
  const BackendMask late = parts_.backends.health().late();
  for (size_t i = 0; i < participants(); ++i) {
    const bool coming = presence_[i] == Presence::kComing;
    if (!coming && presence_[i] != Presence::kThere) continue;
    if (coming) {
      // Its thread waits for a package of another launch.
      if ((late & backend_bit(backend(i))) != 0) return i;
      continue;
    }
    const auto oldest = std::find_if(running_.begin(), running_.end(), [&](const Running& one) {
      return one.device == backend(i) && !one.again;
    });
    if (oldest == running_.end() || oldest->launched_ns == 0) continue;
    if (oldest->beaten) return i;
    const auto pace = pace_of(i, model);
    if (!pace) continue;
    uint64_t since = std::max(oldest->launched_ns, there_since_ns_[i]);
    for (const PackageRecord& package : packages_) {
      if (package.device == backend(i)) since = std::max(since, package.end_ns);
    }
    const double seconds =
        pace->patience * static_cast<double>(oldest->range.count) / pace->slices_per_second;
    const double most = static_cast<double>(UINT32_MAX);
    const auto patience_ns = static_cast<uint64_t>(std::min(seconds, most) * 1e9);
    const uint64_t due = since + std::max(parts_.overdue->least_ns(), patience_ns);
    if (due <= now) return i;
    next = std::min(next, due);
  }
  return std::nullopt;
}

std::optional<size_t> SplitRun::idle_participant() const {
  const BackendMask late = parts_.backends.health().late();
  std::optional<size_t> best;
  double best_speed = -1;
  for (size_t i = 0; i < participants(); ++i) {
    const bool idle = presence_[i] == Presence::kLeft && !failed_[i] && !no_help_[i] &&
                      (late & backend_bit(backend(i))) == 0;
    if (!idle) continue;
    double slices = 0, seconds = 1e-9;
    for (const PackageRecord& package : packages_) {
      if (package.device != backend(i)) continue;
      slices += static_cast<double>(package.count);
      seconds += seconds_between(package.start_ns, package.end_ns);
    }
    if (slices / seconds <= best_speed) continue;
    best = i;
    best_speed = slices / seconds;
  }
  return best;
}

std::optional<uint64_t> SplitRun::look_for_overdue() {
  const uint64_t now = now_ns();
  uint64_t next = now + parts_.overdue->least_ns();
  std::vector<double> model;
  for (const uint32_t device : devices()) {
    const double items = static_cast<double>(plan_.shape.items() / slices_);
    model.push_back(parts_.backends.model().speed(model_key(work_), device).value_or(0) / items);
  }
  size_t late = 0, helper = 0;
  {
    MutexLock lock(mutex_);
    if (finished_ || active_ == 0) return std::nullopt;
    if (!status_ || vendors_gone() || computes_again_) return next;
    const auto found = overdue_participant(now, model, next);
    if (!found) return next;
    const auto idle = idle_participant();
    if (!idle) return now + parts_.overdue->least_ns();
    late = *found;
    helper = *idle;
    computes_again_ = true;
    ++active_;
  }
  const bool begun = parts_.overdue->run_apart(
      [run = shared_from_this(), late, helper] { run->compute_instead(late, helper); });
  if (begun) return now + parts_.overdue->least_ns();
  {
    MutexLock lock(mutex_);
    computes_again_ = false;
  }
  leave();
  return next;
}

std::optional<SplitRun::Running> SplitRun::oldest_of(size_t participant, bool overdue) {
  MutexLock lock(mutex_);
  const uint32_t device = backend(participant);
  overdue |= std::any_of(dropped_.begin(), dropped_.end(),
                         [&](const Dropped& one) { return one.late.backend == device; });
  const auto oldest = std::find_if(running_.begin(), running_.end(), [&](const Running& one) {
    return one.device == device && !one.again;
  });
  if (!overdue || !status_ || oldest == running_.end() || oldest->launched_ns == 0) {
    return std::nullopt;
  }
  return *oldest;
}

void SplitRun::compute_instead(size_t late, size_t helper) {
  Again ended = Again::kEnded;
  const Status worked = guarded([&] {
    Seat seat;
    if (const Status seated = sit_down(helper, seat); !seated) {
      parts_.backends.health().note_failure(backend(helper), seated.error());
      ended = Again::kFailed;
    }
    bool first = true;
    while (ended == Again::kEnded) {
      const auto package = oldest_of(late, std::exchange(first, false));
      if (!package) break;
      ended = compute_again(helper, seat, *package);
    }
  });
  if (ended == Again::kDropped) return;
  if (!worked) fail_with(worked.error());
  const bool without = worked && go_on_without(late);
  {
    MutexLock lock(mutex_);
    computes_again_ = false;
    no_help_[helper] = no_help_[helper] || ended == Again::kFailed;
  }
  if (without) leave();
  leave();
}

bool SplitRun::begin_again(const Running& package) {
  if (!may_go_on(package.uses)) return false;
  // The launch cannot end before that one, whose packages use what would have to be moved.
  if (before()) return false;
  std::shared_ptr<SplitRun> next;
  {
    MutexLock lock(mutex_);
    Running* const overdue = running(package.number);
    if (!overdue || overdue->device == kNobody || overdue->counts) return false;
    overdue->backend = kNobody;
    ++starting_;
    if (shows_) next = next_;
  }
  // As in take_back(); but what has used what it wrote has not computed in vain where it ends well.
  if ((!next || next->may_change(package.uses, package.device, false)) &&
      ContentBefore().restore(package.uses)) {
    return true;
  }
  {
    MutexLock lock(mutex_);
    --starting_;
  }
  end_again(package.number);
  return false;
}

void SplitRun::end_again(uint64_t number) {
  {
    MutexLock lock(mutex_);
    if (Running* const overdue = running(number)) {
      overdue->backend = overdue->device;
      overdue->twin = 0;
    }
  }
  package_ended_.notify_all();
}

SplitRun::Again SplitRun::compute_again(size_t helper, Seat& seat, const Running& overdue) {
  if (overdue.beaten) return drop(overdue.number) ? Again::kEnded : Again::kNotNow;
  if (!begin_again(overdue)) return Again::kNotNow;
  log(LogLevel::kInfo, "{} computes slices {} to {} of {} as well, for which {} takes long",
      parts_.backends.traits(seat.backend).device_name, overdue.range.first,
      overdue.range.first + overdue.range.count - 1, work_.kernel->summary().name,
      parts_.backends.traits(overdue.device).device_name);
  auto uses = uses_of(seat.backend, overdue.range);
  for (PackageUse& use : uses) use.kept = true;  // the overdue one may fail yet
  const uint64_t number = announce(seat.backend, uses);
  bool late = false;
  {
    MutexLock lock(mutex_);
    Running& again = *running(number);
    again.backend = kNobody;  // nobody relies on it before it counts
    again.again = true;
    again.range = overdue.range;
    Running* const other = running(overdue.number);
    late = !other || other->device == kNobody || other->counts;
    if (late) {
      --starting_;
    } else {
      again.twin = overdue.number;
      other->twin = number;
    }
  }
  if (late) {  // the overdue one has ended, or will be computed by somebody else
    withdraw(number);
    return Again::kEnded;
  }
  auto package = launch(seat, overdue.range, uses, {});
  bool alone = false, beaten_already = false;
  {
    MutexLock lock(mutex_);
    Running& again = *running(number);
    beaten_already = again.beaten;
    alone = again.twin == 0;
    if (package) {
      --starting_;
      again.launched_ns = package->launched_ns;
    } else if (alone) {
      again.device = kNobody;
      ++taking_[helper];
    } else {
      --starting_;
    }
  }
  if (!package) {
    parts_.backends.health().note_failure(seat.backend, package.error());
    end_writes(uses, true);
    if (alone) {
      give_back(helper, overdue.range, package.error());
      return Again::kFailed;
    }
    withdraw(number);
    end_again(overdue.number);
    return Again::kFailed;
  }
  package->number = number;
  // What it overwrites is not there as before any more, nor as the other one has left it.
  for (const PackageUse& use : uses) {
    if (!use.write.empty()) static_cast<void>(use.buffer->drop_copy(use.place, use.write));
  }
  show_launched();
  if (beaten_already && drop(number)) leave();  // nobody waits for this thread
  Status status = package->completion->wait();
  package->computing = {};
  parts_.backends.health().note(seat.backend, status);
  if (status && in_vain(*package)) status = fail(CL_OUT_OF_RESOURCES, "its device has failed");
  // The overdue one may fail yet; but where it computes in the same memory that has its results.
  if (!status && !shares_memory(overdue.uses)) static_cast<void>(package->before.restore(uses));
  uint64_t beaten = 0;
  if (const Judged judged = judge(helper, *package, status, beaten); judged != Judged::kCounts) {
    if (judged == Judged::kDropped) return Again::kDropped;
    end_again(overdue.number);
    return status ? Again::kEnded : Again::kFailed;
  }
  // Where it has failed, the overdue one did so before.
  if (!status && take_back(helper, *package, seat.dropped, status.error())) return Again::kFailed;
  note_written(number, !status);
  if (!status) {
    fail_with(status.error());
    return Again::kFailed;
  }
  note_end(helper, seat, *package, 0);
  if (beaten != 0) static_cast<void>(drop(beaten));
  return Again::kEnded;
}

SplitRun::Judged SplitRun::judge(size_t participant, const InFlight& package, const Status& status,
                                 uint64_t& beaten) {
  std::optional<LatePackage> late;
  std::vector<PackageUse> discarded;
  {
    MutexLock lock(mutex_);
    const auto dropped = std::find_if(dropped_.begin(), dropped_.end(), [&](const Dropped& one) {
      return one.number == package.number;
    });
    if (dropped != dropped_.end()) {
      late = std::move(dropped->late);
      dropped_.erase(dropped);
    } else {
      Running* const own = running(package.number);
      if (!own) return Judged::kCounts;
      if (!own->beaten && own->twin == 0) {
        own->counts = true;
        return Judged::kCounts;
      }
      Running* const other = running(own->twin);
      if (!own->beaten && status) {
        if (other) other->beaten = true;
        own->counts = true;
        beaten = own->twin;
        return Judged::kCounts;
      }
      // The other one counts, or is the only one that may.
      discarded = own->uses;
      if (other) other->twin = 0;
      if (!own->again) failed_[participant] = true;
      std::erase_if(running_, [&](const Running& one) { return one.number == package.number; });
    }
  }
  if (!status) spoil_behind(late ? late->uses : discarded, backend(participant));
  if (late) {
    parts_.overdue->ended(*late, status);
    return Judged::kDropped;
  }
  end_writes(discarded, true);
  parts_.overdue->beaten(backend(participant), discarded, status);
  package_ended_.notify_all();
  return Judged::kDiscarded;
}

bool SplitRun::drop(uint64_t number) {
  std::vector<PackageUse> uses;
  uint32_t device = 0;
  uint64_t launched_ns = 0;
  bool again = false;
  {
    MutexLock lock(mutex_);
    const Running* const package = running(number);
    if (!package) return false;
    again = package->again;
    const bool under_way =
        package->device != kNobody && package->launched_ns != 0 && !package->counts;
    if (!under_way || !may_go_on(package->uses)) return false;
    uses = package->uses;
    device = package->device;
    launched_ns = package->launched_ns;
  }
  const auto late = parts_.overdue->hold(device, uses, *parts_.node, !again);
  if (!late) return false;
  bool dropped = false;
  {
    MutexLock lock(mutex_);
    const Running* const package = running(number);
    if (package) {
      dropped = went_without_ = true;
      if (again) {
        computes_again_ = false;
        const auto helper = std::find(devices().begin(), devices().end(), device);
        failed_[static_cast<size_t>(helper - devices().begin())] = true;
      }
      dropped_.push_back({number, *late});
      std::erase_if(running_, [&](const Running& one) { return one.number == number; });
    }
  }
  if (!dropped) {
    parts_.overdue->let_go(*late);
    return false;
  }
  end_writes(uses, true);
  parts_.overdue->note_dropped(*late, work_.kernel->summary().name,
                               seconds_between(launched_ns, now_ns()));
  package_ended_.notify_all();
  return true;
}

bool SplitRun::go_on_without(size_t participant) {
  MutexLock lock(mutex_);
  const uint32_t device = backend(participant);
  const bool coming = presence_[participant] == Presence::kComing;
  const bool waits_for_dropped =
      coming ? (parts_.backends.health().late() & backend_bit(device)) != 0
             : presence_[participant] == Presence::kThere &&
                   std::any_of(dropped_.begin(), dropped_.end(),
                               [&](const Dropped& one) { return one.late.backend == device; });
  const bool has_more = std::any_of(running_.begin(), running_.end(), [&](const Running& one) {
    return one.device == device && !one.again;
  });
  const SliceRange pending = pending_[participant];
  if (!waits_for_dropped || has_more || taking_[participant] > (pending.count > 0 ? 1 : 0)) {
    return false;
  }
  if (pending.count > 0) {
    pending_[participant] = {};
    regions_.give_back(pending);
    --starting_;
    --taking_[participant];
  }
  presence_[participant] = Presence::kGone;
  failed_[participant] = true;
  balancer_->lost(static_cast<uint32_t>(participant));
  last_error_ = Error{CL_OUT_OF_RESOURCES, "the device takes long for another package"};
  return true;
}

void SplitRun::wait_for_dropped(size_t participant) {
  const std::unique_ptr<Seat> seat = std::move(seats_[participant]);
  if (!seat) return;
  for (const InFlight& package : seat->in_flight) {
    const Status status = package.completion->wait();
    parts_.backends.health().note(seat->backend, status);
    uint64_t twin = 0;
    static_cast<void>(judge(participant, package, status, twin));
  }
}

}  // namespace tutti::scheduler
