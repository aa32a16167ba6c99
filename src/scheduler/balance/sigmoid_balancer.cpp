// SPDX-License-Identifier: Apache-2.0
// sigmoid [M §3.4], the default: packages shrink along a sigmoid of the work that is left.
//   size(i, Gr, k) = (1 − e^(−6k·Gr/G)) / (1 + e^(−6k·Gr/G)) · G/(2N) · s_i/s_T        [M eq. 3.5]
//   package        = max(size, p·t·s_i, min_i), never more than Gr
// with k = 2 until some device's speed proves irregular, then 0.5 for good. Two rules shape the end
// of a run, where packages are under way on every device: a device starts nothing that would end
// after the others had ended everything (Fleet::may_start), and no package exceeds the share of the
// rest with which all devices end together, or its device's smallest package. A package is a
// multiple of that one.
#include <algorithm>
#include <cmath>

#include "scheduler/balance/balancers.h"
#include "scheduler/balance/fleet.h"

namespace tutti::scheduler {
namespace {

constexpr double kRegular = 2.0;
constexpr double kIrregular = 0.5;
constexpr double kRisk = 0.05;  // p: the part of the run that one package may put at stake

class SigmoidBalancer final : public Balancer {
 public:
  SigmoidBalancer(uint64_t total, const std::vector<BalancerDevice>& devices)
      : total_(static_cast<double>(total)), fleet_(devices) {}

  uint64_t next_package(uint32_t device, uint64_t remaining, double now) override;
  void finished(const PackageReport& report) override { fleet_.finished(report); }

 private:
  double total_;
  Fleet fleet_;
};

uint64_t SigmoidBalancer::next_package(uint32_t device, uint64_t remaining, double now) {
  if (device >= fleet_.size() || remaining == 0) return 0;
  if (!fleet_.may_start(device, remaining, now)) {
    fleet_.refuse(device);
    return 0;
  }
  fleet_.admit(device);
  const double speed = fleet_.speed(device);
  const double k = fleet_.irregular() ? kIrregular : kRegular;
  const double decay = std::exp(-k * 6 * static_cast<double>(remaining) / total_);
  double size = (1 - decay) / (1 + decay) * total_ /
                (2 * static_cast<double>(fleet_.present_count())) * speed / fleet_.present_speed();
  if (fleet_.measured()) size = std::max(size, kRisk * now * speed);
  size = std::min(size, fleet_.fair_share(device, remaining, now));
  const double most = static_cast<double>(remaining);
  // A share of 99.9999… slices is one of 100: rounding errors must not leave a tail.
  const auto slices = static_cast<uint64_t>(std::min(std::max(size * (1 + 1e-9), 1.0), most));
  // Whole rounds of the device: a begun round takes as long as a full one.
  const uint64_t round = fleet_.min_package(device);
  const uint64_t package = std::min(std::max(slices / round, uint64_t{1}) * round, remaining);
  fleet_.give(device, package, now);
  return package;
}

}  // namespace

std::unique_ptr<Balancer> make_sigmoid(uint64_t total, const std::vector<BalancerDevice>& devices) {
  return std::make_unique<SigmoidBalancer>(total, devices);
}

}  // namespace tutti::scheduler
