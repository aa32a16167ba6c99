// SPDX-License-Identifier: Apache-2.0
// Variables of the program's scope: constant ones, and, where offered, those that kernels change.
// What such a variable holds, it keeps from one launch to the next: no result depends on that.
#include "sites.h"

namespace tutti::kernel_fuzz {

void add_variables(Builder& b) {
  const uint64_t count = 2 + b.pick(7);
  const std::string size = std::to_string(count);
  std::string values;
  for (uint64_t i = 0; i < count; ++i) {
    values += (i == 0 ? "" : ", ") + std::to_string(1 + i * 37 % 101);
  }
  const std::string name = b.fresh("table_") + "_$";
  const uint32_t shape = b.pick(6);
  if (!b.offer.variables || shape < 2) {
    // Indices, too, come of it.
    b.function("constant uint " + name + "[" + size + "] = {" + values + "};\n");
    const std::string element = name + "[" + b.value(1) + " % " + size + "u]";
    if (shape == 0 || !b.offer.variables) {
      store_own(b, element);
      return;
    }
    const Index index = b.linearised(b.coordinates());
    b.line("ST(" +
           b.output(kUint, index.count + 101)
               .at("(" + index.text + " + (int)" + name + "[" + b.number(b.pick(2)) + "])") +
           ", " + b.value() + ");");
    return;
  }
  b.language_3 = true;
  switch (shape) {
    default: {  // an element for each work-item
      const Index index = b.mapped(b.linearised(b.coordinates()));
      const std::string mine = name + "[" + index.text + "]";
      b.function("global uint " + name + "[" + std::to_string(index.count) + "];\n");
      b.line(mine + " = " + b.value() + ";");
      if (b.chance(50)) b.line("if " + b.condition() + " " + mine + " += 5;");
      b.line("ST(" + b.output(kUint, index.count).at(index.text) + ", " + mine + ");");
      break;
    }
    case 3:  // read alone, with a beginning
      b.function("global uint " + name + "[" + size + "] = {" + values + "};\n");
      store_own(b, name + "[" + b.value(1) + " % " + size + "u]");
      break;
    case 4: {  // counted into, and looked at by nobody
      b.function("global uint " + name + ";\n");
      b.line("atomic_inc(&" + name + ");");
      store_own(b, b.value());
      break;
    }
  }
}

}  // namespace tutti::kernel_fuzz
