// SPDX-License-Identifier: Apache-2.0
// Why launches run whole, both reasons where both hold; and what the run summary makes of it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/output_file.h"
#include "base/temporary_folder.h"
#include "engine_fixture.h"
#include "scheduler/observe/energy_monitor.h"
#include "scheduler/observe/run_summary.h"
#include "scheduler/plan/planner.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const EnergySettings no_energy;

class EngineSummary : public EngineTest {
 protected:
  /// A kernel of this name that is split, or for `forbids` is not; known to take `seconds`.
  KernelWork kernel(const std::string& name, const std::string& forbids, double seconds) {
    KernelWork work = map_kernel(buffer(2), buffer(0), 1);
    scheduler::KernelSummary summary = summary_of(KernelForm::kMap);
    summary.name = name;
    summary.whole_reason = forbids;
    summary.whole_line = forbids.empty() ? 0 : 7;
    work.kernel = std::make_shared<FakeKernel>(
        summary, [](const FakeItem& item) { run_item(KernelForm::kMap, item); }, set->count());
    for (uint32_t device = 0; seconds > 0 && device < set->count(); ++device) {
      for (int run = 0; run < 2; ++run) set->model().add(model_key(work), device, kBytes, seconds);
    }
    return work;
  }
  KernelPlan plan(const KernelWork& work, const std::string& summary = "-",
                  const std::string& balancer_name = "sigmoid") const {
    EngineSettings settings;
    settings.summary = summary;
    settings.balancer = parse_balancer(balancer_name).value();
    const Planner planner(*set, settings);
    return *planner.plan(work, set->real_devices());
  }
  static std::vector<PackageRecord> halves(uint64_t slices, uint64_t first_ns, uint64_t second_ns) {
    return {{0, 0, slices / 2, 1000, 1000 + first_ns},
            {1, slices / 2, slices - slices / 2, 1000, 1000 + second_ns}};
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream rest(text);
    for (std::string line; std::getline(rest, line);) lines.push_back(line);
    return lines;
  }
};

TEST_F(EngineSummary, WhatForbidsASplitIsNotHiddenByWhatDoesNotPay) {
  start({kSharesHost, kSharesHost}, SplitMode::kAuto);
  const KernelWork forbidden = kernel("a", "calls printf", 1e-6);
  KernelPlan both = plan(forbidden);
  EXPECT_FALSE(both.split);
  EXPECT_EQ(both.why, KernelPlan::Why::kSmall);
  EXPECT_THAT(both.whole_reasons().forbids, StartsWith("calls printf"));
  EXPECT_EQ(both.whole_reasons().unprofitable, "too short to gain from a split");
  EXPECT_EQ(both.whole_reasons().otherwise, "");
  EXPECT_EQ(both.reason(),
            both.whole_reasons().forbids + "; besides, too short to gain from a split");
  // Nothing else is planned by what is looked up for the reader only.
  EXPECT_FALSE(both.exact);
  EXPECT_EQ(both.access, nullptr);

  both = plan(forbidden, "-", "single");
  EXPECT_THAT(both.reason(), AllOf(HasSubstr("calls printf"), HasSubstr("TUTTI_BALANCER=single")));

  const KernelPlan large = plan(kernel("b", "calls printf", 1));
  EXPECT_THAT(large.whole_reasons().forbids, StartsWith("calls printf"));
  EXPECT_EQ(large.whole_reasons().unprofitable, "");

  const KernelPlan shorter = plan(kernel("c", "", 1e-6));
  EXPECT_EQ(shorter.whole_reasons().forbids, "");
  EXPECT_EQ(shorter.whole_reasons().unprofitable, "too short to gain from a split");
  EXPECT_THAT(shorter.whole_reasons().otherwise, HasSubstr("writes of argument 'out' are"));
  EXPECT_EQ(shorter.reason(), shorter.whole_reasons().unprofitable +
                                  "; otherwise: " + shorter.whole_reasons().otherwise);

  // Nobody reads it: nothing is looked up.
  EXPECT_EQ(plan(forbidden, "").verdict(), nullptr);
}

