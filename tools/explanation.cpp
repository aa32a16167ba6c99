// SPDX-License-Identifier: Apache-2.0
#include "tools/explanation.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "scheduler/plan/pricing.h"
#include "tools/expression_text.h"

namespace tutti::tools {
namespace {

using scheduler::Access;
using scheduler::AccessKind;
using scheduler::ArgKind;
using scheduler::ArgumentUse;
using scheduler::ByteRange;
using scheduler::ExprKind;
using scheduler::KernelSummary;
using scheduler::LaunchAccess;
using scheduler::MergeMode;

constexpr size_t kLongestOffset = 60;
// Offsets that depend on memory content, or may wrap around, are bounded by their type at least.
// Such a bound is worth naming when it is small, like that of the 256 bins of a histogram.
constexpr uint64_t kMeaningfulBound = uint64_t{1} << 30;

/// Slices to look at: all of them, or when there are many the ends and the middle.
std::vector<uint64_t> sampled_slices(uint64_t count) {
  std::vector<uint64_t> samples;
  if (count <= 64) {
    for (uint64_t i = 0; i < count; ++i) samples.push_back(i);
    return samples;
  }
  for (const uint64_t start : {uint64_t{0}, count / 4, count / 2, count / 4 * 3, count - 3}) {
    for (uint64_t i = 0; i < 3; ++i) samples.push_back(start + i);
  }
  return samples;
}

struct Sample {
  uint64_t slice = 0;
  ByteRange range;
};

/// `samples` ascending by slice, none empty.
SliceUse describe_slices(const std::vector<Sample>& samples) {
  SliceUse use;
  for (const Sample& sample : samples) {
    use.bytes = std::max(use.bytes, sample.range.end - sample.range.begin);
  }
  const auto same = [&](const Sample& sample) { return sample.range == samples[0].range; };
  if (std::all_of(samples.begin(), samples.end(), same)) {
    use.pattern = SliceUse::Pattern::kSame;
    return use;
  }
  // Neighbours in the middle tell the rule; those at the edges may have less (guards, halos).
  const auto middle = std::adjacent_find(
      samples.begin() + static_cast<std::ptrdiff_t>((samples.size() - 1) / 2), samples.end(),
      [](const Sample& a, const Sample& b) { return a.slice + 1 == b.slice; });
  if (middle == samples.end()) return use;
  const auto begin = [](const Sample& sample) { return static_cast<int64_t>(sample.range.begin); };
  const int64_t apart = begin(*(middle + 1)) - begin(*middle);
  const uint64_t bytes = middle->range.end - middle->range.begin;
  const bool regular =
      apart != 0 && std::all_of(samples.begin(), samples.end(), [&](const Sample& sample) {
        const int64_t rule = begin(*middle) + apart * (static_cast<int64_t>(sample.slice) -
                                                       static_cast<int64_t>(middle->slice));
        return begin(sample) >= rule &&
               static_cast<int64_t>(sample.range.end) <= rule + static_cast<int64_t>(bytes);
      });
  if (regular) {
    use.pattern = SliceUse::Pattern::kRegular;
    use.bytes = bytes;
    use.apart = apart;
  }
  return use;
}

/// By expression, whether it depends on something unknown. Operands come before their users.
std::vector<bool> unknown_expressions(const KernelSummary& kernel) {
  std::vector<bool> unknown(kernel.exprs.size());
  for (size_t i = 0; i < unknown.size(); ++i) {
    const scheduler::Expr& expr = kernel.exprs[i];
    unknown[i] = expr.kind == ExprKind::kUnknown ||
                 std::any_of(expr.operands.begin(), expr.operands.end(),
                             [&](uint32_t operand) { return unknown[operand]; });
  }
  return unknown;
}

class Explainer {
 public:
  Explainer(const KernelSummary& kernel, const ChosenLaunch& launch, const LaunchAccess& access)
      : kernel_(kernel), launch_(launch), access_(access), unknown_(unknown_expressions(kernel)) {}

  KernelExplanation run() {
    KernelExplanation result;
    result.name = kernel_.name;
    result.file = kernel_.file;
    result.verdict = access_.verdict();
    result.split = result.verdict.mode != MergeMode::kWhole;
    if (launch_.shape.items() < scheduler::kWorthSplittingItems) {
      result.unprofitable = scheduler::kTooShort;
    }
    result.analysed = kernel_.whole_reason.empty();
    result.needs_rewrite = kernel_.needs_rewrite;
    result.shape = launch_.shape;
    result.global_given = launch_.global_given;
    result.local_given = launch_.local_given;
    choose_slices(result);
    for (size_t i = 0; i < kernel_.arguments.size(); ++i) {
      result.arguments.push_back(argument(static_cast<uint32_t>(i), result));
    }
    return result;
  }

 private:
  using TouchKey = std::tuple<std::string, uint32_t, uint32_t>;

  void choose_slices(KernelExplanation& result) {
    const auto& shape = launch_.shape;
    result.slice_dimension = result.verdict.dimension;
    for (uint32_t d = 3; !result.split && d-- > 0;) {
      result.slice_dimension = d;
      if (shape.groups(d) > 1) break;
    }
    result.slices = shape.groups(result.slice_dimension);
    result.slice_items = shape.local[result.slice_dimension];
    for (uint32_t d = 0; d < 3; ++d) {
      if (d != result.slice_dimension) result.slice_items *= shape.global[d];
    }
    if (!result.analysed) return;
    for (const uint64_t slice : sampled_slices(result.slices)) {
      packages_.emplace_back(slice, access_.package(result.slice_dimension, slice, 1));
    }
  }

