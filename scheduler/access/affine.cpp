// SPDX-License-Identifier: Apache-2.0
#include "scheduler/access/affine.h"

#include <algorithm>
#include <bit>

namespace tutti::scheduler::affine {
namespace {

int bit_length(Wide value) {
  const Wide size = magnitude(value);
  const auto high = static_cast<uint64_t>(size >> 64);
  return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                   : static_cast<int>(std::bit_width(static_cast<uint64_t>(size)));
}

Wide clamp(Wide value) {
  return value < -kInfinity ? -kInfinity : value > kInfinity ? kInfinity : value;
}

}  // namespace

Wide multiply_wide(Wide a, Wide b) {
  if (fits_int64(a) && fits_int64(b)) return clamp(a * b);
  if (a == 0 || b == 0) return 0;
  // The bounds are exact or infinite: what exceeds 126 bits exceeds kInfinity.
  if (bit_length(a) + bit_length(b) <= 126) return clamp(a * b);
  return (a < 0) == (b < 0) ? kInfinity : -kInfinity;
}

Wide floor_divide(Wide a, Wide b) {
  if (a <= -kInfinity || a >= kInfinity) return a;
  if (fits_int64(a) && fits_int64(b)) {
    const auto x = static_cast<int64_t>(a);
    const auto y = static_cast<int64_t>(b);
    return x / y - (x % y < 0 ? 1 : 0);
  }
  return a / b - (a % b < 0 ? 1 : 0);
}

Wide ceil_divide(Wide a, Wide b) { return -floor_divide(-a, b); }

Interval product(const Interval& a, const Interval& b) {
  const auto [least, most] = std::minmax(
      {multiply(a.lo, b.lo), multiply(a.lo, b.hi), multiply(a.hi, b.lo), multiply(a.hi, b.hi)});
  return {least, most};
}

Form& Form::operator=(const Form& other) {
  constant_ = other.constant_;
  count_ = other.count_;
  unknown_ = other.unknown_;
  std::copy_n(other.terms_, other.count_, terms_);
  return *this;
}

Form Form::make_unknown() {
  Form result;
  result.unknown_ = true;
  return result;
}

Form Form::of_symbol(SymbolId symbol, int64_t factor) {
  Form result;
  result.terms_[0] = {symbol, factor};
  result.count_ = 1;
  return result;
}

int64_t Form::factor(SymbolId symbol) const {
  for (const Term& term : *this) {
    if (term.symbol == symbol) return term.factor;
  }
  return 0;
}

int64_t Form::power_of_two_divisor() const {
  uint64_t bits = static_cast<uint64_t>(constant_) | (uint64_t{1} << 62);
  for (const Term& term : *this) bits |= static_cast<uint64_t>(term.factor);
  return int64_t{1} << std::countr_zero(bits);
}

bool Form::append(SymbolId symbol, Wide factor) {
  if (factor == 0) return true;
  if (count_ == kMaxTerms || !fits_int64(factor)) return false;
  terms_[count_++] = {symbol, static_cast<int64_t>(factor)};
  return true;
}

Form Form::combine(const Form& x, Wide a, const Form& y, Wide b) {
  // Factors and constants are 64-bit and so are a and b in every use; their products cannot
  // overflow 128 bits, and the sum of two such products is at most 2^127 − 1 unless all are
  // minimal, which the limit below excludes.
  constexpr Wide kLimit = Wide{1} << 62;
  if (x.unknown_ || y.unknown_ || a > kLimit || a < -kLimit || b > kLimit || b < -kLimit) {
    return make_unknown();
  }
  Form result;
  const Wide constant = a * x.constant_ + b * y.constant_;
  if (!fits_int64(constant)) return make_unknown();
  result.constant_ = static_cast<int64_t>(constant);
  size_t i = 0;
  size_t j = 0;
  while (i < x.count_ || j < y.count_) {
    SymbolId symbol = 0;
    Wide factor = 0;
    if (j == y.count_ || (i < x.count_ && x.terms_[i].symbol < y.terms_[j].symbol)) {
      symbol = x.terms_[i].symbol;
      factor = a * x.terms_[i++].factor;
    } else if (i == x.count_ || y.terms_[j].symbol < x.terms_[i].symbol) {
      symbol = y.terms_[j].symbol;
      factor = b * y.terms_[j++].factor;
    } else {
      symbol = x.terms_[i].symbol;
      factor = a * x.terms_[i++].factor + b * y.terms_[j++].factor;
    }
    if (!result.append(symbol, factor)) return make_unknown();
  }
  return result;
}

Form Form::plus(Wide value) const {
  Form result = *this;
  if (unknown_) return result;
  if (!fits_int64(value) || !fits_int64(value + constant_)) return make_unknown();
  result.constant_ = static_cast<int64_t>(value + constant_);
  return result;
}

Form Form::times(Wide value) const { return combine(*this, value, Form(0), 0); }

Form Form::without(SymbolId symbol) const {
  Form result = *this;
  auto* last = std::remove_if(result.terms_, result.terms_ + result.count_,
                              [&](const Term& term) { return term.symbol == symbol; });
  result.count_ = static_cast<uint8_t>(last - result.terms_);
  return result;
}

bool Form::operator==(const Form& other) const {
  return !unknown_ && !other.unknown_ && constant_ == other.constant_ && count_ == other.count_ &&
         std::equal(begin(), end(), other.begin());
}

}  // namespace tutti::scheduler::affine
