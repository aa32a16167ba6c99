// SPDX-License-Identifier: Apache-2.0
// Which ranges of which buffers, and of the application's memory, a command uses: what order
// between commands is decided by.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/small_vector.h"
#include "scheduler/command/work.h"

namespace tutti::scheduler {

struct KernelPlan;

/// A range of a buffer that a command is going to use.
struct BufferUse {
  LogicalBuffer* buffer = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool writes = false;   // for the order between commands
  bool changes = false;  // it is new afterwards
  bool needed = true;    // as it was before
  bool partly = false;   // it changes with bytes in between that do not
  bool exposed = false;  // from then on the application may write it in the host's copy
  // Content is brought to its device, of which the application knows nothing: what it has put in
  // order says nothing of that.
  bool hidden = false;
  uint32_t argument = 0;  // of a kernel
  // What a device must have memory for, where that is more: all that an argument shows of the
  // buffer, whatever a kernel touches. Empty: [begin, end).
  ByteRange shown{};
  ByteRange memory() const { return shown.empty() ? ByteRange{begin, end} : shown; }
};

/// What one command uses: mostly so few that they need no memory of their own.
using BufferUses = SmallVector<BufferUse, 3>;

/// What was sent from the host's copy to the device of a launch, ahead of it. There it stays as it
/// was until the launch has ended, since whoever changes it waits for that.
struct SentRange {
  LogicalBuffer* buffer = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// `plan` for kernels only. Null: it is not known yet, and all that the arguments show is used.
BufferUses uses_of(const Work& work, const KernelPlan* plan);
BufferUses uses_of(const KernelWork& work, const KernelPlan* plan);

/// Whether all buffers have memory on the devices for what is used.
bool allocated(std::span<const BufferUse> uses, std::span<const uint32_t> devices);

/// What a device must have memory for.
struct MemoryNeed {
  LogicalBuffer* buffer = nullptr;
  uint32_t backend = 0;
  ByteRange range;
  bool part =
      false;  // of the buffer no more than that; else a buffer without memory gets all of it
};
using MemoryNeeds = std::vector<MemoryNeed>;
MemoryNeeds needs_of(std::span<const BufferUse> uses, std::span<const uint32_t> devices);
/// Of the launch as planned.
MemoryNeeds needs_of(const KernelWork& work, const KernelPlan& plan);
bool allocated(const MemoryNeed& need);
bool allocated(const MemoryNeeds& needs);

/// A kernel with these uses will run on `backend`.
void note_used(std::span<const BufferUse> uses, uint32_t backend);
/// A kernel with these uses has run, or will have before anybody looks, on `backend`.
void note_changes(std::span<const BufferUse> uses, uint32_t backend);

/// The application's memory that a command reads or writes, by address.
struct HostUse {
  uintptr_t begin = 0;
  uintptr_t end = 0;  // begin: none
  bool writes = false;
};
HostUse host_use_of(const Work& work);

/// Begin and end of the bytes that a rectangle spans, relative to the view.
std::pair<uint64_t, uint64_t> rect_span(const backends::Rect& rect,
                                        const std::array<size_t, 3>& region);

}  // namespace tutti::scheduler
