// SPDX-License-Identifier: Apache-2.0
#include "scheduler/access/split_rule.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "scheduler/access/merge_rule.h"
#include "scheduler/access/strided_accesses.h"

namespace tutti::scheduler {

using affine::Interval;
using affine::Term;
using affine::Wide;

namespace {

/// What one argument's stores do, slice by slice: those in one slice s write bytes
/// [step·s + begin, step·s + end) of the root buffer at most.
struct Writes {
  const AccessUse* use = nullptr;  // one of them, to be named
  bool any = false;
  bool single = true;  // all of them execute in slice `slice` only; then step is 0
  Wide slice = 0;
  Wide step = 0;
  Interval bytes;   // [begin, end]: end is exclusive
  Interval launch;  // of the whole launch, within the window; end exclusive
};

/// The same bytes as seen with another step; only right for stores of a single slice.
Interval rebased(const Writes& writes, Wide step) {
  if (!writes.single) return writes.bytes;
  const Wide shift = step * writes.slice;
  return {writes.bytes.lo - shift, writes.bytes.hi - shift};
}

/// The offset grows with a loop by at least a slice's step, or is a wrapping function of a loop.
bool strides_over_slices(const AccessUse& use, const AccessDomain& domain, Wide step) {
  const Wide least = step < 0 ? -step : step;
  return std::any_of(use.offset.begin(), use.offset.end(), [&](const Term& term) {
    const Wide factor = term.factor < 0 ? -Wide{term.factor} : Wide{term.factor};
    if (domain.symbols()[term.symbol].kind == SymbolKind::kLoop)
      return least > 0 && factor >= least;
    return domain.symbols()[term.symbol].kind == SymbolKind::kWrap && domain.loop_count() > 0;
  });
}

std::string not_known(const EvaluatedLaunch& launch, const AccessUse& use) {
  return "writes argument " + quoted(launch, use) +
         " at an index that is not known before the launch, for example read from memory";
}

SplitAnswer meets(const EvaluatedLaunch& launch, const AccessUse& use, Wide step) {
  const uint32_t line = use.access->line;
  const AccessDomain& domain = launch.domains[use.domain];
  if (use.data) return whole_because(not_known(launch, use), line);
  const std::string hint = strides_over_slices(use, domain, step) ? " (grid-stride loop?)" : "";
  if (step != 0) {
    return whole_because(
        "the writes of neighbouring slices of argument " + quoted(launch, use) + " meet" + hint,
        line);
  }
  const bool plain = std::all_of(use.offset.begin(), use.offset.end(), [&](const Term& term) {
    return term.symbol < kIdSymbols + domain.loop_count();
  });
  return whole_because(plain ? "every slice writes the same part of argument " + quoted(launch, use)
                             : "the writes of different slices of argument " + quoted(launch, use) +
                                   " cannot be told apart" + hint,
                       line);
}

/// Joins one more store to an argument's writes; false when they cannot be described as one.
bool join(Writes& writes, const AccessUse& use, uint32_t dimension, const Window& window) {
  const affine::Band& band = use.slice[dimension];
  const Interval& slices = use.slices[dimension];
  Writes other;
  other.use = &use;
  other.any = true;
  other.single = slices.lo == slices.hi;
  other.slice = slices.lo;
  const Wide origin = window.origin;
  if (other.single) {
    other.bytes = {origin + use.launch.lo, origin + use.launch.hi + use.access->size};
  } else {
    other.step = band.step;
    other.bytes = {origin + band.rest.lo, origin + band.rest.hi + use.access->size};
  }
  const Wide end = origin + window.size;
  other.launch = {std::max(origin, origin + use.launch.lo),
                  std::min(end, origin + use.launch.hi + use.access->size)};
  if (!writes.any) {
    writes = other;
    return true;
  }
  const bool both_single = writes.single && other.single;
  if (both_single ? writes.slice != other.slice
                  : !writes.single && !other.single && writes.step != other.step) {
    return false;
  }
  const Wide step = writes.single ? other.step : writes.step;
  const Interval bytes = hull(rebased(writes, step), rebased(other, step));
  const Interval range = hull(writes.launch, other.launch);
  if (writes.single && !other.single) writes = other;
  writes.step = step;
  writes.bytes = both_single ? hull(writes.bytes, other.bytes) : bytes;
  writes.launch = range;
  return true;
}

}  // namespace

SplitAnswer may_split_at_all(const EvaluatedLaunch& launch) {
  const KernelSummary& summary = *launch.summary;
  if (!summary.whole_reason.empty()) {
    return whole_because(summary.whole_reason, summary.whole_line);
  }
  for (const Argument& argument : summary.arguments) {
    if (argument.kind == ArgKind::kOther ||
        (argument.kind == ArgKind::kImage && argument.access == "read_write")) {
      return whole_because("argument '" + argument.name + "' is of a kind that cannot be split (" +
                               argument.type_name + ")",
                           0);
    }
  }
  for (const AccessUse& use : launch.uses) {
    const Access& access = *use.access;
    const bool global = summary.arguments[access.argument].kind == ArgKind::kGlobal;
    if (access.is_volatile && global) {
      return whole_because("argument " + quoted(launch, use) + " is accessed as volatile",
                           access.line);
    }
  }
  if (launch.shape.groups(0) < 2 && launch.shape.groups(1) < 2 && launch.shape.groups(2) < 2) {
    return whole_because("the launch has a single work-group", 0);
  }
  SplitAnswer answer;
  answer.mode = MergeMode::kDisjoint;
  return answer;
}

namespace {

/// The proof by boxes, along one dimension.
class BoxProof {
 public:
  BoxProof(const EvaluatedLaunch& launch, uint32_t dimension, std::vector<bool> with_loads)
      : launch_(launch),
        dimension_(dimension),
        with_loads_(std::move(with_loads)),
        all_(launch.windows.size()),
        refusals_(launch.windows.size()) {
    for (const AccessUse& use : launch.uses) {
      if (counts(use) && !refusals_[use.window]) add(use);
    }
    for (uint32_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].any) continue;
      if (!refusals_[i]) check_alone(i);
      for (uint32_t j = 0; j < i; ++j) {
        if (all_[j].any && launch.windows[i].buffer == launch.windows[j].buffer) check_pair(j, i);
      }
    }
  }

