// SPDX-License-Identifier: Apache-2.0
// static [M §4.5.1]: one package each, ⌊G·s_i/s_T⌋ slices; the remainder goes to the fastest
// device. Speeds are the nominal ones. Devices that could not end their share, in whole rounds of
// their smallest package, before the others would have ended everything are left out first.
#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/balance/balancers.h"

namespace tutti::scheduler {
namespace {

class StaticBalancer final : public Balancer {
 public:
  StaticBalancer(uint64_t total, const std::vector<BalancerDevice>& devices);

  uint64_t next_package(uint32_t device, uint64_t remaining, double now) override;
  void finished(const PackageReport&) override {}
  std::vector<uint64_t> settled_shares() const override { return shares_; }

 private:
  std::vector<uint64_t> shares_;  // not yet given
  uint64_t left_ = 0;             // their sum
};

StaticBalancer::StaticBalancer(uint64_t total, const std::vector<BalancerDevice>& devices)
    : shares_(devices.size(), 0), left_(total) {
  std::vector<double> speeds;
  for (const BalancerDevice& device : devices) {
    const double speed = device.nominal_speed;
    speeds.push_back(speed > 0 && std::isfinite(speed) ? speed : 1e-12);
  }
  const auto whole = static_cast<double>(total);
  double sum = 0;
  for (const double speed : speeds) sum += speed;
  for (;;) {
    size_t worst = speeds.size();
    double latest = 0;
    for (size_t i = 0; i < speeds.size(); ++i) {
      if (speeds[i] == 0 || speeds[i] == sum) continue;
      const auto round = static_cast<double>(std::max<uint64_t>(devices[i].min_package, 1));
      const double share = std::floor(whole * speeds[i] / sum);
      const double end = std::ceil(share / round) * round / speeds[i];
      if (end > whole / (sum - speeds[i]) && end > latest) {
        latest = end;
        worst = i;
      }
    }
    if (worst == speeds.size()) break;
    speeds[worst] = 0;
    sum = 0;
    for (const double speed : speeds) sum += speed;
  }
  const auto fastest =
      static_cast<size_t>(std::max_element(speeds.begin(), speeds.end()) - speeds.begin());
  uint64_t unassigned = total;
  for (size_t i = 0; i < speeds.size(); ++i) {
    const auto share = static_cast<uint64_t>(std::floor(whole * (speeds[i] / sum)));
    shares_[i] = std::min(share, unassigned);
    unassigned -= shares_[i];
  }
  shares_[fastest] += unassigned;
}

uint64_t StaticBalancer::next_package(uint32_t device, uint64_t remaining, double) {
  if (device >= shares_.size() || remaining == 0) return 0;
  // More is left than was planned: a device gave its share back.
  if (left_ == 0) return remaining;
  const uint64_t share = std::min(shares_[device], remaining);
  left_ -= shares_[device];
  shares_[device] = 0;
  return share;
}

}  // namespace

std::unique_ptr<Balancer> make_static(uint64_t total, const std::vector<BalancerDevice>& devices,
                                      Parameters) {
  return std::make_unique<StaticBalancer>(total, devices);
}

}  // namespace tutti::scheduler
