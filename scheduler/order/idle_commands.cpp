// SPDX-License-Identifier: Apache-2.0
// Commands that others join, and that are idle: the log's part of launch batches.
#include <algorithm>

#include "scheduler/order/command_log.h"

namespace tutti::scheduler {

void CommandLog::reopen(Node& batch) {
  batch.state = Node::State::kSubmitting;
  batch.direct.store(false, std::memory_order_release);
  batch.data.store(Node::Data::kPending, std::memory_order_release);
  batch.shown_status.store(CL_QUEUED, std::memory_order_release);
}

void LogMutex::end_lease() {
  // A launch that is being made takes the lock once it is.
  if ((lease_.exchange(0, std::memory_order_acq_rel) & kInUse) != 0) reopen_(*batch_);
  batch_ = nullptr;
}

void CommandLog::join_host_use(Stream& stream, Node& batch, const HostUse& use) {
  HostUse& joined = batch.joined_reads;
  const bool first = joined.begin == joined.end;
  joined.begin = first ? use.begin : std::min(joined.begin, use.begin);
  joined.end = std::max(joined.end, use.end);
  auto& writers = stream.host_writers;
  if (writers.empty() || writers.back().get() != &batch) writers.emplace_back(&batch);
}

bool CommandLog::waits_behind(const Node& command) {
  return std::any_of(command.behind.begin(), command.behind.end(),
                     [](const Ref<Node>& before) { return !before->done(); });
}

void CommandLog::let_go_behind(Node& command) {
  for (auto& before : command.behind) mutex_.retire(std::move(before));
  command.behind.clear();
}

void CommandLog::make_idle(Node& batch) {
  batch.idle = true;
  batch.joined_reads = {.writes = true};
  idle_batches_.emplace_back(&batch);
  idle_count_.store(idle_batches_.size(), std::memory_order_relaxed);
}

void CommandLog::wake(Node& batch) {
  batch.idle = false;
  std::erase_if(idle_batches_, [&](const auto& other) { return other.get() == &batch; });
  idle_count_.store(idle_batches_.size(), std::memory_order_relaxed);
}

std::vector<Ref<Node>> CommandLog::take_idle(const Stream* stream) {
  std::vector<Ref<Node>> taken;
  MutexLock lock(mutex_);
  if (stream == nullptr) ++releases_;
  for (const auto& batch : idle_batches_) {
    if (stream == nullptr || batch->stream.get() == stream) taken.push_back(batch);
  }
  for (const auto& batch : taken) {
    wake(*batch);
    batch->open = false;
  }
  return taken;
}

}  // namespace tutti::scheduler
