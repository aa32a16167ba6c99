// SPDX-License-Identifier: Apache-2.0
#include "scheduler/access/access_eval.h"

#include <algorithm>
#include <array>
#include <optional>

#include "scheduler/access/access_use.h"
#include "scheduler/access/dense_cover.h"
#include "scheduler/access/domain_builder.h"
#include "scheduler/access/split_rule.h"
#include "scheduler/access/strided_accesses.h"

namespace tutti::scheduler {

using affine::Band;
using affine::Interval;
using affine::Wide;

namespace {

// With fewer slices than this a dimension gives too little room for balancing: packages of 5 % of
// the run (algorithms.md, p) need 20 of them, and some more for the end.
constexpr uint64_t kEnoughSlices = 32;
// With fewer than this, strips along another dimension are worth their scattered transfers.
constexpr uint64_t kFewSlices = 4;
constexpr Wide kMaxOffset = Wide{1} << 62;
constexpr uint64_t kMaxSize = uint64_t{1} << 62;

/// Why accesses of such launches are not known; null: they may be.
const char* not_understood(const LaunchShape& shape) {
  for (size_t d = 0; d < 3; ++d) {
    if (shape.local[d] == 0 || shape.global[d] == 0 || shape.offset[d] > kMaxSize ||
        shape.global[d] > kMaxSize) {
      return "the launch's size is out of range";
    }
  }
  return shape.smaller_groups() ? "its last work-groups are smaller than the others" : nullptr;
}

bool bounded(const Interval& interval) {
  return interval.lo >= -kMaxOffset && interval.hi <= kMaxOffset;
}

/// Keeps only the alternatives that tell more than the form itself, somewhere.
void keep_useful(const AccessDomain& domain, const AccessDomain::Values (&slices)[3],
                 const bool (&sliced)[3], AccessUse& use) {
  if (use.alternates.empty()) return;
  const AccessDomain::Values* points[4] = {&domain.launch_values()};
  size_t count = 1;
  for (uint32_t d = 0; d < 3; ++d) {
    if (sliced[d]) points[count++] = &slices[d];
  }
  Band plain[4];
  for (size_t i = 0; i < count; ++i) plain[i] = domain.band(*points[i], use.offset);
  std::erase_if(use.alternates, [&](const Alternate& alternate) {
    for (size_t i = 0; i < count; ++i) {
      Band refined = plain[i];
      domain.tighten(*points[i], alternate, refined);
      if (refined.rest != plain[i].rest) return false;
    }
    return true;
  });
}

ByteRange clip(const Interval& bytes, const Window& window) {
  const Wide begin = std::max(bytes.lo, Wide{0});
  const Wide end = std::min(bytes.hi, Wide{window.size});
  if (begin >= end) return {};
  // What is touched is whole units, so bounds within one stand for its neighbour's edge.
  const Wide unit = window.unit;
  const ByteRange range{static_cast<uint64_t>(affine::ceil_divide(begin, unit) * unit),
                        static_cast<uint64_t>(affine::floor_divide(end, unit) * unit)};
  return range.empty() ? ByteRange{} : range;
}

void extend(ByteRange& range, const ByteRange& other) {
  if (other.empty()) return;
  range = range.empty()
              ? other
              : ByteRange{std::min(range.begin, other.begin), std::max(range.end, other.end)};
}

uint64_t read_bytes(const std::vector<ArgumentUse>& uses) {
  uint64_t total = 0;
  for (const ArgumentUse& use : uses) total += use.bytes_read();
  return total;
}

/// What a package loads of a window.
struct Load {
  uint32_t window = 0;
  ByteRange range;
};

/// Sets `unread` by what is loaded of each window: the largest gap.
void find_unread(std::vector<Load>& loads, std::vector<ArgumentUse>& uses) {
  std::sort(loads.begin(), loads.end(), [](const Load& a, const Load& b) {
    return a.window != b.window ? a.window < b.window : a.range.begin < b.range.begin;
  });
  uint64_t end = 0;
  for (size_t i = 0; i < loads.size(); ++i) {
    const auto& [window, range] = loads[i];
    ArgumentUse& use = uses[window];
    if (i == 0 || loads[i - 1].window != window) end = range.end;
    if (range.begin > end && range.begin - end > use.unread.size()) {
      use.unread = {end, range.begin};
    }
    end = std::max(end, range.end);
  }
}

}  // namespace

struct LaunchAccess::Impl {
  EvaluatedLaunch launch;
  std::optional<DenseCover> cover;
  uint32_t split_dimension = 0;                // of the verdict, to which the rest refers
  std::vector<StridedAccesses> strided;        // writes by window; empty: none is
  std::vector<StridedAccesses> strided_loads;  // by window, where the launch may be split
  std::vector<MergeRegion> regions;