TEST_F(EngineSummary, OneDeviceForbidsNothingOfTheKernel) {
  start({kSharesHost}, SplitMode::kAuto);
  EXPECT_THAT(
      plan(kernel("a", "calls printf", 0)).reason(),
      AllOf(StartsWith("calls printf"), HasSubstr("; besides, only one device can run it")));
  EXPECT_THAT(plan(kernel("b", "", 0)).reason(),
              StartsWith("only one device can run it; otherwise: writes of argument 'out'"));
}

TEST_F(EngineSummary, TheTextMovesNoCursor) {
  start({kSharesHost}, SplitMode::kNever);
  EnergyMonitor energy(*set, no_energy, Objective::kTime);
  RunSummary summary(*set, "-", energy);
  const KernelWork work = kernel("a\x1b[2Jb\u202ec", "calls printf\r", 2e-3);
  summary.launched_whole(work, plan(work), 0);
  EXPECT_THAT(summary.text(), AllOf(HasSubstr("a?[2Jb?c"), HasSubstr("1 launch"),
                                    Not(HasSubstr("\x1b")), Not(HasSubstr("\r"))));
}

TEST_F(EngineSummary, ByTimeWithTotalsAndGains) {
  start({kSharesHost, kOwnMemory}, SplitMode::kForce);
  EnergyMonitor energy(*set, no_energy, Objective::kTime);
  RunSummary summary(*set, "-", energy);
  const KernelWork small = kernel("small", "calls printf", 2e-3);
  const KernelWork large = kernel("large", "", 20e-3);
  KernelPlan whole = plan(small);
  KernelPlan split = plan(large);
  split.split = true;
  const uint64_t slices = split.slices();
  // Half of the work took 10 ms on one and 15 on the other: alone, the first would need 20.
  summary.launched_split(large, split, halves(slices, 10'000'000, 15'000'000), 16e-3, false);
  summary.launched_whole(small, whole, 1);
  summary.measured_whole("small", model_key(small), kBytes, 1, 3e-3);
  summary.launched_whole(small, whole, 1);  // of this one only the model knows: 2 ms

  const auto json = nlohmann::json::parse(summary.json());
  ASSERT_EQ(json["kernels"].size(), 2u);
  EXPECT_EQ(json["kernels"][0]["name"], "large");
  EXPECT_NEAR(json["kernels"][0]["seconds"], 16e-3, 1e-9);
  EXPECT_NEAR(json["kernels"][0]["gain"], 20.0 / 16, 1e-6);
  EXPECT_EQ(json["kernels"][1]["launches"], 2);
  EXPECT_EQ(json["kernels"][1]["gain"], nullptr);
  EXPECT_NEAR(json["kernels"][1]["seconds"], 5e-3, 1e-4);
  EXPECT_EQ(json["kernels"][1]["whole"][0]["measured"], 1);
  EXPECT_EQ(json["kernels"][1]["verdicts"][0]["launches"], 2);
  EXPECT_THAT(json["kernels"][1]["verdicts"][0]["forbids"].get<std::string>(),
              StartsWith("calls printf"));
  const auto& total = json["total"];
  EXPECT_EQ(total["kernels"], 2);
  EXPECT_EQ(total["launches"], 3);
  EXPECT_EQ(total["split"], 1);
  EXPECT_EQ(total["whole"], 2);
  EXPECT_NEAR(total["seconds"], 21e-3, 1e-4);
  EXPECT_NEAR(total["gain"], 20.0 / 16, 1e-6);

  const std::string text = summary.text();
  EXPECT_THAT(text,
              AllOf(HasSubstr("2 kernels, 3 launches: 1 split, 2 whole; about 21.0 ms"),
                    HasSubstr("large: 1 launch, 16.0 ms, 76."),
                    HasSubstr("1 split, 16.0 ms, 1.25 times as fast as the best device alone"),
                    HasSubstr("0 fake 0: 50.0 % in 1 package, 10.0 ms"),
                    HasSubstr("small: 2 launches, about 5.00 ms, 23."),
                    HasSubstr("2 whole, about 5.00 ms on 1 fake 1"), HasSubstr("2: calls pri"),
                    Not(HasSubstr("1 launches")), Not(HasSubstr("1 packages"))));
  EXPECT_LT(text.find("large:"), text.find("small:"));
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(EngineSummary, EachReasonIsCountedAndWhatIsOfTheLastOneSaysSo) {
  start({kSharesHost, kOwnMemory}, SplitMode::kForce);
  EnergyMonitor energy(*set, no_energy, Objective::kTime);
  RunSummary summary(*set, "-", energy);
  const KernelWork work = kernel("k", "", 20e-3);
  KernelPlan split = plan(work);
  split.split = true;
  for (int i = 0; i < 3; ++i) {
    summary.launched_split(work, split, halves(split.slices(), 5'000'000, 5'000'000), 5e-3, false);
  }
  KernelPlan dearer = split;
  dearer.split = false;
  dearer.why = KernelPlan::Why::kDearer;
  for (const double milliseconds : {1.0, 2.0}) {
    dearer.whole_seconds = milliseconds * 1e-3;
    dearer.split_seconds = 2 * dearer.whole_seconds;
    summary.launched_whole(work, dearer, 0);
  }
  dearer.why = KernelPlan::Why::kSmall;
  summary.launched_whole(work, dearer, 1);
  const std::string text = summary.text();
  EXPECT_THAT(text, AllOf(HasSubstr("3 split, 15.0 ms, 2.00 times as fast"),
                          HasSubstr("      3 disjoint: writes of"), HasSubstr("the last of them:"),
                          HasSubstr("2, the last: one device alone is expected to take 2 ms"),
                          HasSubstr("      1: too short to gain from a split; otherwise:"),
                          HasSubstr("0 fake 0: 2 launches"), HasSubstr("1 fake 1: 1 launch,")));
  const auto json = nlohmann::json::parse(summary.json());
  const auto& verdicts = json["kernels"][0]["verdicts"];
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_EQ(verdicts[1]["launches"], 2);
  EXPECT_EQ(verdicts[1]["of_last"], true);
  EXPECT_EQ(verdicts[2]["of_last"], false);
  EXPECT_EQ(verdicts[2]["unprofitable"], "too short to gain from a split");
  EXPECT_EQ(json["kernels"][0]["mode"], "disjoint");
}

TEST_F(EngineSummary, ManyVerdictsDoNotFillMemory) {
  start({kSharesHost, kOwnMemory}, SplitMode::kForce);
  EnergyMonitor energy(*set, no_energy, Objective::kTime);
  RunSummary summary(*set, "-", energy);
  uint64_t launches = 0;
  for (int i = 0; i < 100; ++i) {
    const KernelWork work = kernel("k", "reason number " + std::to_string(i), 1e-3);
    summary.launched_whole(work, plan(work), 0);
  }
  const auto json = nlohmann::json::parse(summary.json());
  EXPECT_LT(json["kernels"][0]["verdicts"].size(), 20u);
  for (const auto& verdict : json["kernels"][0]["verdicts"]) {
    launches += verdict["launches"].get<uint64_t>();
  }
  EXPECT_EQ(launches, 100u);
}

TEST_F(EngineSummary, WhatMovesIsCounted) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kForce);
  EnergyMonitor energy(*set, no_energy, Objective::kTime);
  RunSummary summary(*set, "-", energy);
  EXPECT_THAT(summary.text(), HasSubstr("nothing was moved"));
  auto stream = engine->create_stream({});
  auto in = buffer(2), out = buffer(0);
  ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 1)));
  EXPECT_TRUE(engine->finish(*stream));
  read(*stream, out);
  EXPECT_THAT(summary.text(), HasSubstr("moved: 4.00 KiB to devices, 4.00 KiB from them"));
  const auto json = nlohmann::json::parse(summary.json());
  EXPECT_EQ(json["total"]["bytes_to_devices"], kBytes);
  EXPECT_EQ(json["total"]["bytes_to_host"], kBytes);
}

