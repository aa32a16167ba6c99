// SPDX-License-Identifier: Apache-2.0
#include "scheduler/access/local_size.h"

#include <algorithm>

namespace tutti::scheduler {
namespace {

uint64_t largest_divisor(uint64_t value, uint64_t limit) {
  for (uint64_t divisor = std::min(value, limit); divisor > 1; --divisor) {
    if (value % divisor == 0) return divisor;
  }
  return 1;
}

}  // namespace

void choose_local(LaunchShape& shape, uint64_t max_group) {
  const uint64_t limit = std::min<uint64_t>(256, max_group);
  if (shape.dims == 1) {
    shape.local[0] = largest_divisor(shape.global[0], limit);
    return;
  }
  shape.local[0] = largest_divisor(shape.global[0], std::min<uint64_t>(64, limit));
  shape.local[1] = largest_divisor(shape.global[1], std::min<uint64_t>(4, limit / shape.local[0]));
  shape.local[2] = 1;
}

}  // namespace tutti::scheduler
