// SPDX-License-Identifier: Apache-2.0
// Balancers on simulated devices (scheduler/sim): two packages in flight each, or one; loads may be
// irregular, speeds may change on the way, devices may fail. And the simulation itself.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "property.h"
#include "scheduler/balance/balancer.h"
#include "scheduler/sim/simulation.h"

namespace tutti::scheduler::test {
namespace {

using sim::Device;
using sim::Load;
using sim::LoadShape;
using sim::Package;
using sim::SimulatedRun;

Load regular(uint64_t total) { return Load(std::vector<double>(total, 1.0)); }

std::unique_ptr<Balancer> make(const std::string& name, uint64_t total,
                               const std::vector<Device>& devices) {
  std::vector<BalancerDevice> known;
  for (const Device& device : devices) known.push_back(device.known);
  return make_balancer(parse_balancer(name).value(), total, known);
}

class Chooser {
 public:
  Chooser() : Chooser(*rc::gen::arbitrary<uint64_t>()) {}
  explicit Chooser(uint64_t seed) : random_(seed) {}
  uint64_t pick(uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(random_);
  }
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  /// Evenly spread over orders of magnitude.
  double ratio(double low, double high) { return std::exp(between(std::log(low), std::log(high))); }
  std::mt19937_64& engine() { return random_; }