TEST_F(EngineSummary, WhatPassesThroughPinnedBlocksIsCounted) {
  start({kPins}, SplitMode::kNever);
  EnergyMonitor energy(*set, no_energy, Objective::kTime);
  RunSummary summary(*set, "-", energy);
  EXPECT_THAT(summary.text(), Not(HasSubstr("staged:")));
  const std::vector<std::byte> bytes(8 << 20);
  const auto memory = *set->at(0).allocate(bytes.size(), nullptr);
  for (int i = 0; i < 4; ++i) {  // both ways are tried
    ASSERT_TRUE(set->transfers().write_rows(0, **set->transfer_queue(0), *memory,
                                            {.offset = 0, .length = bytes.size()}, bytes.data()));
  }
  const uint64_t staged = set->transfers().staged(0).to_device;
  EXPECT_GT(staged, bytes.size());
  EXPECT_THAT(summary.text(), HasSubstr("staged: "));
  const auto json = nlohmann::json::parse(summary.json());
  EXPECT_EQ(json["devices"][0]["staged_to_device"], staged);
  EXPECT_EQ(json["devices"][0]["staged_to_host"], 0);
}

TEST_F(EngineSummary, ItsFileIsKnownAgain) {
  start({kSharesHost, kOwnMemory}, SplitMode::kNever);
  EnergyMonitor energy(*set, no_energy, Objective::kTime);
  const TemporaryFolder folder;
  const std::string path = folder.write("summary.json", RunSummary(*set, "-", energy).json());
  EXPECT_FALSE(holds_something_else(path, {Written::kSummary}));
}

