// SPDX-License-Identifier: Apache-2.0
// The part of DomainBuilder that reads expressions. Each case yields a form that is congruent to
// the expression's value modulo 2^width for everything that executes the accesses.
#include <algorithm>
#include <bit>
#include <cstring>

#include "scheduler/access/domain_builder.h"

namespace tutti::scheduler {

using affine::Form;
using affine::Interval;
using affine::SymbolId;
using affine::Wide;

namespace {

constexpr int kMaxDepth = 200;  // of expression trees, against stack exhaustion

uint64_t mask_of(unsigned width) { return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }

int64_t sign_extend(uint64_t bits, unsigned width) {
  const unsigned shift = 64 - width;
  return static_cast<int64_t>(bits << shift) >> shift;
}

/// All bits that a number up to `value` can have set.
Wide bits_up_to(Wide value) {
  Wide result = 1;
  while (result <= value) result *= 2;
  return result - 1;
}

}  // namespace

Form DomainBuilder::form(uint32_t index) {
  if (index >= summary_.exprs.size()) return Form::make_unknown();
  if (memo_[index] >= 0) return forms_[static_cast<size_t>(memo_[index])];
  const Expr& expr = summary_.exprs[index];
  // A damaged summary must not become endless recursion.
  const bool sound = expr.width >= 1 && expr.width <= 64 && depth_ < kMaxDepth &&
                     std::all_of(expr.operands.begin(), expr.operands.end(),
                                 [&](uint32_t operand) { return operand < index; });
  if (!sound) return any(64, true);
  ++depth_;
  const Form result = build(expr);
  --depth_;
  memo_[index] = static_cast<int32_t>(forms_.size());
  forms_.push_back(result);
  return result;
}

Form DomainBuilder::build(const Expr& expr) {
  const auto& operands = expr.operands;
  const auto operand_width = [&](size_t i) -> unsigned {
    return summary_.exprs[operands[i]].width;
  };
  const auto fold = [&](auto&& combine) {
    Form result = form(operands[0]);
    for (size_t i = 1; i < operands.size(); ++i) result = combine(result, form(operands[i]));
    return result;
  };
  size_t needed = 0;
  switch (expr.kind) {
    case ExprKind::kTrunc:
    case ExprKind::kZExt:
    case ExprKind::kSExt:
    case ExprKind::kHull:
    case ExprKind::kAdd:
    case ExprKind::kMul:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kXor:
    case ExprKind::kUMin:
    case ExprKind::kUMax:
    case ExprKind::kSMin:
    case ExprKind::kSMax:
      needed = 1;
      break;
    case ExprKind::kSub:
    case ExprKind::kUDiv:
    case ExprKind::kSDiv:
    case ExprKind::kURem:
    case ExprKind::kSRem:
    case ExprKind::kShl:
    case ExprKind::kLShr:
    case ExprKind::kAShr:
      needed = 2;
      break;
    default:
      break;
  }
  if (operands.size() < needed) return any(expr.width, true);
  switch (expr.kind) {
    case ExprKind::kConst:
      return Form(expr.value);
    case ExprKind::kArg:
      return argument(expr);
    case ExprKind::kGlobalId:
    case ExprKind::kLocalId:
    case ExprKind::kGroupId:
    case ExprKind::kGlobalSize:
    case ExprKind::kLocalSize:
    case ExprKind::kNumGroups:
    case ExprKind::kGlobalOffset:
      return id(expr);
    case ExprKind::kLoop:
      return loop_counter(expr);
    case ExprKind::kAdd:
      return fold([&](const Form& a, const Form& b) { return add(a, b, +1); });
    case ExprKind::kSub:
      return add(form(operands[0]), form(operands[1]), -1);
    case ExprKind::kMul:
      return fold([&](const Form& a, const Form& b) { return product(a, b); });
    case ExprKind::kUDiv:
      return division(expr, false);
    case ExprKind::kSDiv:
      return division(expr, true);
    case ExprKind::kURem:
      return remainder(expr, false);
    case ExprKind::kSRem:
      return remainder(expr, true);
    case ExprKind::kShl:
      return shift_left(expr);
    case ExprKind::kLShr:
      return shift_right(expr, false);
    case ExprKind::kAShr:
      return shift_right(expr, true);
    case ExprKind::kAnd:
      return fold([&](const Form& a, const Form& b) { return bits_and(a, b, expr.width); });
    case ExprKind::kOr:
      return fold([&](const Form& a, const Form& b) { return bits_or(a, b, expr.width, false); });
    case ExprKind::kXor:
      return fold([&](const Form& a, const Form& b) { return bits_or(a, b, expr.width, true); });
    case ExprKind::kUMin:
      return extreme(expr, false, Extreme::kMin);
    case ExprKind::kUMax:
      return extreme(expr, false, Extreme::kMax);
    case ExprKind::kSMin:
      return extreme(expr, true, Extreme::kMin);
    case ExprKind::kSMax:
      return extreme(expr, true, Extreme::kMax);
    case ExprKind::kZExt:
      return canonical(form(operands[0]), operand_width(0), false);
    case ExprKind::kSExt:
      return canonical(form(operands[0]), operand_width(0), true);
    case ExprKind::kTrunc:
      return form(operands[0]);
    case ExprKind::kHull:
      return one_of(expr);
    case ExprKind::kUnknown:
      return any(expr.width, true);
  }
  return any(expr.width, true);
}

Form DomainBuilder::id(const Expr& expr) {
  const uint32_t d = expr.index;
  const bool size = expr.kind == ExprKind::kGlobalSize || expr.kind == ExprKind::kLocalSize ||
                    expr.kind == ExprKind::kNumGroups;
  if (d >= 3) return Form(size ? 1 : 0);  // as the specification defines them
  const DimensionShape& shape = domain_->shape(d);
  // Dimensions of one item per group or of one group have one symbol only, so that forms compare.
  switch (expr.kind) {
    case ExprKind::kGlobalId:
      return shape.local == 1 && shape.groups == 1 ? Form(shape.offset)
                                                   : Form::of_symbol(gid_symbol(d));
    case ExprKind::kLocalId:
      if (shape.local == 1) return Form(0);
      return shape.groups == 1 ? Form::of_symbol(gid_symbol(d)).plus(-Wide{shape.offset})
                               : Form::of_symbol(lid_symbol(d));
    case ExprKind::kGroupId:
      if (shape.groups == 1) return Form(0);
      return shape.local == 1 ? Form::of_symbol(gid_symbol(d)).plus(-Wide{shape.offset})
                              : Form::of_symbol(group_symbol(d));
    case ExprKind::kGlobalSize:
      return Form(shape.local * shape.groups);
    case ExprKind::kLocalSize:
      return Form(shape.local);
    case ExprKind::kNumGroups:
      return Form(shape.groups);
    default:
      return Form(shape.offset);
  }
}

Form DomainBuilder::argument(const Expr& expr) {
  if (expr.index >= arguments_.size()) return any(expr.width, true);
  const std::span<const std::byte> bytes = arguments_[expr.index].scalar;
  const size_t size = (expr.width + 7u) / 8u;
  if (expr.value < 0 || static_cast<uint64_t>(expr.value) > bytes.size() ||
      bytes.size() - static_cast<size_t>(expr.value) < size) {
    return any(expr.width, true);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + expr.value, size);  // little-endian, as every OpenCL host here
  return Form(sign_extend(bits, expr.width));
}

Form DomainBuilder::loop_counter(const Expr& expr) {
  for (size_t i = 0; i < domain_->loop_count(); ++i) {
    if ((*loops_)[i] == expr.index) return Form::of_symbol(static_cast<SymbolId>(kIdSymbols + i));
  }
  return any(expr.width, true);  // not a loop around this access: which iteration is not defined
}

Form DomainBuilder::division(const Expr& expr, bool is_signed) {
  const Form n = canonical(form(expr.operands[0]), expr.width, is_signed);
  const Form d = canonical(form(expr.operands[1]), expr.width, is_signed);
  if (n.unknown() || d.unknown()) return any(expr.width, true);
  const Interval divisors = bounds(d);
  if (divisors.lo <= 0 && divisors.hi >= 0) return any(expr.width, data(n) || data(d));
  if (d.is_constant() && bounds(n).lo >= 0 && d.constant() != INT64_MIN) {
    return d.constant() > 0 ? floor_divide(n, d.constant())
                            : floor_divide(n, -d.constant()).times(-1);
  }
  const Form operands[] = {n, d};
  return opaque(SymbolKind::kTruncDiv, operands);
}

Form DomainBuilder::remainder(const Expr& expr, bool is_signed) {
  const Form n = canonical(form(expr.operands[0]), expr.width, is_signed);
  const Form d = canonical(form(expr.operands[1]), expr.width, is_signed);
  if (n.unknown() || d.unknown()) return any(expr.width, true);
  const Interval divisors = bounds(d);
  if (divisors.lo <= 0 && divisors.hi >= 0) return any(expr.width, data(n) || data(d));
  const Interval values = bounds(n);
  if (d.is_constant() && values.lo >= 0 && d.constant() != INT64_MIN) {
    return modulo(n, d.constant() > 0 ? d.constant() : -d.constant());
  }
  const Wide most = std::max(divisors.hi, -divisors.lo) - 1;
  return range({values.lo < 0 ? std::max(values.lo, -most) : 0,
                values.hi > 0 ? std::min(values.hi, most) : 0},
               fresh(n) || fresh(d), data(n) || data(d));
}

Form DomainBuilder::shift_left(const Expr& expr) {
  const Form x = form(expr.operands[0]);
  const Form amount = canonical(form(expr.operands[1]), expr.width, false);
  if (amount.unknown()) return any(expr.width, true);
  const Interval amounts = bounds(amount);
  if (amounts.lo < 0 || amounts.hi >= expr.width || amounts.hi > 61) {
    return any(expr.width, data(amount));
  }
  const Wide low = Wide{1} << static_cast<int>(amounts.lo);
  const Wide high = Wide{1} << static_cast<int>(amounts.hi);
  return product(x, range({low, high}, fresh(amount), data(amount)));
}

Form DomainBuilder::shift_right(const Expr& expr, bool is_signed) {
  const Form x = canonical(form(expr.operands[0]), expr.width, is_signed);
  const Form amount = canonical(form(expr.operands[1]), expr.width, false);
  if (x.unknown() || amount.unknown()) return any(expr.width, true);
  const Interval amounts = bounds(amount);
  if (amounts.lo < 0 || amounts.hi >= expr.width || amounts.hi > 61) {
    return any(expr.width, data(x) || data(amount));
  }
  if (amounts.lo == amounts.hi) {
    return floor_divide(x, int64_t{1} << static_cast<int>(amounts.lo));
  }
  const Interval values = bounds(x);
  const auto shifted = [&](Wide value, Wide by) {
    return affine::floor_divide(value, Wide{1} << static_cast<int>(by));
  };
  return range({values.lo < 0 ? values.lo : shifted(values.lo, amounts.hi),
                values.hi < 0 ? Wide{-1} : shifted(values.hi, amounts.lo)},
               fresh(x) || fresh(amount), data(x) || data(amount));
}

Form DomainBuilder::bits_and(const Form& a, const Form& b, unsigned width) {
  if (a.is_constant() && !b.is_constant()) return bits_and(b, a, width);
  if (b.is_constant()) {
    const uint64_t mask = static_cast<uint64_t>(b.constant()) & mask_of(width);
    if (mask == 0) return Form(0);
    if (mask == mask_of(width)) return a;
    const int low = std::countr_zero(mask);
    const int high = static_cast<int>(std::bit_width(mask));
    if (std::popcount(mask) == high - low && low <= 61) {
      // One run of bits: the low bits of any representative, less those below the run.
      const Form below = low == 0 ? Form(0) : modulo(a, int64_t{1} << low);
      if (high == static_cast<int>(width)) return add(a, below, -1);
      if (high <= 61) return add(modulo(a, int64_t{1} << high), below, -1);
    }
  }
  const Form x = canonical(a, width, false);
  const Form y = canonical(b, width, false);
  if (x.unknown() || y.unknown()) return any(width, true);
  return range({0, std::min(bounds(x).hi, bounds(y).hi)}, fresh(x) || fresh(y), data(x) || data(y));
}

Form DomainBuilder::bits_or(const Form& a, const Form& b, unsigned width, bool exclusive) {
  if (a.is_constant() && !b.is_constant()) return bits_or(b, a, width, exclusive);
  if (a.unknown() || b.unknown()) return any(width, true);
  // Bits that cannot meet: an addition.
  const auto apart = [&](const Form& high, const Form& low) {
    const Interval values = bounds(low);
    return values.lo >= 0 && values.hi < high.power_of_two_divisor();
  };
  if (apart(a, b) || apart(b, a)) return add(a, b, +1);
  if (b.is_constant()) {
    const uint64_t bits = static_cast<uint64_t>(b.constant()) & mask_of(width);
    if (bits == mask_of(width)) return exclusive ? a.times(-1).plus(-1) : Form(-1);
    // An int in newer libraries, of the argument's type in older ones.
    const auto length = static_cast<unsigned>(std::bit_width(bits));
    if (bits == 0) return a;
    if (length < width && length <= 61) {
      // Only the low bits change.
      const Form kept = add(a, modulo(a, int64_t{1} << length), -1);
      const Wide least = exclusive ? Wide{0} : Wide{bits};
      return add(kept, range({least, (Wide{1} << length) - 1}, fresh(a), data(a)), +1);
    }
  }
  const Form x = canonical(a, width, false);
  const Form y = canonical(b, width, false);
  if (x.unknown() || y.unknown()) return any(width, true);
  const Interval p = bounds(x);
  const Interval q = bounds(y);
  return range({exclusive ? Wide{0} : std::max(p.lo, q.lo), bits_up_to(std::max(p.hi, q.hi))},
               fresh(x) || fresh(y), data(x) || data(y));
}

Form DomainBuilder::extreme(const Expr& expr, bool is_signed, Extreme which) {
  std::vector<Form> kept;
  kept.reserve(expr.operands.size());
  for (const uint32_t operand : expr.operands) {
    const Form candidate = canonical(form(operand), expr.width, is_signed);
    if (candidate.unknown()) return any(expr.width, true);
    const auto beats = [&](const Form& a, const Form& b) {  // a decides, whatever b is
      const Interval difference = bounds(add(a, b, -1));
      return which == Extreme::kMin ? difference.hi <= 0 : difference.lo >= 0;
    };
    if (std::any_of(kept.begin(), kept.end(), [&](const Form& f) { return beats(f, candidate); })) {
      continue;
    }
    std::erase_if(kept, [&](const Form& f) { return beats(candidate, f); });
    kept.push_back(candidate);
  }
  if (kept.size() == 1) return kept.front();
  return opaque(which == Extreme::kMin ? SymbolKind::kMin : SymbolKind::kMax, kept);
}

Form DomainBuilder::one_of(const Expr& expr) {
  std::vector<Form> choices;
  choices.reserve(expr.operands.size());
  Wide least = 0;
  Wide most = 0;
  bool apart_by_constants = true;
  for (const uint32_t operand : expr.operands) {
    choices.push_back(form(operand));
    if (choices.back().unknown()) return any(expr.width, true);
    if (choices.size() == 1) continue;
    const Form difference = add(choices.back(), choices.front(), -1);
    if (!difference.is_constant()) {
      apart_by_constants = false;
    } else {
      least = std::min(least, Wide{difference.constant()});
      most = std::max(most, Wide{difference.constant()});
    }
  }
  if (apart_by_constants) return add(choices.front(), range({least, most}, true, false), +1);
  return opaque(SymbolKind::kHull, choices);
}

}  // namespace tutti::scheduler
