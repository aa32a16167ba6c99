// SPDX-License-Identifier: Apache-2.0
// Balancers on simulated devices: two packages in flight each, or one, asked as the driver asks. A
// device takes whole rounds of its smallest package; loads may be irregular, speeds may change on
// the way.
#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <random>

#include "property.h"
#include "scheduler/balance/balancer.h"

namespace tutti::scheduler::test {
namespace {

struct Device {
  double speed = 1;      // slices per second, really
  BalancerDevice known;  // what the balancer is told
  double overhead = 0;   // seconds per package
  double change_at = 1e300;
  double change = 1;  // of the speed, from then on
  size_t in_flight = 2;
};

struct Given {
  uint32_t device;
  uint64_t first, count;
};

struct Simulated {
  std::vector<Given> packages;
  double end = 0;
  bool stalled = false;
};

struct Load {
  std::vector<double> cost;  // per slice; 1 is regular
  double of(uint64_t first, uint64_t count) const {
    return std::accumulate(cost.begin() + static_cast<long>(first),
                           cost.begin() + static_cast<long>(first + count), 0.0);
  }
};

Simulated simulate(Balancer& balancer, const std::vector<Device>& devices, const Load& load) {
  struct State {
    std::deque<std::pair<Given, double>> in_flight;  // with the time when it was given
    double running_since = 0;
    double next_end = 1e300;
    bool left = false;
  };
  std::vector<State> states(devices.size());
  Simulated run;
  uint64_t cursor = 0;
  const uint64_t total = load.cost.size();
  double now = 0;
  const auto begin_next = [&](uint32_t i) {
    State& state = states[i];
    if (state.in_flight.empty()) {
      state.next_end = 1e300;
      return;
    }
    const Given& package = state.in_flight.front().first;
    const Device& device = devices[i];
    const double rounds = std::ceil(double(package.count) / double(device.known.min_package)) *
                          double(device.known.min_package);
    const double mean_cost = load.of(package.first, package.count) / double(package.count);
    const double speed = device.speed * (now >= device.change_at ? device.change : 1);
    state.running_since = now;
    state.next_end = now + device.overhead + rounds * mean_cost / speed;
  };
  const auto ask = [&](uint32_t i) {
    State& state = states[i];
    while (!state.left && state.in_flight.size() < devices[i].in_flight && cursor < total) {
      const uint64_t count = balancer.next_package(i, total - cursor, now);
      if (count == 0) {
        state.left = state.in_flight.empty();
        return;
      }
      const Given given{i, cursor, count};
      cursor += count;
      run.packages.push_back(given);
      state.in_flight.emplace_back(given, now);
      if (state.in_flight.size() == 1) begin_next(i);
    }
  };
  for (uint32_t i = 0; i < devices.size(); ++i) ask(i);
  for (;;) {
    uint32_t i = 0;
    for (uint32_t j = 1; j < devices.size(); ++j) {
      if (states[j].next_end < states[i].next_end) i = j;
    }
    State& state = states[i];
    if (state.in_flight.empty()) break;
    now = state.next_end;
    const Given package = state.in_flight.front().first;
    state.in_flight.pop_front();
    balancer.finished({i, package.count, state.running_since, now});
    begin_next(i);
    ask(i);
  }
  run.end = now;
  run.stalled = cursor < total;
  return run;
}

std::unique_ptr<Balancer> make(const std::string& name, uint64_t total,
                               const std::vector<Device>& devices) {
  std::vector<BalancerDevice> known;
  for (const Device& device : devices) known.push_back(device.known);
  return make_balancer(parse_balancer(name).value(), total, known);
}

class Chooser {
 public:
  Chooser() : random_(*rc::gen::arbitrary<uint64_t>()) {}
  uint64_t pick(uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(random_);
  }
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  /// Evenly spread over orders of magnitude.
  double ratio(double low, double high) { return std::exp(between(std::log(low), std::log(high))); }

