// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/network.h"

#include <algorithm>

namespace tutti::scheduler::sim {

Links::Passage Links::send(uint32_t host, double slices, double now) {
  if (host == 0) return {now, now};
  Passage passage{now, now};
  const auto pass = [&passage, slices](double& free, double seconds_per_slice) {
    passage.begin = std::max(passage.begin, free);
    passage.end = std::max(passage.end, passage.begin + slices * seconds_per_slice);
    free = passage.end;
  };
  pass(free_[0], network_.shared_link);
  pass(free_[host], network_.link);
  return {passage.begin + network_.latency, passage.end + network_.latency};
}

}  // namespace tutti::scheduler::sim
