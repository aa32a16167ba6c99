// SPDX-License-Identifier: Apache-2.0
#include "backends/process/remote_completion.h"

#include <algorithm>
#include <cstring>

namespace tutti::backends::process {

void QueueProgress::Staged::settle(bool well) {
  const MutexLock lock(mutex_);
  if (!range_) return;
  if (well && target_.to != nullptr) {
    const std::byte* from = range_.data();
    for (uint64_t third = 0; third < target_.count[1]; ++third) {
      for (uint64_t second = 0; second < target_.count[0]; ++second) {
        std::memcpy(target_.to + third * target_.pitch[1] + second * target_.pitch[0], from,
                    target_.length);
        from += target_.length;
      }
    }
  }
  range_ = SharedRange();
}

bool QueueProgress::Staged::settled() {
  const MutexLock lock(mutex_);
  return !range_;
}

QueueProgress::~QueueProgress() {
  if (counters_ != nullptr && busy_.load()) live::end_busy(*counters_);
}

void QueueProgress::note_enqueued(uint64_t number, StagedPtr staged) {
  uint64_t known = enqueued_.load(std::memory_order_relaxed);
  while (known < number &&
         !enqueued_.compare_exchange_weak(known, number, std::memory_order_acq_rel)) {
  }
  if (counters_ != nullptr) {
    live::add(counters_->commands, 1);
    if (!busy_.exchange(true, std::memory_order_relaxed)) live::begin_busy(*counters_);
  }
  if (!staged) return;
  const MutexLock lock(mutex_);
  if (waiting_.size() >= look_at_) {
    std::erase_if(waiting_, [](const Waiting& one) { return one.staged->settled(); });
    look_at_ = std::max<size_t>(64, 2 * waiting_.size());
  }
  waiting_.push_back({number, std::move(staged)});
}

uint64_t QueueProgress::waiting() {
  const MutexLock lock(mutex_);
  uint64_t bytes = 0;
  for (const Waiting& one : waiting_) bytes += one.staged->settled() ? 0 : one.staged->size;
  return bytes;
}

void QueueProgress::note_ended(uint64_t count) {
  if (count > ended()) {
    MutexLock lock(mutex_);
    std::vector<StagedPtr> ready;
    std::erase_if(waiting_, [&](Waiting& one) {
      if (one.number > count) return false;
      ready.push_back(std::move(one.staged));
      return true;
    });
    // Under the lock: nobody hears of the end before all content is where it was asked for.
    for (const StagedPtr& staged : ready) staged->settle(true);
    ended_.store(std::max(count, ended()), std::memory_order_release);
  }
  if (counters_ != nullptr && busy_.load(std::memory_order_relaxed) &&
      count >= enqueued_.load(std::memory_order_relaxed) &&
      busy_.exchange(false, std::memory_order_relaxed)) {
    live::end_busy(*counters_);
  }
}

RemoteCompletion::~RemoteCompletion() { channel().drop(ObjectKind::kCompletion, completion_); }

bool RemoteCompletion::known_complete() const {
  return status_.load(std::memory_order_acquire) == CL_COMPLETE ||
         (!observed_ && queue_->ended() >= number_.load(std::memory_order_acquire));
}

void RemoteCompletion::note_complete(const Times& times) {
  if (times.known != 0) {
    const MutexLock lock(mutex_);
    times_ = times.times;
  }
  for (const auto& one : after_) {
    if (one->staged_) one->staged_->settle(true);
  }
  if (staged_) staged_->settle(true);
  queue_->note_ended(before_);
  status_.store(CL_COMPLETE, std::memory_order_release);
}

void RemoteCompletion::note_failed(cl_int code) {
  if (staged_) staged_->settle(false);
  status_.store(code, std::memory_order_release);
}

cl_int RemoteCompletion::poll() {
  if (known_complete()) return CL_COMPLETE;
  if (const cl_int known = status_.load(std::memory_order_acquire); known < 0) return known;
  Writer request;
  request.put(completion_);
  const auto answer = channel().call("asking for a command's state", Op::kPoll, request);
  if (!answer) {
    note_failed(answer.error().code);
    return answer.error().code;
  }
  Reader from = answer->reader();
  const auto status = from.get<cl_int>();
  if (status == CL_COMPLETE) {
    note_complete(from.get<Times>());
  } else if (status < 0) {
    note_failed(status);
  }
  return status;
}

Status RemoteCompletion::wait() {
  if (known_complete()) return {};
  if (const cl_int known = status_.load(std::memory_order_acquire); known < 0) {
    return channel().alive() ? Status(fail(known))
                             : Status(channel().gone("waiting for a command"));
  }
  Writer request;
  request.put(completion_);
  auto answer = channel().call("waiting for a command", Op::kWait, request);
  if (!answer) {
    note_failed(answer.error().code);
    return tl::unexpected(std::move(answer).error());
  }
  note_complete(answer->reader().get<Times>());
  return {};
}

std::optional<VendorTimes> RemoteCompletion::times() {
  if (!known_complete()) return std::nullopt;
  // It may be known by what came behind it alone.
  if (status_.load(std::memory_order_acquire) != CL_COMPLETE) {
    Writer request;
    request.put(completion_);
    const auto answer = channel().call("asking for a command's times", Op::kPoll, request);
    if (!answer) return std::nullopt;
    Reader from = answer->reader();
    if (from.get<cl_int>() == CL_COMPLETE) note_complete(from.get<Times>());
  }
  const MutexLock lock(mutex_);
  return times_;
}

}  // namespace tutti::backends::process
