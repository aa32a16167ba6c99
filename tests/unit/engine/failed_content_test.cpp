// SPDX-License-Identifier: Apache-2.0
// What failed commands should have written has failed: whoever uses it is told, until it is written
// anew.
#include <utility>

#include "engine_fixture.h"
#include "scheduler/memory/failed_ranges.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

TEST(FailedRanges, AreForgottenByLaterWritersOnly) {
  FailedRanges failed;
  failed.add({100, 200}, CL_OUT_OF_RESOURCES, 5);
  failed.clear({0, 150}, 4);  // it was enqueued before, and is known to have ended now
  EXPECT_EQ(failed.error_in({100, 101}), CL_OUT_OF_RESOURCES);
  failed.clear({0, 150}, 6);
  EXPECT_EQ(failed.error_in({100, 150}), CL_SUCCESS);
  EXPECT_EQ(failed.error_in({100, 151}), CL_OUT_OF_RESOURCES);
  failed.add({150, 160}, CL_OUT_OF_HOST_MEMORY, 3);  // told of late
  failed.clear({100, 200}, 4);
  EXPECT_EQ(failed.error_in({150, 160}), CL_OUT_OF_HOST_MEMORY);
  failed.clear({100, 200}, 5);
  EXPECT_TRUE(failed.empty());
}

TEST(FailedRanges, KeepWhatIsNotWrittenAnew) {
  FailedRanges failed;
  EXPECT_TRUE(failed.empty());
  failed.add({100, 200}, CL_OUT_OF_RESOURCES);
  failed.add({300, 400}, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(failed.error_in({0, 100}), CL_SUCCESS);
  EXPECT_EQ(failed.error_in({0, 101}), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(failed.error_in({200, 300}), CL_SUCCESS);
  EXPECT_EQ(failed.error_in({250, 350}), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  failed.clear({120, 150});
  EXPECT_EQ(failed.error_in({120, 150}), CL_SUCCESS);
  EXPECT_EQ(failed.error_in({119, 120}), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(failed.error_in({150, 151}), CL_OUT_OF_RESOURCES);
  failed.add({110, 180}, CL_DEVICE_NOT_AVAILABLE);  // the newest error counts
  EXPECT_EQ(failed.error_in({130, 131}), CL_DEVICE_NOT_AVAILABLE);
  EXPECT_EQ(failed.error_in({100, 105}), CL_OUT_OF_RESOURCES);
  failed.clear({0, 1000});
  EXPECT_TRUE(failed.empty());
}

class FailedContent : public EngineTest {
 protected:
  void begin(const FakeKinds& devices, SplitMode split) {
    start(devices, split);
    stream = engine->create_stream({});
  }
  /// On all devices, so that there is nowhere else to go.
  void fail_all(int launches = 1 << 20) {
    for (auto* fake : fakes) fake->fail_launches = launches;
  }
  void heal() { fail_all(0); }
  /// What a blocking read of it says; CL_SUCCESS: it has the bytes.
  cl_int error_of(const Ref<LogicalBuffer>& buffer, std::vector<std::byte>* got = nullptr,
                  uint64_t begin = 0, uint64_t size = kBytes) {
    std::vector<std::byte> bytes(kBytes);
    const auto read =
        enqueue(*stream, ReadWork{whole(buffer), begin, size, bytes.data()}, {}, true);
    if (got) *got = bytes;
    return read ? CL_SUCCESS : read.error().code;
  }
  Ref<Stream> stream;
};

TEST_F(FailedContent, IsToldToWhoeverUsesIt) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory},
                                                         {kOwnMemory, kOwnMemory},
                                                         {kSharesHost},
                                                         {kSharesHost, kOwnMemory},
                                                         {kSerial, kSerial},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSynchronous, kSynchronous}}) {
    for (const SplitMode split : {SplitMode::kNever, SplitMode::kForce}) {
      SCOPED_TRACE(to_string(devices) + (split == SplitMode::kForce ? ", split" : ", whole"));
      begin(devices, split);
      auto a = buffer(1), b = buffer(5), c = buffer(7), d = buffer(9);
      fail_all();
      const auto launch = enqueue(*stream, map_kernel(a, b, 1));
      ASSERT_TRUE(launch);
      EXPECT_EQ(error_of(b), CL_OUT_OF_RESOURCES);
      heal();
      EXPECT_EQ((*launch)->status(), CL_OUT_OF_RESOURCES);
      EXPECT_EQ(error_of(a), CL_SUCCESS);  // what it read is well
      // Small parts are read another way.
      EXPECT_EQ(error_of(b, nullptr, kBytes / 2, 8), CL_OUT_OF_RESOURCES);
      // It follows the data: by a kernel, by a copy, in another queue.
      auto other = engine->create_stream({});
      const auto used = enqueue(*other, map_kernel(b, c, 1));
      const auto copied = enqueue(*stream, CopyWork{whole(b), whole(d), 0, 0, kBytes});
      ASSERT_TRUE(used && copied);
      static_cast<void>(engine->finish(*other));
      static_cast<void>(engine->finish(*stream));
      EXPECT_EQ((*used)->status(), CL_OUT_OF_RESOURCES);
      EXPECT_EQ((*copied)->status(), CL_OUT_OF_RESOURCES);
      EXPECT_EQ(error_of(c), CL_OUT_OF_RESOURCES);
      EXPECT_EQ(error_of(d), CL_OUT_OF_RESOURCES);
      const auto mapped = enqueue(*stream, MapWork{whole(b), 0, kBytes, false}, {}, true);
      ASSERT_FALSE(mapped);
      EXPECT_EQ(mapped.error().code, CL_OUT_OF_RESOURCES);
      std::vector<std::byte> bytes(kBytes);
      const auto later = enqueue(*stream, ReadWork{whole(b), 0, kBytes, bytes.data()});
      ASSERT_TRUE(later);
      static_cast<void>(engine->finish(*stream));
      EXPECT_EQ((*later)->status(), CL_OUT_OF_RESOURCES);
      // Until it is written anew: a part of it, all of it, by a kernel.
      const auto part = filled(3);
      ASSERT_TRUE(enqueue(*stream, WriteWork{whole(b), 0, kBytes / 2, part.data()}, {}, true));
      EXPECT_EQ(error_of(b, &bytes, 0, kBytes / 2), CL_SUCCESS);
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + kBytes / 2, part.begin()));
      EXPECT_EQ(error_of(b), CL_OUT_OF_RESOURCES);
      FillWork fill;
      fill.to = whole(b);
      fill.size = kBytes;
      fill.pattern_size = 1;
      fill.pattern[0] = std::byte{4};
      ASSERT_TRUE(enqueue(*stream, fill));
      EXPECT_EQ(error_of(b, &bytes), CL_SUCCESS);
      EXPECT_EQ(bytes, filled(4));
      ASSERT_TRUE(enqueue(*stream, WriteWork{whole(c), 0, kBytes, part.data()}));
      EXPECT_EQ(read(*stream, c), part);
      engine.reset();
    }
  }
}

