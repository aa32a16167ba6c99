// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "base/log.h"
#include "base/trace.h"
#include "scheduler/access/local_size.h"
#include "scheduler/memory/image_boxes.h"
#include "scheduler/plan/argument_values.h"
#include "scheduler/plan/planner_parts.h"

namespace tutti::scheduler {
namespace {

// What lies elsewhere of smaller arguments moves sooner than is found out what of it is needed.
constexpr uint64_t kWorthLooking = 64 * 1024;
// Seconds of builds, for which a launch of a kernel never seen before is split all the same.
constexpr double kNextToNothing = 5e-3;
// Devices become free at the same time where their waits differ by less than this part of a launch.
constexpr double kSameWait = 0.05;

/// Of launches that are split.
KernelVariant split_variant(const KernelWork& work) {
  return work.kernel->summary().needs_rewrite ? KernelVariant::kSubRange
                                              : KernelVariant::kUntouched;
}

const char* objective_name(Objective objective) {
  return objective == Objective::kEnergy ? "energy" : "edp";
}

/// Of all buffers, each once.
uint64_t bytes_of_buffers(const ArgumentSet& arguments) {
  std::set<const LogicalBuffer*> seen;
  uint64_t bytes = 0;
  for (const ArgumentSlot& slot : arguments) {
    const LogicalBuffer* buffer = slot.view.buffer.get();
    if (buffer && seen.insert(buffer).second) bytes += buffer->size();
  }
  return bytes;
}

}  // namespace

bool KernelPlan::has_panels(uint32_t device) const {
  if (!split || panels.empty() || !streamed()) return false;
  const auto found = std::find(participants.begin(), participants.end(), device);
  return found != participants.end() &&
         windows[static_cast<size_t>(found - participants.begin())] > 0;
}

std::string WholeReasons::text() const {
  std::string text = forbids;
  if (!unprofitable.empty()) text += (forbids.empty() ? "" : "; besides, ") + unprofitable;
  if (!otherwise.empty()) text += (text.empty() ? "" : "; otherwise: ") + otherwise;
  return text;
}

WholeReasons KernelPlan::whole_reasons() const {
  WholeReasons reasons;
  if (const Verdict* known = verdict()) {
    (known->mode == MergeMode::kWhole ? reasons.forbids : reasons.otherwise) = known->reason;
  }
  std::string& against = reasons.unprofitable;
  switch (why) {
    case Why::kOneDevice:
      against = "only one device can run it";
      break;
    case Why::kSingle:
      against = "TUTTI_BALANCER=single";
      break;
    case Why::kNever:
      against = "TUTTI_SPLIT=never";
      break;
    case Why::kSmall:
      against = kTooShort;
      break;
    case Why::kFewGroups:
      against = "too few work-groups to divide";
      break;
    case Why::kFarOffsets:
      against = "a device cannot begin a package so far from the first work-item";
      break;
    case Why::kMerge:
      against = "merging would take longer than a split gains";
      break;
    case Why::kAtomics:
      against = "a device shares the host's memory, but not its atomics";
      break;
    case Why::kNotBuilt:
      against = "building it for other devices would take longer than they gain";
      break;
    case Why::kBuildFailed:
      against = lacking_feature.empty()
                    ? "other devices cannot build its program (the log says why)"
                    : "other devices do not have " + lacking_feature + ", which it uses";
      break;
    case Why::kHome:
      against = "it may follow pointers in shared virtual memory, whose device this is";
      break;
    case Why::kFar:
      against = "before its time is known, nothing goes to devices of other hosts";
      break;
    case Why::kTrial:
      against = "runs whole once, to compare";
      break;
    case Why::kDearer:
      if (whole_seconds <= 0) {
        against = "the other devices are too slow to help";
      } else if (objective != Objective::kTime) {
        against = fmt::format(
            "TUTTI_OBJECTIVE={}: one device alone is expected to take {:.3g} ms and {:.3g} J, "
            "several together {:.3g} ms and {:.3g} J",
            objective_name(objective), whole_seconds * 1e3, whole_joules, split_seconds * 1e3,
            split_joules);
      } else {
        against =
            fmt::format("one device alone is expected to take {:.3g} ms, all together {:.3g}{}",
                        whole_until_read() * 1e3, split_until_read() * 1e3,
                        whole_gather + split_gather > 0 ? ", results fetched" : "");
      }
      break;
    case Why::kObjective:
      against = fmt::format(
          "TUTTI_OBJECTIVE={}: one device alone is expected to be best, at {:.3g} ms and {:.3g} J",
          objective_name(objective), whole_seconds * 1e3, whole_joules);
      break;
    case Why::kVerdict:
      break;
  }
  return reasons;
}

Planner::Planner(BackendSet& backends, const EngineSettings& settings)
    : backends_(backends), costs_(backends), settings_(settings) {}

std::vector<uint32_t> Planner::candidates(const KernelWork& work, BackendMask allowed,
                                          bool too_small) const {
  uint64_t largest = 0, all = 0, local = 0, constant = 0;
  // Pointers into shared memory have any alignment, which windows of buffers elsewhere have not.
  uint64_t inside = 0;
  uint32_t home = kNoBackend;
  const auto& declared = work.kernel->summary().arguments;
  for (size_t i = 0; i < work.arguments->size(); ++i) {
    const ArgumentSlot& slot = (*work.arguments)[i];
    local += slot.local_size;
    if (slot.kind == ArgumentSlot::Kind::kReached) {
      allowed &= backend_bit(slot.view.buffer->home());  // pointers mean something there alone
    }
    if (slot.kind == ArgumentSlot::Kind::kQueue) allowed &= backend_bit(slot.home);
    if (slot.kind == ArgumentSlot::Kind::kBuffer && slot.view.buffer) {
      // A pointer into shared memory has all the rest of that behind it, which is no limit of it.
      if (i < declared.size() && declared[i].kind == ArgKind::kConstant &&
          !slot.view.buffer->is_shared()) {
        constant = std::max(constant, slot.view.size);
      }
      if (slot.view.buffer->is_shared()) {
        inside |= slot.view.origin;
        home = slot.view.buffer->home();
      }
      largest = std::max(largest, slot.view.buffer->size());
      all += slot.view.buffer->size();
      allowed &= slot.view.buffer->takers() & (slot.image ? slot.image->takers() : ~BackendMask{0});
    }
  }
  const uint64_t group = work.shape.local[0] * work.shape.local[1] * work.shape.local[2];
  allowed &= work.kernel->built_on();
  std::vector<uint32_t> result;
  for (; allowed != 0; allowed &= allowed - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(allowed));
    const auto& traits = backends_.traits(i);
    const bool fits = largest <= traits.max_allocation &&
                      (traits.shares_host_memory || all <= backends_.memory(i).capacity() ||
                       bytes_of_buffers(*work.arguments) <= backends_.memory(i).capacity());
    const uint64_t most = std::min(traits.max_work_group, work.kernel->most_in_group(i));
    const bool takes_group = group <= most && work.shape.local[0] <= traits.max_work_items[0] &&
                             work.shape.local[1] <= traits.max_work_items[1] &&
                             work.shape.local[2] <= traits.max_work_items[2];
    const bool takes_arguments = constant <= traits.max_constant &&
                                 (traits.local_memory == 0 || local <= traits.local_memory);
    const bool takes_sizes = traits.smaller_groups || !work.shape.smaller_groups();
    const bool aligned = i == home || inside % traits.memory_alignment == 0;
    if (fits != too_small && takes_group && takes_arguments && takes_sizes && aligned) {
      result.push_back(i);
    }
  }
  return result;
}

