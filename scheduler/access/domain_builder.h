// SPDX-License-Identifier: Apache-2.0
// Turns expressions, guards and loops of an access summary into affine forms and facts for one
// launch. Expressions are modulo 2^width: a form is *some* representative, and wherever the
// canonical value is needed (extensions, division, comparisons) it is established from the bounds
// known so far, or becomes an opaque value of the type's range. Used by one thread, during one
// evaluation; keeps its scratch memory from domain to domain.
#pragma once

#include <optional>
#include <span>

#include "scheduler/access/access_domain.h"

namespace tutti::scheduler {

class DomainBuilder {
 public:
  DomainBuilder(const KernelSummary& summary, const LaunchShape& shape,
                std::span<const ArgumentValue> arguments);

  /// Starts a domain: the accesses with these guards inside these loops.
  void begin(AccessDomain& domain, const std::vector<Guard>& guards,
             const std::vector<uint32_t>& loops);
  /// The byte offset as a signed number, in the domain begun last.
  affine::Form offset(uint32_t expr);

 private:
  using Form = affine::Form;
  using Interval = affine::Interval;
  using SymbolId = affine::SymbolId;
  enum class Extreme { kMin, kMax };

  // Expressions.
  Form form(uint32_t expr);
  Form build(const Expr& expr);
  Form id(const Expr& expr);
  Form argument(const Expr& expr);
  Form loop_counter(const Expr& expr);
  Form division(const Expr& expr, bool is_signed);
  Form remainder(const Expr& expr, bool is_signed);
  Form shift_left(const Expr& expr);
  Form shift_right(const Expr& expr, bool is_signed);
  Form bits_and(const Form& a, const Form& b, unsigned width);
  Form bits_or(const Form& a, const Form& b, unsigned width, bool exclusive);
  Form extreme(const Expr& expr, bool is_signed, Extreme which);
  Form one_of(const Expr& expr);

  // Forms.
  Form add(const Form& a, const Form& b, int sign);
  Form product(const Form& a, const Form& b);
  Form floor_divide(const Form& n, int64_t divisor);
  Form floor_divide_rest(const Form& rest, int64_t divisor);
  Form modulo(const Form& n, int64_t divisor);
  /// Fewest symbols among gid, lid and group of each dimension.
  Form normalise(const Form& form) const;
  /// The canonical value in `width` bits, an opaque one where the bounds do not tell it.
  Form canonical(const Form& form, unsigned width, bool is_signed);
  /// The same, or false; with `wanted` only the values in it are considered.
  bool resolve(const Form& form, unsigned width, bool is_signed, const Interval* wanted, Form& out);

  Form any(unsigned width, bool data);
  Form range(const Interval& interval, bool fresh, bool data);
  Form opaque(SymbolKind kind, std::span<const Form> operands, int64_t divisor = 1,
              unsigned width = 64, bool is_signed = false);
  bool fresh(const Form& form) const;
  bool data(const Form& form) const;
  Interval bounds(const Form& form);

  // Facts.
  bool loop(size_t position);
  void guard(const Guard& guard);
  void order(const Form& less, const Form& greater, bool strict, unsigned width, bool is_signed);
  void equality(const Form& a, const Form& b, unsigned width, bool equal);
  void add_guard_fact(const Form& form);
  void add_fact(const Form& form, FactOrigin origin, SymbolId defines = 0);
  void derive(const Form& form, int depth);
  void not_representable() { domain_->mark_guards_inexact(); }

  const KernelSummary& summary_;
  const LaunchShape& shape_;
  std::span<const ArgumentValue> arguments_;
  AccessDomain* domain_ = nullptr;
  const std::vector<uint32_t>* loops_ = nullptr;
  std::vector<int32_t> memo_;  // expression → index into forms_, or −1
  std::vector<Form> forms_;
  std::vector<Alternate> alternates_;
  int depth_ = 0;
  bool improvable_ = false;  // a form was made opaque that a later guard may resolve
};

}  // namespace tutti::scheduler
