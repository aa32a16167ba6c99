// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/simulation.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "scheduler/balance/regions.h"

namespace tutti::scheduler::sim {
namespace {

class Simulation {
 public:
  Simulation(Balancer& balancer, const std::vector<Device>& devices, const Load& load,
             const std::vector<uint64_t>& shares, const Network& network)
      : balancer_(balancer),
        devices_(devices),
        load_(load),
        states_(devices.size()),
        regions_(load.slices(), shares, devices.size()),
        links_(network, hosts_of(devices)) {}

  SimulatedRun run() {
    for (uint32_t i = 0; i < devices_.size(); ++i) ask(i);
    do {
      while (step()) {
      }
      run_.stalled = run_.stalled || held_back();
    } while (help());
    run_.end = now_;
    run_.complete = unassigned() == 0;
    return std::move(run_);
  }

 private:
  struct State {
    std::deque<size_t> in_flight;  // indices of packages; the first one computes, or waits for data
    std::deque<double> ready;      // when the data of each are there
    std::deque<size_t> computed;   // indices of packages of whose end nobody has heard yet
    double link_free = 0;
    double next_end = kNever;
    bool left = false;  // asks no more
    bool failed = false;
  };

  static uint32_t hosts_of(const std::vector<Device>& devices) {
    uint32_t last = 0;
    for (const Device& device : devices) last = std::max(last, device.host);
    return last + 1;
  }

  uint64_t unassigned() const { return regions_.remaining(); }

  /// Slices were not given out although a device works.
  bool held_back() const {
    return unassigned() > 0 && std::any_of(states_.begin(), states_.end(),
                                           [](const State& state) { return !state.failed; });
  }

  /// The balancer hears whose slices the device would get next.
  void tell_owner(uint32_t i) {
    const size_t owner = regions_.owner(i);
    if (owner != i) balancer_.helps(i, static_cast<uint32_t>(owner), now_);
  }

  /// The next slices for a device; count 0 when it gets none.
  SliceRange next_range(uint32_t i, bool insist) {
    const uint64_t left = unassigned();
    if (left == 0) return {};
    if (insist) return regions_.take(i, left);
    tell_owner(i);
    const uint64_t wished = std::min(balancer_.next_package(i, left, now_), left);
    if (wished == 0) return {};
    const SliceRange range = regions_.take(i, wished);
    if (range.count < wished) balancer_.trimmed(i, wished, range.count);
    return range;
  }

  /// Devices that ask no more, but shall again since a package has ended.
  std::vector<uint32_t> call_back() {
    std::vector<uint32_t> back;
    for (uint32_t i = 0; i < states_.size() && unassigned() > 0; ++i) {
      State& state = states_[i];
      if (!state.left || state.failed) continue;
      tell_owner(i);
      if (!balancer_.calls_back(i, unassigned(), now_)) continue;
      state.left = false;
      back.push_back(i);
    }
    return back;
  }

  void ask(uint32_t i, bool insist = false) {
    State& state = states_[i];
    if (state.failed || (state.left && !insist)) return;
    if (now_ >= devices_[i].fails_at) return fail(i);
    while (state.in_flight.size() + state.computed.size() < devices_[i].in_flight) {
      const SliceRange range = next_range(i, insist);
      if (range.count == 0) {
        state.left = state.in_flight.empty() && state.computed.empty();
        return;
      }
      const auto slices = static_cast<double>(range.count);
      const Links::Passage passage = links_.send(devices_[i].host, slices, now_);
      state.link_free = std::max(
          std::max(state.link_free, passage.begin) + devices_[i].transfer * slices, passage.end);
      state.in_flight.push_back(run_.packages.size());
      state.ready.push_back(state.link_free);
      run_.packages.push_back({i, range.first, range.count});
      if (state.in_flight.size() == 1) begin_first(i);
    }
  }

  /// The device's first package in flight begins, or will when its data are there.
  void begin_first(uint32_t i) {
    State& state = states_[i];
    if (state.in_flight.empty()) {
      state.next_end = kNever;
      return;
    }
    const Device& device = devices_[i];
    Package& package = run_.packages[state.in_flight.front()];
    package.start = std::max(now_, state.ready.front());
    const auto round = static_cast<double>(std::max<uint64_t>(device.known.min_package, 1));
    const auto slices = static_cast<double>(package.count);
    const double mean_cost = load_.of(package.first, package.count) / slices;
    const double work = std::ceil(slices / round) * round * mean_cost;
    const double rate = device.rate * (package.start >= device.change_at ? device.change : 1);
    state.next_end = package.start + std::max(device.floor, device.startup + work / rate);
  }

  static bool idle(const State& state) { return state.in_flight.empty() && state.computed.empty(); }

  /// When the end of the first package that a device has computed is heard of.
  double next_heard(uint32_t i) const {
    const std::deque<size_t>& computed = states_[i].computed;
    return computed.empty() ? kNever
                            : run_.packages[computed.front()].end + links_.delay(devices_[i].host);
  }

  /// The next event of a device with packages in flight.
  double next_event(uint32_t i) const {
    return idle(states_[i]) ? kNever
                            : std::min({states_[i].next_end, next_heard(i), devices_[i].fails_at});
  }

