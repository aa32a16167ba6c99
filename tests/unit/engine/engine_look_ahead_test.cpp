// SPDX-License-Identifier: Apache-2.0
// What the next launch will read is sent while other packages of this one still compute.
#include <random>
#include <thread>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineLookAhead : public EngineTest {
 protected:
  void SetUp() override { look_ahead = LookAhead::kAlways; }

  void begin(const FakeKinds& devices) {
    start(devices, SplitMode::kForce);
    // The same one for all launches: a kernel is known by itself.
    kernel = std::make_shared<FakeKernel>(
        summary_of(KernelForm::kGather),
        [this](const FakeItem& item) {
          if (before) before();
          run_item(KernelForm::kGather, item);
        },
        set->count());
  }
  /// out[i] = in[(7 i + 1) % n] + 1: every package may read all of `in`.
  KernelWork gather(const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out) {
    KernelWork work = map_kernel(in, out, 1);
    work.kernel = kernel;
    return work;
  }
  static std::vector<std::byte> gathered(const std::vector<std::byte>& in) {
    std::vector<std::byte> out(in.size());
    for (uint32_t i = 0; i < kBytes; ++i) {
      apply(KernelForm::kGather, in.data(), out.data(), i, kBytes, 1);
    }
    return out;
  }
  uint64_t launched() const {
    uint64_t sum = 0;
    for (const FakeBackend* fake : fakes) sum += fake->launches;
    return sum;
  }
  /// Bytes that are not on some device, of all devices.
  uint64_t missing(const LogicalBuffer& buffer) const {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < set->count(); ++i) {
      sum += buffer.missing(buffer.place_on(i), {.range = {0, kBytes}}).bytes;
    }
    return sum;
  }
  /// Launches from one buffer to the other and back, each finished before the next one; how many of
  /// them left a device with what another one had computed.
  int rounds_ahead(const FakeKinds& devices, bool forgets) {
    begin(devices);
    auto stream = engine->create_stream({});
    std::array buffers{buffer(0), buffer(0)};
    std::vector<std::byte> expected(kBytes);
    for (uint32_t i = 0; i < kBytes; ++i) expected[i] = static_cast<std::byte>(i * i);
    EXPECT_TRUE(
        enqueue(*stream, WriteWork{whole(buffers[0]), 0, kBytes, expected.data()}, {}, true));
    int ahead = 0;
    for (size_t round = 0; round < 40; ++round) {
      auto& in = buffers[round % 2];
      auto& out = buffers[1 - round % 2];
      if (forgets) out = buffer(0);
      // Once a package must have ended, the others give what it has written some time to travel.
      const uint64_t begun = launched();
      const auto left = std::make_shared<std::atomic<int>>(5000);
      before = [this, begun, left, &out] {
        while (launched() > begun + 2 * fakes.size() && missing(*out) >= most_missing() &&
               --*left > 0) {
          std::this_thread::yield();
        }
      };
      EXPECT_TRUE(enqueue(*stream, gather(in, out)));
      EXPECT_TRUE(engine->finish(*stream));
      expected = gathered(expected);
      ahead += missing(*out) < most_missing() ? 1 : 0;
    }
    before = {};
    EXPECT_EQ(read(*stream, buffers[0]), expected);
    engine.reset();
    return ahead;
  }
  /// Where each byte is in one place alone.
  uint64_t most_missing() const { return (set->count() - 1) * uint64_t{kBytes}; }

  std::function<void()> before;  // each item; changed between launches only
  std::shared_ptr<FakeKernel> kernel;
};

TEST_F(EngineLookAhead, WhatIsReadNextIsSentWhileOthersCompute) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kOwnMemory, kSharesHost},
                                                         {kSerial, kSerial},
                                                         {kOwnMemory, kOwnMemory, kOwnMemory}}) {
    SCOPED_TRACE(to_string(devices));
    EXPECT_GT(rounds_ahead(devices, false), 0);
    // Of launches that have not been seen nothing is known.
    EXPECT_EQ(rounds_ahead(devices, true), 0);
    look_ahead = LookAhead::kNever;
    EXPECT_EQ(rounds_ahead(devices, false), 0);
    look_ahead = LookAhead::kAuto;  // which leaves alone what does one thing at a time
    if (devices[0] == kSerial) {
      EXPECT_EQ(rounds_ahead(devices, false), 0);
    }
    look_ahead = LookAhead::kAlways;
  }
}

