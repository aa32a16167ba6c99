// SPDX-License-Identifier: Apache-2.0
// Groups of commands: the one that ends a group fails with the first error of its commands, whoever
// observes them, and however they are carried out.
#include "batch_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

class EngineGroup : public BatchTest {
 protected:
  /// Nobody observes it.
  void add(Stream& stream, Work work, CommandGroup& group) {
    EnqueueOptions options;
    options.type = CL_COMMAND_FILL_BUFFER;
    options.observed = false;
    options.group = &group;
    EXPECT_TRUE(engine->enqueue(stream, std::move(work), options));
  }
  Ref<Command> end(Stream& stream, CommandGroup& group) {
    EnqueueOptions options;
    options.type = CL_COMMAND_MARKER;
    options.waits_for_all = true;
    options.group = &group;
    options.ends_group = true;
    auto command = engine->enqueue(stream, MarkerWork{}, options);
    EXPECT_TRUE(command);
    return *command;
  }
  static Work failing(cl_int error) {
    return HostWork{[error]() -> Status { return fail(error); }};
  }
  static Work well() {
    return HostWork{[]() -> Status { return {}; }};
  }
};

const std::vector<FakeKinds> kDevices = {
    {kOwnMemory}, {kCostlyTimes}, {kSharesHost}, {kCostlyTimes, kOwnMemory}};

TEST_F(EngineGroup, FailsWithItsFirstError) {
  for (const FakeKinds& devices : kDevices) {
    SCOPED_TRACE(to_string(devices));
    auto stream = begin(devices);
    const auto in = buffer(1), out = buffer(0);
    for (size_t failed = 0; failed < 4; ++failed) {
      const auto group = make_ref<CommandGroup>();
      for (size_t i = 0; i < 4; ++i) {
        add(*stream, map_kernel(in, out, static_cast<uint32_t>(i)), *group);
        add(*stream, i < failed ? well() : failing(-70 - static_cast<cl_int>(i)), *group);
      }
      const auto last = end(*stream, *group);
      EXPECT_FALSE(wait(last));
      EXPECT_EQ(last->status(), -70 - static_cast<cl_int>(failed));
    }
  }
}

TEST_F(EngineGroup, OthersErrorsAreNotItsOwn) {
  for (const FakeKinds& devices : kDevices) {
    SCOPED_TRACE(to_string(devices));
    auto stream = begin(devices);
    const auto in = buffer(1), out = buffer(0);
    const auto first = make_ref<CommandGroup>(), second = make_ref<CommandGroup>();
    add(*stream, failing(-70), *first);
    add(*stream, map_kernel(in, out, 5), *second);
    add(*stream, well(), *second);
    const auto last = end(*stream, *second);
    EXPECT_TRUE(wait(last));
    EXPECT_EQ(last->status(), CL_COMPLETE);
    EXPECT_FALSE(wait(end(*stream, *first)));
  }
}

TEST_F(EngineGroup, HearsOfItsLaunchesInABatch) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kOwnMemory}, {kCostlyTimes}, {kSharesHost}}) {
    SCOPED_TRACE(to_string(devices));
    auto stream = begin(devices);
    const auto in = buffer(1), out = buffer(0);
    for (uint32_t c = 0; c < 20; ++c) ASSERT_TRUE(wait(launch(*stream, in, out, c)));
    ASSERT_GT(again, 10);
    // One of the group, which repeats another, and one that fails, is observed and is none of it.
    const auto group = make_ref<CommandGroup>();
    KernelWork work = map_kernel(in, out, 60);
    work.kernel = kernel_;
    add(*stream, work, *group);
    fakes[0]->fail_launches = 1;
    const auto failed = launch(*stream, in, out, 61);
    EXPECT_FALSE(wait(failed));
    EXPECT_EQ(fakes[0]->fail_launches, 0);
    // Of a batch of which one has failed nobody knows what else has.
    EXPECT_FALSE(wait(end(*stream, *group)));
  }
}

}  // namespace
}  // namespace tutti::testing
