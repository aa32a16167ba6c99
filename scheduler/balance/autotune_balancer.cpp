// SPDX-License-Identifier: Apache-2.0
// autotune [M §5.3.4]: hguided that needs no parameters.
//   package = max(min_i, ⌊Gr/(2N) · s_i/s_T⌋), never more than Gr
// s_i is the speed of the last three packages, at first the nominal one. min_i is what fills the
// device, on a GPU at least 5 % of G. Beyond the published form: packages are multiples of what
// fills the device, since a begun round takes as long as a full one; and throttled
// (Fleet::may_start): a device whose smallest package would end after the others had ended
// everything gets none, and N counts those that take part.
#include <algorithm>
#include <cmath>

#include "scheduler/balance/balancers.h"
#include "scheduler/balance/fleet.h"

namespace tutti::scheduler {
namespace {

constexpr double kAutotuneDivisor = 2;
constexpr double kGpuFloor = 0.05;

uint64_t round_of(const BalancerDevice& device) {
  return std::max<uint64_t>(device.min_package, 1);
}

/// With min_i as the smallest package, in whole rounds.
std::vector<BalancerDevice> tuned(uint64_t total, std::vector<BalancerDevice> devices) {
  for (BalancerDevice& device : devices) {
    const auto round = static_cast<double>(round_of(device));
    const double rounds = std::ceil(kGpuFloor * static_cast<double>(total) / round);
    if (device.gpu) device.min_package = round_of(device) * static_cast<uint64_t>(rounds);
  }
  return devices;
}

class AutotuneBalancer final : public FleetBalancer {
 public:
  AutotuneBalancer(uint64_t total, const std::vector<BalancerDevice>& devices)
      : FleetBalancer(Fleet(tuned(total, devices))) {
    for (const BalancerDevice& device : devices) rounds_.push_back(round_of(device));
  }

  uint64_t next_package(uint32_t device, uint64_t remaining, double now) override {
    if (!fleet_.admit_if_useful(device, remaining, now)) return 0;
    const double size = static_cast<double>(remaining) / kAutotuneDivisor * fleet_.weight(device);
    uint64_t package = fleet_.package(device, size, remaining);
    if (package < remaining) package -= package % rounds_[device];
    fleet_.give(device, package, now);
    return package;
  }

 private:
  std::vector<uint64_t> rounds_;  // slices that fill each device
};

}  // namespace

std::unique_ptr<Balancer> make_autotune(uint64_t total, const std::vector<BalancerDevice>& devices,
                                        Parameters) {
  return std::make_unique<AutotuneBalancer>(total, devices);
}

}  // namespace tutti::scheduler
