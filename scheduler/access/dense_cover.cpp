// SPDX-License-Identifier: Apache-2.0
#include "scheduler/access/dense_cover.h"

#include <algorithm>
#include <array>

namespace tutti::scheduler {

using affine::Form;
using affine::Interval;
using affine::magnitude;
using affine::SymbolId;
using affine::Term;
using affine::Wide;

namespace {

constexpr size_t kMaxSteps = 16;  // pieces that are put together at most

}  // namespace

bool DenseCover::sides_of(const AccessDomain& domain, const AccessUse& use,
                          const KernelSummary& summary, std::vector<Side>& sides,
                          Wide& constant) const {
  // The box: every combination of these values executes the store. It starts as all work-items and
  // iterations, is cut by guards over one symbol each, and every other guard must hold in all of
  // it.
  if (!use.access->guards_exact || !domain.guards_exact() || !use.bounded) return false;
  const size_t plain = kIdSymbols + domain.loop_count();
  if (domain.loop_count() != use.access->loops.size()) return false;
  std::array<Interval, kMaxSymbols> box;
  std::array<bool, kMaxSymbols> cut{};
  for (uint32_t d = 0; d < 3; ++d) {
    const DimensionShape& s = domain.shape(d);
    box[gid_symbol(d)] = {s.offset, s.offset + s.local * s.groups - 1};
    box[lid_symbol(d)] = {0, s.local - 1};
    box[group_symbol(d)] = {0, s.groups - 1};
  }
  for (size_t i = 0; i < domain.loop_count(); ++i) {
    if (!summary.loops[use.access->loops[i]].exact || !domain.loop_last(i).is_constant())
      return false;
    box[kIdSymbols + i] = {0, domain.loop_last(i).constant()};
  }
  for (const Form& clip : domain.clips()) {
    const Term& term = *clip.begin();
    if (term.symbol >= plain) return false;
    Interval& side = box[term.symbol];
    const Interval before = side;
    if (term.factor > 0) {
      side.lo = std::max(side.lo, affine::ceil_divide(-Wide{clip.constant()}, term.factor));
    } else {
      side.hi = std::min(side.hi, affine::floor_divide(clip.constant(), -Wide{term.factor}));
    }
    cut[term.symbol] = cut[term.symbol] || side != before;
    if (side.empty()) return false;
  }
  for (const Fact& fact : domain.facts()) {
    if (fact.origin != FactOrigin::kGuard) continue;
    Wide least = fact.form.constant();
    for (const Term& term : fact.form) {
      if (term.symbol >= plain) return false;
      least += scale(box[term.symbol], term.factor).lo;
    }
    if (least < 0) return false;
  }
  Form offset = use.offset;
  for (uint32_t d = 0; d < 3; ++d) {
    // gid does not vary independently of lid and group: only one of the two views per dimension.
    const SymbolId gid = gid_symbol(d);
    const SymbolId lid = lid_symbol(d);
    const SymbolId group = group_symbol(d);
    const bool parts =
        cut[lid] || cut[group] || offset.factor(lid) != 0 || offset.factor(group) != 0;
    if (!parts) continue;
    if (cut[gid]) return false;
    const Wide factor = offset.factor(gid);
    if (factor == 0) continue;
    Form ids(0);
    ids.append(lid, factor);
    if (!ids.append(group, factor * domain.shape(d).local)) return false;
    offset = Form::combine(offset.without(gid), 1, ids.plus(factor * domain.shape(d).offset), 1);
    if (offset.unknown()) return false;
  }
  sides.clear();
  for (const Term& term : offset) {
    if (term.symbol >= plain) return false;
    sides.push_back({term.symbol, term.factor, box[term.symbol]});
  }
  for (size_t i = 0; i < plain; ++i) {
    if (cut[i] && offset.factor(static_cast<SymbolId>(i)) == 0) {
      sides.push_back({static_cast<SymbolId>(i), 0, box[i]});
    }
  }
  std::sort(sides.begin(), sides.end(), [](const Side& a, const Side& b) {
    const Wide x = magnitude(a.stride);
    const Wide y = magnitude(b.stride);
    return x != y ? x < y : a.symbol < b.symbol;
  });
  constant = offset.constant();
  return true;
}

DenseCover::DenseCover(const EvaluatedLaunch& launch) {
  std::vector<Side> sides;
  for (const AccessUse& use : launch.uses) {
    const AccessDomain& domain = launch.domains[use.domain];
    for (uint32_t d = 0; d < 3; ++d) shape_[d] = domain.shape(d);
    if (use.access->kind != AccessKind::kStore || use.access->size == 0) continue;
    Wide constant = 0;
    if (!sides_of(domain, use, *launch.summary, sides, constant)) continue;
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) {
      return g.window == use.window && g.sides == sides;
    });
    if (group == groups_.end()) group = groups_.insert(groups_.end(), {use.window, sides, {}});
    group->runs.push_back({constant, use.access->size});
  }
  for (Group& group : groups_) {
    std::sort(group.runs.begin(), group.runs.end(),
              [](const Run& a, const Run& b) { return a.begin < b.begin; });
    std::vector<Run> merged;
    for (const Run& run : group.runs) {
      if (!merged.empty() && run.begin <= merged.back().begin + merged.back().size) {
        Run& last = merged.back();
        last.size = std::max(last.size, run.begin + run.size - last.begin);
      } else {
        merged.push_back(run);
      }
    }
    group.runs = std::move(merged);
  }
}

bool DenseCover::extent(const Group& group, const Run& run, uint32_t dimension, uint64_t first,
                        uint64_t count, Run& out) const {
  out = run;
  const DimensionShape& shape = shape_[dimension];
  const Wide begin = first;
  const Wide end = begin + count;
  for (const Side& side : group.sides) {
    Interval box = side.box;
    if (side.symbol == gid_symbol(dimension)) {
      box = intersect(box,
                      {shape.offset + shape.local * begin, shape.offset + shape.local * end - 1});
    } else if (side.symbol == group_symbol(dimension)) {
      box = intersect(box, {begin, end - 1});
    }
    if (box.empty()) return false;
    const Wide stride = magnitude(side.stride);
    if (stride == 0) continue;
    out.begin += side.stride > 0 ? stride * box.lo : -stride * box.hi;
    if (box.lo == box.hi) continue;
    // Copies of a gapless block at a stride no longer than the block are a gapless block.
    if (stride > out.size) return false;
    out.size += stride * (box.hi - box.lo);
  }
  return true;
}

bool DenseCover::covers(uint32_t window, uint32_t dimension, uint64_t first, uint64_t count,
                        Wide begin, Wide end) const {
  Wide covered = begin;
  for (size_t step = 0; step < kMaxSteps && covered < end; ++step) {
    const Wide before = covered;
    for (const Group& group : groups_) {
      if (group.window != window) continue;
      for (const Run& run : group.runs) {
        Run piece;
        if (!extent(group, run, dimension, first, count, piece)) continue;
        if (piece.begin <= covered) covered = std::max(covered, piece.begin + piece.size);
      }
    }
    if (covered == before) return false;
  }
  return covered >= end;
}

}  // namespace tutti::scheduler
