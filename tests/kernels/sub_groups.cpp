// SPDX-License-Identifier: Apache-2.0
// Sub-groups and work-group functions. How large a sub-group is depends on the device, and is the
// same for each launch with one local size. What needs all of a group's work-items stands where all
// of them come.
#include "sites.h"

namespace tutti::kernel_fuzz {
namespace {

constexpr const char* kLane = "get_sub_group_local_id()";

/// The group's number among all.
Index linear_group(Builder& b) {
  std::vector<Index> list;
  for (uint32_t d = b.dims; d-- > 0;) {
    list.push_back({"(int)get_group_id(" + std::to_string(d) + ")", b.groups(d)});
  }
  return b.linearised(list);
}

/// A uint that each work-item of a sub-group computes with the others.
std::string sub_group_value(Builder& b) {
  static constexpr const char* kFunctions[] = {"reduce", "scan_inclusive", "scan_exclusive"};
  static constexpr const char* kOperations[] = {"add", "min", "max"};
  static constexpr Type kNumbers[] = {{"uint", 4}, {"int", 4}, {"ulong", 8}};
  switch (b.pick(b.offer.ballots ? 8 : 7)) {
    default: {
      const Type& type = b.one_of(kNumbers);
      return as_uint(type, "sub_group_" + std::string(b.one_of(kFunctions)) + "_" +
                               b.one_of(kOperations) + "(" + converted(type, b.value()) + ")");
    }
    case 1:
      return "(uint)(" + std::string(kLane) + " + 100 * get_sub_group_id() + 10000 * " +
             (b.chance(50) ? "get_num_sub_groups()" : "get_sub_group_size()") + ")";
    case 2:
      return "sub_group_broadcast(" + b.value() + ", " + b.number(b.pick(8)) +
             " % get_sub_group_size())";
    case 3:
      return "(uint)sub_group_" + std::string(b.chance(50) ? "any" : "all") + "(" + b.condition() +
             ")";
    case 4:
    case 5: {
      if (!b.offer.shuffles) return "(uint)get_max_sub_group_size()";
      const std::string value = b.value();
      const std::string lane =
          b.chance(50) ? "(" + std::string(kLane) + " + " + b.number(1 + b.pick(5)) +
                             ") % get_sub_group_size()"
                       : "min((uint)(" + std::string(kLane) + " ^ " + b.number(1 + b.pick(7)) +
                             "), (uint)get_sub_group_size() - 1)";
      return "sub_group_shuffle(" + value + ", " + lane + ")";
    }
    case 7:
      return "sub_group_ballot(" + b.condition() + ").x";
  }
}

std::string collective_value(Builder& b) {
  static constexpr const char* kFunctions[] = {"reduce", "scan_inclusive", "scan_exclusive"};
  static constexpr const char* kOperations[] = {"add", "min", "max"};
  static constexpr Type kNumbers[] = {{"uint", 4}, {"int", 4}, {"ulong", 8}, {"long", 8}};
  switch (b.pick(5)) {
    default: {
      const Type& type = b.one_of(kNumbers);
      return as_uint(type, "work_group_" + std::string(b.one_of(kFunctions)) + "_" +
                               b.one_of(kOperations) + "(" + converted(type, b.value()) + ")");
    }
    case 3: {
      std::string items;
      for (uint32_t d = 0; d < b.dims; ++d) {
        items += ", (size_t)" + b.number(b.pick(static_cast<uint32_t>(b.local[d])));
      }
      return "work_group_broadcast(" + b.value() + items + ")";
    }
    case 4:
      return "(uint)work_group_" + std::string(b.chance(50) ? "any" : "all") + "(" + b.condition() +
             ")";
  }
}

/// `value` in a variable that later values may use, and mostly stored.
std::string kept(Builder& b, const std::string& value) {
  const std::string name = b.fresh("w");
  b.line("const uint " + name + " = " + value + ";");
  b.leaves.push_back(name);
  return name;
}

}  // namespace

void store_own(Builder& b, const std::string& value) {
  static constexpr Type kNumbers[] = {{"uint", 4}, {"ulong", 8}, {"ushort", 2}};
  const Type& type = b.one_of(kNumbers);
  const Index index = b.mapped(b.linearised(b.coordinates()));
  b.line("ST(" + b.output(type, index.count).at(index.text) + ", " + converted(type, value) + ");");
}

void add_sub_group_stage(Builder& b) {
  b.language_3 = true;
  b.uses_group = true;
  const std::string name = kept(b, sub_group_value(b));
  if (b.chance(15)) b.line("sub_group_barrier(CLK_LOCAL_MEM_FENCE);");
  switch (b.pick(6)) {
    default:
      store_own(b, name);
      break;
    case 2: {  // one element for each sub-group
      const Index group = linear_group(b);
      const uint64_t most = b.group_items();
      const Region region = b.output(kUint, group.count * most);
      b.line("if (" + std::string(kLane) +
             " == " + (b.chance(50) ? "0" : "get_sub_group_size() - 1") + ") ST(" +
             region.at(group.text + " * " + b.number(most) + " + get_sub_group_id()") + ", " +
             name + ");");
      break;
    }
    case 3: {  // one atomic for each sub-group
      const Region region = b.output(kUint, 4);
      const std::string sum = b.fresh("sum");
      b.line("const uint " + sum + " = sub_group_reduce_add(" + name + ");");
      b.line("if (!" + std::string(kLane) + ") atomic_add(AT(" +
             region.at("(" + b.number(b.pick(4)) + " + (int)get_group_id(0)) % 4") + "), " + sum +
             ");");
      break;
    }
    case 4: {  // where its lane says
      const Index group = linear_group(b);
      const uint64_t most = b.group_items();
      const Region region = b.output(kUint, group.count * most);
      b.line("ST(" +
             region.at(group.text + " * " + b.number(most) +
                       " + get_sub_group_id() * get_max_sub_group_size() + " + kLane) +
             ", " + name + ");");
      break;
    }
    case 5:
      break;
  }
}

void add_collective_stage(Builder& b) {
  b.language_3 = true;
  b.uses_group = true;
  const std::string name = kept(b, collective_value(b));
  switch (b.pick(5)) {
    default:
      store_own(b, name);
      break;
    case 2: {  // packed within the group: only those for which a condition holds
      const Index group = linear_group(b);
      const uint64_t most = b.group_items();
      const Region region = b.output(kUint, group.count * most);
      const std::string held = b.fresh("h"), at = b.fresh("at");
      b.line("const uint " + held + " = " + b.condition() + ";");
      b.line("const uint " + at + " = work_group_scan_exclusive_add(" + held + ");");
      b.line("if (" + held + ") ST(" + region.at(group.text + " * " + b.number(most) + " + " + at) +
             ", " + name + ");");
      break;
    }
    case 3: {  // one atomic for each group
      const Region region = b.output(kUint, 4);
      const std::string sum = b.fresh("sum");
      b.line("const uint " + sum + " = work_group_reduce_add(" + name + ");");
      std::string first = "!get_local_id(0)";
      for (uint32_t d = 1; d < b.dims; ++d) {
        first += " && !get_local_id(" + std::to_string(d) + ")";
      }
      b.line("if (" + first + ") atomic_add(AT(" + region.at(b.number(b.pick(4))) + "), " + sum +
             ");");
      break;
    }
    case 4:
      break;
  }
}

}  // namespace tutti::kernel_fuzz