Expectation Planner::begin_at_its_time(const KernelWork& work, const KernelPlan& plan,
                                       uint32_t launches) {
  if (plan.foregone > 0) {
    work.kernel->note_gain(launches * plan.foregone, plan.lacking, plan.lacking_variant);
  } else if (plan.split && plan.whole_seconds > 0) {
    work.kernel->note_gain(launches * (plan.whole_until_read() - plan.split_until_read()),
                           mask_of(plan.participants), split_variant(work));
  }
  Expectation expected;
  const auto after = [launches](uint64_t from_ns, double seconds) {
    return from_ns + static_cast<uint64_t>(launches * std::max(0.0, seconds) * 1e9);
  };
  if (plan.split) {
    expected.end_ns = after(plan.from_ns, plan.split_seconds);
  } else {
    // Its device need not be among the participants any more: a split may have been dearer without.
    expected.end_ns =
        after(load_.begin(plan.backend, plan.from_ns),
              plan.whole_seconds - plan.wait_seconds - costs_.call_seconds(plan.backend));
  }
  for (const uint32_t device : plan.devices()) expected.devices |= backend_bit(device);
  load_.add(expected);
  publish(expected);
  const uint64_t now = now_ns();
  const auto writes = [&](const BufferView& view, const ByteRange& range) {
    view.buffer->read_back.store(0, std::memory_order_relaxed);
    view.buffer->written.add({view.origin + range.begin, view.origin + range.end}, expected.end_ns,
                             now);
  };
  if (const LaunchAccess* exact = exact_access(plan)) {
    for (const ArgumentUse& use : exact->whole()) {
      const BufferView& view = (*work.arguments)[use.argument].view;
      if (view.buffer && !use.write.empty()) writes(view, use.write.range);
    }
    return expected;
  }
  const uint64_t written = written_arguments(work.kernel->summary());
  for (size_t i = 0; i < work.arguments->size(); ++i) {
    const BufferView& view = (*work.arguments)[i].view;
    if (view.buffer && argument_written(written, i)) writes(view, {0, view.size});
  }
  return expected;
}

