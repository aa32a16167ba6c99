// SPDX-License-Identifier: Apache-2.0
// TUTTI_VERIFY=vote: devices whose results are wrong now and then.
#include "scheduler/run/vote.h"

#include <algorithm>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

// ---- who is asked, and who is right

TEST(Election, TheFirstResultThatTwoDevicesAgreeOn) {
  using Devices = std::vector<uint32_t>;
  const auto result = [](const Devices& devices, const std::vector<int>& values) {
    return elected(devices, [&](size_t a, size_t b) { return values[a] == values[b]; });
  };
  EXPECT_EQ(result({0, 1}, {7, 7}), 0u);
  EXPECT_EQ(result({0, 1}, {7, 8}), std::nullopt);
  EXPECT_EQ(result({0, 1, 2}, {7, 8, 8}), 1u);
  EXPECT_EQ(result({0, 1, 2}, {7, 8, 9}), std::nullopt);
  // A device does not vote for itself.
  EXPECT_EQ(result({0, 1, 0}, {7, 8, 7}), std::nullopt);
  EXPECT_EQ(result({0, 1, 0, 1}, {7, 8, 7, 8}), std::nullopt);
  EXPECT_EQ(result({0, 1, 0, 1}, {7, 8, 7, 7}), 0u);
  EXPECT_EQ(result({0}, {7}), std::nullopt);
}

TEST(VoterChoice, WhoFailsIsAskedLessOftenButIsNotBanned) {
  VoterChoice choice;
  const auto ask = [&](uint64_t wrong) {
    return choice.order({{.backend = 0, .seconds = 1, .votes = {99, wrong}},
                         {.backend = 1, .seconds = 1.5, .votes = {99, 0}},
                         {.backend = 2, .seconds = 2, .votes = {99, 0}}});
  };
  EXPECT_EQ(ask(0), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_DOUBLE_EQ(VoterChoice::cost({.backend = 0, .seconds = 1, .votes = {99, 50}}), 2);
  EXPECT_DOUBLE_EQ(VoterChoice::cost({.backend = 0, .seconds = 1, .votes = {99, 99}}), 100);
  int asked = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto order = ask(99);
    ASSERT_EQ(order.size(), 3u);
    asked += order[0] == 0 || order[1] == 0;
  }
  EXPECT_GT(asked, 3);
  EXPECT_LT(asked, 20);  // at 100 times the cost
}

// ---- the whole of it

class Votes : public EngineTest {
 protected:
  Votes() { verify = {.on = true, .vote = true, .tolerance = 1e-3}; }
  void begin(const FakeKinds& devices) {
    start(devices, SplitMode::kForce);
    stream = engine->create_stream({});
  }
  DeviceHealth::Votes votes(uint32_t device) { return set->health().votes(device); }
  Ref<Stream> stream;
};

TEST_F(Votes, OfThreeDevicesOneMayErr) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory, kOwnMemory, kOwnMemory},
                              {kSharesHost, kSharesHost, kSharesHost},
                              {kSharesHost, kOwnMemory, kOwnMemory},
                              {kCostlyTimes, kOwnMemory, kSharesHost},
                              {kSynchronous, kSynchronous, kSharesHost}}) {
    SCOPED_TRACE(devices);
    begin(devices);
    fakes[1]->wrong_every = 3;
    auto a = buffer(2), b = buffer(5), c = buffer(1);
    uint8_t in_place = 1;
    for (uint32_t i = 0; i < 40; ++i) {
      ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, i)));
      ASSERT_TRUE(enqueue(*stream, map_kernel(c, c, 1)));
      in_place = static_cast<uint8_t>(3 * in_place + 1);
      EXPECT_EQ(read(*stream, b), filled(static_cast<uint8_t>(6 + i)));
    }
    EXPECT_EQ(read(*stream, c), filled(in_place));
    EXPECT_GT(votes(1).wrong, 0u);
    EXPECT_LT(votes(1).wrong, votes(1).all);
    for (const uint32_t right : {0u, 2u}) {
      EXPECT_GT(votes(right).all, 0u);
      EXPECT_EQ(votes(right).wrong, 0u);
    }
    engine.reset();
  }
}

