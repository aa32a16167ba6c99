// SPDX-License-Identifier: Apache-2.0
// What the planner chooses by energy, and what the monitor counts of an engine's launches.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "engine_fixture.h"
#include "scheduler/observe/energy_monitor.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineEnergy : public EngineTest {
 protected:
  /// Device 0 needs 10 ms and draws much, device 1 needs 30 ms and draws little.
  void start_two() {
    start({kSharesHost, kSharesHost}, SplitMode::kAuto);
    work_ = map_kernel(buffer(1), buffer(0), 1);
    for (int i = 0; i < 3; ++i) {
      set->model().add(model_key(work_), 0, kBytes, 0.01);
      set->model().add(model_key(work_), 1, kBytes, 0.03);
    }
  }
  void know_power(double first, double second, double idle) const {
    set->power().set_sensor(0, 0);
    set->power().set_sensor(1, 1);
    set->power().set(0, {idle, 1, idle + first, 1, 1});
    set->power().set(1, {0, 1, second, 1, 1});
  }
  KernelPlan plan(Objective objective) const {
    EngineSettings settings;
    settings.objective = objective;
    const Planner planner(*set, settings);
    return *planner.plan(work_, backend_bit(0) | backend_bit(1));
  }
  KernelWork work_;
};

TEST_F(EngineEnergy, TheObjectiveDecides) {
  start_two();
  know_power(200, 10, 5);
  const KernelPlan time = plan(Objective::kTime);
  EXPECT_TRUE(time.split);
  EXPECT_EQ(time.backend, 0u);
  EXPECT_EQ(time.whole_joules, 0);
  const KernelPlan energy = plan(Objective::kEnergy);
  EXPECT_FALSE(energy.split);
  EXPECT_EQ(energy.backend, 1u);
  EXPECT_NEAR(energy.whole_seconds, 0.03, 1e-3);
  EXPECT_NEAR(energy.whole_joules, 0.03 * (5 + 10), 1e-2);
  EXPECT_NE(energy.reason().find("TUTTI_OBJECTIVE=energy"), std::string::npos) << energy.reason();
  // 7.5 ms at 215 W against 30 ms at 15 W: 12.1 against 13.5 mJ s.
  const KernelPlan product = plan(Objective::kEnergyDelay);
  EXPECT_TRUE(product.split);
  EXPECT_NEAR(product.split_joules, 0.0075 * 215, 0.1);
}

TEST_F(EngineEnergy, TheFastDeviceAloneWinsWhereTheOtherDrawsTooMuch) {
  start_two();
  know_power(20, 200, 5);
  const KernelPlan energy = plan(Objective::kEnergy);
  EXPECT_FALSE(energy.split);
  EXPECT_EQ(energy.backend, 0u);
  EXPECT_NEAR(energy.whole_joules, 0.01 * 25, 1e-2);
}

TEST_F(EngineEnergy, WhereWaitingIsDearTheSplitWins) {
  start_two();
  know_power(200, 10, 5000);
  EXPECT_TRUE(plan(Objective::kEnergy).split);
}

TEST_F(EngineEnergy, WithoutKnownPowerTimeDecides) {
  start_two();
  const KernelPlan nothing = plan(Objective::kEnergy);
  EXPECT_TRUE(nothing.split);
  EXPECT_EQ(nothing.objective, Objective::kTime);
  set->power().set_sensor(0, 0);
  set->power().set(0, {5, 1, 205, 1, 1});  // of one only
  EXPECT_TRUE(plan(Objective::kEnergy).split);
}

TEST_F(EngineEnergy, ForcedSplitsStaySplit) {
  start_two();
  know_power(200, 10, 5);
  EngineSettings settings;
  settings.objective = Objective::kEnergy;
  settings.split = SplitMode::kForce;
  const Planner planner(*set, settings);
  EXPECT_TRUE(planner.plan(work_, backend_bit(0) | backend_bit(1))->split);
}

TEST(AssignSensors, SaysWhyADeviceHasNone) {
  backends::DeviceTraits cpu, gpu, other;
  gpu.type = other.type = CL_DEVICE_TYPE_GPU;
  gpu.vendor = "NVIDIA Corporation";
  gpu.pci_address = "0000:3b:00.0";
  other.vendor = "Somebody";
  const SensorAssignment found =
      assign_sensors({&cpu, &gpu, &other}, {"/nowhere/powercap", "libno-such-nvml.so.1"});
  EXPECT_TRUE(found.sensors.empty());
  EXPECT_NE(found.absent[0].find("/nowhere/powercap"), std::string::npos);
  EXPECT_NE(found.absent[1].find("libno-such-nvml.so.1"), std::string::npos);
  EXPECT_EQ(found.absent[2], "no sensor is known for devices of this kind");
}

TEST(EnergyMonitor, CountsTheLaunchesOfAnEngine) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("tutti-energy-" + std::to_string(getpid()));
  const fs::path zone = folder / "intel-rapl:0";
  fs::create_directories(zone);
  std::ofstream(zone / "name") << "package-0\n";
  std::ofstream(zone / "max_energy_range_uj") << "1000000000\n";
  std::ofstream(zone / "energy_uj") << "1000000\n";
  std::vector<std::unique_ptr<backends::Backend>> list;
  list.push_back(std::make_unique<FakeBackend>(0, kSharesHost));
  BackendSet set(std::move(list));
  EnergySettings settings;
  settings.wanted = true;
  settings.period = 10'000;  // the last reading alone
  settings.sources = {folder.string(), {}};
  EnergyMonitor monitor(set, settings, Objective::kTime);
  EXPECT_FALSE(monitor.on());
  const uint64_t begun = now_ns();
  monitor.start();
  ASSERT_TRUE(monitor.on()) << monitor.text();
  std::ofstream(zone / "energy_uj") << "9000000\n";
  monitor.ran("k", 0, begun, begun + 3'600'000'000'000);  // longer than all readings
  monitor.launched("k", begun, begun + 2'000'000'000);
  monitor.stop();
  const nlohmann::json json = monitor.json();
  EXPECT_DOUBLE_EQ(json["joules"], 8);
  EXPECT_DOUBLE_EQ(json["devices"][0]["joules"], 8);
  const EnergyTotals totals = monitor.totals();
  EXPECT_DOUBLE_EQ(totals.kernels.at("k").delay_product(), 16);
  EXPECT_NE(monitor.text().find("RAPL package-0: 8 J"), std::string::npos) << monitor.text();
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tutti::testing