void Planner::publish(const Expectation& expected) {
  for (BackendMask rest = expected.devices; rest != 0; rest &= rest - 1) {
    const auto backend = static_cast<uint32_t>(std::countr_zero(rest));
    backends_.others().publish(backend, load_.begin(backend, 0));
  }
}

void Planner::ended(const Expectation& expected) {
  if (expected.devices == 0) return;
  load_.ended(expected, now_ns());
  publish(expected);
}

Result<KernelPlan> Planner::plan(const KernelWork& work, BackendMask allowed, uint64_t ready_ns,
                                 uint32_t before, Content content) const {
  auto plan = plan_built(work, allowed, ready_ns, content);
  if (plan && !plan->split && before != kNoBackend) stay(work, *plan, before);
  return plan;
}

bool Planner::shows_reasons() const { return !settings_.summary.empty() || trace::on(); }

Result<KernelPlan> Planner::plan_built(const KernelWork& work, BackendMask allowed,
                                       uint64_t ready_ns, Content content) const {
  const LaunchableKernel& kernel = *work.kernel;
  allowed = backends_.health().usable(allowed);
  const BackendMask usable = allowed & kernel.built_on();
  const BackendMask built = usable & kernel.ready_on(KernelVariant::kUntouched);
  const BackendMask splitting = usable & kernel.ready_on(split_variant(work));
  auto best = plan_on(work, usable, usable, ready_ns, content, false);
  if (best && !best->split && best->why == KernelPlan::Why::kOneDevice &&
      (allowed & kernel.failed_on()) != 0) {
    best->why = KernelPlan::Why::kBuildFailed;
    BackendMask rest = shows_reasons() ? allowed & kernel.failed_on() : 0;
    for (; rest != 0 && best->lacking_feature.empty(); rest &= rest - 1) {
      best->lacking_feature = kernel.lacking(static_cast<uint32_t>(std::countr_zero(rest)));
    }
  }
  if (!best || (built & splitting) == usable || built == 0 || devices_are_given()) return best;
  const KernelVariant variant = best->split ? split_variant(work) : KernelVariant::kUntouched;
  const BackendMask lacking = mask_of(best->devices()) & ~kernel.ready_on(variant);
  if (lacking == 0) return best;
  // Nobody waits for a build that takes longer than it gains this launch.
  const double builds = kernel.seconds_until_ready(lacking, variant);
  if (best->split && builds < kNextToNothing) return best;
  if (work.kernel->build_if_worth(lacking, variant)) {
    return plan_built(work, allowed, ready_ns, content);
  }
  auto now = plan_on(work, built, splitting, ready_ns, content, true);
  if (!now) return best;
  now->lacking = lacking;
  now->lacking_variant = variant;
  if (!now->split) now->why = KernelPlan::Why::kNotBuilt;
  // The first launch of a process may have been slow for other reasons.
  if (!backends_.model().settled(model_key(work), now->backend)) return now;
  const double gain = now->expected_seconds() - best->expected_seconds();
  if (gain <= 0 || best->expected_seconds() <= 0) return now;
  if (best->split && gain > builds) return best;
  now->foregone = gain;
  return now;
}