TEST_F(Votes, OfTwoDevicesOneThatErrsNowAndThenIsOutvotedOrTold) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kOwnMemory, kOwnMemory}, {kSharesHost, kSharesHost}, {kSharesHost, kOwnMemory}}) {
    SCOPED_TRACE(devices);
    begin(devices);
    fakes[1]->wrong_every = 3;
    auto a = buffer(2), b = buffer(5);
    int right = 0;
    for (uint32_t i = 0; i < 40; ++i) {
      const auto launch = enqueue(*stream, map_kernel(a, b, i));
      ASSERT_TRUE(launch);
      static_cast<void>(engine->finish(*stream));
      if ((*launch)->status() != CL_COMPLETE) continue;
      ++right;
      EXPECT_EQ(read(*stream, b), filled(static_cast<uint8_t>(6 + i)));
    }
    EXPECT_EQ(right, 40);  // it never errs twice in a row
    EXPECT_GT(votes(1).wrong, 0u);
    EXPECT_EQ(votes(0).wrong, 0u);
    engine.reset();
  }
}

TEST_F(Votes, OfTwoDevicesOneThatAlwaysErrsIsTold) {
  begin({kOwnMemory, kSharesHost});
  fakes[0]->wrong_every = 1;
  auto a = buffer(2), b = buffer(5);
  const auto launch = enqueue(*stream, map_kernel(a, b, 1));
  ASSERT_TRUE(launch);
  static_cast<void>(engine->finish(*stream));
  EXPECT_LT((*launch)->status(), 0);
  std::vector<std::byte> bytes(kBytes);
  EXPECT_FALSE(enqueue(*stream, ReadWork{whole(b), 0, kBytes, bytes.data()}, {}, true));
}

TEST_F(Votes, WhatIsWithinTheToleranceIsNoFailure) {
  begin({kOwnMemory, kOwnMemory, kOwnMemory});
  for (auto* fake : {fakes[0], fakes[2]}) fake->noisy = true;
  auto a = buffer(2), b = buffer(5);
  auto summary = summary_of(KernelForm::kMap);
  for (const char* type : {"float*", "uint*"}) {
    summary.arguments[1].type_name = type;
    KernelWork work = map_kernel(a, b, 1);
    work.kernel = std::make_shared<FakeKernel>(
        summary, [](const FakeItem& item) { run_item(KernelForm::kMap, item); }, set->count());
    uint64_t before = 0, after = 0;
    for (uint32_t i = 0; i < 3; ++i) before += votes(i).wrong;
    ASSERT_TRUE(enqueue(*stream, work));
    ASSERT_TRUE(engine->finish(*stream));
    for (uint32_t i = 0; i < 3; ++i) after += votes(i).wrong;
    EXPECT_EQ(after - before, std::string(type) == "float*" ? 0u : 1u) << type;
  }
}

TEST_F(Votes, KernelsThatAreNotUnderstoodRunWithoutOne) {
  begin({kOwnMemory, kOwnMemory});
  auto a = buffer(2), b = buffer(5);
  KernelWork work = map_kernel(a, b, 1);
  work.kernel = fake_kernel(KernelForm::kSearch, set->count());  // by order
  ASSERT_TRUE(enqueue(*stream, work));
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(votes(0).all + votes(1).all, 0u);
}

TEST_F(Votes, ADeviceThatFailsHasNoVote) {
  begin({kOwnMemory, kOwnMemory, kOwnMemory});
  fakes[0]->refuse_launches = 1 << 20;
  fakes[2]->wrong_every = 4;
  auto a = buffer(2), b = buffer(5);
  for (uint32_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, i)));
    EXPECT_EQ(read(*stream, b), filled(static_cast<uint8_t>(6 + i)));
  }
  EXPECT_EQ(votes(0).all, 0u);
  EXPECT_GT(votes(1).all, 0u);
}

}  // namespace
}  // namespace tutti::testing
