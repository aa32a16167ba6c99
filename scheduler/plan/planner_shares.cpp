// SPDX-License-Identifier: Apache-2.0
// Which devices take part in a split, with which shares, and what that is expected to cost.
#include <bit>
#include <limits>

#include "scheduler/plan/planner_parts.h"

namespace tutti::scheduler {
namespace {

// A device takes part when the others would need at least so much longer without it: more where
// shares say little of the time.
constexpr double kWorthHavingIrregular = 0.9;
// What moves takes less than this part of a launch whose data are in place.
constexpr double kInPlace = 0.1;
// A package is worth its start when it computes so many times as long; of an irregular launch less
// must do.
constexpr double kWorthStarting = 8;
constexpr double kWorthStartingIrregular = 3;
// Where data would have to move, who has ended leaves rests up to this part of the launch to their
// owners, and the next launch finds everything in place.
constexpr uint64_t kLeftToOwner = 32;
// Less that moves, in seconds and as part of the launch, is not worth looking for better shares.
constexpr double kLittle = 100e-6;
constexpr double kSearched = 0.02;
// Of a neighbour's share, to see what moving it would cost.
constexpr uint64_t kSomeOfIt = 8;
// Shares of the last launch are kept when they differ from the expected ones by less than this part
// of the launch: of one over a single memory, or whose slices take unequal times.
constexpr double kSameShare = 0.1;
// What merging is reckoned with, on the safe side of what hosts and links do.
constexpr double kCopiesBytesPerSecond = 4e9;
constexpr uint64_t kGpuItemsPerUnit = 2048;  // resident work-items of one GPU compute unit
// Of times, from which on shares tell too little of the whole launch.
constexpr double kIrregularFrom = 0.25;
// A whole launch is not tried where it is expected to take so many times as long: that far off no
// expectation was, and who tries pays for it.
constexpr double kWorthTrying = 1.5;

bool irregular(const KernelPlan& plan) {
  return std::any_of(plan.costs.begin(), plan.costs.end(),
                     [](const ComputeCost& cost) { return cost.irregularity > kIrregularFrom; });
}

}  // namespace

/// Those with a share stay.
void keep_participants(KernelPlan& plan, std::span<const uint64_t> shares) {
  const bool powered = plan.power.known();
  size_t kept = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] == 0) continue;
    plan.participants[kept] = plan.participants[i];
    plan.costs[kept] = plan.costs[i];
    if (powered) plan.power.extra[kept] = plan.power.extra[i];
    ++kept;
  }
  plan.participants.resize(kept);
  plan.costs.resize(kept);
  if (powered) plan.power.extra.resize(kept);
}

void Planner::choose_participants(const KernelWork& work, KernelPlan& plan) const {
  const uint64_t slices = plan.shape.groups(plan.access->verdict().dimension);
  const std::vector<uint64_t> shares =
      price_split_for(plan.objective, slice_costs(work, plan, {}), plan.power, slices).shares;
  keep_participants(plan, shares);
}

double Planner::merge_seconds(const KernelWork& work, const KernelPlan& plan) const {
  double cost = 0;
  double link = kLinkBytesPerSecond;
  for (const uint32_t i : plan.participants) link = std::min(link, costs_.link_rate(i));
  for (const MergeRegion& region : plan.access->regions()) {
    const auto bytes = static_cast<double>(region.range.size());
    if (region.mode == MergeMode::kAtomic) {
      // Each device fills its copy, which is read and combined.
      cost += bytes * static_cast<double>(plan.participants.size()) *
              (2 / kCopiesBytesPerSecond + 1 / link);
      continue;
    }
    const LogicalBuffer& buffer = *(*work.arguments)[region.arguments.front()].view.buffer;
    PlaceSet places = 0;
    for (const uint32_t i : plan.participants) places |= place_bit(buffer.place_on(i));
    const int copies = std::popcount(places);
    if (copies == 1) continue;  // all write to the same memory
    // Each place gets the content, and keeps and compares it; at worst everything has changed, and
    // both old and new come back. Searches seldom change anything.
    const int transfers = plan.access->verdict().alone ? 1 : 3;
    cost += bytes * copies * (2 / kCopiesBytesPerSecond + transfers / link);
  }
  return cost;
}

