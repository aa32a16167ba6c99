// SPDX-License-Identifier: Apache-2.0
// Decides, per launch, whether a kernel runs whole (and where) or split (along which dimension,
// over which devices, with which shares): the cheapest by what the performance model knows.
// Remembers where shares met. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/energy_sensor.h"
#include "scheduler/access/access_eval.h"
#include "scheduler/balance/balancer.h"
#include "scheduler/balance/regions.h"
#include "scheduler/command/work.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/devices/device_load.h"
#include "scheduler/plan/boundaries.h"
#include "scheduler/plan/common_shares.h"
#include "scheduler/plan/launch_content.h"
#include "scheduler/plan/launch_costs.h"
#include "scheduler/plan/panels.h"
#include "scheduler/plan/pricing.h"

namespace tutti::scheduler {

/// Whether and how energy is measured.
struct EnergySettings {
  bool wanted = false;   // somebody reads it
  bool needed = false;   // it was asked for by name: where a sensor is absent, a warning says so
  uint32_t period = 45;  // milliseconds
  EnergySources sources;
};

struct EngineSettings {
  BalancerSpec balancer;
  SplitMode split = SplitMode::kAuto;
  ShardMode shards = ShardMode::kNeeded;  // as TUTTI_SHARDS
  bool always_shards() const {
    return shards == ShardMode::kAlways || shards == ShardMode::kStream;
  }
  LookAhead look_ahead = LookAhead::kAuto;  // as TUTTI_LOOK_AHEAD
  uint64_t shard_unit = kShardUnit;         // bytes; buffers that are no larger are not divided
  uint64_t seed = 1;                        // of forced splits
  SplitPolicy policy;                       // as TUTTI_RACES and TUTTI_FLOAT_SUMS
  bool batches = true;                      // as TUTTI_BATCHES
  Verify verify;                            // as TUTTI_VERIFY
  std::string summary;                      // as TUTTI_SUMMARY
  // Before that no package is overdue: what is made at a first launch, such as code, takes less
  // mostly, and who waits for longer takes notice.
  uint64_t overdue_ns = 1'000'000'000;
  std::string model_file;  // where speeds are remembered; empty: for this process only
  Objective objective = Objective::kTime;
  EnergySettings energy;
};

/// Why a launch runs whole, in words. Both may hold: a kernel that no device can share may be too
/// short besides. Empty: no such reason.
struct WholeReasons {
  std::string forbids;       // what the kernel does, whatever the devices
  std::string unprofitable;  // what speaks against a split that is allowed: times, devices, options
  std::string otherwise;     // how it would be split
  std::string text() const;
};

/// The range of a buffer that a device has memory for.
struct BufferShard {
  LogicalBuffer* buffer = nullptr;
  ByteRange range;
};

struct KernelPlan {
  enum class Why : uint8_t {
    kOneDevice,
    kSingle,
    kNever,
    kSmall,
    kFewGroups,
    kFarOffsets,
    kMerge,
    kAtomics,
    kNotBuilt,
    kBuildFailed,
    kHome,
    kFar,
    kDearer,
    kTrial,
    kObjective,
    kVerdict
  };
  bool split = false;
  Why why = Why::kVerdict;             // of a whole run; kVerdict: see access->verdict()
  uint32_t backend = 0;                // whole: the device
  std::vector<uint32_t> participants;  // split: the devices
  // Split: the slices that each participant is expected to compute, which lie one after the other;
  // empty: nothing is expected.
  std::vector<uint64_t> shares;
  /// Split, with shards: by participant, the slices that it may get, its share among them, and what
  /// it has memory for then; of buffers that are not named, all. Empty: nobody has shards.
  std::vector<SliceRange> reaches;
  std::vector<std::vector<BufferShard>> shards;
  bool sharded() const { return !reaches.empty(); }
  /// Split, streamed: by participant, for how many slices at a time it has memory. Its shards are
  /// for the first of those, and move on with its packages. 0: it has memory for all. Empty: all
  /// participants have memory for all that they may get.
  std::vector<uint64_t> windows;
  uint64_t shard_unit = 0;  // bytes; shards begin at multiples of it
  bool streamed() const { return !windows.empty(); }
  std::vector<char> downwards;  // streamed: by participant, of its share the last slices come first
  /// Streamed: arguments of which those with windows have panels instead of shards.
  Panels panels;
  /// They hold what a package's slices read; else what a block along another dimension does.
  bool panels_move_with_slices() const { return panels.dimension == access->verdict().dimension; }
  /// The panel of so many slices, or of a block; each panel of as many is as large.
  std::optional<PanelShape> largest_panel(const Panels::Argument& argument, uint64_t slices) const {
    return panel_of(argument.columns, 0, panels_move_with_slices() ? slices : panels.block,
                    argument.size, panels.copies);
  }
  /// Whether there can be panels for so many slices.
  bool panels_for(uint64_t slices) const {
    return std::all_of(panels.arguments.begin(), panels.arguments.end(),
                       [&](const auto& one) { return largest_panel(one, slices).has_value(); });
  }
  /// Whether that device has panels.
  bool has_panels(uint32_t device) const;
  /// Split: the fewest slices of another's share that a device takes over. More than one where the
  /// data lie as the shares say, and would have to move.
  uint64_t least_help = 1;
  std::vector<ComputeCost> costs;  // split: of the participants
  double whole_seconds = 0;        // expected on the best device alone; 0: not known
  double split_seconds = 0;        // expected of all together; 0: not known
  double whole_gather = 0;         // beyond that, until the application has read the results
  double split_gather = 0;         // likewise
  /// Split: other things kept participants busy when it began.
  bool waits() const {
    return std::any_of(costs.begin(), costs.end(),
                       [](const ComputeCost& cost) { return cost.wait > 0; });
  }
  double whole_until_read() const { return whole_seconds + whole_gather; }
  double split_until_read() const { return split_seconds + split_gather; }
  double expected_seconds() const { return split ? split_until_read() : whole_until_read(); }
  uint64_t from_ns = 0;        // both count from then on, when the data are there; 0: not known
  double wait_seconds = 0;     // of whole_seconds: until the device is free
  bool behind_writes = false;  // its data are expected to be written yet
  bool moved = false;          // whole: another device would be better, if it were free as early
  double priced_seconds = 0;   // of that: computing and transfers
  bool beside_others = false;  // other processes were expected to use its devices meanwhile
  // Where energy decides: power of the candidates, then of the participants; else not known.
  LaunchPower power;
  Objective objective = Objective::kTime;     // by which was chosen: time, where power is not known
  double whole_joules = 0, split_joules = 0;  // expected; 0: not known
  LaunchShape shape;                          // split: with the local size decided
  std::shared_ptr<const LaunchAccess> access;  // absent where it was not needed
  // Where a reader of the reasons wants to know what `access` would say; nothing is planned by it.
  std::shared_ptr<const LaunchAccess> judged;
  // Devices where a better plan would run, were the program built there: in what variant, and how
  // many seconds it would gain; 0: that is not known.
  BackendMask lacking = 0;
  KernelVariant lacking_variant = KernelVariant::kUntouched;
  double foregone = 0;
  std::string lacking_feature;  // kBuildFailed: what another device does not have; empty: not known
  bool brief = false;           // whole: takes too short for anybody to begin something beside it
  // `access` says what packages read by a guess of what lies in buffers: to be planned anew when
  // the launch begins.
  bool guessed = false;
  bool exact = false;  // `access` says all that the launch touches, also if it runs whole
  /// Of `access` or `judged`; null where neither is there.
  const Verdict* verdict() const {
    const LaunchAccess* known = access ? access.get() : judged.get();
    return known ? &known->verdict() : nullptr;
  }
  /// Of a whole run.
  WholeReasons whole_reasons() const;
  /// How it is split, or why it is not.
  std::string reason() const { return split ? access->verdict().reason : whole_reasons().text(); }
  /// Where the launch runs.
  std::span<const uint32_t> devices() const {
    return split ? std::span<const uint32_t>(participants) : std::span(&backend, 1);
  }
  /// Into how many slices the launch may be divided; a whole run is one.
  uint64_t slices() const { return split ? shape.groups(access->verdict().dimension) : 1; }
  /// What these slices do; of a whole run where `exact` only.
  std::vector<ArgumentUse> touched(uint64_t first, uint64_t count) const {
    return split ? access->package(access->verdict().dimension, first, count) : access->whole();
  }
};

/// What a split costs beside its packages: waking the workers, one package each and the directory's
/// bookkeeping (docs/platform-notes.md). Launches that take less than twice as long run whole.
inline constexpr double kSplitSeconds = 100e-6;

class Planner {
 public:
  Planner(BackendSet& backends, const EngineSettings& settings);

