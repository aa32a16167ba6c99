// SPDX-License-Identifier: Apache-2.0
// The atomics of cl_ext_float_atomics. Sums are of small whole numbers, exact in any order; none is
// -0.
#include "sites.h"

namespace tutti::kernel_fuzz {
namespace {

struct Operation {
  const char* name;
  bool wide;
  bool sum;
};

Operation operation_of(Builder& b) {
  std::vector<Operation> list;
  const Offer& offer = b.offer;
  if (offer.float_add) list.push_back({"add", false, true}), list.push_back({"sub", false, true});
  if (offer.float_min_max) {
    list.push_back({"min", false, false}), list.push_back({"max", false, false});
  }
  if (offer.double_add) list.push_back({"add", true, true});
  if (offer.double_min_max) {
    list.push_back({"min", true, false}), list.push_back({"max", true, false});
  }
  return list[b.pick(static_cast<uint32_t>(list.size()))];
}

std::string operand_of(Builder& b, const std::string& real, bool sum) {
  if (sum) return "(" + real + ")((int)(" + b.value() + " & 63u) - 20)";
  return "(" + real + ")((int)(" + b.value() + " & 0xffffu) - 30000) * 0.25f";
}

}  // namespace

std::string order_and_scope(Builder& b) {
  const Offer& offer = b.offer;
  std::vector<std::string> orders = {"relaxed"};
  if (offer.acquire_release) orders.insert(orders.end(), {"acq_rel", "release"});
  if (offer.sequential) orders.emplace_back("seq_cst");
  std::string text = ", memory_order_" + orders[b.pick(static_cast<uint32_t>(orders.size()))];
  const bool all = offer.all_devices && b.chance(20);
  return text + (all ? ", memory_scope_all_svm_devices" : ", memory_scope_device");
}

void add_float_atomics(Builder& b) {
  b.language_3 = true;
  const Operation operation = operation_of(b);
  const std::string real = operation.wide ? "double" : "float";
  const std::string pointer = "(volatile global atomic_" + real + "*)";
  static constexpr Type kReal[] = {{"float", 4}, {"double", 8}};
  const Type& type = kReal[operation.wide ? 1 : 0];
  Pattern pattern;
  static constexpr uint64_t kFloat[] = {0, 0x3f800000, 0xc0a00000};
  static constexpr uint64_t kDouble[] = {0, 0x3ff0000000000000, 0xc014000000000000};
  pattern.addend = b.one_of(operation.wide ? kDouble : kFloat);
  pattern.modulo = ~uint64_t{0};
  const bool own = b.chance(25);
  const Index index = own ? b.mapped(b.linearised(b.coordinates())) : Index{"", 1 + b.pick(12)};
  const std::string at =
      own ? index.text : "(" + b.value() + " % " + std::to_string(index.count) + "u)";
  const Region region = b.output(type, index.count, &pattern);
  const bool guarded = b.chance(30);
  if (guarded) b.open("if " + b.condition());
  const bool brief = b.offer.sequential && b.chance(25);
  std::string call = "atomic_fetch_" + std::string(operation.name) + (brief ? "" : "_explicit") +
                     "(" + pointer + "AT(" + region.at(at) + "), " +
                     operand_of(b, real, operation.sum) + (brief ? "" : order_and_scope(b)) + ")";
  if (own && b.chance(60)) {
    b.line("ST(" + b.output(type, index.count).at(index.text) + ", " + call + ");");
  } else if (b.chance(25)) {
    const std::string j = b.fresh("j");
    b.line("for (int " + j + " = 0; " + j + " < " + b.number(1 + b.pick(3)) + "; ++" + j + ") " +
           call + ";");
  } else {
    b.line(call + ";");
  }
  if (guarded) b.close();
}

}  // namespace tutti::kernel_fuzz
