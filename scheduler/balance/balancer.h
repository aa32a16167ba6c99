// SPDX-License-Identifier: Apache-2.0
// Load balancers as pure logic: how large is the next package of a device? They know no OpenCL, so
// the driver and the simulator use the same objects. Not thread-safe: one launch owns one balancer
// and guards it by the launch's lock. Formulas: docs/balancers.md (theses [M], [P] named there).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti::scheduler {

/// A device as a balancer sees it. Units: split units are slices; seconds are of one steady clock.
struct BalancerDevice {
  double nominal_speed = 1.0;  // slices per second expected for this kernel; > 0; only ratios
                               // matter until packages were measured
  uint64_t min_package = 1;    // oc_i: the fewest slices that fill the device, ≥ 1
  bool gpu = false;            // autotune wants larger packages there
  bool known = true;           // the speed was measured, for this kernel on this device
  double irregularity = 0;     // deviation of its times, as a part of them; of known ones
  bool overlaps = false;       // packages in flight run side by side
  uint64_t worthwhile = 1;     // the fewest beside which the cost of a package is small
};

/// A package that has ended.
struct PackageReport {
  uint32_t device = 0;  // index into the devices given at creation
  uint64_t slices = 0;
  double start = 0;  // seconds
  double end = 0;    // seconds, ≥ start
};

class Balancer {
 public:
  virtual ~Balancer() = default;
  /// Slices of the next package for `device`, when `remaining` slices of the launch are not yet
  /// given out and `now` seconds have passed since the launch began. 0 = this device gets no more.
  /// Never more than `remaining`; every device answering 0 while remaining > 0 must not happen.
  virtual uint64_t next_package(uint32_t device, uint64_t remaining, double now) = 0;
  virtual void finished(const PackageReport& report) = 0;
  /// Slices that each device gets in one package, where that is settled before the launch begins;
  /// else empty.
  virtual std::vector<uint64_t> settled_shares() const { return {}; }
  /// The package just given to `device` is `taken` slices instead of `given`: no more lay together.
  virtual void trimmed([[maybe_unused]] uint32_t device, [[maybe_unused]] uint64_t given,
                       [[maybe_unused]] uint64_t taken) {}
  /// The next package of `device` will lie in the part of the launch that `owner` began with, where
  /// slices may cost more than those that it knows.
  virtual void helps([[maybe_unused]] uint32_t device, [[maybe_unused]] uint32_t owner,
                     [[maybe_unused]] double now) {}
  /// Whether `device`, which was refused a package and has none under way, is to ask again after
  /// all: a package has ended since, and what is left takes longer than it seemed.
  virtual bool calls_back([[maybe_unused]] uint32_t device, [[maybe_unused]] uint64_t remaining,
                          [[maybe_unused]] double now) {
    return false;
  }
  /// `device` has failed: what it was given is given anew, and nobody may rely on it.
  virtual void lost([[maybe_unused]] uint32_t device) {}
};

/// A balancer chosen by name with its parameters, e.g. "sigmoid", "hguided:3", "single:1".
struct BalancerSpec {
  std::string name = "sigmoid";
  std::vector<std::string> parameters;  // what stood behind colons, in order
};

/// Parses "name[:parameter…]"; parameters are positive numbers, but for single. An unknown name or
/// bad parameter is CL_INVALID_VALUE with a message that names the accepted ones.
Result<BalancerSpec> parse_balancer(std::string_view text);

/// The names that parse_balancer accepts, for messages and help.
std::vector<std::string> balancer_names();

/// A balancer for one launch of `total` slices. `single` is no balancer: the planner runs such
/// launches whole, so it is refused here (nullptr).
std::unique_ptr<Balancer> make_balancer(const BalancerSpec& spec, uint64_t total,
                                        const std::vector<BalancerDevice>& devices);

}  // namespace tutti::scheduler