  void add_accesses(const LaunchShape& shape, std::span<const ArgumentValue> arguments);
  std::vector<ArgumentUse> package(uint32_t dimension, uint64_t first, uint64_t count,
                                   const ContentValues* content = nullptr) const;
  /// The uses of the accesses that load the numbers which bound the use; null: there is none.
  std::array<const AccessUse*, 2> loads_of_bounds(const AccessUse& use) const;
  /// Whether nothing that the launch writes lies in the window's buffer.
  bool left_alone(uint32_t window) const;
  /// What those numbers say of the bytes that the use touches in these slices.
  ByteRange within_content(const AccessUse& use, uint32_t dimension, uint64_t first, uint64_t count,
                           const ContentValues& content) const;
  /// The bytes that a use touches in slices [slices.lo, slices.hi] along `dimension`, where symbols
  /// have these values.
  ByteRange touched(const AccessUse& use, const AccessDomain::Values& values, uint32_t dimension,
                    const Interval& slices) const;
  /// The same in two parts, where an index that wraps around does so in these slices. Else the
  /// second one is empty.
  std::array<ByteRange, 2> touched_in_parts(const AccessUse& use,
                                            const AccessDomain::Values& values, uint32_t dimension,
                                            const Interval& slices) const;
  /// What the verdict knows beyond bounding ranges.
  void apply_verdict(uint64_t first, uint64_t count, std::vector<ArgumentUse>& uses) const;
};

const char* merge_mode_name(MergeMode mode) {
  switch (mode) {
    case MergeMode::kDisjoint:
      return "disjoint";
    case MergeMode::kAtomic:
      return "atomic";
    case MergeMode::kDiff:
      return "diff";
    case MergeMode::kWhole:
      break;
  }
  return "whole";
}

void LaunchAccess::Impl::add_accesses(const LaunchShape& shape,
                                      std::span<const ArgumentValue> arguments) {
  const KernelSummary& summary = *launch.summary;
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> window_of(summary.arguments.size(), kNone);
  std::vector<uint32_t> taken(summary.accesses.size(), kNone);  // access → domain
  // One domain for all accesses with the same guards and loops; they need not be neighbours.
  std::vector<uint32_t> leaders;
  launch.uses.reserve(summary.accesses.size());
  for (uint32_t i = 0; i < summary.accesses.size(); ++i) {
    const Access& access = summary.accesses[i];
    if (access.argument >= summary.arguments.size() || access.argument >= arguments.size())
      continue;
    const ArgumentValue& value = arguments[access.argument];
    if (value.buffer == 0) continue;  // local memory, or a null pointer, which nothing may follow
    uint32_t& window = window_of[access.argument];
    if (window == kNone) window = 0;  // numbered below, ascending by argument
    uint32_t domain = 0;
    for (; domain < leaders.size(); ++domain) {
      const Access& leader = summary.accesses[leaders[domain]];
      if (leader.guards == access.guards && leader.loops == access.loops) break;
    }
    if (domain == leaders.size()) leaders.push_back(i);
    taken[i] = domain;
  }
  for (uint32_t argument = 0; argument < window_of.size(); ++argument) {
    if (window_of[argument] == kNone) continue;
    window_of[argument] = static_cast<uint32_t>(launch.windows.size());
    const ArgumentValue& value = arguments[argument];
    launch.windows.push_back(
        {argument, value.buffer, value.origin, value.size, std::max<uint64_t>(value.unit, 1)});
  }
  DomainBuilder builder(summary, shape, arguments);
  launch.domains.resize(leaders.size());
  for (uint32_t domain = 0; domain < leaders.size(); ++domain) {
    const Access& leader = summary.accesses[leaders[domain]];
    builder.begin(launch.domains[domain], leader.guards, leader.loops);
    if (launch.domains[domain].dead()) continue;
    const size_t begin = launch.uses.size();
    for (uint32_t i = leaders[domain]; i < summary.accesses.size(); ++i) {
      if (taken[i] != domain) continue;
      AccessUse use;
      use.access = &summary.accesses[i];
      use.domain = domain;
      use.window = window_of[use.access->argument];
      use.offset = builder.offset(use.access->offset);
      launch.uses.push_back(std::move(use));
    }
    const AccessDomain& made = launch.domains[domain];
    if (made.dead()) {
      launch.uses.resize(begin);
      continue;
    }
    AccessDomain::Values slices[3];
    bool sliced[3] = {false, false, false};
    for (uint32_t d = 0; d < 3; ++d) {
      sliced[d] = shape.groups(d) >= 2;
      if (sliced[d]) made.slice_values(d, slices[d]);
    }
    for (size_t i = begin; i < launch.uses.size(); ++i) {
      AccessUse& use = launch.uses[i];
      made.alternates(use.offset, use.alternates);
      keep_useful(made, slices, sliced, use);
      use.launch = made.band(made.launch_values(), use.offset, use.alternates).rest;
      use.bounded = !use.offset.unknown() && bounded(use.launch) && use.access->size != 0;
      use.data = use.offset.unknown() ||
                 std::any_of(use.offset.begin(), use.offset.end(), [&](const affine::Term& term) {
                   return made.symbols()[term.symbol].data;
                 });
      for (uint32_t d = 0; d < 3; ++d) {
        use.slices[d] = made.launch_values().of[group_symbol(d)].rest;
        if (!sliced[d]) continue;
        use.slice[d] = made.band(slices[d], use.offset, use.alternates);
        if (!bounded(use.slice[d].rest)) use.slice[d] = {};
      }
    }
  }
}

LaunchAccess LaunchAccess::evaluate(const KernelSummary& summary, const LaunchShape& shape,
                                    std::span<const ArgumentValue> arguments,
                                    const SplitPolicy& policy) {
  LaunchAccess result;
  auto impl = std::make_shared<Impl>();
  impl->launch.summary = &summary;
  impl->launch.shape = shape;
  if (const char* reason = not_understood(shape)) {
    result.verdict_.reason = reason;
    for (uint32_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].buffer == 0) continue;
      const ByteRange all{0, arguments[i].size};
      result.whole_.push_back({.argument = i, .read = {.range = all}, .write = {.range = all}});
    }
    return result;
  }
  impl->add_accesses(shape, arguments);
  const EvaluatedLaunch& launch = impl->launch;
  impl->cover.emplace(launch);
  result.whole_ = impl->package(0, 0, shape.groups(0));
  const bool complete =
      std::all_of(summary.accesses.begin(), summary.accesses.end(), [&](const Access& access) {
        return access.argument < summary.arguments.size() && access.argument < arguments.size();
      });
  // A pointer into shared memory, from which the kernel may go back.
  const bool goes_back =
      std::any_of(launch.uses.begin(), launch.uses.end(), [&](const AccessUse& use) {
        return arguments[use.access->argument].before != 0 && (!use.bounded || use.launch.lo < 0);
      });
  result.exact_ = complete && summary.whole_reason.empty() && !goes_back;
  result.by_groups_ = std::any_of(summary.exprs.begin(), summary.exprs.end(), [](const Expr& expr) {
    return expr.kind == ExprKind::kLocalId || expr.kind == ExprKind::kGroupId ||
           expr.kind == ExprKind::kLocalSize || expr.kind == ExprKind::kNumGroups;
  });
  SplitAnswer answer = may_split_at_all(launch);
  if (!complete) answer = whole_because("the kernel's arguments do not fit its summary", 0);
  if (goes_back) answer = whole_because("it may go back from a pointer into shared memory", 0);
  if (answer.split()) {
    // The cheapest way to merge; then the dimension whose packages read the least twice (halo rows,
    // or a whole matrix); among equals the one with more slices. Only if none has enough slices,
    // those with fewer are considered.
    struct Candidate {
      uint32_t dimension = 0;
      MergeMode mode = MergeMode::kDisjoint;
      bool alone = false;
      bool strided = false;
      bool enough = false;
      uint64_t slices = 0;
      uint64_t twice = 0;
    };
    std::optional<Candidate> best;
    SplitAnswer refusal;
    const auto bytes_read_in_halves = [&](const Candidate& c) {
      return read_bytes(impl->package(c.dimension, 0, c.slices / 2)) +
             read_bytes(impl->package(c.dimension, c.slices / 2, c.slices - c.slices / 2));
    };
    for (uint32_t i = 0; i < 3; ++i) {
      const uint32_t d =
          2 - i;  // outermost first: its slices are contiguous, and its reasons plain
      const uint64_t slices = shape.groups(d);
      if (slices < 2) continue;
      SplitAnswer along = may_split_along(launch, d, policy);
      if (!along.split()) {
        if (refusal.reason.empty()) refusal = std::move(along);
        continue;
      }
      Candidate candidate{
          d, along.mode, along.alone, !along.strided.empty(), slices >= kEnoughSlices, slices, 0};
      if (best) {
        if (candidate.mode != best->mode) {
          if (candidate.mode > best->mode) continue;
        } else if (candidate.alone != best->alone) {
          if (candidate.alone) continue;
        } else if (candidate.strided != best->strided &&
                   (candidate.strided ? *best : candidate).slices >= kFewSlices) {
          if (candidate.strided) continue;
        } else if (candidate.enough != best->enough) {
          if (best->enough) continue;
        } else {
          best->twice = bytes_read_in_halves(*best);
          candidate.twice = bytes_read_in_halves(candidate);
          if (candidate.twice > best->twice) continue;
          if (candidate.twice == best->twice && slices <= best->slices) continue;
        }
      }
      best = candidate;
      result.verdict_ = {along.mode, d, std::move(along.reason), 0, along.alone};
      impl->split_dimension = d;
      impl->strided = std::move(along.strided);
      impl->regions = std::move(along.regions);
    }
    if (!best) answer = std::move(refusal);
    for (uint32_t i = 0; best && i < launch.windows.size(); ++i) {
      impl->strided_loads.push_back(strided_accesses(launch, i, best->dimension, Accesses::kLoads));
    }
  }
  if (!answer.split()) result.verdict_ = {MergeMode::kWhole, 0, answer.reason, answer.line};
  result.impl_ = std::move(impl);
  return result;
}

