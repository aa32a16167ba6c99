// SPDX-License-Identifier: Apache-2.0
#include "scheduler/memory/failed_ranges.h"

#include <algorithm>

namespace tutti::scheduler {
namespace {

bool meet(const ByteRange& a, const ByteRange& b) { return a.begin < b.end && b.begin < a.end; }

}  // namespace

void FailedRanges::add(const ByteRange& range, cl_int error, uint64_t number) {
  if (range.empty()) return;
  for (const Failed& failed : ranges_) {
    if (meet(failed.range, range)) number = std::max(number, failed.number);
  }
  clear(range);
  ByteRange all = range;
  // Many small commands that fail one after the other leave one range.
  std::erase_if(ranges_, [&](const Failed& failed) {
    const bool next = failed.range.end == all.begin || failed.range.begin == all.end;
    if (!next || failed.error != error) return false;
    all = {std::min(all.begin, failed.range.begin), std::max(all.end, failed.range.end)};
    number = std::max(number, failed.number);
    return true;
  });
  ranges_.push_back({all, error, number});
}

void FailedRanges::clear(const ByteRange& range, uint64_t number) {
  if (ranges_.empty()) return;
  std::vector<Failed> rest;
  for (const Failed& failed : ranges_) {
    if (!meet(failed.range, range) || failed.number > number) {
      rest.push_back(failed);
      continue;
    }
    const ByteRange before{failed.range.begin, range.begin}, behind{range.end, failed.range.end};
    if (before.begin < before.end) rest.push_back({before, failed.error, failed.number});
    if (behind.begin < behind.end) rest.push_back({behind, failed.error, failed.number});
  }
  ranges_ = std::move(rest);
}

cl_int FailedRanges::error_in(const ByteRange& range) const {
  const auto found = std::find_if(ranges_.begin(), ranges_.end(),
                                  [&](const Failed& failed) { return meet(failed.range, range); });
  return found == ranges_.end() ? CL_SUCCESS : found->error;
}

}  // namespace tutti::scheduler
