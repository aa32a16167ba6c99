// SPDX-License-Identifier: Apache-2.0
// Loops of compare-and-exchange, as programs write them for atomics that OpenCL C does not have.
// The updates commute. Floating-point numbers are small whole ones, whose sums are exact; none of
// them is -0.
#include <string_view>

#include "sites.h"

namespace tutti::kernel_fuzz {
namespace {

/// What the loop exchanges, and what it means by that.
struct Number {
  Type bits;         // uint, int, ulong …
  const char* real;  // "float", "double"; empty: the bits themselves
  bool wide() const { return bits.size == 8; }
  bool is_real() const { return *real != '\0'; }
  std::string name() const { return is_real() ? real : bits.name; }
  std::string from_bits(const std::string& text) const {
    return is_real() ? "as_" + std::string(real) + "(" + text + ")" : text;
  }
  std::string to_bits(const std::string& text) const {
    return is_real() ? "as_" + std::string(bits.name) + "(" + text + ")" : text;
  }
};

Number number_of(Builder& b) {
  static constexpr Number kNumbers[] = {{{"uint", 4}, ""},
                                        {{"int", 4}, ""},
                                        {{"uint", 4}, "float"},
                                        {{"int", 4}, "float"},
                                        {{"uint", 4}, "float"}};
  static constexpr Number kWide[] = {
      {{"ulong", 8}, ""}, {{"long", 8}, ""}, {{"ulong", 8}, "double"}, {{"long", 8}, "double"}};
  if (!b.offer.atomics64 || !b.chance(20)) return b.one_of(kNumbers);
  return kWide[b.pick(b.offer.fp64 ? 4 : 2)];
}

enum class Update { kAdd, kMin, kMax, kMultiply, kSaturate, kXor, kWrap };

struct Loop {
  Number number;
  Update update = Update::kAdd;
  std::string pointer;  // a variable
  std::string operand;  // a variable
  std::string next(const std::string& old) const;
};

std::string Loop::next(const std::string& old) const {
  const std::string value = number.from_bits(old);
  switch (update) {
    case Update::kAdd:
      return number.to_bits("(" + value + " + " + operand + ")");
    case Update::kMin:
    case Update::kMax: {
      const std::string which = update == Update::kMin ? "min" : "max";
      return number.to_bits((number.is_real() ? "f" + which : which) + "(" + value + ", " +
                            operand + ")");
    }
    case Update::kMultiply:
      return "(" + value + " * " + operand + ")";
    case Update::kSaturate:
      return "add_sat(" + value + ", " + operand + ")";
    case Update::kXor:
      return "(" + value + " ^ " + operand + ")";
    case Update::kWrap:
      return "(" + value + " >= 5 ? 0 : " + value + " + 1)";
  }
  return old;
}

Update update_of(Builder& b, const Number& number) {
  const std::string_view bits = number.bits.name;
  static constexpr Update kReal[] = {Update::kAdd, Update::kMin, Update::kMax};
  static constexpr Update kWhole[] = {Update::kAdd,      Update::kMin, Update::kMax,
                                      Update::kMultiply, Update::kXor, Update::kSaturate,
                                      Update::kWrap};
  if (number.is_real()) return b.one_of(kReal);
  // Saturating and wrapping, signed numbers do not commute.
  return kWhole[b.pick(bits[0] == 'u' ? 7 : 5)];
}

std::string operand_of(Builder& b, const Number& number, Update update) {
  if (!number.is_real()) return converted(number.bits, b.value());
  const std::string real = number.real;
  if (update == Update::kAdd) return "(" + real + ")((int)(" + b.value() + " & 63u) - 20)";
  return "(" + real + ")((int)(" + b.value() + " & 0xffffu) - 30000) * 0.5f";
}

/// What is there before the first update: the same number everywhere.
Pattern initial(Builder& b, const Number& number) {
  static constexpr uint64_t kWhole[] = {0, 1, 100000, 0xfffffff0};
  static constexpr uint64_t kFloat[] = {0, 0x3f800000, 0xc0a00000, 0x41200000};
  static constexpr uint64_t kDouble[] = {0, 0x3ff0000000000000, 0xc014000000000000,
                                         0x4024000000000000};
  Pattern pattern;
  pattern.addend = b.one_of(!number.is_real() ? kWhole : number.wide() ? kDouble : kFloat);
  pattern.modulo = ~uint64_t{0};
  return pattern;
}

/// The loop itself; afterwards `old` is what was there before the update.
void write_loop(Builder& b, const Loop& loop, const std::string& old) {
  const std::string bits = loop.number.bits.name;
  const std::string& p = loop.pointer;
  const std::string compare = loop.number.wide() ? "atom_cmpxchg" : "atomic_cmpxchg";
  const std::string seen = b.fresh("seen");
  switch (b.pick(7)) {
    default:
      b.line(bits + " " + old + " = *" + p + ", " + seen + ";");
      b.open("do");
      b.line(seen + " = " + old + ";");
      b.line(old + " = " + compare + "(" + p + ", " + seen + ", " + loop.next(seen) + ");");
      b.close();
      b.line("while (" + old + " != " + seen + ");");
      break;
    case 1:  // from a guess
      b.line(bits + " " + old + " = " + b.number(b.pick(3)) + ";");
      b.open("for (;;)");
      b.line("const " + bits + " " + seen + " = " + compare + "(" + p + ", " + old + ", " +
             loop.next(old) + ");");
      b.line("if (" + seen + " == " + old + ") break;");
      b.line(old + " = " + seen + ";");
      b.close();
      break;
    case 2:  // read again each time
      b.line(bits + " " + old + ", " + seen + ";");
      b.open("do");
      b.line(old + " = *" + p + ";");
      b.line(seen + " = " + loop.next(old) + ";");
      b.close();
      b.line("while (" + compare + "(" + p + ", " + old + ", " + seen + ") != " + old + ");");
      break;
    case 3: {  // a union
      const std::string u = b.fresh("u");
      b.line("union { " + bits + " bits; " + loop.number.name() + " value; } " + u + ";");
      b.line(bits + " " + old + ";");
      b.open("do");
      b.line(old + " = *" + p + ";");
      b.line(u + ".bits = " + old + ";");
      b.line(u + ".value = " + loop.number.from_bits(loop.next(u + ".bits")) + ";");
      b.close();
      b.line("while (" + compare + "(" + p + ", " + old + ", " + u + ".bits) != " + old + ");");
      break;
    }
    case 4: {  // read by an atomic that changes nothing
      const std::string read = loop.number.wide() ? "atom_add" : "atomic_or";
      b.line(bits + " " + old + " = " + read + "(" + p + ", 0), " + seen + ";");
      b.line("while ((" + seen + " = " + compare + "(" + p + ", " + old + ", " + loop.next(old) +
             ")) != " + old + ") " + old + " = " + seen + ";");
      break;
    }
    case 5: {  // nothing to do, at times
      if (loop.update != Update::kMin && loop.update != Update::kMax) {
        b.line(bits + " " + old + ";");
        b.line("do " + old + " = *" + p + "; while (" + compare + "(" + p + ", " + old + ", " +
               loop.next(old) + ") != " + old + ");");
        break;
      }
      b.line(bits + " " + old + " = *" + p + ", " + seen + ";");
      b.open("while (" + loop.operand + (loop.update == Update::kMin ? " < " : " > ") +
             loop.number.from_bits(old) + ")");
      b.line(seen + " = " + compare + "(" + p + ", " + old + ", " +
             loop.number.to_bits(loop.operand) + ");");
      b.line("if (" + seen + " == " + old + ") break;");
      b.line(old + " = " + seen + ";");
      b.close();
      break;
    }
    case 6: {  // a function
      const std::string name = b.fresh("update_") + "_$";
      const std::string real = loop.number.name();
      Loop inner = loop;
      inner.pointer = "p";
      inner.operand = "v";
      static constexpr const char* kInline[] = {"", "__attribute__((noinline)) ", "inline static "};
      b.function(std::string(b.one_of(kInline)) + bits + " " + name + "(volatile global " + bits +
                 "* p, " + real + " v) {\n  " + bits + " old, next;\n  do {\n    old = *p;\n    " +
                 "next = " + inner.next("old") + ";\n  } while (" + compare +
                 "(p, old, next) != old);\n  return old;\n}\n");
      b.line("const " + bits + " " + old + " = " + name + "(" + p + ", " + loop.operand + ");");
      break;
    }
  }
}

}  // namespace

void add_exchange_loop(Builder& b) {
  Loop loop;
  loop.number = number_of(b);
  loop.update = update_of(b, loop.number);
  const bool own = b.chance(20);
  const Index index = own ? b.mapped(b.linearised(b.coordinates())) : Index{"", 1 + b.pick(12)};
  const std::string at = own ? index.text
                         : b.chance(30)
                             ? b.number(b.pick(static_cast<uint32_t>(index.count)))
                             : "(" + b.value() + " % " + std::to_string(index.count) + "u)";
  const Pattern pattern = initial(b, loop.number);
  // The buffer's elements may be numbers as well as their bits.
  static constexpr Type kReal[] = {{"float", 4}, {"double", 8}};
  const Type& type =
      loop.number.is_real() && b.chance(60) ? kReal[loop.number.wide() ? 1 : 0] : loop.number.bits;
  const Region region = b.output(type, index.count, &pattern);
  const bool guarded = b.chance(25);
  if (guarded) b.open("if " + b.condition());
  const std::string pointer = "volatile global " + std::string(loop.number.bits.name) + "*";
  loop.pointer = b.fresh("p");
  loop.operand = b.fresh("v");
  b.line("const " + loop.number.name() + " " + loop.operand + " = " +
         operand_of(b, loop.number, loop.update) + ";");
  b.line(pointer + " const " + loop.pointer + " = (" + pointer + ")AT(" + region.at(at) + ");");
  const std::string old = b.fresh("old");
  if (loop.number.is_real() && !loop.number.wide() && loop.update == Update::kAdd && b.chance(15)) {
    // By exchanges alone: what is taken out is put back with the sum.
    b.line("float " + old + " = " + loop.operand + ";");
    const std::string real = "(volatile global float*)" + loop.pointer;
    b.line("while ((" + old + " = atomic_xchg(" + real + ", atomic_xchg(" + real + ", 0.0f) + " +
           old + ")) != 0.0f);");
  } else {
    write_loop(b, loop, old);
    if (own && b.chance(60)) {
      b.line("ST(" + b.output(loop.number.bits, index.count).at(index.text) + ", " + old + ");");
    }
  }
  if (guarded) b.close();
}

}  // namespace tutti::kernel_fuzz
