// SPDX-License-Identifier: Apache-2.0
#include "scheduler/exec/split_run.h"

#include <algorithm>

#include "platform/clock.h"
#include "platform/log.h"
#include "platform/process_exit.h"
#include "scheduler/exec/executor.h"
#include "scheduler/plan/hidden_argument.h"

namespace tutti::scheduler {
namespace {
// Two, so that no device waits for the host between packages. A device that computes in the thread
// that enqueues gains nothing by it, and would choose its second package before the first is
// measured.
size_t packages_in_flight(const backends::DeviceTraits& traits) {
  return traits.synchronous ? 1 : 2;
}
}  // namespace

struct SplitRun::Seat {
  uint32_t backend = 0;
  backends::Queue* queue = nullptr;
  backends::Kernel* kernel = nullptr;
  std::vector<backends::Argument> arguments;
  HiddenArgument hidden{};
  bool merges_prepared = false;
};

SplitRun::SplitRun(Parts parts, KernelWork work, KernelPlan plan, Ref<Stream> stream,
                   std::unique_ptr<Balancer> balancer, Ended ended)
    : parts_(parts),
      work_(std::move(work)),
      plan_(std::move(plan)),
      stream_(std::move(stream)),
      dimension_(plan_.access->verdict().dimension),
      slices_(plan_.shape.groups(dimension_)),
      begun_ns_(now_ns()),
      ended_(std::move(ended)),
      balancer_(std::move(balancer)),
      regions_(slices_, plan_.shares, plan_.participants.size()),
      active_(plan_.participants.size()),
      failed_(plan_.participants.size()) {
  merges_ = make_merges({parts_.backends, parts_.compare}, plan_.access->regions(), work_,
                        plan_.participants);
}

void SplitRun::take_part(size_t participant) {
  work_off(participant, false);
  {
    MutexLock lock(mutex_);
    if (--active_ > 0) return;
  }
  // The last one sees to what others gave back or the balancer held back, on a device that works.
  for (;;) {
    size_t helper = 0;
    {
      MutexLock lock(mutex_);
      const bool left =
          status_ && !vendors_gone() && (regions_.remaining() > 0 || !returned_.empty());
      while (helper < failed_.size() && failed_[helper]) ++helper;
      if (!left || helper == failed_.size()) break;
    }
    work_off(helper, true);
  }
  finish();
}

SplitRun::Range SplitRun::next_range(size_t participant, bool insist) {
  MutexLock lock(mutex_);
  if (!status_ || failed_[participant] || vendors_gone()) return {};
  if (!returned_.empty()) {
    const Range range = returned_.front();
    returned_.pop_front();
    return range;
  }
  const uint64_t remaining = regions_.remaining();
  if (remaining == 0) return {};
  if (insist) return regions_.take(participant, remaining);
  const double now = seconds_between(begun_ns_, now_ns());
  const auto device = static_cast<uint32_t>(participant);
  const uint64_t count = std::min(balancer_->next_package(device, remaining, now), remaining);
  if (count == 0) return {};
  const Range range = regions_.take(participant, count);
  if (range.count < count) balancer_->trimmed(device, count, range.count);
  return range;
}

void SplitRun::give_back(size_t participant, Range range, Error error) {
  // At the end of the process every device gives back, and nobody asks for the result.
  const LogLevel level = vendors_gone() ? LogLevel::kDebug : LogLevel::kWarning;
  log(level, "device {} does not take part further in this launch of {}: {}",
      parts_.backends.traits(backend(participant)).device_name, work_.kernel->summary().name,
      error.message);
  MutexLock lock(mutex_);
  failed_[participant] = true;
  if (range.count > 0) returned_.push_back(range);
  last_error_ = std::move(error);
}

Status SplitRun::sit_down(size_t participant, Seat& seat) {
  seat.backend = backend(participant);
  TUTTI_ASSIGN(seat.queue, stream_->vendor_queue(seat.backend, true));
  const bool rewritten = work_.kernel->summary().needs_rewrite;
  TUTTI_ASSIGN(seat.kernel,
               work_.kernel->vendor_kernel(
                   seat.backend, rewritten ? KernelVariant::kSubRange : KernelVariant::kUntouched));
  std::span<const std::byte> hidden;
  if (rewritten) {
    for (uint32_t d = 0; d < 3; ++d) {
      seat.hidden.set_launch(d, plan_.shape.groups(d), plan_.shape.global[d],
                             plan_.shape.offset[d]);
    }
    seat.hidden.set_dimensions(plan_.shape.dims);
    hidden = seat.hidden.bytes();
  }
  TUTTI_ASSIGN(seat.arguments, vendor_arguments(*work_.arguments, seat.backend, hidden));
  return {};
}

Status SplitRun::prepare_data(Seat& seat, Range range, uint64_t& moved) {
  if (!seat.merges_prepared) {
    for (const auto& merge : merges_) {
      TUTTI_TRY(merge->prepare(seat.backend, *seat.queue, seat.arguments));
    }
    seat.merges_prepared = true;
  }
  for (const ArgumentUse& use : plan_.access->package(dimension_, range.first, range.count)) {
    const BufferView& view = (*work_.arguments)[use.argument].view;
    if (!view.buffer) continue;
    const Place place = view.buffer->place_on(seat.backend);
    if (!use.read.empty()) {
      TUTTI_TRY(view.buffer->make_valid(place, view.origin + use.read.begin,
                                        view.origin + use.read.end, &moved));
    }
    if (use.write.empty() || use.merge != MergeMode::kDisjoint) continue;
    const ByteStrips write = use.write.moved(view.origin);
    // Bytes in the range that the package may leave alone must hold what was there before.
    if (!use.overwrites) TUTTI_TRY(view.buffer->make_valid(place, write, &moved));
    view.buffer->begin_write(this, place, write);
  }
  return {};
}

Result<SplitRun::InFlight> SplitRun::launch(Seat& seat, Range range) {
  const uint64_t begun = now_ns();
  uint64_t moved = 0;
  TUTTI_TRY(prepare_data(seat, range, moved));
  backends::Launch launch;
  launch.kernel = seat.kernel;
  launch.arguments = seat.arguments;
  launch.dims = plan_.shape.dims;
  launch.local.emplace();
  for (uint32_t d = 0; d < 3; ++d) {
    launch.offset[d] = plan_.shape.offset[d];
    launch.global[d] = plan_.shape.global[d];
    (*launch.local)[d] = plan_.shape.local[d];
  }
  launch.offset[dimension_] += range.first * plan_.shape.local[dimension_];
  launch.global[dimension_] = range.count * plan_.shape.local[dimension_];
  seat.hidden.set_first_group(dimension_, range.first);
  InFlight package{range, nullptr, now_ns(), begun};
  if (moved == 0) package.begun_ns = package.launched_ns;
  TUTTI_ASSIGN(package.completion, seat.queue->launch(launch, {}));
  TUTTI_TRY(seat.queue->flush());
  return package;
}

void SplitRun::note_end(size_t participant, const InFlight& package, uint64_t previous_end) {
  PackageRecord record{backend(participant), package.range.first, package.range.count,
                       std::max(package.launched_ns, previous_end), now_ns()};
  // The vendor's own measurement knows neither the wait in its queue nor how late we asked; its
  // QUEUED is our launch.
  if (const auto times = package.completion->times();
      times && times->queued <= times->started && times->started < times->ended) {
    record.start_ns =
        std::min(record.end_ns, package.launched_ns + (times->started - times->queued));
    record.end_ns = std::min(record.end_ns, package.launched_ns + (times->ended - times->queued));
    record.end_ns = std::max(record.end_ns, record.start_ns);
  }
  // To the balancer a device is as fast as it gets its packages done, transfers included.
  uint64_t busy_from = record.start_ns;
  if (package.begun_ns < package.launched_ns) {
    busy_from = std::min(busy_from, std::max(package.begun_ns, previous_end));
  }
  const double start = seconds_between(begun_ns_, busy_from);
  const double end = seconds_between(begun_ns_, record.end_ns);
  MutexLock lock(mutex_);
  balancer_->finished({static_cast<uint32_t>(participant), package.range.count, start, end});
  packages_.push_back(record);
}

void SplitRun::work_off(size_t participant, bool insist) {
  Seat seat;
  if (Status status = sit_down(participant, seat); !status) {
    give_back(participant, {}, std::move(status).error());
    return;
  }
  std::deque<InFlight> in_flight;
  const size_t most = packages_in_flight(parts_.backends.traits(seat.backend));
  uint64_t previous_end = 0;
  for (;;) {
    if (in_flight.size() < most) {
      const Range range = next_range(participant, insist);
      if (range.count > 0) {
        auto package = launch(seat, range);
        if (package) {
          note_launch();
          in_flight.push_back(std::move(*package));
          if (in_flight.size() < most) continue;
        } else {
          // Nothing of it has run: another device may compute it.
          give_back(participant, range, std::move(package).error());
        }
      }
    }
    if (in_flight.empty()) return;
    const InFlight package = std::move(in_flight.front());
    in_flight.pop_front();
    if (Status status = package.completion->wait(); !status) {
      MutexLock lock(mutex_);
      if (status_) status_ = std::move(status);
      failed_[participant] = true;
      continue;
    }
    note_end(participant, package, previous_end);
    previous_end = now_ns();
  }
}

void SplitRun::learn(const std::vector<PackageRecord>& packages) {
  const auto& shape = plan_.shape;
  const auto items =
      static_cast<double>(shape.global[0] * shape.global[1] * shape.global[2] / slices_);
  for (const uint32_t device : plan_.participants) {
    std::vector<Sample> samples;
    for (const PackageRecord& package : packages) {
      if (package.device != device) continue;
      samples.push_back({items * static_cast<double>(package.count),
                         static_cast<double>(package.end_ns - package.start_ns) * 1e-9});
    }
    parts_.backends.model().add_packages(model_key(work_), device, samples,
                                         work_.kernel->summary().name);
  }
}

std::vector<uint64_t> SplitRun::slices_of_each(const std::vector<PackageRecord>& packages) const {
  std::vector<uint64_t> slices(plan_.participants.size());
  for (const PackageRecord& package : packages) {
    const auto& devices = plan_.participants;
    const auto found = std::find(devices.begin(), devices.end(), package.device);
    slices[static_cast<size_t>(found - devices.begin())] += package.count;
  }
  return slices;
}

Status SplitRun::merge(Status status) {
  for (const auto& merge : merges_) {
    Status merged = merge->finish(status.has_value());
    if (status) status = std::move(merged);
  }
  return status;
}

void SplitRun::note_launch() {
  MutexLock lock(mutex_);
  launched_ = true;
}

void SplitRun::finish() {
  Status status;
  bool nothing_ran = false;
  std::vector<PackageRecord> packages;
  {
    MutexLock lock(mutex_);
    status = status_;
    if (status && (regions_.remaining() > 0 || !returned_.empty())) {
      status = tl::unexpected<Error>(last_error_);
    }
    packages.swap(packages_);
    nothing_ran = !launched_;
  }
  status = merge(std::move(status));
  for (const ArgumentSlot& slot : *work_.arguments) {
    if (slot.kind == ArgumentSlot::Kind::kBuffer && slot.view.buffer) {
      slot.view.buffer->end_writes(this, nothing_ran);
    }
  }
  if (status) {
    learn(packages);
    std::sort(packages.begin(), packages.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    parts_.summary.launched_split(work_.kernel->summary().name, plan_, packages);
  }
  ended_({std::move(status), packages, slices_of_each(packages), nothing_ran});
}

}  // namespace tutti::scheduler
