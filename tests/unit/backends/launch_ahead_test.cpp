// SPDX-License-Identifier: Apache-2.0
// Launches handed over to a thread: when, in which order, and what becomes of errors.
#include "backends/opencl/launch_ahead.h"

#include <gmock/gmock.h>

#include "backends/opencl/opencl_backend.h"
#include "memory_argument.h"
#include "stub_fixture.h"

namespace tutti::backends {
namespace {

using ::testing::Each;

// ---- when ---------------------------------------------------------------------------------------

/// A run of launches of which each costs `beside` ns, and `call` ns in the vendor's call.
bool worth_it_after(BurstMeter& meter, int launches, uint64_t call, uint64_t beside,
                    uint64_t& now) {
  for (int i = 0; i < launches; ++i) {
    const bool measured = meter.count();
    if (measured) meter.step(now);
    const bool ahead = meter.worth_it();
    if (measured) meter.call_took(call);
    now += beside + (ahead ? 0 : call);
  }
  return meter.worth_it();
}

TEST(BurstMeter, LongCallsInLongRunsAreHandedOver) {
  BurstMeter meter;
  uint64_t now = 1;
  EXPECT_FALSE(worth_it_after(meter, BurstMeter::kWarm - 1, 3500, 1700, now));
  EXPECT_TRUE(worth_it_after(meter, 1000, 3500, 1700, now));
  meter.interrupt();
  EXPECT_FALSE(meter.worth_it());
  EXPECT_FALSE(worth_it_after(meter, BurstMeter::kWarm - 1, 3500, 1700, now));
  EXPECT_TRUE(worth_it_after(meter, 1, 3500, 1700, now));
}

TEST(BurstMeter, ShortCallsAreNot) {
  BurstMeter meter;
  uint64_t now = 1;
  EXPECT_FALSE(worth_it_after(meter, 10000, 400, 100, now));
}

TEST(BurstMeter, NorWhereTheThreadWouldSleepInBetween) {
  BurstMeter meter;
  uint64_t now = 1;
  EXPECT_FALSE(worth_it_after(meter, 1000, 3500, 20000, now));
  // An application that becomes slower is noticed, and one that becomes faster.
  EXPECT_TRUE(worth_it_after(meter, 100, 3500, 1000, now));
  EXPECT_FALSE(worth_it_after(meter, 100, 3500, 20000, now));
}

TEST(BurstMeter, ATimeThatTellsNothingIsSkipped) {
  BurstMeter meter;
  uint64_t now = 1;
  ASSERT_TRUE(worth_it_after(meter, 160, 3500, 1700, now));
  now += 1'000'000'000;
  meter.skip();
  EXPECT_TRUE(worth_it_after(meter, 160, 3500, 1700, now));
}

// ---- what ---------------------------------------------------------------------------------------

class LaunchAheadTest : public StubTest {
 protected:
  void start(LaunchAheadChoice choice = LaunchAheadChoice::kAlways) {
    const VendorLoader loader = load("");
    ASSERT_EQ(loader.devices().size(), 1u);
    VendorDevice device = loader.devices()[0].device;
    device.launch_ahead = choice;
    backend_ = std::make_unique<OpenClBackend>(device, loader.devices()[0].traits, 0);
    queue_ = backend_->create_queue({}).value();
    module_ = std::move(backend_->build("add_one scale", "").module);
    add_one_ = module_->create_kernel("add_one").value();
    scale_ = module_->create_kernel("scale").value();
    memory_ = backend_->allocate(kItems * sizeof(cl_uint), nullptr).value();
    write(0);
  }
  void write(cl_uint value) {
    const std::vector<cl_uint> data(kItems, value);
    ASSERT_TRUE(queue_->write_blocking(*memory_, 0, memory_->size(), data.data()));
  }
  std::vector<cl_uint> read() {
    std::vector<cl_uint> data(kItems);
    EXPECT_TRUE(queue_->read_blocking(*memory_, 0, memory_->size(), data.data()));
    return data;
  }
  Result<CompletionPtr> launch(Kernel& kernel, std::optional<cl_uint> factor = {},
                               std::optional<size_t> local = {}, bool observed = false) {
    std::vector<Argument> arguments{memory_argument(*memory_)};
    const cl_uint value = factor.value_or(0);
    if (factor) {
      arguments.emplace_back();
      arguments[1].bytes = std::as_bytes(std::span(&value, 1));
    }
    Launch launch;
    launch.kernel = &kernel;
    launch.arguments = arguments;  // gone when this returns, and so is the factor
    launch.global = {kItems, 1, 1};
    if (local) launch.local = {*local, 1, 1};
    launch.observed = observed;
    return queue_->launch(launch, {});
  }

