// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/shard_choice.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "scheduler/access/shard_argument.h"

namespace tutti::scheduler {
namespace {

// Beyond its share a participant can compute such a part of that on either side, so that boundaries
// may move a little, and others help, without new memory.
constexpr uint64_t kReachPart = 16;
// What another one has no memory for is worth helping with from this part of a window on.
constexpr uint64_t kLeastHelpPart = 4;
// Shares that do not fit become smaller so often at most.
constexpr int kMostShrinks = 64;
// Panels along another dimension take such a part of the memory at most: the larger windows are,
// the more seldom they come.
constexpr uint64_t kPanelPart = 4;
// So many of each, so that one comes while the other one is computed with.
constexpr uint64_t kPanelCopies = 2;
// Windows of as many slices may touch so many units more of a buffer elsewhere in it.
constexpr uint64_t kMoreUnits = 2;

uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

}  // namespace

ShardChoice::ShardChoice(BackendSet& backends, const KernelWork& work, KernelPlan& plan,
                         uint64_t unit, BufferRanges divisible, std::vector<char> sharded)
    : backends_(backends),
      work_(work),
      plan_(plan),
      unit_(unit),
      divisible_(std::move(divisible)),
      sharded_(std::move(sharded)),
      slices_(plan.shape.groups(plan.access->verdict().dimension)) {
  for (const ArgumentSlot& slot : *work.arguments) {
    LogicalBuffer* const buffer = slot.view.buffer.get();
    if (buffer && !divisible_.contains(buffer)) undivided_ += buffer->size();
  }
  // A copy for each region at most (scheduler/run/merge.h).
  for (const MergeRegion& region : plan.access->regions()) {
    if (region.mode == MergeMode::kDiff && plan.participants.size() == 1) continue;
    undivided_ += (*work.arguments)[region.arguments.front()].view.size;
  }
}

std::vector<SliceRange> ShardChoice::share_ranges() const {
  std::vector<SliceRange> result;
  uint64_t first = 0;
  for (const uint64_t share : plan_.shares) {
    result.push_back({first, share});
    first += share;
  }
  return result;
}

bool ShardChoice::fits(size_t participant, const BufferRanges& ranges, uint64_t more) const {
  const uint32_t backend = plan_.participants[participant];
  uint64_t bytes = undivided_, largest = 0;
  for (const auto& [buffer, range] : ranges) {
    const uint64_t size = std::min(buffer->size(), range.size() + more);
    bytes += size;
    largest = std::max(largest, size);
  }
  return bytes <= backends_.memory(backend).for_buffers() &&
         largest <= backends_.traits(backend).max_allocation;
}

uint64_t ShardChoice::most_that_fit(size_t participant, const SliceRange& slices, uint64_t most,
                                    bool downwards, uint64_t more) const {
  return most_of(slices, most, downwards, [&](const SliceRange& some) {
    return plan_.panels_for(some.count) && fits(participant, touched(some), more);
  });
}

bool ShardChoice::shrink_shares() {
  for (int round = 0;; ++round) {
    const auto ranges = share_ranges();
    std::vector<char> full(plan_.shares.size());
    for (size_t i = 0; i < ranges.size(); ++i) {
      full[i] = sharded_[i] && !fits(i, touched(ranges[i]));
    }
    if (std::none_of(full.begin(), full.end(), [](char one) { return one != 0; })) return true;
    if (round == kMostShrinks) return false;
    for (size_t i = 0; i < full.size(); ++i) {
      if (!full[i]) continue;
      // To who has all first: that has no end.
      size_t to = full.size();
      for (size_t k = 0; k < full.size(); ++k) {
        if (full[k] || (to < full.size() && sharded_[k] >= sharded_[to])) continue;
        to = k;
      }
      if (to == full.size()) return false;
      if (plan_.shares[i] == 0) return false;  // what is not divided is too much for it
      // As many as there is memory for, where its share begins now.
      const uint64_t most = most_that_fit(i, ranges[i], plan_.shares[i] - 1, false, 0);
      plan_.shares[to] += plan_.shares[i] - most;
      plan_.shares[i] = most;
    }
  }
}

void ShardChoice::set_shards(size_t participant, const BufferRanges& ranges) {
  for (const auto& [buffer, range] : ranges) plan_.shards[participant].push_back({buffer, range});
}

void ShardChoice::set_reaches() {
  const auto ranges = share_ranges();
  plan_.reaches.assign(ranges.size(), {0, slices_});
  plan_.shards.assign(ranges.size(), {});
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!sharded_[i]) continue;
    const uint32_t backend = plan_.participants[i];
    const auto there = [&](const BufferRanges& touched) {
      return std::all_of(touched.begin(), touched.end(), [&](const auto& one) {
        return one.first->has_memory(backend) &&
               one.first->has_room_for(backend, one.second.begin, one.second.end);
      });
    };
    const uint64_t most = std::max<uint64_t>(1, ranges[i].count / kReachPart);
    BufferRanges needed;
    bool found = false;
    // What is there already, as far as that reaches; else more than the share, if it fits.
    for (const bool memory : {true, false}) {
      for (const uint64_t by : {most, most / 2, most / 4, uint64_t{0}}) {
        if (found) break;
        plan_.reaches[i] = extended(ranges[i], by, slices_);
        needed = touched(plan_.reaches[i]);
        found = memory ? there(needed) : fits(i, needed);
      }
    }
    if (ranges[i].count > 0) set_shards(i, needed);
  }
}

