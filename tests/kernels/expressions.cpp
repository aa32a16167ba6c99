// SPDX-License-Identifier: Apache-2.0
// Indices, values and conditions.
#include <algorithm>
#include <numeric>

#include "builder.h"

namespace tutti::kernel_fuzz {
namespace {

std::string number_text(uint64_t value) { return std::to_string(value); }

uint64_t power_of_two(uint64_t least) {
  uint64_t result = 1;
  while (result < least) result *= 2;
  return result;
}

// Beyond this, indices are not spread any further: buffers shall stay small.
constexpr uint64_t kMostElements = 3000;

}  // namespace

Index Builder::coordinate(uint32_t d) {
  const std::string n = std::to_string(d);
  const uint64_t end = offset[d] + global[d];
  switch (pick(8)) {
    default:
      return {"(int)get_global_id(" + n + ")", end};
    case 1:
      return {"(int)(get_global_id(" + n + ") - get_global_offset(" + n + "))", global[d]};
    case 2:
      return {
          "(int)(get_group_id(" + n + ") * get_local_size(" + n + ") + get_local_id(" + n + "))",
          global[d]};
    case 3:
      if (end > 256) return {"(ushort)get_global_id(" + n + ")", end};
      return {"(uchar)get_global_id(" + n + ")", end};
    case 4:
      return {"(uint)get_global_id(" + n + ")", end};
    case 5:
      return {"get_global_id(" + n + ")", end};
    case 6:
      return {"(long)get_global_id(" + n + ")", end};
  }
}

std::vector<Index> Builder::coordinates() {
  std::vector<Index> result;
  for (uint32_t d = dims; d-- > 0;) {
    const std::string n = std::to_string(d);
    if (local_given && chance(20)) {
      uses_group = true;
      result.push_back({"(int)get_group_id(" + n + ")", groups(d)});
      result.push_back({"(int)get_local_id(" + n + ")", local[d]});
    } else {
      Index made = coordinate(d);
      if (chance(50)) {
        const std::string name = fresh("x");
        static constexpr const char* kIndexTypes[] = {"int", "uint", "size_t", "long"};
        line("const " + std::string(one_of(kIndexTypes)) + " " + name + " = " + made.text + ";");
        made.text = name;
      }
      result.push_back(made);
    }
  }
  return result;
}

Index Builder::linearised(std::vector<Index> list) {
  if (list.empty()) return {"0", 1};
  // Mostly the last runs fastest; column-wise and structure-of-arrays orders come of swapping.
  if (list.size() > 1 && chance(35)) {
    std::swap(list[pick(static_cast<uint32_t>(list.size()))], list.back());
  }
  if (list.size() > 2 && chance(15)) std::swap(list[0], list[1]);
  uint64_t total = 1;
  for (const Index& index : list) total *= index.count;
  const bool roomy = total < kMostElements / 3;
  Index result = list[0];
  result.text = "(" + result.text + ")";
  for (size_t i = 1; i < list.size(); ++i) {
    const uint64_t pitch = list[i].count + (roomy && chance(20) ? 1 + pick(3) : 0);
    result.text = "(" + result.text + " * " + number(pitch) + " + " + list[i].text + ")";
    result.count = (result.count - 1) * pitch + list[i].count;
  }
  if (roomy && chance(20)) {
    const uint64_t stride = 2 + pick(2);
    const uint64_t field = pick(static_cast<uint32_t>(stride));
    result.text = "(" + result.text + " * " + number(stride) + " + " + number(field) + ")";
    result.count = (result.count - 1) * stride + field + 1;
  }
  return result;
}

Index Builder::mapped(Index index) {
  if (!chance(40)) return index;
  const std::string& i = index.text;
  const uint64_t n = index.count;
  switch (pick(15)) {
    case 0:
      return {"(" + number(n - 1) + " - " + i + ")", n};
    case 1:
      return {"(int)min((int)" + i + ", (int)" + number(n - 1) + ")", n};
    case 2: {
      const uint64_t gap = 1 + pick(5);
      const uint64_t a = 1 + pick(8);
      return {"((uint)" + i + " / " + number(a) + " * " + number(a + gap) + " + (uint)" + i +
                  " % " + number_text(a) + ")",
              (n - 1) / a * (a + gap) + a};
    }
    case 3: {
      const uint64_t a = 1 + pick(static_cast<uint32_t>(std::min<uint64_t>(n, 16)));
      const uint64_t b = (n + a - 1) / a;
      return {"((uint)" + i + " % " + number(a) + " * " + number(b) + " + (uint)" + i + " / " +
                  number_text(a) + ")",
              a * b};
    }
    case 4: {
      const uint64_t end = power_of_two(n);
      return {"((int)" + i + " ^ " + number(pick(static_cast<uint32_t>(end))) + ")", end};
    }
    case 5:
    case 6: {  // a permutation by arithmetic
      uint64_t odd = 1 + 2 * pick(20);
      while (std::gcd(odd, n) != 1) ++odd;
      return {"(((uint)" + i + " * " + number(odd) + " + " + number(pick(50)) + ") % (uint)" +
                  number(n) + ")",
              n};
    }
    case 7:
    case 8: {  // a permutation from memory
      Pattern pattern;
      pattern.multiplier = 1 + pick(30);
      while (std::gcd(pattern.multiplier, n) != 1) ++pattern.multiplier;
      pattern.addend = pick(100);
      pattern.modulo = n;
      static constexpr Type kIndexTypes[] = {{"uint", 4}, {"int", 4}, {"ushort", 2}, {"ulong", 8}};
      const Type& type = one_of(kIndexTypes);
      const Region list = input(type.size == 2 && n > 0x10000 ? kUint : type, n, &pattern);
      return {"LD(" + list.at(i) + ")", n};
    }
    case 9: {  // there and back again, by wrapping
      static constexpr const char* kAmounts[] = {"0xfffffff0u", "0x80000001u", "7u"};
      const std::string amount = one_of(kAmounts);
      const std::string s = chance(50) ? amount : scalar("uint", 4, std::stoul(amount, nullptr, 0));
      return {"((uint)((uint)" + i + " + " + s + ") - " + s + ")", n};
    }
    case 10:
      if (n > 256) return index;
      return {"(uchar)((uint)" + i + " * " + number(1 + 2 * pick(30)) + " + " +
                  scalar("char", 1, pick(256)) + ")",
              256};
    case 11:
      return {"((int)" + i + " * 2 + ((int)" + i + " & 1))", 2 * n};
    case 12: {
      const uint64_t half = 1 + pick(static_cast<uint32_t>(n));
      const uint64_t gap = 1 + pick(9);
      return {"((int)" + i + " < " + number(half) + " ? (int)" + i + " : (int)" + i + " + " +
                  number(gap) + ")",
              n + gap};
    }
    case 13: {
      const uint64_t bits = 1 + pick(4);
      return {"(((uint)" + i + " >> " + number(bits) + " << " + number_text(bits) + ") | ((uint)" +
                  i + " & " + number((uint64_t{1} << bits) - 1) + "))",
              n};
    }
    default: {
      const std::string name = fresh("index_") + "_$";
      static constexpr const char* kInline[] = {"", "__attribute__((noinline)) ", "inline static "};
      function(std::string(one_of(kInline)) + "int " + name + "(int i, int n) { return n - i; }\n");
      return {name + "((int)" + i + ", " + number(n - 1) + ")", n};
    }
  }
}

std::string Builder::load(int depth) {
  const Type& type = one_of(kTypes);
  const uint32_t d = pick(dims);
  const Index at = coordinate(d);
  switch (pick(7)) {
    default:
      return as_uint(type, "LD(" + input(type, at.count).at("(" + at.text + ")") + ")");
    case 1: {  // a neighbour, at the edges itself
      const std::string end = number(at.count - 1);
      const std::string i = "max(0, min((int)" + end + ", (int)((int)" + at.text +
                            (chance(50) ? " + " : " - ") + number(1 + pick(3)) + ")))";
      return as_uint(type, "LD(" + input(type, at.count).at(i) + ")");
    }
    case 2: {  // anywhere
      const uint64_t count = 5 + pick(60);
      return as_uint(
          type,
          "LD(" +
              input(type, count).at("(" + value(depth - 1) + ") % " + number_text(count) + "u") +
              ")");
    }
    case 3: {
      const uint64_t stride = 1 + pick(4);
      return as_uint(
          type,
          "LD(" +
              input(type, (at.count - 1) * stride + 1).at("(" + at.text + ") * " + number(stride)) +
              ")");
    }
    case 4:
      return constant_load("(" + at.text + ")", at.count);
    case 5: {
      static constexpr uint64_t kCounts[] = {8, 3, 21};
      const uint64_t count = one_of(kCounts);
      return constant_load("(" + value(depth - 1) + ") % " + number_text(count) + "u", count);
    }
    case 6: {
      static constexpr const char* kSizes[] = {"2", "4", "3", "8"};
      const std::string n = one_of(kSizes);
      const uint64_t width = std::stoul(n);
      const std::string component = ".s" + std::to_string(pick(static_cast<uint32_t>(width)));
      const Region from = input(type, at.count * width);
      return as_uint(type, "(VLD(" + n + ", (" + at.text + "), (" + from.buffer + " + " +
                               from.base + "))" + component + ")");
    }
  }
}

std::string Builder::value(int depth) {
  if (depth <= 0 || chance(25)) {
    switch (pick(5)) {
      default:
        return "(uint)" + coordinate(pick(dims)).text;
      case 1:
        return std::to_string(1 + pick(1000)) + "u";
      case 2:
        return "(uint)" + number(pick(5000));
      case 3:
      case 4:
        if (!leaves.empty()) return leaves[pick(static_cast<uint32_t>(leaves.size()))];
        return "(uint)get_global_size(" + std::to_string(pick(3)) + ")";
    }
  }
  switch (pick(9)) {
    default:
      return load(depth);
    case 2:
      return "(" + value(depth - 1) + " + " + value(depth - 1) + ")";
    case 3:
      return "(" + value(depth - 1) + " * " + value(depth - 1) + ")";
    case 4:
      return "(" + value(depth - 1) + " ^ " + value(depth - 1) + ")";
    case 5:
      return "(" + value(depth - 1) + " - " + value(depth - 1) + ")";
    case 6:
      return "(" + condition() + " ? " + value(depth - 1) + " : " + value(depth - 1) + ")";
    case 7:
      return "(" + value(depth - 1) + " >> " + number(pick(12)) + ")";
    case 8: {
      const std::string name = fresh("mix_") + "_$";
      static constexpr const char* kInline[] = {"", "__attribute__((noinline)) ", "inline static "};
      const Type& type = one_of(kTypes);
      const uint64_t count = 3 + pick(40);
      const Region from = input(type, count);
      function(std::string(one_of(kInline)) + "uint " + name + "(global const " + type.name +
               "* p, uint i FN_P) {\n  uint sum = 0;\n  for (uint j = 0; j < " +
               number_text(1 + pick(4)) + "; ++j) sum = sum * 3 + " +
               as_uint(type, "LD(p + (i + j) % " + number_text(count) + "u)") +
               ";\n  return sum;\n}\n");
      return name + "(" + from.buffer + " + " + from.base + ", " + value(depth - 1) + " FN_A)";
    }
  }
}

std::string Builder::condition() {
  const uint32_t d = pick(dims);
  const Index at = coordinate(d);
  static constexpr const char* kCompare[] = {"<", ">=", "!=", "<=", ">", "=="};
  switch (pick(6)) {
    default:
      return "(" + at.text + " " + one_of(kCompare) + " " +
             number(pick(static_cast<uint32_t>(at.count) + 2)) + ")";
    case 2:
      return "(((int)" + at.text + " & " + number(1 + pick(6)) + ") " + (chance(50) ? "!=" : "==") +
             " 0)";
    case 3:
      return "((" + value(1) + " & " + std::to_string(1 + pick(7)) + ") != 0)";
    case 4:
      return "(" + number(pick(20)) + " < " + number(pick(20)) + ")";
    case 5: {
      const std::string a = "(" + at.text + " >= " + number(pick(5)) + ")";
      return "(" + a + (chance(70) ? " && " : " || ") + condition() + ")";
    }
  }
}

}  // namespace tutti::kernel_fuzz
