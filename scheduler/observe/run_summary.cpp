// SPDX-License-Identifier: Apache-2.0
#include "scheduler/observe/run_summary.h"

#include <algorithm>

#include "base/clock.h"

namespace tutti::scheduler {
namespace {

// A kernel's launches are told apart by so many verdicts; a program that makes more of them (each
// with a number of its own in its words) would fill memory.
constexpr size_t kMostKinds = 16;

}  // namespace

RunSummary::Kind& RunSummary::kind_of(Entry& entry, bool split, KernelPlan::Why why, MergeMode mode,
                                      const std::string& forbids) {
  Kind* last = nullptr;
  size_t count = 0;
  for (Kind& kind : entry.kinds) {
    if (kind.split != split) continue;
    if (kind.why == why && kind.mode == mode && kind.whole.forbids == forbids) return kind;
    last = &kind;
    ++count;
  }
  if (count == kMostKinds) return *last;
  Kind& made = entry.kinds.emplace_back();
  made.split = split;
  made.why = why;
  made.mode = mode;
  return made;
}

void RunSummary::launched_whole(const KernelWork& work, const KernelPlan& plan, uint32_t device) {
  if (!enabled()) return;
  static const auto& nothing = *new std::string;
  const Verdict* verdict = plan.verdict();
  const bool forbidden = verdict && verdict->mode == MergeMode::kWhole;
  MutexLock lock(mutex_);
  beside_others_ += plan.beside_others ? 1 : 0;
  Entry& entry = kernels_[work.kernel->summary().name];
  Kind& kind =
      kind_of(entry, false, plan.why, MergeMode::kWhole, forbidden ? verdict->reason : nothing);
  // Small launches come by the thousand, and mostly for the same reason.
  const std::string& known = forbidden ? kind.whole.forbids : kind.whole.otherwise;
  if (kind.launches == 0 || plan.why == KernelPlan::Why::kDearer ||
      plan.why == KernelPlan::Why::kObjective || (verdict && known != verdict->reason)) {
    WholeReasons reasons = plan.whole_reasons();
    kind.varies |= kind.launches > 0 && reasons.text() != kind.reason();
    kind.whole = std::move(reasons);
    kind.line = forbidden ? verdict->line : 0;
  }
  ++kind.launches;
  Runs& runs = entry.runs[{model_key(work), device}];
  ++runs.launches;
  runs.items += static_cast<double>(work.shape.items());
}

void RunSummary::measured_whole(const std::string& kernel, uint64_t key, uint64_t items,
                                uint32_t device, double seconds) {
  if (!enabled() || seconds <= 0) return;
  MutexLock lock(mutex_);
  Runs& runs = kernels_[kernel].runs[{key, device}];
  ++runs.measured;
  runs.measured_items += static_cast<double>(items);
  runs.seconds += seconds;
}

double RunSummary::best_alone(const KernelWork& work, const KernelPlan& plan,
                              const std::vector<PackageRecord>& packages) const {
  struct Part {
    uint64_t slices = 0, busy_ns = 0, until_ns = 0;
  };
  std::map<uint32_t, Part> parts;
  std::vector<const PackageRecord*> in_order;
  for (const PackageRecord& package : packages) in_order.push_back(&package);
  std::sort(in_order.begin(), in_order.end(),
            [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  for (const PackageRecord* package : in_order) {
    Part& part = parts[package->device];
    part.slices += package->count;
    const uint64_t from = std::max(package->start_ns, part.until_ns);
    if (package->end_ns > from) part.busy_ns += package->end_ns - from;
    part.until_ns = std::max(part.until_ns, package->end_ns);
  }
  const auto slices = static_cast<double>(plan.shape.groups(plan.access->verdict().dimension));
  double best = 0;
  const auto take = [&best](double seconds) {
    if (seconds > 0 && (best == 0 || seconds < best)) best = seconds;
  };
  for (uint32_t i = 0; i < backends_.count(); ++i) {
    const auto part = parts.find(i);
    if (part != parts.end() && part->second.slices > 0) {
      take(static_cast<double>(part->second.busy_ns) * 1e-9 * slices /
           static_cast<double>(part->second.slices));
    } else if (i < backends_.real_count()) {
      // It took no part: by what is known of it.
      take(backends_.model()
               .fit(model_key(work), i)
               .predict(static_cast<double>(plan.shape.items())));
    }
  }
  return best;
}

void RunSummary::launched_split(const KernelWork& work, const KernelPlan& plan,
                                std::vector<PackageRecord> packages, double seconds,
                                bool repeated) {
  if (!enabled()) return;
  const double alone = best_alone(work, plan, packages);
  const Verdict& verdict = plan.access->verdict();
  MutexLock lock(mutex_);
  beside_others_ += plan.beside_others ? 1 : 0;
  Entry& entry = kernels_[work.kernel->summary().name];
  Kind& kind = kind_of(entry, true, KernelPlan::Why::kVerdict, verdict.mode, {});
  if (kind.how != verdict.reason) {
    kind.varies |= kind.launches > 0;
    kind.how = verdict.reason;
    kind.line = verdict.line;
  }
  ++kind.launches;
  ++entry.split;
  if (repeated) ++entry.repeated;
  if (plan.streamed()) ++entry.streamed;
  if (!plan.panels.empty()) ++entry.panels;
  entry.split_seconds += seconds;
  if (alone > 0 && seconds > 0) {
    entry.alone_seconds += alone;
    entry.compared_seconds += seconds;
  }
  entry.dimension = verdict.dimension;
  entry.shape = plan.shape;
  entry.packages = std::move(packages);
}

std::optional<double> RunSummary::Numbers::gain() const {
  if (alone_seconds <= 0 || compared_seconds <= 0) return std::nullopt;
  return alone_seconds / compared_seconds;
}

RunSummary::Numbers RunSummary::numbers_of(const Entry& entry) const {
  Numbers numbers;
  for (const auto& [where, runs] : entry.runs) {
    WholeTime time{runs.launches, std::min(runs.measured, runs.launches), 0, runs.seconds};
    if (const uint64_t others = time.launches - time.measured; others > 0) {
      const TimeFit fit = backends_.model().fit(where.first, where.second);
      const double items = std::max(0.0, runs.items - runs.measured_items);
      if (!fit.empty()) {
        time.seconds += static_cast<double>(others) * fit.startup() + items / fit.rate();
      } else if (runs.measured > 0) {
        time.seconds +=
            runs.seconds / static_cast<double>(runs.measured) * static_cast<double>(others);
      } else {
        time.unknown = others;
      }
    }
    for (WholeTime* sum : {&numbers.whole, &numbers.devices[where.second]}) {
      sum->launches += time.launches;
      sum->measured += time.measured;
      sum->unknown += time.unknown;
      sum->seconds += time.seconds;
    }
  }
  numbers.split = entry.split;
  numbers.split_seconds = entry.split_seconds;
  numbers.alone_seconds = entry.alone_seconds;
  numbers.compared_seconds = entry.compared_seconds;
  return numbers;
}

std::pair<std::vector<RunSummary::Shown>, RunSummary::Numbers> RunSummary::by_time() const {
  std::vector<Shown> kernels;
  Numbers total;
  for (const auto& [name, entry] : kernels_) {
    const Shown& shown = kernels.emplace_back(Shown{&name, &entry, numbers_of(entry)});
    const Numbers& numbers = shown.numbers;
    total.whole.launches += numbers.whole.launches;
    total.whole.measured += numbers.whole.measured;
    total.whole.unknown += numbers.whole.unknown;
    total.whole.seconds += numbers.whole.seconds;
    total.split += numbers.split;
    total.split_seconds += numbers.split_seconds;
    total.alone_seconds += numbers.alone_seconds;
    total.compared_seconds += numbers.compared_seconds;
  }
  std::stable_sort(kernels.begin(), kernels.end(), [](const Shown& a, const Shown& b) {
    return a.numbers.seconds() > b.numbers.seconds();
  });
  return {std::move(kernels), total};
}

backends::Traffic RunSummary::traffic() const {
  backends::Traffic sum;
  for (uint32_t i = 0; i < backends_.count(); ++i) {
    const backends::Traffic of = backends_.at(i).traffic();
    sum.to_device += of.to_device;
    sum.to_host += of.to_host;
  }
  return sum;
}

}  // namespace tutti::scheduler
