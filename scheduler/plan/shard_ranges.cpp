// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/shard_ranges.h"

#include <algorithm>

#include "scheduler/access/shard_argument.h"

namespace tutti::scheduler {
namespace {

ByteRange hull(const ByteRange& a, const ByteRange& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

}  // namespace

BufferRanges divisible_buffers(const KernelWork& work, std::span<const MergeRegion> merged,
                               uint64_t unit) {
  BufferRanges result;
  // Where a buffer lies is told to nobody who could compare it with another place.
  if (work.kernel->summary().uses_addresses) return result;
  const uint32_t shifted = work.kernel->shard_arguments();
  std::vector<LogicalBuffer*> whole;
  for (size_t i = 0; i < work.arguments->size(); ++i) {
    const ArgumentSlot& slot = (*work.arguments)[i];
    LogicalBuffer* const buffer = slot.view.buffer.get();
    if (!buffer) continue;
    const bool may = slot.kind == ArgumentSlot::Kind::kBuffer && !slot.image && !buffer->image() &&
                     buffer->home() == kNoBackend && buffer->size() > unit &&
                     i < ShardArgument::kArguments && (shifted >> i & 1) != 0;
    if (may) {
      result.try_emplace(buffer);
    } else {
      whole.push_back(buffer);
    }
  }
  for (const MergeRegion& region : merged) {
    whole.push_back((*work.arguments)[region.arguments.front()].view.buffer.get());
  }
  for (LogicalBuffer* buffer : whole) result.erase(buffer);
  return result;
}

BufferRanges touched_ranges(const KernelWork& work, const KernelPlan& plan,
                            const BufferRanges& divisible, const SliceRange& slices,
                            uint64_t unit) {
  BufferRanges result = divisible;
  if (slices.count == 0) return result;
  for (const ArgumentUse& use :
       plan.access->package(plan.access->verdict().dimension, slices.first, slices.count)) {
    const BufferView& view = (*work.arguments)[use.argument].view;
    const auto found = result.find(view.buffer.get());
    if (found == result.end()) continue;
    for (const ByteRange& range : {use.read.range, use.write.range}) {
      if (range.empty()) continue;
      found->second = hull(found->second, {range.begin + view.origin, range.end + view.origin});
    }
  }
  for (const Panels::Argument& panel : plan.panels.arguments) {
    const auto found = result.find((*work.arguments)[panel.argument].view.buffer.get());
    if (found == result.end()) continue;
    // From the begin of what the device has of the buffer on.
    const auto shape = plan.largest_panel(panel, slices.count);
    const uint64_t size = found->first->size();
    found->second = {0, shape ? plan.panels.copies * shape->bytes() : size};
  }
  for (auto& [buffer, range] : result) {
    if (range.empty()) range = {0, 1};
    const uint64_t end = (range.end + unit - 1) / unit * unit;
    range = {range.begin / unit * unit, std::min(end, buffer->size())};
  }
  return result;
}

ByteRange stretched(const ByteRange& range, uint64_t bytes, uint64_t unit, uint64_t size) {
  if (range.size() >= bytes) return range;
  const uint64_t end = std::min(size, range.begin + bytes);
  const uint64_t begin = (end - std::min(end, bytes) + unit - 1) / unit * unit;
  return {std::min(range.begin, begin), end};
}

SliceRange extended(const SliceRange& share, uint64_t by, uint64_t slices) {
  if (share.count == 0) return share;
  const uint64_t first = share.first - std::min(share.first, by);
  return {first, std::min(slices, share.end() + by) - first};
}

SliceRange window_around(const SliceRange& package, uint64_t most, bool downwards,
                         uint64_t slices) {
  const uint64_t count = std::max(package.count, std::min(most, slices));
  if (downwards)
    return {package.end() - std::min(package.end(), count), std::min(package.end(), count)};
  return {package.first, std::min(count, slices - package.first)};
}

}  // namespace tutti::scheduler
