// SPDX-License-Identifier: Apache-2.0
// Which started commands a command must wait for, packages among them that go on though their
// launches have ended.
#include <algorithm>

#include "scheduler/order/command_log.h"

namespace tutti::scheduler {
namespace {

/// Whether `self` may not begin to use a buffer so as long as `other` is in force.
bool in_the_way(const Node& self, const BufferUse& use, const RangeUse& other,
                BackendMask devices) {
  if (!other.late) return keep_order(use, other);
  if (use.begin >= other.end || other.begin >= use.end) return false;
  if (other.late_on == kNoBackend) return use.writes || use.exposed;
  // What a kernel reads is brought to its device; images are where vendors' own commands put them.
  const bool kernel = std::holds_alternative<KernelWork>(self.work);
  const bool anywhere =
      use.buffer->image() != nullptr || std::holds_alternative<FillImageWork>(self.work);
  return (devices & backend_bit(other.late_on)) != 0 ? kernel || use.writes
                                                     : !kernel && anywhere && use.writes;
}

}  // namespace

bool CommandLog::ordered_by_application(const BufferUse& use, const RangeUse& other,
                                        uint32_t queue) {
  const Node& before = *other.command;
  return !use.hidden && !other.hidden && !other.late && before.state == Node::State::kDirect &&
         before.backend == queue && !before.after;
}

Nodes CommandLog::conflicts(const Node& self, std::span<const BufferUse> uses, BackendMask devices,
                            uint32_t queue) {
  Nodes found;
  for (const BufferUse& use : uses) {
    for (const RangeUse& other : use.buffer->uses) {
      const bool counts = other.command != &self && !other.command->idle;
      if (counts && in_the_way(self, use, other, devices) &&
          !ordered_by_application(use, other, queue)) {
        found.emplace_back(other.command);
      }
    }
  }
  return found;
}

bool CommandLog::hold_late(Node& late, std::span<const BufferUse> uses, uint32_t backend,
                           const Node& launch, bool alone) {
  for (const BufferUse& use : uses) {
    const bool shared = use.buffer->place_on(backend) == kHostPlace;
    if (!shared && alone) continue;
    for (const RangeUse& other : use.buffer->uses) {
      const bool meets = use.begin < other.end && other.begin < use.end;
      if (other.command != &launch && meets && (other.writes || !shared)) return false;
    }
  }
  late.state = Node::State::kRunning;
  late.backend = backend;
  for (const BufferUse& use : uses) {
    const bool shared = use.buffer->place_on(backend) == kHostPlace;
    for (const RangeUse& other : use.buffer->uses) other.command->touched = true;
    use.buffer->uses.push_back({.command = &late,
                                .begin = use.begin,
                                .end = use.end,
                                .late = true,
                                .late_on = shared ? kNoBackend : backend});
    late.used_buffers.emplace_back(use.buffer);
  }
  return true;
}

}  // namespace tutti::scheduler