Result<KernelPlan> Planner::plan_on(const KernelWork& work, BackendMask allowed,
                                    BackendMask splitting, uint64_t ready_ns, Content content,
                                    bool compared) const {
  KernelPlan plan;
  plan.participants = candidates(work, allowed);
  const auto able = static_cast<size_t>(std::popcount(allowed & work.kernel->built_on()));
  const auto small =
      plan.participants.size() < able ? small_candidates(work, allowed) : std::vector<uint32_t>();
  const bool must_split = plan.participants.empty() && !small.empty();
  if (must_split) plan.participants = small;
  if (plan.participants.empty()) {
    // "CL_MEM_OBJECT_ALLOCATION_FAILURE if there is a failure to allocate memory for data store
    // associated with image or buffer objects specified as arguments to kernel."
    KernelWork without_memory = work;
    without_memory.arguments = std::make_shared<ArgumentSet>();
    return candidates(without_memory, allowed).empty()
               ? fail(CL_OUT_OF_RESOURCES, "no device can run the kernel with these arguments")
               : fail(CL_MEM_OBJECT_ALLOCATION_FAILURE,
                      "the kernel's buffers fit into no device's memory");
  }
  plan.shape = work.shape;
  plan.backend = plan.participants.front();
  auto whole = [&](KernelPlan::Why why) -> Result<KernelPlan> {
    plan.why = why;
    if (must_split) {
      return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE,
                  "the kernel's buffers fit into no device's memory, and it cannot be divided: " +
                      plan.whole_reasons().text());
    }
    if (!plan.access && shows_reasons()) {
      LaunchShape shape = plan.shape;
      plan.judged = look_at(work, plan, shape);
    }
    return std::move(plan);
  };
  const auto& last = *work.arguments;
  if (!last.empty() && last.back().kind == ArgumentSlot::Kind::kReached && !compared) {
    return whole(KernelPlan::Why::kHome);
  }
  keep_home(work, plan);
  if (plan.participants.empty()) {
    return fail(CL_OUT_OF_RESOURCES,
                "the device of the shared virtual memory cannot run the kernel");
  }
  if (plan.participants.size() < 2 && small.empty() && !compared) {
    return whole(KernelPlan::Why::kOneDevice);
  }
  const bool force = settings_.split == SplitMode::kForce;
  const uint64_t items = work.shape.items();
  const bool measured = costs_.compute(model_key(work), items, plan.participants, plan.costs);
  // Whether it is worth the way is not known before there are seconds.
  if (!measured && !devices_are_given() && leave_out_far(plan) && plan.participants.size() < 2) {
    return whole(KernelPlan::Why::kFar);
  }
  if (measured) reckon_with_others(work, plan);
  if (settings_.objective != Objective::kTime && measured) {
    plan.power = backends_.power().launch_power(plan.participants);
    if (plan.power.known()) {
      plan.objective = settings_.objective;
    } else if (!told_unknown_power_.exchange(true, std::memory_order_relaxed)) {
      log(LogLevel::kInfo,
          "TUTTI_OBJECTIVE: launches are chosen by time until the power of all devices is known, "
          "idle and busy");
    }
  }
  choose_whole(work, plan, measured, ready_ns);
  // Which parts of its buffers it uses says where its data are, and for which writes it waits.
  const bool worth_it = plan.behind_writes && plan.whole_seconds >= 2 * kSplitSeconds;
  if (worth_it || touches_matter(work, plan)) {
    evaluate(work, plan);
    if (plan.exact) choose_whole(work, plan, measured, ready_ns);
  }
  if (settings_.balancer.name == "single") return whole(KernelPlan::Why::kSingle);
  if (settings_.split == SplitMode::kNever) return whole(KernelPlan::Why::kNever);
  const auto can_split = [&](uint32_t i) { return (splitting & backend_bit(i)) != 0; };
  if (!std::all_of(plan.participants.begin(), plan.participants.end(), can_split)) {
    if (!can_split(plan.backend)) return whole(KernelPlan::Why::kNotBuilt);
    std::vector<uint64_t> kept;
    for (const uint32_t i : plan.participants) kept.push_back(can_split(i));
    keep_participants(plan, kept);
  }
  if (plan.participants.size() < 2 && small.empty()) return whole(KernelPlan::Why::kNotBuilt);
  if (!force && !must_split &&
      (measured ? plan.whole_until_read() - plan.wait_seconds < 2 * kSplitSeconds
                : items < kWorthSplittingItems)) {
    return whole(KernelPlan::Why::kSmall);
  }
  const bool on_one = must_split || (settings_.shards == ShardMode::kStream && may_divide());
  on_one ? evaluate_for_one(work, plan) : evaluate(work, plan);
  const auto& access = plan.access;
  if (access->verdict().mode == MergeMode::kWhole) return whole(KernelPlan::Why::kVerdict);
  if (plan.shape.groups(access->verdict().dimension) < 2) {
    return whole(KernelPlan::Why::kFewGroups);
  }
  const uint64_t last_offset = plan.shape.last_offset(access->verdict().dimension);
  if (std::any_of(plan.participants.begin(), plan.participants.end(),
                  [&](uint32_t i) { return last_offset > backends_.traits(i).max_offset; })) {
    return whole(KernelPlan::Why::kFarOffsets);
  }
  if (access->verdict().alone && !on_one && !keep_common_atomics(plan)) {
    return whole(KernelPlan::Why::kAtomics);
  }
  if (!must_split) add_small(work, small, measured, ready_ns, plan);
  if (plan.participants.size() < 2 && !must_split) return whole(KernelPlan::Why::kOneDevice);
  if (!force && !must_split) {
    // Of a kernel that was never seen, a whole run tells more.
    if (!measured && merge_seconds(work, plan) > 2 * kSplitSeconds) {
      return whole(KernelPlan::Why::kMerge);
    }
    const auto all = small.empty() ? std::nullopt : std::optional(plan);
    if (!choose_shares(work, plan, measured)) {
      leave_out_small(small, plan);
      if (!all || !plan.participants.empty()) return plan;
      plan = *all;  // one that is too small alone would be best, were all there
    }
  }
  if (!choose_shards(work, small, content, plan)) {
    if (must_split) {
      return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE,
                  "the kernel's buffers fit into the devices' memory neither whole nor in parts");
    }
    leave_out_small(small, plan);
    return whole(KernelPlan::Why::kDearer);
  }
  plan.split = true;
  return plan;
}

