// SPDX-License-Identifier: Apache-2.0
// The scenarios: SCENARIO(function, name).
#pragma once

#include "world.h"

#define TUTTI_FAULT_SCENARIOS                    \
  SCENARIO(in_place, "in-place")                 \
  SCENARIO(in_place_chain, "in-place-chain")     \
  SCENARIO(counters, "counters")                 \
  SCENARIO(merges, "merges")                     \
  SCENARIO(chain, "chain")                       \
  SCENARIO(to_and_fro, "to-and-fro")             \
  SCENARIO(scattered, "scattered")               \
  SCENARIO(small_launches, "small-launches")     \
  SCENARIO(early_reads, "early-reads")           \
  SCENARIO(uploads, "uploads")                   \
  SCENARIO(maps, "maps")                         \
  SCENARIO(host_pointer, "host-pointer")         \
  SCENARIO(images, "images")                     \
  SCENARIO(fills_and_copies, "fills-and-copies") \
  SCENARIO(sub_buffers, "sub-buffers")           \
  SCENARIO(queues, "queues")                     \
  SCENARIO(out_of_order, "out-of-order")         \
  SCENARIO(callbacks, "callbacks")

namespace tutti::faults {
#define SCENARIO(function, name) void function(World& w);
TUTTI_FAULT_SCENARIOS
#undef SCENARIO
}  // namespace tutti::faults
