// SPDX-License-Identifier: Apache-2.0
// Which participants of a split have memory for parts of the buffers only, and for which: those
// whose memory is too small for all, or whoever can (TUTTI_SHARDS).
#include <algorithm>
#include <map>
#include <numeric>

#include "scheduler/balance/random.h"
#include "scheduler/plan/planner.h"
#include "scheduler/plan/planner_parts.h"
#include "scheduler/plan/shard_choice.h"
#include "scheduler/plan/shard_ranges.h"

namespace tutti::scheduler {
namespace {

// With TUTTI_SHARDS=stream a device has memory for such a part of its share at a time.
constexpr uint64_t kStreamedPart = 4;
// Streaming is chosen where it is expected to take at most this part of the time.
constexpr double kWorthStreaming = 0.9;

/// Shares in proportion to the devices' speeds.
std::vector<uint64_t> shares_by_rate(std::span<const double> rates, uint64_t slices) {
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
  std::vector<uint64_t> shares;
  double sum = 0;
  uint64_t given = 0;
  for (const double rate : rates) {
    sum += rate;
    const auto until = all > 0 ? static_cast<uint64_t>(sum / all * static_cast<double>(slices))
                               : slices * (shares.size() + 1) / rates.size();
    shares.push_back(std::min(until, slices) - given);
    given += shares.back();
  }
  shares.back() += slices - given;
  return shares;
}

/// What the shares take at these rates, in work-items per second.
double seconds(const LaunchShape& shape, std::span<const uint64_t> shares,
               std::span<const double> rates) {
  const double slices = std::accumulate(shares.begin(), shares.end(), 0.0);
  double longest = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    longest = std::max(longest, static_cast<double>(shares[i]) / rates[i]);
  }
  return longest / slices * static_cast<double>(shape.items());
}

/// Devices need no more of buffers than their packages touch, but for those that the launch merges.
/// Not where one of several may have to compute what others did once more.
bool may_have_parts(const KernelPlan& plan) {
  const Verdict& verdict = plan.access->verdict();
  return verdict.mode != MergeMode::kWhole && (!verdict.alone || plan.participants.size() == 1);
}

/// Who alone takes part need not compute anything once more.
void leave_to_fastest(KernelPlan& plan) {
  const auto fastest = std::max_element(
      plan.costs.begin(), plan.costs.end(),
      [](const ComputeCost& one, const ComputeCost& other) { return one.rate < other.rate; });
  std::vector<uint64_t> kept(plan.participants.size(), 0);
  kept[static_cast<size_t>(fastest - plan.costs.begin())] = 1;
  keep_participants(plan, kept);
  plan.backend = plan.participants.front();
  plan.shares.clear();
  plan.priced_seconds = 0;
}

bool contains(std::span<const uint32_t> list, uint32_t backend) {
  return std::find(list.begin(), list.end(), backend) != list.end();
}

}  // namespace

std::vector<uint32_t> Planner::small_candidates(const KernelWork& work, BackendMask allowed) const {
  const bool may = settings_.shards != ShardMode::kNever && may_divide() &&
                   settings_.split != SplitMode::kNever && settings_.balancer.name != "single";
  if (!may) return {};
  auto small = candidates(work, allowed, true);
  if (!small.empty() && divisible_buffers(work, {}, settings_.shard_unit).empty()) return {};
  return small;
}

void Planner::evaluate_for_one(const KernelWork& work, KernelPlan& plan) const {
  evaluate(work, plan);
  if (plan.access->verdict().mode != MergeMode::kWhole) return;
  SplitPolicy policy = settings_.policy;
  policy.frequent_atomics = true;
  auto access = evaluated(work, plan.shape, policy);
  if (access->verdict().alone) plan.access = std::move(access);
}