std::vector<ArgumentUse> LaunchAccess::package(uint32_t dimension, uint64_t first,
                                               uint64_t count) const {
  if (!impl_ || dimension >= 3) return whole_;
  return impl_->package(dimension, first, count, content_.get());
}

std::vector<uint32_t> LaunchAccess::bounded_by_content() const {
  std::vector<uint32_t> accesses;
  if (!impl_) return accesses;
  const EvaluatedLaunch& launch = impl_->launch;
  for (const AccessUse& use : launch.uses) {
    if (!use.access->content) continue;
    const auto loads = impl_->loads_of_bounds(use);
    const bool known = std::all_of(loads.begin(), loads.end(), [&](const AccessUse* load) {
      return load == nullptr || (load->bounded && impl_->left_alone(load->window));
    });
    if (!known) continue;
    accesses.push_back(static_cast<uint32_t>(use.access - launch.summary->accesses.data()));
  }
  return accesses;
}

StridedAccesses LaunchAccess::columns(uint32_t argument, uint32_t dimension) const {
  if (!impl_) return {};
  const EvaluatedLaunch& launch = impl_->launch;
  for (uint32_t i = 0; i < launch.windows.size(); ++i) {
    if (launch.windows[i].argument != argument) continue;
    return impl_->left_alone(i)
               ? strided_accesses(launch, i, dimension, Accesses::kLoads, affine::kInfinity)
               : StridedAccesses();
  }
  return {};
}

