// SPDX-License-Identifier: Apache-2.0
// What one participant of a split launch needs to launch packages. Used by one thread at a time.
#pragma once

#include <deque>
#include <vector>

#include "scheduler/access/hidden_argument.h"
#include "scheduler/access/shard_argument.h"
#include "scheduler/run/panel_launches.h"
#include "scheduler/run/split_run.h"

namespace tutti::scheduler {

struct SplitRun::Seat {
  uint32_t backend = 0;
  // Packages take turns on the queues of a device that can run them side by side: the next one
  // fills what the last groups of the one before leave idle.
  std::vector<backends::Queue*> queues;
  size_t launches = 0;
  backends::Kernel* kernel = nullptr;
  std::vector<backends::Argument> arguments;
  HiddenArgument hidden{};
  ShardArgument shards{};
  std::unique_ptr<PanelLaunches> panels;  // null: it has none
  bool merges_prepared = false;
  uint64_t busy_until = 0;  // measured, by the packages that have ended
  double speed = 0;         // of the last of them, slices per second
  std::deque<InFlight> in_flight;
  bool dropped = false;  // what it has merged
  Range newest{};        // package, where the participant streams
};

}  // namespace tutti::scheduler
