// SPDX-License-Identifier: Apache-2.0
// Launches behind others that nobody observes: their order, what their completion stands for, and
// what becomes of errors.
#include <gmock/gmock.h>

#include <algorithm>

#include "backends/opencl/opencl_backend.h"
#include "memory_argument.h"
#include "stub_fixture.h"

namespace tutti::backends {
namespace {

using ::testing::Each;

class LaunchAgain : public StubTest {
 protected:
  void start(const std::string& script = "") {
    const platform::VendorLoader loader = load(script);
    ASSERT_EQ(loader.devices().size(), 1u);
    backend_ =
        std::make_unique<OpenClBackend>(loader.devices()[0].device, loader.devices()[0].traits, 0);
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
  /// The first one, or behind those that `run_` stands for.
  Status launch(Kernel& kernel, std::optional<cl_uint> factor = {}) {
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
    launch.observed = false;
    if (run_) return queue_->launch_again(launch, run_);
    TUTTI_ASSIGN(run_, queue_->launch(launch, {}));
    return {};
  }

  static constexpr size_t kItems = 16;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<Kernel> add_one_, scale_;
  std::unique_ptr<Memory> memory_;
  CompletionPtr run_;
};

TEST_F(LaunchAgain, ResultsAreThoseOfTheOrder) {
  start();
  cl_uint expected = 0;
  for (cl_uint i = 0; i < 300; ++i) {
    const cl_uint factor = 3 + i % 5;
    ASSERT_TRUE(launch(*add_one_));
    ASSERT_TRUE(launch(*scale_, factor));
    expected = (expected + 1) * factor;
    if (i % 70 == 13) {
      ASSERT_THAT(read(), Each(expected));
    }
  }
  EXPECT_THAT(read(), Each(expected));
  EXPECT_EQ(calls("clEnqueueNDRangeKernel"), 600u);
}

TEST_F(LaunchAgain, OneCompletionStandsForAllUntilSomebodyAsks) {
  start();
  ASSERT_TRUE(launch(*add_one_));
  const CompletionPtr first = run_;
  ASSERT_TRUE(queue_->finish());
  EXPECT_EQ(first->poll(), CL_COMPLETE);
  ASSERT_TRUE(launch(*add_one_));
  EXPECT_EQ(run_, first);
  EXPECT_EQ(run_->poll(), CL_SUBMITTED);  // the newest one has not ended, as far as is known
  ASSERT_TRUE(run_->wait());
  EXPECT_EQ(run_->poll(), CL_COMPLETE);
  EXPECT_FALSE(run_->times());
  // What was asked for has its marker, which comes before a later launch.
  ASSERT_TRUE(launch(*add_one_));
  EXPECT_NE(run_, first);
  EXPECT_EQ(first->poll(), CL_COMPLETE);
  EXPECT_EQ(run_->poll(), CL_SUBMITTED);
  ASSERT_TRUE(queue_->finish());
  EXPECT_EQ(run_->poll(), CL_COMPLETE);
}

TEST_F(LaunchAgain, WhoeverWaitsElsewhereGetsThemAll) {
  start();
  auto other = backend_->create_queue({}).value();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(launch(*add_one_));
  std::vector<cl_uint> data(kItems);
  auto read = other->read(*memory_, 0, memory_->size(), data.data(), WaitList(&run_, 1)).value();
  ASSERT_TRUE(read->wait());
  EXPECT_THAT(data, Each(50u));
}

TEST_F(LaunchAgain, ErrorsLeaveTheCompletionAsItIs) {
  start();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(launch(*add_one_));
  const CompletionPtr before = run_;
  script("error:clEnqueueNDRangeKernel:-54");
  EXPECT_EQ(launch(*scale_, 2).error().code, CL_INVALID_WORK_GROUP_SIZE);
  EXPECT_EQ(run_, before);
  script("");
  EXPECT_TRUE(run_->wait());
  EXPECT_THAT(read(), Each(10u));
}

TEST_F(LaunchAgain, WhatNobodyAsksForIsKnownToEndAllTheSame) {
  start();
  const cl_uint one = 1;
  const auto write_many = [&] {
    std::vector<CompletionPtr> written;
    for (int i = 0; i < 200; ++i) {
      written.push_back(queue_->write(*memory_, 0, sizeof one, &one, {{}, false}).value());
    }
    return written;
  };
  const auto ended = [](const std::vector<CompletionPtr>& written) {
    return std::count_if(written.begin(), written.end(),
                         [](const auto& write) { return write->poll() == CL_COMPLETE; });
  };
  const auto waits = [&] { return calls("clFinish") + calls("clWaitForEvents"); };
  const uint64_t waits_before = waits();
  const auto written = write_many();
  EXPECT_GT(ended(written), 100);
  EXPECT_EQ(written.back()->poll(), CL_SUBMITTED);
  EXPECT_LT(calls("clEnqueueMarkerWithWaitList"), 10u);
  EXPECT_EQ(waits(), waits_before);
  // Failures are for who waits.
  script("event:-5");
  const auto failed = write_many();
  EXPECT_EQ(ended(failed), 0);
  EXPECT_FALSE(failed.front()->wait());
}

TEST_F(LaunchAgain, NobodysTransfersHaveNoEvents) {
  start();
  const cl_uint one = 1;
  const std::array<std::byte, 4> zero{};
  const auto transfer = [&](bool observed) {
    const Ordering ordering({}, observed);
    std::vector<CompletionPtr> made;
    made.push_back(queue_->write(*memory_, 0, sizeof one, &one, ordering).value());
    made.push_back(queue_->copy(*memory_, 0, *memory_, 32, 4, ordering).value());
    made.push_back(queue_->fill(*memory_, 0, 4, zero, ordering).value());
    cl_uint found = 0;
    made.push_back(queue_->read(*memory_, 32, sizeof found, &found, ordering).value());
    EXPECT_TRUE(queue_->finish());
    EXPECT_EQ(found, 1u);
  };
  transfer(false);
  EXPECT_EQ(calls("clReleaseEvent"), 0u);
  transfer(true);
  EXPECT_EQ(calls("clReleaseEvent"), 4u);
}

TEST_F(LaunchAgain, NothingIsFlushedTwice) {
  start();
  const uint64_t before = calls("clFlush");
  ASSERT_TRUE(launch(*add_one_));
  EXPECT_TRUE(queue_->flush());
  EXPECT_TRUE(queue_->flush());
  EXPECT_EQ(calls("clFlush"), before + 1);
  // A marker that another queue is to wait for comes behind what was flushed.
  auto other = backend_->create_queue({}).value();
  std::vector<cl_uint> data(kItems);
  auto read = other->read(*memory_, 0, memory_->size(), data.data(), WaitList(&run_, 1)).value();
  EXPECT_EQ(calls("clFlush"), before + 2);
  ASSERT_TRUE(read->wait());
  EXPECT_THAT(data, Each(1u));
  // One that fails has flushed nothing.
  ASSERT_TRUE(launch(*add_one_));
  const uint64_t then = calls("clFlush");
  script("error:clFlush:-5");
  EXPECT_FALSE(queue_->flush());
  script("");
  EXPECT_TRUE(queue_->flush());
  EXPECT_EQ(calls("clFlush"), then + 2);
}

TEST_F(LaunchAgain, WithoutMarkersEachHasItsEvent) {
  start("null:clEnqueueMarkerWithWaitList");
  ASSERT_TRUE(launch(*add_one_));
  const CompletionPtr first = run_;
  ASSERT_TRUE(launch(*add_one_));
  EXPECT_NE(run_, first);
  ASSERT_TRUE(run_->wait());
  EXPECT_THAT(read(), Each(2u));
}

}  // namespace
}  // namespace tutti::backends
