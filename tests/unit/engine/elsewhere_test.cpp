// SPDX-License-Identifier: Apache-2.0
// What a device cannot compute is computed by another one, wherever what it needs is still there;
// and a device that fails again and again takes no part.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "base/live_counters.h"
#include "base/temporary_folder.h"
#include "engine_fixture.h"
#include "scheduler/devices/device_health.h"
#include "scheduler/observe/energy_monitor.h"
#include "scheduler/observe/run_summary.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class Elsewhere : public EngineTest {
 protected:
  void begin(const FakeKinds& devices, SplitMode split) {
    start(devices, split);
    stream = engine->create_stream({});
  }
  Ref<Stream> stream;
  std::atomic<FakeBackend*> failing_{nullptr};
};

TEST_F(Elsewhere, APackageThatFailsWhileItRuns) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kSharesHost},
                                                         {kSharesHost, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSerial, kSerial},
                                                         {kSynchronous, kSynchronous},
                                                         {kOwnMemory, kOwnMemory, kOwnMemory}}) {
    for (size_t failing = 0; failing < devices.size(); ++failing) {
      for (const int times : {1, 1 << 20}) {
        SCOPED_TRACE(to_string(devices) + ", " + std::to_string(failing));
        begin(devices, SplitMode::kForce);
        auto a = buffer(2), b = buffer(5), c = buffer(7);
        fakes[failing]->fail_launches = times;
        const auto first = enqueue(*stream, map_kernel(a, b, 1));
        const auto second = enqueue(*stream, map_kernel(b, c, 2));
        ASSERT_TRUE(first && second);
        EXPECT_TRUE(engine->finish(*stream));
        EXPECT_EQ((*first)->status(), CL_COMPLETE);
        EXPECT_EQ((*second)->status(), CL_COMPLETE);
        EXPECT_EQ(read(*stream, b), filled(7));
        EXPECT_EQ(read(*stream, c), filled(23));
        engine.reset();
      }
    }
  }
}

TEST_F(Elsewhere, WhatIsOverwrittenIsCopiedFirstOnADeviceThatHasFailed) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kSharesHost},
                                                         {kSharesHost, kOwnMemory},
                                                         {kOwnMemory, kSharesHost}}) {
    for (size_t failing = 0; failing < 2; ++failing) {
      SCOPED_TRACE(to_string(devices) + ", " + std::to_string(failing));
      begin(devices, SplitMode::kForce);
      auto a = buffer(2), b = buffer(5);
      fakes[failing]->fail_launches = 1;
      // The others may be faster than it is to take anything.
      for (int i = 0; i < 1000 && fakes[failing]->fail_launches > 0; ++i) {
        ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
        EXPECT_EQ(read(*stream, b), filled(7));
      }
      ASSERT_TRUE(set->health().suspect(static_cast<uint32_t>(failing)));
      fakes[failing]->fail_launches = 1;
      fakes[failing]->spoil_failed = true;
      // In place: b = 3 b + 1.
      const auto launch = enqueue(*stream, map_kernel(b, b, 1));
      ASSERT_TRUE(launch);
      EXPECT_TRUE(engine->finish(*stream));
      EXPECT_EQ((*launch)->status(), CL_COMPLETE);
      EXPECT_EQ(read(*stream, b), filled(22));
      engine.reset();
    }
  }
}

TEST_F(Elsewhere, ADeviceThatRefusesWholeLaunches) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kSharesHost},
                                                         {kSynchronous, kSynchronous},
                                                         {kSharesHost, kOwnMemory}}) {
    for (size_t failing = 0; failing < 2; ++failing) {
      SCOPED_TRACE(to_string(devices) + ", " + std::to_string(failing));
      begin(devices, SplitMode::kNever);
      auto a = buffer(2), b = buffer(5), c = buffer(5);
      fakes[failing]->refuse_launches = 1 << 20;
      for (int i = 0; i < 20; ++i) {
        EnqueueOptions options;
        options.type = CL_COMMAND_NDRANGE_KERNEL;
        options.observed = i % 3 == 0;
        ASSERT_TRUE(engine->enqueue(*stream, map_kernel(a, b, static_cast<uint32_t>(i)), options));
        ASSERT_TRUE(engine->enqueue(*stream, map_kernel(b, c, 0), options));
      }
      EXPECT_TRUE(engine->finish(*stream));
      EXPECT_EQ(read(*stream, c), filled(75));
      engine.reset();
    }
  }
}

