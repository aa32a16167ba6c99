// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/admission.h"

namespace tutti::scheduler {
namespace {

// Host work up to this size is done at once by the enqueuing thread; more would make an enqueue
// that shall not block take too long (1 MiB is some 100 µs of copying), but where it would block
// without us, too: on devices that compute in the thread that enqueues.
constexpr uint64_t kInlineBytes = 1 << 20;

// Launches that are expected to take longer are not run in the calling thread, where that could
// give work to other devices meanwhile; what another thread costs is lost in them.
constexpr double kTooLongForTheCaller = 5e-3;

// Who uses next what is written beside kernels that take so long may then run elsewhere.
constexpr double kLongBusy = 1e-3;

}  // namespace

void Admission::Ahead::add(const One& one) {
  const bool other = !none() && one.command != first_.command;
  if (none()) first_ = one;
  one_ &= !other;
  all_on_one_ &= one.direct && one.backend == first_.backend;
  any_shown_later_ |= one.shown_later;
  seen_later_ |= one.shown_later && one.waits != Waits::kData;
  names_own_ |= one.waits == Waits::kNamed && one.same_stream;
}

std::optional<uint32_t> Admission::target(const Asked& asked, Admission& decided) {
  const Ahead& ahead = asked.ahead;
  if (asked.launch) {
    const Launch& launch = *asked.launch;
    // A trial is measured as a split is: by its own end.
    if (launch.measured_apart) return std::nullopt;
    if (launch.others_may && launch.synchronous &&
        (asked.overtakes || launch.seconds > kTooLongForTheCaller)) {
      return std::nullopt;
    }
  }
  if (!ahead.none() && asked.only_order) {
    if (ahead.backend() == kNoBackend || ahead.any_shown_later()) return std::nullopt;
    // A mark in the stream's queue comes after all that is there, whoever gave it to the queue
    // last, and what follows comes after the mark. But the error of one that was named there would
    // not reach it.
    decided.ends_with_before = ahead.only_before();
    decided.marks = !decided.ends_with_before;
    if (decided.marks && (ahead.names_own() || !asked.markers)) {
      decided = {};
      return std::nullopt;
    }
    decided.path = Path::kDirect;
    decided.backend = ahead.backend();
    return std::nullopt;
  }
  // All that is unfinished must be on one device, and that the one where this can run.
  if (!ahead.none()) {
    if (ahead.backend() == kNoBackend || ahead.seen_later()) return std::nullopt;
    if (asked.launch && asked.launch->backend != ahead.backend()) return std::nullopt;
    return ahead.backend();
  }
  if (asked.launch) return asked.launch->backend;
  if (asked.in_caller) return kNoBackend;
  if (asked.data_backend != kNoBackend) return asked.data_backend;
  // Its own queue moves that as it would without us, and what follows needs no other thread.
  const bool moves = !asked.several_memories && !asked.all_synchronous;
  return moves && asked.bytes > kInlineBytes ? 0 : kNoBackend;
}

Admission Admission::decide(const Asked& asked, uint32_t target, const AtTarget& at) {
  Admission decided;
  if (asked.overtakes && target != kNoBackend && asked.overwrites && asked.bytes <= kLittleBytes &&
      at.busy_seconds > kLongBusy) {
    decided.to_host = true;
    target = kNoBackend;
  }
  const bool possible = target != kNoBackend && at.possible;
  if (!possible) {
    const bool may = asked.ahead.none() && !asked.launch && at.conflicts.none();
    const bool short_enough = !asked.host_work && (asked.bytes <= kInlineBytes ||
                                                   asked.all_synchronous || asked.only_order);
    if (may && (short_enough || asked.in_caller)) decided.path = Path::kInline;
    return decided;
  }
  if (at.reads_what_is_written || !at.conflicts.all_on(target)) return decided;
  if (at.lacks_memory) {
    decided.lacks_memory_on = target;
    return decided;
  }
  decided.path = Path::kDirect;
  decided.backend = target;
  return decided;
}

}  // namespace tutti::scheduler