 private:
  std::mt19937_64 random_;
};

/// Every slice is computed once, and was given by the balancer in order; no package is too small.
/// Where devices fail, packages are given again, and a balancer that relied on a failed device may
/// leave work to whoever is left.
void check_complete(const SimulatedRun& run, const std::vector<Device>& devices, uint64_t total) {
  const bool failures = std::any_of(devices.begin(), devices.end(), [](const Device& device) {
    return device.fails_at < sim::kNever;
  });
  RC_ASSERT(run.complete);
  RC_ASSERT(failures || !run.stalled);
  std::vector<Package> computed;
  std::copy_if(run.packages.begin(), run.packages.end(), std::back_inserter(computed),
               [](const Package& package) { return !package.lost; });
  const auto by_first = [](const Package& a, const Package& b) { return a.first < b.first; };
  RC_ASSERT(failures || computed.size() == run.packages.size());
  std::sort(computed.begin(), computed.end(), by_first);
  uint64_t next = 0;
  for (const Package& package : computed) {
    RC_ASSERT(package.first == next);
    RC_ASSERT(package.count > 0u);
    RC_ASSERT(package.start <= package.end);
    RC_ASSERT(package.end <= run.end);
    next += package.count;
  }
  RC_ASSERT(next == total);
  for (const Package& package : run.packages) {
    const bool last = &package == &run.packages.back();
    RC_ASSERT(last || failures || package.count >= devices[package.device].known.min_package);
  }
}

/// What is believed of it may be anything.
Device any_device(Chooser& choose, uint64_t most_min_package) {
  Device device;
  device.rate = choose.ratio(1e-3, 1e6);
  device.known.nominal_speed = choose.ratio(1e-6, 1e9);
  device.known.min_package = choose.pick(1, most_min_package);
  // `model` does without it all, or nothing.
  device.known.known = choose.pick(0, 7) > 0;
  device.known.irregularity = choose.between(0, 1) < 0.5 ? 0 : choose.ratio(1e-3, 10);
  device.known.gpu = choose.pick(0, 1) == 1;
  device.in_flight = choose.pick(1, 2);
  device.startup = choose.between(0, 1) < 0.5 ? 0 : choose.ratio(1e-6, 1e-1);
  device.floor = choose.between(0, 1) < 0.5 ? 0 : choose.ratio(1e-6, 1e-1);
  device.transfer = choose.between(0, 1) < 0.5 ? 0 : choose.ratio(1e-9, 1e-2);
  if (choose.between(0, 1) < 0.5) {
    device.change_at = choose.ratio(1e-3, 1e3);
    device.change = choose.ratio(1e-3, 1e3);
  }
  return device;
}

TEST(BalancerSimulation, EverySliceOnceWhateverTheDevicesDo) {
  for (const std::string name :
       {"static", "dynamic", "dynamic:3", "hguided", "hguided:0.5", "autotune", "adaptive", "model",
        "model:0.3", "sigmoid", "sigmoid:4:0.1:0.5"}) {
    SCOPED_TRACE(name);
    check_property(1500, [&] {
      Chooser choose;
      const uint64_t total = choose.pick(1, 3000);
      std::vector<Device> devices(choose.pick(1, 6));
      for (Device& device : devices) device = any_device(choose, name == "static" ? 1 : 200);
      std::vector<double> costs(total, 1.0);
      if (choose.between(0, 1) < 0.7) {
        for (double& cost : costs) cost = choose.ratio(0.01, 100);
      }
      const SimulatedRun run = simulate(*make(name, total, devices), devices, Load(costs));
      check_complete(run, devices, total);
      RC_ASSERT(run.packages.size() <= total);
    });
  }
}

/// Equal parts of so many slices.
std::vector<uint64_t> equal_shares(uint64_t total, size_t devices) {
  std::vector<uint64_t> shares;
  for (size_t i = 0; i < devices; ++i) {
    shares.push_back(total * (i + 1) / devices - total * i / devices);
  }
  return shares;
}

TEST(BalancerSimulation, WhoWasSentAwayIsCalledBack) {
  // A Mandelbrot set's rows in seconds. What was learnt of the devices, which are equal, is which
  // rows they had: the one with cheap rows would be done in no time, and the other one seems to
  // need nobody.
  const std::vector<double> rows = {.0015, .0015, .007, .017, .033, .039, .046, .057,
                                    .064,  .061,  .052, .040, .034, .028, .008, .006};
  for (const auto& [first, second] : {std::pair{290.0, 27.0}, {27.0, 290.0}}) {
    for (const std::string name : {"sigmoid", "hguided", "model"}) {
      std::vector<Device> devices(2);
      for (Device& device : devices) device.in_flight = 1;
      devices[0].known.nominal_speed = first;
      devices[1].known.nominal_speed = second;
      const Load load(rows);
      const uint64_t share = first > second ? 3 : 13;
      const auto run =
          simulate(*make(name, rows.size(), devices), devices, load, {share, rows.size() - share});
      EXPECT_TRUE(run.complete);
      EXPECT_FALSE(run.stalled);
      EXPECT_LT(run.end, 0.75 * load.total()) << name << ' ' << first;
    }
  }
}

TEST(BalancerSimulation, EverySliceOnceFromRegions) {
  for (const std::string name : {"hguided", "autotune", "adaptive", "model", "sigmoid"}) {
    SCOPED_TRACE(name);
    check_property(500, [&] {
      Chooser choose;
      const uint64_t total = choose.pick(1, 1000);
      std::vector<Device> devices(choose.pick(1, 6));
      // 1: the rest of a region may be less than a device's smallest package.
      for (Device& device : devices) device = any_device(choose, 1);
      std::vector<double> costs(total);
      for (double& cost : costs) cost = choose.ratio(0.01, 100);
      const auto run = simulate(*make(name, total, devices), devices, Load(costs),
                                equal_shares(total, devices.size()));
      check_complete(run, devices, total);
    });
  }
}

TEST(BalancerSimulation, WhoComesToACostlyRegionTakesNoMoreThanItCanDo) {
  // A peak in the middle: the devices on both sides end early, and help out where a slice takes
  // many times as long as theirs did.
  struct Case {
    std::string balancer;
    size_t devices;
    double narrow, least;
  };
  for (const Case& one :
       {Case{"sigmoid", 2, 100, 0.98}, Case{"sigmoid", 3, 20, 0.95}, Case{"sigmoid", 3, 100, 0.93},
        Case{"sigmoid", 8, 20, 0.88}, Case{"model", 2, 100, 0.98}, Case{"model", 3, 20, 0.93},
        Case{"model", 3, 100, 0.85}, Case{"adaptive", 3, 20, 0.93}}) {
    constexpr uint64_t kTotal = 126;
    std::vector<double> costs(kTotal);
    double sum = 0;
    for (uint64_t i = 0; i < kTotal; ++i) {
      const double x = (static_cast<double>(i) + 0.5) / kTotal - 0.5;
      costs[i] = 0.05 + 3 * std::exp(-one.narrow * x * x);
      sum += costs[i];
    }
    for (double& cost : costs) cost *= kTotal / sum;
    std::vector<Device> devices(one.devices);
    for (Device& device : devices) {
      device.rate = device.known.nominal_speed = 500;
      device.known.irregularity = 0.8;
      device.startup = 3e-5;
      device.in_flight = 2;
    }
    const SimulatedRun run = simulate(*make(one.balancer, kTotal, devices), devices, Load(costs),
                                      equal_shares(kTotal, devices.size()));
    EXPECT_TRUE(run.complete);
    EXPECT_GE(sim::ideal_time(devices, kTotal) / run.end, one.least)
        << one.balancer << ", " << one.devices << " devices, " << one.narrow;
  }
}

/// Devices whose speeds are known up to a factor, and whose smallest packages take at most one part
/// in `rounds` of the run.
std::vector<Device> realistic_devices(Chooser& choose, uint64_t total, double error,
                                      double rounds) {
  std::vector<Device> devices(choose.pick(1, 8));
  const double spread = choose.ratio(1, 20);
  double sum = 0;
  for (Device& device : devices) {
    device.rate = 1000 * choose.ratio(1, spread);
    device.known.nominal_speed = device.rate * choose.ratio(1 / error, error) * 3;
    sum += device.rate;
  }
  const double ideal = static_cast<double>(total) / sum;
  for (Device& device : devices) {
    device.startup = ideal * choose.between(0, 2e-4);
    device.known.min_package =
        std::max<uint64_t>(1, static_cast<uint64_t>(device.rate * ideal / rounds));
  }
  return devices;
}

/// What is demanded of a balancer: efficiency (t_ideal / t) in the worst and the mean run, and of
/// the part of the time that a device computes.
struct Demand {
  std::string balancer;
  double worst;
  double mean;
  double busy;
};

/// `choose_run` makes devices and load for a number of slices.
template <typename Choose>
void check_efficiency(const std::string& situation, const Demand& demand, Choose&& choose_run) {
  SCOPED_TRACE(demand.balancer);
  double worst = 1;
  double sum = 0;
  double packages = 0;
  int runs = 0;
  check_property(500, [&] {
    Chooser choose;
    const uint64_t total = choose.pick(2000, 20000);
    const auto [devices, load] = choose_run(choose, total);
    const SimulatedRun run = simulate(*make(demand.balancer, total, devices), devices, load);
    check_complete(run, devices, total);
    const double efficiency = sim::ideal_time(devices, static_cast<double>(total)) / run.end;
    worst = std::min(worst, efficiency);
    sum += efficiency;
    packages += static_cast<double>(run.packages.size());
    ++runs;
    RC_ASSERT(efficiency >= demand.worst);
    std::vector<double> work(devices.size());
    for (const Package& package : run.packages) {
      work[package.device] += load.of(package.first, package.count);
    }
    for (size_t i = 0; i < devices.size(); ++i) {
      RC_ASSERT(work[i] / devices[i].rate >= demand.busy * run.end);
    }
  });
  const std::string key = situation + '.' + demand.balancer;
  ::testing::Test::RecordProperty(key + ".worst", std::to_string(worst));
  ::testing::Test::RecordProperty(key + ".mean", std::to_string(sum / runs));
  ::testing::Test::RecordProperty(key + ".packages", std::to_string(packages / runs));
  EXPECT_GE(sum / runs, demand.mean);
}

// The bounds leave room below the worst of 10 000 runs.

TEST(BalancerSimulation, EqualDevicesAndRegularLoad) {
  for (const Demand& demand : std::vector<Demand>{{"static", 0.95, 0.98, 0.95},
                                                  {"dynamic", 0.93, 0.97, 0.93},
                                                  {"hguided", 0.85, 0.89, 0.8},
                                                  {"autotune", 0.95, 0.97, 0.95},
                                                  {"adaptive", 0.95, 0.97, 0.9},
                                                  {"model", 0.95, 0.97, 0.95},
                                                  {"sigmoid", 0.95, 0.97, 0.95}}) {
    check_efficiency("equal", demand, [](Chooser&, uint64_t total) {
      Device device;
      device.rate = 1000;
      device.known = {3000, total / 100};
      return std::pair(std::vector<Device>(2, device), regular(total));
    });
  }
}

TEST(BalancerSimulation, UnequalDevicesAndRegularLoad) {
  // Up to eight devices, up to twenty times as fast as another, which are known up to a factor of
  // 1.5. `dynamic` suffers from the slowest one, `static` from the factor, and so does
  // `model`, which takes what is known for true.
  for (const Demand& demand : std::vector<Demand>{{"dynamic", 0.3, 0.77, 0.2},
                                                  {"hguided", 0.72, 0.84, 0.6},
                                                  {"autotune", 0.9, 0.97, 0.8},
                                                  {"adaptive", 0.9, 0.97, 0.5},
                                                  {"model", 0.4, 0.8, 0.35},
                                                  {"sigmoid", 0.9, 0.97, 0.8}}) {
    check_efficiency("regular", demand, [](Chooser& choose, uint64_t total) {
      return std::pair(realistic_devices(choose, total, 1.5, 50), regular(total));
    });
  }
}

TEST(BalancerSimulation, UnequalDevicesThatAreKnownWell) {
  for (const Demand& demand :
       std::vector<Demand>{{"model", 0.95, 0.97, 0.93}, {"sigmoid", 0.95, 0.97, 0.93}}) {
    check_efficiency("known", demand, [](Chooser& choose, uint64_t total) {
      return std::pair(realistic_devices(choose, total, 1.0, 50), regular(total));
    });
  }
}

TEST(BalancerSimulation, UnequalDevicesAndIrregularLoad) {
  // At worst two devices, and all of the cost in one package. `adaptive` chooses its last packages
  // by what the cheap beginning took.
  for (const Demand& demand : std::vector<Demand>{{"dynamic", 0.2, 0.82, 0},
                                                  {"hguided", 0.6, 0.91, 0},
                                                  {"autotune", 0.5, 0.96, 0},
                                                  {"adaptive", 0.15, 0.64, 0},
                                                  {"sigmoid", 0.45, 0.94, 0}}) {
    check_efficiency("irregular", demand, [](Chooser& choose, uint64_t total) {
      return std::pair(realistic_devices(choose, total, 1.5, 200),
                       sim::make_load(LoadShape::kMiddle, total, 0.5, choose.engine()));
    });
  }
}

TEST(BalancerSimulation, SpeedsThatAreMisjudgedTenfold) {
  for (const Demand& demand : std::vector<Demand>{
           {"autotune", 0.2, 0.96, 0}, {"adaptive", 0.25, 0.96, 0}, {"sigmoid", 0.15, 0.94, 0}}) {
    check_efficiency("misjudged", demand, [](Chooser& choose, uint64_t total) {
      return std::pair(realistic_devices(choose, total, 10, 200), regular(total));
    });
  }
}

/// Devices, and among them one that is 900 times as slow and cannot end its smallest package in
/// time: when the launch ends, over when it could end without that one.
double delay_by_a_slow_device(const std::string& name, Chooser choose) {
  const uint64_t total = choose.pick(2000, 20000);
  std::vector<Device> devices = realistic_devices(choose, total, 1.0, 100);
  const double ideal = sim::ideal_time(devices, static_cast<double>(total));
  Device slow;
  slow.rate = devices[0].rate / 900;
  slow.known.nominal_speed = slow.rate * 3;
  slow.known.min_package =
      static_cast<uint64_t>(std::ceil(slow.rate * ideal * choose.between(1.5, 10)));
  devices.insert(devices.begin() + static_cast<long>(choose.pick(0, devices.size())), slow);
  const SimulatedRun run = simulate(*make(name, total, devices), devices, regular(total));
  return run.stalled ? std::numeric_limits<double>::infinity() : run.end / ideal;
}

TEST(BalancerSimulation, ASlowDeviceDoesNotDelayTheOthers) {
  for (const std::string name : {"static", "autotune", "adaptive", "sigmoid"}) {
    SCOPED_TRACE(name);
    check_property(300, [&] { RC_ASSERT(delay_by_a_slow_device(name, Chooser()) <= 1 / 0.9); });
  }
}

TEST(BalancerSimulation, ASlowDeviceGetsNoRestThatItWouldNeedAWholeRoundFor) {
  for (const uint64_t seed : {6689, 34047}) {
    EXPECT_LE(delay_by_a_slow_device("sigmoid", Chooser(seed)), 1 / 0.9) << seed;
  }
}

TEST(BalancerSimulation, EverySliceOnceAlthoughDevicesFail) {
  for (const std::string name :
       {"static", "dynamic", "hguided", "autotune", "adaptive", "sigmoid"}) {
    SCOPED_TRACE(name);
    check_property(500, [&] {
      Chooser choose;
      const uint64_t total = choose.pick(1, 3000);
      std::vector<Device> devices(choose.pick(2, 6));
      for (Device& device : devices) {
        device.rate = choose.ratio(10, 1e4);
        device.known.nominal_speed = choose.ratio(1, 1e5);
        device.known.min_package = name == "static" ? 1 : choose.pick(1, 50);
        device.in_flight = choose.pick(1, 2);
        if (choose.between(0, 1) < 0.5) {
          device.fails_at = choose.between(0, 1) < 0.2 ? 0 : choose.ratio(1e-4, 10);
        }
      }
      devices[choose.pick(0, devices.size() - 1)].fails_at = sim::kNever;
      const SimulatedRun run = simulate(*make(name, total, devices), devices, regular(total));
      check_complete(run, devices, total);
      for (const Package& package : run.packages) {
        RC_ASSERT(package.end <= devices[package.device].fails_at);
      }
      RC_ASSERT(run.end >= sim::ideal_time(devices, static_cast<double>(total)) * (1 - 1e-9));
    });
  }
}

// ---- the simulation itself, by figures that can be computed by hand ----

/// `rate` slices per second, known to the balancer.
Device known_device(double rate) {
  Device device;
  device.rate = rate;
  device.known.nominal_speed = rate;
  return device;
}

TEST(Simulation, APackageTakesStartUpAndWorkButNotLessThanTheFloor) {
  Device device = known_device(100);
  device.startup = 0.5;
  EXPECT_DOUBLE_EQ(simulate(*make("static", 200, {device}), {device}, regular(200)).end, 2.5);
  device.floor = 4;
  EXPECT_DOUBLE_EQ(simulate(*make("static", 200, {device}), {device}, regular(200)).end, 4);
  device.floor = 0;
  device.known.min_package = 150;  // two whole rounds
  EXPECT_DOUBLE_EQ(simulate(*make("static", 200, {device}), {device}, regular(200)).end, 3.5);
}

TEST(Simulation, DataOfTheNextPackageTravelMeanwhile) {
  Device device = known_device(100);
  device.transfer = 0.005;
  // Two packages of 100 slices: half a second for the first one's data, then it computes for a
  // second, and the second one's data are there when it ends.
  EXPECT_DOUBLE_EQ(simulate(*make("dynamic:2", 200, {device}), {device}, regular(200)).end, 2.5);
  device.in_flight = 1;
  EXPECT_DOUBLE_EQ(simulate(*make("dynamic:2", 200, {device}), {device}, regular(200)).end, 3);
}

TEST(Simulation, AFailedDevicesPackagesAreComputedByAnother) {
  std::vector<Device> devices = {known_device(100), known_device(100)};
  devices[1].fails_at = 0.5;
  const SimulatedRun run = simulate(*make("static", 200, devices), devices, regular(200));
  EXPECT_TRUE(run.complete);
  EXPECT_DOUBLE_EQ(run.end, 2);
  ASSERT_EQ(run.packages.size(), 3u);
  EXPECT_TRUE(run.packages[1].lost);
  EXPECT_EQ(run.packages[2].device, 0u);
  EXPECT_EQ(run.packages[2].first, 100u);
  devices[0].fails_at = 1.5;
  const SimulatedRun hopeless = simulate(*make("static", 200, devices), devices, regular(200));
  EXPECT_FALSE(hopeless.complete);
}

TEST(Simulation, TheIdealTimeReckonsWithChangesAndFailures) {
  std::vector<Device> devices = {known_device(100), known_device(100)};
  EXPECT_DOUBLE_EQ(sim::ideal_time(devices, 200), 1);
  devices[1].fails_at = 0.5;  // 100 done by then
  EXPECT_DOUBLE_EQ(sim::ideal_time(devices, 200), 1.5);
  devices[0].change_at = 1;  // 150 done by then
  devices[0].change = 0.5;
  EXPECT_DOUBLE_EQ(sim::ideal_time(devices, 200), 2);
  devices[0].fails_at = 1.5;
  EXPECT_EQ(sim::ideal_time(devices, 200), sim::kNever);
}

TEST(Simulation, LoadsHaveAMeanCostOfOneAndTheirShape) {
  std::mt19937_64 random(1);
  for (const LoadShape shape : {LoadShape::kRegular, LoadShape::kMiddle, LoadShape::kRamp}) {
    for (const double noise : {0.0, 0.5}) {
      const Load load = sim::make_load(shape, 1000, noise, random);
      EXPECT_NEAR(load.total(), 1000, 1e-9);
      EXPECT_NEAR(load.of(100, 300) + load.of(0, 100) + load.of(400, 600), 1000, 1e-9);
    }
  }
  EXPECT_GT(sim::make_load(LoadShape::kMiddle, 1000, 0, random).of(400, 200), 350);
  EXPECT_LT(sim::make_load(LoadShape::kRamp, 1000, 0, random).of(0, 500), 255);
}

TEST(Simulation, BalanceIsOfThoseThatComputed) {
  SimulatedRun run;
  run.packages = {{0, 0, 1, 0, 2, false},
                  {1, 1, 1, 0, 1, false},
                  {0, 2, 1, 2, 4, false},
                  {2, 3, 1, 0, 0.1, true}};
  EXPECT_DOUBLE_EQ(sim::load_balance(run), 0.25);
}

}  // namespace
}  // namespace tutti::scheduler::test