TEST_F(Elsewhere, AWholeLaunchThatFailsInTheVendorsQueue) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kSharesHost},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSerial, kSerial},
                                                         {kSharesHost, kOwnMemory}}) {
    for (const bool in_place : {false, true}) {
      SCOPED_TRACE(to_string(devices) + (in_place ? ", in place" : ""));
      begin(devices, SplitMode::kNever);
      auto a = buffer(2), b = buffer(5);
      // Then the host's copy has no longer what is needed.
      if (in_place) {
        ASSERT_TRUE(enqueue(*stream, map_kernel(b, b, 1)));
      }
      ASSERT_TRUE(engine->finish(*stream));
      for (auto* fake : fakes) {
        fake->fail_launches = 1;
        fake->spoil_failed = true;
      }
      const auto launch = enqueue(*stream, map_kernel(in_place ? b : a, b, 1));
      ASSERT_TRUE(launch);
      const Status finished = engine->finish(*stream);
      if (in_place) {  // what it needs is gone
        EXPECT_EQ((*launch)->status(), CL_OUT_OF_RESOURCES);
      } else {
        EXPECT_TRUE(finished);
        EXPECT_EQ((*launch)->status(), CL_COMPLETE);
        EXPECT_EQ(read(*stream, b), filled(7));
      }
      engine.reset();
    }
  }
}

// What it has computed of the launch lies there alone, and what that needs is elsewhere.
TEST_F(Elsewhere, ADeviceThatIsLostWhileItComputes) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSerial, kSerial},
                                                         {kOwnMemory, kOwnMemory, kOwnMemory}}) {
    for (const auto form :
         {KernelForm::kMap, KernelForm::kSparse, KernelForm::kScatter, KernelForm::kCount}) {
      for (const bool in_place : {false, true}) {
        if (in_place && form != KernelForm::kMap) continue;
        SCOPED_TRACE(to_string(devices) + ", " + std::to_string(static_cast<int>(form)) +
                     (in_place ? ", in place" : ""));
        bool after_package = false;
        for (int round = 0; round < 200 && !after_package; ++round) {
          begin(devices, SplitMode::kForce);
          auto launches = std::make_shared<std::atomic<int>>(0);
          FakeBackend& device = *fakes[1];
          device.fate = [launches, &device](FakeCall call) {
            // Its second package is not enqueued any more.
            if (call == FakeCall::kLaunch && ++*launches == 2) device.lost = true;
            return device.lost ? FakeFate{.refused = CL_DEVICE_NOT_AVAILABLE} : FakeFate();
          };
          auto a = buffer(3), b = buffer(5);
          KernelWork work = map_kernel(in_place ? b : a, b, 1);
          work.kernel = fake_kernel(form, set->count());
          const auto launch = enqueue(*stream, work);
          ASSERT_TRUE(launch);
          EXPECT_TRUE(engine->finish(*stream));
          EXPECT_EQ((*launch)->status(), CL_COMPLETE);
          const auto in = filled(in_place ? 5 : 3);
          auto expected = filled(5);
          for (uint32_t i = 0; i < kBytes; ++i) {
            apply(form, in.data(), expected.data(), i, kBytes, 1);
          }
          EXPECT_EQ(read(*stream, b), expected);
          after_package = *launches > 1;
          engine.reset();
        }
        EXPECT_TRUE(after_package);
      }
    }
  }
}

// Of what the others have changed in copies, and it has too.
TEST_F(Elsewhere, ADeviceThatIsLostWhileResultsAreMerged) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kOwnMemory},
                                                         {kOwnMemory, kOwnMemory, kOwnMemory}}) {
    for (const auto form : {KernelForm::kScatter, KernelForm::kCount}) {
      for (int last = 1; last <= 6; ++last) {
        SCOPED_TRACE(to_string(devices) + ", " + std::to_string(static_cast<int>(form)) + ", " +
                     std::to_string(last));
        begin(devices, SplitMode::kForce);
        auto reads = std::make_shared<std::atomic<int>>(0);
        FakeBackend& device = *fakes[1];
        device.fate = [reads, last, &device](FakeCall call) {
          // It has computed by then, and gives so much of that.
          if (call == FakeCall::kRead && device.launches > 0 && ++*reads == last) {
            device.lost = true;
          }
          return device.lost ? FakeFate{.refused = CL_DEVICE_NOT_AVAILABLE} : FakeFate();
        };
        auto a = buffer(3), b = buffer(5);
        KernelWork work = map_kernel(a, b, 1);
        work.kernel = fake_kernel(form, set->count());
        const auto launch = enqueue(*stream, work);
        ASSERT_TRUE(launch);
        EXPECT_TRUE(engine->finish(*stream));
        *reads = last;  // what is read from here on is the result
        EXPECT_EQ((*launch)->status(), CL_COMPLETE);
        const auto in = filled(3);
        auto expected = filled(5);
        for (uint32_t i = 0; i < kBytes; ++i) apply(form, in.data(), expected.data(), i, kBytes, 1);
        EXPECT_EQ(read(*stream, b), expected);
        engine.reset();
      }
    }
  }
}

