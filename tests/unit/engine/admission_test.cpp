// SPDX-License-Identifier: Apache-2.0
// What becomes of commands, from plain facts: no device, no log, no thread.
#include "scheduler/engine/admission.h"

#include <gtest/gtest.h>

namespace tutti::testing {
namespace {

using scheduler::Admission;
using scheduler::kNoBackend;
using scheduler::Waits;
using Path = Admission::Path;
using Ahead = Admission::Ahead;

constexpr uint32_t kGpu = 0, kCpu = 1;
constexpr uint64_t kLarge = 16 << 20;
const int first_command = 0, second_command = 0;

Ahead::One on(uint32_t backend, const int& command = first_command) {
  return {.command = &command, .direct = true, .backend = backend, .same_stream = true};
}
Ahead::One from_elsewhere(Ahead::One one) {
  one.same_stream = false;
  return one;
}
Ahead::One named(Ahead::One one) {
  one.waits = Waits::kNamed;
  return one;
}
Ahead::One conducted() { return {.command = &first_command, .same_stream = true}; }

Ahead ahead(std::initializer_list<Ahead::One> all) {
  Ahead together;
  for (const auto& one : all) together.add(one);
  return together;
}
Admission::Asked launch_on(uint32_t backend, std::initializer_list<Ahead::One> all = {}) {
  return {.ahead = ahead(all), .launch = Admission::Launch{.backend = backend}};
}
Admission::Asked marker(std::initializer_list<Ahead::One> all) {
  return {.ahead = ahead(all), .only_order = true, .markers = true};
}
Admission::AtTarget possible() { return {.possible = true}; }

/// Both steps.
Admission decide(const Admission::Asked& asked, const Admission::AtTarget& at = possible()) {
  Admission decided;
  const auto target = Admission::target(asked, decided);
  return target ? Admission::decide(asked, *target, at) : decided;
}

TEST(Admission, ALaunchThatWaitsForNothingIsDirect) {
  const Admission decided = decide(launch_on(kCpu));
  EXPECT_EQ(decided.path, Path::kDirect);
  EXPECT_EQ(decided.backend, kCpu);
}

TEST(Admission, WhatAllIsOnOneDeviceIsDirectThereAndNowhereElse) {
  const auto second = on(kGpu, second_command);
  EXPECT_EQ(decide(launch_on(kGpu, {on(kGpu), second})).path, Path::kDirect);
  EXPECT_EQ(decide(launch_on(kCpu, {on(kGpu)})).path, Path::kConducted);
  EXPECT_EQ(decide(launch_on(kGpu, {second, on(kCpu)})).path, Path::kConducted);
  EXPECT_EQ(decide(launch_on(kGpu, {second, conducted()})).path, Path::kConducted);
}

TEST(Admission, BehindWhatIsShownLaterOnlyForItsData) {
  auto overtaker = on(kGpu);
  overtaker.shown_later = true;
  EXPECT_EQ(decide(launch_on(kGpu, {overtaker})).path, Path::kConducted);
  overtaker.waits = Waits::kData;
  EXPECT_EQ(decide(launch_on(kGpu, {overtaker})).path, Path::kDirect);
}

TEST(Admission, SplitsAndTrialsAreConducted) {
  auto split = launch_on(kGpu);
  split.launch->measured_apart = true;
  EXPECT_EQ(decide(split).path, Path::kConducted);
}

TEST(Admission, ALongLaunchDoesNotRunInTheCallersThreadWhereOthersCouldCompute) {
  auto launch = launch_on(kCpu);
  launch.launch->synchronous = launch.launch->others_may = true;
  launch.launch->seconds = 1e-3;
  EXPECT_EQ(decide(launch).path, Path::kDirect);
  launch.overtakes = true;
  EXPECT_EQ(decide(launch).path, Path::kConducted);
  launch.overtakes = false;
  launch.launch->seconds = 1e-2;
  EXPECT_EQ(decide(launch).path, Path::kConducted);
  launch.launch->others_may = false;
  EXPECT_EQ(decide(launch).path, Path::kDirect);
}

TEST(Admission, AMarkerEndsWithTheOneBeforeIt) {
  const Admission decided = decide(marker({on(kGpu)}));
  EXPECT_EQ(decided.path, Path::kDirect);
  EXPECT_TRUE(decided.ends_with_before);
  EXPECT_FALSE(decided.marks);
  EXPECT_EQ(decide(marker({named(on(kGpu)), on(kGpu)})).ends_with_before, true);
}

TEST(Admission, AMarkerBehindSeveralIsAMarkWhereNoErrorWouldBeLost) {
  const auto other = on(kGpu, second_command);
  const Admission decided = decide(marker({other, from_elsewhere(on(kGpu))}));
  EXPECT_EQ(decided.path, Path::kDirect);
  EXPECT_TRUE(decided.marks);
  EXPECT_TRUE(decide(marker({named(from_elsewhere(on(kGpu)))})).marks);
  const Admission lost = decide(marker({other, named(on(kGpu))}));
  EXPECT_EQ(lost.path, Path::kConducted);
  EXPECT_FALSE(lost.marks);
  auto without = marker({other, on(kGpu)});
  without.markers = false;
  EXPECT_EQ(decide(without).path, Path::kConducted);
  EXPECT_EQ(decide(marker({other, on(kCpu)})).path, Path::kConducted);
}

TEST(Admission, ATransferGoesToWhereTheDataLie) {
  Admission::Asked read{.data_backend = kCpu, .bytes = kLarge};
  const Admission decided = decide(read);
  EXPECT_EQ(decided.path, Path::kDirect);
  EXPECT_EQ(decided.backend, kCpu);
  read.ahead.add(on(kGpu));
  EXPECT_EQ(decide(read).backend, kGpu);
  EXPECT_EQ(decide(read, {.possible = false}).path, Path::kConducted);
}

TEST(Admission, LittleWorkOfTheHostIsDoneAtOnce) {
  Admission::Asked copy{.bytes = 4096};
  EXPECT_EQ(decide(copy).path, Path::kInline);
  copy.bytes = kLarge;
  EXPECT_EQ(decide(copy).path, Path::kConducted);
  copy.all_synchronous = true;
  EXPECT_EQ(decide(copy).path, Path::kInline);
  copy.host_work = true;
  EXPECT_EQ(decide(copy).path, Path::kConducted);
}

TEST(Admission, HostWorkIsDoneAtOnceWhereItBelongsToTheCaller) {
  Admission::Asked work{.host_work = true, .data_backend = kGpu, .bytes = kLarge};
  EXPECT_EQ(decide(work, {.possible = false}).path, Path::kConducted);
  work.in_caller = true;
  EXPECT_EQ(decide(work, {.possible = false}).path, Path::kInline);
  EXPECT_EQ(decide(work, {.possible = false, .conflicts = ahead({on(kGpu)})}).path,
            Path::kConducted);
  work.ahead = ahead({on(kGpu)});
  EXPECT_EQ(decide(work, {.possible = false}).path, Path::kConducted);
}

TEST(Admission, NothingIsDoneAtOnceWhileOthersUseItsData) {
  const Admission::Asked copy{.bytes = 4096};
  EXPECT_EQ(decide(copy, {.conflicts = ahead({on(kGpu)})}).path, Path::kConducted);
}

TEST(Admission, InTheOnlyMemoryThereIsTheQueueMovesWhatIsLarge) {
  Admission::Asked write{.several_memories = false, .bytes = kLarge};
  EXPECT_EQ(decide(write).path, Path::kDirect);
  write.bytes = 4096;
  EXPECT_EQ(decide(write).path, Path::kInline);
}

TEST(Admission, LittleContentOvertakesALongLaunchInTheHostsCopy) {
  const Admission::Asked write{
      .overwrites = true, .overtakes = true, .data_backend = kGpu, .bytes = 64};
  Admission::AtTarget at = possible();
  EXPECT_EQ(decide(write, at).path, Path::kDirect);
  at.busy_seconds = 1;
  const Admission decided = decide(write, at);
  EXPECT_EQ(decided.path, Path::kInline);
  EXPECT_TRUE(decided.to_host);
}

TEST(Admission, TheQueueKeepsTheOrderOfWhatUsesTheSameBytesOnItsDeviceOnly) {
  EXPECT_EQ(decide(launch_on(kGpu), {.possible = true, .conflicts = ahead({on(kGpu)})}).path,
            Path::kDirect);
  EXPECT_EQ(decide(launch_on(kGpu), {.possible = true, .conflicts = ahead({on(kCpu)})}).path,
            Path::kConducted);
  EXPECT_EQ(decide(launch_on(kGpu), {.possible = true, .conflicts = ahead({conducted()})}).path,
            Path::kConducted);
}

TEST(Admission, LackingMemoryIsTheOnlyReasonThatIsTold) {
  Admission::AtTarget at = possible();
  at.lacks_memory = true;
  const Admission decided = decide(launch_on(kGpu), at);
  EXPECT_EQ(decided.path, Path::kConducted);
  EXPECT_EQ(decided.lacks_memory_on, kGpu);
  at.conflicts.add(on(kCpu));
  EXPECT_EQ(decide(launch_on(kGpu), at).lacks_memory_on, kNoBackend);
}

TEST(Admission, AWriteWhoseSourceIsStillWrittenWaits) {
  Admission::AtTarget at = possible();
  at.reads_what_is_written = true;
  EXPECT_EQ(decide({.data_backend = kGpu, .bytes = 64}, at).path, Path::kConducted);
}

}  // namespace
}  // namespace tutti::testing
