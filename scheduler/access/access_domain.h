// SPDX-License-Identifier: Apache-2.0
// The set of (work-item, loop iteration) pairs that may execute some accesses of a kernel, in
// symbols: ids, loop counters and opaque values, with linear facts about them. Answers the values
// of an affine form over a package, or slice by slice. It grows while DomainBuilder makes it;
// who asks it has it const.
//
// Three kinds of symbols:
//  - ids, three per dimension, tied by gid = offset + L·group + lid;
//  - loop counters of the loops around the accesses;
//  - opaque values, each defined by earlier symbols (⌊R/c⌋, min, product …). A *fresh* one stands
//    for a value that may differ at each use (memory content, the choice of a phi): no fact may
//    mention it, and it never cancels against itself.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "scheduler/access/access_eval.h"
#include "scheduler/access/affine.h"

namespace tutti::scheduler {

/// One dimension of a launch, in numbers that fit signed arithmetic.
struct DimensionShape {
  int64_t offset = 0;
  int64_t local = 1;
  int64_t groups = 1;
};

inline constexpr affine::SymbolId gid_symbol(uint32_t d) { return static_cast<uint16_t>(3 * d); }
inline constexpr affine::SymbolId lid_symbol(uint32_t d) {
  return static_cast<uint16_t>(3 * d + 1);
}
inline constexpr affine::SymbolId group_symbol(uint32_t d) {
  return static_cast<uint16_t>(3 * d + 2);
}
inline constexpr size_t kIdSymbols = 9;
inline constexpr size_t kMaxSymbols = 64;
inline constexpr size_t kMaxFacts = 40;

enum class SymbolKind : uint8_t {
  kId,
  kLoop,
  kRange,     // any value of its launch interval
  kFloorDiv,  // ⌊operand / divisor⌋
  kTruncDiv,  // operand / operand, towards zero; the second excludes 0
  kProduct,   // operand · operand
  kMin,
  kMax,
  kHull,  // one of the operands
  kWrap,  // the operand's canonical value in `width` bits
};

struct Symbol {
  SymbolKind kind = SymbolKind::kRange;
  uint8_t width = 64;
  bool is_signed = false;
  bool fresh = false;
  bool data = false;  // because something is not known before the launch (memory content …)
  uint32_t first_operand = 0;
  uint32_t operands = 0;
  int64_t divisor = 1;
};

enum class FactOrigin : uint8_t { kDefinition, kLoop, kGuard };

/// form ≥ 0 for everything that executes the accesses.
struct Fact {
  affine::Form form;
  FactOrigin origin = FactOrigin::kGuard;
  affine::SymbolId defines = 0;  // for kDefinition: the opaque symbol, 0 for a consequence
};

/// Another way to bound a form: divisor·form ≤ `form` (upper) or ≥ (lower).
struct Alternate {
  affine::Form form;
  int64_t divisor = 1;
  bool upper = true;
};

class AccessDomain {
 public:
  struct Values {
    Values() {}  // set symbol by symbol: most of the table is never used
    union {
      affine::Band of[kMaxSymbols];
    };
  };

  // Growing. An answer without a symbol: the table of symbols is full.

  /// The ids and the loops' counters, which have any value in [0, `most_iterations`).
  void begin(const DimensionShape (&shape)[3], size_t loops, affine::Wide most_iterations);
  /// A symbol of any value in the interval.
  std::optional<affine::SymbolId> add_range(const affine::Interval& values, bool fresh, bool data);
  /// Another symbol that may have the values of this one.
  std::optional<affine::SymbolId> add_like(affine::SymbolId symbol);
  /// An opaque symbol of that kind, divisor and width with these operands, if it is there.
  std::optional<affine::SymbolId> find_opaque(const Symbol& symbol,
                                              std::span<const affine::Form> operands) const;
  std::optional<affine::SymbolId> add_opaque(Symbol symbol, std::span<const affine::Form> operands);
  /// Narrows the launch's values by form ≥ 0. False: a guard's fact that cannot be kept.
  bool add_fact(const Fact& fact);
  void bound_loop(size_t position, const affine::Form& last) { loop_last_[position] = last; }
  /// Narrows a symbol's values in the launch.
  void narrow(affine::SymbolId symbol, const affine::Interval& values);
  void mark_dead() { dead_ = true; }
  void mark_guards_inexact() { guards_exact_ = false; }
  /// Narrows the launch's values by all facts until nothing changes.
  void settle();

  // Asking.

  /// Nothing executes the accesses in this launch.
  bool dead() const { return dead_; }
  /// The guards' facts are equivalent to the guards, not only implied by them.
  bool guards_exact() const { return guards_exact_; }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  /// Facts over two symbols or more.
  const std::vector<Fact>& facts() const { return facts_; }
  /// Facts over one symbol from guards: they have already narrowed the launch's values.
  const std::vector<affine::Form>& clips() const { return clips_; }
  /// The greatest value of a loop's counter; unknown where it is not bounded.
  const affine::Form& loop_last(size_t position) const { return loop_last_[position]; }
  const DimensionShape& shape(uint32_t d) const { return shape_[d]; }
  size_t loop_count() const { return loop_count_; }
  const Values& launch_values() const { return launch_; }

  /// Symbols' values in slices [first, first + count) of `dimension`; false: nothing executes
  /// there.
  bool package_values(uint32_t dimension, uint64_t first, uint64_t count, Values& values) const;
  /// Narrows a package's values to those at which the symbol has this one; false: there are none.
  bool fix(affine::SymbolId symbol, affine::Wide value, Values& values) const;
  /// Symbols' values as functions of the slice index along `dimension`.
  void slice_values(uint32_t dimension, Values& values) const;

  affine::Band band(const Values& values, const affine::Form& form) const;
  affine::Band band(const Values& values, const affine::Form& form,
                    const std::vector<Alternate>& alternates) const;
  /// Narrows a form's band by an alternative of the form.
  void tighten(const Values& values, const Alternate& alternate, affine::Band& result) const;
  /// What the facts add to the bounds of `form`, by eliminating one symbol each.
  void alternates(const affine::Form& form, std::vector<Alternate>& out) const;

 private:
  affine::Band dimension_band(const Values& values, uint32_t d, int64_t gid, int64_t lid,
                              int64_t group) const;
  affine::Band define(const Values& values, affine::SymbolId symbol) const;
  /// The tie between the ids of a dimension; false when some interval became empty.
  bool relate_ids(Values& values, uint32_t d) const;
  bool apply_fact(const affine::Form& form, Values& values) const;
  bool settle_values(Values& values) const;

  DimensionShape shape_[3];
  std::vector<Symbol> symbols_;
  std::vector<affine::Form> operands_;
  std::vector<Fact> facts_;
  std::vector<affine::Form> clips_;
  std::vector<affine::Form> loop_last_;
  Values launch_;
  size_t loop_count_ = 0;
  bool dead_ = false;
  bool guards_exact_ = true;
};

}  // namespace tutti::scheduler
