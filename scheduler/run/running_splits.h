// SPDX-License-Identifier: Apache-2.0
// The launches that run split now, or whole behind such a one: what may begin before they have
// ended asks here. Guarded by the log's lock, which a caller says that it holds by giving the log.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/config.h"
#include "base/thread_annotations.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/order/command_log.h"
#include "scheduler/plan/planner.h"
#include "scheduler/run/split_run.h"

namespace tutti::scheduler {

class RunningSplits {
 public:
  /// `forced`: splits, and what begins behind them, whether that pays or not.
  RunningSplits(BackendSet& backends, CommandLog& log, bool forced)
      : backends_(backends), log_(log), forced_(forced) {}

  void add(Ref<Node> command, std::shared_ptr<SplitRun> run) TUTTI_EXCLUDES(log_.mutex());
  /// It has ended.
  void remove(const Node& command) TUTTI_EXCLUDES(log_.mutex());

  /// The run of a command; null: it does not run so.
  std::shared_ptr<SplitRun> of(CommandLog& log, const Node& command) const
      TUTTI_REQUIRES(log.mutex());
  /// The command that `work`, behind `edges`, may begin during; null: none.
  Ref<Node> before(CommandLog& log, const Work& work, std::span<const Edge> edges) const
      TUTTI_REQUIRES(log.mutex());
  /// Whether a launch behind `edges` is a short whole one that may begin so when its turn comes.
  /// `plan`: null for what is no kernel.
  bool precede(CommandLog& log, std::span<const Edge> edges, const KernelPlan* plan) const
      TUTTI_REQUIRES(log.mutex());
  std::vector<Ref<Node>> commands(CommandLog& log) const TUTTI_REQUIRES(log.mutex());

 private:
  struct Split {
    Ref<Node> command;
    std::shared_ptr<SplitRun> run;
  };

  BackendSet& backends_;
  CommandLog& log_;
  const bool forced_;
  std::vector<Split> splits_ TUTTI_GUARDED_BY(log_.mutex());
};

}  // namespace tutti::scheduler
