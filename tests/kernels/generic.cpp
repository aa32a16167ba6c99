// SPDX-License-Identifier: Apache-2.0
// Pointers to the generic address space: to global, local or private memory, as a condition says.
#include "sites.h"

namespace tutti::kernel_fuzz {
namespace {

constexpr const char* kInline[] = {"", "__attribute__((noinline)) ", "inline static "};

/// The work-item's number in its group.
std::string local_index(Builder& b) {
  std::string text = "get_local_id(0)";
  if (b.dims > 1) {
    text += " + get_local_size(0) * (get_local_id(1)";
    text += b.dims > 2 ? " + get_local_size(1) * get_local_id(2))" : ")";
  }
  const std::string name = b.fresh("l");
  b.line("const uint " + name + " = " + text + ";");
  return name;
}

/// A function that reads, one that writes, one that adds; without an address space.
std::string reader(Builder& b) {
  const std::string name = b.fresh("get_") + "_$";
  static constexpr const char* kBodies[] = {
      "return GLD(p + i);", "return GLD(p + i) * 3;",
      "uint sum = 0; for (uint j = 0; j <= i; ++j) sum += GLD(p + j); return sum;",
      "p += i; return GLD(p);"};
  b.function(std::string(b.one_of(kInline)) + "uint " + name + "(const uint* p, uint i FN_P) { " +
             b.one_of(kBodies) + " }\n");
  return name;
}

std::string writer(Builder& b) {
  const std::string name = b.fresh("set_") + "_$";
  static constexpr const char* kBodies[] = {
      "GST(p, v);", "if (v & 1) GST(p, v);", "GST(p, GLD(p) + v);",
      "global uint* g = to_global(p); if (g) { ST(g, v); } else { GST(p, v); }"};
  b.function(std::string(b.one_of(kInline)) + "void " + name + "(uint* p, uint v FN_P) { " +
             kBodies[b.pick(4)] + " }\n");
  return name;
}

}  // namespace

void add_generic(Builder& b) {
  b.language_3 = true;
  b.uses_group = true;
  const std::string l = local_index(b);
  const uint64_t n = b.group_items();
  const std::string t = b.local_array(n);
  const std::string p = b.fresh("p");
  b.line(t + "[" + l + "] = " + b.value() + ";");
  b.line("barrier(CLK_LOCAL_MEM_FENCE);");
  switch (b.pick(b.offer.device_scope ? 5 : 4)) {
    default: {  // read from one or the other
      const uint64_t count = 1 + b.pick(static_cast<uint32_t>(n));
      const Region from = b.input(kUint, count);
      b.line("const uint* " + p + " = " + b.condition() + " ? (const uint*)(" + from.buffer +
             " + " + from.base + ") : (const uint*)" + t + ";");
      store_own(b,
                reader(b) + "(" + p + ", " + b.value() + " % " + std::to_string(count) + "u FN_A)");
      break;
    }
    case 1:
    case 2: {  // write to one or the other, an element of its own
      const Index index = b.mapped(b.linearised(b.coordinates()));
      const std::string other = b.chance(30) ? b.fresh("private_") : t + "[" + l + "]";
      if (other[0] == 'p') b.line("uint " + other + " = 7;");
      const Region to = b.output(kUint, index.count);
      b.line("uint* " + p + " = (uint*)&" + other + ";");
      b.line("if " + b.condition() + " " + p + " = (uint*)(" + to.at(index.text) + ");");
      b.line(writer(b) + "(" + p + ", " + b.value() + " FN_A);");
      store_own(b, other);
      break;
    }
    case 3: {  // two of global memory, by way of none in particular
      const Index index = b.mapped(b.linearised(b.coordinates()));
      const Region first = b.output(kUint, index.count), second = b.output(kUint, index.count);
      b.line("uint* " + p + " = " + b.condition() + " ? (uint*)(" + first.at(index.text) +
             ") : (uint*)(" + second.at(index.text) + ");");
      b.line(b.chance(50) ? writer(b) + "(" + p + ", " + b.value() + " FN_A);"
                          : "GST(" + p + ", " + b.value() + ");");
      break;
    }
    case 4: {  // added up
      const Region total = b.output(kUint, 4);
      b.line("uint* " + p + " = " + b.condition() + " ? (uint*)(" +
             total.at("(" + b.value() + " % 4u)") + ") : (uint*)(" + t + " + " + b.value(1) +
             " % " + std::to_string(n) + "u);");
      b.line("atomic_fetch_add_explicit((volatile atomic_uint*)GAT(" + p + "), " + b.value() +
             order_and_scope(b) + ");");
      b.line("barrier(CLK_LOCAL_MEM_FENCE);");
      store_own(b, t + "[" + l + "]");
      break;
    }
  }
  b.line("barrier(CLK_LOCAL_MEM_FENCE);");
}

}  // namespace tutti::kernel_fuzz
