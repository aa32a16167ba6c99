// SPDX-License-Identifier: Apache-2.0
#include "scheduler/model/performance_model.h"
#include "scheduler/model/build_times.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tutti::scheduler {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kKernel = 7;

TEST(TimeFit, TellsStartUpFromRateWhereSizesDiffer) {
  TimeFit fit;
  for (const double size : {100.0, 400.0, 1000.0}) fit.add({size, 0.5 + size / 200, size});
  EXPECT_NEAR(fit.startup(), 0.5, 1e-9);
  EXPECT_NEAR(fit.rate(), 200, 1e-6);
  EXPECT_NEAR(fit.predict(2000), 10.5, 1e-6);
  EXPECT_NEAR(fit.irregularity(), 0, 1e-6);
}

TEST(TimeFit, OneSizeTellsASpeedOnly) {
  TimeFit fit;
  EXPECT_TRUE(fit.empty());
  EXPECT_EQ(fit.predict(10), 0);
  for (int i = 0; i < 5; ++i) fit.add({100, 2, 50});
  EXPECT_EQ(fit.startup(), 0);
  EXPECT_DOUBLE_EQ(fit.predict(300), 6);
}

TEST(TimeFit, ASpeedIsKnownAlsoWhereNoSampleTellsOne) {
  TimeFit fit;
  fit.add({100, 2});
  fit.add({100, 3});
  EXPECT_NEAR(fit.speed(), 40, 1);
  EXPECT_NEAR(fit.rate(), 40, 1);
  EXPECT_NEAR(fit.predict(300), 7.5, 0.2);
}

TEST(TimeFit, ALineThatMakesNoSenseIsNotUsed) {
  TimeFit falling;  // larger took less
  falling.add({100, 2, 50});
  falling.add({1000, 1, 1000});
  EXPECT_EQ(falling.startup(), 0);
  EXPECT_GT(falling.rate(), 0);
  TimeFit negative;  // nothing at all would have taken less than no time
  negative.add({100, 0.1, 1000});
  negative.add({1000, 10, 100});
  EXPECT_EQ(negative.startup(), 0);
  EXPECT_GT(negative.predict(1), 0);
}

TEST(TimeFit, AnIrregularKernelHasNoStartUp) {
  TimeFit fit;  // times of packages of an image: size says little
  for (const auto& [size, seconds] : {std::pair{100, 3.0}, {100, 1.0}, {400, 4.0}, {400, 2.0}}) {
    fit.add({static_cast<double>(size), seconds, 100});
  }
  EXPECT_EQ(fit.startup(), 0);
}

TEST(TimeFit, FollowsWhatChanges) {
  TimeFit fit;
  for (int i = 0; i < 50; ++i) fit.add({100, 1, 100});
  for (int i = 0; i < 50; ++i) fit.add({100, 2, 50});
  EXPECT_NEAR(fit.predict(100), 2, 0.1);
}

TEST(TimeFit, TinyLaunchesSayNothingOfHugeOnes) {
  TimeFit fit;
  fit.add({64, 20e-6, 64 / 20e-6});
  EXPECT_TRUE(fit.reliable(128));
  EXPECT_FALSE(fit.reliable(1 << 20));
  TimeFit longer;
  longer.add({64, 0.1, 640});
  EXPECT_TRUE(longer.reliable(1 << 20));
}

TEST(TimeFit, SmallTransfersDoNotHideTheSpeedOfLargeOnes) {
  TimeFit fit;
  for (const double seconds : {6.4e-3, 9e-3}) fit.add({64e6, seconds, 64e6 / seconds});
  for (int i = 0; i < 100; ++i) fit.add({64 << 10, 40e-6, (64 << 10) / 40e-6});
  EXPECT_GT(fit.per_size(), 0.9e-10);
  EXPECT_LT(fit.per_size(), 2e-10);
}

