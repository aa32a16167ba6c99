// SPDX-License-Identifier: Apache-2.0
// Makes one result of what several devices wrote to one region during a split launch, or to the
// atomic regions of one window. Made per launch; prepare() may be called by several threads,
// finish() by one, after all packages have ended.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "scheduler/access/merge_region.h"
#include "scheduler/command/work.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/run/block_compare.h"

namespace tutti::scheduler {

class Merge {
 public:
  virtual ~Merge() = default;
  /// Before the first package on `backend`: its copy of the region is made, and `arguments` lead to
  /// it. The caller waits for what this enqueues to `queue`.
  virtual Status prepare(uint32_t backend, backends::Queue& queue,
                         std::vector<backends::Argument>& arguments) = 0;
  /// All packages on `backend` have ended, for the time being: does what finish() would else have
  /// to do for each device in turn. Other devices may do the same meanwhile.
  virtual void look(uint32_t /*backend*/) {}
  /// After all packages have ended: the places whose devices changed what is `alone`. Where those
  /// are several, keep_only() one of them before finish().
  virtual Result<PlaceSet> changed_alone() { return PlaceSet{0}; }
  /// What the devices of all other places wrote is dropped.
  virtual void keep_only(Place /*place*/) {}
  /// After all packages have ended: gets what finish() needs of each device. The one that does not
  /// give it, or none.
  virtual std::optional<uint32_t> unreachable() { return std::nullopt; }
  /// The device has failed: all that it wrote is dropped, and its packages are computed elsewhere.
  /// `unread`: the launch reads nothing of it, so that what it wrote may stay where it would be
  /// written again. False: that cannot be done.
  virtual bool drop(uint32_t backend, bool unread) = 0;
  /// Puts the result together and notes in the buffer's directory where it is. Without `success`
  /// (a package has failed) the content is undefined, but the directory is in order.
  virtual Status finish(bool success) = 0;
  /// Whether finish() may be called once more after it has failed, and a device was dropped.
  virtual bool finishes_again() const { return false; }
};

struct MergeParts {
  BackendSet& backends;
  BlockCompare& compare;
};

/// `participants`: the backends that may call prepare().
std::vector<std::unique_ptr<Merge>> make_merges(MergeParts parts,
                                                std::span<const MergeRegion> regions,
                                                const KernelWork& work,
                                                const std::vector<uint32_t>& participants);

}  // namespace tutti::scheduler