void Planner::add_small(const KernelWork& work, std::span<const uint32_t> small, bool measured,
                        uint64_t ready_ns, KernelPlan& plan) const {
  const auto& access = *plan.access;
  if (small.empty() || !may_have_parts(plan) || plan.objective != Objective::kTime) return;
  const uint64_t last_offset = plan.shape.last_offset(access.verdict().dimension);
  for (const uint32_t i : small) {
    if (last_offset <= backends_.traits(i).max_offset) plan.participants.push_back(i);
  }
  std::sort(plan.participants.begin(), plan.participants.end());
  costs_.compute(model_key(work), work.shape.items(), plan.participants, plan.costs);
  if (!measured) return;
  reckon_with_others(work, plan);
  find_waits(work, plan, ready_ns);
}

void Planner::leave_out_small(std::span<const uint32_t> small, KernelPlan& plan) const {
  if (small.empty()) return;
  std::vector<uint64_t> kept;
  for (const uint32_t i : plan.participants) kept.push_back(contains(small, i) ? 0 : 1);
  if (plan.costs.size() == plan.participants.size()) keep_participants(plan, kept);
}

bool Planner::may_divide() const {
  // Verification computes whole launches.
  return backends_.memory_apart() && !settings_.verify.on && !settings_.verify.vote;
}

bool Planner::lacks_room(const KernelWork& work, uint32_t backend) const {
  if (backends_.place(backend) == kHostPlace) return false;
  std::map<const LogicalBuffer*, uint64_t> missing;
  for (const ArgumentSlot& slot : *work.arguments) {
    const LogicalBuffer* const buffer = slot.view.buffer.get();
    if (!buffer || buffer->home() != kNoBackend) continue;
    missing[buffer] = buffer->size() - buffer->shard_range(backend).size();
  }
  uint64_t bytes = 0;
  for (const auto& [buffer, more] : missing) bytes += more;
  return bytes > 0 && !backends_.memory(backend).has_room(bytes);
}

bool Planner::has_parts(const KernelWork& work, uint32_t backend) {
  return std::any_of(work.arguments->begin(), work.arguments->end(), [&](const auto& slot) {
    return slot.has_memory() &&
           !slot.view.buffer->has_room_for(backend, 0, slot.view.buffer->size());
  });
}

bool Planner::can_have_parts(const KernelWork& work, uint32_t backend) const {
  // Built here, so that nobody finds later that it cannot be.
  return backends_.place(backend) != kHostPlace &&
         work.kernel->vendor_kernel(backend, KernelVariant::kShards).has_value();
}

bool Planner::leave_out_without_parts(const KernelWork& work, std::span<const uint32_t> small,
                                      bool alone, KernelPlan& plan) const {
  std::vector<uint64_t> kept;
  for (const uint32_t i : plan.participants) {
    kept.push_back(!contains(small, i) || can_have_parts(work, i) ? 1 : 0);
  }
  if (std::find(kept.begin(), kept.end(), 0u) == kept.end()) return true;
  keep_participants(plan, kept);
  plan.shares.clear();
  plan.priced_seconds = 0;
  if (plan.participants.size() < (alone ? 1 : 2)) return false;
  if (contains(small, plan.backend)) plan.backend = plan.participants.front();
  return true;
}