 private:
  std::mt19937_64 random_;
};

void check_complete(const Simulated& run, const std::vector<Device>& devices, uint64_t total) {
  RC_ASSERT(!run.stalled);
  uint64_t next = 0;
  for (const Given& package : run.packages) {
    RC_ASSERT(package.first == next);
    RC_ASSERT(package.count > 0u);
    next += package.count;
    const bool last = next == total;
    RC_ASSERT(last || package.count >= devices[package.device].known.min_package);
  }
  RC_ASSERT(next == total);
}

TEST(BalancerSimulation, EverySliceOnceWhateverTheDevicesDo) {
  for (const std::string name : {"static", "dynamic", "dynamic:3", "hguided", "hguided:0.5",
                                 "autotune", "adaptive", "sigmoid", "sigmoid:4:0.1:0.5"}) {
    SCOPED_TRACE(name);
    check_property(1500, [&] {
      Chooser choose;
      const uint64_t total = choose.pick(1, 3000);
      std::vector<Device> devices(choose.pick(1, 6));
      for (Device& device : devices) {
        device.speed = choose.ratio(1e-3, 1e6);
        // What is believed of it may be anything.
        device.known.nominal_speed = choose.ratio(1e-6, 1e9);
        device.known.min_package = name == "static" ? 1 : choose.pick(1, 200);
        device.known.gpu = choose.pick(0, 1) == 1;
        device.in_flight = choose.pick(1, 2);
        device.overhead = choose.between(0, 1) < 0.5 ? 0 : choose.ratio(1e-6, 1e-1);
        if (choose.between(0, 1) < 0.5) {
          device.change_at = choose.ratio(1e-3, 1e3);
          device.change = choose.ratio(1e-3, 1e3);
        }
      }
      Load load{std::vector<double>(total, 1.0)};
      if (choose.between(0, 1) < 0.7) {
        for (double& cost : load.cost) cost = choose.ratio(0.01, 100);
      }
      const Simulated run = simulate(*make(name, total, devices), devices, load);
      check_complete(run, devices, total);
      RC_ASSERT(run.packages.size() <= total);
    });
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
    device.speed = 1000 * choose.ratio(1, spread);
    device.known.nominal_speed = device.speed * choose.ratio(1 / error, error) * 3;
    sum += device.speed;
  }
  const double ideal = static_cast<double>(total) / sum;
  for (Device& device : devices) {
    device.overhead = ideal * choose.between(0, 2e-4);
    device.known.min_package =
        std::max<uint64_t>(1, static_cast<uint64_t>(device.speed * ideal / rounds));
  }
  return devices;
}

double ideal_time(const std::vector<Device>& devices, uint64_t total) {
  double sum = 0;
  for (const Device& device : devices) sum += device.speed;
  return static_cast<double>(total) / sum;
}

/// An image with a costly middle, and noise; the mean cost of a slice is 1.
Load image(Chooser& choose, uint64_t total) {
  Load load{std::vector<double>(total)};
  for (uint64_t i = 0; i < total; ++i) {
    const double x = static_cast<double>(i) / static_cast<double>(total) - 0.5;
    load.cost[i] = (0.2 + 3 * std::exp(-20 * x * x)) * choose.between(0.5, 1.5);
  }
  const double mean = load.of(0, total) / static_cast<double>(total);
  for (double& cost : load.cost) cost /= mean;
  return load;
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
    const Simulated run = simulate(*make(demand.balancer, total, devices), devices, load);
    check_complete(run, devices, total);
    const double efficiency = ideal_time(devices, total) / run.end;
    worst = std::min(worst, efficiency);
    sum += efficiency;
    packages += static_cast<double>(run.packages.size());
    ++runs;
    RC_ASSERT(efficiency >= demand.worst);
    std::vector<double> work(devices.size());
    for (const Given& package : run.packages) {
      work[package.device] += load.of(package.first, package.count);
    }
    for (size_t i = 0; i < devices.size(); ++i) {
      RC_ASSERT(work[i] / devices[i].speed >= demand.busy * run.end);
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
                                                  {"sigmoid", 0.95, 0.97, 0.95}}) {
    check_efficiency("equal", demand, [](Chooser&, uint64_t total) {
      Device device;
      device.speed = 1000;
      device.known = {3000, total / 100};
      return std::pair(std::vector<Device>(2, device), Load{std::vector<double>(total, 1.0)});
    });
  }
}

TEST(BalancerSimulation, UnequalDevicesAndRegularLoad) {
  // Up to eight devices, up to twenty times as fast as another, which are known up to a factor of
  // 1.5. `dynamic` suffers from the slowest one, `static` from the factor.
  for (const Demand& demand : std::vector<Demand>{{"dynamic", 0.3, 0.77, 0.2},
                                                  {"hguided", 0.72, 0.84, 0.6},
                                                  {"autotune", 0.9, 0.97, 0.8},
                                                  {"adaptive", 0.9, 0.97, 0.5},
                                                  {"sigmoid", 0.9, 0.97, 0.8}}) {
    check_efficiency("regular", demand, [](Chooser& choose, uint64_t total) {
      return std::pair(realistic_devices(choose, total, 1.5, 50),
                       Load{std::vector<double>(total, 1.0)});
    });
  }
}

TEST(BalancerSimulation, UnequalDevicesAndIrregularLoad) {
  // At worst two devices, and all of the cost in one package. `adaptive` chooses its last packages
  // by what the cheap beginning took.
  for (const Demand& demand : std::vector<Demand>{{"dynamic", 0.2, 0.82, 0},
                                                  {"hguided", 0.6, 0.93, 0},
                                                  {"autotune", 0.5, 0.96, 0},
                                                  {"adaptive", 0.15, 0.64, 0},
                                                  {"sigmoid", 0.45, 0.94, 0}}) {
    check_efficiency("irregular", demand, [](Chooser& choose, uint64_t total) {
      return std::pair(realistic_devices(choose, total, 1.5, 200), image(choose, total));
    });
  }
}

TEST(BalancerSimulation, SpeedsThatAreMisjudgedTenfold) {
  for (const Demand& demand : std::vector<Demand>{
           {"autotune", 0.2, 0.96, 0}, {"adaptive", 0.25, 0.96, 0}, {"sigmoid", 0.15, 0.96, 0}}) {
    check_efficiency("misjudged", demand, [](Chooser& choose, uint64_t total) {
      return std::pair(realistic_devices(choose, total, 10, 200),
                       Load{std::vector<double>(total, 1.0)});
    });
  }
}

TEST(BalancerSimulation, ASlowDeviceDoesNotDelayTheOthers) {
  for (const std::string name : {"static", "autotune", "adaptive", "sigmoid"}) {
    SCOPED_TRACE(name);
    check_property(300, [&] {
      Chooser choose;
      const uint64_t total = choose.pick(2000, 20000);
      std::vector<Device> devices = realistic_devices(choose, total, 1.0, 100);
      const double ideal = ideal_time(devices, total);
      Device slow;
      slow.speed = devices[0].speed / 900;
      slow.known.nominal_speed = slow.speed * 3;
      slow.known.min_package =
          static_cast<uint64_t>(std::ceil(slow.speed * ideal * choose.between(1.5, 10)));
      devices.insert(devices.begin() + static_cast<long>(choose.pick(0, devices.size())), slow);
      const Load load{std::vector<double>(total, 1.0)};
      const Simulated run = simulate(*make(name, total, devices), devices, load);
      RC_ASSERT(!run.stalled);
      RC_ASSERT(run.end <= ideal / 0.9);
    });
  }
}

}  // namespace
}  // namespace tutti::scheduler::test