LaunchAccess LaunchAccess::with_content(std::shared_ptr<const ContentValues> content) const {
  LaunchAccess result = *this;
  result.content_ = std::move(content);
  return result;
}

std::span<const MergeRegion> LaunchAccess::regions() const {
  return impl_ ? std::span<const MergeRegion>(impl_->regions) : std::span<const MergeRegion>();
}

void LaunchAccess::Impl::apply_verdict(uint64_t first, uint64_t count,
                                       std::vector<ArgumentUse>& uses) const {
  for (size_t i = 0; i < strided.size(); ++i) {
    if (strided[i].period == 0 || uses[i].write.empty()) continue;
    uses[i].write = strips_of(strided[i], first, count, uses[i].write.range);
  }
  for (size_t i = 0; i < strided_loads.size(); ++i) {
    if (strided_loads[i].period == 0 || uses[i].read.empty()) continue;
    ArgumentUse rows = uses[i];
    rows.unread = {};
    rows.read = strips_of(strided_loads[i], first, count, uses[i].read.range);
    if (rows.bytes_read() < uses[i].bytes_read()) uses[i] = rows;
  }
  for (const MergeRegion& region : regions) {
    for (const uint32_t argument : region.arguments) {
      for (size_t i = 0; i < uses.size(); ++i) {
        if (uses[i].argument != argument) continue;
        const Window& window = launch.windows[i];
        if (uses[i].merge == MergeMode::kDisjoint) uses[i].write = {};
        uses[i].merge = region.mode;
        extend(uses[i].write.range, {std::max(region.range.begin, window.origin) - window.origin,
                                     std::min(region.range.end - window.origin, window.size)});
        if (region.mode == MergeMode::kAtomic) {
          uses[i].read = {};
          uses[i].unread = {};
        }
      }
    }
  }
}

