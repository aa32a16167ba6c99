// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/split_rule.h"

#include <algorithm>

namespace tutti::scheduler {

using affine::Interval;
using affine::Term;
using affine::Wide;

namespace {

std::string quoted(const EvaluatedLaunch& launch, const AccessUse& use) {
  const Argument& argument = launch.summary->arguments[use.access->argument];
  return argument.name.empty() ? "number " + std::to_string(use.access->argument)
                               : "'" + argument.name + "'";
}

std::string at_line(uint32_t line) {
  return line == 0 ? std::string() : " (line " + std::to_string(line) + ")";
}

SplitAnswer no(std::string reason, uint32_t line) {
  return {false, std::move(reason) + at_line(line), line};
}

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
  if (use.data) return no(not_known(launch, use), line);
  const std::string hint = strides_over_slices(use, domain, step) ? " (grid-stride loop?)" : "";
  if (step != 0) {
    return no(
        "the writes of neighbouring slices of argument " + quoted(launch, use) + " meet" + hint,
        line);
  }
  const bool plain = std::all_of(use.offset.begin(), use.offset.end(), [&](const Term& term) {
    return term.symbol < kIdSymbols + domain.loop_count();
  });
  return no(plain ? "every slice writes the same part of argument " + quoted(launch, use)
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
  if (!summary.whole_reason.empty()) return no(summary.whole_reason, summary.whole_line);
  for (const Argument& argument : summary.arguments) {
    const bool image_written = argument.kind == ArgKind::kImage && argument.access != "read_only";
    if (image_written || argument.kind == ArgKind::kOther) {
      return no("argument '" + argument.name + "' is of a kind that cannot be split yet (" +
                    argument.type_name + ")",
                0);
    }
  }
  for (const AccessUse& use : launch.uses) {
    const Access& access = *use.access;
    if (access.kind == AccessKind::kAtomic) {
      return no("atomic " + access.atomic_op + " on argument " + quoted(launch, use) +
                    " (merge of atomics not available yet)",
                access.line);
    }
    const bool global = summary.arguments[access.argument].kind == ArgKind::kGlobal;
    if (access.is_volatile && global) {
      return no("argument " + quoted(launch, use) + " is accessed as volatile", access.line);
    }
  }
  if (launch.shape.groups(0) < 2 && launch.shape.groups(1) < 2 && launch.shape.groups(2) < 2) {
    return no("the launch has a single work-group", 0);
  }
  for (const AccessUse& use : launch.uses) {
    if (!use.writes()) continue;
    const Access& access = *use.access;
    if (access.size == 0) {
      return no("writes an unknown part of argument " + quoted(launch, use), access.line);
    }
    if (use.bounded) continue;
    return no(use.data
                  ? not_known(launch, use)
                  : "writes argument " + quoted(launch, use) + " at an index without a known bound",
              access.line);
  }
  return {true, {}, 0};
}

SplitAnswer may_split_along(const EvaluatedLaunch& launch, uint32_t dimension) {
  std::vector<Writes> all(launch.windows.size());
  for (const AccessUse& use : launch.uses) {
    if (!use.writes()) continue;
    const bool stepless = use.slices[dimension].lo == use.slices[dimension].hi;
    if (!stepless && !use.slice[dimension].rest.bounded()) return meets(launch, use, 0);
    if (!join(all[use.window], use, dimension, launch.windows[use.window])) {
      return no("the stores to argument " + quoted(launch, use) +
                    " advance differently from slice to slice",
                use.access->line);
    }
  }
  const Writes* stepping = nullptr;
  for (size_t i = 0; i < all.size(); ++i) {
    const Writes& a = all[i];
    if (!a.any) continue;
    const Wide distance = a.step < 0 ? -a.step : a.step;
    if (!a.single && distance < a.bytes.hi - a.bytes.lo) {
      // Name the store that spoils it, not merely the first.
      for (const AccessUse& use : launch.uses) {
        if (!use.writes() || use.window != i) continue;
        const Interval& rest = use.slice[dimension].rest;
        if (distance < rest.hi - rest.lo + use.access->size) return meets(launch, use, a.step);
      }
      return meets(launch, *a.use, a.step);
    }
    if (!a.single && stepping == nullptr) stepping = &a;
    for (size_t j = 0; j < i; ++j) {
      const Writes& b = all[j];
      if (!b.any || launch.windows[i].buffer != launch.windows[j].buffer) continue;
      if (a.launch.hi <= b.launch.lo || b.launch.hi <= a.launch.lo) continue;
      bool apart = false;
      if (a.single && b.single) {
        apart = a.slice == b.slice;
      } else if (a.single || b.single || a.step == b.step) {
        const Wide step = a.single ? b.step : a.step;
        const Interval bytes = hull(rebased(a, step), rebased(b, step));
        apart = (step < 0 ? -step : step) >= bytes.hi - bytes.lo;
      }
      if (!apart) {
        return no("arguments " + quoted(launch, *b.use) + " and " + quoted(launch, *a.use) +
                      " share memory, and what different slices write there meets",
                  a.use->access->line);
      }
    }
  }
  if (stepping == nullptr) {
    const bool writes = std::any_of(all.begin(), all.end(), [](const Writes& w) { return w.any; });
    return {true, writes ? "only one slice writes" : "the kernel writes no buffer", 0};
  }
  const Wide distance = stepping->step < 0 ? -stepping->step : stepping->step;
  return {true,
          "writes of argument " + quoted(launch, *stepping->use) + " are " +
              std::to_string(static_cast<int64_t>(distance)) + " bytes apart per slice",
          0};
}

}  // namespace tutti::scheduler