uint64_t Planner::min_package(const KernelPlan& plan, size_t participant) const {
  // Each package brings all panels anew.
  if (plan.has_panels(plan.participants[participant])) return plan.windows[participant];
  const auto& traits = backends_.traits(plan.participants[participant]);
  const ComputeCost& cost = plan.costs[participant];
  const uint64_t slices = plan.shape.groups(plan.access->verdict().dimension);
  const uint64_t group_items = plan.shape.local[0] * plan.shape.local[1] * plan.shape.local[2];
  const uint64_t groups_per_slice =
      std::max<uint64_t>(1, plan.shape.items() / slices / group_items);
  uint64_t groups = std::max<uint32_t>(1, traits.compute_units);
  // What computes in the thread that enqueues has no work-items resident.
  const bool resident = is_gpu(traits) && !traits.synchronous;
  if (resident) groups *= std::max<uint64_t>(1, kGpuItemsPerUnit / group_items);
  // No part takes longer than the whole launch, by whose speed it is priced.
  const uint64_t filling = std::min(slices, (groups + groups_per_slice - 1) / groups_per_slice);
  // A package shorter than the device's start-up would cost more than it computes. But an irregular
  // launch is no less divided for that than it must be.
  const double items = static_cast<double>(plan.shape.items()) / static_cast<double>(slices);
  const auto worthwhile = static_cast<uint64_t>(cost.startup * cost.rate / items);
  const uint64_t most = slices / ((irregular(plan) ? 8 : 1) * plan.participants.size());
  return std::max({uint64_t{1}, filling, cost.measured ? std::min(worthwhile, most) : 0});
}

uint64_t Planner::worthwhile_package(const KernelPlan& plan, size_t participant) const {
  const ComputeCost& cost = plan.costs[participant];
  if (!cost.measured) return 1;
  const uint64_t slices = plan.shape.groups(plan.access->verdict().dimension);
  const double items = static_cast<double>(plan.shape.items()) / static_cast<double>(slices);
  const double times = irregular(plan) ? kWorthStartingIrregular : kWorthStarting;
  const auto worthwhile = static_cast<uint64_t>(times * cost.startup * cost.rate / items);
  return std::clamp<uint64_t>(worthwhile, 1, slices);
}

uint64_t Planner::least_help(const KernelWork& work, const KernelPlan& plan,
                             std::span<const uint64_t> shares) const {
  const uint64_t slices = plan.shape.groups(plan.access->verdict().dimension);
  const double items = static_cast<double>(plan.shape.items()) / static_cast<double>(slices);
  uint64_t least = slices;  // never
  bool moves = false;
  uint64_t first = 0;
  for (size_t i = 0; i + 1 < shares.size(); ++i) {
    first += shares[i];
    const uint64_t some = std::max<uint64_t>(1, shares[i] / kSomeOfIt);
    if (shares[i] == 0) continue;
    // What the first slice needs to be brought to the device, and each further one.
    const auto transfers = [&](size_t participant) {
      const auto of = [&](uint64_t count) {
        return costs_.package_transfers(*work.arguments, *plan.access, first - count, count,
                                        plan.participants[participant]);
      };
      const double one = of(1);
      return std::pair(one, some > 1 ? (of(some) - one) / static_cast<double>(some - 1) : one);
    };
    const auto [one, moving] = transfers(i + 1);
    moves |= one > 0 || moving > 0;
    const double owner = items / plan.costs[i].rate + transfers(i).second;
    if (moving >= owner) continue;  // the owner is done before the data are there
    const double help = (one + plan.costs[i + 1].startup) / (owner - moving);
    if (help < static_cast<double>(least)) least = static_cast<uint64_t>(help);
  }
  return moves ? std::max({uint64_t{1}, slices / kLeftToOwner, least}) : 1;
}

std::vector<uint64_t> Planner::shares_in_place(const KernelWork& work, const KernelPlan& plan,
                                               std::span<const uint64_t> shares) const {
  std::vector<uint64_t> result(shares.begin(), shares.end());
  uint64_t begin = 0;
  for (size_t i = 0; i + 1 < result.size(); begin += result[i++]) {
    // Less has to move where the slice is on the one of two neighbours rather than on the other.
    const auto rather = [&](uint64_t slice, size_t one, size_t other) {
      const auto transfers = [&](size_t participant) {
        return costs_.package_transfers(*work.arguments, *plan.access, slice, 1,
                                        plan.participants[participant]);
      };
      return transfers(one) < transfers(other);
    };
    // As far as such slices lie side by side: from the boundary in steps that double, and back.
    uint64_t& mine = result[i];
    uint64_t& next = result[i + 1];
    for (uint64_t step = 1; step > 0 && next > 1;) {
      const uint64_t by = std::min(step, next - 1);
      const bool more = rather(begin + mine + by - 1, i, i + 1);
      mine += more ? by : 0;
      next -= more ? by : 0;
      step = more && by == step ? 2 * step : by / 2;
    }
    if (mine != shares[i]) continue;
    for (uint64_t step = 1; step > 0 && mine > 1;) {
      const uint64_t by = std::min(step, mine - 1);
      const bool more = rather(begin + mine - by, i + 1, i);
      mine -= more ? by : 0;
      next += more ? by : 0;
      step = more && by == step ? 2 * step : by / 2;
    }
  }
  return result;
}