TEST(TimeFit, DeviationIsIrregularity) {
  TimeFit fit;
  for (int i = 0; i < 20; ++i) fit.add({100, i % 2 ? 1.5 : 0.5, 100});
  EXPECT_NEAR(fit.irregularity(), 0.5, 0.1);
}

TEST(PerformanceModel, SpeedFollowsTheLastSamples) {
  PerformanceModel model;
  EXPECT_FALSE(model.speed(kKernel, 0).has_value());
  model.add(kKernel, 0, 100, 1);
  EXPECT_DOUBLE_EQ(*model.speed(kKernel, 0), 100);
  model.add(kKernel, 0, 140, 1);
  EXPECT_DOUBLE_EQ(*model.speed(kKernel, 0), 120);
  EXPECT_FALSE(model.speed(kKernel, 1).has_value());
}

TEST(PerformanceModel, ASlowFirstRunIsForgotten) {
  PerformanceModel model;
  model.add(kKernel, 0, 100, 10);  // code generation
  EXPECT_FALSE(model.settled(kKernel, 0));
  model.add(kKernel, 0, 100, 1);
  EXPECT_TRUE(model.settled(kKernel, 0));
  EXPECT_DOUBLE_EQ(*model.speed(kKernel, 0), 100);
  EXPECT_DOUBLE_EQ(model.fit(kKernel, 0).predict(100), 1);
}

TEST(PerformanceModel, PackagesTellTheLineAndTheirSumTheSpeed) {
  PerformanceModel model;
  const Sample packages[] = {{800, 9}, {100, 2}, {100, 2}};  // 1 + x/100
  model.add_packages(kKernel, 0, packages);
  EXPECT_NEAR(model.fit(kKernel, 0).startup(), 1, 1e-9);
  EXPECT_NEAR(*model.speed(kKernel, 0), 1000.0 / 13, 1e-9);
}

TEST(PerformanceModel, SamplesThatTellNothingAreLeftOut) {
  PerformanceModel model;
  model.add(kKernel, 0, 0, 1);
  model.add(kKernel, 0, 100, 0);
  EXPECT_FALSE(model.speed(kKernel, 0).has_value());
}

constexpr uint64_t kNow = 1'000'000'000'000;

TEST(PerformanceModel, AsksForThreeSamplesAndThenForFew) {
  // 1000 launches in a row before the first of them has ended: 3, and one in 64 of the others.
  PerformanceModel model;
  int wanted = 0;
  for (int i = 0; i < 1000; ++i) wanted += model.wants_sample(kKernel, 0, 1, kNow);
  EXPECT_EQ(wanted, 3 + 997 / 64);
  for (int i = 0; i < wanted; ++i) model.add(kKernel, 0, 1, 1);
  EXPECT_FALSE(model.wants_sample(kKernel, 0, 1, kNow));
  EXPECT_TRUE(model.wants_sample(kKernel, 1, 1, kNow));
}

TEST(PerformanceModel, AsksForFewerSamplesOfTinyLaunches) {
  const auto asked = [](double seconds) {
    PerformanceModel model;
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(model.wants_sample(kKernel, 0, 1, kNow));
      model.add(kKernel, 0, 1, seconds);
    }
    int wanted = 0;
    for (int i = 0; i < 32768; ++i) wanted += model.wants_sample(kKernel, 0, 1, kNow);
    return wanted;
  };
  EXPECT_EQ(asked(1), 32768 / 64);
  EXPECT_EQ(asked(20e-6), 32768 / 500);
  EXPECT_EQ(asked(1e-6), 32768 / 8192);
}

TEST(PerformanceModel, ASampleThatNeverComesIsReplaced) {
  PerformanceModel model;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(model.wants_sample(kKernel, 0, 1, kNow));
  int again = 0;
  for (int i = 0; i < 64; ++i) again += model.wants_sample(kKernel, 0, 1, kNow);
  EXPECT_EQ(again, 1);
}