std::shared_ptr<const LaunchAccess> evaluated(const KernelWork& work, const LaunchShape& shape,
                                              const SplitPolicy& policy) {
  const ArgumentValues arguments(*work.arguments);
  std::string launch = arguments.launch(shape);
  if (policy.frequent_atomics) launch += 'f';  // all else is the user's, and stays
  std::shared_ptr<const LaunchAccess> access = work.kernel->evaluated().find(launch);
  if (!access) {
    access = std::make_shared<LaunchAccess>(
        LaunchAccess::evaluate(work.kernel->summary(), shape, arguments.values, policy));
    work.kernel->evaluated().keep(std::move(launch), access);
  }
  return access;
}

std::shared_ptr<const LaunchAccess> Planner::look_at(const KernelWork& work, const KernelPlan& plan,
                                                     LaunchShape& shape) const {
  if (!work.local_given) {
    uint64_t max_group = UINT64_MAX;
    for (const uint32_t i : plan.participants) {
      max_group = std::min(max_group, backends_.traits(i).max_work_group);
    }
    choose_local(shape, max_group);
  }
  return evaluated(work, shape, settings_.policy);
}

void Planner::evaluate(const KernelWork& work, KernelPlan& plan) const {
  if (plan.access) return;
  plan.access = look_at(work, plan, plan.shape);
  plan.exact =
      plan.access->exact() && (work.local_given || !plan.access->by_groups()) &&
      (work.arguments->empty() || work.arguments->back().kind != ArgumentSlot::Kind::kReached);
}

void Planner::keep_home(const KernelWork& work, KernelPlan& plan) const {
  uint32_t home = kNoBackend;
  for (const ArgumentSlot& slot : *work.arguments) {
    if (!slot.has_memory() || !slot.view.buffer->is_shared() || slot.view.origin == 0) continue;
    home = slot.view.buffer->home();
  }
  if (home == kNoBackend) return;
  evaluate(work, plan);
  if (plan.exact) return;
  std::erase_if(plan.participants, [home](uint32_t i) { return i != home; });
  plan.backend = home;
}

