// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/merge.h"

#include "scheduler/run/merge_atomic.h"
#include "scheduler/run/merge_diff.h"

namespace tutti::scheduler {

std::vector<std::unique_ptr<Merge>> make_merges(MergeParts parts,
                                                std::span<const MergeRegion> regions,
                                                const KernelWork& work,
                                                const std::vector<uint32_t>& participants) {
  std::vector<std::unique_ptr<Merge>> merges;
  std::vector<AtomicMerge*> atomic;
  for (const MergeRegion& region : regions) {
    const BufferView& view = (*work.arguments)[region.arguments.front()].view;
    if (region.mode == MergeMode::kDiff) {
      merges.push_back(std::make_unique<DiffMerge>(parts, region, view, participants));
      continue;
    }
    bool added = false;
    for (AtomicMerge* merge : atomic) added = added || merge->add(region, view);
    if (added) continue;
    auto merge = std::make_unique<AtomicMerge>(parts.backends, region, view);
    atomic.push_back(merge.get());
    merges.push_back(std::move(merge));
  }
  return merges;
}

}  // namespace tutti::scheduler
