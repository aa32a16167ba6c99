// SPDX-License-Identifier: Apache-2.0
// Choosing by energy: prices by hand and against every subset, simulated devices, what is stored.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "scheduler/model/performance_model.h"
#include "scheduler/plan/pricing.h"
#include "scheduler/sim/scenario.h"

namespace tutti::scheduler {
namespace {

TEST(PriceEnergy, DevicesThatWaitDrawPowerForAsLongAsTheLaunchTakes) {
  const LaunchPower power{30, {100, 10}};
  const double busy[] = {2, 4};
  EXPECT_DOUBLE_EQ(price_energy(power, 5, busy), 30 * 5 + 100 * 2 + 10 * 4);
  const DeviceCost devices[] = {{1, 0.5, 1}, {0, 1, 1}};
  const uint64_t shares[] = {2, 0};
  EXPECT_DOUBLE_EQ(price_energy(power, 2, devices, shares), 30 * 2 + 100 * 2);
}

// A fast device that draws much, a slow one that draws little.
const std::vector<DeviceCost> kDevices = {{0, 0.001, 1}, {0, 0.003, 1}};

TEST(PriceSplitFor, TheObjectiveDecidesWhoTakesPart) {
  const LaunchPower frugal{1, {200, 10}};
  const auto shares = [&](Objective objective, const LaunchPower& power) {
    return price_split_for(objective, kDevices, power, 1000).shares;
  };
  EXPECT_EQ(shares(Objective::kTime, frugal), (std::vector<uint64_t>{750, 250}));
  EXPECT_EQ(shares(Objective::kEnergy, frugal), (std::vector<uint64_t>{0, 1000}));
  // 0.75 s at 1 + 200 + 10 W against 3 s at 11 W.
  EXPECT_EQ(shares(Objective::kEnergyDelay, frugal), (std::vector<uint64_t>{0, 1000}));
  const LaunchPower less_so{1, {80, 10}};
  EXPECT_EQ(shares(Objective::kEnergy, less_so), (std::vector<uint64_t>{0, 1000}));
  EXPECT_EQ(shares(Objective::kEnergyDelay, less_so), (std::vector<uint64_t>{750, 250}));
  // Where waiting costs most, the fastest is the cheapest.
  const LaunchPower idle{500, {80, 10}};
  EXPECT_EQ(shares(Objective::kEnergy, idle), (std::vector<uint64_t>{750, 250}));
  EXPECT_EQ(shares(Objective::kEnergy, {}), (std::vector<uint64_t>{750, 250}));
}

TEST(PriceSplitFor, NoSubsetOfDevicesNeedsLessEnergy) {
  std::mt19937 random(1);
  const auto draw = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const size_t count = 1 + random() % 5;
    std::vector<DeviceCost> devices;
    LaunchPower power{draw(0, 200), {}};
    for (size_t i = 0; i < count; ++i) {
      devices.push_back({0, draw(1e-5, 1e-3), 1});
      power.extra.push_back(draw(0, 300));
    }
    constexpr uint64_t kSlices = 100'000;
    const auto joules_of = [&](const SplitPrice& price, std::span<const DeviceCost> some,
                               const LaunchPower& drawn) {
      return price_energy(drawn, price.seconds, some, price.shares);
    };
    const double found =
        joules_of(price_split_for(Objective::kEnergy, devices, power, kSlices), devices, power);
    for (uint32_t subset = 1; subset < 1u << count; ++subset) {
      std::vector<DeviceCost> some;
      LaunchPower drawn{power.idle, {}};
      for (size_t i = 0; i < count; ++i) {
        if ((subset >> i & 1) == 0) continue;
        some.push_back(devices[i]);
        drawn.extra.push_back(power.extra[i]);
      }
      EXPECT_LE(found, joules_of(price_split(some, kSlices), some, drawn) * 1.001);
    }
  }
}

TEST(PowerModel, TheIdlePowerOfASensorCountsOnce) {
  PowerModel model;
  model.set_sensor(0, 0);
  model.set_sensor(1, 0);
  model.set_sensor(2, 1);
  const uint32_t cpu[] = {0, 1}, all[] = {2, 0, 1};
  EXPECT_FALSE(model.launch_power(cpu).known());
  model.set(0, {40, 2, 100, 1, 1});
  model.set(1, {40, 2, 50, 1, 1});
  ASSERT_TRUE(model.launch_power(cpu).known());
  EXPECT_DOUBLE_EQ(model.launch_power(cpu).idle, 20);
  EXPECT_EQ(model.launch_power(cpu).extra, (std::vector<double>{80, 30}));
  EXPECT_FALSE(model.launch_power(all).known());
  model.set(2, {70, 1, 300, 1, 1});
  EXPECT_DOUBLE_EQ(model.launch_power(cpu).idle, 90);  // the GPU waits
  EXPECT_EQ(model.launch_power(all).extra, (std::vector<double>{230, 80, 30}));
}

TEST(ModelStore, PowerIsRememberedAndAddsUp) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("tutti-power-" + std::to_string(std::random_device()()));
  const std::string file = (folder / "model.db").string();
  for (int run = 0; run < 2; ++run) {
    PerformanceModel model;
    model.remember_in(file);
    model.set_device(0, "a gpu");
    const auto before = model.stored_power(0);
    EXPECT_EQ(before.has_value(), run == 1);
    if (before) {
      EXPECT_DOUBLE_EQ(before->idle_seconds, 2);
    }
    model.keep_power(0, {20, 2, 300, 3, 3});
    model.flush();
  }
  auto store = ModelStore::open(file, ModelStore::Mode::kCreate);
  ASSERT_TRUE(store);
  const auto listed = (*store)->list_power();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].device, "a gpu");
  EXPECT_DOUBLE_EQ(listed[0].sums.idle_joules, 40);
  EXPECT_DOUBLE_EQ(listed[0].sums.busy_seconds, 6);
  EXPECT_DOUBLE_EQ(*listed[0].sums.extra_watts(), 90);
  EXPECT_EQ((*store)->load_power("another"), std::nullopt);
  ASSERT_TRUE((*store)->clear());
  EXPECT_TRUE((*store)->list_power().empty());
  store->reset();
  std::filesystem::remove_all(folder);
}