  /// CL_OUT_OF_RESOURCES when none of the `allowed` devices can run the kernel. `ready_ns`: before
  /// then the launch cannot begin, whatever its data. `before`: the device of the launch that it
  /// comes after, or kNoBackend.
  Result<KernelPlan> plan(const KernelWork& work, BackendMask allowed, uint64_t ready_ns = 0,
                          uint32_t before = kNoBackend, Content content = Content::kGuessed) const;
  /// Sets plan.access and plan.exact, and the local size where that is open, if plan() did not.
  void evaluate(const KernelWork& work, KernelPlan& plan) const;
  /// So many launches like that are being given to their devices: later plans reckon with that.
  Expectation begin(const KernelWork& work, const KernelPlan& plan, uint32_t launches = 1) {
    return plan.from_ns == 0 ? Expectation() : begin_at_its_time(work, plan, launches);
  }
  /// It has ended.
  void ended(const Expectation& expected);
  /// For how long the device is expected to be busy yet.
  double busy_seconds(uint32_t backend) const { return load_.wait(backend, now_ns()); }
  /// What was expected of a launch in the device's hands, and all that the device has, is so little
  /// that nothing gains by going before it.
  bool ends_soon(const Expectation& expected, uint32_t backend) const {
    return expected.devices != 0 && busy_seconds(backend) < kSplitSeconds;
  }
  /// Devices as the balancer sees them, speeds in slices per second for this kernel.
  std::vector<BalancerDevice> balancer_devices(const KernelPlan& plan) const;
  /// A split launch has ended: `slices` that each participant computed; `seconds` after it had its
  /// devices, absent where other things have delayed it. `balanced`: what it would have taken had
  /// all ended together, as fast as they were.
  void remember(const KernelWork& work, const KernelPlan& plan, std::vector<uint64_t> slices,
                std::optional<double> seconds, double balanced);
  /// A whole launch has ended on `backend`.
  void remember_whole(const KernelWork& work, uint32_t backend, double seconds);

