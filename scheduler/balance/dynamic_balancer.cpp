// SPDX-License-Identifier: Apache-2.0
// dynamic[:packages] [P §3.2]: equal packages of ⌈G/packages⌉ slices, at least the device's
// smallest one, to whoever asks. Not throttled: as published it knows no speeds, so it cannot say
// who would end late.
#include <cmath>

#include "scheduler/balance/balancers.h"
#include "scheduler/balance/fleet.h"

namespace tutti::scheduler {
namespace {

constexpr double kPackages = 128;

class DynamicBalancer final : public Balancer {
 public:
  DynamicBalancer(uint64_t total, const std::vector<BalancerDevice>& devices, double packages)
      : size_(std::ceil(static_cast<double>(total) / packages)), fleet_(devices) {}

  uint64_t next_package(uint32_t device, uint64_t remaining, double) override {
    return device < fleet_.size() ? fleet_.package(device, size_, remaining) : 0;
  }
  void finished(const PackageReport&) override {}

 private:
  double size_;
  Fleet fleet_;
};

}  // namespace

std::unique_ptr<Balancer> make_dynamic(uint64_t total, const std::vector<BalancerDevice>& devices,
                                       Parameters parameters) {
  return std::make_unique<DynamicBalancer>(total, devices, parameter_or(parameters, 0, kPackages));
}

}  // namespace tutti::scheduler