TEST_F(EngineSummary, WhatHappenedToTheMemoryIsTold) {
  start({kSharesHost, kOwnMemory}, SplitMode::kNever);
  EnergyMonitor energy(*set, no_energy, Objective::kTime);
  const RunSummary summary(*set, "-", energy);
  EXPECT_THAT(summary.text(), AllOf(Not(HasSubstr("was full")), Not(HasSubstr("shard"))));
  MemoryHistory& history = set->memory(1).history();
  history.evicted(2048, 1);
  history.evicted(1024, 1);
  history.reshaped(4096, 1);
  EXPECT_THAT(
      summary.text(),
      AllOf(HasSubstr("the memory of 1 fake 1 was full: 2 buffers went back to the host, 3.00 KiB"),
            HasSubstr("shards on 1 fake 1 were made or changed 1 time, 4.00 KiB in all"),
            Not(HasSubstr("0 fake 0 was full"))));
  const auto json = nlohmann::json::parse(summary.json());
  EXPECT_EQ(json["devices"][0]["evictions"], 0);
  EXPECT_EQ(json["devices"][1]["evictions"], 2);
  EXPECT_EQ(json["devices"][1]["evicted_bytes"], 3072);
  EXPECT_EQ(json["devices"][1]["shard_changes"], 1);
  EXPECT_EQ(json["devices"][1]["shard_bytes"], 4096);
}

TEST_F(EngineSummary, TheLinksOfOtherHostsAreTold) {
  start({kSharesHost, kFar}, SplitMode::kAuto);
  EnergyMonitor energy(*set, no_energy, Objective::kTime);
  const RunSummary summary(*set, "-", energy);
  EXPECT_THAT(
      summary.text(),
      HasSubstr("the link of 1 fake 1: 20.0 ms there and back, 12.5 MB/s there, 12.5 back"));
  const auto json = nlohmann::json::parse(summary.json());
  EXPECT_TRUE(json["devices"][0]["link"].is_null());
  EXPECT_EQ(json["devices"][1]["link"]["round_trip"], 20e-3);
}

}  // namespace
}  // namespace tutti::testing