TEST_F(EngineLookAhead, WhatComesOtherwiseIsRight) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                              {kOwnMemory, kSharesHost, kOwnMemory},
                              {kSerial, kSerial},
                              {kOwnMemory, kOwnMemory, kOwnMemory, kOwnMemory}}) {
    SCOPED_TRACE(to_string(devices));
    begin(devices);
    auto stream = engine->create_stream({});
    std::mt19937 random(7);
    std::array buffers{buffer(1), buffer(2), buffer(3)};
    std::array expected{filled(1), filled(2), filled(3)};
    for (int round = 0; round < 400; ++round) {
      // Mostly as before, so that something is expected.
      const size_t in = random() % 8 == 0 ? random() % 3 : static_cast<size_t>(round % 3);
      const size_t out = (in + 1 + random() % 8 / 7) % 3;
      ASSERT_TRUE(enqueue(*stream, gather(buffers[in], buffers[out])));
      expected[out] = gathered(expected[in]);
      if (random() % 4 == 0) {
        ASSERT_TRUE(engine->finish(*stream));
      }
      if (random() % 16 == 0) {
        ASSERT_EQ(read(*stream, buffers[out]), expected[out]) << round;
      }
    }
    for (size_t i = 0; i < 3; ++i) ASSERT_EQ(read(*stream, buffers[i]), expected[i]);
    engine.reset();
  }
}

TEST_F(EngineLookAhead, ADeviceThatFailsIsDoneWithout) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory, kOwnMemory}, {kOwnMemory, kOwnMemory, kOwnMemory}}) {
    SCOPED_TRACE(to_string(devices));
    for (const bool spoils : {false, true}) {
      begin(devices);
      auto stream = engine->create_stream({});
      std::array buffers{buffer(9), buffer(0)};
      auto expected = filled(9);
      fakes[1]->spoil_failed = spoils;
      for (size_t round = 0; round < 60; ++round) {
        if (round > 6 && round % 3 == 0) fakes[1]->fail_launches = 1;
        ASSERT_TRUE(enqueue(*stream, gather(buffers[round % 2], buffers[1 - round % 2])));
        if (round % 2 == 0) {
          ASSERT_TRUE(engine->finish(*stream));
        }
        expected = gathered(expected);
      }
      ASSERT_EQ(read(*stream, buffers[0]), expected);
      engine.reset();
    }
  }
}

TEST_F(EngineLookAhead, ADeviceThatIsLostIsToldOrDoneWithout) {
  int right = 0, told = 0;
  for (size_t lost_in = 3; lost_in < 40; ++lost_in) {
    begin({kOwnMemory, kOwnMemory, kOwnMemory});
    auto stream = engine->create_stream({});
    std::array buffers{buffer(9), buffer(0)};
    auto expected = filled(9);
    bool failed = false;
    std::atomic<int> left{static_cast<int>(lost_in * kBytes) - 900};
    before = [this, &left] {
      if (--left == 0) fakes[1]->lost = true;
    };
    for (size_t round = 0; round < 40; ++round) {
      failed |= !enqueue(*stream, gather(buffers[round % 2], buffers[1 - round % 2]));
      failed |= !engine->finish(*stream);
      expected = gathered(expected);
    }
    std::vector<std::byte> found(kBytes);
    failed |= !enqueue(*stream, ReadWork{whole(buffers[0]), 0, kBytes, found.data()}, {}, true);
    before = {};
    ++(failed ? told : right);
    if (!failed) {
      ASSERT_EQ(found, expected) << lost_in;
    }
    engine.reset();
  }
  EXPECT_EQ(right + told, 37);
}

}  // namespace
}  // namespace tutti::testing
