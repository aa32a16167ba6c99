// SPDX-License-Identifier: Apache-2.0
// sigmoid[:k_r[:k_i[:p]]] [M §3.4], the default: packages shrink along a sigmoid of the work that
// is left.
//   size(i, Gr, k) = (1 − e^(−6k·Gr/G)) / (1 + e^(−6k·Gr/G)) · G/(2n) · s_i/s_T        [M eq. 3.5]
//   package        = max(size, p·t·s_i, min_i), never more than Gr
// with k = k_r = 2 until some device's speed proves irregular, then k_i for good (0.5 for two
// devices as in [M], 0.75 for more: a fifth fewer packages, and no later end), with p = 0.05 and
// n = N. [M] has that N for all kernels, by which each of eight devices begins with a
// sixteenth of its own share; where the kernel is known to be regular, n is √(2N) for N > 2. Two
// rules shape the end of a run, where packages are under way on every device: a device starts
// nothing that would end after the others had ended everything (throttling), and no package exceeds
// the share of the rest with which all devices end together, or its device's smallest package. A
// package is a multiple of that one, and no smaller than is worth its start, unless it is all that
// is left for its device. And a device whose speed at this kernel is not known yet shows it at a
// fiftieth of the work first: nominal speeds may be far off.
#include <algorithm>
#include <cmath>

#include "scheduler/balance/balancers.h"
#include "scheduler/balance/fleet.h"

namespace tutti::scheduler {
namespace {

constexpr double kRegular = 2.0;
constexpr double kIrregularOfTwo = 0.5;  // of two devices
constexpr double kIrregularOfMore = 0.75;
constexpr double kRisk = 0.05;   // p: the part of the run that one package may put at stake
constexpr double kProbe = 0.02;  // of the launch, for a device that is not known

class SigmoidBalancer final : public FleetBalancer {
 public:
  SigmoidBalancer(uint64_t total, const std::vector<BalancerDevice>& devices, Parameters parameters)
      : FleetBalancer(Fleet(devices)),
        total_(static_cast<double>(total)),
        regular_(parameter_or(parameters, 0, kRegular)),
        irregular_(
            parameter_or(parameters, 1, devices.size() > 2 ? kIrregularOfMore : kIrregularOfTwo)),
        risk_(parameter_or(parameters, 2, kRisk)) {}

  uint64_t next_package(uint32_t device, uint64_t remaining, double now) override;

 private:
  double total_;
  double regular_, irregular_, risk_;
};

uint64_t SigmoidBalancer::next_package(uint32_t device, uint64_t remaining, double now) {
  if (!fleet_.admit_if_useful(device, remaining, now)) return 0;
  const double speed = fleet_.speed(device);
  const double k = fleet_.irregular() ? irregular_ : regular_;
  const double decay = std::exp(-k * 6 * static_cast<double>(remaining) / total_);
  const auto devices = static_cast<double>(fleet_.present_count());
  const double parts = fleet_.regular() && devices > 2 ? std::sqrt(2 * devices) : devices;
  double size = (1 - decay) / (1 + decay) * total_ / (2 * parts) * fleet_.share(device);
  if (fleet_.measured()) size = std::max(size, risk_ * now * speed);
  size = fleet_.sized(device, size, remaining, now);
  if (!fleet_.known(device) && fleet_.ended(device) == 0) size = std::min(size, kProbe * total_);
  const uint64_t package = fleet_.whole_rounds(device, size, remaining);
  fleet_.give(device, package, now);
  return package;
}

}  // namespace

std::unique_ptr<Balancer> make_sigmoid(uint64_t total, const std::vector<BalancerDevice>& devices,
                                       Parameters parameters) {
  return std::make_unique<SigmoidBalancer>(total, devices, parameters);
}

}  // namespace tutti::scheduler