ByteRange LaunchAccess::Impl::touched(const AccessUse& use, const AccessDomain::Values& values,
                                      uint32_t dimension, const Interval& slices) const {
  const Window& window = launch.windows[use.window];
  if (!use.bounded) return {0, window.size};
  Interval offsets = launch.domains[use.domain].band(values, use.offset, use.alternates).rest;
  const Band& slice = use.slice[dimension];
  if (slice.rest.bounded()) {
    // No wider than what the verdict was proven with.
    const Wide low = slice.step * slices.lo;
    const Wide high = slice.step * slices.hi;
    offsets = intersect(offsets,
                        {std::min(low, high) + slice.rest.lo, std::max(low, high) + slice.rest.hi});
  }
  offsets = intersect(offsets, use.launch);
  if (offsets.empty()) return {};
  return clip({offsets.lo, offsets.hi + use.access->size}, window);
}

std::array<ByteRange, 2> LaunchAccess::Impl::touched_in_parts(const AccessUse& use,
                                                              const AccessDomain::Values& values,
                                                              uint32_t dimension,
                                                              const Interval& slices) const {
  const ByteRange all = touched(use, values, dimension, slices);
  std::array<ByteRange, 2> best{all, {}};
  if (!use.bounded) return best;
  const AccessDomain& domain = launch.domains[use.domain];
  uint64_t least = all.size();
  for (const affine::Term& term : use.offset) {
    // x mod c is x - c * floor(x / c): each of two quotients has its own part.
    const Symbol& symbol = domain.symbols()[term.symbol];
    const Band& quotient = values.of[term.symbol];
    if (symbol.kind != SymbolKind::kFloorDiv || symbol.fresh || quotient.step != 0 ||
        !quotient.rest.bounded() || quotient.rest.hi - quotient.rest.lo != 1) {
      continue;
    }
    std::array<ByteRange, 2> parts;
    for (size_t i = 0; i < 2; ++i) {
      AccessDomain::Values fixed = values;
      if (domain.fix(term.symbol, quotient.rest.lo + static_cast<Wide>(i), fixed)) {
        parts[i] = touched(use, fixed, dimension, slices);
      }
    }
    if (parts[0].size() + parts[1].size() >= least) continue;
    least = parts[0].size() + parts[1].size();
    best = parts;
  }
  return best;
}

std::array<const AccessUse*, 2> LaunchAccess::Impl::loads_of_bounds(const AccessUse& use) const {
  std::array<const AccessUse*, 2> loads{};
  for (const AccessUse& other : launch.uses) {
    const auto index = static_cast<uint32_t>(other.access - launch.summary->accesses.data());
    if (index == use.access->content->first) loads[0] = &other;
    if (index == use.access->content->end) loads[1] = &other;
  }
  return loads;
}

