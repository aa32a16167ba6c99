// SPDX-License-Identifier: Apache-2.0
#include "scheduler/access/merge_rule.h"

#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

namespace tutti::scheduler {
namespace {

// Bytes: devices store no more at once, and exec/merge compares by blocks that begin at multiples.
constexpr uint64_t kLargestUnit = 16;

ByteRange in_root(const ByteRange& range, const Window& window) {
  if (range.empty()) return {};
  return {range.begin + window.origin, range.end + window.origin};
}

bool overlap(const ByteRange& a, const ByteRange& b) { return a.begin < b.end && b.begin < a.end; }

/// The bytes of the root buffer that a use may touch in the whole launch.
ByteRange root_range(const EvaluatedLaunch& launch, const AccessUse& use) {
  return in_root(launch_range(launch, use), launch.windows[use.window]);
}

/// Is this use a store, as far as the memory's final state tells? An exchange whose result nobody
/// sees is one, made whole.
bool is_store(const Access& access) {
  return access.kind == AccessKind::kStore ||
         (access.kind == AccessKind::kAtomic && access.atomic_op == "xchg" && !access.result_used);
}

/// Writes whose ranges in a root buffer meet, directly or by way of others.
struct Group {
  uint64_t buffer = 0;
  ByteRange range;
  std::vector<const AccessUse*> writes;
  bool stores = true;   // all are
  bool marked = false;  // one of them is through a window that has to be merged
};

std::vector<Group> groups_of(const EvaluatedLaunch& launch, const std::vector<bool>& together) {
  std::vector<Group> singles;
  for (const AccessUse& use : launch.uses) {
    const ByteRange range = root_range(launch, use);
    if (!use.writes() || range.empty()) continue;
    singles.push_back({launch.windows[use.window].buffer,
                       range,
                       {&use},
                       is_store(*use.access),
                       together[use.window]});
  }
  std::sort(singles.begin(), singles.end(), [](const Group& a, const Group& b) {
    return std::tie(a.buffer, a.range.begin) < std::tie(b.buffer, b.range.begin);
  });
  const auto join = [](std::vector<Group>& groups, Group& next) {
    Group& last = groups.back();
    last.range.end = std::max(last.range.end, next.range.end);
    last.writes.insert(last.writes.end(), next.writes.begin(), next.writes.end());
    last.stores &= next.stores;
    last.marked |= next.marked;
  };
  std::vector<Group> meeting;
  for (Group& next : singles) {
    if (!meeting.empty() && meeting.back().buffer == next.buffer &&
        next.range.begin < meeting.back().range.end) {
      join(meeting, next);
    } else {
      meeting.push_back(std::move(next));
    }
  }
  // A window is merged as a whole: with one of its groups go all the others.
  std::vector<bool> windows(launch.windows.size());
  for (bool grown = true; grown;) {
    grown = false;
    for (Group& group : meeting) {
      for (const AccessUse* use : group.writes) group.marked |= windows[use->window];
      for (const AccessUse* use : group.writes) {
        if (!group.marked || windows[use->window]) continue;
        windows[use->window] = grown = true;
      }
    }
  }
  // Stores beside each other: one region is cheaper than many.
  std::vector<Group> groups;
  bool beside = false;  // the group before this one is the last of `groups`
  for (Group& next : meeting) {
    if (!next.marked) {
      beside = false;
      continue;
    }
    if (beside && groups.back().buffer == next.buffer && groups.back().stores && next.stores) {
      join(groups, next);
    } else {
      groups.push_back(std::move(next));
    }
    beside = true;
  }
  return groups;
}

std::vector<uint32_t> arguments_of(const EvaluatedLaunch& launch, const Group& group) {
  std::vector<uint32_t> arguments;
  for (const AccessUse* use : group.writes) {
    arguments.push_back(launch.windows[use->window].argument);
  }
  std::sort(arguments.begin(), arguments.end());
  arguments.erase(std::unique(arguments.begin(), arguments.end()), arguments.end());
  return arguments;
}

std::optional<MergeOperator> operator_of(std::string_view atomic) {
  if (atomic == "add" || atomic == "sub" || atomic == "inc" || atomic == "dec") {
    return MergeOperator::kSum;
  }
  if (atomic == "xor") return MergeOperator::kXor;
  if (atomic == "and") return MergeOperator::kAnd;
  if (atomic == "or") return MergeOperator::kOr;
  if (atomic == "min") return MergeOperator::kMin;
  if (atomic == "max") return MergeOperator::kMax;
  if (atomic == "umin") return MergeOperator::kUMin;
  if (atomic == "umax") return MergeOperator::kUMax;
  if (atomic == "fadd" || atomic == "fsub") return MergeOperator::kFSum;
  if (atomic == "fmin") return MergeOperator::kFMin;
  if (atomic == "fmax") return MergeOperator::kFMax;
  return std::nullopt;
}

/// Proof obligation of kAtomic: nothing but one associative and commutative operator touches the
/// range, on whole elements of one size at one alignment, and no work-item sees a result. Then the
/// final value is the old one combined with all operands, in any order and grouping, which devices
/// may do apart, each from the operator's neutral element. (Floating-point sums are not
/// associative: the user has to allow them. The least and the largest are exact. That the argument
/// leads to nothing else is the caller's to see.)
SplitAnswer atomic_region(const EvaluatedLaunch& launch, const Group& group,
                          const SplitPolicy& policy) {
  MergeRegion region;
  region.mode = MergeMode::kAtomic;
  region.range = group.range;
  region.arguments = arguments_of(launch, group);
  const AccessUse& first = *group.writes.front();
  const Window& window = launch.windows[first.window];
  const auto op = operator_of(first.access->atomic_op);
  region.unit = first.access->size;
  if (op) region.op = *op;
  for (const AccessUse& use : launch.uses) {
    const Window& other = launch.windows[use.window];
    if (other.buffer != group.buffer || !overlap(root_range(launch, use), group.range)) continue;
    const Access& access = *use.access;
    const std::string name = quoted(launch, use);
    if (access.kind == AccessKind::kLoad) {
      return whole_because("argument " + name + " is read where work-items update it atomically",
                           access.line);
    }
    if (access.kind == AccessKind::kStore) {
      return whole_because(
          "argument " + name + " is stored to where work-items update it atomically", access.line);
    }
    if (access.result_used) {
      return whole_because("uses the result of atomic " + access.atomic_op + " on argument " + name,
                           access.line);
    }
    const auto its_op = operator_of(access.atomic_op);
    if (!its_op || (access.size != 4 && access.size != 8)) {
      return whole_because(
          "atomic " + access.atomic_op + " on argument " + name + " cannot be merged", access.line);
    }
    if (its_op == MergeOperator::kFSum && !policy.float_sums) {
      return whole_because("atomics on argument " + name +
                               " add floating-point numbers, whose sum depends on their order "
                               "(TUTTI_FLOAT_SUMS=any allows any)",
                           access.line);
    }
    if (other.origin != window.origin || other.size != window.size) {
      return whole_because("arguments " + quoted(launch, first) + " and " + name +
                               " overlap, and both are updated atomically",
                           access.line);
    }
    if (its_op != op || access.size != region.unit) {
      return whole_because("argument " + name + " is updated by different kinds of atomics",
                           access.line);
    }
  }
  // The elements that atomics can be defined on.
  region.range.begin -= (region.range.begin - window.origin) % region.unit;
  region.range.end -= (region.range.end - window.origin) % region.unit;
  if (window.origin % region.unit != 0 || region.range.empty()) {
    return whole_because("atomics on elements that are not aligned", first.access->line);
  }
  SplitAnswer answer;
  answer.mode = MergeMode::kAtomic;
  answer.reason = "argument " + quoted(launch, first) + " is only updated by atomic " +
                  first.access->atomic_op +
                  ", and no result is used: devices update copies, which are then combined";
  answer.regions.push_back(std::move(region));
  return answer;
}

/// Devices see copies of their own in place of arguments with atomic regions: all that happens
/// there must be in such regions.
SplitAnswer check_copies(const EvaluatedLaunch& launch, SplitAnswer answer) {
  for (const AccessUse& use : launch.uses) {
    const uint32_t argument = launch.windows[use.window].argument;
    const ByteRange range = root_range(launch, use);
    bool copied = false, inside = range.empty();
    for (const MergeRegion& region : answer.regions) {
      const auto& all = region.arguments;
      if (region.mode != MergeMode::kAtomic ||
          std::find(all.begin(), all.end(), argument) == all.end()) {
        continue;
      }
      copied = true;
      inside |= use.access->kind == AccessKind::kAtomic && region.range.begin <= range.begin &&
                range.begin < region.range.end;
    }
    if (copied && !inside) {
      return whole_because("argument " + quoted(launch, use) +
                               " is updated atomically in one part and otherwise used in another",
                           use.access->line);
    }
  }
  return answer;
}

/// A region of which each device has a copy, and what it changed there is taken over.
MergeRegion compared_region(const EvaluatedLaunch& launch, const Group& group) {
  MergeRegion region;
  region.mode = MergeMode::kDiff;
  region.range = group.range;
  region.arguments = arguments_of(launch, group);
  uint64_t unit = kLargestUnit;
  for (const AccessUse* use : group.writes) {
    const Access& access = *use->access;
    if (access.size == 0 || use->offset.unknown()) {
      unit = 1;
      continue;
    }
    unit = std::gcd(unit, uint64_t{access.size});
    unit = std::gcd(unit, static_cast<uint64_t>(use->offset.power_of_two_divisor()));
    const uint64_t origin = launch.windows[use->window].origin;
    if (origin != 0) unit = std::gcd(unit, origin);
  }
  region.unit = static_cast<uint32_t>(unit);
  region.range.begin -= region.range.begin % unit;
  return region;
}

/// Proof obligation of kDiff: the range is written by plain stores only. Two work-groups that store
/// to the same element, or one that reads what another stores, race, which a correct program does
/// not; so every element has at most one work-group that changes it, and all others leave it as it
/// was. (Programs race all the same with equal values, or where any winner will do: elements are
/// taken over whole, so one of the values stored wins here, too.) Reads see the values from before
/// the launch or the same device's, as a whole run may order them.
SplitAnswer diff_region(const EvaluatedLaunch& launch, const Group& group,
                        const SplitPolicy& policy) {
  for (const AccessUse& use : launch.uses) {
    if (!policy.distrust_races || launch.windows[use.window].buffer != group.buffer) continue;
    if (!overlap(root_range(launch, use), group.range)) continue;
    if (use.access->kind == AccessKind::kLoad) {
      return whole_because("argument " + quoted(launch, use) +
                               " is read where other packages may write it (TUTTI_RACES=distrust)",
                           use.access->line);
    }
  }
  const MergeRegion region = compared_region(launch, group);
  // The line that a reader wants is that of the store that scatters.
  const AccessUse* named = group.writes.front();
  for (const AccessUse* use : group.writes) {
    if (use->data && !named->data) named = use;
  }
  SplitAnswer answer;
  answer.mode = MergeMode::kDiff;
  answer.reason = "the stores to argument " + quoted(launch, *named) +
                  in_line(named->access->line) + " scatter: what each device changed is taken over";
  answer.regions.push_back(region);
  return answer;
}

/// Proof obligation of kDiff with `alone`: the kernel may do with atomics what it likes, but no
/// work-item waits for what another work-group does (decides_loop), and plain accesses do not race,
/// as above. Devices begin with the same content. If one of them at most changed what is alone, the
/// launch has ended as if the work-groups of all others had run before, one after the other: each
/// found there what was there before the launch and left it so, and so did the last. That is an
/// order that OpenCL allows. If several changed it, one of them computes the packages of the others
/// too (exec/split_run), on its own copies; what the others wrote is dropped, all of it, which is
/// why everything that the kernel writes must be in such copies.
///
/// That pays only where atomics are seldom executed, by the look of the kernel; or where one device
/// computes all.
std::optional<SplitAnswer> alone_regions(const EvaluatedLaunch& launch, const SplitPolicy& policy) {
  const AccessUse* named = nullptr;
  for (const AccessUse& use : launch.uses) {
    const Access& access = *use.access;
    if (!use.writes()) continue;
    if (launch.summary->arguments[access.argument].kind == ArgKind::kImage) return std::nullopt;
    // What decides_loop was found by takes arguments for different memory.
    for (const AccessUse& other : launch.uses) {
      if (launch.windows[use.window].buffer == launch.windows[other.window].buffer &&
          use.window != other.window &&
          overlap(root_range(launch, use), root_range(launch, other))) {
        return std::nullopt;
      }
    }
    if (access.kind != AccessKind::kAtomic) continue;
    if (access.decides_loop || (!access.seldom && !policy.frequent_atomics)) return std::nullopt;
    if (!named || (access.result_used && !named->access->result_used)) named = &use;
  }
  if (!named) return std::nullopt;
  SplitAnswer answer;
  answer.mode = MergeMode::kDiff;
  answer.alone = true;
  answer.reason = "atomic " + named->access->atomic_op + " on argument " + quoted(launch, *named) +
                  in_line(named->access->line) +
                  (policy.frequent_atomics
                       ? ": one device computes all, as its memory holds it"
                       : " is seldom reached: devices work on copies, and where more than one of "
                         "them changed it, one does the work of the others once more");
  for (const Group& group : groups_of(launch, std::vector<bool>(launch.windows.size(), true))) {
    answer.regions.push_back(compared_region(launch, group));
    answer.regions.back().alone = !group.stores;
  }
  return answer;
}

/// Each group by the kind of its writes.
SplitAnswer regions_by_kind(const EvaluatedLaunch& launch, const std::vector<bool>& together,
                            const SplitPolicy& policy) {
  SplitAnswer result;
  result.mode = MergeMode::kDisjoint;
  for (const Group& group : groups_of(launch, together)) {
    SplitAnswer one =
        group.stores ? diff_region(launch, group, policy) : atomic_region(launch, group, policy);
    if (!one.split()) return one;
    if (one.mode > result.mode) {
      result.mode = one.mode;
      result.reason = std::move(one.reason);
    }
    result.regions.push_back(std::move(one.regions.front()));
  }
  return check_copies(launch, std::move(result));
}

}  // namespace

SplitAnswer merge_regions(const EvaluatedLaunch& launch, const std::vector<bool>& together,
                          const SplitPolicy& policy) {
  SplitAnswer result = regions_by_kind(launch, together, policy);
  if (result.split() || policy.distrust_races) return result;
  return alone_regions(launch, policy).value_or(std::move(result));
}

}  // namespace tutti::scheduler
