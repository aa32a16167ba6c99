// SPDX-License-Identifier: Apache-2.0
// Local memory, barriers, asynchronous copies.
#include <numeric>

#include "sites.h"

namespace tutti::kernel_fuzz {
namespace {

constexpr const char* kBarrier = "barrier(CLK_LOCAL_MEM_FENCE);";

/// The work-item's number in its group, in a variable.
std::string local_index(Builder& b) {
  const std::string name = b.fresh("l");
  std::string text = "get_local_id(0)";
  if (b.dims > 1) {
    text += " + get_local_size(0) * (get_local_id(1)";
    text += b.dims > 2 ? " + get_local_size(1) * get_local_id(2))" : ")";
  }
  b.line("const uint " + name + " = " + text + ";");
  return name;
}

Index group_index(Builder& b) {
  std::vector<Index> list;
  for (uint32_t d = b.dims; d-- > 0;) {
    const std::string n = std::to_string(d);
    list.push_back({b.chance(30) && b.offset[d] == 0
                        ? "(int)(get_global_id(" + n + ") / get_local_size(" + n + "))"
                        : "(int)get_group_id(" + n + ")",
                    b.groups(d)});
  }
  return b.linearised(list);
}

std::string other_item(Builder& b, const std::string& l) {
  const uint64_t n = b.group_items();
  uint64_t odd = 1 + 2 * b.pick(5);
  while (std::gcd(odd, n) != 1) ++odd;
  return "(" + l + " * " + b.number(odd) + " + " + b.number(b.pick(9)) + ") % " + std::to_string(n);
}

/// Fills an array of one element per work-item; with a barrier behind.
std::string filled(Builder& b, const std::string& l) {
  const std::string t = b.local_array(b.group_items());
  b.line(t + "[" + l + "] = " + b.value() + ";");
  b.line(kBarrier);
  return t;
}

}  // namespace

void add_group_stage(Builder& b) {
  if (!b.local_given) return;
  b.uses_group = true;
  const std::string l = local_index(b);
  const uint64_t n = b.group_items();
  switch (b.pick(5)) {
    default: {
      const std::string t = filled(b, l);
      b.leaves.push_back(t + "[" + other_item(b, l) + "]");
      break;
    }
    case 1: {  // tiles, one after the other
      const std::string t = b.local_array(n), sum = b.fresh("sum"), r = b.fresh("r");
      b.line("uint " + sum + " = 0;");
      b.open("for (int " + r + " = 0; " + r + " < " + b.number(1 + b.pick(3)) + "; ++" + r + ")");
      b.line(t + "[" + l + "] = " + b.value() + " + " + r + ";");
      b.line(kBarrier);
      b.line(sum + " += " + t + "[" + other_item(b, l) + "];");
      b.line(kBarrier);
      b.close();
      b.leaves.push_back(sum);
      break;
    }
    case 2: {  // copied by the group as one
      const Index group = group_index(b);
      const std::string t = b.local_array(n), e = b.fresh("e");
      const Region from = b.input(kUint, group.count * n);
      b.line("event_t " + e + " = GET(" + t + ", " + from.at(group.text + " * " + b.number(n)) +
             ", " + std::to_string(n) + ");");
      b.line("wait_group_events(1, &" + e + ");");
      b.leaves.push_back(t + "[" + other_item(b, l) + "]");
      break;
    }
    case 3: {  // a histogram of the group
      const std::string t = b.local_array(8);
      b.line("for (uint i = " + l + "; i < 8; i += " + std::to_string(n) + ") " + t + "[i] = 0;");
      b.line(kBarrier);
      b.line("atomic_inc(" + t + " + " + b.value() + " % 8);");
      b.line(kBarrier);
      b.leaves.push_back(t + "[" + l + " & 7]");
      break;
    }
  }
}

void add_group_result(Builder& b) {
  if (!b.local_given) return;
  b.uses_group = true;
  const std::string l = local_index(b);
  const std::string t = filled(b, l);
  const uint64_t n = b.group_items();
  const Index group = b.mapped(group_index(b));
  switch (b.pick(4)) {
    default: {  // one item for all
      const Type& type = b.one_of(kTypes);
      b.open("if (" + l + " == " + b.number(b.pick(static_cast<uint32_t>(n))) + ")");
      b.line("uint sum = 0;");
      b.line("for (uint i = 0; i < " + b.number(n) + "; ++i) sum += " + t + "[i] * (i + 1);");
      b.line("ST(" + b.output(type, group.count).at(group.text) + ", " + converted(type, "sum") +
             ");");
      b.close();
      break;
    }
    case 1: {  // a tree
      const std::string s = b.fresh("s");
      b.open("for (uint " + s + " = 1; " + s + " < " + std::to_string(n) + "; " + s + " *= 2)");
      b.line("if (" + l + " % (2 * " + s + ") == 0 && " + l + " + " + s + " < " +
             std::to_string(n) + ") " + t + "[" + l + "] += " + t + "[" + l + " + " + s + "];");
      b.line(kBarrier);
      b.close();
      b.line("if (!" + l + ") ST(" + b.output(kUint, group.count).at(group.text) + ", " + t +
             "[0]);");
      break;
    }
    case 2: {  // the group as one
      const std::string e = b.fresh("e");
      b.line("event_t " + e + " = PUT(" +
             b.output(kUint, group.count * n).at(group.text + " * " + b.number(n)) + ", " + t +
             ", " + std::to_string(n) + ");");
      b.line("wait_group_events(1, &" + e + ");");
      break;
    }
  }
}

}  // namespace tutti::kernel_fuzz
