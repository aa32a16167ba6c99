// SPDX-License-Identifier: Apache-2.0
// The direct path: a command that runs whole on one device, and whose unfinished dependencies are
// all on that device, goes to the vendor's queue in the enqueuing thread; no thread is woken.
// Stateless; thread-safe. The questions are asked under the log's lock; submit() is called without
// it.
#pragma once

#include <span>

#include "scheduler/order/command_log.h"
#include "scheduler/run/executor.h"

namespace tutti::scheduler {

class DirectPath {
 public:
  explicit DirectPath(BackendSet& backends) : backends_(backends) {}

  /// May `work`, which is no kernel, be submitted to `backend` now? What it reads must be valid
  /// there.
  bool possible(const Work& work, uint32_t backend) const;
  /// May a kernel that uses `uses`? What it needs must be valid there, or in the host's copy, from
  /// where it is sent along.
  bool possible(std::span<const BufferUse> uses, uint32_t backend) const;
  /// Whether `work` is nothing but order, given what lies where: it ends with what it waits for.
  bool only_order(const Work& work) const;
  /// Whether a kernel would first send data from the host's copy to the device.
  bool sends(std::span<const BufferUse> uses, uint32_t backend) const;

  /// Hands the work to the stream's vendor queue, after `wait`, and notes in the directories what
  /// it writes.
  struct Wanted {
    bool times = false;
    bool own_end = true;                // false: a completion that comes with later ones will do
    std::span<const BufferUse> uses{};  // of kernels
    std::vector<SentRange>* sent = nullptr;  // gets what is sent along; null: nobody asks
    CommandTrace* trace = nullptr;           // gets what is sent ahead
  };
  Result<backends::CompletionPtr> submit(const Work& work, Stream& stream, uint32_t backend,
                                         backends::WaitList wait, Wanted wanted);
  /// Of a launch of a batch; `observed`: its own end is. `made` gets what the vendor got.
  Result<backends::CompletionPtr> submit(const KernelWork& work, Stream& stream, uint32_t backend,
                                         std::span<const BufferUse> uses, bool observed,
                                         VendorLaunch& made);
  /// Behind all that the stream has on the device, as Queue::write_blocking().
  static Status write_blocking(const WriteWork& work, Stream& stream, uint32_t backend);
  /// What such a launch made, again, on data that nobody has touched since; nothing else has gone
  /// to the stream's queues on that device. `run` becomes its completion.
  [[gnu::always_inline]] static Status launch_again(Stream& stream, uint32_t backend,
                                                    const VendorLaunch& made, bool observed,
                                                    backends::CompletionPtr& run) {
    if (observed) {
      backends::Launch launch = made.launch;
      launch.observed = true;
      TUTTI_ASSIGN(run, made.queue->launch(launch, {}));
    } else {
      const backends::Completion* before = run.get();
      TUTTI_TRY(made.queue->launch_again(made.launch, run));
      if (run.get() == before) return {};
    }
    DeviceQueues::Turn turn;  // of a queue that does not measure, as in submit()
    turn.queue = made.queue;
    stream.queues.submitted(backend, turn, run);
    return {};
  }

 private:
  struct Submitter;
  /// Tells the stream what was submitted last in this turn, also where the work itself failed.
  static Result<backends::CompletionPtr> note(Result<backends::CompletionPtr> submitted,
                                              Submitter& submitter, Stream& stream,
                                              const DeviceQueues::Turn& turn);
  bool reachable(const BufferUse& use, uint32_t backend) const;
  bool valid(const BufferView& view, uint64_t offset, uint64_t size, uint32_t backend) const;
  bool fits(const LogicalBuffer& buffer, uint32_t backend) const;

  BackendSet& backends_;
};

}  // namespace tutti::scheduler