// An argument may say how often a loop runs: launches of that size then take longer than is known.
TEST(PerformanceModel, AsksForFourSamplesASecondAtLeast) {
  PerformanceModel model;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(model.wants_sample(kKernel, 0, 1, kNow));
    model.add(kKernel, 0, 1, 40e-6);
  }
  EXPECT_FALSE(model.wants_sample(kKernel, 0, 1, kNow + 249'000'000));
  EXPECT_TRUE(model.wants_sample(kKernel, 0, 1, kNow + 250'000'000));
  EXPECT_FALSE(model.wants_sample(kKernel, 0, 1, kNow + 290'000'000));
  EXPECT_TRUE(model.wants_sample(kKernel, 0, 1, kNow + 500'000'000));
}

TEST(PerformanceModel, KnowsFromOtherKernelsHowDevicesCompare) {
  PerformanceModel model;
  EXPECT_FALSE(model.experience(0, 1).has_value());
  for (const uint64_t kernel : {10, 11, 12}) {
    model.add(kernel, 0, 300, 1);
    model.add(kernel, 1, 100, 1);
  }
  model.add(kToDevice, 0, 1, 1);  // transfers are no kernels
  model.add(kToDevice, 1, 1000, 1);
  EXPECT_DOUBLE_EQ(*model.experience(0, 1), 3);
  EXPECT_DOUBLE_EQ(*model.experience(1, 0), 1.0 / 3);
}

class ModelStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tutti-model-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }
  std::string file() const { return ModelStore::file_in(folder_ / "cache"); }
  std::unique_ptr<PerformanceModel> model() const {
    auto made = std::make_unique<PerformanceModel>();
    made->set_device(0, "first");
    made->set_device(1, "second");
    made->remember_in(file());
    return made;
  }
  std::vector<ModelStore::Entry> entries() const {
    auto store = ModelStore::open(file(), ModelStore::Mode::kReadOnly);
    if (!store) return {};
    return (*store)->list().value();
  }

  fs::path folder_;
};

TEST_F(ModelStoreTest, WhatOneProcessLearnedTheNextOneKnows) {
  auto before = model();
  before->add(kKernel, 0, 100, 2, "blur");
  before->add(kKernel, 0, 300, 4, "blur");
  before->add(kKernel, 1, 100, 1, "blur");
  const double expected = before->fit(kKernel, 0).predict(500);
  before->flush();
  auto after = model();
  EXPECT_TRUE(after->settled(kKernel, 0));
  EXPECT_DOUBLE_EQ(after->fit(kKernel, 0).predict(500), expected);
  EXPECT_FALSE(after->settled(kKernel + 1, 0));
  EXPECT_TRUE(after->experience(1, 0).has_value());
  const auto all = entries();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "blur");
  EXPECT_EQ(all[0].kernel, kKernel);
}

TEST_F(ModelStoreTest, ALaunchOfVeryManyPackagesTellsItsSpeed) {
  auto before = model();
  std::vector<Sample> packages;
  for (int i = 0; i < 300; ++i) packages.push_back({100, i % 2 == 0 ? 0.5 : 1.5});
  before->add_packages(kKernel, 0, packages, "fractal");
  before->flush();
  auto after = model();
  EXPECT_DOUBLE_EQ(after->speed(kKernel, 0).value(), 100);
  EXPECT_NEAR(after->fit(kKernel, 0).predict(1000), 10, 1e-6);
}

TEST_F(ModelStoreTest, NothingIsMadeBeforeItIsNeeded) {
  auto idle = model();
  EXPECT_FALSE(fs::exists(folder_ / "cache"));
  idle->flush();
  EXPECT_FALSE(fs::exists(folder_ / "cache"));
}

