// SPDX-License-Identifier: Apache-2.0
// Random package sizes from a seed, for TUTTI_SPLIT=force: every boundary that is legal shall be
// tried. Not a balancer for users.
#pragma once

#include <memory>

#include "scheduler/balance/balancer.h"

namespace tutti::scheduler {

/// Sizes between 1 slice and an eighth of the launch (at least 2).
std::unique_ptr<Balancer> make_random_balancer(uint64_t seed, uint64_t total);

/// Random shares of `slices` for `participants` devices; some may have none.
std::vector<uint64_t> random_shares(uint64_t seed, uint64_t slices, size_t participants);

}  // namespace tutti::scheduler