TEST_F(Elsewhere, AnImageThatADeviceFailsToTakeOrToGive) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory, kOwnMemory}, {kSharesHost, kSharesHost}}) {
    for (const FakeCall failing : {FakeCall::kWrite, FakeCall::kRead}) {
      SCOPED_TRACE(to_string(devices) + ", " + std::to_string(static_cast<int>(failing)));
      begin(devices, SplitMode::kNever);
      const auto made = image({32, 32, 1});
      ASSERT_TRUE(made->device_memory(0));
      std::vector<std::byte> content = filled(7), found(kBytes);
      RectWork work{true, whole(made), {{0, 0, 0}, 128, kBytes}, {{0, 0, 0}, 128, kBytes}};
      work.region = {128, 32, 1};
      work.host = content.data();
      ASSERT_TRUE(enqueue(*stream, work, {}, true));
      ASSERT_TRUE(made->make_valid(1, 0, kBytes));
      made->set_exclusive(1, 0, kBytes);
      auto failures = std::make_shared<std::atomic<int>>(0);
      fakes[0]->fate = [failures, failing](FakeCall call) {
        const bool fails = call == failing && failures->fetch_add(1) == 0;
        return fails ? FakeFate{.result = CL_OUT_OF_RESOURCES, .done = 0} : FakeFate();
      };
      std::ranges::fill(content, std::byte{9});  // in place
      const auto write = enqueue(*stream, work);
      EXPECT_TRUE(engine->finish(*stream));
      work.write = false;
      work.host = found.data();
      const auto read = enqueue(*stream, work);
      ASSERT_TRUE(write && read);
      EXPECT_TRUE(engine->finish(*stream));
      EXPECT_EQ((*write)->status(), CL_COMPLETE);
      EXPECT_EQ((*read)->status(), CL_COMPLETE);
      EXPECT_EQ(found, content);
      EXPECT_GT(*failures, 0);
      engine.reset();
    }
  }
}

// The same bytes are written once more; what lies between them is as it was.
TEST_F(Elsewhere, WhatALaunchDoesNotReadItMayWriteAgain) {
  for (const auto split : {SplitMode::kNever, SplitMode::kForce}) {
    for (const FakeKinds& devices : std::vector<FakeKinds>{{kSharesHost, kSharesHost},
                                                           {kOwnMemory, kOwnMemory},
                                                           {kSharesHost, kOwnMemory},
                                                           {kCostlyTimes, kCostlyTimes}}) {
      for (const auto form : {KernelForm::kSparse, KernelForm::kScatter}) {
        for (size_t failing = 0; failing < 2; ++failing) {
          SCOPED_TRACE(to_string(devices) + ", " + std::to_string(static_cast<int>(form)) + ", " +
                       std::to_string(failing));
          begin(devices, split);
          auto a = buffer(3), b = buffer(5);
          fakes[failing]->fail_launches = 1;
          fakes[failing]->spoil_failed = true;
          KernelWork work = map_kernel(a, b, 1);
          work.kernel = fake_kernel(form, set->count());
          const auto launch = enqueue(*stream, work);
          ASSERT_TRUE(launch);
          EXPECT_TRUE(engine->finish(*stream));
          EXPECT_EQ((*launch)->status(), CL_COMPLETE);
          const auto in = filled(3);
          auto expected = filled(5);
          for (uint32_t i = 0; i < kBytes; ++i) {
            apply(form, in.data(), expected.data(), i, kBytes, 1);
          }
          EXPECT_EQ(read(*stream, b), expected);
          engine.reset();
        }
      }
    }
  }
}

