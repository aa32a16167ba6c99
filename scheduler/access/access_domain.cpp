// SPDX-License-Identifier: Apache-2.0
#include "scheduler/access/access_domain.h"

#include <algorithm>
#include <numeric>

namespace tutti::scheduler {

using affine::Band;
using affine::Form;
using affine::Interval;
using affine::kInfinity;
using affine::SymbolId;
using affine::Term;
using affine::Wide;

namespace {

/// The canonical values of a value in `interval`: the interval shifted by a multiple of 2^width if
/// it meets only one copy of the type's range, else the whole range.
Interval wrap(const Interval& interval, unsigned width, bool is_signed) {
  const Wide span = Wide{1} << width;
  const Wide base = is_signed ? -(span / 2) : 0;
  if (interval.bounded()) {
    const Wide copy = affine::floor_divide(interval.lo - base, span);
    if (copy == affine::floor_divide(interval.hi - base, span)) {
      return {interval.lo - copy * span, interval.hi - copy * span};
    }
  }
  return {base, base + span - 1};
}

Interval truncating_quotient(const Interval& n, const Interval& d) {
  // Monotone in the numerator for a fixed divisor and, for a fixed numerator, in the divisor as
  // long as that does not change its sign (zero is excluded by the builder): corners suffice.
  if (!n.bounded() || !d.bounded()) return {};
  const auto [least, most] = std::minmax({n.lo / d.lo, n.lo / d.hi, n.hi / d.lo, n.hi / d.hi});
  return {least, most};
}

}  // namespace

// ---- growing ------------------------------------------------------------------------------------

void AccessDomain::begin(const DimensionShape (&shape)[3], size_t loops, Wide most_iterations) {
  symbols_.reserve(kIdSymbols + loops + 8);
  symbols_.resize(kIdSymbols, Symbol{.kind = SymbolKind::kId});
  for (uint32_t d = 0; d < 3; ++d) {
    const DimensionShape& s = shape_[d] = shape[d];
    launch_.of[gid_symbol(d)] = {0, {s.offset, s.offset + s.local * s.groups - 1}};
    launch_.of[lid_symbol(d)] = {0, {0, s.local - 1}};
    launch_.of[group_symbol(d)] = {0, {0, s.groups - 1}};
  }
  // Loops nested deeper than the table of symbols allows stay without a counter: any value.
  loop_count_ = std::min(loops, kMaxSymbols - kIdSymbols);
  loop_last_.resize(loop_count_, Form::make_unknown());
  symbols_.resize(kIdSymbols + loop_count_, Symbol{.kind = SymbolKind::kLoop});
  for (size_t i = 0; i < loop_count_; ++i) {
    launch_.of[kIdSymbols + i] = {0, {0, most_iterations - 1}};
  }
}

std::optional<SymbolId> AccessDomain::add_range(const Interval& values, bool fresh, bool data) {
  if (symbols_.size() == kMaxSymbols) return std::nullopt;
  const auto id = static_cast<SymbolId>(symbols_.size());
  symbols_.push_back({.kind = SymbolKind::kRange, .fresh = fresh, .data = data});
  launch_.of[id] = {0, values};
  return id;
}

std::optional<SymbolId> AccessDomain::add_like(SymbolId symbol) {
  if (symbols_.size() == kMaxSymbols) return std::nullopt;
  const auto id = static_cast<SymbolId>(symbols_.size());
  symbols_.push_back(symbols_[symbol]);
  launch_.of[id] = launch_.of[symbol];
  return id;
}

std::optional<SymbolId> AccessDomain::find_opaque(const Symbol& symbol,
                                                  std::span<const Form> operands) const {
  for (size_t i = kIdSymbols + loop_count_; i < symbols_.size(); ++i) {
    const Symbol& other = symbols_[i];
    if (other.kind == symbol.kind && other.divisor == symbol.divisor &&
        other.width == symbol.width && other.is_signed == symbol.is_signed &&
        other.operands == operands.size() &&
        std::equal(operands.begin(), operands.end(), operands_.begin() + other.first_operand)) {
      return static_cast<SymbolId>(i);
    }
  }
  return std::nullopt;
}

std::optional<SymbolId> AccessDomain::add_opaque(Symbol symbol, std::span<const Form> operands) {
  if (symbols_.size() == kMaxSymbols) return std::nullopt;
  const auto id = static_cast<SymbolId>(symbols_.size());
  symbol.first_operand = static_cast<uint32_t>(operands_.size());
  symbol.operands = static_cast<uint32_t>(operands.size());
  symbols_.push_back(symbol);
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  launch_.of[id] = {};
  launch_.of[id] = define(launch_, id);
  if (launch_.of[id].rest.empty()) dead_ = true;
  return id;
}

bool AccessDomain::add_fact(const Fact& fact) {
  if (!apply_fact(fact.form, launch_)) dead_ = true;
  for (const Term& term : fact.form) {
    if (term.symbol >= kIdSymbols) break;
    if (!relate_ids(launch_, term.symbol / 3)) dead_ = true;
  }
  const bool of_guard = fact.origin == FactOrigin::kGuard;
  if (fact.form.size() < 2) {
    if (of_guard && fact.form.size() == 1) clips_.push_back(fact.form);
    return true;
  }
  if (facts_.size() == kMaxFacts) return !of_guard;
  facts_.push_back(fact);
  return true;
}

void AccessDomain::narrow(SymbolId symbol, const Interval& values) {
  Interval& known = launch_.of[symbol].rest;
  known = intersect(known, values);
  if (known.empty()) dead_ = true;
}

void AccessDomain::settle() {
  if (!dead_ && !facts_.empty() && !settle_values(launch_)) dead_ = true;
}

// ---- values -------------------------------------------------------------------------------------

Band AccessDomain::dimension_band(const Values& values, uint32_t d, int64_t gid, int64_t lid,
                                  int64_t group) const {
  const Band& gids = values.of[gid_symbol(d)];
  const Band& lids = values.of[lid_symbol(d)];
  const Band& groups = values.of[group_symbol(d)];
  const Wide local = shape_[d].local;
  const Wide offset = shape_[d].offset;
  // One id alone: relate_ids() has told it what the others know.
  if (lid == 0 && group == 0) return scale(gids, gid);
  if (gid == 0 && group == 0) return scale(lids, lid);
  if (gid == 0 && lid == 0) return scale(groups, group);
  // t·(gid − offset − L·group − lid) = 0 may be added for any t: all of these bounds hold.
  const auto with = [&](Wide t) {
    Band result{0, {-t * offset, -t * offset}};
    if (gid + t != 0) result = sum(result, scale(gids, gid + t));
    if (lid - t != 0) result = sum(result, scale(lids, lid - t));
    if (group - t * local != 0) result = sum(result, scale(groups, group - t * local));
    return result;
  };
  Band result = with(0);
  const auto refine = [&](Wide t) {
    if (t != 0) result.rest = intersect(result.rest, with(t).rest);
  };
  refine(-Wide{gid});
  refine(lid);
  if (group % shape_[d].local == 0) refine(group / shape_[d].local);
  return result;
}

Band AccessDomain::band(const Values& values, const Form& form) const {
  if (form.unknown()) return {};
  Band result{0, {form.constant(), form.constant()}};
  const Term* term = form.begin();
  while (term != form.end() && term->symbol < kIdSymbols) {
    const uint32_t d = term->symbol / 3;
    int64_t factors[3] = {0, 0, 0};
    for (; term != form.end() && term->symbol / 3u == d; ++term) {
      factors[term->symbol % 3] = term->factor;
    }
    result = sum(result, dimension_band(values, d, factors[0], factors[1], factors[2]));
  }
  for (; term != form.end(); ++term) {
    result = sum(result, scale(values.of[term->symbol], term->factor));
  }
  return result;
}

void AccessDomain::tighten(const Values& values, const Alternate& alternate, Band& result) const {
  const Band other = band(values, alternate.form);
  // Bounds of the rests compare only where both move alike from slice to slice.
  if (other.step != affine::multiply(result.step, alternate.divisor)) return;
  Interval& rest = result.rest;
  if (alternate.upper) {
    rest.hi = std::min(rest.hi, affine::floor_divide(other.rest.hi, alternate.divisor));
  } else {
    rest.lo = std::max(rest.lo, affine::ceil_divide(other.rest.lo, alternate.divisor));
  }
}

Band AccessDomain::band(const Values& values, const Form& form,
                        const std::vector<Alternate>& alternates) const {
  Band result = band(values, form);
  for (const Alternate& alternate : alternates) tighten(values, alternate, result);
  return result;
}

void AccessDomain::alternates(const Form& form, std::vector<Alternate>& out) const {
  out.clear();
  if (form.unknown()) return;
  for (const Fact& fact : facts_) {
    for (const Term& term : fact.form) {
      const int64_t factor = form.factor(term.symbol);
      if (factor == 0) continue;
      const bool upper = (factor < 0) != (term.factor < 0);
      const Wide f = factor < 0 ? -Wide{factor} : Wide{factor};
      const Wide g = term.factor < 0 ? -Wide{term.factor} : Wide{term.factor};
      if (!affine::fits_int64(f) || !affine::fits_int64(g)) continue;
      const int64_t common = std::gcd(static_cast<int64_t>(f), static_cast<int64_t>(g));
      // fact ≥ 0, so p·form ≤ p·form + q·fact and p·form ≥ p·form − q·fact for q > 0.
      const Wide p = g / common;
      const Wide q = f / common;
      const Form other = Form::combine(form, p, fact.form, upper ? q : -q);
      if (!other.unknown()) out.push_back({other, static_cast<int64_t>(p), upper});
    }
  }
}

Band AccessDomain::define(const Values& values, SymbolId symbol) const {
  const Interval& launch = launch_.of[symbol].rest;
  const Band fallback{0, launch};
  const Symbol& s = symbols_[symbol];
  const auto operand = [&](uint32_t i) { return band(values, operands_[s.first_operand + i]); };
  const auto clip = [&](const Interval& interval) { return Band{0, intersect(interval, launch)}; };
  switch (s.kind) {
    case SymbolKind::kId:
    case SymbolKind::kLoop:
    case SymbolKind::kRange:
      return fallback;
    case SymbolKind::kFloorDiv: {
      const Band x = operand(0);
      if (x.step % s.divisor != 0) return fallback;
      // ⌊(C·s + r) / c⌋ = (C/c)·s + ⌊r/c⌋ where c divides C.
      const Interval rest{affine::floor_divide(x.rest.lo, s.divisor),
                          affine::floor_divide(x.rest.hi, s.divisor)};
      return x.step == 0 ? clip(rest) : Band{x.step / s.divisor, rest};
    }
    case SymbolKind::kTruncDiv: {
      const Band n = operand(0);
      const Band d = operand(1);
      if (n.step != 0 || d.step != 0 || (d.rest.lo <= 0 && d.rest.hi >= 0)) return fallback;
      return clip(truncating_quotient(n.rest, d.rest));
    }
    case SymbolKind::kProduct: {
      const Band a = operand(0);
      const Band b = operand(1);
      if (a.step == 0 && b.step == 0) return clip(product(a.rest, b.rest));
      if (a.step == 0 && a.rest.lo == a.rest.hi) return scale(b, a.rest.lo);
      if (b.step == 0 && b.rest.lo == b.rest.hi) return scale(a, b.rest.lo);
      return fallback;
    }
    case SymbolKind::kMin:
    case SymbolKind::kMax:
    case SymbolKind::kHull: {
      Band result = operand(0);
      for (uint32_t i = 1; i < s.operands; ++i) {
        const Band other = operand(i);
        if (other.step != result.step) return fallback;
        Interval& rest = result.rest;
        switch (s.kind) {
          case SymbolKind::kMin:
            rest = {std::min(rest.lo, other.rest.lo), std::min(rest.hi, other.rest.hi)};
            break;
          case SymbolKind::kMax:
            rest = {std::max(rest.lo, other.rest.lo), std::max(rest.hi, other.rest.hi)};
            break;
          default:
            rest = hull(rest, other.rest);
        }
      }
      return result.step == 0 ? clip(result.rest) : result;
    }
    case SymbolKind::kWrap: {
      const Band x = operand(0);
      return x.step == 0 ? clip(wrap(x.rest, s.width, s.is_signed)) : fallback;
    }
  }
  return fallback;
}

bool AccessDomain::relate_ids(Values& values, uint32_t d) const {
  if (shape_[d].local == 1 && shape_[d].groups == 1) return true;
  Interval& gid = values.of[gid_symbol(d)].rest;
  Interval& lid = values.of[lid_symbol(d)].rest;
  Interval& group = values.of[group_symbol(d)].rest;
  const Wide local = shape_[d].local;
  const Wide offset = shape_[d].offset;
  gid = intersect(gid, {offset + local * group.lo + lid.lo, offset + local * group.hi + lid.hi});
  group = intersect(group, {affine::ceil_divide(gid.lo - offset - lid.hi, local),
                            affine::floor_divide(gid.hi - offset - lid.lo, local)});
  lid = intersect(lid, {gid.lo - offset - local * group.hi, gid.hi - offset - local * group.lo});
  return !gid.empty() && !lid.empty() && !group.empty();
}

bool AccessDomain::apply_fact(const Form& form, Values& values) const {
  if (form.unknown()) return true;
  Wide step = 0;
  for (const Term& term : form) {
    if (values.of[term.symbol].step != 0) {
      const Wide part = affine::multiply(values.of[term.symbol].step, term.factor);
      if (part > affine::kMaxStep || part < -affine::kMaxStep) return true;
      step += part;
    }
  }
  if (step != 0) return true;  // such a fact bounds slices, not what one slice does
  for (const Term& term : form) {
    // factor·x ≥ −(the most that the rest of the form can be)
    Wide most = form.constant();
    for (const Term& other : form) {
      if (other.symbol == term.symbol) continue;
      most = affine::add_bound(most, scale(values.of[other.symbol].rest, other.factor).hi, +1);
    }
    if (most >= kInfinity) continue;
    Interval& x = values.of[term.symbol].rest;
    if (term.factor > 0) {
      x.lo = std::max(x.lo, affine::ceil_divide(-most, term.factor));
    } else {
      x.hi = std::min(x.hi, affine::floor_divide(most, -Wide{term.factor}));
    }
    if (x.empty()) return false;
  }
  return form.size() != 0 || form.constant() >= 0;
}

bool AccessDomain::settle_values(Values& values) const {
  for (int round = 0; round < 2; ++round) {
    for (uint32_t d = 0; d < 3; ++d) {
      if (!relate_ids(values, d)) return false;
    }
    for (size_t i = kIdSymbols + loop_count_; i < symbols_.size(); ++i) {
      const auto symbol = static_cast<SymbolId>(i);
      const Band defined = define(values, symbol);
      Band& value = values.of[i];
      if (round == 0 || value.step != defined.step) {
        value = defined;
      } else {
        value.rest = intersect(value.rest, defined.rest);
      }
      if (value.rest.empty()) return false;
    }
    if (facts_.empty()) return true;  // then no value depends on another but through definitions
    for (const Fact& fact : facts_) {
      if (!apply_fact(fact.form, values)) return false;
    }
  }
  for (uint32_t d = 0; d < 3; ++d) {
    if (!relate_ids(values, d)) return false;
  }
  return true;
}

bool AccessDomain::package_values(uint32_t dimension, uint64_t first, uint64_t count,
                                  Values& values) const {
  if (dead_ || count == 0) return false;
  for (size_t i = 0; i < kIdSymbols + loop_count_; ++i) values.of[i] = launch_.of[i];
  const DimensionShape& shape = shape_[dimension];
  const Wide begin = first;
  const Wide last = begin + count - 1;
  Interval& group = values.of[group_symbol(dimension)].rest;
  Interval& gid = values.of[gid_symbol(dimension)].rest;
  group = intersect(group, {begin, last});
  gid = intersect(
      gid, {shape.offset + shape.local * begin, shape.offset + shape.local * (last + 1) - 1});
  if (group.empty() || gid.empty()) return false;
  return settle_values(values);
}

bool AccessDomain::fix(SymbolId symbol, Wide value, Values& values) const {
  values.of[symbol] = {0, {value, value}};
  for (int round = 0; round < 2; ++round) {
    for (const Fact& fact : facts_) {
      if (!apply_fact(fact.form, values)) return false;
    }
    for (uint32_t d = 0; d < 3; ++d) {
      if (!relate_ids(values, d)) return false;
    }
  }
  return true;
}

void AccessDomain::slice_values(uint32_t dimension, Values& values) const {
  for (size_t i = 0; i < kIdSymbols + loop_count_; ++i) values.of[i] = launch_.of[i];
  const DimensionShape& shape = shape_[dimension];
  values.of[group_symbol(dimension)] = {1, {0, 0}};
  values.of[gid_symbol(dimension)] = {shape.local, {shape.offset, shape.offset + shape.local - 1}};
  // "Nothing executes" cannot come out of a launch in which something does; if the bounds say so
  // all the same, the plain launch values are still right.
  if (!settle_values(values)) {
    for (size_t i = 0; i < symbols_.size(); ++i) values.of[i] = launch_.of[i];
  }
}

}  // namespace tutti::scheduler