bool ShardChoice::ended_there(size_t participant, const SliceRange& share) const {
  const uint32_t backend = plan_.participants[participant];
  const auto there = [&](uint64_t slice) {
    const auto ranges = touched({slice, 1});
    return std::all_of(ranges.begin(), ranges.end(), [&](const auto& one) {
      const ByteRange memory = one.first->shard_range(backend);
      return memory.begin <= one.second.begin && one.second.end <= memory.end;
    });
  };
  return there(share.end() - 1) && !there(share.first);
}

bool ShardChoice::stream(uint64_t part) {
  const size_t count = plan_.participants.size();
  // Who can take part at all, and who gets the shares of those that cannot.
  std::vector<char> able(count);
  size_t heir = count;
  auto ranges = share_ranges();
  for (size_t i = 0; i < count; ++i) {
    const SliceRange one{std::min(ranges[i].first, slices_ - 1), 1};
    able[i] = !sharded_[i] || most_that_fit(i, one, 1, false, kMoreUnits * unit_) > 0;
    if (able[i] && (heir == count || plan_.costs[i].rate > plan_.costs[heir].rate)) heir = i;
  }
  if (heir == count) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!able[i]) plan_.shares[heir] += std::exchange(plan_.shares[i], 0);
  }
  ranges = share_ranges();
  plan_.reaches.assign(count, {0, slices_});
  plan_.shards.assign(count, {});
  plan_.windows.assign(count, 0);
  plan_.downwards.assign(count, 0);
  uint64_t smallest = slices_;
  for (size_t i = 0; i < count; ++i) {
    if (!sharded_[i]) continue;
    if (ranges[i].count == 0) {
      plan_.reaches[i] = {};
      continue;
    }
    set_window(i, ranges[i], part);
    smallest = std::min(smallest, plan_.windows[i]);
  }
  // For less nobody moves its memory.
  plan_.least_help = std::max(plan_.least_help, smallest / kLeastHelpPart);
  return true;
}

Panels ShardChoice::possible_panels() const {
  if (!plan_.access->regions().empty()) return {};
  const uint32_t may = work_.kernel->panel_arguments();
  const LaunchAccess& access = *plan_.access;
  const uint32_t along = access.verdict().dimension;
  std::vector<uint32_t> wide;
  for (const ArgumentUse& use : access.package(along, slices_ / 2, 1)) {
    const BufferView& view = (*work_.arguments)[use.argument].view;
    const auto shown =
        std::count_if(work_.arguments->begin(), work_.arguments->end(),
                      [&](const auto& slot) { return slot.view.buffer == view.buffer; });
    const bool takes = use.argument < ShardArgument::kArguments && (may >> use.argument & 1) != 0;
    if (takes && divisible_.contains(view.buffer.get()) && shown == 1 &&
        use.read.range.size() > view.size / 2) {
      wide.push_back(use.argument);
    }
  }
  for (const uint32_t d : {along, uint32_t{0}, uint32_t{1}, uint32_t{2}}) {
    const uint64_t last = plan_.shape.last_offset(d);
    bool possible = plan_.shape.groups(d) > 1;
    for (size_t i = 0; i < sharded_.size(); ++i) {
      possible &= !sharded_[i] || last <= backends_.traits(plan_.participants[i]).max_offset;
    }
    if (!possible) continue;
    Panels panels;
    panels.dimension = d;
    for (const uint32_t argument : wide) {
      const uint64_t size = (*work_.arguments)[argument].view.size;
      const StridedAccesses columns = access.columns(argument, d);
      if (panel_of(columns, 0, 1, size)) panels.arguments.push_back({argument, columns, size});
    }
    if (!panels.empty()) return panels;
  }
  return {};
}

