// SPDX-License-Identifier: Apache-2.0
// MergeMode::kDiff: every device starts from the same content; afterwards what each one changed is
// taken over. Devices that share the host's memory write to it side by side, which needs no merge.
#pragma once

#include <deque>

#include "base/thread_annotations.h"
#include "scheduler/run/merge.h"

namespace tutti::scheduler {

class DiffMerge final : public Merge {
 public:
  DiffMerge(MergeParts parts, const MergeRegion& region, const BufferView& view,
            std::vector<uint32_t> participants);

  Status prepare(uint32_t backend, backends::Queue& queue,
                 std::vector<backends::Argument>& arguments) override;
  void look(uint32_t backend) override;
  Result<PlaceSet> changed_alone() override;
  void keep_only(Place place) override;
  std::optional<uint32_t> unreachable() override;
  bool drop(uint32_t backend, bool unread) override;
  Status finish(bool success) override;
  /// What has been taken over of the device that was dropped is what is computed anew.
  bool finishes_again() const override { return true; }

 private:
  /// One device with memory of its own that takes part.
  struct Copy {
    uint32_t backend = 0;
    backends::Memory* now = nullptr;
    std::unique_ptr<backends::Memory> before;  // the content of range_; null: not needed
    std::vector<ByteRange> changed;            // once compared
    bool compared = false;
  };

  Status distribute() TUTTI_REQUIRES(mutex_);
  Copy* copy_on(uint32_t backend) TUTTI_REQUIRES(mutex_);
  Result<std::vector<ByteRange>> changes_of(const Copy& copy);
  Status find_changes(Copy& copy) TUTTI_REQUIRES(mutex_);
  Status find_changes() TUTTI_REQUIRES(mutex_);
  /// What the copy changed in `part` goes into the host's copy.
  Status take_over(const Copy& copy, const ByteRange& part);
  Status merge_into_host() TUTTI_REQUIRES(mutex_);
  Status merge_blocks() TUTTI_REQUIRES(mutex_);

  MergeParts parts_;
  const uint32_t unit_;
  const bool alone_;
  const Ref<LogicalBuffer> buffer_;
  const std::vector<uint32_t> participants_;
  const ByteRange region_;  // of the buffer
  ByteRange range_;         // the same with an aligned begin, for BlockCompare
  const PlaceSet places_;   // of the participants
  const bool one_place_;    // they all write to the same memory
  Mutex mutex_;  // held while content is distributed: nobody may write before all have the old one
  bool distributed_ TUTTI_GUARDED_BY(mutex_) = false;
  bool host_takes_part_ TUTTI_GUARDED_BY(mutex_) = false;
  // Alone, beside copies: the content of region_ in the host's memory before the first package.
  std::vector<std::byte> host_before_ TUTTI_GUARDED_BY(mutex_);
  std::deque<Copy> copies_ TUTTI_GUARDED_BY(mutex_);  // each one's device may work on it unlocked
};

}  // namespace tutti::scheduler
