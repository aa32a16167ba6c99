// SPDX-License-Identifier: Apache-2.0
// hguided[:C] [M §3.3]: packages that shrink with the work that is left, in proportion to speed:
//   package = max(min_i, ⌊Gr/(C·N) · s_i/s_T⌋), never more than Gr, with C = 2
// Speeds are the nominal ones to the end, and nobody is held back (no throttling), as published:
// autotune is the same formula with both.
#include "scheduler/balance/balancers.h"
#include "scheduler/balance/fleet.h"

namespace tutti::scheduler {
namespace {

constexpr double kDivisor = 2;

class HguidedBalancer final : public Balancer {
 public:
  HguidedBalancer(const std::vector<BalancerDevice>& devices, double divisor)
      : divisor_(divisor), fleet_(devices) {}

  uint64_t next_package(uint32_t device, uint64_t remaining, double) override {
    if (device >= fleet_.size()) return 0;
    const double size = static_cast<double>(remaining) / divisor_ * fleet_.weight(device);
    return fleet_.package(device, size, remaining);
  }
  void finished(const PackageReport&) override {}

 private:
  double divisor_;
  Fleet fleet_;  // is told of no package, so it keeps to the nominal speeds
};

}  // namespace

std::unique_ptr<Balancer> make_hguided(uint64_t, const std::vector<BalancerDevice>& devices,
                                       Parameters parameters) {
  return std::make_unique<HguidedBalancer>(devices, parameter_or(parameters, 0, kDivisor));
}

}  // namespace tutti::scheduler