TEST_F(FailedContent, AKernelThatOverwritesItMakesItWell) {
  begin({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  auto a = buffer(1), b = buffer(5);
  fail_all();
  ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
  EXPECT_EQ(error_of(b), CL_OUT_OF_RESOURCES);
  heal();
  ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 2)));
  EXPECT_EQ(read(*stream, b), filled(5));
}

TEST_F(FailedContent, OfLaunchesThatNobodyObserves) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kOwnMemory}, {kOwnMemory, kOwnMemory}, {kSharesHost}, {kSynchronous, kSynchronous}}) {
    for (int good = 0; good < 6; ++good) {
      SCOPED_TRACE(to_string(devices) + ", after " + std::to_string(good));
      begin(devices, SplitMode::kNever);
      auto a = buffer(1), b = buffer(5), c = buffer(5);
      const auto launch = [&](const Ref<LogicalBuffer>& from, const Ref<LogicalBuffer>& to) {
        EnqueueOptions options;
        options.type = CL_COMMAND_NDRANGE_KERNEL;
        options.observed = false;
        ASSERT_TRUE(engine->enqueue(*stream, map_kernel(from, to, 1), options));
      };
      for (int i = 0; i < good; ++i) launch(a, b);
      fail_all();
      launch(a, b);
      launch(b, c);
      // What has joined a batch ends with the last of it: of the others the vendor's queue tells.
      EXPECT_FALSE(engine->finish(*stream));
      EXPECT_EQ(error_of(b), CL_OUT_OF_RESOURCES);
      EXPECT_EQ(error_of(c), CL_OUT_OF_RESOURCES);
      heal();
      engine.reset();
    }
  }
}

