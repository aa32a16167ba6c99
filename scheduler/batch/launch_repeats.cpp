// SPDX-License-Identifier: Apache-2.0
// Launches that differ from earlier ones of their batch in numbers only.
#include <algorithm>
#include <utility>

#include "scheduler/batch/launch_batches.h"
#include "scheduler/order/failed_content.h"

namespace tutti::scheduler {
namespace {

/// What is launched again gets the numbers that are kept for it. Arguments behind the application's
/// stay.
void point_to(const LaunchedArguments& kept, VendorLaunch& launch) {
  for (size_t i = 0; i < std::min(kept.count(), launch.arguments.size()); ++i) {
    if (launch.arguments[i].kind != backends::Argument::Kind::kBytes) continue;
    launch.arguments[i].bytes = kept.number(i);
  }
}

}  // namespace

Expectation LaunchBatches::joined(const KernelWork& work, const KernelPlan& plan) {
  if (parts_.summary.enabled()) parts_.summary.launched_whole(work, plan, plan.backend);
  return parts_.planner.begin(work, plan);
}

Expectation LaunchBatches::repeated(const Node& batch, LaunchBatch::Kind& kind) {
  constexpr double kLittleSeconds = kSplitSeconds / 2;  // nobody decides otherwise for it
  const KernelPlan& plan = *kind.plan;
  if (parts_.summary.enabled()) parts_.summary.launched_whole(kind.work, plan, plan.backend);
  const uint32_t launches = ++kind.unexpected;
  const double seconds = launches * (plan.whole_seconds - plan.wait_seconds);
  if (batch.expected.devices != 0 && seconds < kLittleSeconds) return {};
  kind.unexpected = 0;
  return parts_.planner.begin(kind.work, plan, launches);
}

Result<LaunchBatches::Joining> LaunchBatches::submit(const Ref<Node>& batch, Stream& stream,
                                                     const KernelWork& work, const KernelPlan& plan,
                                                     std::span<const BufferUse> uses,
                                                     LaunchBatch::Kind* kind,
                                                     const EnqueueOptions& options) {
  VendorLaunch own;
  VendorLaunch& made = kind ? kind->vendor : own;
  const Begun begun = begin_now(stream, options.observed);
  auto submitted = parts_.direct.submit(work, stream, plan.backend, uses, options.observed, made);
  if (!submitted) {
    // The batch is what it was before.
    settle(stream, *batch, plan.backend, {}, batch->completion, nullptr);
    drop_sent(uses, plan.backend);
    if (may_go_elsewhere(stream, plan.backend, submitted.error(), uses)) return Joining{};
    return tl::unexpected<Error>(std::move(submitted).error());
  }
  if (kind) point_to(kind->arguments, kind->vendor);
  Ref<Node> event;
  if (options.observed) {
    event = new_event(parts_.owner, options.type, begun, options.group, options.ends_group);
  }
  settle(stream, *batch, plan.backend, joined(work, plan), std::move(*submitted), kind,
         event.get());
  return Joining{.joined = true, .event = std::move(event)};
}

void LaunchBatches::may_repeat(Stream& stream, Node& batch, LaunchBatch::Kind& kind) {
  if (stream.last.get() != &batch || batch.touched || !joinable(batch)) return;
  kind.unchanged = true;
  stream.leased.store(&batch, std::memory_order_relaxed);
  stream.lease.store(log_.mutex().lease(batch), std::memory_order_release);
}

LaunchBatches::Repeat LaunchBatches::begin_repeat(Stream& stream, const LaunchAgain& launch,
                                                  bool brief) {
  const uint64_t lease = stream.lease.load(std::memory_order_acquire);
  if (lease == 0) return {};
  Node* const leased = stream.leased.load(std::memory_order_relaxed);
  // What has become of those that it waits for, the lock guards.
  if (launch.wait_list.empty() && log_.mutex().enter(lease)) {
    const bool of_group = CommandLog::is_of_group(*leased, launch.group);
    const Repeat found{leased, of_group ? leased->batch->find_kind(launch, brief) : nullptr, lease};
    if (found.kind) return found;
    if (!end_repeat(found)) {
      bool watched = false;
      Ref<Node> batch;  // nothing else may hold it once the lock is gone
      {
        MutexLock lock(log_.mutex());
        batch = Ref<Node>(leased);
        watched = log_.set_direct(*leased, leased->backend, leased->completion);
      }
      if (watched) parts_.sink.watch(std::move(batch));
      return {};
    }
    if (of_group) return {};
  }
  MutexLock lock(log_.mutex());
  Node* const last = stream.last.get();
  if (!last || last->touched || !joinable(*last) || !last->batch->has_kinds()) return {};
  if (!log_.are_ahead(stream, launch.wait_list)) return {};
  const Repeat found{last, last->batch->find_kind(launch, brief)};
  if (!found.kind) return {};
  if (last->idle) log_.wake(*last);
  CommandLog::reopen(*last);
  CommandLog::join_group(*last, launch.group);
  return found;
}

std::optional<Status> LaunchBatches::repeat(Stream& stream, const LaunchAgain& launch,
                                            LaunchObserver* observer) {
  const bool observed = observer != nullptr;
  const auto found = begin_repeat(stream, launch, joins_if_brief(stream, observed));
  if (!found.batch) return std::nullopt;
  const Begun begun = begin_now(stream, observed);
  Node& batch = *found.batch;
  LaunchBatch::Kind& kind = *found.kind;
  const KernelPlan& plan = *kind.plan;
  const backends::Completion* before = batch.completion.get();
  const Status launched =
      DirectPath::launch_again(stream, plan.backend, kind.vendor, observed, batch.completion);
  Expectation expected;
  Ref<Node> event;
  if (launched) {
    expected = repeated(batch, kind);
    if (expected.devices != 0) batch.expected = expected;
    if (batch.completion.get() == before && end_repeat(found)) return launched;
    if (observed) {
      event = new_event(parts_.owner, observer->type, begun, launch.group, observer->ends_group);
    }
  }
  const uint32_t backend = plan.backend;
  const BufferUses uses = launched ? BufferUses() : uses_of(kind.work, nullptr);
  settle(stream, batch, backend, expected, batch.completion, launched ? &kind : nullptr,
         event.get());
  if (event) observer->command = std::move(event);
  if (!launched && may_go_elsewhere(stream, backend, launched.error(), uses)) return std::nullopt;
  return launched;
}

}  // namespace tutti::scheduler
