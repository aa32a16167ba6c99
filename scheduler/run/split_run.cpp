// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/split_run.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/log.h"
#include "base/process_exit.h"
#include "scheduler/devices/vendor_clock.h"
#include "scheduler/run/executor.h"
#include "scheduler/run/given_up.h"
#include "scheduler/run/split_seat.h"

namespace tutti::scheduler {
namespace {
// A rest of a region goes with the package before it when it is at most so small a part of that.
constexpr uint64_t kSmallRest = 16;

// Two, so that no device waits for the host between packages. A device that computes in the thread
// that enqueues gains nothing by it, and would choose its second package before the first is
// measured.
size_t packages_in_flight(const backends::DeviceTraits& traits) {
  return traits.synchronous ? 1 : 2;
}
}  // namespace

SplitRun::SplitRun(Parts parts, KernelWork work, KernelPlan plan, Ref<Stream> stream,
                   std::unique_ptr<Balancer> balancer, Ended ended)
    : parts_(std::move(parts)),
      work_(std::move(work)),
      plan_(std::move(plan)),
      stream_(std::move(stream)),
      dimension_(plan_.access->verdict().dimension),
      slices_(plan_.slices()),
      ended_(std::move(ended)),
      merges_(make_merges({parts_.backends, parts_.compare},
                          whole() ? std::span<const MergeRegion>() : plan_.access->regions(), work_,
                          plan_.participants)),
      // What is behind a launch would use memory that moves on.
      chainable_(merges_.empty() && !plan_.streamed()),
      twice_(parts_.overdue && !whole() && participants() > 1 && merges_.empty() &&
             plan_.access->regions().empty() && !plan_.sharded()),
      seats_(participants()),
      balancer_(std::move(balancer)),
      regions_(slices_, plan_.shares, participants(), plan_.reaches, plan_.downwards),
      active_(participants()),
      away_(participants()),
      failed_(participants()),
      presence_(participants(), Presence::kComing),
      there_since_ns_(participants()),
      taking_(participants()),
      pending_(participants()),
      no_help_(participants()) {}

SplitRun::~SplitRun() = default;

template <typename Work>
void SplitRun::take_part(size_t participant, Work work) {
  if (!arrive(participant)) return wait_for_dropped(participant);
  const Status worked = guarded(work);
  if (!worked) fail_with(worked.error());
  {
    MutexLock lock(mutex_);
    if (presence_[participant] == Presence::kGone) return;
    presence_[participant] = Presence::kLeft;
    away_[participant] = worked && may_call_back();
  }
  leave();
}

bool SplitRun::arrive(size_t participant) {
  MutexLock lock(mutex_);
  if (presence_[participant] == Presence::kGone) return false;
  presence_[participant] = Presence::kThere;
  there_since_ns_[participant] = now_ns();
  return true;
}

void SplitRun::take_part(size_t participant) {
  take_part(participant, [&] {
    hand_out(backend(participant));
    work_off(participant, false);
    if (merges_.empty()) return;
    const TransferCause cause("merged", number(), kernel_name(work_));
    for (const auto& merge : merges_) merge->look(backend(participant));
  });
}

void SplitRun::come_back(size_t participant) {
  take_part(participant, [&] { work_off(participant, false); });
}

double SplitRun::tell_owner(size_t participant) {
  const double now = seconds_between(begun_ns_, now_ns());
  const size_t owner = regions_.owner(participant);
  if (owner != participant) {
    balancer_->helps(static_cast<uint32_t>(participant), static_cast<uint32_t>(owner), now);
  }
  return now;
}

bool SplitRun::calls_back(size_t participant) {
  const uint64_t remaining = regions_.remaining();
  // Once all have left, the last one alone does the rest.
  if (active_ == 0 || remaining == 0 || !away_[participant] || failed_[participant] ||
      !regions_.has_for(participant, plan_.least_help)) {
    return false;
  }
  const double now = tell_owner(participant);
  return balancer_->calls_back(static_cast<uint32_t>(participant), remaining, now);
}

void SplitRun::call_back() {
  for (size_t i = 0; i < participants(); ++i) {
    Worker& worker = parts_.workers.device(backend(i));
    if (!worker.idle()) continue;
    {
      MutexLock lock(mutex_);
      if (!calls_back(i)) continue;
      away_[i] = false;
      presence_[i] = Presence::kComing;
      ++active_;  // who calls is active, too
    }
    worker.post(
        [run = shared_from_this(), i] { static_cast<void>(guarded([&] { run->come_back(i); })); },
        [run = shared_from_this(), i](const Error&) { run->take_part(i, [] {}); });
  }
}

void SplitRun::absent(size_t participant, const Error& error) {
  take_part(participant, [&] { give_back(participant, {}, error); });
}

void SplitRun::fail_with(Error error) {
  MutexLock lock(mutex_);
  if (status_) status_ = tl::unexpected<Error>(std::move(error));
}

void SplitRun::leave() {
  {
    MutexLock lock(mutex_);
    if (--active_ > 0) {
      if (!begins_watch()) return;
      const bool late = (mask_of(devices()) & parts_.backends.health().late()) != 0;
      lock.unlock();
      return parts_.overdue->watch(shared_from_this(), late);
    }
  }
  stop_prefetch();
  const Status completed = guarded([&] {
    do complete();
    while (drop_unreachable() || drop_lost(false));
    while (const auto kept = drop_conflicts()) {
      repeated_ = true;
      work_off(*kept, true);
      complete();
    }
  });
  if (!completed) fail_with(completed.error());
  finish();
}

SplitRun::Range SplitRun::next_range(size_t participant, bool insist) {
  MutexLock lock(mutex_);
  if (pending_[participant].count > 0) return std::exchange(pending_[participant], {});
  if (!status_ || failed_[participant] || vendors_gone()) return {};
  const uint64_t remaining = regions_.remaining();
  if (remaining == 0) return {};
  if (insist) {
    if (!regions_.has_for(participant, 1)) return {};
    ++starting_;
    ++taking_[participant];
    return regions_.take(participant, std::min(remaining, most_at_once(participant)));
  }
  if (!regions_.has_for(participant, plan_.least_help)) return {};
  const double now = tell_owner(participant);
  const auto device = static_cast<uint32_t>(participant);
  const uint64_t given = std::min(balancer_->next_package(device, remaining, now), remaining);
  if (given == 0) return {};
  const uint64_t count = std::min(given, most_at_once(participant));
  // A rest that would not fill the device takes it as long as one that does.
  const uint64_t round = parts_.rounds[participant];
  const uint64_t rest = std::min(round - 1, count / kSmallRest);
  const Range range = regions_.take(participant, count, rest);
  if (range.count != given) balancer_->trimmed(device, given, range.count);
  ++starting_;
  ++taking_[participant];
  return range;
}

Status SplitRun::sit_down(size_t participant, Seat& seat) {
  seat.backend = backend(participant);
  TUTTI_ASSIGN(backends::Queue * queue, stream_->queues.queue(seat.backend, true));
  seat.queues.push_back(queue);
  if (side_by_side(seat.backend)) {
    TUTTI_ASSIGN(queue, stream_->queues.side_queue(seat.backend));
    seat.queues.push_back(queue);
  }
  const bool rewritten = !whole() && work_.kernel->summary().needs_rewrite;
  const KernelVariant other = rewritten ? KernelVariant::kSubRange : KernelVariant::kUntouched;
  if (plan_.has_panels(seat.backend)) {
    seat.panels = std::make_unique<PanelLaunches>(parts_.backends, seat.backend, work_, plan_);
    TUTTI_TRY(seat.panels->begin());
    TUTTI_ASSIGN(seat.kernel, work_.kernel->vendor_kernel(seat.backend, KernelVariant::kPanels));
  } else {
    TUTTI_ASSIGN(seat.kernel, shifts(participant)
                                  ? shard_variant(*work_.kernel, seat.backend)
                                  : work_.kernel->vendor_kernel(seat.backend, other));
  }
  if (rewritten) describe_launch(seat.hidden, plan_.shape);
  return set_arguments(participant, seat);
}

Status SplitRun::set_arguments(size_t participant, Seat& seat) {
  const bool rewritten = !whole() && work_.kernel->summary().needs_rewrite;
  const bool shifted = shifts(participant);
  if (shifted) seat.shards = ShardArgument(work_.kernel->shard_arguments());
  TUTTI_ASSIGN(
      seat.arguments,
      vendor_arguments(*work_.arguments, seat.backend,
                       rewritten ? seat.hidden.bytes() : std::span<const std::byte>(),
                       shifted ? &seat.shards : nullptr,
                       !parts_.backends.traits(seat.backend).sub_buffers,
                       seat.panels ? seat.panels->argument() : std::span<const std::byte>()));
  seat.merges_prepared = false;  // what is merged is in copies again
  return {};
}

bool SplitRun::hands_out(uint32_t backend) const {
  return parts_.backends.traits(backend).serial &&
         std::any_of(work_.arguments->begin(), work_.arguments->end(), [&](const auto& slot) {
           return slot.view.buffer && slot.view.buffer->place_on(backend) != kHostPlace;
         });
}

bool SplitRun::may_call_back() const {
  return !whole() && merges_.empty() &&
         std::none_of(devices().begin(), devices().end(),
                      [this](uint32_t backend) { return hands_out(backend); });
}

void SplitRun::hand_out(uint32_t backend) {
  if (!hands_out(backend)) return;
  {
    MutexLock lock(mutex_);
    if (regions_.remaining() == 0 || !status_) return;
    ++starting_;
  }
  // What fails here is told to the device that needs it, when it asks.
  const auto bring_out = [&](const PackageUse& use, const ByteStrips& strips) {
    const TransferCause cause("used by a kernel on another device", number(), kernel_name(work_),
                              argument_name(work_, use.argument));
    const Place here = use.buffer->place_on(backend);
    if (here == kHostPlace || strips.empty()) return;
    static_cast<void>(use.buffer->bring_out(here, use.place, strips));
  };
  for (const Part& part : parts_of(plan_)) {
    if (part.backend == backend || part.range.count == 0) continue;
    auto uses = uses_of(part.backend, part.range);
    find_ways(uses);
    // No earlier launch is about to change it, nor uses what it would replace.
    bool in_place = true;
    for (auto earlier = before(); earlier && in_place; earlier = earlier->before()) {
      in_place = !earlier->meets_others(uses, part.backend);
    }
    if (!in_place) continue;
    for (const PackageUse& use : uses) {
      bring_out(use, use.read);
      if (!use.overwrites) bring_out(use, use.write);
    }
  }
  {
    MutexLock lock(mutex_);
    --starting_;
  }
  show_launched();
}

Status SplitRun::prepare_data(Seat& seat, std::span<const PackageUse> uses, uint64_t& moved) {
  if (!seat.merges_prepared && !merges_.empty()) {
    const TransferCause cause("copied for a merge", number(), kernel_name(work_));
    const std::vector<backends::Argument> given = seat.arguments;
    for (const auto& merge : merges_) {
      TUTTI_TRY(merge->prepare(seat.backend, *seat.queues.front(), seat.arguments));
    }
    for (size_t i = 0; i < std::min(given.size(), ShardArgument::kArguments); ++i) {
      // A copy begins where the argument does.
      if (seat.arguments[i].memory != given[i].memory) seat.shards.set(i, 0);
    }
    // Packages may come to another queue, and what compares does.
    TUTTI_TRY(seat.queues.front()->finish());
    seat.merges_prepared = true;
  }
  for (const PackageUse& use : uses) {
    const TransferCause cause("used by a kernel", number(), kernel_name(work_),
                              argument_name(work_, use.argument));
    if (!use.read.empty()) {
      TUTTI_TRY(use.buffer->make_valid(use.place, use.read, &moved));
      use.buffer->note_use(use.place, use.read.range.begin, use.read.range.end);
    }
    if (use.write.empty()) continue;
    use.buffer->note_use(use.place, use.write.range.begin, use.write.range.end);
    // Bytes in the range that the package may leave alone must hold what was there before.
    if (!use.overwrites) TUTTI_TRY(use.buffer->make_valid(use.place, use.write, &moved));
    use.buffer->begin_write(this, use.place, use.write);
  }
  return {};
}

Result<SplitRun::InFlight> SplitRun::launch(Seat& seat, Range range,
                                            std::span<const PackageUse> uses,
                                            backends::WaitList wait) {
  const uint64_t begun = now_ns();
  uint64_t moved = 0;
  TUTTI_TRY(prepare_data(seat, uses, moved));
  auto launch =
      vendor_launch(*seat.kernel, seat.arguments, plan_.shape, !whole() || work_.local_given);
  if (!whole()) {
    narrow(launch, plan_.shape, dimension_, range.first, range.count);
    seat.hidden.set_first_group(dimension_, range.first);
  }
  InFlight package{range, nullptr, now_ns(), begun, 0, {}, {}};
  if (moved == 0) package.begun_ns = package.launched_ns;
  // As it was announced: what this brings to the host's copy others may not be reading.
  if (!uses.empty() && uses.front().kept) TUTTI_TRY(package.before.keep(uses));
  package.computing = Computing(parts_.backends, seat.backend);
  if (seat.panels) {
    TUTTI_ASSIGN(package.completion,
                 seat.panels->launch(seat.queues, launch,
                                     {seat.arguments, seat.hidden, seat.shards}, range, wait));
    return package;
  }
  backends::Queue& queue = *seat.queues[seat.launches++ % seat.queues.size()];
  TUTTI_ASSIGN(package.completion, queue.launch(launch, wait));
  // It is enqueued, and may run whatever the vendor says of this: its own end tells.
  static_cast<void>(queue.flush());
  return package;
}

bool SplitRun::try_launch(size_t participant, Seat& seat, Range range, uint64_t number,
                          std::span<const PackageUse> uses, backends::WaitList wait) {
  auto package = launch(seat, range, uses, wait);
  if (!package) {
    parts_.backends.health().note_failure(seat.backend, package.error());
    if (parts_.backends.may_write_late(seat.backend)) fail_with(package.error());
    end_writes(uses, true);
    withdraw(number);
    give_back(participant, range, std::move(package).error());
    return false;
  }
  package->number = number;
  seat.in_flight.push_back(std::move(*package));
  MutexLock lock(mutex_);
  --starting_;
  --taking_[participant];
  Running& launched = *running(number);
  launched.range = range;
  launched.launched_ns = seat.in_flight.back().launched_ns;
  return true;
}

bool SplitRun::side_by_side(uint32_t backend) const {
  return parts_.backends.traits(backend).overlaps_launches;
}

void SplitRun::note_end(size_t participant, Seat& seat, const InFlight& package,
                        uint64_t previous_end) {
  PackageRecord record{backend(participant), package.range.first, package.range.count,
                       std::max(package.launched_ns, previous_end), now_ns()};
  if (const auto measured =
          measured_interval(package.completion->times(), package.launched_ns, record.end_ns)) {
    std::tie(record.start_ns, record.end_ns) = *measured;
  }
  if (parts_.command) {
    PackageRecord traced = record;
    if (whole()) traced.count = 0;
    parts_.trace.ran(*parts_.command, traced);
  }
  // To the balancer a device is as fast as it gets its packages done, transfers included.
  uint64_t busy_from = record.start_ns;
  if (package.begun_ns < package.launched_ns) {
    busy_from = std::min(busy_from, std::max(package.begun_ns, previous_end));
  }
  // Of packages side by side each counts from the end of the one before; one that ended before that
  // says nothing of its own, and passes as no faster than the last.
  const auto slices = static_cast<double>(package.range.count);
  busy_from = std::max(busy_from, seat.busy_until);
  const double end = seconds_between(begun_ns_, record.end_ns);
  double start = seconds_between(begun_ns_, busy_from);
  if (busy_from >= record.end_ns) start = end - (seat.speed > 0 ? slices / seat.speed : 0);
  if (busy_from < record.end_ns) seat.speed = slices / (end - start);
  seat.busy_until = std::max(seat.busy_until, record.end_ns);
  bool any_away = false;
  {
    MutexLock lock(mutex_);
    balancer_->finished({static_cast<uint32_t>(participant), package.range.count, start, end});
    packages_.push_back(record);
    any_away =
        regions_.remaining() > 0 && std::find(away_.begin(), away_.end(), true) != away_.end();
  }
  if (any_away) call_back();
}

void SplitRun::work_off(size_t participant, bool insist) {
  if (out_of_reach(participant)) return;
  const std::unique_ptr<Seat> taken = std::move(seats_[participant]);
  Seat fresh;
  if (!taken) {
    if (Status status = sit_down(participant, fresh); !status) {
      parts_.backends.health().note_failure(backend(participant), status.error());
      give_back(participant, {}, std::move(status).error());
      return;
    }
  }
  Seat& seat = taken ? *taken : fresh;
  const Status worked = guarded([&] { work_off(participant, seat, insist, taken ? now_ns() : 0); });
  if (worked) return;
  fail_with(worked.error());
  // What is on its way ends before the launch does.
  for (const InFlight& package : seat.in_flight) {
    uint64_t twin = 0;
    static_cast<void>(judge(participant, package, package.completion->wait(), twin));
  }
}

void SplitRun::work_off(size_t participant, Seat& seat, bool insist, uint64_t previous_end) {
  auto& in_flight = seat.in_flight;
  const size_t most = packages_in_flight(parts_.backends.traits(seat.backend));
  for (;;) {
    if (in_flight.size() < most) {
      const Range range = next_range(participant, insist);
      if (range.count > 0) {
        if (const auto now = into_window(participant, seat, range)) {
          auto uses = uses_of(seat.backend, *now);
          if (try_launch(participant, seat, *now, announce(seat.backend, uses), uses, {})) {
            show_launched();
            if (in_flight.size() < most) continue;
          }
        }
      } else if (!insist && !in_flight.empty()) {
        if (const auto next = started_next()) next->take_early(seat.backend, in_flight);
      }
    }
    if (in_flight.empty()) return;
    InFlight package = std::move(in_flight.front());
    in_flight.pop_front();
    Status status = package.completion->wait();
    package.computing = {};
    parts_.backends.health().note(seat.backend, status);
    if (status && (seat.dropped || in_vain(package))) {
      status = fail(CL_OUT_OF_RESOURCES, "its device has failed");
    }
    uint64_t beaten = 0;
    if (judge(participant, package, status, beaten) != Judged::kCounts) continue;
    if (!status && take_back(participant, package, seat.dropped, status.error())) continue;
    note_written(package.number, !status);
    if (!status) {
      MutexLock lock(mutex_);
      if (status_) status_ = std::move(status);
      failed_[participant] = true;
      continue;
    }
    note_end(participant, seat, package, previous_end);
    bring_home(participant, package.range);
    previous_end = now_ns();
    if (beaten != 0 && drop(beaten)) leave();  // in place of the thread that waits for it
  }
}

void SplitRun::take_early(uint32_t backend, const std::deque<InFlight>& in_flight) {
  const auto found = std::find(devices().begin(), devices().end(), backend);
  const auto participant = static_cast<size_t>(found - devices().begin());
  if (found == devices().end() || seats_[participant] || hands_out(backend) ||
      out_of_reach(participant)) {
    return;
  }
  auto seat = std::make_unique<Seat>();
  if (!sit_down(participant, *seat)) return;  // take_part() will say why
  const Range range = next_range(participant, false);
  if (range.count == 0) return;
  auto uses = uses_of(seat->backend, range);
  const bool in_place = std::all_of(uses.begin(), uses.end(), [](const PackageUse& use) {
    return use.buffer->missing(use.place, use.read).bytes == 0 &&
           (use.overwrites || use.buffer->missing(use.place, use.write).bytes == 0);
  });
  if (const auto number = in_place ? announce_at_once(seat->backend, uses, true) : std::nullopt) {
    std::vector<backends::CompletionPtr> behind;
    if (seat->queues.size() > 1) {  // in-order ones, but each for itself
      for (const InFlight& package : in_flight) behind.push_back(package.completion);
    }
    if (try_launch(participant, *seat, range, *number, uses, behind)) show_launched();
  } else {
    MutexLock lock(mutex_);
    pending_[participant] = range;
  }
  seats_[participant] = std::move(seat);
}

}  // namespace tutti::scheduler
