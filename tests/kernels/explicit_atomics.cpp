// SPDX-License-Identifier: Apache-2.0
// OpenCL C 3.0's atomics on integers of 32 and 64 bits, with an order and a scope.
#include "sites.h"

namespace tutti::kernel_fuzz {
namespace {

constexpr Type kNumbers[] = {{"uint", 4}, {"int", 4}};
constexpr Type kWide[] = {{"ulong", 8}, {"long", 8}};

struct Place {
  Type type;
  Index index;
  std::string text;     // of the index
  std::string pointer;  // atomic
};

Place place_of(Builder& b, bool own) {
  Place place;
  place.type = b.offer.atomics64 && b.chance(35) ? b.one_of(kWide) : b.one_of(kNumbers);
  place.index = own ? b.mapped(b.linearised(b.coordinates())) : Index{"", 1 + b.pick(16)};
  place.text =
      own ? place.index.text : "(" + b.value() + " % " + std::to_string(place.index.count) + "u)";
  place.pointer = "(volatile global atomic_" + std::string(place.type.name) + "*)AT(" +
                  b.output(place.type, place.index.count).at(place.text) + ")";
  return place;
}

void shared(Builder& b) {
  const Place place = place_of(b, false);
  static constexpr const char* kOperations[] = {"add", "sub", "or", "xor", "and", "min", "max"};
  const std::string call = "atomic_fetch_" + std::string(b.one_of(kOperations)) + "_explicit(";
  const int times = b.chance(20) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    b.line(call + place.pointer + ", " + converted(place.type, b.value()) + order_and_scope(b) +
           ");");
  }
}

/// All store the same.
void stored(Builder& b) {
  const Place place = place_of(b, false);
  const std::string value = std::to_string(3 + place.index.count);
  const bool store = b.chance(50);
  b.line(store ? "atomic_store_explicit(" + place.pointer + ", " + value +
                     ", memory_order_relaxed, memory_scope_device);"
               : "atomic_exchange_explicit(" + place.pointer + ", " + value + order_and_scope(b) +
                     ");");
}

void own(Builder& b) {
  const Place place = place_of(b, true);
  static constexpr const char* kOperations[] = {"fetch_add", "exchange", "fetch_max", "fetch_xor"};
  std::string scope = order_and_scope(b);
  if (b.chance(30)) scope = ", memory_order_relaxed, memory_scope_work_group";
  const std::string call = "atomic_" + std::string(b.one_of(kOperations)) + "_explicit(" +
                           place.pointer + ", " + converted(place.type, b.value()) + scope + ")";
  if (b.chance(60)) {
    b.line("ST(" + b.output(place.type, place.index.count).at(place.index.text) + ", " + call +
           ");");
  } else {
    b.line(call + ";");
  }
}

/// A loop around compare-and-exchange, which says itself what it found.
void exchanged(Builder& b) {
  const Place place = place_of(b, false);
  const std::string type = place.type.name;
  const std::string p = b.fresh("p"), expected = b.fresh("e"), v = b.fresh("v");
  static constexpr const char* kNext[] = {" + ", " ^ ", " * ", " | "};
  b.line("volatile global atomic_" + type + "* const " + p + " = " + place.pointer + ";");
  b.line("const " + type + " " + v + " = " + converted(place.type, b.value()) + ";");
  b.line(type + " " + expected + " = " +
         (b.chance(50)
              ? "0"
              : "atomic_load_explicit(" + p + ", memory_order_relaxed, memory_scope_device)") +
         ";");
  const std::string which = b.chance(50) ? "strong" : "weak";
  b.line("while (!atomic_compare_exchange_" + which + "_explicit(" + p + ", &" + expected + ", " +
         expected + b.one_of(kNext) + v +
         ", memory_order_relaxed, memory_order_relaxed, memory_scope_device)) {}");
}

}  // namespace

void add_explicit_atomics(Builder& b) {
  b.language_3 = true;
  const bool guarded = b.chance(25);
  if (guarded) b.open("if " + b.condition());
  switch (b.pick(6)) {
    default:
      shared(b);
      break;
    case 3:
      own(b);
      break;
    case 4:
      stored(b);
      break;
    case 5:
      exchanged(b);
      break;
  }
  if (guarded) b.close();
}

}  // namespace tutti::kernel_fuzz