bool Planner::choose_shards(const KernelWork& work, std::span<const uint32_t> small,
                            Content content, KernelPlan& plan) const {
  const auto too_small = std::count_if(plan.participants.begin(), plan.participants.end(),
                                       [&](uint32_t i) { return contains(small, i); });
  const bool any_small = too_small > 0, all_small = too_small == std::ssize(plan.participants);
  const bool always = settings_.always_shards() && may_divide();
  const bool no_room = settings_.shards != ShardMode::kNever && may_divide() &&
                       std::any_of(plan.participants.begin(), plan.participants.end(),
                                   [&](uint32_t i) { return lacks_room(work, i); });
  if (!any_small && !always && !no_room) return true;
  // Only here it says more than what is known without it costs.
  if (auto values = content_of(work, *plan.access, content)) {
    plan.access = std::make_shared<LaunchAccess>(plan.access->with_content(std::move(values)));
    plan.guessed = content == Content::kGuessed;
  }
  const auto& access = *plan.access;
  const bool on_one = all_small || settings_.shards == ShardMode::kStream;
  if (on_one && access.verdict().alone) leave_to_fastest(plan);
  if (!may_have_parts(plan)) return !any_small;
  BufferRanges divisible = divisible_buffers(work, access.regions(), settings_.shard_unit);
  if (divisible.empty()) return !any_small;

  if (!leave_out_without_parts(work, small, all_small, plan)) return false;
  std::vector<char> sharded;
  for (const uint32_t i : plan.participants) {
    const bool all_there = std::all_of(divisible.begin(), divisible.end(), [&](const auto& one) {
      return one.first->shard_range(i) == ByteRange{0, one.first->size()};
    });
    const bool wants = contains(small, i) || (!all_there && (always || lacks_room(work, i)));
    sharded.push_back(wants && can_have_parts(work, i) ? 1 : 0);
  }
  if (std::find(sharded.begin(), sharded.end(), 1) == sharded.end()) return true;

  const uint64_t slices = plan.shape.groups(access.verdict().dimension);
  const bool random = plan.shares.empty() && settings_.split == SplitMode::kForce;
  const uint64_t number = random ? sharded_.fetch_add(1) : 0;
  if (random) {
    plan.shares = random_shares(settings_.seed + number, slices, plan.participants.size());
  }
  std::vector<double> there;
  for (const ComputeCost& cost : plan.costs) there.push_back(cost.rate);
  const bool in_seconds = std::any_of(plan.costs.begin(), plan.costs.end(),
                                      [](const ComputeCost& cost) { return cost.measured; });
  if (plan.shares.empty()) {
    SplitPrice price{.seconds = 0, .shares = shares_by_rate(there, slices)};
    const bool all_take_part =
        std::find(price.shares.begin(), price.shares.end(), 0u) == price.shares.end();
    std::vector<DeviceCost> costs;
    if (in_seconds && all_take_part) fit_to_data(work, true, costs, price, plan);
    plan.shares = std::move(price.shares);
  }
  const auto wanted = plan.shares;
  ShardChoice choice(backends_, work, plan, settings_.shard_unit, std::move(divisible),
                     std::move(sharded));
  // Who streams is as slow as its link.
  const auto moving = choice.streamed_rates(costs_);
  const auto streaming = in_seconds && !random ? shares_by_rate(moving, slices) : wanted;
  const double streamed = seconds(plan.shape, streaming, moving);
  if (settings_.shards != ShardMode::kStream) {
    if (choice.shrink_shares()) {
      const double resident = seconds(plan.shape, plan.shares, there);
      // Others may take far longer for what one has no memory for than it takes to bring it there.
      const bool pays =
          in_seconds && plan.shares != wanted && streamed < kWorthStreaming * resident;
      if (!pays) {
        choice.set_reaches();
        // Else it has a price already.
        if (in_seconds && (all_small || plan.split_seconds <= 0)) plan.split_seconds = resident;
        return true;
      }
    }
    if (!all_small && plan.whole_seconds > 0 && streamed > kWorthSplitting * plan.whole_seconds) {
      plan.shares = wanted;
      return false;
    }
  }
  plan.shares = streaming;
  plan.shard_unit = settings_.shard_unit;
  plan.priced_seconds = 0;  // what it takes says nothing of such splits where all is there
  plan.split_seconds = in_seconds ? streamed : 0;
  const uint64_t part = settings_.shards == ShardMode::kStream ? kStreamedPart : 1;
  // Every other one of those that are forced shows what panels do.
  if (number % 2 == 1 && choice.stream_with_panels(part)) return true;
  if (choice.stream(part) || choice.stream_with_panels(part)) return true;
  if (!all_small || access.regions().empty() || plan.participants.size() == 1) return false;
  // One that is alone needs fewer copies of what is merged.
  leave_to_fastest(plan);
  return choose_shards(work, small, content, plan);
}

}  // namespace tutti::scheduler