void Planner::move_less(const KernelWork& work, const KernelPlan& plan,
                        std::span<const DeviceCost> in_place, std::vector<DeviceCost>& costs,
                        SplitPrice& price) const {
  const uint64_t slices = plan.shape.groups(plan.access->verdict().dimension);
  const SplitPrice given = price;
  const auto consider = [&](std::vector<uint64_t> shares, double at_most) {
    const auto without = std::count(shares.begin(), shares.end(), uint64_t{0});
    if (shares == price.shares || without + 1 >= std::ssize(shares)) return;
    auto there = slice_costs(work, plan, shares);
    const double seconds = price_shares(there, shares);
    if (seconds >= at_most) return;
    price = {seconds, std::move(shares)};
    costs = std::move(there);
  };
  // As if each slice needed as much of what moves; so what that gains is to be seen.
  consider(price_split(costs, slices).shares, kWorthSplitting * price.seconds);
  const double whole = plan.whole_seconds > 0 ? plan.whole_seconds : given.seconds;
  consider(shares_in_place(work, plan, given.shares),
           std::min(price.seconds, kWorthSplitting * whole));
  if (price.shares == given.shares) return;
  const double moved = price_shares(in_place, given.shares);
  auto anew = common_shares_.divide_anew({.key = model_key(work) ^ plan.shape.items(),
                                          .devices = plan.participants,
                                          .fitting = given.shares,
                                          .seconds = moved,
                                          .gain = price.seconds - moved,
                                          .moving = given.seconds - moved});
  if (anew.empty()) return;
  costs = slice_costs(work, plan, anew);
  price = {price_shares(costs, anew), std::move(anew)};
}

double Planner::fit_to_data(const KernelWork& work, bool apart, std::vector<DeviceCost>& costs,
                            SplitPrice& price, KernelPlan& plan) const {
  costs = slice_costs(work, plan, price.shares);
  price.seconds = price_shares(costs, price.shares);
  const std::vector<DeviceCost> in_place = slice_costs(work, plan, {});
  const auto moving = [&] { return price.seconds - price_shares(in_place, price.shares); };
  if (apart) {
    if (moving() > std::max(kLittle, kSearched * price.seconds)) {
      move_less(work, plan, in_place, costs, price);
    }
    plan.least_help = least_help(work, plan, price.shares);
  }
  return moving();
}

std::vector<DeviceCost> Planner::slice_costs(const KernelWork& work, const KernelPlan& plan,
                                             std::span<const uint64_t> shares) const {
  const uint64_t slices = plan.shape.groups(plan.access->verdict().dimension);
  const double items = static_cast<double>(plan.shape.items()) / static_cast<double>(slices);
  std::vector<DeviceCost> result;
  uint64_t first = 0;
  for (size_t i = 0; i < plan.participants.size(); ++i) {
    const uint32_t backend = plan.participants[i];
    DeviceCost cost{plan.costs[i].wait + plan.costs[i].startup, items / plan.costs[i].rate,
                    min_package(plan, i)};
    const uint64_t count = shares.empty() ? 0 : shares[i];
    if (count > 0) {
      // What one slice needs is needed by any share: the rest grows with it.
      const double one = costs_.package_transfers(*work.arguments, *plan.access, first, 1, backend);
      const double all =
          costs_.package_transfers(*work.arguments, *plan.access, first, count, backend);
      cost.fixed += std::min(one, all);
      if (count > 1 && all > one) cost.per_slice += (all - one) / static_cast<double>(count - 1);
    }
    result.push_back(cost);
    first += count;
  }
  return result;
}

std::optional<double> Planner::surplus(uint64_t key, const KernelPlan& plan) const {
  const auto known = boundaries_.surplus(key, plan.shape.items(), plan.participants);
  return known ? std::optional(std::max(0.0, *known)) : std::nullopt;
}