  static constexpr size_t kItems = 16;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<Kernel> add_one_, scale_;
  std::unique_ptr<Memory> memory_;
};

TEST_F(LaunchAheadTest, ResultsAreThoseOfTheOrder) {
  start();
  cl_uint expected = 0;
  for (cl_uint i = 0; i < 3000; ++i) {
    const cl_uint factor = 3 + i % 5;
    ASSERT_TRUE(launch(*add_one_));
    ASSERT_TRUE(launch(*scale_, factor));
    expected = (expected + 1) * factor;
    if (i % 700 == 13) {
      ASSERT_THAT(read(), Each(expected));
    }
  }
  EXPECT_THAT(read(), Each(expected));
  EXPECT_EQ(calls("clEnqueueNDRangeKernel"), 6000u);
}

TEST_F(LaunchAheadTest, CompletionsFollowTheirLaunches) {
  start();
  std::vector<CompletionPtr> completions;
  for (int i = 0; i < 100; ++i) completions.push_back(launch(*add_one_).value());
  ASSERT_TRUE(completions[60]->wait());  // a marker behind all that was taken
  EXPECT_EQ(calls("clEnqueueNDRangeKernel"), 100u);
  EXPECT_EQ(completions[60]->poll(), CL_COMPLETE);
  ASSERT_TRUE(queue_->finish());
  EXPECT_EQ(completions[99]->poll(), CL_COMPLETE);
  EXPECT_FALSE(completions[99]->times());
}

TEST_F(LaunchAheadTest, WhoeverWaitsElsewhereGetsThemToo) {
  start();
  auto other = backend_->create_queue({}).value();
  ASSERT_TRUE(launch(*add_one_));
  CompletionPtr last;
  for (int i = 0; i < 50; ++i) last = launch(*add_one_).value();
  std::vector<cl_uint> data(kItems);
  auto read = other->read(*memory_, 0, memory_->size(), data.data(), {&last, 1}).value();
  ASSERT_TRUE(read->wait());
  EXPECT_THAT(data, Each(51u));
}

TEST_F(LaunchAheadTest, ObservedOnesAreMadeInTheirTurn) {
  start();
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(launch(*add_one_));
  const auto completion = launch(*scale_, 10, {}, true).value();
  EXPECT_EQ(calls("clEnqueueNDRangeKernel"), 41u);
  ASSERT_TRUE(completion->wait());
  EXPECT_THAT(read(), Each(400u));
}

TEST_F(LaunchAheadTest, ErrorsOfNewKindsOfLaunchesAreHeardAtOnce) {
  start();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(launch(*add_one_));
  ASSERT_TRUE(queue_->finish());
  script("error:clEnqueueNDRangeKernel:-54");
  EXPECT_EQ(launch(*add_one_, {}, 4).error().code, CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(launch(*scale_, 2).error().code, CL_INVALID_WORK_GROUP_SIZE);
}

TEST_F(LaunchAheadTest, ErrorsOfOthersAreHeardWithTheEnd) {
  start();
  ASSERT_TRUE(launch(*add_one_));
  ASSERT_TRUE(queue_->finish());
  script("error:clEnqueueNDRangeKernel:-6");
  const auto failed = launch(*add_one_).value();
  EXPECT_EQ(failed->wait().error().code, CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(failed->poll(), CL_OUT_OF_HOST_MEMORY);
  script("");
  const auto good = launch(*add_one_).value();  // it is told once
  EXPECT_TRUE(good->wait());
  EXPECT_THAT(read(), Each(2u));
}

TEST_F(LaunchAheadTest, NeverMeansNever) {
  start(LaunchAheadChoice::kNever);
  for (uint64_t i = 1; i <= 200; ++i) {
    ASSERT_TRUE(launch(*add_one_));
    ASSERT_EQ(calls("clEnqueueNDRangeKernel"), i);
  }
}

TEST_F(LaunchAheadTest, NotWithoutMarkers) {
  const VendorLoader loader = load("null:clEnqueueMarkerWithWaitList");
  VendorDevice device = loader.devices().at(0).device;
  device.launch_ahead = LaunchAheadChoice::kAlways;
  backend_ = std::make_unique<OpenClBackend>(device, loader.devices()[0].traits, 0);
  queue_ = backend_->create_queue({}).value();
  module_ = std::move(backend_->build("add_one", "").module);
  add_one_ = module_->create_kernel("add_one").value();
  memory_ = backend_->allocate(kItems * sizeof(cl_uint), nullptr).value();
  write(0);
  for (uint64_t i = 1; i <= 20; ++i) {
    ASSERT_TRUE(launch(*add_one_));
    ASSERT_EQ(calls("clEnqueueNDRangeKernel"), i);
  }
}

}  // namespace
}  // namespace tutti::backends
