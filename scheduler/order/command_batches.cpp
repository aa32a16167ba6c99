// SPDX-License-Identifier: Apache-2.0
// Launch batches: the one command of many launches that nobody observes.
#include <algorithm>
#include <utility>

#include "scheduler/order/command_log.h"

namespace tutti::scheduler {

bool CommandLog::joinable(const Command& batch) {
  constexpr size_t kMost = 256;  // kernels, buffers
  return batch.open_ && batch.state_ == Command::State::kDirect && !batch.watched_ &&
         batch.dependents_.empty() && !batch.after_ && batch.members_.size() < kMost &&
         batch.used_buffers_.size() < kMost;
}

Ref<Command> CommandLog::open_batch(Stream& stream) {
  const Command* last = stream.last_.get();
  return last && joinable(*last) ? stream.last_ : Ref<Command>();
}

std::shared_ptr<const KernelPlan> CommandLog::planned_before(Stream& stream,
                                                             const KernelWork& work) {
  Command* last = stream.last_.get();
  // One that is submitting is in another thread's hands.
  if (!last || !last->is_batch_ || last->state_ != Command::State::kDirect) return nullptr;
  if (last->kinds_) {
    for (Command::Kind& kind : last->kinds_->kinds) {
      if (!kind.has_shape(work.kernel.get(), work.shape, work.local_given)) continue;
      if (kind.left == 0) return nullptr;
      --kind.left;
      return kind.plan;
    }
  }
  const auto& first = std::get<KernelWork>(last->work_);
  const bool same = first.kernel == work.kernel && first.shape == work.shape &&
                    first.local_given == work.local_given;
  return same ? last->plan_ : nullptr;
}

Command::Kind& CommandLog::kind_of(Command& batch, const KernelWork& work,
                                   std::shared_ptr<const KernelPlan> plan, uint32_t launches,
                                   bool anew) {
  if (!batch.kinds_) batch.kinds_ = std::make_unique<Command::Kinds>();
  auto& kinds = batch.kinds_->kinds;
  Command::Kind* same = nullptr;
  uint32_t left = plan ? launches : 0;
  for (Command::Kind& kind : kinds) {
    if (!kind.has_shape(work.kernel.get(), work.shape, work.local_given)) continue;
    if (anew) {
      kind.plan = plan;
      kind.left = left;
    }
    left = kind.left;
    if (kind.arguments.same_objects(*work.arguments)) same = &kind;
  }
  if (same == nullptr) {
    same = &kinds[batch.kinds_->next++ % kinds.size()];
    if (same->work.kernel) mutex_.retire(std::make_shared<KernelWork>(std::move(same->work)));
    same->work = work;
  }
  same->arguments.remember(work.arguments);
  same->plan = std::move(plan);
  same->left = left;
  same->unchanged = false;
  return *same;
}

void CommandLog::reopen(Command& batch) {
  batch.state_ = Command::State::kSubmitting;
  batch.direct_.store(false, std::memory_order_release);
  batch.data_.store(Command::Data::kPending, std::memory_order_release);
  batch.status_.store(CL_QUEUED, std::memory_order_release);
}

void LogMutex::end_lease() {
  // A launch that is being made takes the lock once it is.
  if ((lease_.exchange(0, std::memory_order_acq_rel) & kInUse) != 0) reopen_(*batch_);
  batch_ = nullptr;
}

void CommandLog::may_repeat(Stream& stream, Command& batch, Command::Kind& kind) {
  if (stream.last_.get() != &batch || batch.kinds_->touched || !joinable(batch)) return;
  kind.unchanged = true;
  stream.leased_.store(&batch, std::memory_order_relaxed);
  stream.lease_.store(mutex_.lease(batch), std::memory_order_release);
}

Command::Kind* CommandLog::find_kind(Command& batch, const LaunchableKernel& kernel,
                                     const LaunchShape& shape, bool local_given,
                                     ArgumentSource& arguments, bool brief) {
  brief |= batch.has_events_;
  for (Command::Kind& kind : batch.kinds_->kinds) {
    if (kind.unchanged && kind.left > 0 && (!brief || kind.brief) &&
        kind.has_shape(&kernel, shape, local_given) && arguments.give_numbers(kind.arguments)) {
      --kind.left;
      return &kind;
    }
  }
  return nullptr;
}

CommandLog::Repeat CommandLog::begin_repeat(Stream& stream, const LaunchableKernel& kernel,
                                            const LaunchShape& shape, bool local_given,
                                            ArgumentSource& arguments, bool brief) {
  const uint64_t lease = stream.lease_.load(std::memory_order_acquire);
  if (lease == 0) return {};
  Command* const leased = stream.leased_.load(std::memory_order_relaxed);
  if (mutex_.enter(lease)) {
    const Repeat repeat{leased, find_kind(*leased, kernel, shape, local_given, arguments, brief),
                        lease};
    if (repeat.kind) return repeat;
    if (end_repeat(repeat)) return {};
    bool watched = false;
    Ref<Command> batch;  // nothing else may hold it once the lock is gone
    {
      MutexLock lock(mutex_);
      batch = Ref<Command>(leased);
      watched = set_direct(*leased, leased->backend_, leased->completion_);
    }
    if (watched) sink_.watch(std::move(batch));
    return {};
  }
  MutexLock lock(mutex_);
  Command* const last = stream.last_.get();
  if (!last || !last->kinds_ || last->kinds_->touched || !joinable(*last)) return {};
  const Repeat repeat{last, find_kind(*last, kernel, shape, local_given, arguments, brief)};
  if (!repeat.kind) return {};
  if (last->idle_) wake(*last);
  reopen(*last);
  return repeat;
}

void CommandLog::take_batch_event(Stream& stream, Command& batch, Command& event, uint32_t backend,
                                  backends::CompletionPtr completion) {
  batch.has_events_ = true;
  event.stream_ = Ref<Stream>(&stream);
  set_direct(event, backend, std::move(completion));
}

void CommandLog::join(Command& batch, std::span<const BufferUse> uses) {
  if (batch.idle_) wake(batch);
  reopen(batch);
  if (batch.kinds_ && std::exchange(batch.kinds_->touched, false)) {
    for (Command::Kind& kind : batch.kinds_->kinds) kind.unchanged = false;
  }
  hold(batch, uses);
}

void CommandLog::join_host_use(Stream& stream, Command& batch, const HostUse& use) {
  const bool first = batch.host_begin_ == batch.host_end_;
  batch.host_begin_ = first ? use.begin : std::min(batch.host_begin_, use.begin);
  batch.host_end_ = std::max(batch.host_end_, use.end);
  auto& writers = stream.host_writers_;
  if (writers.empty() || writers.back().get() != &batch) writers.emplace_back(&batch);
}

void CommandLog::keep(Command& batch, const KernelWork& work) {
  // Buffers are held. Of the arguments, only an image that was made from one has to live on: who
  // sets a number for the next launch need not leave the old one here.
  const bool objects = std::any_of(work.arguments->begin(), work.arguments->end(),
                                   [](const ArgumentSlot& slot) { return slot.image.get(); });
  const auto same = [&](const std::shared_ptr<LaunchableKernel>& kernel,
                        const std::shared_ptr<const ArgumentSet>& arguments) {
    return kernel == work.kernel && (!objects || arguments == work.arguments);
  };
  const auto& first = std::get<KernelWork>(batch.work_);
  auto& members = batch.members_;
  if (same(first.kernel, first.arguments) ||
      std::any_of(members.rbegin(), members.rend(), [&](const Command::Member& member) {
        return same(member.kernel, member.arguments);
      })) {
    return;
  }
  members.push_back({work.kernel, objects ? work.arguments : nullptr});
}

Command* CommandLog::may_be_idle(Stream& stream) {
  drop_done(stream);
  if (stream.outstanding_.size() != 1 || stream.unseen_error_ != CL_SUCCESS) return nullptr;
  Command& batch = *stream.outstanding_.front();
  const bool may = stream.last_.get() == &batch && batch.is_batch_ && joinable(batch) &&
                   batch.callbacks_.empty() && batch.releases_ == releases_;
  return may ? &batch : nullptr;
}

void CommandLog::make_idle(Command& batch) {
  batch.idle_ = true;
  batch.host_begin_ = batch.host_end_ = 0;
  idle_batches_.emplace_back(&batch);
  idle_count_.store(idle_batches_.size(), std::memory_order_relaxed);
}

void CommandLog::wake(Command& batch) {
  batch.idle_ = false;
  std::erase_if(idle_batches_, [&](const auto& other) { return other.get() == &batch; });
  idle_count_.store(idle_batches_.size(), std::memory_order_relaxed);
}

std::vector<Ref<Command>> CommandLog::take_idle(const Stream* stream) {
  std::vector<Ref<Command>> taken;
  MutexLock lock(mutex_);
  if (stream == nullptr) ++releases_;
  for (const auto& batch : idle_batches_) {
    if (stream == nullptr || batch->stream_.get() == stream) taken.push_back(batch);
  }
  for (const auto& batch : taken) {
    wake(*batch);
    batch->open_ = false;
  }
  return taken;
}

}  // namespace tutti::scheduler
