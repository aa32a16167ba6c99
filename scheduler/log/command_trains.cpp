// SPDX-License-Identifier: Apache-2.0
// Trains: the one command of many launches that nobody observes.
#include <algorithm>
#include <utility>

#include "scheduler/log/command_log.h"

namespace tutti::scheduler {

bool CommandLog::joinable(const Command& train) {
  constexpr size_t kMost = 256;  // kernels, buffers
  return train.open_ && train.state_ == Command::State::kDirect && !train.watched_ &&
         train.dependents_.empty() && !train.after_ && train.riders_.size() < kMost &&
         train.used_buffers_.size() < kMost;
}

Ref<Command> CommandLog::open_train(Stream& stream) {
  const Command* last = stream.last_.get();
  return last && joinable(*last) ? stream.last_ : Ref<Command>();
}

std::shared_ptr<const KernelPlan> CommandLog::planned_before(Stream& stream,
                                                             const KernelWork& work) {
  Command* last = stream.last_.get();
  // One that is submitting is in another thread's hands.
  if (!last || !last->is_train_ || last->state_ != Command::State::kDirect) return nullptr;
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

Command::Kind& CommandLog::kind_of(Command& train, const KernelWork& work,
                                   std::shared_ptr<const KernelPlan> plan, uint32_t launches,
                                   bool anew) {
  if (!train.kinds_) train.kinds_ = std::make_unique<Command::Kinds>();
  auto& kinds = train.kinds_->kinds;
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
    same = &kinds[train.kinds_->next++ % kinds.size()];
    same->work = work;
  }
  same->arguments.remember(work.arguments);
  same->plan = std::move(plan);
  same->left = left;
  same->unchanged = false;
  return *same;
}

void CommandLog::reopen(Command& train) {
  train.state_ = Command::State::kSubmitting;
  train.direct_.store(false, std::memory_order_release);
  train.data_.store(Command::Data::kPending, std::memory_order_release);
  train.status_.store(CL_QUEUED, std::memory_order_release);
}

void LogMutex::end_lease() {
  // A launch that is being made takes the lock once it is.
  if ((lease_.exchange(0, std::memory_order_acq_rel) & kInUse) != 0) CommandLog::reopen(*train_);
  train_ = nullptr;
}

void CommandLog::may_repeat(Stream& stream, Command& train, Command::Kind& kind) {
  if (stream.last_.get() != &train || train.kinds_->touched || !joinable(train)) return;
  kind.unchanged = true;
  stream.leased_.store(&train, std::memory_order_relaxed);
  stream.lease_.store(mutex_.lease(train), std::memory_order_release);
}

Command::Kind* CommandLog::find_kind(Command& train, const LaunchableKernel& kernel,
                                     const LaunchShape& shape, bool local_given,
                                     ArgumentSource& arguments, bool brief) {
  brief |= train.has_passengers_;
  for (Command::Kind& kind : train.kinds_->kinds) {
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
    Ref<Command> train;  // nothing else may hold it once the lock is gone
    {
      MutexLock lock(mutex_);
      train = Ref<Command>(leased);
      watched = set_direct(*leased, leased->backend_, leased->completion_);
    }
    if (watched) sink_.watch(std::move(train));
    return {};
  }
  MutexLock lock(mutex_);
  Command* const last = stream.last_.get();
  if (!last || !last->kinds_ || last->kinds_->touched || !joinable(*last)) return {};
  const Repeat repeat{last, find_kind(*last, kernel, shape, local_given, arguments, brief)};
  if (!repeat.kind) return {};
  if (last->rests_) wake(*last);
  reopen(*last);
  return repeat;
}

void CommandLog::take_passenger(Stream& stream, Command& train, Command& passenger,
                                uint32_t backend, backends::CompletionPtr completion) {
  train.has_passengers_ = true;
  passenger.stream_ = Ref<Stream>(&stream);
  set_direct(passenger, backend, std::move(completion));
}

void CommandLog::join(Command& train, std::span<const BufferUse> uses) {
  if (train.rests_) wake(train);
  reopen(train);
  if (train.kinds_ && std::exchange(train.kinds_->touched, false)) {
    for (Command::Kind& kind : train.kinds_->kinds) kind.unchanged = false;
  }
  hold(train, uses);
}

void CommandLog::join_host_use(Stream& stream, Command& train, const HostUse& use) {
  const bool first = train.host_begin_ == train.host_end_;
  train.host_begin_ = first ? use.begin : std::min(train.host_begin_, use.begin);
  train.host_end_ = std::max(train.host_end_, use.end);
  auto& writers = stream.host_writers_;
  if (writers.empty() || writers.back().get() != &train) writers.emplace_back(&train);
}

void CommandLog::keep(Command& train, const KernelWork& work) {
  // Buffers are held. Of the arguments, only an image that was made from one has to live on: who
  // sets a number for the next launch need not leave the old one here.
  const bool objects = std::any_of(work.arguments->begin(), work.arguments->end(),
                                   [](const ArgumentSlot& slot) { return slot.image.get(); });
  const auto same = [&](const std::shared_ptr<LaunchableKernel>& kernel,
                        const std::shared_ptr<const ArgumentSet>& arguments) {
    return kernel == work.kernel && (!objects || arguments == work.arguments);
  };
  const auto& first = std::get<KernelWork>(train.work_);
  auto& riders = train.riders_;
  if (same(first.kernel, first.arguments) ||
      std::any_of(riders.rbegin(), riders.rend(), [&](const Command::Rider& rider) {
        return same(rider.kernel, rider.arguments);
      })) {
    return;
  }
  riders.push_back({work.kernel, objects ? work.arguments : nullptr});
}

Command* CommandLog::may_rest(Stream& stream) {
  drop_done(stream);
  if (stream.outstanding_.size() != 1 || stream.unseen_error_ != CL_SUCCESS) return nullptr;
  Command& train = *stream.outstanding_.front();
  const bool may = stream.last_.get() == &train && train.is_train_ && joinable(train) &&
                   train.callbacks_.empty() && train.releases_ == releases_;
  return may ? &train : nullptr;
}

void CommandLog::rest(Command& train) {
  train.rests_ = true;
  train.host_begin_ = train.host_end_ = 0;
  resting_.emplace_back(&train);
  rest_.store(resting_.size(), std::memory_order_relaxed);
}

void CommandLog::wake(Command& train) {
  train.rests_ = false;
  std::erase_if(resting_, [&](const auto& other) { return other.get() == &train; });
  rest_.store(resting_.size(), std::memory_order_relaxed);
}

std::vector<Ref<Command>> CommandLog::take_resting(const Stream* stream) {
  std::vector<Ref<Command>> taken;
  MutexLock lock(mutex_);
  if (stream == nullptr) ++releases_;
  for (const auto& train : resting_) {
    if (stream == nullptr || train->stream_.get() == stream) taken.push_back(train);
  }
  for (const auto& train : taken) {
    wake(*train);
    train->open_ = false;
  }
  return taken;
}

}  // namespace tutti::scheduler