  /// Why a window's writes are not apart; none where they are.
  const std::vector<std::optional<SplitAnswer>>& refusals() const { return refusals_; }

  std::string reason() const {
    bool any = false;
    for (const Writes& writes : all_) {
      any |= writes.any;
      if (!writes.any || writes.single) continue;
      const Wide distance = writes.step < 0 ? -writes.step : writes.step;
      return "writes of argument " + quoted(launch_, *writes.use) + " are " +
             std::to_string(static_cast<int64_t>(distance)) + " bytes apart per slice";
    }
    return any ? "only one slice writes" : "the kernel writes no buffer";
  }

 private:
  bool counts(const AccessUse& use) const { return use.writes() || with_loads_[use.window]; }

  void refuse(uint32_t window, SplitAnswer answer) {
    if (!refusals_[window]) refusals_[window] = std::move(answer);
  }

  void add(const AccessUse& use) {
    Writes& writes = all_[use.window];
    const auto unknown = [&](SplitAnswer answer) {
      refuse(use.window, std::move(answer));
      writes.any = true;
      writes.use = &use;
      const Window& window = launch_.windows[use.window];
      writes.launch = {Wide{window.origin}, Wide{window.origin} + window.size};
    };
    const Access& access = *use.access;
    const std::string does = use.writes() ? "writes" : "reads";
    if (access.size == 0) {
      return unknown(whole_because(does + " an unknown part of argument " + quoted(launch_, use),
                                   access.line));
    }
    if (!use.bounded) {
      return unknown(use.data ? whole_because(not_known(launch_, use), access.line)
                              : whole_because(does + " argument " + quoted(launch_, use) +
                                                  " at an index without a known bound",
                                              access.line));
    }
    const bool stepless = use.slices[dimension_].lo == use.slices[dimension_].hi;
    if (!stepless && !use.slice[dimension_].rest.bounded()) return unknown(meets(launch_, use, 0));
    if (!join(writes, use, dimension_, launch_.windows[use.window])) {
      return unknown(whole_because("the stores to argument " + quoted(launch_, use) +
                                       " advance differently from slice to slice",
                                   access.line));
    }
  }

  void check_alone(uint32_t i) {
    const Writes& a = all_[i];
    const Wide distance = a.step < 0 ? -a.step : a.step;
    if (a.single || distance >= a.bytes.hi - a.bytes.lo) return;
    // Name the store that spoils it, not merely the first.
    for (const AccessUse& use : launch_.uses) {
      if (!counts(use) || use.window != i) continue;
      const Interval& rest = use.slice[dimension_].rest;
      if (distance < rest.hi - rest.lo + use.access->size) {
        return refuse(i, meets(launch_, use, a.step));
      }
    }
    refuse(i, meets(launch_, *a.use, a.step));
  }