bool Planner::leave_out_far(KernelPlan& plan) const {
  std::vector<uint64_t> near;
  for (const uint32_t i : plan.participants) near.push_back(backends_.traits(i).is_far() ? 0 : 1);
  const auto count = static_cast<size_t>(std::count(near.begin(), near.end(), 1u));
  if (count == 0 || count == near.size()) return false;
  keep_participants(plan, near);
  plan.backend = plan.participants.front();
  return true;
}

bool Planner::touches_matter(const KernelWork& work, const KernelPlan& plan) const {
  const uint64_t least = settings_.split == SplitMode::kForce ? 1 : kWorthLooking;
  uint64_t written = 0;
  bool asked = false;
  for (size_t i = 0; i < work.arguments->size(); ++i) {
    const BufferView& view = (*work.arguments)[i].view;
    if (!view.buffer || view.buffer->image() || view.size < least) continue;
    const PlaceSet here = place_bit(view.buffer->place_on(plan.backend));
    const PlaceSet places = view.buffer->valid_places(view.origin, view.origin + view.size);
    if (places == here || places == kEverywhere) continue;
    // Copies elsewhere of what it leaves alone stay valid.
    if (!asked) written = written_arguments(work.kernel->summary());
    asked = true;
    if (!(places & here) || argument_written(written, i)) return true;
  }
  return false;
}

bool Planner::keep_common_atomics(KernelPlan& plan) const {
  std::vector<uint64_t> kept;
  size_t in_host = 0;
  for (const uint32_t i : plan.participants) in_host += backends_.place(i) == kHostPlace ? 1 : 0;
  for (const uint32_t i : plan.participants) {
    kept.push_back(backends_.place(i) != kHostPlace || backends_.traits(i).host_atomics ||
                   in_host == 1);
  }
  if (kept[whole_index(plan)] == 0) return false;
  keep_participants(plan, kept);
  return plan.participants.size() > 1;
}

std::vector<BalancerDevice> Planner::balancer_devices(const KernelPlan& plan) const {
  const uint64_t slices = plan.shape.groups(plan.access->verdict().dimension);
  const auto items_per_slice =
      static_cast<double>(std::max<uint64_t>(1, plan.shape.items() / slices));
  std::vector<BalancerDevice> devices;
  for (size_t i = 0; i < plan.participants.size(); ++i) {
    BalancerDevice device;
    device.gpu = is_gpu(backends_.traits(plan.participants[i]));
    device.nominal_speed = plan.costs[i].rate / items_per_slice;
    device.overlaps = backends_.traits(plan.participants[i]).overlaps_launches;
    device.known = plan.costs[i].measured;
    device.irregularity = plan.costs[i].irregularity;
    device.min_package = min_package(plan, i);
    device.worthwhile = worthwhile_package(plan, i);
    devices.push_back(device);
  }
  return devices;
}

void Planner::remember(const KernelWork& work, const KernelPlan& plan, std::vector<uint64_t> slices,
                       std::optional<double> seconds, double balanced) {
  // Nothing was expected of it, or not of it alone.
  if (plan.priced_seconds <= 0 || plan.beside_others) return;
  // Where devices were free at different times, others had their part in who computed what, and in
  // when it ended.
  const auto [first, last] = std::minmax_element(
      plan.costs.begin(), plan.costs.end(),
      [](const ComputeCost& a, const ComputeCost& b) { return a.wait < b.wait; });
  if (last->wait - first->wait > kSameWait * plan.priced_seconds) return;
  // A kernel slower than was known would be so without the split, too: what the split cost is kept
  // in the scale of the price, with which it will be compared.
  const double expected = std::max(plan.priced_seconds, balanced);
  std::optional<double> surplus;
  if (seconds) surplus = (*seconds - expected) * plan.priced_seconds / expected;
  boundaries_.remember(model_key(work), plan.shape.items(), plan.participants, std::move(slices),
                       surplus);
}

void Planner::remember_whole(const KernelWork& work, uint32_t backend, double seconds) {
  boundaries_.remember_whole(model_key(work), work.shape.items(), backend, seconds);
}

}  // namespace tutti::scheduler
