// SPDX-License-Identifier: Apache-2.0
// Columns of tables: each work-item reads something of every row, as products of matrices do.
#include "sites.h"

namespace tutti::kernel_fuzz {

void add_columns(Builder& b) {
  static constexpr Type kElements[] = {kUint, {"ushort", 2}, {"ulong", 8}, {"float", 4}};
  const Type& type = b.one_of(kElements);
  const Index column = b.coordinate(b.pick(b.dims));
  const uint64_t width = column.count + (b.chance(30) ? b.pick(9) : 64 + b.pick(400));
  const uint64_t rows = 2 + b.pick(9);
  const Region table = b.input(type, rows * width);
  const std::string sum = b.fresh("sum"), row = b.fresh("row");
  const std::string place = row + " * " + b.number(width) + " + (" + column.text + ")";
  const std::string element = b.chance(50) ? "LD(" + table.at("(" + place + ")") + ")"
                                           : table.buffer + "[" + table.base + " + " + place + "]";
  b.line("uint " + sum + " = 0;");
  b.open("for (int " + row + " = 0; " + row + " < " + b.number(rows) + "; ++" + row + ")");
  b.line(sum + " = " + sum + " * 3u + " + as_uint(type, element) + ";");
  b.close();
  store_own(b, sum);
}

}  // namespace tutti::kernel_fuzz
