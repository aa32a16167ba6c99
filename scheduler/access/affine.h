// SPDX-License-Identifier: Apache-2.0
// Exact and saturating arithmetic of the access evaluator: wide integers, intervals, bands and
// affine forms over numbered symbols. Plain values without allocation, thread-safe as any value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::scheduler::affine {

__extension__ typedef __int128 Wide;

/// A lower bound of −kInfinity or an upper bound of +kInfinity says nothing. Larger magnitudes are
/// clamped to it, on the sound side.
inline constexpr Wide kInfinity = Wide{1} << 100;

inline Wide magnitude(Wide value) { return value < 0 ? -value : value; }

inline bool fits_int64(Wide value) { return value == static_cast<int64_t>(value); }

Wide multiply_wide(Wide a, Wide b);
/// a · b, clamped to ±kInfinity.
inline Wide multiply(Wide a, Wide b) {
  int64_t product = 0;
  if (fits_int64(a) && fits_int64(b) &&
      !__builtin_mul_overflow(static_cast<int64_t>(a), static_cast<int64_t>(b), &product)) {
    return product;
  }
  return multiply_wide(a, b);
}
/// a + b of two lower bounds (side −1) or two upper bounds (side +1).
inline Wide add_bound(Wide a, Wide b, int side) {
  const Wide unbounded = side < 0 ? -kInfinity : kInfinity;
  if (side < 0 ? (a <= unbounded || b <= unbounded) : (a >= unbounded || b >= unbounded)) {
    return unbounded;
  }
  const Wide sum = a + b;
  return sum < -kInfinity ? -kInfinity : sum > kInfinity ? kInfinity : sum;
}
/// ⌊a / b⌋ and ⌈a / b⌉ for b > 0; infinities stay.
Wide floor_divide(Wide a, Wide b);
Wide ceil_divide(Wide a, Wide b);

struct Interval {
  Wide lo = -kInfinity;
  Wide hi = kInfinity;
  bool empty() const { return lo > hi; }
  bool bounded() const { return lo > -kInfinity && hi < kInfinity; }
  bool contains(const Interval& other) const { return lo <= other.lo && other.hi <= hi; }
  bool operator==(const Interval&) const = default;
};

inline Interval intersect(const Interval& a, const Interval& b) {
  return {a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}
inline Interval hull(const Interval& a, const Interval& b) {
  return {a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}
inline Interval sum(const Interval& a, const Interval& b) {
  return {add_bound(a.lo, b.lo, -1), add_bound(a.hi, b.hi, +1)};
}
inline Interval scale(const Interval& a, Wide factor) {
  return factor >= 0 ? Interval{multiply(a.lo, factor), multiply(a.hi, factor)}
                     : Interval{multiply(a.hi, factor), multiply(a.lo, factor)};
}
Interval product(const Interval& a, const Interval& b);

/// The values of something in slice s: step·s + a value of `rest`, for every s of the launch. With
/// step 0 simply an interval.
struct Band {
  Wide step = 0;
  Interval rest;
};

/// Steps beyond this are given up: the band becomes "any value".
inline constexpr Wide kMaxStep = Wide{1} << 62;
inline Band with_step(Wide step, const Interval& rest) {
  return step > kMaxStep || step < -kMaxStep ? Band{} : Band{step, rest};
}
inline Band sum(const Band& a, const Band& b) {
  return with_step(a.step + b.step, sum(a.rest, b.rest));
}
inline Band scale(const Band& a, Wide factor) {
  return with_step(a.step == 0 ? 0 : multiply(a.step, factor), scale(a.rest, factor));
}

using SymbolId = uint16_t;

struct Term {
  SymbolId symbol;
  int64_t factor;
  bool operator==(const Term&) const = default;
};

/// constant + Σ factor·symbol, terms ascending by symbol, no factor zero; or `unknown`: any
/// integer.
class Form {
 public:
  static constexpr size_t kMaxTerms = 10;

  Form() = default;
  explicit Form(int64_t value) : constant_(value) {}
  Form(const Form& other) { *this = other; }
  Form& operator=(const Form& other);

  static Form make_unknown();
  static Form of_symbol(SymbolId symbol, int64_t factor = 1);

  bool unknown() const { return unknown_; }
  bool is_constant() const { return !unknown_ && count_ == 0; }
  int64_t constant() const { return constant_; }
  size_t size() const { return count_; }
  const Term* begin() const { return terms_; }
  const Term* end() const { return terms_ + count_; }
  /// The factor of `symbol`, 0 where absent.
  int64_t factor(SymbolId symbol) const;
  /// The largest power of two, at most 2^62, that divides the constant and every factor.
  int64_t power_of_two_divisor() const;

  /// a·x + b·y; unknown when it does not fit.
  static Form combine(const Form& x, Wide a, const Form& y, Wide b);
  Form plus(Wide value) const;
  Form times(Wide value) const;
  Form without(SymbolId symbol) const;
  /// Adds a term with a symbol above all present ones; false when full or out of range.
  bool append(SymbolId symbol, Wide factor);

  bool operator==(const Form& other) const;

 private:
  int64_t constant_ = 0;
  uint8_t count_ = 0;
  bool unknown_ = false;
  Term terms_[kMaxTerms];
};

}  // namespace tutti::scheduler::affine
