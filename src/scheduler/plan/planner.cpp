// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/planner.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "scheduler/plan/image_layout.h"
#include "scheduler/plan/local_size.h"

namespace tutti::scheduler {
namespace {

// Below this predicted time a split costs more than it brings: waking the workers, one package each
// and the directory's bookkeeping take some tens of microseconds (docs/platform-notes.md).
constexpr double kWorthSplittingSeconds = 200e-6;
// With nothing known of a kernel, launches of fewer work-items than this are not split.
constexpr uint64_t kWorthSplittingItems = 2048;
// What merging is reckoned with, on the safe side of what hosts and links do.
constexpr double kCopiesBytesPerSecond = 4e9;
constexpr double kTransferBytesPerSecond = 6e9;
constexpr uint64_t kGpuItemsPerUnit = 2048;  // resident work-items of one GPU compute unit

uint64_t items_of(const LaunchShape& shape) {
  return shape.global[0] * shape.global[1] * shape.global[2];
}

/// Arguments as the evaluation wants them. Lives as long as that takes.
struct ArgumentValues {
  explicit ArgumentValues(const ArgumentSet& arguments)
      : values(arguments.size()), layouts(arguments.size()) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ArgumentSlot& slot = arguments[i];
      if (slot.kind == ArgumentSlot::Kind::kBytes) values[i].scalar = slot.bytes;
      if (slot.kind != ArgumentSlot::Kind::kBuffer || !slot.view.buffer) continue;
      values[i].buffer = slot.view.buffer->id();
      values[i].origin = slot.view.origin;
      values[i].size = slot.view.size;
      const backends::ImageShape* shape =
          slot.image ? &slot.image->shape() : slot.view.buffer->image();
      if (!shape) continue;
      layouts[i] = {shape->row_pitch, static_cast<uint32_t>(shape->extent[0]),
                    static_cast<uint32_t>(shape->extent[1])};
      values[i].scalar = std::as_bytes(std::span(&layouts[i], 1));
    }
  }
  std::vector<ArgumentValue> values;
  std::vector<ImageLayout> layouts;
};

}  // namespace

std::string KernelPlan::reason() const {
  if (split) return access->verdict().reason;
  switch (why) {
    case Why::kOneDevice:
      return "only one device can run it";
    case Why::kSingle:
      return "TUTTI_BALANCER=single";
    case Why::kNever:
      return "TUTTI_SPLIT=never";
    case Why::kSmall:
      return "too short to gain from a split";
    case Why::kFewGroups:
      return "too few work-groups to divide";
    case Why::kMerge:
      return "merging would take longer than a split gains; otherwise: " + access->verdict().reason;
    case Why::kVerdict:
      break;
  }
  return access ? access->verdict().reason : std::string();
}

uint64_t written_arguments(const KernelSummary& summary) {
  if (!summary.whole_reason.empty()) {
    uint64_t bits = 0;
    for (size_t i = 0; i < summary.arguments.size(); ++i) {
      const Argument& argument = summary.arguments[i];
      const bool only_read = argument.kind == ArgKind::kConstant ||
                             (argument.kind == ArgKind::kImage && argument.access == "read_only");
      if (!only_read) bits |= 1ull << std::min<size_t>(i, 63);
    }
    return bits;
  }
  uint64_t bits = 0;
  for (const Access& access : summary.accesses) {
    if (access.kind != AccessKind::kLoad) bits |= 1ull << std::min<uint32_t>(access.argument, 63);
  }
  return bits;
}

Planner::Planner(BackendSet& backends, PerformanceModel& model, const EngineSettings& settings)
    : backends_(backends), model_(model), settings_(settings) {}

std::vector<uint32_t> Planner::candidates(const KernelWork& work, BackendMask allowed) const {
  uint64_t largest = 0;
  for (const ArgumentSlot& slot : *work.arguments) {
    if (slot.kind == ArgumentSlot::Kind::kBuffer && slot.view.buffer) {
      largest = std::max(largest, slot.view.buffer->size());
    }
  }
  const uint64_t group = work.shape.local[0] * work.shape.local[1] * work.shape.local[2];
  allowed &= work.kernel->built_on();
  std::vector<uint32_t> result;
  for (; allowed != 0; allowed &= allowed - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(allowed));
    const auto& traits = backends_.traits(i);
    if (largest <= traits.max_allocation && group <= traits.max_work_group) {
      result.push_back(i);
    }
  }
  return result;
}

double Planner::relative_speed(uint64_t kernel, uint32_t backend,
                               const std::vector<uint32_t>& others) const {
  if (const auto known = model_.speed(kernel, backend)) return *known;
  // Not seen there yet: scale what another device did by the nominal rates of the two.
  for (const uint32_t other : others) {
    if (const auto known = model_.speed(kernel, other)) {
      return *known * backends_.traits(backend).nominal_gflops /
             backends_.traits(other).nominal_gflops;
    }
  }
  return backends_.traits(backend).nominal_gflops * 1e9;
}

uint32_t Planner::best_device(const KernelWork& work,
                              const std::vector<uint32_t>& candidates) const {
  if (settings_.balancer.name == "single" && !settings_.balancer.parameters.empty()) {
    const std::string& text = settings_.balancer.parameters.front();
    uint32_t wanted = 0;
    std::from_chars(text.data(), text.data() + text.size(), wanted);
    if (std::find(candidates.begin(), candidates.end(), wanted) != candidates.end()) return wanted;
  }
  if (candidates.size() == 1) return candidates.front();
  const uint64_t key = work.kernel->model_key();
  return *std::max_element(candidates.begin(), candidates.end(), [&](uint32_t a, uint32_t b) {
    return relative_speed(key, a, candidates) < relative_speed(key, b, candidates);
  });
}

