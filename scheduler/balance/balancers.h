// SPDX-License-Identifier: Apache-2.0
// The balancers' makers, one file each. Internal to balance/; `devices` is never empty, and
// parameters are positive numbers, as many as were written.
#pragma once

#include <span>

#include "scheduler/balance/balancer.h"

namespace tutti::scheduler {

using Parameters = std::span<const double>;

inline double parameter_or(Parameters parameters, size_t index, double otherwise) {
  return index < parameters.size() ? parameters[index] : otherwise;
}

std::unique_ptr<Balancer> make_static(uint64_t total, const std::vector<BalancerDevice>& devices,
                                      Parameters parameters);
std::unique_ptr<Balancer> make_dynamic(uint64_t total, const std::vector<BalancerDevice>& devices,
                                       Parameters parameters);
std::unique_ptr<Balancer> make_hguided(uint64_t total, const std::vector<BalancerDevice>& devices,
                                       Parameters parameters);
std::unique_ptr<Balancer> make_autotune(uint64_t total, const std::vector<BalancerDevice>& devices,
                                        Parameters parameters);
std::unique_ptr<Balancer> make_adaptive(uint64_t total, const std::vector<BalancerDevice>& devices,
                                        Parameters parameters);
std::unique_ptr<Balancer> make_model(uint64_t total, const std::vector<BalancerDevice>& devices,
                                     Parameters parameters);
std::unique_ptr<Balancer> make_sigmoid(uint64_t total, const std::vector<BalancerDevice>& devices,
                                       Parameters parameters);

}  // namespace tutti::scheduler
