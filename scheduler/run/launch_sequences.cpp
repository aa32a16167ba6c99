// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/launch_sequences.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tutti::scheduler {
namespace {

// A program whose launches are never the same would fill the memory with them.
constexpr size_t kMostLaunches = 512;  // of a stream
constexpr size_t kMostStreams = 32;
// What is scattered so much takes longer to look up than to fetch when it is missed.
constexpr size_t kMostReads = 256;
// Over processes, of each: a program whose launches are never the same would fill the disk with
// them.
constexpr size_t kMostKept = 1024;
constexpr size_t kMostKeptReads = 32;  // of a launch

PlaceReads reads_of(const KeptLaunch& kept) {
  PlaceReads reads;
  for (const KeptLaunch::Read& read : kept.reads) {
    reads.push_back(
        {read.buffer, read.place, {{read.begin, read.end}, read.phase, read.period, read.length}});
  }
  return reads;
}

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

LaunchSequences::Launch& LaunchSequences::launch_of(Sequence& sequence, uint64_t launch) {
  const auto [found, fresh] = sequence.launches.try_emplace(launch);
  if (!fresh || asked_ >= kMostKept) return found->second;
  ++asked_;
  if (const auto kept = model_.kept_launch(launch)) {
    found->second = {.next = kept->next,
                     .earlier = true,
                     .reads = std::make_shared<const PlaceReads>(reads_of(*kept))};
  }
  return found->second;
}

void LaunchSequences::keep(uint64_t id, Launch& launch) {
  if (!launch.reads || launch.reads->size() > kMostKeptReads) return;
  if (!launch.kept && kept_ >= kMostKept) return;
  kept_ += launch.kept ? 0 : 1;
  launch.kept = true;
  KeptLaunch kept{.next = launch.next, .reads = {}};
  for (const auto& [buffer, place, strips] : *launch.reads) {
    kept.reads.push_back({buffer, place, strips.range.begin, strips.range.end, strips.phase,
                          strips.period, strips.length});
  }
  model_.keep_launch(id, std::move(kept));
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
    Launch& before = launch_of(sequence, sequence.newest);
    const bool same = before.next == launch;
    if (sequence.guessed) begin.expected = same;
    before.doubted = before.next != 0 && !same && !before.earlier;
    before.earlier = false;
    before.next = launch;
    if (!same && !before.doubted) keep(sequence.newest, before);
  }
  sequence.newest = launch;
  const Launch& now = launch_of(sequence, launch);
  if (now.next != 0 && !now.doubted) begin.next = launch_of(sequence, now.next).reads;
  sequence.guessed = begin.next != nullptr;
  return begin;
}

void LaunchSequences::ended(uint32_t stream, uint64_t launch, PlaceReads reads) {
  const MutexLock lock(mutex_);
  Sequence& sequence = sequence_of(stream);
  const auto found = sequence.launches.find(launch);
  if (found == sequence.launches.end()) return;
  Launch& ended = found->second;
  ended.reads =
      reads.size() <= kMostReads ? std::make_shared<const PlaceReads>(std::move(reads)) : nullptr;
  // Boundaries settle, and are kept as they came out.
  if (std::has_single_bit(++ended.ends)) keep(launch, ended);
}

}  // namespace tutti::scheduler