double Planner::usual_surplus(const KernelPlan& plan) const {
  double farthest = 0;
  for (const uint32_t i : plan.participants) {
    farthest = std::max(farthest, backends_.traits(i).link.round_trip);
  }
  // A device of another host hears of one more package than was reckoned with, and nobody can take
  // the last one over in time.
  return kSplitSeconds + 2 * farthest;
}

void Planner::leave_out_costly(const KernelWork& work, KernelPlan& plan, SplitPrice& price) const {
  const uint64_t slices = plan.shape.groups(plan.access->verdict().dimension);
  const uint64_t key = model_key(work);
  while (plan.participants.size() > 2) {
    const auto with = surplus(key, plan);
    if (!with) return;
    std::vector<DeviceCost> costs = slice_costs(work, plan, {});
    const auto least = std::min_element(price.shares.begin(), price.shares.end());
    costs[static_cast<size_t>(least - price.shares.begin())].fixed =
        std::numeric_limits<double>::infinity();
    SplitPrice fewer = price_split(costs, slices);
    KernelPlan without = plan;
    keep_participants(without, fewer.shares);
    if (without.participants.size() < 2 ||
        fewer.seconds + surplus(key, without).value_or(usual_surplus(without)) >
            kWorthSplitting * (price.seconds + *with)) {
      return;
    }
    if (boundaries_.try_again(key, work.shape.items(), plan.participants, fewer.seconds,
                              price.seconds + *with)) {
      return;
    }
    plan = std::move(without);
    std::erase(fewer.shares, uint64_t{0});
    price = std::move(fewer);
  }
}

bool Planner::try_left_out(const KernelWork& work, std::span<const DeviceCost> costs,
                           std::vector<uint64_t> all, const SplitPrice& best,
                           KernelPlan& plan) const {
  // Whom other things keep busy is left out for that.
  if (plan.objective != Objective::kTime || plan.waits()) return false;
  const uint64_t key = model_key(work);
  const bool alone = std::count(best.shares.begin(), best.shares.end(), 0u) + 1 == std::ssize(all);
  const double without = alone ? plan.whole_seconds : best.seconds + kSplitSeconds;
  // What would move takes longer to find out than small launches have to spare.
  if (boundaries_.leave_out(key, plan.shape.items(), plan.participants, without, kSplitSeconds)) {
    return false;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] > 0) continue;
    uint64_t& most = *std::max_element(all.begin(), all.end());
    all[i] = std::min(costs[i].min_package, most / 2);
    if (all[i] == 0) return false;
    most -= all[i];
  }
  const double priced = price_shares(slice_costs(work, plan, all), all);
  const double split = priced + merge_seconds(work, plan) + usual_surplus(plan);
  // What moves comes back for the next launch.
  const double moving = std::max(0.0, priced - price_shares(costs, all));
  const double loss = std::max(kSplitSeconds, split - without) + moving;
  if (!boundaries_.try_left_out(key, plan.shape.items(), plan.participants, without, loss)) {
    return false;
  }
  plan.split_seconds = split;
  plan.priced_seconds = priced;
  plan.shares = std::move(all);
  return true;
}

