// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/launch_sequences.h"

#include <gtest/gtest.h>

namespace tutti::scheduler {
namespace {

constexpr uint32_t kStream = 1;

PlaceReads reads(uint64_t buffer) { return {{buffer, 1, {.range = {0, 100}}}}; }

class LaunchSequencesTest : public ::testing::Test {
 protected:
  /// The launch begins and ends; which buffer the next one was said to read, 0: none.
  uint64_t launch(uint64_t id, uint32_t stream = kStream) {
    const auto begun = sequences.begins(stream, id);
    expected = begun.expected;
    sequences.ended(stream, id, reads(id));
    return begun.next ? begun.next->front().buffer : 0;
  }
  LaunchSequences sequences;
  std::optional<bool> expected;
};

TEST_F(LaunchSequencesTest, WhatCameOnceComesAgain) {
  EXPECT_EQ(launch(1), 0u);
  EXPECT_EQ(launch(2), 0u);
  EXPECT_EQ(launch(3), 0u);
  EXPECT_EQ(launch(1), 2u);
  EXPECT_EQ(launch(2), 3u);
  EXPECT_EQ(expected, true);
  EXPECT_EQ(launch(3), 1u);
}

TEST_F(LaunchSequencesTest, OneThatIsLaunchedAloneFollowsItself) {
  EXPECT_EQ(launch(1), 0u);
  EXPECT_EQ(launch(1), 1u);
}

TEST_F(LaunchSequencesTest, WhoWasWrongIsSilentUntilItComesOnceMore) {
  for (int round = 0; round < 2; ++round) {
    for (const uint64_t id : {1, 2}) launch(id);
  }
  EXPECT_EQ(launch(1), 2u);
  launch(3);
  EXPECT_EQ(expected, false);
  EXPECT_EQ(launch(1), 0u);
  launch(3);
  EXPECT_FALSE(expected);
  EXPECT_EQ(launch(1), 3u);
}

TEST_F(LaunchSequencesTest, StreamsAreApart) {
  for (int round = 0; round < 2; ++round) {
    launch(1, 1);
    launch(5, 2);
    launch(2, 1);
    launch(6, 2);
  }
  EXPECT_EQ(launch(1, 1), 2u);
  EXPECT_EQ(launch(5, 2), 6u);
}

TEST_F(LaunchSequencesTest, WhatWasNeverTheSameIsForgotten) {
  for (uint64_t id = 1; id < 5000; ++id) EXPECT_EQ(launch(id), 0u);
  for (uint32_t stream = 2; stream < 500; ++stream) launch(1, stream);
  launch(1);
  launch(2);
  EXPECT_EQ(launch(1), 2u);
}

TEST_F(LaunchSequencesTest, OfWhatIsReadHereAndThereNothingIsSaid) {
  for (int round = 0; round < 3; ++round) {
    const auto begun = sequences.begins(kStream, 1);
    EXPECT_EQ(begun.next, nullptr);
    PlaceReads many;
    for (uint64_t i = 0; i < 10000; ++i) many.push_back({7, 1, {.range = {2 * i, 2 * i + 1}}});
    sequences.ended(kStream, 1, many);
  }
}

}  // namespace
}  // namespace tutti::scheduler
