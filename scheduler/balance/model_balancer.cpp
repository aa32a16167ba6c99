// SPDX-License-Identifier: Apache-2.0
// model[:tail], ours: what a converged history makes possible. Every device gets one package, its
// share by the known speeds less a tail; the tail is shared out as devices come back for it, half
// of the fair share at a time. The tail is so large that a first package that takes longer than
// expected by twice the deviation of the kernel's times still ends with the others, at least 1 %
// and at most 70 % of the launch, or as the parameter says; there is none where a rest so small
// would not fill the devices once. Where a device's speed is not known, sigmoid does the launch.
#include <algorithm>
#include <cmath>

#include "scheduler/balance/balancers.h"
#include "scheduler/balance/fleet.h"

namespace tutti::scheduler {
namespace {

constexpr double kLeastTail = 0.01;
constexpr double kMostTail = 0.7;

double tail_of(const std::vector<BalancerDevice>& devices) {
  double deviation = 0;
  for (const BalancerDevice& device : devices) {
    deviation = std::max(deviation, device.irregularity);
  }
  return std::clamp(2 * deviation / (1 + 2 * deviation), kLeastTail, kMostTail);
}

class ModelBalancer final : public FleetBalancer {
 public:
  ModelBalancer(uint64_t total, const std::vector<BalancerDevice>& devices, double tail)
      : FleetBalancer(Fleet(devices)),
        total_(static_cast<double>(total)),
        tail_(tail),
        begun_(devices.size()) {
    double round = 0;
    for (const BalancerDevice& device : devices) {
      overlaps_.push_back(device.overlaps);
      round += static_cast<double>(device.min_package);
    }
    const bool rounds = round > static_cast<double>(devices.size());
    if (rounds && tail_ * total_ < round) tail_ = 0;
  }

  uint64_t next_package(uint32_t device, uint64_t remaining, double now) override {
    if (!fleet_.admit_if_useful(device, remaining, now)) return 0;
    // The tail is for who has ended what it had: so nobody is given some of it before its first
    // package has shown how things go. But what runs side by side wants the next one in time.
    if (begun_[device] && fleet_.busy(device) && !overlaps_[device]) return 0;
    const double wanted = begun_[device] ? fleet_.fair_share(device, remaining, now) / 2
                                         : total_ * fleet_.share(device) * (1 - tail_);
    const double size = fleet_.sized(device, wanted, remaining, now);
    begun_[device] = true;
    const uint64_t package = tail_ > 0 ? fleet_.whole_rounds(device, size, remaining)
                                       : fleet_.package(device, std::round(size), remaining);
    fleet_.give(device, package, now);
    return package;
  }

 private:
  double total_;
  double tail_;  // of the launch
  std::vector<bool> begun_, overlaps_;
};

}  // namespace

std::unique_ptr<Balancer> make_model(uint64_t total, const std::vector<BalancerDevice>& devices,
                                     Parameters parameters) {
  const bool known = std::all_of(devices.begin(), devices.end(),
                                 [](const BalancerDevice& device) { return device.known; });
  if (!known) return make_sigmoid(total, devices, {});
  const double tail = std::min(parameter_or(parameters, 0, tail_of(devices)), 1.0);
  return std::make_unique<ModelBalancer>(total, devices, tail);
}

}  // namespace tutti::scheduler