bool Planner::choose_shares(const KernelWork& work, KernelPlan& plan, bool measured) const {
  const uint64_t slices = plan.shape.groups(plan.access->verdict().dimension);
  const uint64_t key = model_key(work);
  const double whole_extra =
      plan.objective != Objective::kTime ? plan.power.extra[whole_index(plan)] : 0;
  if (plan.objective != Objective::kTime) {
    choose_participants(work, plan);
    plan.why = KernelPlan::Why::kObjective;
    if (plan.participants.size() < 2) return false;
  }
  plan.why = KernelPlan::Why::kDearer;
  std::vector<DeviceCost> costs = slice_costs(work, plan, {});
  if (!measured) {
    // Seconds mean nothing yet.
    for (DeviceCost& cost : costs) cost.fixed = 0;
  }
  SplitPrice price = price_split(costs, slices);
  if (measured) {
    const double all_seconds = price.seconds;
    const std::vector<uint64_t> all = price.shares;
    leave_out_marginal(costs, slices, irregular(plan) ? kWorthHavingIrregular : kWorthSplitting,
                       price);
    if (std::count(price.shares.begin(), price.shares.end(), 0u) > 0 &&
        try_left_out(work, costs, all, price, plan)) {
      return true;
    }
    keep_participants(plan, price.shares);
    std::erase(price.shares, uint64_t{0});
    leave_out_costly(work, plan, price);
    if (plan.participants.size() < 2) {
      plan.split_seconds = all_seconds;
      return false;
    }
    const bool apart = std::any_of(plan.participants.begin(), plan.participants.end(),
                                   [&](uint32_t i) { return backends_.place(i) != kHostPlace; });
    if (!apart || irregular(plan)) {
      const auto last = boundaries_.shares(key, plan.shape.items(), plan.participants);
      const auto close = [&](uint64_t a, uint64_t b) {
        return static_cast<double>(a > b ? a - b : b - a) <
               kSameShare * static_cast<double>(slices);
      };
      if (!last.empty() && std::equal(last.begin(), last.end(), price.shares.begin(), close)) {
        price.shares = last;
      }
    }
    const double moving = fit_to_data(work, apart, costs, price, plan);
    // What splitting really cost at this kernel, once that is known.
    plan.split_seconds = price.seconds + merge_seconds(work, plan);
    const double beyond = surplus(key, plan).value_or(usual_surplus(plan));
    plan.split_seconds += beyond;
    plan.priced_seconds = price.seconds;
    for (size_t i = 0; i < price.shares.size(); ++i) {  // from all of them at once
      const double part = static_cast<double>(price.shares[i]) / static_cast<double>(slices);
      plan.split_gather =
          std::max(plan.split_gather, costs_.gather(work, plan.participants[i], part));
    }
    const uint64_t items = plan.shape.items();
    // Shares of an irregular kernel say little of the whole: once it is tried, and then compared.
    const double whole = boundaries_.whole(key, items, plan.backend);
    // Nor is a whole launch tried for which a device would have to get all of the buffers first.
    const bool may_try = !has_parts(work, plan.backend);
    if (whole > 0) {
      plan.whole_seconds =
          plan.wait_seconds + whole +
          costs_.whole_transfers(*work.arguments, exact_access(plan), plan.backend);
    } else if (may_try && irregular(plan) && boundaries_.settled(key, items) &&
               plan.whole_seconds < kWorthTrying * plan.split_seconds) {
      plan.why = KernelPlan::Why::kTrial;
      return false;
    }
    plan.why = KernelPlan::Why::kDearer;
    if (plan.objective != Objective::kTime) {
      plan.whole_joules = (plan.power.idle + whole_extra) * plan.whole_seconds;
      plan.split_joules = price_energy(plan.power, plan.split_seconds, costs, price.shares);
      const double split = objective_value(plan.objective, plan.split_seconds, plan.split_joules);
      if (split > kWorthSplitting *
                      objective_value(plan.objective, plan.whole_seconds, plan.whole_joules)) {
        return false;
      }
    } else if (plan.split_until_read() > kWorthSplitting * plan.whole_until_read()) {
      // Once the data are in place, later launches find them there.
      const double gain =
          kWorthSplitting * plan.whole_until_read() - (plan.split_until_read() - moving);
      const bool pays = gain > 0 && boundaries_.worth_moving(key, items, gain, moving);
      // What moves comes back for the next whole launch.
      const double loss = std::max(
          kSplitSeconds, plan.split_until_read() - plan.whole_until_read() + std::max(0.0, moving));
      // Were it no dearer than others.
      const double saved = plan.whole_until_read() - (plan.split_until_read() - beyond) -
                           usual_surplus(plan) - std::max(0.0, moving);
      if (!pays && !boundaries_.try_again(key, items, plan.whole_seconds - plan.wait_seconds,
                                          plan.split_seconds, loss, std::max(0.0, saved))) {
        return false;
      }
    } else if (may_try && whole > 0 && plan.whole_seconds < kWorthTrying * plan.split_seconds &&
               boundaries_.compare_again(
                   key, items, plan.backend, plan.split_seconds,
                   std::max(kSplitSeconds, plan.whole_until_read() - plan.split_until_read()))) {
      plan.why = KernelPlan::Why::kTrial;
      return false;
    } else {
      boundaries_.pays(key, items);
      if (moving < kInPlace * price.seconds) boundaries_.move_paid(key, items);
    }
  }
  keep_participants(plan, price.shares);
  std::erase(price.shares, uint64_t{0});
  plan.shares = std::move(price.shares);
  return plan.shares.size() > 1;
}

}  // namespace tutti::scheduler