TEST_F(ModelStoreTest, ProcessesAddToEachOther) {
  constexpr int kProcesses = 4, kRounds = 20;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto own = model();
      for (int round = 0; round < kRounds; ++round) {
        own->add(100 + static_cast<uint64_t>(i), 0, 100, 1, "own");
        own->add(kKernel, 0, 100, 1, "shared");
        own->flush();
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto all = entries();
  ASSERT_EQ(all.size(), kProcesses + 1u);
  // Σ 0.95^i: a sample lost would show.
  const auto weight = [](int n) { return (1 - std::pow(0.95, n)) / 0.05; };
  for (const auto& entry : all) {
    const int samples = entry.kernel == kKernel ? kProcesses * kRounds : kRounds;
    EXPECT_NEAR(entry.sums.n, weight(samples), 1e-6) << entry.name;
  }
}

TEST_F(ModelStoreTest, AKilledWriterLeavesWholeRows) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto own = model();
    own->add(kKernel, 0, 100, 1, "kept");
    own->flush();
    own->add(kKernel + 1, 0, 100, 1, "lost");
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(model()->settled(kKernel, 0));
  EXPECT_FALSE(model()->settled(kKernel + 1, 0));
}

TEST_F(ModelStoreTest, ADamagedFileIsBegunAnew) {
  fs::create_directories(folder_ / "cache");
  std::ofstream(file()) << std::string(5000, 'x');
  auto own = model();
  own->add(kKernel, 0, 100, 1, "new");
  own->flush();
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(ModelStoreTest, AnotherVersionIsBegunAnew) {
  {
    auto own = model();
    own->add(kKernel, 0, 100, 1, "old");
    own->flush();
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA user_version=99", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  EXPECT_FALSE(ModelStore::open(file(), ModelStore::Mode::kReadOnly));
  EXPECT_FALSE(model()->settled(kKernel, 0));
  EXPECT_TRUE(entries().empty());
}

TEST_F(ModelStoreTest, WithoutAPlaceToWriteItWorksForTheProcess) {
  std::ofstream(folder_ / "cache") << "a file where the folder should be";
  auto own = model();
  own->add(kKernel, 0, 100, 1, "kept here");
  own->flush();
  EXPECT_DOUBLE_EQ(*own->speed(kKernel, 0), 100);
}

TEST_F(ModelStoreTest, ThreadsMayAddAndFlushAtOnce) {
  auto own = model();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        own->add(kKernel, 0, 100, 1, "shared");
        if (round % 10 == 0) own->flush();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  own->flush();
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_NEAR(entries()[0].sums.n, (1 - std::pow(0.95, 200)) / 0.05, 1e-6);
}

TEST_F(ModelStoreTest, IsForItsUserAlone) {
  const auto learn = [this] {
    auto own = model();
    own->add(kKernel, 0, 100, 1, "x");
    own->flush();
  };
  const auto others = fs::perms::group_all | fs::perms::others_all;
  learn();
  ASSERT_EQ(entries().size(), 1u);
  for (const auto& entry : fs::directory_iterator(folder_ / "cache")) {
    EXPECT_EQ(entry.status().permissions() & others, fs::perms::none) << entry.path();
  }
  EXPECT_EQ(fs::status(folder_ / "cache").permissions() & others, fs::perms::none);
  // Where others may write nothing is believed, nor written.
  fs::permissions(folder_ / "cache", fs::perms::group_write, fs::perm_options::add);
  EXPECT_FALSE(model()->speed(kKernel, 0));
  fs::permissions(folder_ / "cache", fs::perms::group_write, fs::perm_options::remove);
  EXPECT_TRUE(model()->speed(kKernel, 0));
  fs::permissions(file(), fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(model()->speed(kKernel, 0));
  // Links lead nowhere.
  fs::permissions(file(), others, fs::perm_options::remove);
  fs::rename(file(), folder_ / "elsewhere");
  fs::create_symlink(folder_ / "elsewhere", file());
  EXPECT_FALSE(model()->speed(kKernel, 0));
}

TEST_F(ModelStoreTest, WhatMakesNoSenseIsNotKnown) {
  for (const char* change :
       {"n=-1", "x=9e999", "t=0", "speed=-1e308", "xx='much'", "largest=NULL"}) {
    fs::remove_all(folder_ / "cache");
    auto own = model();
    own->add(kKernel, 0, 100, 1, "x");
    own->flush();
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
    sqlite3_exec(database, (std::string("UPDATE fits SET ") + change).c_str(), nullptr, nullptr,
                 nullptr);
    sqlite3_close(database);
    const auto speed = model()->speed(kKernel, 0);
    // A text counts as 0, which a sum of squares may be.
    EXPECT_EQ(speed.has_value(), std::string(change) == "xx='much'") << change;
  }
}

TEST_F(ModelStoreTest, ClearForgetsEverything) {
  auto own = model();
  own->add(kKernel, 0, 100, 1, "x");
  own->flush();
  auto store = ModelStore::open(file(), ModelStore::Mode::kCreate);
  ASSERT_TRUE(store);
  ASSERT_TRUE((*store)->clear());
  EXPECT_TRUE(entries().empty());
}

TEST(BuildTimes, ADriversStartIsNoPartOfFurtherBuilds) {
  PerformanceModel model;
  BuildTimes builds(model);
  EXPECT_DOUBLE_EQ(builds.note(0, "one", 4000, {0.36, 0.36}), 0.09);  // with the start
  EXPECT_DOUBLE_EQ(builds.expected(0, 4000, 0.09), 0.09);             // nothing is learned of it
  EXPECT_DOUBLE_EQ(builds.note(0, "other", 4000, {0.36, 0.36}), 0.09);
  EXPECT_DOUBLE_EQ(builds.note(0, "one", 4000, {0.08, 0.08}), 0.08);
  EXPECT_NEAR(builds.expected(0, 4000, 0.36), 0.08, 1e-6);
  EXPECT_NEAR(builds.expected(0, 2000, 0.36), 0.04, 1e-6);
  EXPECT_DOUBLE_EQ(builds.expected(1, 4000, 0.2), 0.2);
}

TEST(BuildTimes, ALargeProgramTakesItsTimeOnceMore) {
  PerformanceModel model;
  BuildTimes builds(model);
  EXPECT_DOUBLE_EQ(builds.note(0, "one", 4000, {12, 12}), 11.5);
  // Other programs of that size are quickly built, which says nothing of this one.
  builds.note(0, "one", 4000, {0.5, 0.5});
  EXPECT_DOUBLE_EQ(builds.expected(0, 4000, 11.5), 11.5);
  EXPECT_DOUBLE_EQ(builds.expected(0, 4000, 0.5), 0.5);
}

TEST(BuildTimes, WhatAVendorFindsOnDiskTakesWhatFindingHasTaken) {
  PerformanceModel model;
  BuildTimes builds(model);
  builds.note(0, "one", 4000, {0.36, 0.36});
  builds.note(0, "one", 4000, {0.08, 0.08});
  EXPECT_NEAR(builds.expected(0, 4000, 0.01), 0.01, 1e-6);  // found, and nothing is known of that
  builds.note(0, "one", 4000, {0.015, 0.015});
  EXPECT_NEAR(builds.expected(0, 4000, 0.36), 0.08, 1e-6) << "one that is not found";
  EXPECT_NEAR(builds.expected(0, 4000, 0.001), 0.015, 1e-6);
  EXPECT_NEAR(builds.expected(0, 4000, 0.018), 0.018, 1e-6) << "this one takes longer";
  EXPECT_NEAR(builds.expected_anew(0, 4000, 0.001), 0.08, 1e-6);
  // Several at once wait for each other: that is no part of any of them.
  for (int i = 0; i < 50; ++i) builds.note(0, "one", 4000, {0.5, 0.015});
  EXPECT_NEAR(builds.expected(0, 4000, 0.001), 0.015, 1e-6);
}

}  // namespace
}  // namespace tutti::scheduler
