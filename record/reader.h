// SPDX-License-Identifier: Apache-2.0
// Reads a record's folder. Used by one thread.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "record/call.h"
#include "record/content_store.h"

namespace tutti::record {

struct KernelTimes {
  uint64_t queued = 0, submitted = 0, started = 0, ended = 0;
};

struct Record {
  std::vector<Call> calls;  // notes included, in the order of their ends
  // By the calls' begins.
  std::unordered_map<uint64_t, Content> data;
  std::unordered_map<uint64_t, KernelTimes> times;
  // Sentences about what cannot be read; the calls are those before the damage. A record that is
  // merely cut off is what a crash leaves behind, and complete as far as it goes.
  std::vector<std::string> warnings;
  bool damaged = false;
  ContentReader content;
};

/// An error when there is no record at all.
Result<Record> read(const std::string& folder);

}  // namespace tutti::record
