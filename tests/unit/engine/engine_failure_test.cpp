// SPDX-License-Identifier: Apache-2.0
// Devices that refuse, that are too small, and what the run summary says.
#include <nlohmann/json.hpp>

#include "engine_fixture.h"
#include "scheduler/observe/energy_monitor.h"
#include "scheduler/observe/run_summary.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

const EnergySettings no_energy;

class EngineFailure : public EngineTest {};

TEST_F(EngineFailure, PackagesThatADeviceRefusesRunOnAnother) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  fakes[1]->refuse_launches = 1 << 20;
  auto stream = engine->create_stream({});
  auto in = buffer(2), out = buffer(0);
  auto command = *enqueue(*stream, map_kernel(in, out, 1));
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(command->status(), CL_COMPLETE);
  EXPECT_EQ(read(*stream, out), filled(7));
  EXPECT_EQ(fakes[1]->launches.load(), 0u);
  EXPECT_GT(fakes[0]->launches.load(), 0u);
}

TEST_F(EngineFailure, WhenEveryDeviceRefusesTheCommandFails) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  for (auto* fake : fakes) fake->refuse_launches = 1 << 20;
  auto stream = engine->create_stream({});
  auto in = buffer(2), out = buffer(5);
  auto command = *enqueue(*stream, map_kernel(in, out, 1));
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(command->status(), CL_OUT_OF_RESOURCES);
  // The stream goes on.
  for (auto* fake : fakes) fake->refuse_launches = 0;
  ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 1)));
  EXPECT_EQ(read(*stream, out), filled(7));
}

TEST_F(EngineFailure, AnExceptionInAWorkerFailsTheCommandAlone) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  auto stream = engine->create_stream({});
  auto in = buffer(2), out = buffer(5);
  for (const size_t throwing : {0, 1}) {
    fakes[throwing]->throw_launches = 1;
    auto command = *enqueue(*stream, map_kernel(in, out, 1));
    EXPECT_TRUE(engine->finish(*stream));
    // Where nothing had begun yet, it has run whole.
    if (command->status() == CL_COMPLETE) {
      EXPECT_EQ(read(*stream, out), filled(7));
    } else {
      EXPECT_EQ(command->status(), CL_OUT_OF_HOST_MEMORY);
    }
  }
  for (auto* fake : fakes) fake->throw_launches = 1 << 20;
  auto command = *enqueue(*stream, map_kernel(in, out, 1));
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(command->status(), CL_OUT_OF_HOST_MEMORY);
  for (auto* fake : fakes) fake->throw_launches = 0;
  ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 1)));
  EXPECT_EQ(read(*stream, out), filled(7));
}

TEST_F(EngineFailure, AnExceptionInAWholeLaunchFailsTheCommandAlone) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kNever);
  auto stream = engine->create_stream({});
  auto in = buffer(2), out = buffer(5);
  auto user = engine->create_user_command();
  for (auto* fake : fakes) fake->throw_launches = 1;
  Command* const waits[] = {user.get()};
  auto command = *engine->enqueue(*stream, map_kernel(in, out, 1),
                                  {.type = CL_COMMAND_NDRANGE_KERNEL, .wait_list = waits});
  ASSERT_TRUE(engine->set_user_status(*user, CL_COMPLETE));
  EXPECT_TRUE(engine->finish(*stream));
  EXPECT_EQ(command->status(), CL_OUT_OF_HOST_MEMORY);
  for (auto* fake : fakes) fake->throw_launches = 0;
  ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 1)));
  EXPECT_EQ(read(*stream, out), filled(7));
}