TEST_F(FailedContent, WhatTheApplicationCallsOffIsAsItWas) {
  begin({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  auto a = buffer(1), b = buffer(5);
  const auto event = engine->create_user_command();
  const auto launch = enqueue(*stream, map_kernel(a, b, 1), {event.get()});
  ASSERT_TRUE(launch);
  ASSERT_TRUE(engine->set_user_status(*event, -1));
  static_cast<void>(engine->finish(*stream));
  EXPECT_EQ((*launch)->status(), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(read(*stream, b), filled(5));
}

TEST_F(FailedContent, ReachesWhatNamesTheFailedOne) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory}, {kOwnMemory}}) {
    SCOPED_TRACE(devices);
    begin(devices, SplitMode::kForce);
    auto a = buffer(1), b = buffer(5), c = buffer(7);
    auto other = engine->create_stream({});
    fail_all();
    const auto first = enqueue(*stream, map_kernel(a, b, 1));
    ASSERT_TRUE(first);
    const auto second = enqueue(*other, map_kernel(a, c, 1), {first->get()});
    ASSERT_TRUE(second);
    static_cast<void>(engine->finish(*stream));
    static_cast<void>(engine->finish(*other));
    heal();
    EXPECT_LT((*second)->status(), 0);
    EXPECT_NE(error_of(c), CL_SUCCESS);
    engine.reset();
  }
}

TEST_F(FailedContent, WhatWasSentAheadOfALaunchThatFailsIsSentAnew) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory}, {kCostlyTimes}}) {
    for (const bool refused : {false, true}) {
      SCOPED_TRACE(to_string(devices) + (refused ? ", refused" : ""));
      begin(devices, SplitMode::kNever);
      auto a = buffer(2), b = buffer(5), c = buffer(6);
      bool sent = false, launched = false;
      fakes[0]->fate = [&](FakeCall call) {
        FakeFate fate;
        if (call == FakeCall::kWrite && !std::exchange(sent, true)) {
          fate.result = CL_OUT_OF_RESOURCES;
          fate.done = 0;
        }
        const bool first = call == FakeCall::kLaunch && !std::exchange(launched, true);
        if (first && refused) fate.refused = CL_OUT_OF_RESOURCES;
        return fate;
      };
      const auto launch = enqueue(*stream, map_kernel(a, b, 1));
      EXPECT_EQ(launch.has_value(), !refused);
      static_cast<void>(engine->finish(*stream));
      if (launch) {
        EXPECT_LT((*launch)->status(), 0);
      }
      ASSERT_TRUE(enqueue(*stream, map_kernel(a, c, 1)));
      EXPECT_EQ(read(*stream, c), filled(7));
      engine.reset();
    }
  }
}

TEST_F(FailedContent, WhatFollowsARefusedCommandWaitsForWhatIsBeforeIt) {
  begin({kSharesHost}, SplitMode::kNever);
  auto a = buffer(2), b = buffer(5), c = buffer(6);
  std::atomic<bool> goes_on{false};
  std::atomic<uint32_t> launches{0};
  fakes[0]->fate = [&](FakeCall call) {
    FakeFate fate;
    if (call == FakeCall::kLaunch && launches++ == 0) {
      fate.before = [&] { goes_on.wait(false); };
    } else if (call == FakeCall::kLaunch) {
      fate.refused = CL_OUT_OF_RESOURCES;
    } else if (call == FakeCall::kFinish) {
      fate.refused = CL_OUT_OF_RESOURCES;
      goes_on = true;
      goes_on.notify_all();
    }
    return fate;
  };
  ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
  EXPECT_FALSE(enqueue(*stream, map_kernel(b, c, 1)));
  auto other = engine->create_stream({});
  EXPECT_EQ(read(*other, b), filled(7));
  EXPECT_EQ(read(*other, c), filled(6));
  fakes[0]->fate = nullptr;
  static_cast<void>(engine->finish(*stream));  // else its commands and it keep each other
}

TEST_F(FailedContent, WhatFollowsARefusedCommandHearsOfWhatIsBeforeIt) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kSharesHost}, {kOwnMemory}}) {
    SCOPED_TRACE(devices);
    begin(devices, SplitMode::kNever);
    auto a = buffer(2), b = buffer(5);
    std::atomic<uint32_t> launches{0};
    fakes[0]->fate = [&](FakeCall call) {
      FakeFate fate;
      if (call == FakeCall::kLaunch && launches++ == 0) {
        fate.result = CL_OUT_OF_RESOURCES;
        fate.done = 0;
      } else if (call == FakeCall::kLaunch || call == FakeCall::kFinish) {
        fate.refused = CL_DEVICE_NOT_AVAILABLE;
      }
      return fate;
    };
    ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
    EXPECT_FALSE(enqueue(*stream, map_kernel(a, b, 2)));
    fakes[0]->fate = nullptr;
    EXPECT_EQ(error_of(b), CL_OUT_OF_RESOURCES);
  }
}

