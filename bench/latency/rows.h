// SPDX-License-Identifier: Apache-2.0
// What tutti-latency measures: each row is a pattern of small commands.
#pragma once

#include <cstdint>
#include <span>

#include "side.h"

namespace tutti::bench {

struct Row {
  const char* name;
  void (*once)(Side&);          // what is timed; nothing is unfinished behind it
  std::int64_t iterations = 0;  // 0: as many as the shortest time takes
  bool holds_back = false;      // commands wait for a user event
  bool records = false;         // needs command buffers
};

std::span<const Row> rows();

}  // namespace tutti::bench
