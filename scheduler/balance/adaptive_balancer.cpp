// SPDX-License-Identifier: Apache-2.0
// adaptive [M §4.5.1, Belviranli 2013]: growing probes of 2 %, 3 % … of G until a device has ended
// two of them, then one last package W_i each, so that all end together:
//   Σ W_i = Gr,  λ_i + Ω_i·W_i equal for all with W_i > 0
// (λ_i: time until i has ended what it was given, Ω_i: seconds per slice of its last package).
// Fleet::fair_share solves that system for one device, whenever it asks; so a last package that
// proves too small is followed by another one.
//
// Beyond the published form: nobody's last package is chosen while somebody's first one is under
// way and its Ω unknown, so a device that is through with its probes before goes on probing.
// Throttled (Fleet::may_start), and no probe takes more than a third of the share with which all
// would end together: 2 % of G may be more than all that a slow device should get, and two probes
// are chosen before one is measured.
#include <algorithm>
#include <cmath>

#include "scheduler/balance/balancers.h"
#include "scheduler/balance/fleet.h"

namespace tutti::scheduler {
namespace {

constexpr size_t kProbes = 2;    // γ
constexpr double kFirst = 0.02;  // β
constexpr double kGrowth = 1.5;  // δ
constexpr double kProbeShare = 1.0 / 3;
constexpr size_t kLastPackage = 1;  // Ω is that of the last package alone

class AdaptiveBalancer final : public FleetBalancer {
 public:
  AdaptiveBalancer(uint64_t total, const std::vector<BalancerDevice>& devices)
      : FleetBalancer(Fleet(devices, kLastPackage)),
        probes_(devices.size(), kFirst * static_cast<double>(total)) {}

  uint64_t next_package(uint32_t device, uint64_t remaining, double now) override;

 private:
  std::vector<double> probes_;  // slices of each device's next one
};

uint64_t AdaptiveBalancer::next_package(uint32_t device, uint64_t remaining, double now) {
  if (!fleet_.admit_if_useful(device, remaining, now)) return 0;
  const double share = fleet_.fair_share(device, remaining, now);
  uint64_t package = 0;
  if (fleet_.ended(device) < kProbes || fleet_.first_under_way()) {
    package =
        fleet_.whole_rounds(device, std::min(probes_[device], share * kProbeShare), remaining);
    probes_[device] *= kGrowth;
  } else {
    // Rounded up: what many rounded shares leave over would cost a round after everybody's end.
    const auto round = static_cast<double>(fleet_.min_package(device));
    package = fleet_.whole_rounds(device, std::ceil(share / round * (1 - 1e-9)) * round, remaining);
  }
  fleet_.give(device, package, now);
  return package;
}

}  // namespace

std::unique_ptr<Balancer> make_adaptive(uint64_t total, const std::vector<BalancerDevice>& devices,
                                        Parameters) {
  return std::make_unique<AdaptiveBalancer>(total, devices);
}

}  // namespace tutti::scheduler
