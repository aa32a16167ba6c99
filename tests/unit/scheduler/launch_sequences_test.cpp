// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/launch_sequences.h"

#include <gtest/gtest.h>

#include "base/temporary_folder.h"

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
  PerformanceModel model;
  LaunchSequences sequences{model};
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

/// Processes one after the other that keep what they learn in one file.
class KeptSequences : public ::testing::Test {
 protected:
  /// A process that makes the launches; which buffer each next one was said to read, 0: none.
  std::vector<uint64_t> process(const std::vector<uint64_t>& launches,
                                const std::string& device = "a gpu") {
    PerformanceModel model;
    model.remember_in(ModelStore::file_in(folder.path()));
    model.set_device(0, device);
    LaunchSequences sequences(model);
    std::vector<uint64_t> said;
    expected.clear();
    for (const uint64_t id : launches) {
      const auto begun = sequences.begins(kStream, id);
      sequences.ended(kStream, id, reads(id));
      expected.push_back(begun.expected);
      said.push_back(begun.next ? begun.next->front().buffer : 0);
    }
    model.flush();
    return said;
  }
  const TemporaryFolder folder;
  std::vector<std::optional<bool>> expected;
};

using Said = std::vector<uint64_t>;

TEST_F(KeptSequences, TheNextProcessKnowsThemFromTheFirstLaunchOn) {
  EXPECT_EQ(process({1, 2, 3}), (Said{0, 0, 0}));
  EXPECT_EQ(process({1, 2, 3}), (Said{2, 3, 0}));
  EXPECT_EQ(process({1, 2, 3, 4}), (Said{2, 3, 0, 0}));
  EXPECT_EQ(process({1, 2, 3, 4}), (Said{2, 3, 4, 0}));
  EXPECT_EQ(expected.back(), true);
}

TEST_F(KeptSequences, OneThatWasWrongGivesWayAtOnce) {
  process({1, 2});
  EXPECT_EQ(process({1, 3, 1, 3}), (Said{2, 0, 3, 1}));
  EXPECT_EQ(expected[1], false);
  EXPECT_EQ(process({1, 3}), (Said{3, 1}));
}

TEST_F(KeptSequences, OfOtherDevicesNothingIsKnown) {
  process({1, 2});
  EXPECT_EQ(process({1, 2}, "another gpu"), (Said{0, 0}));
}

TEST_F(KeptSequences, WhatWasReadLastIsWhatIsKept) {
  const auto run = [&](uint64_t begin) {
    PerformanceModel model;
    model.remember_in(ModelStore::file_in(folder.path()));
    LaunchSequences sequences(model);
    const auto said = sequences.begins(kStream, 1).next;
    for (uint64_t i = 0; i < 4; ++i) {
      sequences.ended(kStream, 1, {{7, 2, {{begin + i, 1000}, -8, 64, 16}}});
      sequences.begins(kStream, 1);
    }
    model.flush();
    return said;
  };
  EXPECT_EQ(run(100), nullptr);
  const auto said = run(200);
  ASSERT_TRUE(said && said->size() == 1);
  EXPECT_EQ(said->front().buffer, 7u);
  EXPECT_EQ(said->front().place, 2u);
  EXPECT_EQ(said->front().strips, (ByteStrips{{103, 1000}, -8, 64, 16}));
  EXPECT_EQ(run(300)->front().strips.range.begin, 203u);
}

TEST_F(KeptSequences, AProgramThatNeverRepeatsItselfFillsNoDisk) {
  std::vector<uint64_t> launches(20000);
  for (size_t i = 0; i < launches.size(); ++i) launches[i] = i + 1;
  process(launches);
  const auto count = [&] {
    auto store = ModelStore::open(ModelStore::file_in(folder.path()), ModelStore::Mode::kReadOnly);
    return store ? (*store)->count_launches() : 0;
  };
  EXPECT_GT(count(), 100u);
  EXPECT_LE(count(), 1024u);
  for (uint64_t run = 1; run < 8; ++run) {
    for (uint64_t& launch : launches) launch += launches.size();
    process(launches);
  }
  EXPECT_LE(count(), 4000u);
}

TEST(ModelStore, DamagedLaunchesAreNotThere) {
  const TemporaryFolder folder;
  auto store = ModelStore::open(ModelStore::file_in(folder.path()), ModelStore::Mode::kCreate);
  ASSERT_TRUE(store);
  EXPECT_FALSE((*store)->load_launch(1));
  using Read = KeptLaunch::Read;
  const Read right{
      .buffer = 3, .place = 1, .begin = 8, .end = 24, .phase = -4, .period = 8, .length = 8};
  const auto kept = [&](const Read& read) {
    const ModelStore::Launch launch{9, {.next = 5, .reads = {right, read}}};
    EXPECT_TRUE((*store)->keep_launches({&launch, 1}));
    return (*store)->load_launch(9);
  };
  EXPECT_EQ(kept(right), (KeptLaunch{.next = 5, .reads = {right, right}}));
  const auto wrong = [&](auto change) {
    Read read = right;
    change(read);
    EXPECT_FALSE(kept(read));
  };
  wrong([](Read& read) { read.end = read.begin; });
  wrong([](Read& read) { read.end = uint64_t{1} << 63; });
  wrong([](Read& read) { read.phase = INT64_MIN; });
  wrong([](Read& read) { read.period = 0; });
  wrong([](Read& read) { read.length = 0; });
  wrong([](Read& read) { read.length = 9; });
  wrong([](Read& read) { read.period = read.length = uint64_t{1} << 60; });
  ASSERT_TRUE((*store)->clear());
  EXPECT_FALSE((*store)->load_launch(9));
  EXPECT_EQ((*store)->count_launches(), 0u);
}

}  // namespace
}  // namespace tutti::scheduler