// A blocking read, which was given to the vendor behind the launch, is made once more.
TEST_F(Elsewhere, WhatIsReadBehindALaunchThatFails) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kSharesHost},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSharesHost, kOwnMemory}}) {
    for (const bool observed : {false, true}) {
      SCOPED_TRACE(to_string(devices) + (observed ? ", observed" : ""));
      begin(devices, SplitMode::kNever);
      auto a = buffer(2), b = buffer(5);
      ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
      EXPECT_EQ(read(*stream, b), filled(7));
      for (auto* fake : fakes) {
        fake->fail_launches = 1;
        fake->spoil_failed = observed;
      }
      EnqueueOptions options;
      options.type = CL_COMMAND_NDRANGE_KERNEL;
      options.observed = observed;
      ASSERT_TRUE(engine->enqueue(*stream, map_kernel(a, b, 3), options));
      EXPECT_EQ(read(*stream, b), filled(9));
      engine.reset();
    }
  }
}

// The host's copy has what was sent to the device for the launch, which computes in place.
TEST_F(Elsewhere, WhatWasSentForALaunchIsSentElsewhere) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kSerial, kSerial},
                                                         {kOwnMemory, kOwnMemory, kOwnMemory}}) {
    for (const bool lost : {false, true}) {
      SCOPED_TRACE(to_string(devices) + (lost ? ", lost" : ""));
      begin(devices, SplitMode::kNever);
      auto b = buffer(5);
      for (auto* fake : fakes) {
        fake->fate = [this, fake, lost](FakeCall call) -> FakeFate {
          FakeBackend* nobody = nullptr;
          if (call != FakeCall::kLaunch || !failing_.compare_exchange_strong(nobody, fake)) {
            return {};
          }
          const auto before = [fake, lost] { fake->lost = lost; };
          return {.result = CL_DEVICE_NOT_AVAILABLE, .before = before};
        };
      }
      const auto launch = enqueue(*stream, map_kernel(b, b, 1));
      ASSERT_TRUE(launch);
      EXPECT_TRUE(engine->finish(*stream));
      EXPECT_EQ((*launch)->status(), CL_COMPLETE);
      EXPECT_EQ(read(*stream, b), filled(16));
      EXPECT_NE(failing_.load(), nullptr);
      engine.reset();
      failing_ = nullptr;
    }
  }
}

TEST_F(Elsewhere, ALostDeviceTakesNoPartAndWhatItAloneHeldHasFailed) {
  begin({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  auto a = buffer(2), b = buffer(5), c = buffer(7);
  const auto parts_on_second = [&] {
    const auto segments = b->segments(0, kBytes);
    return std::any_of(segments.begin(), segments.end(),
                       [](const auto& segment) { return segment.places == place_bit(2); });
  };
  for (int i = 0; i < 1000 && !parts_on_second(); ++i) {
    ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
    ASSERT_TRUE(engine->finish(*stream));
  }
  ASSERT_TRUE(parts_on_second());
  fakes[1]->lost = true;
  ASSERT_TRUE(enqueue(*stream, map_kernel(a, c, 1)));
  ASSERT_TRUE(engine->finish(*stream));
  EXPECT_EQ(read(*stream, c), filled(7));
  std::vector<std::byte> bytes(kBytes);
  EXPECT_FALSE(enqueue(*stream, ReadWork{whole(b), 0, kBytes, bytes.data()}, {}, true));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(enqueue(*stream, map_kernel(a, c, 1)));
    ASSERT_TRUE(engine->finish(*stream));
  }
  EXPECT_EQ(set->health().lost(), backend_bit(1));
  const uint64_t before = fakes[1]->launches;
  ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 3)));
  EXPECT_EQ(read(*stream, b), filled(9));  // written anew
  EXPECT_EQ(fakes[1]->launches, before);
}