  ArgumentExplanation argument(uint32_t index, const KernelExplanation& kernel) {
    ArgumentExplanation result;
    result.declared = kernel_.arguments[index];
    result.value = launch_.values[index];
    const ArgKind kind = result.declared.kind;
    if (kind != ArgKind::kGlobal && kind != ArgKind::kConstant && kind != ArgKind::kImage) {
      return result;
    }
    if (!kernel.analysed) {
      result.read.used = result.read.whole_buffer = result.declared.access != "write_only";
      result.written.used = result.written.whole_buffer =
          kind == ArgKind::kGlobal ||
          (kind == ArgKind::kImage && result.declared.access != "read_only");
      return result;
    }
    result.only_atomics = true;
    std::set<TouchKey> reads;
    std::set<TouchKey> writes;
    bool unknown_read = false;
    bool unknown_write = false;
    for (const Access& access : kernel_.accesses) {
      if (access.argument != index) continue;
      const bool unknown = access.size == 0 || unknown_[access.offset];
      if (access.kind != AccessKind::kStore) {
        unknown_read |= unknown;
        add_touch(access, kernel.shape.dims, reads, result.read);
      }
      if (access.kind != AccessKind::kLoad) {
        unknown_write |= unknown;
        add_touch(access, kernel.shape.dims, writes, result.written);
      }
      result.only_atomics &= access.kind == AccessKind::kAtomic;
      result.atomic_results_used |= access.result_used;
      auto& atomics = result.atomics;
      if (access.kind == AccessKind::kAtomic &&
          std::find(atomics.begin(), atomics.end(), access.atomic_op) == atomics.end()) {
        atomics.push_back(access.atomic_op);
      }
    }
    result.only_atomics &= !result.atomics.empty();
    describe(
        index, [](const ArgumentUse& use) { return use.read.range; }, unknown_read, result.read);
    describe(index, first_written, unknown_write, result.written);
    for (const auto& [slice, uses] : packages_) {
      const ArgumentUse* use = find(uses, index);
      if (use == nullptr) continue;
      result.merge = use->merge;
      result.written.period = use->write.period;
    }
    result.written.every_byte = result.written.slice && overwritten(index);
    return result;
  }

  /// Each once.
  void add_touch(const Access& access, uint32_t dims, std::set<TouchKey>& known,
                 Direction& direction) const {
    Touch touch;
    touch.offset = expression_text(kernel_, access.offset, dims, kLongestOffset);
    touch.size = access.size;
    touch.line = access.line;
    if (known.emplace(touch.offset, touch.size, touch.line).second) {
      direction.touches.push_back(std::move(touch));
    }
  }

  static const ArgumentUse* find(const std::vector<ArgumentUse>& uses, uint32_t argument) {
    const auto at = std::find_if(uses.begin(), uses.end(),
                                 [&](const ArgumentUse& use) { return use.argument == argument; });
    return at == uses.end() ? nullptr : &*at;
  }

  /// The written range, or the first strip of it.
  static ByteRange first_written(const ArgumentUse& use) {
    ByteRange first = use.write.range;
    if (use.write.strided()) {
      bool found = false;
      use.write.for_each([&](uint64_t begin, uint64_t end) {
        if (!found) first = {begin, end};
        found = true;
      });
    }
    return first;
  }

  void describe(uint32_t argument, ByteRange (*range)(const ArgumentUse&), bool unknown,
                Direction& direction) {
    const ArgumentUse* whole = find(access_.whole(), argument);
    if (whole == nullptr || range(*whole).empty()) return;
    direction.used = true;
    direction.launch = range(*whole);
    std::vector<Sample> samples;
    for (const auto& [slice, uses] : packages_) {
      const ArgumentUse* use = find(uses, argument);
      if (use != nullptr && !range(*use).empty()) samples.push_back({slice, range(*use)});
    }
    if (!samples.empty()) {
      direction.slice = describe_slices(samples);
      direction.slice->all = samples.size() == packages_.size();
    }
    const uint64_t window = launch_.arguments[argument].size;
    const bool all = direction.launch.begin == 0 && direction.launch.end == window;
    // A bound that comes from the index's type alone is the same for every slice.
    const bool alike = !direction.slice || direction.slice->pattern == SliceUse::Pattern::kSame;
    const bool far = direction.launch.end - direction.launch.begin >= kMeaningfulBound;
    direction.whole_buffer =
        (unknown && (all || far)) || (window == kLargeBuffer && (all || (far && alike)));
    if (!direction.whole_buffer) return;
    direction.launch = {0, window};
    direction.slice.reset();
  }

  bool overwritten(uint32_t argument) const {
    return std::all_of(packages_.begin(), packages_.end(), [&](const auto& package) {
      const ArgumentUse* use = find(package.second, argument);
      return use == nullptr || use->write.empty() || use->overwrites;
    });
  }

  const KernelSummary& kernel_;
  const ChosenLaunch& launch_;
  const LaunchAccess& access_;
  const std::vector<bool> unknown_;  // by expression
  std::vector<std::pair<uint64_t, std::vector<ArgumentUse>>> packages_;
};

}  // namespace

KernelExplanation explain(const KernelSummary& kernel, const ChosenLaunch& launch) {
  const LaunchAccess access = LaunchAccess::evaluate(kernel, launch.shape, launch.arguments);
  return Explainer(kernel, launch, access).run();
}

}  // namespace tutti::tools
