// SPDX-License-Identifier: Apache-2.0
// TUTTI_VERIFY=vote: a launch is computed by two devices, each in copies of its own of what it
// writes. Where they differ, others decide: the result is the first that two different devices
// agree on. Each may be asked twice, so that of two devices one that errs now and then is outvoted;
// one that always errs alike is not, and the launch fails. (M. Kicherer, DLS thesis, KIT 2014,
// 6.5.2 and 7.3.4.2.)
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/thread_annotations.h"
#include "scheduler/command/work.h"
#include "scheduler/order/buffer_uses.h"
#include "scheduler/order/stream.h"
#include "scheduler/plan/planner.h"
#include "scheduler/run/launch_copies.h"
#include "scheduler/run/verification.h"

namespace tutti::scheduler {

/// Which devices to ask first. Thread-safe.
class VoterChoice {
 public:
  struct Candidate {
    uint32_t backend = 0;
    double seconds = 0;         // it is expected to take
    DeviceHealth::Votes votes;  // so far
  };
  /// What asking it costs: seconds / (1 - p), p its failure rate, by one more vote that was right,
  /// so that nobody is banned.
  static double cost(const Candidate& candidate);
  /// All, the cheapest first, but the second place goes to who was passed over for so long that
  /// asking it makes little of that.
  std::vector<uint32_t> order(std::vector<Candidate> candidates) TUTTI_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  // Seconds that others have computed in its place since it was asked.
  std::array<double, kMostBackends> passed_over_ TUTTI_GUARDED_BY(mutex_){};
};

/// The first of the ballots that one of another device agrees with.
std::optional<size_t> elected(std::span<const uint32_t> devices,
                              const std::function<bool(size_t, size_t)>& agree);

/// One launch that is voted on. Nobody else uses the ranges that it changes meanwhile; one thread.
class Vote {
 public:
  /// `uses`: what the launch holds; `plan` has been evaluated.
  Vote(BackendSet& backends, const KernelWork& work, const KernelPlan& plan, BufferUses uses,
       double tolerance)
      : backends_(backends),
        work_(work),
        plan_(plan),
        uses_(std::move(uses)),
        tolerance_(tolerance) {}

  /// Why such a launch is not voted on; empty: it is.
  static std::string unvotable(const KernelPlan& plan);
  /// Asks devices in this order until the result is known and in the host's copies. An error where
  /// they do not agree. Absent: fewer than two could be asked, and nothing has changed.
  std::optional<Status> decide(Stream& stream, std::span<const uint32_t> devices);
  /// What a device has computed, once it is decided upon; a device once for each of its ballots.
  struct Outcome {
    uint32_t backend = 0;
    uint64_t begun_ns = 0, ended_ns = 0;  // with its data's way there and back
    bool right = false;                   // else it was outvoted
  };
  const std::vector<Outcome>& outcomes() const { return outcomes_; }

 private:
  /// A launch under way on a device.
  struct Running {
    uint32_t backend = 0;
    LaunchCopies copies;  // of what it changes
    backends::CompletionPtr completion;
    uint64_t begun_ns = 0;
  };
  /// What a device has computed: the bytes of each changed range.
  struct Ballot {
    std::vector<std::vector<std::byte>> bytes;
  };

  Status copy_content(Running& running);
  Result<Running> launch(Stream& stream, uint32_t backend);
  Result<Ballot> result_of(Running& running);
  /// All at once.
  void ask(Stream& stream, std::span<const uint32_t> devices);
  bool agree(const Ballot& a, const Ballot& b) const;
  Status adopt(const Ballot& ballot);

  BackendSet& backends_;
  const KernelWork& work_;
  const KernelPlan& plan_;
  const BufferUses uses_;
  const double tolerance_;
  std::vector<uint32_t> voters_;  // of the ballots
  std::vector<Ballot> ballots_;
  std::vector<Outcome> outcomes_;  // of the ballots, but for what is known when it is decided
};

}  // namespace tutti::scheduler
