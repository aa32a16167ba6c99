// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/pricing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tutti::scheduler {
namespace {

constexpr size_t kMostTrials = 64;
constexpr uint64_t kMarginal = 10;  // times smaller than the largest share
constexpr double kLeastCost =
    1e-18;  // seconds per slice; a cost of none would make shares infinite

double rate_of(const DeviceCost& device) { return 1 / std::max(device.per_slice, kLeastCost); }

/// t with Σ max(0, (t − fixed_i) · rate_i) = slices over `members`.
double end_together(std::span<const DeviceCost> devices, std::span<const size_t> members,
                    double slices) {
  std::vector<size_t> order(members.begin(), members.end());
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return devices[a].fixed < devices[b].fixed; });
  double rate = 0;
  double time = devices[order.front()].fixed;
  double left = slices;
  for (const size_t i : order) {
    const double gap = devices[i].fixed - time;
    if (rate > 0 && left <= rate * gap) break;
    left -= rate * gap;
    time = devices[i].fixed;
    rate += rate_of(devices[i]);
  }
  return time + std::max(left, 0.0) / rate;
}

}  // namespace

void leave_out_marginal(std::span<const DeviceCost> devices, uint64_t slices, double worth,
                        SplitPrice& price) {
  std::vector<DeviceCost> costs(devices.begin(), devices.end());
  for (;;) {
    size_t least = costs.size(), members = 0;
    for (size_t i = 0; i < costs.size(); ++i) {
      if (price.shares[i] == 0) continue;
      ++members;
      if (least == costs.size() || price.shares[i] < price.shares[least]) least = i;
    }
    const uint64_t most = *std::max_element(price.shares.begin(), price.shares.end());
    if (members < 2 || price.shares[least] > most / kMarginal) return;
    costs[least].fixed = std::numeric_limits<double>::infinity();
    SplitPrice without = price_split(costs, slices);
    if (worth * without.seconds > price.seconds) return;
    price = std::move(without);
  }
}

double price_shares(std::span<const DeviceCost> devices, std::span<const uint64_t> shares) {
  double end = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (shares[i] == 0) continue;
    const uint64_t filling = std::max(shares[i], devices[i].min_package);
    end = std::max(end, devices[i].fixed + static_cast<double>(filling) * devices[i].per_slice);
  }
  return end;
}

SplitPrice price_split(std::span<const DeviceCost> devices, uint64_t slices) {
  SplitPrice price;
  price.shares.assign(devices.size(), 0);
  if (devices.empty() || slices == 0) return price;
  std::vector<size_t> members(devices.size()), best;
  std::iota(members.begin(), members.end(), size_t{0});
  double end = 0;
  double least = std::numeric_limits<double>::infinity();
  for (;;) {
    const double together = end_together(devices, members, static_cast<double>(slices));
    // The one that falls shortest of its smallest package goes first; the others' shares grow. What
    // is best on the way stays: a device that its share does not fill may help all the same.
    size_t worst = members.size();
    double shortest = 1;
    double last = together;
    bool late = false;  // somebody cannot even begin in time
    for (size_t m = 0; m < members.size(); ++m) {
      const DeviceCost& device = devices[members[m]];
      const double share = (together - device.fixed) * rate_of(device);
      const auto smallest = static_cast<double>(std::max<uint64_t>(1, device.min_package));
      if (share >= smallest) continue;
      late = late || share <= 0;
      last = std::max(last, device.fixed + smallest / rate_of(device));
      if (share / smallest <= shortest) {  // of equals the last
        shortest = share / smallest;
        worst = m;
      }
    }
    if (best.empty() || (!late && last <= least)) {  // the fewer
      best = members;
      end = together;
      least = late ? std::numeric_limits<double>::infinity() : last;
    }
    if (worst == members.size() || members.size() == 1) break;
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(worst));
  }
  members = std::move(best);
  uint64_t left = slices;
  for (const size_t i : members) {
    const double share = std::max(0.0, (end - devices[i].fixed) * rate_of(devices[i]));
    price.shares[i] = std::min(left, static_cast<uint64_t>(share));
    left -= price.shares[i];
  }
  // What rounding leaves over goes, slice by slice, to who ends it first.
  for (; left > 0; --left) {
    const auto end_with_one_more = [&](size_t i) {
      return devices[i].fixed + static_cast<double>(price.shares[i] + 1) * devices[i].per_slice;
    };
    ++price.shares[*std::min_element(members.begin(), members.end(), [&](size_t a, size_t b) {
      return end_with_one_more(a) < end_with_one_more(b);
    })];
  }
  price.seconds = price_shares(devices, price.shares);
  return price;
}

double price_energy(const LaunchPower& power, double seconds, std::span<const double> busy) {
  double joules = power.idle * seconds;
  for (size_t i = 0; i < busy.size(); ++i) joules += power.extra[i] * busy[i];
  return joules;
}

double price_energy(const LaunchPower& power, double seconds, std::span<const DeviceCost> devices,
                    std::span<const uint64_t> shares) {
  std::vector<double> busy(devices.size(), 0);
  for (size_t i = 0; i < devices.size(); ++i) {
    if (shares[i] == 0) continue;
    busy[i] = devices[i].fixed + static_cast<double>(shares[i]) * devices[i].per_slice;
  }
  return price_energy(power, seconds, busy);
}

double objective_value(Objective objective, double seconds, double joules) {
  switch (objective) {
    case Objective::kTime:
      break;
    case Objective::kEnergy:
      return joules;
    case Objective::kEnergyDelay:
      return joules * seconds;
  }
  return seconds;
}

SplitPrice price_split_for(Objective objective, std::span<const DeviceCost> devices,
                           const LaunchPower& power, uint64_t slices) {
  SplitPrice best = price_split(devices, slices);
  if (objective == Objective::kTime || !power.known() || devices.empty()) return best;
  const auto value = [&](const SplitPrice& price) {
    return objective_value(objective, price.seconds,
                           price_energy(power, price.seconds, devices, price.shares));
  };
  double least = value(best);
  std::vector<size_t> order(devices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return power.extra[a] * devices[a].per_slice < power.extra[b] * devices[b].per_slice;
  });
  // Of very many devices not every number of them is tried.
  const size_t step = std::max<size_t>(1, order.size() / kMostTrials);
  for (size_t members = step; members <= order.size(); members += step) {
    std::vector<DeviceCost> some;
    for (size_t m = 0; m < members; ++m) some.push_back(devices[order[m]]);
    const SplitPrice part = price_split(some, slices);
    SplitPrice price{part.seconds, std::vector<uint64_t>(devices.size(), 0)};
    for (size_t m = 0; m < members; ++m) price.shares[order[m]] = part.shares[m];
    if (const double found = value(price); found < least) {
      least = found;
      best = std::move(price);
    }
  }
  return best;
}

}  // namespace tutti::scheduler