TEST_F(Elsewhere, ALostDeviceComesBackWithAContextOfItsOwn) {
  const TemporaryFolder folder;
  live::start(folder / "top");
  const live::Device* shown = live::device({1, CL_DEVICE_TYPE_GPU, "second", "", "", ""});
  ASSERT_NE(shown, nullptr);
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kSharesHost},
                                                         {kSharesHost, kOwnMemory},
                                                         {kCostlyTimes, kCostlyTimes},
                                                         {kOwnMemory, kSharesHost, kOwnMemory}}) {
    SCOPED_TRACE(devices);
    begin(devices, SplitMode::kForce);
    FakeBackend& device = *fakes[1];
    auto a = buffer(2), b = buffer(5), c = buffer(7), d = buffer(9);
    const auto on_device_alone = [&] {
      const auto segments = b->segments(0, kBytes);
      return std::any_of(segments.begin(), segments.end(),
                         [](const auto& segment) { return segment.places == place_bit(2); });
    };
    const bool apart = set->place(1) != kHostPlace;
    for (int i = 0; i < 1000 && (i == 0 || (apart && !on_device_alone())); ++i) {
      ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
      ASSERT_TRUE(engine->finish(*stream));
    }
    ASSERT_EQ(on_device_alone(), apart);
    device.context_lost = true;
    for (int i = 0; i < 1000 && (set->health().lost() == 0 || shown->lost == 0); ++i) {
      ASSERT_TRUE(enqueue(*stream, map_kernel(a, c, 1)));
      EXPECT_EQ(read(*stream, c), filled(7));
    }
    EXPECT_EQ(shown->lost, 1u);
    ASSERT_EQ(set->health().lost(), backend_bit(1));
    // In the old context it does not work, and who is lost for good does not either.
    device.lost = true;
    set->health().retry(1);
    EXPECT_EQ(set->health().lost(), backend_bit(1));
    device.lost = false;
    set->health().retry(1);
    // The engine sees to the rest; commands go on meanwhile.
    while (set->health().lost() != 0) {
      ASSERT_TRUE(enqueue(*stream, map_kernel(a, d, 2)));
      EXPECT_EQ(read(*stream, d), filled(8));
    }
    EXPECT_EQ(device.generation, 1u);
    std::vector<std::byte> bytes(kBytes);
    const bool had =
        enqueue(*stream, ReadWork{whole(b), 0, kBytes, bytes.data()}, {}, true).has_value();
    EXPECT_EQ(had, !apart);  // what lay there alone is gone
    const uint64_t before = device.launches;
    for (uint32_t i = 0; i < 1000 && device.launches == before; ++i) {
      ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, i)));
      ASSERT_TRUE(enqueue(*stream, map_kernel(b, c, 0)));
      EXPECT_EQ(read(*stream, c), filled(static_cast<uint8_t>(3 * (6 + i))));
    }
    EXPECT_GT(device.launches, before);
    EXPECT_EQ(device.stale_uses, 0u);
    const auto losses = set->health().losses(1);
    EXPECT_EQ(losses.count, 1u);
    EXPECT_GT(losses.ns, 0u);
    EXPECT_FALSE(losses.now);
    engine.reset();
    EXPECT_EQ(shown->lost, 0u);
  }
  live::stop();
}

TEST_F(Elsewhere, TheSummaryNamesDevicesThatHaveFailed) {
  begin({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  auto a = buffer(2), b = buffer(5);
  fakes[1]->fail_launches = 1;
  for (int i = 0; i < 1000 && fakes[1]->fail_launches > 0; ++i) {
    ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
    ASSERT_TRUE(engine->finish(*stream));
  }
  const EnergySettings no_energy;  // which the monitor keeps a reference to
  EnergyMonitor energy(*set, no_energy, Objective::kTime);
  RunSummary summary(*set, "-", energy);
  EXPECT_NE(summary.text().find("1 fake 1 has failed 1 time\n"), std::string::npos);
  EXPECT_EQ(summary.text().find("0 fake 0 has failed"), std::string::npos);
  EXPECT_NE(summary.json().find("\"failures\": 1,"), std::string::npos) << summary.json();
  fakes[1]->context_lost = true;
  for (int i = 0; i < 1000 && set->health().lost() == 0; ++i) {
    ASSERT_TRUE(enqueue(*stream, map_kernel(a, b, 1)));
    ASSERT_TRUE(engine->finish(*stream));
  }
  EXPECT_NE(summary.text().find(", was lost 1 time, for "), std::string::npos) << summary.text();
  EXPECT_NE(summary.json().find("\"lost\": true"), std::string::npos) << summary.json();
  set->health().retry(1);
  while (set->health().lost() != 0) ASSERT_TRUE(engine->finish(*stream));
  EXPECT_NE(summary.text().find("again\n"), std::string::npos) << summary.text();
  EXPECT_NE(summary.json().find("\"lost\": false"), std::string::npos) << summary.json();
  EXPECT_NE(summary.json().find("\"losses\": 1"), std::string::npos) << summary.json();
}

}  // namespace
}  // namespace tutti::testing