  /// Goes on to the next event; false when nothing is under way.
  bool step() {
    uint32_t i = 0;
    for (uint32_t j = 1; j < devices_.size(); ++j) {
      if (next_event(j) < next_event(i)) i = j;
    }
    const State& state = states_[i];
    if (idle(state)) return false;
    now_ = next_event(i);
    const double heard = next_heard(i);
    if (devices_[i].fails_at < std::min(state.next_end, heard)) {
      fail(i);
    } else if (heard <= state.next_end) {
      hear(i);
    } else {
      compute_next(i);
      if (next_heard(i) <= now_) hear(i);
    }
    return true;
  }

  void compute_next(uint32_t i) {
    State& state = states_[i];
    run_.packages[state.in_flight.front()].end = now_;
    state.computed.push_back(state.in_flight.front());
    state.in_flight.pop_front();
    state.ready.pop_front();
    begin_first(i);
  }

  /// The program hears of the end of a package, and gives the next ones out.
  void hear(uint32_t i) {
    State& state = states_[i];
    const Package package = run_.packages[state.computed.front()];
    state.computed.pop_front();
    balancer_.finished({i, package.count, package.start, package.end});
    const std::vector<uint32_t> back = call_back();
    ask(i);
    for (const uint32_t other : back) ask(other);
  }

  void fail(uint32_t i) {
    State& state = states_[i];
    for (const size_t index : state.in_flight) {
      Package& package = run_.packages[index];
      package.lost = true;
      package.start = std::min(package.start, now_);
      package.end = now_;
      regions_.give_back({package.first, package.count});
    }
    for (const size_t index : state.computed) {
      Package& package = run_.packages[index];
      package.lost = true;
      regions_.give_back({package.first, package.count});
    }
    balancer_.lost(i);
    state = {};
    state.failed = true;
    state.left = true;
  }

  /// Nobody asks any more, but slices are left: the first device that works takes them.
  bool help() {
    if (unassigned() == 0) return false;
    for (uint32_t i = 0; i < devices_.size(); ++i) {
      ask(i, true);
      if (!states_[i].in_flight.empty()) return true;
    }
    return false;
  }

  Balancer& balancer_;
  const std::vector<Device>& devices_;
  const Load& load_;
  std::vector<State> states_;
  Regions regions_;
  Links links_;
  double now_ = 0;
  SimulatedRun run_;
};

}  // namespace

Load::Load(const std::vector<double>& costs) {
  sums_.reserve(costs.size() + 1);
  sums_.push_back(0);
  for (const double cost : costs) sums_.push_back(sums_.back() + cost);
}

Load make_load(LoadShape shape, uint64_t slices, double noise, std::mt19937_64& random) {
  std::uniform_real_distribution<double> factor(1 - noise, 1 + noise);
  std::vector<double> costs(slices);
  double sum = 0;
  for (uint64_t i = 0; i < slices; ++i) {
    const double x = (static_cast<double>(i) + 0.5) / static_cast<double>(slices);
    double& cost = costs[i];
    switch (shape) {
      case LoadShape::kRegular:
        cost = 1;
        break;
      case LoadShape::kMiddle:
        cost = 0.2 + 3 * std::exp(-20 * (x - 0.5) * (x - 0.5));
        break;
      case LoadShape::kRamp:
        cost = 2 * x;
        break;
    }
    if (noise > 0) cost *= factor(random);
    sum += cost;
  }
  for (double& cost : costs) cost *= static_cast<double>(slices) / sum;
  return Load(costs);
}

SimulatedRun simulate(Balancer& balancer, const std::vector<Device>& devices, const Load& load,
                      const std::vector<uint64_t>& shares, const Network& network) {
  return Simulation(balancer, devices, load, shares, network).run();
}

double ideal_time(const std::vector<Device>& devices, double work) {
  // What all of them compute until some time, between the moments when a rate changes.
  std::map<double, double> changes;  // time -> change of the sum of rates
  double rate = 0;
  for (const Device& device : devices) {
    rate += device.rate;
    if (device.change_at < device.fails_at) {
      changes[device.change_at] += device.rate * (device.change - 1);
      changes[device.fails_at] -= device.rate * device.change;
    } else {
      changes[device.fails_at] -= device.rate;
    }
  }
  double now = 0;
  for (const auto& [time, change] : changes) {
    if (rate > 0 && now + work / rate <= time) break;
    if (time == kNever) break;
    work -= rate * (time - now);
    now = time;
    rate += change;
  }
  // Where all have failed, nothing but rounding errors is left of the sum.
  const bool somebody = std::any_of(devices.begin(), devices.end(),
                                    [&](const Device& device) { return device.fails_at > now; });
  return somebody && rate > 0 ? now + work / rate : kNever;
}

double energy_of(const SimulatedRun& run, const std::vector<Device>& devices) {
  double joules = 0;
  for (const Device& device : devices) joules += run.end * device.idle_watts;
  for (const Package& package : run.packages) {
    const Device& device = devices[package.device];
    joules += (package.end - package.start) * (device.busy_watts - device.idle_watts);
  }
  return joules;
}

double load_balance(const SimulatedRun& run) {
  std::map<uint32_t, double> ends;
  for (const Package& package : run.packages) {
    ends[package.device] = std::max(ends[package.device], package.end);
  }
  for (const Package& package : run.packages) {
    if (package.lost) ends.erase(package.device);
  }
  double first = kNever;
  double last = 0;
  for (const auto& [device, end] : ends) {
    first = std::min(first, end);
    last = std::max(last, end);
  }
  return last > 0 ? first / last : 1;
}

}  // namespace tutti::scheduler::sim
