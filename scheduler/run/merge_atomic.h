// SPDX-License-Identifier: Apache-2.0
// MergeMode::kAtomic: every device updates a copy that starts from the operator's neutral element;
// the copies are combined with the content from before the launch, on the host.
#pragma once

#include "base/thread_annotations.h"
#include "scheduler/run/merge.h"

namespace tutti::scheduler {

class AtomicMerge final : public Merge {
 public:
  AtomicMerge(BackendSet& backends, const MergeRegion& region, const BufferView& view)
      : backends_(backends), regions_{region}, view_(view) {}

  /// Takes one more region, if it is of the same window; before prepare().
  bool add(const MergeRegion& region, const BufferView& view);

  Status prepare(uint32_t backend, backends::Queue& queue,
                 std::vector<backends::Argument>& arguments) override;
  std::optional<uint32_t> unreachable() override;
  bool drop(uint32_t backend, bool unread) override;
  Status finish(bool success) override;

 private:
  struct Copy {
    uint32_t backend = 0;
    std::unique_ptr<backends::Memory> memory;    // of the window
    std::vector<std::vector<std::byte>> values;  // per region, once read
  };

  Status read_values(Copy& copy) TUTTI_REQUIRES(mutex_);
  Result<backends::Memory*> copy_on(uint32_t backend, backends::Queue& queue);

  BackendSet& backends_;
  std::vector<MergeRegion> regions_;
  const BufferView view_;  // the window
  Mutex mutex_;            // held while a copy is made: vendors need nothing of ours
  std::vector<Copy> copies_ TUTTI_GUARDED_BY(mutex_);
};

/// The element that changes nothing, in `unit` bytes (the rest zero).
std::array<std::byte, 8> neutral_element(MergeOperator op, uint32_t unit);
/// into[i] ← into[i] op with[i] for elements of `unit` (4 or 8) bytes; sizes are equal.
void combine(MergeOperator op, uint32_t unit, std::span<std::byte> into,
             std::span<const std::byte> with);

}  // namespace tutti::scheduler
