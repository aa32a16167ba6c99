// SPDX-License-Identifier: Apache-2.0
// Forms, canonical values and facts; the expressions are in domain_expressions.cpp.
#include "scheduler/access/domain_builder.h"

#include <algorithm>

namespace tutti::scheduler {

using affine::Band;
using affine::Form;
using affine::Interval;
using affine::SymbolId;
using affine::Term;
using affine::Wide;

namespace {

// No loop of one work-item goes round more often: that would take days, at a few iterations per
// nanosecond. A limit below 2^64 is needed to tell that an index has not wrapped round.
constexpr Wide kMaxIterations = Wide{1} << 48;

Interval type_range(unsigned width, bool is_signed) {
  const Wide span = Wide{1} << width;
  return is_signed ? Interval{-(span / 2), span / 2 - 1} : Interval{0, span - 1};
}

}  // namespace

DomainBuilder::DomainBuilder(const KernelSummary& summary, const LaunchShape& shape,
                             std::span<const ArgumentValue> arguments)
    : summary_(summary), shape_(shape), arguments_(arguments) {}

void DomainBuilder::begin(AccessDomain& domain, const std::vector<Guard>& guards,
                          const std::vector<uint32_t>& loops) {
  domain_ = &domain;
  loops_ = &loops;
  memo_.assign(summary_.exprs.size(), -1);
  forms_.clear();
  improvable_ = false;

  DimensionShape shape[3];
  for (uint32_t d = 0; d < 3; ++d) {
    shape[d] = {static_cast<int64_t>(shape_.offset[d]), static_cast<int64_t>(shape_.local[d]),
                static_cast<int64_t>(shape_.groups(d))};
  }
  domain.begin(shape, loops.size(), kMaxIterations);

  std::array<bool, kMaxSymbols> resolved;
  for (size_t i = 0; i < domain.loop_count(); ++i) resolved[i] = loop(i);
  for (const Guard& g : guards) guard(g);
  if (improvable_) {
    // Built before the guards were known; with them more may be told.
    memo_.assign(summary_.exprs.size(), -1);
    for (size_t i = 0; i < domain.loop_count(); ++i) {
      if (!resolved[i]) loop(i);
    }
  }
  domain.settle();
}

Form DomainBuilder::offset(uint32_t expr) { return normalise(canonical(form(expr), 64, true)); }

// ---- forms --------------------------------------------------------------------------------------

bool DomainBuilder::fresh(const Form& form) const {
  return std::any_of(form.begin(), form.end(),
                     [&](const Term& term) { return domain_->symbols()[term.symbol].fresh; });
}

bool DomainBuilder::data(const Form& form) const {
  return form.unknown() || std::any_of(form.begin(), form.end(), [&](const Term& term) {
           return domain_->symbols()[term.symbol].data;
         });
}

Interval DomainBuilder::bounds(const Form& form) {
  const Band direct = domain_->band(domain_->launch_values(), form);
  if (form.size() < 2 || domain_->facts().empty()) return direct.rest;
  domain_->alternates(form, alternates_);
  return domain_->band(domain_->launch_values(), form, alternates_).rest;
}

Form DomainBuilder::normalise(const Form& form) const {
  if (form.unknown()) return form;
  bool several = false;  // ids of one dimension
  for (size_t i = 1; i < form.size() && form.begin()[i].symbol < kIdSymbols; ++i) {
    several = several || form.begin()[i].symbol / 3 == form.begin()[i - 1].symbol / 3;
  }
  if (!several) return form;
  Form result = form;
  for (uint32_t d = 0; d < 3; ++d) {
    const Wide gid = result.factor(gid_symbol(d));
    const Wide lid = result.factor(lid_symbol(d));
    const Wide group = result.factor(group_symbol(d));
    const int used = (gid != 0) + (lid != 0) + (group != 0);
    if (used < 2) continue;
    const DimensionShape& shape = domain_->shape(d);
    const auto symbols_with = [&](Wide t) {
      return (gid + t != 0) + (lid - t != 0) + (group - t * shape.local != 0);
    };
    Wide best = 0;
    int fewest = used;
    const auto consider = [&](Wide t) {
      if (symbols_with(t) < fewest) {
        fewest = symbols_with(t);
        best = t;
      }
    };
    consider(lid);
    consider(-gid);
    if (group % shape.local == 0) consider(group / shape.local);
    if (best == 0) continue;
    Form tie(0);  // gid − L·group − lid − offset = 0
    tie.append(gid_symbol(d), 1);
    tie.append(lid_symbol(d), -1);
    tie.append(group_symbol(d), -Wide{shape.local});
    const Form better = Form::combine(result, 1, tie.plus(-Wide{shape.offset}), best);
    if (!better.unknown()) result = better;
  }
  return result;
}

Form DomainBuilder::add(const Form& a, const Form& b, int sign) {
  if (a.unknown() || b.unknown()) return Form::make_unknown();
  Form other = b;
  for (const Term& term : b) {
    if (!domain_->symbols()[term.symbol].fresh || a.factor(term.symbol) == 0) continue;
    // Another use of a value that may differ from use to use: a symbol of its own.
    const auto copy = domain_->add_like(term.symbol);
    if (!copy) return Form::make_unknown();
    other = other.without(term.symbol);
    if (!other.append(*copy, term.factor)) return Form::make_unknown();
  }
  return normalise(Form::combine(a, 1, other, sign));
}

Form DomainBuilder::product(const Form& a, const Form& b) {
  if (a.unknown() || b.unknown()) return Form::make_unknown();
  if (a.is_constant()) return b.times(a.constant());
  if (b.is_constant()) return a.times(b.constant());
  const Form operands[] = {a, b};
  return opaque(SymbolKind::kProduct, operands);
}

Form DomainBuilder::floor_divide(const Form& n, int64_t divisor) {
  if (n.unknown()) return n;
  if (divisor == 1) return n;
  // ⌊(c·A + R) / c⌋ = A + ⌊R / c⌋.
  const Wide whole = affine::floor_divide(n.constant(), divisor);
  Form quotient(static_cast<int64_t>(whole));
  Form rest(static_cast<int64_t>(n.constant() - whole * divisor));
  for (const Term& term : n) {
    if (term.factor % divisor == 0) {
      quotient.append(term.symbol, term.factor / divisor);
    } else {
      rest.append(term.symbol, term.factor);
    }
  }
  return add(quotient, floor_divide_rest(rest, divisor), +1);
}

Form DomainBuilder::floor_divide_rest(const Form& rest, int64_t divisor) {
  const Interval values = bounds(rest);
  const Wide lowest = affine::floor_divide(values.lo, divisor);
  if (values.bounded() && lowest == affine::floor_divide(values.hi, divisor) &&
      affine::fits_int64(lowest)) {
    return Form(static_cast<int64_t>(lowest));
  }
  for (uint32_t d = 0; d < 3; ++d) {
    // gid / L is the group, in spite of the single symbol.
    const DimensionShape& shape = domain_->shape(d);
    const Wide gid = rest.factor(gid_symbol(d));
    if (gid == 0 || shape.local == 1 || shape.groups == 1) continue;
    if ((gid * shape.local) % divisor != 0) continue;
    Form split = rest.without(gid_symbol(d));
    Form ids(0);
    ids.append(lid_symbol(d), gid);
    if (!affine::fits_int64(gid * shape.offset)) continue;
    split = Form::combine(split, 1, ids.plus(gid * shape.offset), 1);
    if (split.unknown()) continue;
    const Interval inner = bounds(split);
    const Wide low = affine::floor_divide(inner.lo, divisor);
    if (!inner.bounded() || low != affine::floor_divide(inner.hi, divisor)) continue;
    Form groups(0);
    if (!affine::fits_int64(low) || !groups.append(group_symbol(d), gid * shape.local / divisor)) {
      continue;
    }
    return groups.plus(low);
  }
  return opaque(SymbolKind::kFloorDiv, {&rest, 1}, divisor);
}

Form DomainBuilder::modulo(const Form& n, int64_t divisor) {
  if (n.unknown()) return range({0, divisor - 1}, true, true);
  Form rest(
      static_cast<int64_t>(n.constant() - affine::floor_divide(n.constant(), divisor) * divisor));
  for (const Term& term : n) {
    if (term.factor % divisor != 0) rest.append(term.symbol, term.factor);
  }
  if (rest.is_constant()) return rest;
  if (fresh(rest)) {
    const Interval values = bounds(rest);
    if (Interval{0, divisor - 1}.contains(values)) return rest;
    return range({0, divisor - 1}, true, data(rest));
  }
  const Form quotient = floor_divide_rest(rest, divisor);
  const Form result = normalise(Form::combine(rest, 1, quotient, -Wide{divisor}));
  return result.unknown() ? range({0, divisor - 1}, false, false) : result;
}

bool DomainBuilder::resolve(const Form& form, unsigned width, bool is_signed,
                            const Interval* wanted, Form& out) {
  if (form.unknown()) return false;
  const Interval type = type_range(width, is_signed);
  if (domain_->dead()) {  // no values: any answer is right
    out = Form(0);
    return true;
  }
  Interval values = domain_->band(domain_->launch_values(), form).rest;
  if (!type.contains(values)) values = bounds(form);
  if (!values.bounded()) return false;
  const Wide span = Wide{1} << width;
  Wide first = affine::floor_divide(values.lo - type.lo, span);
  Wide last = affine::floor_divide(values.hi - type.lo, span);
  if (wanted != nullptr && last - first <= 4) {
    const Interval target = intersect(type, *wanted);
    const auto feasible = [&](Wide copy) {
      return !intersect(target, {values.lo - copy * span, values.hi - copy * span}).empty();
    };
    while (first <= last && !feasible(first)) ++first;
    while (last >= first && !feasible(last)) --last;
    if (first > last) {
      domain_->mark_dead();  // the comparison never holds
      out = Form(0);
      return true;
    }
  }
  if (first != last) return false;
  out = form.plus(-first * span);
  if (out.unknown()) {
    const Wide shift = first * span;
    out = range({values.lo - shift, values.hi - shift}, fresh(form), data(form));
  }
  return true;
}

Form DomainBuilder::canonical(const Form& form, unsigned width, bool is_signed) {
  if (form.unknown()) return range(type_range(width, is_signed), true, true);
  Form result;
  if (resolve(form, width, is_signed, nullptr, result)) return result;
  improvable_ = true;
  return opaque(SymbolKind::kWrap, {&form, 1}, 1, width, is_signed);
}

// ---- symbols ------------------------------------------------------------------------------------

Form DomainBuilder::any(unsigned width, bool data) {
  return range(type_range(width, false), true, data);
}

Form DomainBuilder::range(const Interval& interval, bool fresh, bool data) {
  if (interval.lo == interval.hi && affine::fits_int64(interval.lo)) {
    return Form(static_cast<int64_t>(interval.lo));
  }
  const auto symbol = domain_->add_range(interval, fresh, data);
  return symbol ? Form::of_symbol(*symbol) : Form::make_unknown();
}

Form DomainBuilder::opaque(SymbolKind kind, std::span<const Form> operands, int64_t divisor,
                           unsigned width, bool is_signed) {
  Symbol symbol{.kind = kind,
                .width = static_cast<uint8_t>(width),
                .is_signed = is_signed,
                .fresh = kind == SymbolKind::kHull,
                .data = false,
                .divisor = divisor};
  for (const Form& operand : operands) {
    if (operand.unknown()) return Form::make_unknown();
    symbol.fresh |= fresh(operand);
    symbol.data |= data(operand);
  }
  if (!symbol.fresh) {
    if (const auto known = domain_->find_opaque(symbol, operands)) return Form::of_symbol(*known);
  }
  const auto added = domain_->add_opaque(symbol, operands);
  if (!added) return Form::make_unknown();
  const SymbolId id = *added;
  const Interval values = domain_->launch_values().of[id].rest;
  if (values.lo == values.hi && affine::fits_int64(values.lo)) {
    return Form(static_cast<int64_t>(values.lo));
  }
  const Form result = Form::of_symbol(id);
  if (symbol.fresh) return result;
  if (kind == SymbolKind::kFloorDiv) {  // 0 ≤ R − c·q ≤ c − 1
    const Form rest = Form::combine(operands[0], 1, result, -Wide{divisor});
    add_fact(rest, FactOrigin::kDefinition, id);
    add_fact(rest.times(-1).plus(Wide{divisor} - 1), FactOrigin::kDefinition, id);
  } else if (kind == SymbolKind::kMin || kind == SymbolKind::kMax) {
    const int sign = kind == SymbolKind::kMin ? 1 : -1;
    for (const Form& operand : operands) {
      add_fact(Form::combine(operand, sign, result, -sign), FactOrigin::kDefinition, id);
    }
  }
  return result;
}

// ---- facts --------------------------------------------------------------------------------------

void DomainBuilder::add_fact(const Form& form, FactOrigin origin, SymbolId defines) {
  const Form fact = normalise(form);
  if (fact.unknown()) {
    if (origin == FactOrigin::kGuard) not_representable();
    return;
  }
  if (!domain_->add_fact({fact, origin, defines})) not_representable();
  if (origin != FactOrigin::kDefinition) derive(fact, 2);
}

void DomainBuilder::derive(const Form& form, int depth) {
  const AccessDomain& domain = *domain_;
  if (depth == 0) return;
  const size_t known = domain.facts().size();
  for (const Term& term : form) {
    if (term.symbol < kIdSymbols + domain.loop_count()) continue;
    for (size_t i = 0; i < known; ++i) {
      if (domain.facts()[i].defines != term.symbol) continue;
      const Wide factor = domain.facts()[i].form.factor(term.symbol);
      if (factor == 0 || (factor < 0) == (term.factor < 0)) continue;
      const Form consequence =
          normalise(Form::combine(form, factor < 0 ? -factor : factor, domain.facts()[i].form,
                                  term.factor < 0 ? -Wide{term.factor} : Wide{term.factor}));
      if (consequence.unknown()) continue;
      add_fact(consequence, FactOrigin::kDefinition);
      derive(consequence, depth - 1);
    }
  }
}

void DomainBuilder::add_guard_fact(const Form& form) {
  if (form.unknown() || fresh(form)) {
    // Says nothing that could be kept; harmless if it holds anyway.
    if (form.unknown() || bounds(form).lo < 0) not_representable();
    return;
  }
  add_fact(form, FactOrigin::kGuard);
}

bool DomainBuilder::loop(size_t position) {
  const uint32_t index = (*loops_)[position];
  if (index >= summary_.loops.size() || !summary_.loops[index].last) return true;
  const uint32_t last = *summary_.loops[index].last;
  if (last >= summary_.exprs.size()) return true;
  Form bound;
  const bool resolved = resolve(form(last), summary_.exprs[last].width, false, nullptr, bound);
  if (!resolved) bound = canonical(form(last), summary_.exprs[last].width, false);
  if (bound.unknown()) return true;
  const auto symbol = static_cast<SymbolId>(kIdSymbols + position);
  domain_->bound_loop(position, bound);
  const Form fact = Form::combine(bound, 1, Form::of_symbol(symbol), -1);
  if (fresh(bound) || fact.unknown()) {
    domain_->narrow(symbol, {0, bounds(bound).hi});
  } else {
    add_fact(fact, FactOrigin::kLoop);
  }
  return resolved;
}

void DomainBuilder::guard(const Guard& guard) {
  if (guard.left >= summary_.exprs.size() || guard.right >= summary_.exprs.size() ||
      summary_.exprs[guard.left].width != summary_.exprs[guard.right].width) {
    return not_representable();
  }
  const unsigned width = summary_.exprs[guard.left].width;
  const Form a = form(guard.left);
  const Form b = form(guard.right);
  switch (guard.compare) {
    case Compare::kEq:
      return equality(a, b, width, true);
    case Compare::kNe:
      return equality(a, b, width, false);
    case Compare::kULt:
      return order(a, b, true, width, false);
    case Compare::kULe:
      return order(a, b, false, width, false);
    case Compare::kUGt:
      return order(b, a, true, width, false);
    case Compare::kUGe:
      return order(b, a, false, width, false);
    case Compare::kSLt:
      return order(a, b, true, width, true);
    case Compare::kSLe:
      return order(a, b, false, width, true);
    case Compare::kSGt:
      return order(b, a, true, width, true);
    case Compare::kSGe:
      return order(b, a, false, width, true);
  }
  not_representable();
}

void DomainBuilder::order(const Form& less, const Form& greater, bool strict, unsigned width,
                          bool is_signed) {
  const Interval type = type_range(width, is_signed);
  const Wide gap = strict ? 1 : 0;
  Form l;
  Form g;
  bool l_known = resolve(less, width, is_signed, nullptr, l);
  bool g_known = resolve(greater, width, is_signed, nullptr, g);
  // x <u n with x = i − 1: what the comparison admits tells which copy of the range x is in. Then
  // "x is in the type's range" is part of what the guard says.
  const auto narrowed = [&](const Form& value) {
    improvable_ = true;
    const Interval values = bounds(value);
    if (values.lo < type.lo) add_guard_fact(value.plus(-type.lo));
    if (values.hi > type.hi) add_guard_fact(value.times(-1).plus(type.hi));
  };
  if (!l_known && g_known) {
    const Interval wanted{type.lo, bounds(g).hi - gap};
    l_known = resolve(less, width, is_signed, &wanted, l);
    if (l_known && !domain_->dead()) narrowed(l);
  } else if (l_known && !g_known) {
    const Interval wanted{bounds(l).lo + gap, type.hi};
    g_known = resolve(greater, width, is_signed, &wanted, g);
    if (g_known && !domain_->dead()) narrowed(g);
  }
  if (domain_->dead()) return;
  if (!l_known) l = canonical(less, width, is_signed);
  if (!g_known) g = canonical(greater, width, is_signed);
  add_guard_fact(add(g, l, -1).plus(-gap));
}

void DomainBuilder::equality(const Form& a, const Form& b, unsigned width, bool equal) {
  Form x;
  Form y;
  for (const bool is_signed : {false, true}) {
    bool x_known = resolve(a, width, is_signed, nullptr, x);
    bool y_known = resolve(b, width, is_signed, nullptr, y);
    if (equal && x_known != y_known) {
      const Interval wanted = bounds(x_known ? x : y);
      (x_known ? y_known : x_known) =
          resolve(x_known ? b : a, width, is_signed, &wanted, x_known ? y : x);
    }
    if (domain_->dead()) return;
    if (!x_known || !y_known) continue;
    const Form difference = add(x, y, -1);
    if (equal) {
      add_guard_fact(difference);
      add_guard_fact(difference.times(-1));
      return;
    }
    const Interval values = bounds(difference);
    if (values.lo > 0 || values.hi < 0) return;  // says nothing new
    if (values.lo == 0) return add_guard_fact(difference.plus(-1));
    if (values.hi == 0) return add_guard_fact(difference.times(-1).plus(-1));
    return not_representable();
  }
  not_representable();
}

}  // namespace tutti::scheduler
