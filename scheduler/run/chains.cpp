// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/chains.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "scheduler/order/failed_content.h"
#include "scheduler/run/early_read.h"
#include "scheduler/run/expected_launch.h"
#include "scheduler/run/vendor_launch.h"

namespace tutti::scheduler {
namespace {

// What must move between devices from one launch to the next may take this part of the second one
// for it to begin during the first.
constexpr double kLittleBetween = 0.1;
// So many launches may have begun and wait for an earlier one's end.
constexpr size_t kMostBehind = 8;

}  // namespace

void Chains::begin(const Ref<Node>& command, const std::shared_ptr<SplitRun>& run) {
  parts_.runs.begin(run);
  if (!run->chainable()) return;
  parts_.workers.conductor().post_hint([this, command] {
    chain_next(command);
    read_early(command);
  });
}

void Chains::look_behind(Ref<Node> before, bool kernel) {
  parts_.workers.conductor().post_hint([this, kernel, before = std::move(before)] {
    kernel ? chain_next(before) : read_early(before);
  });
}

void Chains::chain_next(const Ref<Node>& before) {
  if (parts_.settings.verify.on) return;  // compares one launch with what was before it
  std::shared_ptr<SplitRun> run;
  Ref<Node> next;
  {
    MutexLock lock(log_.mutex());
    run = parts_.splits.of(log_, *before);
    if (!run || !run->chainable()) return;
    next = log_.next_kernel(*before);
  }
  if (!next) return;
  const auto& work = std::get<KernelWork>(next->work);
  const uint64_t begun_ns = next->trace ? now_ns() : 0;
  auto plan = plan_next(parts_.planner, *next->stream, work);
  if (!plan || !may_follow(run, work, *plan) || !hold_behind(before, run, next, *plan)) return;
  parts_.tasks.run(next, [&] {
    if (next->trace) parts_.trace.decided(*next->trace, work, *plan, begun_ns, now_ns());
    expect(parts_.planner, *next, *next->stream, *plan);
    const auto following = parts_.runs.prepare(next, work, std::move(*plan));
    SplitRun::chain(run, following, [this, next, following] { begin(next, following); });
  });
}

bool Chains::hold_behind(const Ref<Node>& before, const std::shared_ptr<SplitRun>& run,
                         const Ref<Node>& next, const KernelPlan& plan) {
  const auto& work = std::get<KernelWork>(next->work);
  const auto uses = uses_of(work, &plan);
  const auto buffers = uses_of(work, nullptr);
  const auto needs = needs_of(work, plan);
  if (!plan.split || !plan.sharded()) {
    for (const uint32_t device : plan.devices()) parts_.room.allocate_what_fits(buffers, device);
  }
  MutexLock lock(log_.mutex());
  if (log_.next_kernel(*before) != next) return false;
  for (const auto& other : log_.conflicts(*next, uses, mask_of(plan.devices()))) {
    // What has begun behind others waits for those, too.
    const auto ahead = parts_.splits.of(log_, *other);
    auto earlier = run;
    while (earlier && earlier != ahead) earlier = earlier->before();
    if (!earlier) return false;
  }
  if (!allocated(needs) || touches_failed(buffers)) return false;
  log_.hold(*next, uses);
  next->chained = true;
  return true;
}

bool Chains::may_follow(const std::shared_ptr<SplitRun>& before, const KernelWork& work,
                        KernelPlan& plan) const {
  size_t count = 0;
  for (auto earlier = before; earlier; earlier = earlier->before()) ++count;
  // Small launches without number, which nothing holds up, take a shorter way.
  if (count > kMostBehind || (!plan.split && before->whole() && count == 1)) return false;
  parts_.planner.evaluate(work, plan);
  const bool alone = plan.split && (plan.streamed() || plan.guessed);
  if (alone || (plan.split ? !plan.access->regions().empty() : !plan.exact)) return false;
  // Of these it is known how many groups there are only when they are launched (prepare_whole).
  if (!plan.split && shifts_pointers(*work.arguments, parts_.backends.traits(plan.backend))) {
    return false;
  }
  if (parts_.settings.split == SplitMode::kForce) return true;
  uint64_t bytes = 0;  // that move between the devices, of which the plan knows nothing yet
  for (auto earlier = before; earlier; earlier = earlier->before()) {
    bytes += earlier->bytes_between(work, plan);
  }
  const double seconds = static_cast<double>(bytes) / kLinkBytesPerSecond;
  const double expected = plan.split ? plan.priced_seconds : plan.whole_seconds - plan.wait_seconds;
  if (plan.split && expected <= 0) return false;
  return seconds <= kLittleBetween * std::max(expected, 0.0);
}

void Chains::read_early(const Ref<Node>& before) {
  if (parts_.settings.verify.on) return;
  std::shared_ptr<EarlyRead> early;
  {
    MutexLock lock(log_.mutex());
    const auto next = CommandLog::next_command(*before);
    if (!next) return;
    const auto read = EarlyRead::reading(next->work);
    if (!read) return;
    const Edge edge{before, Waits::kOrder};
    if (!parts_.splits.before(log_, next->work, {&edge, 1})) return;
    const auto uses = uses_of(next->work, nullptr);
    if (touches_failed(uses)) return;
    for (const auto& other : log_.conflicts(*next, uses, 0)) {
      if (other != before) return;
    }
    log_.hold(*next, uses);  // or the device's memory might be taken away meanwhile
    early = std::make_shared<EarlyRead>(parts_.backends, parts_.splits.of(log_, *before), *read,
                                        next->trace ? next->trace->number : 0);
    next->early = early;
  }
  early->start();
}

}  // namespace tutti::scheduler