sim::Scenario efficient_and_fast() {
  sim::Scenario scenario;
  sim::Device fast, slow;
  fast.rate = fast.known.nominal_speed = 1000;
  fast.busy_watts = 220;
  fast.idle_watts = 20;
  slow.rate = slow.known.nominal_speed = 500;
  slow.busy_watts = 15;
  slow.idle_watts = 5;
  scenario.devices = {fast, slow};
  scenario.slices_per_device = 750;
  return scenario;
}

TEST(Simulate, TheEfficientSlowDeviceAloneWinsByEnergyAndTheSplitByTime) {
  sim::Scenario scenario = efficient_and_fast();
  const BalancerSpec balancer = parse_balancer("static").value();
  const auto time = sim::evaluate(scenario, balancer).value();
  EXPECT_NEAR(time.seconds, 1, 1e-6);
  EXPECT_NEAR(time.joules, 220 + 15, 1e-3);
  EXPECT_EQ(time.idle, 0);
  scenario.objective = Objective::kEnergy;
  const auto energy = sim::evaluate(scenario, balancer).value();
  EXPECT_NEAR(energy.seconds, 3, 1e-6);
  EXPECT_NEAR(energy.joules, 3 * (15 + 20), 1e-3);  // the fast one waits, and draws power
  EXPECT_NEAR(energy.energy_delay, 315, 1e-2);
  EXPECT_EQ(energy.idle, 1);
  scenario.objective = Objective::kEnergyDelay;
  const auto product = sim::evaluate(scenario, balancer).value();
  EXPECT_NEAR(product.energy_delay, 235, 1e-2);
}

}  // namespace
}  // namespace tutti::scheduler