bool LaunchAccess::Impl::left_alone(uint32_t window) const {
  return std::none_of(launch.uses.begin(), launch.uses.end(), [&](const AccessUse& use) {
    return use.writes() && launch.windows[use.window].buffer == launch.windows[window].buffer;
  });
}

ByteRange LaunchAccess::Impl::within_content(const AccessUse& use, uint32_t dimension,
                                             uint64_t first, uint64_t count,
                                             const ContentValues& content) const {
  const ContentBounds& bounds = *use.access->content;
  Interval numbers[2];
  const auto loads = loads_of_bounds(use);
  for (size_t i = 0; i < 2; ++i) {
    if (loads[i] == nullptr) return {};  // who loads no bounds does not come here
    const AccessUse& load = *loads[i];
    AccessDomain::Values values;
    const Interval slices =
        intersect(load.slices[dimension], {Wide{first}, Wide{first} + count - 1});
    if (!launch.domains[load.domain].package_values(dimension, first, count, values) ||
        slices.empty()) {
      return {};
    }
    numbers[i] = content.within(launch.windows[load.window].argument, bounds,
                                touched(load, values, dimension, slices));
  }
  const Interval offsets{affine::multiply(bounds.scale, numbers[0].lo) + bounds.added,
                         affine::multiply(bounds.scale, numbers[1].hi - 1) + bounds.added};
  const Window& window = launch.windows[use.window];
  // Only as numbers of 64 bits they are addresses.
  if (!bounded(offsets)) return {0, window.size};
  if (offsets.empty()) return {};
  return clip({offsets.lo, offsets.hi + use.access->size}, window);
}

std::vector<ArgumentUse> LaunchAccess::Impl::package(uint32_t dimension, uint64_t first,
                                                     uint64_t count,
                                                     const ContentValues* content) const {
  std::vector<Load> loads;
  std::vector<ArgumentUse> result(launch.windows.size());
  for (size_t i = 0; i < result.size(); ++i) result[i].argument = launch.windows[i].argument;
  if (count == 0) return result;
  AccessDomain::Values values;
  uint32_t domain = UINT32_MAX;
  bool executes = false;
  for (const AccessUse& use : launch.uses) {
    const AccessDomain& where = launch.domains[use.domain];
    if (use.domain != domain) {
      domain = use.domain;
      executes = where.package_values(dimension, first, count, values);
    }
    const Interval slices =
        intersect(use.slices[dimension], {Wide{first}, Wide{first} + count - 1});
    if (!executes || slices.empty()) continue;
    ArgumentUse& out = result[use.window];
    if (use.access->kind != AccessKind::kLoad) {
      extend(out.write.range, touched(use, values, dimension, slices));
    }
    if (use.access->kind == AccessKind::kStore) continue;
    auto touches = touched_in_parts(use, values, dimension, slices);
    if (content != nullptr && use.access->content) {
      const ByteRange bytes = within_content(use, dimension, first, count, *content);
      if (bytes.size() < touches[0].size() + touches[1].size()) touches = {bytes, {}};
    }
    for (const ByteRange& range : touches) {
      if (range.empty()) continue;
      extend(out.read.range, range);
      loads.push_back({use.window, range});
    }
  }
  find_unread(loads, result);
  if (dimension == split_dimension) apply_verdict(first, count, result);
  if (!cover) return result;
  for (uint32_t i = 0; i < result.size(); ++i) {
    ArgumentUse& use = result[i];
    if (use.write.empty()) continue;
    const ByteRange& write = use.write.range;
    use.overwrites = !use.write.strided() && use.merge == MergeMode::kDisjoint &&
                     cover->covers(i, dimension, first, count, write.begin, write.end);
    for (uint32_t j = 0; use.overwrites && j < result.size(); ++j) {
      const Window& a = launch.windows[i];
      const Window& b = launch.windows[j];
      if (i == j || a.buffer != b.buffer || result[j].read.empty()) continue;
      if (b.origin + result[j].read.range.begin < a.origin + write.end &&
          a.origin + write.begin < b.origin + result[j].read.range.end) {
        use.overwrites = false;
      }
    }
  }
  return result;
}

}  // namespace tutti::scheduler