 private:
  /// plan() on these devices, split over `splitting` only, whatever builds that takes, wherever the
  /// launch before was.
  /// `compared`: also where there is but one, what is expected of it is asked for.
  Result<KernelPlan> plan_on(const KernelWork& work, BackendMask allowed, BackendMask splitting,
                             uint64_t ready_ns, Content content, bool compared) const;
  Result<KernelPlan> plan_built(const KernelWork& work, BackendMask allowed, uint64_t ready_ns,
                                Content content) const;
  /// Somebody reads why launches run whole.
  bool shows_reasons() const;
  /// The user has said which devices are to compute.
  bool devices_are_given() const;
  Expectation begin_at_its_time(const KernelWork& work, const KernelPlan& plan, uint32_t launches);
  /// The evaluation for plan.participants; sets `shape`'s local size where that is open.
  std::shared_ptr<const LaunchAccess> look_at(const KernelWork& work, const KernelPlan& plan,
                                              LaunchShape& shape) const;
  /// Those that can run the kernel; with `too_small`, those that could if they had more memory.
  std::vector<uint32_t> candidates(const KernelWork& work, BackendMask allowed,
                                   bool too_small = false) const;
  // ---- planner_shards.cpp
  /// Evaluates the launch; where it is to run whole, as one that a device alone computes in parts.
  void evaluate_for_one(const KernelWork& work, KernelPlan& plan) const;
  /// Devices of `allowed` that can have a share of the launch only.
  std::vector<uint32_t> small_candidates(const KernelWork& work, BackendMask allowed) const;
  /// Adds such devices to the participants of a launch that may be split so.
  void add_small(const KernelWork& work, std::span<const uint32_t> small, bool measured,
                 uint64_t ready_ns, KernelPlan& plan) const;
  /// They take part no more.
  void leave_out_small(std::span<const uint32_t> small, KernelPlan& plan) const;
  /// Whether the device can compute with parts of the buffers: its kernel is built.
  bool can_have_parts(const KernelWork& work, uint32_t backend) const;
  /// Participants that are too small and cannot, go. `alone`: a single one may stream the launch.
  /// False: too few are left.
  bool leave_out_without_parts(const KernelWork& work, std::span<const uint32_t> small, bool alone,
                               KernelPlan& plan) const;
  /// Devices may have parts of buffers at all.
  bool may_divide() const;
  /// The device has no room for all of the launch's buffers beside what is there.
  bool lacks_room(const KernelWork& work, uint32_t backend) const;
  /// The device has a part of one of the launch's buffers only: a whole launch needs more memory.
  static bool has_parts(const KernelWork& work, uint32_t backend);
  /// Decides which participants of a split have parts of the buffers only, and which; shares that
  /// do not fit become smaller. False: the launch cannot be split so that all fits.
  bool choose_shards(const KernelWork& work, std::span<const uint32_t> small, Content content,
                     KernelPlan& plan) const;
  /// Where a pointer leads into shared virtual memory, and the kernel might go back from it, leaves
  /// the participant on which that is possible.
  void keep_home(const KernelWork& work, KernelPlan& plan) const;
  /// Devices of other hosts take no part where there are others. False: it is as it was.
  bool leave_out_far(KernelPlan& plan) const;
  /// Whether it matters to a whole launch on plan.backend which parts of its buffers it touches.
  bool touches_matter(const KernelWork& work, const KernelPlan& plan) const;
  /// Among plan.participants the device where the whole launch is best by the plan's objective.
  void choose_device(const KernelWork& work, KernelPlan& plan, bool measured) const;
  /// Puts into the costs what other processes do on the participants.
  void reckon_with_others(const KernelWork& work, KernelPlan& plan) const;
  /// Tells other processes until when the devices are expected to be busy now.
  void publish(const Expectation& expected);
  /// From when on the launch can begin, and how long which device is still busy then.
  void find_waits(const KernelWork& work, KernelPlan& plan, uint64_t ready_ns) const;
  /// Where and when the whole launch is best, by what is known of its devices and data.
  void choose_whole(const KernelWork& work, KernelPlan& plan, bool measured,
                    uint64_t ready_ns) const;
  /// The device where the whole launch ends first, if that is clearly earlier than on the one that
  /// would be best were all free.
  void place_by_earliest_finish(const KernelWork& work, KernelPlan& plan) const;
  /// A short launch stays on the device of the one before it until others would have saved what it
  /// takes to go to them. (The price is the ski rental's: at worst twice what is best is spent.)
  void stay(const KernelWork& work, KernelPlan& plan, uint32_t before) const;
  /// choose_device() by energy or energy-delay product: every device's transfers count.
  void choose_by_energy(const KernelWork& work, KernelPlan& plan) const;
  /// Where energy decides: leaves those participants with which a split is best.
  void choose_participants(const KernelWork& work, KernelPlan& plan) const;
  /// Shares, participants and the expected time of a split; false: one device alone is not worse.
  bool choose_shares(const KernelWork& work, KernelPlan& plan, bool measured) const;
  /// Seconds that splits of this kernel and size over these participants really cost beyond what
  /// they were priced at; none where that is not known.
  std::optional<double> surplus(uint64_t key, const KernelPlan& plan) const;
  /// What it is taken for before that, in seconds.
  double usual_surplus(const KernelPlan& plan) const;
  /// `best` has no share for some participants, which computed too slowly to be worth having among
  /// `all`. But that may have been an accident, and who computes nothing shows nothing else: true
  /// when all shall have shares in this launch, since what that may lose is next to nothing by now.
  bool try_left_out(const KernelWork& work, std::span<const DeviceCost> costs,
                    std::vector<uint64_t> all, const SplitPrice& best, KernelPlan& plan) const;
  /// Leaves out those with whom splits proved dearer than without them.
  void leave_out_costly(const KernelWork& work, KernelPlan& plan, SplitPrice& price) const;
  /// Costs of slices on the participants, transfers included where `shares` say who gets which.
  std::vector<DeviceCost> slice_costs(const KernelWork& work, const KernelPlan& plan,
                                      std::span<const uint64_t> shares) const;
  /// Seconds that a split's merges take.
  double merge_seconds(const KernelWork& work, const KernelPlan& plan) const;
  /// Where devices that share memory must see each other's atomics: leaves those that do; false: no
  /// two, or not the device of the whole launch.
  bool keep_common_atomics(KernelPlan& plan) const;
  uint64_t min_package(const KernelPlan& plan, size_t participant) const;
  /// Slices beside which the start of a package is a small part.
  uint64_t worthwhile_package(const KernelPlan& plan, size_t participant) const;
  /// The boundaries between the shares moved to where the data lie: slices of which less has to be
  /// brought to the neighbour go there.
  std::vector<uint64_t> shares_in_place(const KernelWork& work, const KernelPlan& plan,
                                        std::span<const uint64_t> shares) const;
  /// Chooses other shares with which the launch ends sooner, since less has to move. `in_place`:
  /// the costs if nothing had.
  void move_less(const KernelWork& work, const KernelPlan& plan,
                 std::span<const DeviceCost> in_place, std::vector<DeviceCost>& costs,
                 SplitPrice& price) const;
  /// Sets what price.shares cost now that it is known who gets which slices; with `apart`, memory
  /// of its own, also other shares where these are better for where the data lie, and what help
  /// pays. Seconds for which data move then.
  double fit_to_data(const KernelWork& work, bool apart, std::vector<DeviceCost>& costs,
                     SplitPrice& price, KernelPlan& plan) const;
  /// KernelPlan::least_help where what is brought to devices counts.
  uint64_t least_help(const KernelWork& work, const KernelPlan& plan,
                      std::span<const uint64_t> shares) const;

  BackendSet& backends_;
  LaunchCosts costs_;
  DeviceLoad load_;
  mutable Boundaries boundaries_;
  mutable CommonShares common_shares_;
  const EngineSettings& settings_;
  mutable std::atomic<bool> told_unknown_power_{false};
  mutable std::atomic<uint64_t> sharded_{0};  // varies the seed of forced splits with shards
};

}  // namespace tutti::scheduler