TEST_F(FailedContent, ReachesWhatAnotherDeviceCarriesOut) {
  begin({kOwnMemory, kOwnMemory}, SplitMode::kNever);
  auto a = buffer(2), b = buffer(5), c = buffer(6);
  std::atomic<uint32_t> launches{0};
  for (auto* fake : fakes) {
    fake->fate = [&](FakeCall call) {
      FakeFate fate;
      if (call != FakeCall::kLaunch) return fate;
      const uint32_t number = launches++;
      if (number == 0) {
        fate.result = CL_OUT_OF_RESOURCES;
        fate.done = 0.5;
      } else if (number == 1) {
        fate.refused = CL_OUT_OF_RESOURCES;
      }
      return fate;
    };
  }
  const auto failing = enqueue(*stream, map_kernel(a, b, 1));
  ASSERT_TRUE(failing);
  auto other = engine->create_stream({});
  const auto next = enqueue(*other, map_kernel(b, c, 1), {failing->get()});
  ASSERT_TRUE(next);
  static_cast<void>(engine->finish(*other));
  static_cast<void>(engine->finish(*stream));
  // Where the first one was carried out anew, both have ended well.
  if ((*failing)->status() < 0) {
    EXPECT_LT((*next)->status(), 0);
  } else {
    EXPECT_EQ((*next)->status(), CL_COMPLETE);
    EXPECT_EQ(read(*other, c), filled(22));
  }
}

TEST_F(FailedContent, WhatIsBeingWrittenAnewIsNotHeldAgainstWhoComesBehind) {
  begin({kOwnMemory}, SplitMode::kNever);
  auto a = buffer(2), b = buffer(5);
  fail_all(1);
  const auto failing = enqueue(*stream, map_kernel(a, b, 1));
  ASSERT_TRUE(failing);
  static_cast<void>(engine->finish(*stream));
  ASSERT_LT((*failing)->status(), 0);
  fakes[0]->hang_launches = 1;
  const auto anew = enqueue(*stream, map_kernel(a, b, 1));
  const auto behind = enqueue(*stream, map_kernel(b, b, 1));
  ASSERT_TRUE(anew && behind);
  fakes[0]->wake_up();
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ((*anew)->status(), CL_COMPLETE);
  EXPECT_EQ((*behind)->status(), CL_COMPLETE);
  EXPECT_EQ(read(*stream, b), filled(22));
}

TEST_F(FailedContent, OfWhoNamesAFailureIsNotWhatThoseBeforeItWrite) {
  begin({kOwnMemory}, SplitMode::kNever);
  auto a = buffer(2), b = buffer(5), c = buffer(6);
  fail_all(1);
  const auto failing = enqueue(*stream, map_kernel(a, b, 1));
  ASSERT_TRUE(failing);
  static_cast<void>(engine->finish(*stream));
  fakes[0]->hang_launches = 1;
  const auto before = enqueue(*stream, map_kernel(a, c, 1));
  const auto calls_off = enqueue(*stream, map_kernel(a, c, 2), {failing->get()});
  ASSERT_TRUE(before && calls_off);
  fakes[0]->wake_up();
  static_cast<void>(engine->finish(*stream));
  EXPECT_EQ((*before)->status(), CL_COMPLETE);
  EXPECT_LT((*calls_off)->status(), 0);
  std::vector<std::byte> bytes(kBytes);
  EXPECT_FALSE(enqueue(*stream, ReadWork{whole(c), 0, kBytes, bytes.data()}, {}, true));
}

TEST_F(FailedContent, ReachesOtherStreamsThroughCommandsThatNobodyHasAskedFor) {
  begin({kOwnMemory}, SplitMode::kNever);
  auto a = buffer(2), b = buffer(5), c = buffer(6);
  fail_all(1);
  const auto failing = enqueue(*stream, map_kernel(a, b, 1));
  const auto next = enqueue(*stream, map_kernel(b, c, 1));
  ASSERT_TRUE(failing && next);
  auto other = engine->create_stream({});
  std::vector<std::byte> bytes(kBytes);
  const auto read = enqueue(*other, ReadWork{whole(c), 0, kBytes, bytes.data()}, {next->get()});
  ASSERT_TRUE(read);
  Command* const command = read->get();
  EXPECT_FALSE(engine->wait({&command, 1}));
  EXPECT_LT(command->status(), 0);
}

}  // namespace
}  // namespace tutti::testing