bool Planner::merge_pays(const KernelWork& work, const KernelPlan& plan) const {
  double cost = 0;
  for (const MergeRegion& region : plan.access->regions()) {
    const auto bytes = static_cast<double>(region.range.size());
    if (region.mode == MergeMode::kAtomic) {
      // Each device fills its copy, which is read and combined.
      cost += bytes * static_cast<double>(plan.participants.size()) *
              (2 / kCopiesBytesPerSecond + 1 / kTransferBytesPerSecond);
      continue;
    }
    const LogicalBuffer& buffer = *(*work.arguments)[region.arguments.front()].view.buffer;
    PlaceSet places = 0;
    for (const uint32_t i : plan.participants) places |= place_bit(buffer.place_on(i));
    const int copies = std::popcount(places);
    if (copies == 1) continue;  // all write to the same memory
    // Each place gets the content, and keeps and compares it; at worst everything has changed, and
    // both old and new come back.
    cost += bytes * copies * (2 / kCopiesBytesPerSecond + 3 / kTransferBytesPerSecond);
  }
  if (cost == 0) return true;
  const uint64_t key = work.kernel->model_key();
  const auto known = model_.speed(key, plan.backend);
  if (!known) return cost < kWorthSplittingSeconds;  // the whole run that follows tells more
  double all = 0;
  for (const uint32_t i : plan.participants) all += relative_speed(key, i, plan.participants);
  const double whole = static_cast<double>(items_of(plan.shape)) / *known;
  return whole * (1 - *known / all) > cost + kWorthSplittingSeconds;
}

Result<KernelPlan> Planner::plan(const KernelWork& work, BackendMask allowed) const {
  KernelPlan plan;
  plan.participants = candidates(work, allowed);
  if (plan.participants.empty()) {
    return fail(CL_OUT_OF_RESOURCES, "no device can run the kernel with these arguments");
  }
  plan.shape = work.shape;
  plan.backend = best_device(work, plan.participants);
  const bool force = settings_.split == SplitMode::kForce;
  auto whole = [&](KernelPlan::Why why) {
    plan.why = why;
    return plan;
  };
  if (plan.participants.size() < 2) return whole(KernelPlan::Why::kOneDevice);
  if (settings_.balancer.name == "single") return whole(KernelPlan::Why::kSingle);
  if (settings_.split == SplitMode::kNever) return whole(KernelPlan::Why::kNever);

  const uint64_t items = items_of(work.shape);
  if (!force) {
    const auto speed = model_.speed(work.kernel->model_key(), plan.backend);
    const bool small = speed ? static_cast<double>(items) < *speed * kWorthSplittingSeconds
                             : items < kWorthSplittingItems;
    if (small) return whole(KernelPlan::Why::kSmall);
  }
  if (!work.local_given) {
    uint64_t max_group = UINT64_MAX;
    for (const uint32_t i : plan.participants) {
      max_group = std::min(max_group, backends_.traits(i).max_work_group);
    }
    choose_local(plan.shape, max_group);
  }
  const ArgumentValues arguments(*work.arguments);
  auto access = std::make_shared<LaunchAccess>(LaunchAccess::evaluate(
      work.kernel->summary(), plan.shape, arguments.values, settings_.distrust_races));
  plan.access = access;
  if (access->verdict().mode == MergeMode::kWhole) return whole(KernelPlan::Why::kVerdict);
  if (plan.shape.groups(access->verdict().dimension) < 2) {
    return whole(KernelPlan::Why::kFewGroups);
  }
  if (!force && !merge_pays(work, plan)) return whole(KernelPlan::Why::kMerge);
  plan.split = true;
  return plan;
}

std::vector<BalancerDevice> Planner::balancer_devices(const KernelWork& work,
                                                      const KernelPlan& plan) const {
  const uint32_t dimension = plan.access->verdict().dimension;
  const uint64_t slices = plan.shape.groups(dimension);
  const uint64_t items_per_slice = std::max<uint64_t>(1, items_of(plan.shape) / slices);
  const uint64_t group_items = plan.shape.local[0] * plan.shape.local[1] * plan.shape.local[2];
  const uint64_t groups_per_slice = std::max<uint64_t>(1, items_per_slice / group_items);
  const uint64_t key = work.kernel->model_key();
  std::vector<BalancerDevice> devices;
  for (const uint32_t i : plan.participants) {
    const auto& traits = backends_.traits(i);
    BalancerDevice device;
    device.gpu = traits.type & CL_DEVICE_TYPE_GPU && !traits.shares_host_memory;
    uint64_t groups = std::max<uint32_t>(1, traits.compute_units);
    if (device.gpu) {
      groups *= std::max<uint64_t>(1, kGpuItemsPerUnit / std::max<uint64_t>(1, group_items));
    }
    device.nominal_speed =
        relative_speed(key, i, plan.participants) / static_cast<double>(items_per_slice);
    device.min_package = std::max<uint64_t>(1, (groups + groups_per_slice - 1) / groups_per_slice);
    devices.push_back(device);
  }
  return devices;
}

}  // namespace tutti::scheduler
