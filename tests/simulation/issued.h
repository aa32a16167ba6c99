// SPDX-License-Identifier: Apache-2.0
// What a program has enqueued, and is not known to have ended.
#pragma once

#include <vector>

#include "base/guarded.h"
#include "world.h"

namespace tutti::simulation {

struct Range {
  uint32_t buffer = 0;
  uint64_t begin = 0, end = 0;
  bool writes = false;
};
using Ranges = std::vector<Range>;

/// As at the C ABI, exceptions become errors.
template <typename Value, typename Call>
Result<Value> called(Call call) {
  Result<Value> result = fail(CL_INVALID_VALUE);
  TUTTI_TRY(guarded([&] { result = call(); }));
  return result;
}

inline bool conflict(const Ranges& a, const Ranges& b) {
  for (const Range& one : a) {
    for (const Range& other : b) {
      if (one.buffer == other.buffer && scheduler::keep_order(one, other)) return true;
    }
  }
  return false;
}

/// What a read has to deliver, and where.
struct Delivery {
  std::vector<Expected> expected;
  const std::byte* found = nullptr;
};

struct Issued {
  uint32_t number = 0;
  const char* what = "";
  Ref<scheduler::Command> event;  // null: nobody observes it
  uint32_t queue = 0;
  Ranges ranges;
  bool called_off = false;  // by the application's own event
  bool precedes = false;    // whatever its queue gets next, which is in order or got a barrier
  std::vector<Ref<scheduler::Command>> named;
  Delivery delivery;
};

struct Queue {
  Ref<scheduler::Stream> stream;
  bool out_of_order = false;
};

struct UserEvent {
  Ref<scheduler::Command> command;
  bool well = true;  // what its status will be
};

}  // namespace tutti::simulation
