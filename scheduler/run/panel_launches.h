// SPDX-License-Identifier: Apache-2.0
// Packages of a participant that streams with panels (scheduler/plan/panels.h): one launch after
// the other, each behind the transfer of its panels, which lie where the device else has its shards
// of those buffers. While one launch computes the next one's panels come, where there is memory for
// both. One thread.
#pragma once

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
  /// The kernel's last argument.
  std::span<const std::byte> argument() const { return added_.bytes(); }
  /// `launch` is of the package `slices` with these arguments. Where it fails all that it has
  /// launched is over. What is returned ends when all has, with the first error.
  Result<backends::CompletionPtr> launch(backends::Queue& queue, const backends::Launch& launch,
                                         const Arguments& arguments, const SliceRange& slices,
                                         backends::WaitList wait);

 private:
  Result<backends::CompletionPtr> launch_all(backends::Queue& queue, const backends::Launch& launch,
                                             const Arguments& arguments, const SliceRange& slices,
                                             backends::WaitList wait);
  /// The panels for work-groups [first, first + count) along the panels' dimension, and a launch
  /// with them.
  Result<backends::CompletionPtr> launch_block(backends::Queue& queue,
                                               const backends::Launch& launch,
                                               const Arguments& arguments, uint64_t first,
                                               uint64_t count, backends::WaitList wait);
  /// As the n-th that the device has memory for.
  Status bring(const Arguments& arguments, uint64_t first, uint64_t count, uint64_t n);

  BackendSet& backends_;
  const uint32_t backend_;
  const KernelWork& work_;
  const KernelPlan& plan_;
  PanelArgument added_;
  backends::Queue* transfers_ = nullptr;
  // The newest launch with the n-th panels, and which are next.
  std::vector<backends::CompletionPtr> newest_;
  uint64_t next_ = 0;
};

}  // namespace tutti::scheduler
