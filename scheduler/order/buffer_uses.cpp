// SPDX-License-Identifier: Apache-2.0
#include "scheduler/order/buffer_uses.h"

#include <algorithm>

#include "scheduler/plan/planner.h"

namespace tutti::scheduler {
namespace {

BufferUse use(const BufferView& view, uint64_t offset, uint64_t size, bool writes) {
  // An image moves as a whole, so a command on a part of it holds all.
  const bool image = view.buffer->image() != nullptr;
  const uint64_t begin = image ? 0 : view.origin + offset;
  const uint64_t end = image ? view.buffer->size() : begin + size;
  return {view.buffer.get(), begin, end, writes, writes};
}

struct UseFinder {
  const KernelPlan* plan;
  BufferUses& uses;

  void operator()(const KernelWork& work) {
    if (plan && (plan->split || plan->exact)) return by_ranges(work);
    const uint64_t written = written_arguments(work.kernel->summary());
    uses.reserve(work.arguments->size());
    for (size_t i = 0; i < work.arguments->size(); ++i) {
      const ArgumentSlot& slot = (*work.arguments)[i];
      BufferView view = slot.view;
      if (!view.buffer) continue;
      // From a pointer into shared memory a kernel may go back as well as forth.
      if (view.buffer->is_shared()) view = {view.buffer, 0, view.buffer->size()};
      const bool reached = slot.kind == ArgumentSlot::Kind::kReached;
      uses.push_back(use(view, 0, view.size, reached || argument_written(written, i)));
      uses.back().argument = static_cast<uint32_t>(i);
    }
  }
  /// Unordered launches on parts of one buffer may overlap, and only what is needed moves.
  void by_ranges(const KernelWork& work) {
    const auto add = [&](uint32_t argument, ByteRange range, bool writes, bool needed) {
      const BufferView& view = (*work.arguments)[argument].view;
      if (!view.buffer) return;
      uses.push_back(use(view, range.begin, range.size(), writes));
      // Widened to all of an image, of which the rest is needed.
      uses.back().needed =
          needed || (writes && view.buffer->image() && range.size() < view.buffer->size());
      uses.back().argument = argument;
      uses.back().shown = {view.origin, view.origin + view.size};
    };
    uint32_t next = 0;
    // The vendor's kernel has those as arguments, too, of which it touches nothing.
    const auto add_untouched = [&](uint32_t until) {
      for (; next < until; ++next) add(next, {}, false, false);
      ++next;
    };
    for (const ArgumentUse& whole : plan->access->whole()) {
      add_untouched(whole.argument);
      if (!whole.read.empty()) add(whole.argument, whole.read.range, false, true);
      if (!whole.write.empty()) add(whole.argument, whole.write.range, true, !whole.overwrites);
      if (whole.read.empty() && whole.write.empty()) add(whole.argument, {}, false, false);
    }
    add_untouched(static_cast<uint32_t>(work.arguments->size()));
    if (plan->streamed()) add_moving();
  }
  /// A launch that is streamed moves devices' memory for those buffers, and nobody else may use it.
  void add_moving() {
    std::vector<LogicalBuffer*> moving;
    for (const auto& shards : plan->shards) {
      for (const BufferShard& shard : shards) moving.push_back(shard.buffer);
    }
    std::sort(moving.begin(), moving.end());
    moving.erase(std::unique(moving.begin(), moving.end()), moving.end());
    for (LogicalBuffer* buffer : moving) {
      BufferUse& all = uses.emplace_back();
      all.buffer = buffer;
      all.end = buffer->size();
      all.writes = all.hidden = true;
      all.needed = false;
    }
  }
  /// What is read of a buffer, or written without a look at what was there.
  BufferUse& add(const BufferView& view, uint64_t offset, uint64_t size, bool writes) {
    uses.push_back(use(view, offset, size, writes));
    uses.back().needed = !writes;
    uses.back().partly = writes && view.buffer->image() && size < view.buffer->size();
    return uses.back();
  }
  void add(const BufferView& view, const backends::Rect& rect, const std::array<size_t, 3>& region,
           bool writes) {
    const auto [begin, end] = rect_span(rect, region);
    add(view, begin, end - begin, writes).partly |=
        writes && end - begin > uint64_t{region[0]} * region[1] * region[2];
  }
  void operator()(const ReadWork& work) { add(work.from, work.offset, work.size, false); }
  void operator()(const WriteWork& work) { add(work.to, work.offset, work.size, true); }
  void operator()(const CopyWork& work) {
    add(work.from, work.from_offset, work.size, false);
    add(work.to, work.to_offset, work.size, true);
  }
  void operator()(const FillWork& work) { add(work.to, work.offset, work.size, true); }
  void operator()(const RectWork& work) {
    add(work.view, work.buffer_rect, work.region, work.write);
  }
  void operator()(const CopyRectWork& work) {
    add(work.from, work.from_rect, work.region, false);
    add(work.to, work.to_rect, work.region, true);
  }
  void operator()(const FillImageWork& work) {
    add(work.to, 0, work.to.size, true).partly = true;  // its region may be a part
  }
  void operator()(const MapWork& work) {
    add(work.view, work.offset, work.size, work.discard).exposed = work.writable;
  }
  void operator()(const UnmapWork& work) {
    if (work.written) add(work.view, work.offset, work.size, true);
  }
  void operator()(const MapSharedWork& work) {
    if (work.unmap && !work.writes) return;
    const bool anew = work.unmap || (work.flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
    add(work.view, work.offset, work.size, anew).exposed = work.writes;
  }
  void operator()(const MarkerWork&) {}
  void operator()(const HostWork& work) {
    for (const BufferView& view : work.buffers) uses.push_back(use(view, 0, view.size, true));
    for (const BufferView& view : work.in_place) {
      uses.push_back(use(view, 0, view.size, true));
      uses.back().needed = !work.renews;
    }
  }
};

}  // namespace

std::pair<uint64_t, uint64_t> rect_span(const backends::Rect& rect,
                                        const std::array<size_t, 3>& region) {
  const uint64_t begin =
      rect.origin[0] + rect.origin[1] * rect.row_pitch + rect.origin[2] * rect.slice_pitch;
  const uint64_t end =
      begin + (region[2] - 1) * rect.slice_pitch + (region[1] - 1) * rect.row_pitch + region[0];
  return {begin, end};
}

BufferUses uses_of(const Work& work, const KernelPlan* plan) {
  BufferUses uses;
  std::visit(UseFinder{plan, uses}, work);
  return uses;
}

BufferUses uses_of(const KernelWork& work, const KernelPlan* plan) {
  BufferUses uses;
  UseFinder{plan, uses}(work);
  return uses;
}

bool allocated(const MemoryNeed& need) {
  const LogicalBuffer& buffer = *need.buffer;
  if (buffer.has_memory(need.backend)) {
    return buffer.has_room_for(need.backend, need.range.begin, need.range.end);
  }
  return buffer.takes_no_memory(need.backend);
}

bool allocated(std::span<const BufferUse> uses, std::span<const uint32_t> devices) {
  return std::all_of(uses.begin(), uses.end(), [&](const BufferUse& use) {
    return std::all_of(devices.begin(), devices.end(), [&](uint32_t backend) {
      return allocated(MemoryNeed{use.buffer, backend, use.memory()});
    });
  });
}

bool allocated(const MemoryNeeds& needs) {
  return std::all_of(needs.begin(), needs.end(),
                     [](const MemoryNeed& need) { return allocated(need); });
}

MemoryNeeds needs_of(std::span<const BufferUse> uses, std::span<const uint32_t> devices) {
  MemoryNeeds needs;
  for (const BufferUse& use : uses) {
    for (const uint32_t backend : devices) needs.push_back({use.buffer, backend, use.memory()});
  }
  return needs;
}

MemoryNeeds needs_of(const KernelWork& work, const KernelPlan& plan) {
  const auto uses = uses_of(work, nullptr);
  if (!plan.split || !plan.sharded()) return needs_of(uses, plan.devices());
  MemoryNeeds needs;
  for (size_t i = 0; i < plan.participants.size(); ++i) {
    if (plan.reaches[i].count == 0) continue;
    const uint32_t backend = plan.participants[i];
    for (const BufferUse& use : uses) {
      const auto shard =
          std::find_if(plan.shards[i].begin(), plan.shards[i].end(),
                       [&](const BufferShard& one) { return one.buffer == use.buffer; });
      const bool part = shard != plan.shards[i].end();
      needs.push_back({use.buffer, backend, part ? shard->range : use.memory(), part});
    }
  }
  return needs;
}

void note_used(std::span<const BufferUse> uses, uint32_t backend) {
  for (const BufferUse& use : uses) {
    if (!use.needed && !use.changes) continue;
    use.buffer->note_use(use.buffer->place_on(backend), use.begin, use.end);
  }
}

void note_changes(std::span<const BufferUse> uses, uint32_t backend) {
  for (const BufferUse& use : uses) {
    if (use.changes) use.buffer->set_exclusive(use.buffer->place_on(backend), use.begin, use.end);
  }
}

HostUse host_use_of(const Work& work) {
  const auto range = [](const void* memory, uint64_t offset, uint64_t size, bool writes) {
    const auto begin = reinterpret_cast<uintptr_t>(memory) + offset;
    return HostUse{begin, begin + size, writes};
  };
  if (const auto* read = std::get_if<ReadWork>(&work)) return range(read->to, 0, read->size, true);
  if (const auto* write = std::get_if<WriteWork>(&work)) {
    return range(write->from, 0, write->size, false);
  }
  if (const auto* rect = std::get_if<RectWork>(&work)) {
    const auto [begin, end] = rect_span(rect->host_rect, rect->region);
    return range(rect->host, begin, end - begin, !rect->write);
  }
  // What the application does with a mapped pointer, or in its own function, nobody knows.
  if (std::holds_alternative<MapWork>(work) || std::holds_alternative<MapSharedWork>(work) ||
      std::holds_alternative<HostWork>(work)) {
    return {0, UINTPTR_MAX, true};
  }
  return {};
}

}  // namespace tutti::scheduler
