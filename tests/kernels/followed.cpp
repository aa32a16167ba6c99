// SPDX-License-Identifier: Apache-2.0
// Pointers that the kernel finds in shared virtual memory: structures with pointers, lists, tables
// of pointers; and such that it changes there.
#include <numeric>

#include "sites.h"

namespace tutti::kernel_fuzz {
namespace {

constexpr Type kNode = {"Node", 24};
constexpr Type kSlot = {"Slot", 8};
constexpr uint64_t kNext = 0, kData = 8, kValue = 16;  // bytes in a Node

using Pointer = Builder::Pointer;

/// A structure whose `data` has so many elements that nobody knows but it.
void structure(Builder& b) {
  const Index index = b.mapped(b.linearised(b.coordinates()));
  const uint64_t before = b.pick(5);
  const size_t data = b.reached(kUint, before + index.count);
  const Region node = b.linked(kNode, 1, {{kNext, data, 0}, {kData, data, 4 * before}});
  const std::string p = b.fresh("p");
  b.line("global uint* " + p + " = LD(&(" + node.at("0") + ")->data);");
  if (b.chance(60)) {  // written
    const std::string element = p + " + " + index.text;
    const bool in_place = b.chance(40);
    b.line("ST(" + element + ", " + (in_place ? "LD(" + element + ") * 3 + " : "") + b.value() +
           ");");
  } else {
    b.line("ST(" + b.output(kUint, index.count).at(index.text) + ", LD(" + p + " + " + index.text +
           "));");
  }
}

/// A ring of nodes: each work-item goes some steps.
void list(Builder& b) {
  const uint64_t count = 2 + b.pick(6);
  uint64_t step = 1 + b.pick(static_cast<uint32_t>(count));
  while (std::gcd(step, count) != 1) ++step;
  const size_t data = b.reached(kUint, count);
  std::vector<Pointer> links;
  // The region itself is the target that the next linked() makes.
  const size_t self = data + 1;
  for (uint64_t i = 0; i < count; ++i) {
    links.push_back({i * kNode.size + kNext, self, (i + step) % count * kNode.size});
    links.push_back({i * kNode.size + kData, data, 4 * i});
  }
  const Region nodes = b.linked(kNode, count, links);
  const std::string p = b.fresh("node"), s = b.fresh("s"), sum = b.fresh("sum");
  b.line("global Node* " + p + " = " + nodes.at(b.number(b.pick(static_cast<uint32_t>(count)))) +
         ";");
  b.line("uint " + sum + " = 0;");
  b.open("for (uint " + s + " = 0; " + s + " < " + b.value(1) + " % 9; ++" + s + ")");
  b.line(sum + " = " + sum + " * 5 + LD(&" + p + "->value);");
  if (b.chance(40)) b.line(sum + " += LD(LD(&" + p + "->data));");
  b.line(p + " = LD(&" + p + "->next);");
  b.close();
  if (b.chance(30)) {  // the last one is counted
    const Region total = b.output(kUint, 1);
    b.line("atomic_add(AT(" + total.at("0") + "), " + sum + ");");
  } else {
    store_own(b, sum);
  }
}

/// A table of arrays, each work-item's element in one of them.
void table(Builder& b) {
  const Index index = b.linearised(b.coordinates());
  const uint64_t arrays = 1 + b.pick(4);
  std::vector<Pointer> links;
  const size_t one = b.reached(kUint, arrays * index.count);
  for (uint64_t i = 0; i < arrays; ++i) {
    const bool alone = b.chance(30);
    const size_t target = alone ? b.reached(kUint, index.count) : one;
    links.push_back({8 * i, target, alone ? 0 : 4 * i * index.count});
  }
  const Region region = b.linked(kSlot, arrays, links);
  const std::string p = b.fresh("p");
  b.line("global uint* " + p + " = LD(&(" +
         region.at("(" + b.value(1) + " % " + std::to_string(arrays) + "u)") + ")->to);");
  if (b.chance(30)) {
    b.line("atomic_add(AT(" + p + " + " + b.value(1) + " % " + std::to_string(index.count) +
           "u), " + b.value() + ");");
  } else {
    b.line("ST(" + p + " + " + index.text + ", " + b.value() + ");");
  }
}

/// Pointers that the kernel leaves in memory.
void kept(Builder& b) {
  const Index index = b.linearised(b.coordinates());
  std::vector<Pointer> links;
  const size_t data = b.reached(kUint, index.count);
  for (uint64_t i = 0; i < index.count; ++i) links.push_back({8 * i, data, 0});
  const Region slots = b.linked(kSlot, index.count, links);
  const Region node = b.linked(kNode, 1, {{kNext, data, 0}, {kData, data, 0}});
  b.line("ST(&(" + slots.at(index.text) + ")->to, LD(&(" + node.at("0") + ")->data) + " +
         index.text + ");");
  if (b.chance(50)) b.line("ST(LD(&(" + slots.at(index.text) + ")->to), " + b.value() + ");");
}

/// The structure's own fields beside its pointers.
void fields(Builder& b) {
  const Index index = b.linearised(b.coordinates());
  const size_t data = b.reached(kUint, 4);
  std::vector<Pointer> links;
  for (uint64_t i = 0; i < index.count; ++i) {
    links.push_back({i * kNode.size + kNext, data, 0});
    links.push_back({i * kNode.size + kData, data, 4 * (i % 4)});
  }
  const Region nodes = b.linked(kNode, index.count, links);
  static_assert(kValue == 16);
  b.line("ST(&(" + nodes.at(index.text) + ")->value, " + b.value() + ");");
  if (b.chance(50)) {
    b.line("ST(&(" + nodes.at(index.text) + ")->count, LD(LD(&(" + nodes.at(index.text) +
           ")->data)));");
  }
}

}  // namespace

void add_followed(Builder& b) {
  const bool guarded = b.chance(25);
  if (guarded) b.open("if " + b.condition());
  switch (b.pick(6)) {
    default:
      structure(b);
      break;
    case 2:
      list(b);
      break;
    case 3:
      table(b);
      break;
    case 4:
      kept(b);
      break;
    case 5:
      fields(b);
      break;
  }
  if (guarded) b.close();
}

}  // namespace tutti::kernel_fuzz
