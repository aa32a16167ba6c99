// SPDX-License-Identifier: Apache-2.0
// Commands in flight in a helper, and what is to be done here when they have ended: content that
// was read lies in shared memory first, and goes from there to where it was asked for before
// anybody hears of the end. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "backends/process/remote.h"

namespace tutti::backends::process {

/// How far a queue is known to have come, shared by it and its completions.
class QueueProgress {
 public:
  QueueProgress(Channel& channel, live::Device* counters)
      : channel_(channel), counters_(counters) {}
  ~QueueProgress();
  QueueProgress(const QueueProgress&) = delete;
  QueueProgress& operator=(const QueueProgress&) = delete;

  /// Shared memory that a command uses, and, where it is read, what becomes of the content.
  class Staged {
   public:
    /// Rows of `length` bytes each lie one after the other in the range, and at these pitches from
    /// `to`: bytes from one index of the second and third dimension to the next.
    struct Target {
      std::byte* to = nullptr;  // null: nothing is read
      uint64_t length = 0;
      std::array<uint64_t, 2> count{1, 1};
      std::array<uint64_t, 2> pitch{0, 0};
    };
    Staged(SharedRange range, const Target& target)
        : size(range.size()), range_(std::move(range)), target_(target) {}
    const uint64_t size;  // bytes
    /// The command has ended; `well`: the content is there. Once.
    void settle(bool well) TUTTI_EXCLUDES(mutex_);
    bool settled() TUTTI_EXCLUDES(mutex_);

   private:
    Mutex mutex_;  // held while content is copied: nobody hears of the end before
    SharedRange range_ TUTTI_GUARDED_BY(mutex_);
    const Target target_;
  };
  using StagedPtr = std::shared_ptr<Staged>;

  /// A command was enqueued, the newest of the first `number`.
  void note_enqueued(uint64_t number, StagedPtr staged) TUTTI_EXCLUDES(mutex_);
  /// The first so many have ended.
  void note_ended(uint64_t count) TUTTI_EXCLUDES(mutex_);
  /// Bytes of shared memory that commands may still use.
  uint64_t waiting() TUTTI_EXCLUDES(mutex_);
  uint64_t ended() const { return ended_.load(std::memory_order_acquire); }
  Channel& channel() const { return channel_; }

 private:
  struct Waiting {
    uint64_t number = 0;
    StagedPtr staged;
  };
  Channel& channel_;
  live::Device* const counters_;
  std::atomic<uint64_t> enqueued_{0}, ended_{0};
  std::atomic<bool> busy_{false};  // only counted
  Mutex mutex_;
  std::vector<Waiting> waiting_ TUTTI_GUARDED_BY(mutex_);
  size_t look_at_ TUTTI_GUARDED_BY(mutex_) = 64;  // when so many wait, those that do not go
};

class RemoteCompletion final : public Completion {
 public:
  /// `after`: what it waits for of content that is still to be copied.
  RemoteCompletion(std::shared_ptr<QueueProgress> queue, const Enqueued& known, bool observed,
                   QueueProgress::StagedPtr staged,
                   std::vector<std::shared_ptr<RemoteCompletion>> after)
      : queue_(std::move(queue)),
        completion_(known.completion),
        before_(known.before),
        observed_(observed),
        staged_(std::move(staged)),
        after_(std::move(after)),
        number_(known.number) {}
  ~RemoteCompletion() override;
  RemoteCompletion(const RemoteCompletion&) = delete;
  RemoteCompletion& operator=(const RemoteCompletion&) = delete;

  cl_int poll() override;
  bool known_complete() const override;
  Status wait() override;
  std::optional<VendorTimes> times() override;

  Channel& channel() const { return queue_->channel(); }
  uint64_t completion() const { return completion_; }
  bool has_content() const { return staged_ != nullptr; }
  /// It ends when a later command of the queue has, which has just been enqueued.
  void stand_for(uint64_t number) { number_.store(number, std::memory_order_release); }

 private:
  void note_complete(const Times& times);
  void note_failed(cl_int code);

  const std::shared_ptr<QueueProgress> queue_;
  const uint64_t completion_, before_;
  const bool observed_;
  const QueueProgress::StagedPtr staged_;
  const std::vector<std::shared_ptr<RemoteCompletion>> after_;
  std::atomic<uint64_t> number_;
  std::atomic<cl_int> status_{CL_QUEUED};
  Mutex mutex_;
  std::optional<VendorTimes> times_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::backends::process
