// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/launch_sequences.h"

#include <algorithm>
#include <utility>

namespace tutti::scheduler {
namespace {

// A program whose launches are never the same would fill the memory with them.
constexpr size_t kMostLaunches = 512;  // of a stream
constexpr size_t kMostStreams = 32;
// What is scattered so much takes longer to look up than to fetch when it is missed.
constexpr size_t kMostReads = 256;

}  // namespace

LaunchSequences::Sequence& LaunchSequences::sequence_of(uint32_t stream) {
  if (!sequences_.contains(stream) && sequences_.size() >= kMostStreams) {
    sequences_.erase(std::min_element(
        sequences_.begin(), sequences_.end(),
        [](const auto& a, const auto& b) { return a.second.used_at < b.second.used_at; }));
  }
  Sequence& sequence = sequences_[stream];
  sequence.used_at = ++uses_;
  return sequence;
}

LaunchSequences::Begin LaunchSequences::begins(uint32_t stream, uint64_t launch) {
  Begin begin;
  const MutexLock lock(mutex_);
  Sequence& sequence = sequence_of(stream);
  if (sequence.launches.size() >= kMostLaunches && !sequence.launches.contains(launch)) {
    sequence.launches.clear();
    sequence.newest = 0;
    sequence.guessed = false;
  }
  if (sequence.newest != 0) {
    Launch& before = sequence.launches[sequence.newest];
    const bool same = before.next == launch;
    if (sequence.guessed) begin.expected = same;
    before.doubted = before.next != 0 && !same;
    before.next = launch;
  }
  sequence.newest = launch;
  const Launch& now = sequence.launches[launch];
  if (now.next != 0 && !now.doubted) begin.next = sequence.launches[now.next].reads;
  sequence.guessed = begin.next != nullptr;
  return begin;
}

void LaunchSequences::ended(uint32_t stream, uint64_t launch, PlaceReads reads) {
  const MutexLock lock(mutex_);
  Sequence& sequence = sequence_of(stream);
  const auto found = sequence.launches.find(launch);
  if (found == sequence.launches.end()) return;
  found->second.reads =
      reads.size() <= kMostReads ? std::make_shared<const PlaceReads>(std::move(reads)) : nullptr;
}

}  // namespace tutti::scheduler
