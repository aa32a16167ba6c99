// SPDX-License-Identifier: Apache-2.0
// Packages of a participant that streams with panels (scheduler/plan/panels.h): one launch after
// the other, each behind the transfer of its panels, which lie where the device else has its shards
// of those buffers. While one launch computes the next one's panels come, where there is memory for
// both; what a package ends with the next one begins with. One thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "scheduler/access/hidden_argument.h"
#include "scheduler/access/panel_argument.h"
#include "scheduler/access/shard_argument.h"
#include "scheduler/balance/regions.h"
#include "scheduler/plan/planner.h"

namespace tutti::scheduler {

class PanelLaunches {
 public:
  /// What is launched with, and changes from launch to launch.
  struct Arguments {
    std::vector<backends::Argument>& all;
    HiddenArgument& hidden;
    ShardArgument& shards;
  };
  /// `work` and `plan` outlive it.
  PanelLaunches(BackendSet& backends, uint32_t backend, const KernelWork& work,
                const KernelPlan& plan);

  /// Nothing of these buffers is valid on the device from now on.
  Status begin();
  /// What the device has of the buffer is other memory now.
  void moved(const LogicalBuffer& buffer);
  /// The kernel's last argument.
  std::span<const std::byte> argument() const { return added_.bytes(); }
  /// `launch` is of the package `slices` with these arguments; its parts take turns on `queues`.
  /// Where it fails all that it has launched is over. What is returned ends when all has, with the
  /// first error.
  Result<backends::CompletionPtr> launch(std::span<backends::Queue* const> queues,
                                         const backends::Launch& launch, const Arguments& arguments,
                                         const SliceRange& slices, backends::WaitList wait);

 private:
  /// Memory for one panel of each argument.
  struct Place {
    std::vector<backends::CompletionPtr> users;  // launches with what is there
    std::optional<SliceRange> groups;            // which those are for
  };

  Result<backends::CompletionPtr> launch_all(std::span<backends::Queue* const> queues,
                                             const backends::Launch& launch,
                                             const Arguments& arguments, const SliceRange& slices,
                                             backends::WaitList wait);
  /// The panels for these work-groups along the panels' dimension, and a launch with them.
  Result<backends::CompletionPtr> launch_block(backends::Queue& queue,
                                               const backends::Launch& launch,
                                               const Arguments& arguments, const SliceRange& groups,
                                               backends::WaitList wait);
  /// The place where they are, or one for them, when all that computed with it has ended.
  uint64_t place_for(const SliceRange& groups);
  /// Has the arguments show the n-th place, where the panels are then.
  Status bring(const Arguments& arguments, const SliceRange& groups, uint64_t n);

  BackendSet& backends_;
  const uint32_t backend_;
  const KernelWork& work_;
  const KernelPlan& plan_;
  PanelArgument added_;
  backends::Queue* transfers_ = nullptr;
  std::vector<Place> places_;
  uint64_t newest_ = 0;     // place
  uint64_t launches_ = 0;   // made
  bool downwards_ = false;  // the last block comes first
};

}  // namespace tutti::scheduler
