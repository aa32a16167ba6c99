// SPDX-License-Identifier: Apache-2.0
#include "scheduler/access/strided_accesses.h"

#include <algorithm>
#include <numeric>

namespace tutti::scheduler {

using affine::Form;
using affine::Interval;
using affine::magnitude;
using affine::Term;
using affine::Wide;

namespace {

constexpr int kMostPeriods = 4;  // tried one after the other, each a divisor of the one before

/// One access without the terms that the period takes out.
struct Inner {
  const AccessUse* use = nullptr;
  Wide step = 0;
  Interval rest;  // of the first byte and past the last one
};

bool among(const AccessUse& use, Accesses accesses) {
  switch (accesses) {
    case Accesses::kWrites:
      return use.writes();
    case Accesses::kLoads:
      return use.access->kind != AccessKind::kStore;
    case Accesses::kAll:
      break;
  }
  return true;
}

/// No strip ends within a pixel.
bool whole_units(const StridedAccesses& strided, const Window& window) {
  const auto unit = static_cast<int64_t>(window.unit);
  return strided.period % unit == 0 && strided.step % unit == 0 && strided.begin % unit == 0 &&
         strided.end % unit == 0;
}

/// The multiple of `period` that brings `value` nearest to zero.
Wide nearest_multiple(Wide value, Wide period) {
  return affine::floor_divide(value + period / 2, period) * period;
}

/// How far the uses' offsets differ by the ids of that dimension alone; `most` at most. What guards
/// leave of the last work-groups does not count.
Wide reach(const EvaluatedLaunch& launch, const std::vector<const AccessUse*>& uses,
           uint32_t dimension, Wide most) {
  Wide farthest = 0;
  for (const AccessUse* use : uses) {
    const AccessDomain::Values& values = launch.domains[use->domain].launch_values();
    Wide far = 0;
    for (const Term& term : use->offset) {
      if (term.symbol >= kIdSymbols || term.symbol / 3u != dimension) continue;
      const Interval& ids = values.of[term.symbol].rest;
      if (!ids.bounded()) return most;
      far += magnitude(term.factor) * (ids.hi - ids.lo);
    }
    farthest = std::max(farthest, far);
  }
  return std::min(farthest, most);
}

}  // namespace

ByteStrips strips_of(const StridedAccesses& strided, uint64_t first, uint64_t count,
                     const ByteRange& range) {
  const Wide one = Wide{strided.step} * first;
  const Wide other = Wide{strided.step} * (first + count - 1);
  const Wide begin = std::min(one, other) + strided.begin;
  const Wide length = std::max(one, other) + strided.end - begin;
  // Any strip names the others: the one nearest to the window's begin has a small number.
  const Wide phase = begin - affine::floor_divide(begin, strided.period) * strided.period;
  return {range, static_cast<int64_t>(phase), static_cast<uint64_t>(strided.period),
          static_cast<uint64_t>(std::min(length, Wide{strided.period}))};
}

StridedAccesses strided_accesses(const EvaluatedLaunch& launch, uint32_t window, uint32_t dimension,
                                 Accesses accesses, Wide most) {
  const Wide slices = launch.shape.groups(dimension);
  std::vector<const AccessUse*> uses;
  Wide period = 0;
  Wide step = 0;
  Interval touched{affine::kInfinity, -affine::kInfinity};
  for (const AccessUse& use : launch.uses) {
    if (use.window != window || !among(use, accesses)) continue;
    if (!use.bounded || use.slices[dimension].lo == use.slices[dimension].hi) return {};
    if (uses.empty()) step = use.slice[dimension].step;
    if (step == 0 || use.slice[dimension].step != step) return {};
    uses.push_back(&use);
    touched = hull(touched, {use.launch.lo, use.launch.hi + use.access->size});
  }
  if (uses.empty()) return {};
  // Loads of two slices may meet, so that it matters only how far they reach.
  const bool loads_only = accesses == Accesses::kLoads;
  const Wide sweep = loads_only ? reach(launch, uses, dimension, magnitude(step) * slices)
                                : magnitude(step) * slices;
  const auto outer = [&](const Term& term) {
    return term.symbol / 3u != dimension && magnitude(term.factor) >= sweep;
  };
  for (const AccessUse* use : uses) {
    for (const Term& term : use->offset) {
      if (outer(term)) period = std::gcd(static_cast<int64_t>(period), term.factor);
    }
  }
  if (period == 0) return {};
  std::vector<Inner> inners;
  AccessDomain::Values values;
  uint32_t domain = UINT32_MAX;
  std::vector<Alternate> alternates;
  for (const AccessUse* use : uses) {
    const AccessDomain& where = launch.domains[use->domain];
    if (use->domain != domain) where.slice_values(dimension, values);
    domain = use->domain;
    Form form = use->offset;
    for (const Term& term : use->offset) {
      if (outer(term)) form = form.without(term.symbol);
    }
    where.alternates(form, alternates);
    const affine::Band band = where.band(values, form, alternates);
    if (band.step != step || !band.rest.bounded()) return {};
    inners.push_back({use, band.step, {band.rest.lo, band.rest.hi + use->access->size}});
  }
  for (int attempt = 0; attempt < kMostPeriods && period >= sweep; ++attempt) {
    Interval together = inners.front().rest;
    Wide spoiler = 0;
    for (const Inner& inner : inners) {
      const Wide shift = nearest_multiple(inner.rest.lo - inners.front().rest.lo, period);
      together = hull(together, {inner.rest.lo - shift, inner.rest.hi - shift});
      const Wide distance = magnitude(inner.rest.lo - shift - inners.front().rest.lo);
      if (distance >= sweep) spoiler = distance;
    }
    // What slices read may meet.
    const bool loads = loads_only && spoiler == 0;
    if (together.hi - together.lo <= (loads ? period : magnitude(step))) {
      if ((touched.hi - touched.lo) / period >= most) return {};
      if (!affine::fits_int64(together.lo) || !affine::fits_int64(together.hi)) return {};
      const StridedAccesses made{static_cast<int64_t>(period), static_cast<int64_t>(step),
                                 static_cast<int64_t>(together.lo),
                                 static_cast<int64_t>(together.hi)};
      return whole_units(made, launch.windows[window]) ? made : StridedAccesses();
    }
    // Copies of the loop's body at constant distances, as unrolling leaves them.
    if (spoiler == 0) return {};
    period = std::gcd(static_cast<int64_t>(period), static_cast<int64_t>(spoiler));
  }
  return {};
}

}  // namespace tutti::scheduler