  void check_pair(uint32_t i, uint32_t j) {
    const Writes& a = all_[i];
    const Writes& b = all_[j];
    if (a.launch.hi <= b.launch.lo || b.launch.hi <= a.launch.lo) return;
    bool apart = false;
    if (refusals_[i] || refusals_[j]) {
      // Nothing is known of at least one of them.
    } else if (a.single && b.single) {
      apart = a.slice == b.slice;
    } else if (a.single || b.single || a.step == b.step) {
      const Wide step = a.single ? b.step : a.step;
      const Interval bytes = hull(rebased(a, step), rebased(b, step));
      apart = (step < 0 ? -step : step) >= bytes.hi - bytes.lo;
    }
    if (apart) return;
    const auto answer =
        whole_because("arguments " + quoted(launch_, *a.use) + " and " + quoted(launch_, *b.use) +
                          " share memory, and what different slices write there meets",
                      b.use->access->line);
    refuse(i, answer);
    refuse(j, answer);
  }

  const EvaluatedLaunch& launch_;
  const uint32_t dimension_;
  const std::vector<bool> with_loads_;
  std::vector<Writes> all_;  // by window
  std::vector<std::optional<SplitAnswer>> refusals_;
};

/// Windows whose loads count: another work-group may have written what they see.
std::vector<bool> windows_with_loads(const EvaluatedLaunch& launch, const SplitPolicy& policy) {
  std::vector<bool> result(launch.windows.size());
  for (const AccessUse& use : launch.uses) {
    if (use.access->kind != AccessKind::kAtomic && !(policy.distrust_races && use.writes()))
      continue;
    for (uint32_t i = 0; i < result.size(); ++i) {
      result[i] = result[i] || launch.windows[i].buffer == launch.windows[use.window].buffer;
    }
  }
  return result;
}

/// No other window of the same root buffer reaches into what the launch does to this one.
bool alone(const EvaluatedLaunch& launch, uint32_t window, bool with_loads) {
  const Window& mine = launch.windows[window];
  return std::none_of(launch.uses.begin(), launch.uses.end(), [&](const AccessUse& use) {
    const Window& other = launch.windows[use.window];
    return use.window != window && other.buffer == mine.buffer && (use.writes() || with_loads) &&
           other.origin < mine.origin + mine.size && mine.origin < other.origin + other.size;
  });
}

}  // namespace

SplitAnswer may_split_along(const EvaluatedLaunch& launch, uint32_t dimension,
                            const SplitPolicy& policy) {
  const std::vector<bool> with_loads = windows_with_loads(launch, policy);
  const BoxProof boxes(launch, dimension, with_loads);
  SplitAnswer answer;
  answer.mode = MergeMode::kDisjoint;
  answer.reason = boxes.reason();
  std::vector<bool> together(launch.windows.size());
  const SplitAnswer* refusal = nullptr;
  for (uint32_t i = 0; i < launch.windows.size(); ++i) {
    if (!boxes.refusals()[i]) continue;
    if (alone(launch, i, with_loads[i])) {
      const StridedAccesses strided = strided_accesses(
          launch, i, dimension, with_loads[i] ? Accesses::kAll : Accesses::kWrites);
      if (strided.period != 0) {
        answer.strided.resize(launch.windows.size());
        answer.strided[i] = strided;
        answer.reason = "writes of argument " +
                        quoted(*launch.summary, launch.windows[i].argument) + " repeat every " +
                        std::to_string(strided.period) + " bytes, where slices are " +
                        std::to_string(std::abs(strided.step)) + " bytes apart";
        continue;
      }
    }
    // Vendors' copies of images cannot be compared.
    if (launch.summary->arguments[launch.windows[i].argument].kind == ArgKind::kImage) {
      return *boxes.refusals()[i];
    }
    together[i] = true;
    if (!refusal) refusal = &*boxes.refusals()[i];
  }
  if (!refusal) return answer;
  SplitAnswer merged = merge_regions(launch, together, policy);
  if (!merged.alone) merged.strided = std::move(answer.strided);
  if (merged.mode == MergeMode::kDisjoint) merged.reason = std::move(answer.reason);
  return merged;
}

}  // namespace tutti::scheduler
