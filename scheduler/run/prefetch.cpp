// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/prefetch.h"

#include <algorithm>
#include <tuple>

#include "base/guarded.h"
#include "scheduler/devices/transfer_trace.h"
#include "scheduler/plan/launch_costs.h"

namespace tutti::scheduler {
namespace {

// Less than this is fetched in no time when it is missed.
constexpr uint64_t kWorthPrefetching = 256 << 10;
// What is on its way when nothing more is to be sent is waited for: a millisecond at 4 GB/s.
constexpr uint64_t kPart = 4 << 20;

// Beside shorter launches the begin of further packages counts (in seconds), and beside this part
// of a launch it does where that is all that can be gained.
constexpr double kWorthDividing = 500e-6;
constexpr double kMuchToSend = 0.02;

/// Buffers of which the launch writes each byte wherever it writes.
std::vector<LogicalBuffer*> results_of(const KernelWork& work, const KernelPlan& plan) {
  std::vector<LogicalBuffer*> results, others;
  for (const ArgumentUse& use : plan.touched(0, plan.slices())) {
    LogicalBuffer* const buffer = (*work.arguments)[use.argument].view.buffer.get();
    if (buffer && !use.write.empty()) (use.overwrites ? results : others).push_back(buffer);
  }
  std::erase_if(results, [&](const LogicalBuffer* buffer) {
    return std::find(others.begin(), others.end(), buffer) != others.end() || buffer->image() ||
           buffer->is_pipe() || buffer->is_shared() || buffer->external();
  });
  return results;
}

/// Bytes of the targets that the shares write at other places.
uint64_t bytes_between(const KernelWork& work, const KernelPlan& plan,
                       std::span<const Prefetch::Target> targets) {
  uint64_t bytes = 0;
  uint64_t first = 0;
  for (size_t i = 0; i < plan.shares.size(); first += plan.shares[i++]) {
    if (plan.shares[i] == 0) continue;
    for (const PackageUse& use :
         uses_of_package(work, plan, plan.participants[i], first, plan.shares[i])) {
      if (use.write.empty()) continue;
      for (const Prefetch::Target& target : targets) {
        if (target.buffer != use.buffer || target.place == use.place) continue;
        for_each_common(target.strips, use.write,
                        [&](const ByteStrips& strips) { bytes += strips.size(); });
      }
    }
  }
  return bytes;
}

/// Makes one of both, where they are ranges that meet, or lie beside each other in every period.
bool add_to(ByteStrips& strips, const ByteStrips& next) {
  if (strips.strided() || next.strided()) return strips == next || join(strips, next);
  if (next.range.begin > strips.range.end) return false;
  strips.range.end = std::max(strips.range.end, next.range.end);
  return true;
}

}  // namespace

PlaceReads reads_of(std::span<const PackageUse> uses) {
  PlaceReads reads;
  for (const PackageUse& use : uses) {
    if (!use.read.empty()) reads.push_back({use.buffer->id(), use.place, use.read});
  }
  std::sort(reads.begin(), reads.end(), [](const PlaceRead& a, const PlaceRead& b) {
    return std::tuple(a.buffer, a.place, a.strips.period, a.strips.range.begin) <
           std::tuple(b.buffer, b.place, b.strips.period, b.strips.range.begin);
  });
  PlaceReads joined;
  for (const PlaceRead& read : reads) {
    if (!joined.empty() && joined.back().buffer == read.buffer &&
        joined.back().place == read.place && add_to(joined.back().strips, read.strips)) {
      continue;
    }
    joined.push_back(read);
  }
  return joined;
}

uint64_t launch_id(const KernelWork& work) {
  uint64_t id = model_key(work);
  const auto add = [&id](uint64_t value) { id = (id ^ value) * 0x9E3779B97F4A7C15ull; };
  for (size_t i = 0; i < work.shape.global.size(); ++i) {
    add(work.shape.global[i]);
    add(work.shape.offset[i]);
  }
  for (const ArgumentSlot& slot : *work.arguments) {
    if (!slot.view.buffer) continue;
    add(slot.view.buffer->id());
    add(slot.view.origin);
  }
  return std::max<uint64_t>(id, 1);
}

std::shared_ptr<Prefetch> Prefetch::of(const Parts& parts, const KernelWork& work,
                                       const KernelPlan& plan, const PlaceReads& next,
                                       uint64_t number) {
  const auto results = results_of(work, plan);
  std::vector<Target> targets;
  for (const PlaceRead& read : next) {
    const auto found = std::find_if(results.begin(), results.end(), [&](const auto* buffer) {
      return buffer->id() == read.buffer;
    });
    if (found == results.end()) continue;
    if (read.place != kHostPlace) {
      const uint32_t backend = read.place - 1;
      const bool takes_part = std::find(plan.participants.begin(), plan.participants.end(),
                                        backend) != plan.participants.end();
      if (!takes_part || !(*found)->has_memory(backend)) continue;
      if (parts.backends.traits(backend).serial && !parts.always) continue;
    }
    targets.push_back({*found, read.place, read.strips});
  }
  if (targets.empty()) return nullptr;
  const uint64_t bytes = bytes_between(work, plan, targets);
  if (!parts.always && bytes < kWorthPrefetching) return nullptr;
  return std::make_shared<Prefetch>(parts, std::move(targets), bytes, plan.priced_seconds, number);
}

bool Prefetch::divides() const {
  if (parts_.forced) return false;
  const double transfer = static_cast<double>(bytes_) / kLinkBytesPerSecond;
  return parts_.always || (seconds_ > kWorthDividing && transfer > kMuchToSend * seconds_);
}

bool Prefetch::wants(const PackageUse& use) const {
  if (use.write.empty() || use.kept) return false;
  // Who does one thing at a time has no time for it.
  if (use.place != kHostPlace && parts_.backends.traits(use.place - 1).serial && !parts_.always) {
    return false;
  }
  return std::any_of(targets_.begin(), targets_.end(), [&](const Target& target) {
    return target.buffer == use.buffer && target.place != use.place &&
           !apart(target.strips, use.write);
  });
}

void Prefetch::wrote(const PackageUse& use) {
  for (const Target& target : targets_) {
    if (target.buffer != use.buffer || target.place == use.place) continue;
    for_each_common(target.strips, use.write, [&](const ByteStrips& strips) {
      parts_.workers.prefetch(target.place).post_hint([self = shared_from_this(), &target, strips] {
        self->send(target, strips);
      });
    });
  }
}

void Prefetch::send(const Target& target, const ByteStrips& strips) {
  const TransferCause cause("sent ahead for the next launch", number_);
  const uint64_t step =
      strips.strided() ? std::max<uint64_t>(1, kPart / strips.length) * strips.period : kPart;
  for (uint64_t at = strips.range.begin; at < strips.range.end; at += step) {
    ByteStrips part = strips;
    part.range = {at, std::min(at + step, strips.range.end)};
    if (!send_part(target, part)) return;
  }
}

bool Prefetch::send_part(const Target& target, const ByteStrips& strips) {
  {
    const MutexLock lock(mutex_);
    if (stopped_) return false;
    ++sending_;
  }
  Status sent;
  uint64_t moved = 0;
  const Status thrown =
      guarded([&] { sent = target.buffer->make_valid(target.place, strips, &moved); });
  if (thrown && sent && moved > 0) parts_.summary.sent_ahead(strips.size());
  {
    const MutexLock lock(mutex_);
    --sending_;
    // Whoever needs it will hear of that.
    if (!thrown || !sent) stopped_ = true;
  }
  ended_.notify_all();
  return thrown && sent;
}

void Prefetch::stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  ended_.wait(mutex_, [this]() TUTTI_REQUIRES(mutex_) { return sending_ == 0; });
}

}  // namespace tutti::scheduler