TEST_F(EngineFailure, FinishTellsWhatNobodyCouldAsk) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  for (auto* fake : fakes) fake->refuse_launches = 1 << 20;
  auto stream = engine->create_stream({});
  auto in = buffer(2), out = buffer(5);
  EnqueueOptions options;
  options.type = CL_COMMAND_NDRANGE_KERNEL;
  options.observed = false;
  ASSERT_TRUE(engine->enqueue(*stream, map_kernel(in, out, 1), options));
  EXPECT_EQ(code_of(engine->finish(*stream)), CL_OUT_OF_RESOURCES);
  EXPECT_TRUE(engine->finish(*stream));
}

TEST_F(EngineFailure, FarOffsetsKeepALaunchWhole) {
  start({kOwnMemory, kNarrowOffsets}, SplitMode::kForce);
  auto stream = engine->create_stream({});
  auto in = buffer(2), out = buffer(0);
  ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 1)));
  EXPECT_EQ(read(*stream, out), filled(7));
  EXPECT_EQ(fakes[0]->launches + fakes[1]->launches, 1u);
}

TEST_F(EngineFailure, SmallerLastGroupsKeepALaunchWholeWhereTheyMayBe) {
  start({kOwnMemory, kSmallerGroups, kSmallerGroups}, SplitMode::kForce);
  auto stream = engine->create_stream({});
  auto in = buffer(2), out = buffer(0);
  scheduler::KernelWork work = map_kernel(in, out, 1);
  work.shape.local[0] = kGroup + 1;
  ASSERT_TRUE(work.shape.smaller_groups());
  ASSERT_TRUE(enqueue(*stream, work));
  EXPECT_EQ(read(*stream, out), filled(7));
  EXPECT_EQ(fakes[0]->launches, 0u);
  EXPECT_EQ(fakes[1]->launches + fakes[2]->launches, 1u);
}

TEST_F(EngineFailure, ADirectLaunchThatIsRefusedIsTheCallsError) {
  start({kOwnMemory}, SplitMode::kAuto);
  fakes[0]->refuse_launches = 1;
  auto stream = engine->create_stream({});
  auto in = buffer(2), out = buffer(0);
  auto refused = enqueue(*stream, map_kernel(in, out, 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, CL_OUT_OF_RESOURCES);
  ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 1)));
  EXPECT_EQ(read(*stream, out), filled(7));
}

TEST_F(EngineFailure, OnlyMissingRangesTravel) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  auto stream = engine->create_stream({});
  auto in = buffer(2), out = buffer(0);
  ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 1)));
  EXPECT_TRUE(engine->finish(*stream));
  // Every package brought its own slice of `in`; `out` is overwritten and was not sent.
  EXPECT_EQ(fakes[0]->bytes_in + fakes[1]->bytes_in, uint64_t{kBytes});
  EXPECT_EQ(fakes[0]->bytes_out + fakes[1]->bytes_out,
            0u);  // nothing is gathered before it is read
  EXPECT_EQ(read(*stream, out), filled(7));
  EXPECT_EQ(fakes[0]->bytes_out + fakes[1]->bytes_out, uint64_t{kBytes});
}

TEST_F(EngineFailure, TheSummaryNamesPackagesAndReasons) {
  start({kSharesHost, kOwnMemory}, SplitMode::kForce);
  EnergyMonitor energy(*set, no_energy, Objective::kTime);
  RunSummary summary(*set, "-", energy);
  KernelPlan plan;
  plan.why = KernelPlan::Why::kSingle;
  auto in = buffer(2), out = buffer(0);
  summary.launched_whole(map_kernel(in, out, 1), plan, 1);
  const auto json = nlohmann::json::parse(summary.json());
  EXPECT_EQ(json["kernels"][0]["name"], "fake");
  EXPECT_EQ(json["kernels"][0]["mode"], "whole");
  EXPECT_EQ(json["kernels"][0]["reason"], "TUTTI_BALANCER=single");
  EXPECT_EQ(json["kernels"][0]["whole"][0]["device"], 1);
  EXPECT_NE(summary.text().find("1 whole, not measured on 1 fake 1"), std::string::npos);
}

}  // namespace
}  // namespace tutti::testing
