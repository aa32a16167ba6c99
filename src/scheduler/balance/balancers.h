// SPDX-License-Identifier: Apache-2.0
// The balancers' makers, one file each. Internal to balance/; `devices` is never empty.
#pragma once

#include "scheduler/balance/balancer.h"

namespace tutti::scheduler {

std::unique_ptr<Balancer> make_static(uint64_t total, const std::vector<BalancerDevice>& devices);
std::unique_ptr<Balancer> make_sigmoid(uint64_t total, const std::vector<BalancerDevice>& devices);

}  // namespace tutti::scheduler
