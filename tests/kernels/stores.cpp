// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sites.h"

namespace tutti::kernel_fuzz {
namespace {

/// A loop that gives one more coordinate, or takes the place of one.
void open_loop(Builder& b, std::vector<Index>& coordinates) {
  const std::string j = b.fresh("j");
  const uint64_t count = 1 + b.pick(4);
  switch (b.pick(8)) {
    default:
      b.open("for (int " + j + " = 0; " + j + " < " + b.number(count) + "; ++" + j + ")");
      coordinates.push_back({j, count});
      break;
    case 1:
      b.open("for (uint " + j + " = " + b.number(count) + "; " + j + "-- > 0;)");
      coordinates.push_back({j, count});
      break;
    case 2:
      b.open("for (long " + j + " = 0; " + j + " <= " + b.number(2 * count - 1) + "; " + j +
             " += 2)");
      coordinates.push_back({j, 2 * count});
      break;
    case 3: {  // as far as the data says
      const uint64_t n = b.global[0] + b.offset[0];
      Pattern pattern;
      pattern.multiplier = 1 + b.pick(5);
      pattern.modulo = count + 1;
      const Region counts = b.input(kUint, n, &pattern);
      b.open("for (uint " + j + " = 0; " + j + " < LD(" + counts.at("get_global_id(0)") + "); ++" +
             j + ")");
      coordinates.push_back({j, count});
      break;
    }
    case 4: {  // grid-stride, in place of dimension 0's coordinates
      if (b.dims != 1) {
        b.open("for (int " + j + " = 0; " + j + " != " + b.number(count) + "; " + j + "++)");
        coordinates.push_back({j, count});
        break;
      }
      const uint64_t n = b.global[0] + b.pick(static_cast<uint32_t>(2 * b.global[0]));
      b.open("for (uint " + j + " = get_global_id(0) - get_global_offset(0); " + j + " < " +
             b.number(n) + "; " + j + " += get_global_size(0))");
      coordinates = {{j, n}};
      break;
    }
    case 5: {  // a group's items share rows
      if (b.dims != 1 || !b.local_given) {
        b.open("for (uchar " + j + " = 0; " + j + " < " + b.number(count) + "; ++" + j + ")");
        coordinates.push_back({j, count});
        break;
      }
      b.uses_group = true;
      const uint64_t n = b.local[0] + b.pick(9);
      b.open("for (int " + j + " = get_local_id(0); " + j + " < " + b.number(n) + "; " + j +
             " += get_local_size(0))");
      coordinates = {{"(int)get_group_id(0)", b.groups(0)}, {j, n}};
      break;
    }
    case 6:
      b.line("int " + j + " = -1;");
      b.open("while (++" + j + " < " + b.number(count) + ")");
      if (b.chance(30)) b.line("if " + b.condition() + " continue;");
      if (b.chance(30)) b.line("if " + b.condition() + " break;");
      coordinates.push_back({j, count});
      break;
  }
  b.leaves.push_back("(uint)" + j);
}

/// One element, or a few, at an index of its own.
void store_scalar(Builder& b, const Type& type, const Index& index) {
  Region region = b.output(type, index.count);
  const std::string p = region.at(index.text);
  switch (b.pick(10)) {
    default:
      b.line("ST(" + p + ", " + converted(type, b.value()) + ");");
      break;
    case 1: {  // in place
      const std::string old = as_uint(type, "LD(" + p + ")");
      b.line("ST(" + p + ", " + converted(type, old + " * 3 + " + b.value()) + ");");
      break;
    }
    case 2: {  // through a function
      const std::string name = b.fresh("put_") + "_$";
      static constexpr const char* kInline[] = {"", "__attribute__((noinline)) ", "inline static "};
      const std::string t = type.name;
      b.function(std::string(b.one_of(kInline)) + "void " + name + "(global " + t + "* p, int i, " +
                 t + " v FN_P) { ST(p + i, v); }\n");
      b.line(name + "(" + region.buffer + " + " + region.base + ", " + index.text + ", " +
             converted(type, b.value()) + " FN_A);");
      break;
    }
    case 3: {  // a pointer
      const std::string name = b.fresh("p");
      b.line("global " + std::string(type.name) + "* " + name + " = " + region.buffer + " + " +
             region.base + ";");
      b.line(name + " += " + index.text + ";");
      b.line("ST(" + name + ", " + converted(type, b.value()) + ");");
      break;
    }
    case 4: {  // one of two places
      const Region other = b.output(type, index.count);
      const std::string name = b.fresh("p");
      b.line("global " + std::string(type.name) + "* " + name + " = " + b.condition() + " ? " +
             region.buffer + " + " + region.base + " : " + other.buffer + " + " + other.base + ";");
      b.line("ST(" + name + " + " + index.text + ", " + converted(type, b.value()) + ");");
      break;
    }
    case 5:  // twice, the second only at times
      b.line("ST(" + p + ", " + converted(type, b.value()) + ");");
      b.line("if " + b.condition() + " ST(" + p + ", " + converted(type, b.value(1)) + ");");
      break;
    case 6: {  // both ways
      b.open("switch (" + b.value(1) + " % 3)");
      b.line("case 0: ST(" + p + ", " + converted(type, b.value(1)) + "); break;");
      b.line("case 2: ST(" + b.output(type, index.count).at(index.text) + ", " +
             converted(type, b.value(1)) + "); break;");
      b.line("default: break;");
      b.close();
      break;
    }
    case 8:  // what is there, at times
      b.line("ST(" + p + ", " + b.condition() + " ? " + converted(type, b.value(1)) + " : LD(" + p +
             "));");
      if (b.chance(50)) b.line("ST(" + p + ", LD(" + p + "));");
      break;
    case 7: {  // a pointer carried through a loop
      const uint64_t each = 1 + b.pick(4);
      region = b.output(type, index.count * each);
      const std::string q = b.fresh("q"), end = b.fresh("e");
      b.line("global " + std::string(type.name) + "* " + q + " = " + region.buffer + " + " +
             region.base + " + " + index.text + " * " + b.number(each) + ";");
      b.line("global " + std::string(type.name) + "* const " + end + " = " + q + " + " +
             b.number(each) + ";");
      b.line("for (; " + q + " != " + end + "; ++" + q + ") ST(" + q + ", " +
             converted(type, b.value(1)) + ");");
      break;
    }
  }
}

void store_vector(Builder& b, const Index& index) {
  static constexpr Type kElements[] = {{"uint", 4}, {"uchar", 1}, {"ushort", 2},
                                       {"int", 4},  {"float", 4}, {"ulong", 8}};
  const Type& type = b.one_of(kElements);
  static constexpr uint32_t kWidths[] = {4, 2, 8, 3};
  const uint32_t n = b.one_of(kWidths);
  const std::string width = std::to_string(n);
  const auto vector = [&] {
    std::string text = "(" + std::string(type.name) + width + ")(";
    for (uint32_t i = 0; i < n; ++i)
      text += (i == 0 ? "" : ", ") + converted(type, i < 2 ? b.value(1) : std::to_string(7 * i));
    return text + ")";
  };
  if (n == 3 || b.chance(50)) {
    const Region region = b.output(type, index.count * n);
    b.line("VST(" + width + ", " + vector() + ", (" + index.text + "), (" + region.buffer + " + " +
           region.base + "));");
    return;
  }
  // Names of vector types are of static storage: types are compared and kept by their names.
  static constexpr Type kVectors[] = {{"uint4", 16}, {"uchar2", 2},  {"ushort8", 16},
                                      {"uint2", 8},  {"ulong2", 16}, {"float4", 16}};
  const Type& whole = b.one_of(kVectors);
  const std::string name = whole.name;
  const std::string element = name.substr(0, name.size() - 1);
  const auto lanes = static_cast<uint32_t>(name.back() - '0');
  const Type lane = {element.c_str(), whole.size / lanes};
  const Region region = b.output(whole, index.count);
  const std::string p = region.at(index.text);
  if (b.chance(30)) {
    const uint32_t i = b.pick(lanes);
    b.line("STC(" + p + ", s" + std::to_string(i) + ", " + std::to_string(i) + ", " +
           converted(lane, b.value()) + ");");
  } else {
    b.line("ST(" + p + ", (" + name + ")(" + converted(lane, b.value()) + "));");
  }
}

void store_struct(Builder& b, const Index& index) {
  // Without holes where whole structures are copied: what those become is nobody's business.
  static constexpr Type kStructs[] = {{"Packed", 12}, {"Holes", 12}, {"Nested", 24}};
  const Type& type = b.one_of(kStructs);
  const Region region = b.output(type, index.count);
  const std::string p = region.at(index.text);
  const std::string name = type.name;
  if (name == "Packed") {
    if (b.chance(40)) {
      const Region from = b.input(type, index.count);
      b.line("ST(" + p + ", LD(" + from.at(index.text) + "));");
      return;
    }
    if (b.chance(70)) b.line("ST(&(" + p + ")->a, " + b.value() + ");");
    if (b.chance(70))
      b.line("ST(&(" + p + ")->b[" + b.number(b.pick(2)) + "], (short)" + b.value(1) + ");");
    b.line("ST(&(" + p + ")->c[" + b.value(1) + " & 3], (uchar)" + b.value(1) + ");");
  } else if (name == "Holes") {
    b.line("ST(&(" + p + ")->b, " + b.value() + ");");
    if (b.chance(60)) b.line("ST(&(" + p + ")->a, (uchar)" + b.value(1) + ");");
    if (b.chance(60))
      b.line("if " + b.condition() + " ST(&(" + p + ")->c, (short)" + b.value(1) + ");");
  } else {
    b.line("for (int f = 0; f < " + b.number(1 + b.pick(2)) + "; ++f) ST(&(" + p +
           ")->inner[f].a, " + b.value(1) + " + f);");
    if (b.chance(50)) b.line("ST(&(" + p + ")->inner[1].c[2], (uchar)" + b.value(1) + ");");
  }
}

}  // namespace

void add_stores(Builder& b) {
  std::vector<Index> coordinates = b.coordinates();
  const size_t leaves = b.leaves.size();
  int opened = 0;
  if (b.chance(30)) {
    b.open("if " + b.condition());
    ++opened;
  }
  if (b.chance(12)) {  // one of the work-items along a coordinate
    const auto which = b.pick(static_cast<uint32_t>(coordinates.size()));
    const Index chosen = coordinates[which];
    coordinates.erase(coordinates.begin() + which);
    b.open("if (" + chosen.text + " == " + b.number(b.pick(static_cast<uint32_t>(chosen.count))) +
           ")");
    ++opened;
  } else if (b.chance(40)) {
    open_loop(b, coordinates);
    ++opened;
    if (b.chance(25) && coordinates.size() > 1) {
      const std::string j = b.fresh("j");
      const uint64_t count = 1 + b.pick(3);
      const std::string& outer = coordinates.back().text;
      // A triangle, at times.
      const bool triangle = b.chance(30);
      b.open("for (int " + j + " = 0; " + j + " < " + b.number(count) +
             (triangle ? " && " + j + " <= (int)" + outer : "") + "; ++" + j + ")");
      b.leaves.push_back("(uint)" + j);
      coordinates.push_back({j, count});
      ++opened;
    }
  }
  if (b.chance(15)) {
    b.open("if " + b.condition());
    ++opened;
  }
  const Index index = b.mapped(b.linearised(coordinates));
  switch (b.pick(8)) {
    default: {
      const Type& type = b.one_of(kTypes);
      store_scalar(b, type, index);
      // Further fields of the same element, or arrays side by side.
      if (b.chance(15)) store_scalar(b, type, index);
      break;
    }
    case 5:
    case 6:
      store_vector(b, index);
      break;
    case 7:
      store_struct(b, index);
      break;
  }
  for (; opened > 0; --opened) b.close();
  b.leaves.resize(leaves);
}

}  // namespace tutti::kernel_fuzz
