// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/running_splits.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "scheduler/run/early_read.h"

namespace tutti::scheduler {
namespace {

// A whole launch for which nobody behind it would look for another device, in seconds.
constexpr double kShort = 1e-3;

}  // namespace

void RunningSplits::add(Ref<Node> command, std::shared_ptr<SplitRun> run) {
  MutexLock lock(log_.mutex());
  splits_.push_back({std::move(command), std::move(run)});
}

void RunningSplits::remove(const Node& command) {
  Split gone;  // after the lock
  MutexLock lock(log_.mutex());
  const auto found = std::find_if(splits_.begin(), splits_.end(), [&](const Split& split) {
    return split.command.get() == &command;
  });
  if (found == splits_.end()) return;
  gone = std::move(*found);
  splits_.erase(found);
}

std::shared_ptr<SplitRun> RunningSplits::of([[maybe_unused]] CommandLog& log,
                                            const Node& command) const {
  assert(&log == &log_);
  log_.mutex().assert_held();
  const auto found = std::find_if(splits_.begin(), splits_.end(), [&](const Split& split) {
    return split.command.get() == &command;
  });
  return found == splits_.end() ? nullptr : found->run;
}

Ref<Node> RunningSplits::before(CommandLog& log, const Work& work,
                                std::span<const Edge> edges) const {
  if (edges.size() != 1) return {};
  const auto run = of(log, *edges.front().command);
  if (!run || !run->chainable()) return {};
  const auto read = EarlyRead::reading(work);
  const bool pays = read ? EarlyRead::pays(backends_, run->devices(), *read, forced_)
                         : std::holds_alternative<KernelWork>(work);
  return pays ? edges.front().command : Ref<Node>();
}

bool RunningSplits::precede(CommandLog& log, std::span<const Edge> edges,
                            const KernelPlan* plan) const {
  if (!plan || plan->split || !plan->exact || edges.size() != 1) return false;
  if (plan->whole_seconds - plan->wait_seconds > kShort) return false;
  const Node& before = *edges.front().command;
  return before.behind_split || of(log, before);
}

std::vector<Ref<Node>> RunningSplits::commands([[maybe_unused]] CommandLog& log) const {
  assert(&log == &log_);
  log_.mutex().assert_held();
  std::vector<Ref<Node>> all;
  all.reserve(splits_.size());
  for (const Split& split : splits_) all.push_back(split.command);
  return all;
}

}  // namespace tutti::scheduler