bool ShardChoice::stream_with_panels(uint64_t part) {
  Panels panels = possible_panels();
  if (panels.empty()) return false;
  uint64_t memory = UINT64_MAX;
  for (size_t i = 0; i < sharded_.size(); ++i) {
    if (!sharded_[i]) continue;
    const uint32_t backend = plan_.participants[i];
    if (!work_.kernel->vendor_kernel(backend, KernelVariant::kPanels)) return false;
    memory = std::min(memory, backends_.memory(backend).for_buffers());
  }
  plan_.panels = panels;
  const bool by_blocks = !plan_.panels_move_with_slices();
  const auto shares = plan_.shares;
  for (panels.copies = by_blocks ? kPanelCopies : 1; panels.copies > 0; --panels.copies) {
    panels.block = by_blocks ? largest_block(panels, memory / kPanelPart) : 1;
    if (panels.copies == 1) panels.block = std::max<uint64_t>(1, panels.block);
    for (; panels.block > 0; panels.block /= 2) {
      plan_.panels = panels;
      if (stream(part)) {
        log(LogLevel::kDebug, "{}: columns of {} arguments in panels of {} work-groups, {} of each",
            kernel_name(work_), panels.arguments.size(), panels.block, panels.copies);
        return true;
      }
      plan_.shares = shares;
    }
  }
  plan_.panels = {};
  return false;
}

uint64_t ShardChoice::largest_block(const Panels& panels, uint64_t memory) const {
  const uint64_t groups = plan_.shape.groups(panels.dimension);
  const auto fits_in = [&](const SliceRange& block) {
    uint64_t bytes = 0;
    for (const Panels::Argument& one : panels.arguments) {
      const auto shape = panel_of(one.columns, 0, block.count, one.size, panels.copies);
      bytes += shape ? panels.copies * shape->bytes() : memory + 1;
    }
    return bytes <= memory;
  };
  return most_of({0, groups}, groups, false, fits_in);
}

void ShardChoice::set_window(size_t participant, const SliceRange& share, uint64_t part) {
  // Where the launch before has ended, what it has used is there.
  const bool downwards = ended_there(participant, share);
  plan_.downwards[participant] = downwards ? 1 : 0;
  // Shares change a little from launch to launch, and their memory shall not.
  const uint64_t most = divide_up(share.count, part);
  const SliceRange more = extended(share, most / kReachPart, slices_);
  const SliceRange from = downwards ? SliceRange{more.first, share.end() - more.first}
                                    : SliceRange{share.first, more.end() - share.first};
  const uint64_t fit = std::max<uint64_t>(
      1, most_that_fit(participant, from, std::min(from.count, most + most / kReachPart), downwards,
                       kMoreUnits * unit_));
  // As few windows as possible, all alike: what the last one leaves there the next launch begins
  // with.
  const uint64_t window = divide_up(share.count, divide_up(share.count, std::min(fit, most)));
  plan_.windows[participant] = window;
  const SliceRange first{downwards ? share.end() - 1 : share.first, 1};
  const auto least = touched(window_around(first, window, downwards, slices_));
  auto needed = touched(window_around(first, fit, downwards, slices_));
  // As much as windows elsewhere may need. What is so large moves to where it is needed.
  for (auto& [buffer, range] : needed) {
    range = stretched(range, range.size() + kMoreUnits * unit_, unit_, buffer->size());
  }
  auto kept = needed;
  for (auto& [buffer, range] : kept) {
    const ByteRange there = buffer->shard_range(plan_.participants[participant]);
    const bool enough = there.size() >= std::min(buffer->size(), least.at(buffer).size() + unit_);
    if (enough && there.size() <= range.size() + range.size() / kReachPart + unit_) range = there;
  }
  set_shards(participant, fits(participant, kept) ? kept : needed);
}

std::vector<double> ShardChoice::streamed_rates(const LaunchCosts& costs) const {
  const double items = static_cast<double>(plan_.shape.items()) / static_cast<double>(slices_);
  const auto ranges = share_ranges();
  std::vector<double> rates;
  for (size_t i = 0; i < ranges.size(); ++i) {
    rates.push_back(plan_.costs[i].rate);
    if (!sharded_[i]) continue;
    const SliceRange some = ranges[i].count > 0 ? ranges[i] : SliceRange{0, slices_};
    uint64_t bytes = 0;
    for (const ArgumentUse& use :
         plan_.access->package(plan_.access->verdict().dimension, some.first, some.count)) {
      if (use.merge != MergeMode::kDisjoint) continue;  // in copies that stay
      bytes += use.read.range.size() + use.write.range.size() * (use.overwrites ? 1 : 2);
    }
    const double moved = static_cast<double>(bytes) / costs.link_rate(plan_.participants[i]);
    rates.back() = std::min(rates.back(), items * static_cast<double>(some.count) / moved);
  }
  return rates;
}

}  // namespace tutti::scheduler
