// SPDX-License-Identifier: Apache-2.0
// Atomics. Unused results: operations that commute, on elements that many share. Used results: of
// elements that only one work-item touches, or where the answer leaves no trace.
#include <string_view>

#include "sites.h"

namespace tutti::kernel_fuzz {
namespace {

constexpr Type kWords[] = {{"uint", 4}, {"int", 4}};
constexpr Type kLongs[] = {{"ulong", 8}, {"long", 8}};

std::string operand(Builder& b, const Type& type) { return converted(type, b.value()); }

/// An element that many may share.
std::string shared_index(Builder& b, uint64_t count) {
  const std::string n = std::to_string(count);
  switch (b.pick(4)) {
    default:
      return "(" + b.value() + " % " + n + "u)";
    case 1:
      return "((uint)" + b.coordinate(b.pick(b.dims)).text + " % " + b.number(count) + ")";
    case 2:
      return "((uint)" + b.coordinate(b.pick(b.dims)).text + " / " + b.number(1 + b.pick(4)) +
             " % " + n + "u)";
    case 3:
      return b.number(b.pick(static_cast<uint32_t>(count)));
  }
}

void shared(Builder& b, const Type& type) {
  const std::string name = type.size == 8 ? "atom_" : "atomic_";
  const uint64_t count = 1 + b.pick(24);
  const uint32_t kind = b.pick(8);
  Pattern pattern;  // so that cmpxchg finds what it looks for, in some
  pattern.multiplier = 1;
  pattern.modulo = 3;
  const Region region = b.output(type, count, kind == 7 || b.chance(30) ? &pattern : nullptr);
  const std::string p = "AT(" + region.at(shared_index(b, count)) + ")";
  const std::string cast = b.chance(20) ? "(volatile global " + std::string(type.name) + "*)" : "";
  static constexpr const char* kOperations[] = {"min", "max", "and", "or", "xor"};
  const int times = b.chance(25) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    const std::string q = i == 0 ? p : "AT(" + region.at(shared_index(b, count)) + ")";
    switch (kind) {
      default:
        if (b.chance(60)) {
          b.line(name + (b.chance(30) ? "sub" : "add") + "(" + cast + q + ", " + operand(b, type) +
                 ");");
        } else {
          b.line(name + (b.chance(40) ? "dec" : "inc") + "(" + cast + q + ");");
        }
        break;
      case 4:
      case 5: {
        static_assert(sizeof kOperations / sizeof *kOperations == 5);
        // One kind for the region: they commute with themselves alone.
        const char* const which = kOperations[count % 5];
        b.line(name + which + "(" + cast + q + ", " + operand(b, type) + ");");
        break;
      }
      case 6:
        b.line(name + "xchg(" + cast + q + ", " + std::to_string(5 + count) + ");");
        break;
      case 7:
        b.line(name + "cmpxchg(" + cast + q + ", 1, " + std::to_string(5 + count) + ");");
        break;
    }
  }
}

void own(Builder& b, const Type& type) {
  const std::string name = type.size == 8 ? "atom_" : "atomic_";
  const Index index = b.mapped(b.linearised(b.coordinates()));
  const Region region = b.output(type, index.count);
  const std::string p = "AT(" + region.at(index.text) + ")";
  std::string call;
  switch (b.pick(4)) {
    default:
      call = name + "add(" + p + ", " + operand(b, type) + ")";
      break;
    case 1:
      call = name + "xchg(" + p + ", " + operand(b, type) + ")";
      break;
    case 2:
      call = name + "max(" + p + ", " + operand(b, type) + ")";
      break;
    case 3:
      call = name + "inc(" + p + ")";
      break;
  }
  if (b.chance(60)) {
    b.line("ST(" + b.output(type, index.count).at(index.text) + ", " + call + ");");
  } else {
    b.line(call + ";");
  }
}

/// A search that may find nothing, one element, or many: whoever is first to set a bit counts it.
void search(Builder& b) {
  const Index index = b.linearised(b.coordinates());
  Pattern values;
  values.multiplier = 1;
  values.addend = b.pick(100);
  values.modulo = 1 + b.pick(static_cast<uint32_t>(b.items() * (b.chance(50) ? 1 : 4)));
  const uint64_t key = b.pick(static_cast<uint32_t>(values.modulo));
  static constexpr Pattern kZeros = {0, 4, 3, 0, 0, 1};
  const Region data = b.input(kUint, index.count, &values);
  const Region seen = b.output(kUint, 3, &kZeros);
  const std::string bit = b.fresh("b");
  b.open("if (LD(" + data.at(index.text) + ") == " + b.scalar("uint", 4, key) + ")");
  b.line("const uint " + bit + " = 1u << (" + b.value() + " % 32);");
  b.line("if (!(atomic_or(AT(" + seen.at("1") + "), " + bit + ") & " + bit + ")) atomic_inc(AT(" +
         seen.at("2") + "));");
  b.close();
}

}  // namespace

void add_atomics(Builder& b) {
  const Type& type = b.offer.atomics64 && b.chance(25) ? b.one_of(kLongs) : b.one_of(kWords);
  const bool guarded = b.chance(25);
  const uint32_t shape = b.pick(8);
  if (guarded && shape != 5) b.open("if " + b.condition());
  switch (shape) {
    default:
      shared(b, type);
      break;
    case 3:
      own(b, type);
      break;
    case 7:
      search(b);
      break;
    case 4: {  // places given out; what is put there is the same for all
      static constexpr Pattern kZero = {0, 4, 1, 0, 0, 1};
      const Region counter = b.output(kUint, 1, &kZero);
      const Region slots = b.output(kUint, b.items() * kMostLaunches);
      const std::string s = b.fresh("s");
      b.line("const uint " + s + " = atomic_inc(AT(" + counter.at("0") + "));");
      b.line("ST(" + slots.at(s) + ", " + b.number(b.pick(1000)) + ");");
      break;
    }
    case 5: {  // counted in the group, then added up
      if (!b.local_given) {
        if (guarded) b.open("if " + b.condition());
        shared(b, type);
        break;
      }
      const std::string t = b.local_array(8), l = b.fresh("l");
      const std::string n = std::to_string(b.group_items());
      b.line("const uint " + l +
             " = get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * "
             "get_local_id(2));");
      b.line("for (uint i = " + l + "; i < 8; i += " + n + ") " + t + "[i] = 0;");
      b.line("barrier(CLK_LOCAL_MEM_FENCE);");
      b.line("atomic_add(" + t + " + " + b.value() + " % 8, " + b.value(1) + ");");
      b.line("barrier(CLK_LOCAL_MEM_FENCE);");
      const Region total = b.output(kUint, 8);
      b.line("for (uint i = " + l + "; i < 8; i += " + n + ") atomic_add(AT(" + total.at("i") +
             "), " + t + "[i]);");
      return;
    }
  }
  if (guarded) b.close();
}

}  // namespace tutti::kernel_fuzz
