// SPDX-License-Identifier: Apache-2.0
// Balancers on simulated devices, asked as the driver asks them. Pure logic with a clock of its
// own: nothing waits, no OpenCL. For `tutti simulate` and for tests. Not thread-safe.
//
// A device has packages in flight, one after the other. A package of x slices takes
//   t(x) = max(floor, startup + work/rate)    [docs/balancers.md; the driver's model of a device]
// where work is x in whole rounds of the device's smallest package, times the slices' mean cost. It
// begins when its data are there: `transfer` seconds per slice over the device's own link, which
// works while an earlier package is computed, and behind it what network.h says of other hosts.
//
// A device that fails gives its unfinished packages back; whoever asks next takes them, and when
// nobody asks any more, the first device that works takes what is left, as in the driver.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "scheduler/balance/balancer.h"
#include "scheduler/sim/network.h"

namespace tutti::scheduler::sim {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct Device {
  double rate = 1;       // slices of cost 1 per second, really
  BalancerDevice known;  // what the balancer is told
  double startup = 0;    // seconds per package
  double floor = 0;      // seconds that the shortest package takes
  double transfer = 0;   // seconds per slice
  size_t in_flight = 2;  // packages, ≥ 1
  uint32_t host = 0;     // where it is; 0: where the program is
  double change_at = kNever;
  double change = 1;  // of the rate, for packages that begin from then on
  double fails_at = kNever;
  double busy_watts = 0;  // drawn while it computes
  double idle_watts = 0;  // drawn while it waits, for as long as the launch takes
};

/// The cost of each slice; 1 is that of a regular launch.
class Load {
 public:
  explicit Load(const std::vector<double>& costs);
  uint64_t slices() const { return sums_.size() - 1; }
  double of(uint64_t first, uint64_t count) const { return sums_[first + count] - sums_[first]; }
  double total() const { return sums_.back(); }

 private:
  std::vector<double> sums_;  // of all costs before a slice
};

enum class LoadShape {
  kRegular,
  kMiddle,  // a costly middle, as of a picture
  kRamp,    // cost grows from slice to slice
};

/// `slices` costs of mean 1: the shape, times a factor between 1 - noise and 1 + noise each.
Load make_load(LoadShape shape, uint64_t slices, double noise, std::mt19937_64& random);

/// A package, in the order in which they were given.
struct Package {
  uint32_t device = 0;
  uint64_t first = 0;
  uint64_t count = 0;
  double start = 0;   // seconds, when its computation began
  double end = 0;     // seconds, when that had ended
  bool lost = false;  // its device failed before it ended; the slices were given again
};

struct SimulatedRun {
  std::vector<Package> packages;
  double end = 0;         // seconds
  bool complete = false;  // every slice was computed: a device was left that worked
  bool stalled =
      false;  // devices worked, but the balancer gave them nothing while slices were left
};

/// `shares`: slices of each device's own region, as the planner makes them; empty: one for all.
SimulatedRun simulate(Balancer& balancer, const std::vector<Device>& devices, const Load& load,
                      const std::vector<uint64_t>& shares = {}, const Network& network = {});

/// The time in which the devices compute the load when each is busy until the end, or until it
/// fails, without start-up, floor, transfers and latency; kNever when all fail before.
double ideal_time(const std::vector<Device>& devices, double work);

/// Joules of the run: T · Σ idle_i + Σ busy time_i · (busy_i − idle_i), over all devices, also
/// those that took no part.
double energy_of(const SimulatedRun& run, const std::vector<Device>& devices);

/// When the first device ended its last package over when the last one did, of those that computed
/// any and did not fail; 1 for a device alone.
double load_balance(const SimulatedRun& run);

}  // namespace tutti::scheduler::sim
