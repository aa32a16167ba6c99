// SPDX-License-Identifier: Apache-2.0
// One launch of a kernel that is computed by several devices: hands packages to the devices'
// workers as the balancer says, two in flight per device, and ends when the last package has ended.
// A whole launch that begins behind such a one is one package on one device.
// Shared by the workers' tasks; thread-safe. Its lock is never held while a vendor is called.
//
// Where the next launch of an in-order stream is chained to it, that begins as soon as nothing of
// this one is left to be given out: a package of it waits only for those packages of this one that
// are still under way on other devices and write what it reads or writes, or read where it writes.
// It ends after this one. Several may begin behind each other so.
//
// A package that takes far longer than others let expect is computed by another participant as well
// (split_overdue.cpp). The first of the two counts, and the launch does not wait for the other one,
// which OverduePackages keeps an eye on.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread_annotations.h"
#include "scheduler/balance/balancer.h"
#include "scheduler/balance/regions.h"
#include "scheduler/command/work.h"
#include "scheduler/devices/workers.h"
#include "scheduler/observe/run_summary.h"
#include "scheduler/observe/run_trace.h"
#include "scheduler/order/stream.h"
#include "scheduler/plan/planner.h"
#include "scheduler/plan/shard_ranges.h"
#include "scheduler/run/merge.h"
#include "scheduler/run/overdue_packages.h"
#include "scheduler/run/package_use.h"
#include "scheduler/run/prefetch.h"
#include "scheduler/run/vendor_launch.h"

namespace tutti::scheduler {

class SplitRun : public std::enable_shared_from_this<SplitRun> {
 public:
  struct Parts {
    BackendSet& backends;
    Workers& workers;
    RunSummary& summary;
    BlockCompare& compare;
    RunTrace& trace;
    std::shared_ptr<CommandTrace> command;  // null: not traced
    std::vector<uint64_t> rounds;           // per participant: the slices that fill it, ≥ 1
    Ref<Node> node{};                       // the launch in the graph
    OverduePackages* overdue = nullptr;     // null: each package is waited for
    std::shared_ptr<Prefetch> prefetch{};   // for the launch behind it; null: none
  };
  struct Outcome {
    Status status;
    std::span<const PackageRecord> packages;
    std::span<const PackageUse> uses;  // of packages that have ended well
    std::vector<uint64_t> slices;      // per participant
    bool nothing_ran = false;          // no device could compute anything: buffers are as they were
    uint64_t begun_ns = 0;
    double balanced_seconds = 0;  // had all devices ended together, as fast as they were
    bool read_meanwhile = false;  // its results were fetched while it computed, which takes time
    bool went_without = false;    // a package was dropped: its times say nothing of others
  };
  /// Called once, by the worker that ends last, when all results are in the directory.
  using Ended = std::function<void(const Outcome&)>;
  SplitRun(Parts parts, KernelWork work, KernelPlan plan, Ref<Stream> stream,
           std::unique_ptr<Balancer> balancer, Ended ended);
  ~SplitRun();

  size_t participants() const { return devices().size(); }
  uint32_t backend(size_t participant) const { return devices()[participant]; }
  /// The launch begins: its participants are about to take part.
  void begin() { begun_ns_ = now_ns(); }
  /// A participant's whole share of the launch; each is called once, on its device's worker.
  void take_part(size_t participant);
  /// In place of take_part(), where the device has no thread.
  void absent(size_t participant, const Error& error);

  /// Whether a launch may be chained to this one, and this one to another.
  bool chainable() const { return chainable_; }
  std::span<const uint32_t> devices() const { return plan_.devices(); }
  bool whole() const { return !plan_.split; }
  /// The launch that this one has begun behind, until that has ended; null: there is none.
  std::shared_ptr<SplitRun> before() TUTTI_EXCLUDES(mutex_);
  /// Bytes that packages of `next` read on one device and packages of this launch write on another,
  /// if both are divided as is expected.
  uint64_t bytes_between(const KernelWork& next, const KernelPlan& plan) const;
  /// `next` comes after `before`; calls `start` once it can begin. Its participants are to take
  /// part on their workers behind those of `before`.
  static void chain(const std::shared_ptr<SplitRun>& before, const std::shared_ptr<SplitRun>& next,
                    std::function<void()> start);
  /// It is over, and all of it was computed.
  bool succeeded() TUTTI_EXCLUDES(mutex_);
  /// What packages that have ended wrote of the buffer at the place, ranges without gaps only, and
  /// nobody changes any more: after the first `seen` of all packages, which it counts on. Waits
  /// until there is some; empty: the launch is over. For chainable ones.
  std::vector<ByteRange> next_written(const LogicalBuffer& buffer, Place place, size_t& seen)
      TUTTI_EXCLUDES(mutex_);
  /// Has a participant that has nothing to do compute what is overdue, in a thread of its own. When
  /// to ask again; absent: never.
  std::optional<uint64_t> look_for_overdue() TUTTI_EXCLUDES(mutex_);

 private:
  using Range = SliceRange;
  struct InFlight {
    Range range;
    backends::CompletionPtr completion;
    uint64_t launched_ns = 0;
    uint64_t begun_ns = 0;  // when its data began to move, else when it was launched
    uint64_t number = 0;    // of the package in running_
    Computing computing;
    ContentBefore before;
  };
  struct Running {
    uint64_t number = 0;
    uint32_t backend = 0;  // kNobody: it is to be computed anew
    std::vector<PackageUse> uses;
    bool in_vain = false;  // what it computes with is
    uint32_t device = 0;   // that has it; kNobody: none any more
    Range range{};
    uint64_t launched_ns = 0;  // 0: it is not yet
    bool again = false;        // another one of the same range is overdue
    uint64_t twin = 0;         // the number of the other one of these two; 0: there is none
    bool beaten = false;       // that has ended first
    bool counts = false;       // it has ended, and it is this one that counts
  };
  /// A package that the launch does not wait for.
  struct Dropped {
    uint64_t number = 0;
    LatePackage late;
  };
  /// A participant's part in the launch is yet to begin, goes on, or is over; or nobody waits for
  /// it any more, since its device's thread waits for a package that was dropped.
  enum class Presence : uint8_t { kComing, kThere, kLeft, kGone };
  static constexpr uint32_t kNobody = UINT32_MAX;
  struct Seat;  // what one participant needs to launch packages
  struct Part {
    uint32_t backend = 0;
    Range range;
  };

  /// Who is expected to compute what; empty: nothing is expected.
  static std::vector<Part> parts_of(const KernelPlan& plan);

  Range next_range(size_t participant, bool insist) TUTTI_EXCLUDES(mutex_);
  /// The balancer hears whose slices the participant would get next. The time of the launch so far.
  double tell_owner(size_t participant) TUTTI_REQUIRES(mutex_);
  /// A package has ended: whoever was refused one, has nothing to do, and would get one now, asks
  /// again.
  void call_back() TUTTI_EXCLUDES(mutex_);
  /// Whether the participant may be called back, and gets a package now.
  bool calls_back(size_t participant) TUTTI_REQUIRES(mutex_);
  /// On its device's worker.
  void come_back(size_t participant) TUTTI_EXCLUDES(mutex_);
  /// Does its part of the launch by `work`, and may be called back then.
  template <typename Work>
  void take_part(size_t participant, Work work) TUTTI_EXCLUDES(mutex_);
  /// False: nobody waits for it any more.
  bool arrive(size_t participant) TUTTI_EXCLUDES(mutex_);
  /// `range` may be empty: the participant takes no part.
  void give_back(size_t participant, Range range, Error error) TUTTI_EXCLUDES(mutex_);
  /// A package that was launched has failed, or what it computed cannot be used: where what it has
  /// needed is still there, others are to compute it anew. False: it is not. `dropped`: what the
  /// device has merged is.
  bool take_back(size_t participant, const InFlight& package, bool& dropped, const Error& why)
      TUTTI_EXCLUDES(mutex_);
  /// The same of a launch that has begun behind one of which a package with these uses is to be
  /// computed anew: what has used that is, too. False: somebody relies on it for good.
  bool wait_for_again(std::span<const PackageUse> uses, uint32_t backend) TUTTI_EXCLUDES(mutex_) {
    return may_change(uses, backend, true);
  }
  /// `marks`: of what has used it, that it computes in vain.
  bool may_change(std::span<const PackageUse> uses, uint32_t backend, bool marks)
      TUTTI_EXCLUDES(mutex_);
  /// A package with these uses, behind which the device has begun others, has failed, and the same
  /// was computed elsewhere: what has used what it wrote has computed in vain.
  void spoil_behind(std::span<const PackageUse> uses, uint32_t device) TUTTI_EXCLUDES(mutex_);
  /// Whether the package, which has ended, has computed with what is to be computed anew.
  bool in_vain(const InFlight& package) TUTTI_EXCLUDES(mutex_);
  /// What is merged of the device cannot be told apart by packages: all of them go back.
  bool drop_merged(size_t participant) TUTTI_EXCLUDES(mutex_);
  // ---- split_stream.cpp
  /// The largest package that such a participant gets, in slices.
  uint64_t most_at_once(size_t participant) const;
  /// What these slices touch of the buffers of which the participant has a part.
  BufferRanges window_ranges(size_t participant, const Range& slices) const;
  /// Of slices that the participant has been given, those that it may launch now, since its memory
  /// is for them, or has moved to them; the others it gets next. Absent: none before its packages
  /// under way have ended; or they are given back.
  std::optional<Range> into_window(size_t participant, Seat& seat, Range range)
      TUTTI_EXCLUDES(mutex_);
  /// How many of the slices, the first or last ones, its memory is for.
  uint64_t most_held(size_t participant, const Range& range, bool downwards) const;
  /// Leaves so many of the slices; the participant gets the others next.
  void shorten(size_t participant, Range& range, uint64_t count, bool downwards)
      TUTTI_EXCLUDES(mutex_);
  Status move_window(size_t participant, Seat& seat, Range& range, bool downwards)
      TUTTI_EXCLUDES(mutex_);
  /// What a package of such a participant has written, and shown, is valid in the host's copy, too.
  void bring_home(size_t participant, const Range& range);
  // ---- split_overdue.cpp
  /// How many of such slices the participant should compute per second, and how many times as long
  /// it may take.
  struct Pace {
    double slices_per_second = 0;
    double patience = 0;
  };
  /// `model`: by participant, slices per second; 0: not known.
  std::optional<Pace> pace_of(size_t participant, std::span<const double> model) const
      TUTTI_REQUIRES(mutex_);
  /// Who has something overdue at `now`; `next`: the time at which that is to be asked, if earlier.
  std::optional<size_t> overdue_participant(uint64_t now, std::span<const double> model,
                                            uint64_t& next) const TUTTI_REQUIRES(mutex_);
  /// The fastest one that has nothing to do.
  std::optional<size_t> idle_participant() const TUTTI_REQUIRES(mutex_);
  Running* running(uint64_t number) TUTTI_REQUIRES(mutex_);
  /// The participant's oldest package; `overdue`: that is known, else only where one before it was
  /// dropped and goes on.
  std::optional<Running> oldest_of(size_t participant, bool overdue) TUTTI_EXCLUDES(mutex_);
  /// In a thread of its own: `helper` computes what `late` has under way.
  void compute_instead(size_t late, size_t helper) TUTTI_EXCLUDES(mutex_);
  enum class Again : uint8_t { kEnded, kNotNow, kFailed, kDropped };
  /// The same of one package.
  Again compute_again(size_t helper, Seat& seat, const Running& package) TUTTI_EXCLUDES(mutex_);
  /// Whether the package may be computed twice; from then on nothing that begins behind the launch
  /// changes what it reads.
  bool begin_again(const Running& package) TUTTI_EXCLUDES(mutex_);
  /// It is not, or no more.
  void end_again(uint64_t number) TUTTI_EXCLUDES(mutex_);
  /// Of a package that has ended, if there are two for its range, what it computed counts
  /// (kCounts), and `beaten` is the other one's number; or it is discarded, maybe since the package
  /// was dropped, and nothing more is to be done about it.
  enum class Judged : uint8_t { kCounts, kDiscarded, kDropped };
  Judged judge(size_t participant, const InFlight& package, const Status& status, uint64_t& beaten)
      TUTTI_EXCLUDES(mutex_);
  /// The package that computes the same as one that counts is not waited for. False: it has ended,
  /// or must be waited for.
  bool drop(uint64_t number) TUTTI_EXCLUDES(mutex_);
  /// Nor is the participant, if all that it has under way was dropped.
  bool go_on_without(size_t participant) TUTTI_EXCLUDES(mutex_);
  /// What a participant that nobody waits for has under way, in its device's thread.
  void wait_for_dropped(size_t participant);
  /// A participant has left: whether somebody is to look for overdue packages from now on.
  bool begins_watch() TUTTI_REQUIRES(mutex_);

  /// Whether packages in flight on the device run side by side, on queues of their own.
  bool side_by_side(uint32_t backend) const;
  void note_end(size_t participant, Seat& seat, const InFlight& package, uint64_t previous_end)
      TUTTI_EXCLUDES(mutex_);
  /// The participant has parts of buffers only; or nothing, for there is no slice that it may get.
  bool has_shards(size_t participant) const {
    return !whole() && plan_.sharded() && !plan_.shards[participant].empty();
  }
  /// Its kernel is the shard variant. Never of a whole launch.
  bool shifts(size_t participant) const {
    return has_shards(participant) ||
           (!whole() &&
            shifts_pointers(*work_.arguments, parts_.backends.traits(backend(participant))));
  }
  /// It has memory for a window of the launch at a time.
  bool streams(size_t participant) const {
    return !whole() && plan_.streamed() && plan_.windows[participant] > 0;
  }
  bool out_of_reach(size_t participant) const {
    return !whole() && plan_.sharded() && plan_.reaches[participant].count == 0;
  }
  Status sit_down(size_t participant, Seat& seat);
  /// The vendor's view of the launch's arguments, by where the participant's shards are now.
  Status set_arguments(size_t participant, Seat& seat);
  /// Whether those that were refused packages may be called back: not where what they then miss
  /// would be asked of a device that does one thing at a time, nor where what they have computed
  /// is merged already.
  bool may_call_back() const;
  /// Whether the device must hand out before its packages run what others need of its memory.
  bool hands_out(uint32_t backend) const;
  /// Brings what other devices' shares need, and is valid on this one alone, to the host's copy.
  void hand_out(uint32_t backend) TUTTI_EXCLUDES(mutex_);
  std::vector<PackageUse> uses_of(uint32_t backend, Range range) const {
    return uses_of_package(work_, plan_, backend, range.first, range.count);
  }
  /// Everything that the package reads is valid where it runs, and what it writes is announced.
  /// `moved`: bytes.
  Status prepare_data(Seat& seat, std::span<const PackageUse> uses, uint64_t& moved);
  /// `wait`: of other queues of the device.
  Result<InFlight> launch(Seat& seat, Range range, std::span<const PackageUse> uses,
                          backends::WaitList wait);
  /// launch(); where that fails, nothing of the package has run, and another device may compute it.
  /// `number`: as announced.
  bool try_launch(size_t participant, Seat& seat, Range range, uint64_t number,
                  std::span<const PackageUse> uses, backends::WaitList wait);
  void work_off(size_t participant, bool insist);
  void work_off(size_t participant, Seat& seat, bool insist, uint64_t previous_end);
  void fail_with(Error error) TUTTI_EXCLUDES(mutex_);
  /// The device has all that it gets of the launch before, of which `in_flight` is still under way
  /// there: launches a package behind that, if everything is where it needs it.
  void take_early(uint32_t backend, const std::deque<InFlight>& in_flight);
  std::shared_ptr<SplitRun> started_next() TUTTI_EXCLUDES(mutex_);
  /// A package is about to be launched: its number in running_. Waits until nothing of earlier
  /// launches that is under way on other devices meets the uses; or does not, then absent.
  uint64_t announce(uint32_t backend, std::span<PackageUse> uses) TUTTI_EXCLUDES(mutex_);
  /// `behind_last`: the device's queues put it behind all that they have of the launch before.
  std::optional<uint64_t> announce_at_once(uint32_t backend, std::span<PackageUse> uses,
                                           bool behind_last = false) TUTTI_EXCLUDES(mutex_);
  /// It will not be launched.
  void withdraw(uint64_t number) TUTTI_EXCLUDES(mutex_);
  /// Once nothing is left to be given out: shows what has ended, and starts the next launch.
  void show_launched() TUTTI_EXCLUDES(mutex_);
  void end_writes(std::span<const PackageUse> uses, bool discard);
  /// Of what a package has written that stays which is prefetched, if it `sends` anything, and so
  /// shown at once; all else is kept for later.
  void keep_unshown(std::vector<PackageUse>& uses, bool sends) TUTTI_REQUIRES(mutex_);
  /// Nothing is prefetched any more.
  void stop_prefetch() TUTTI_EXCLUDES(mutex_) {
    if (parts_.prefetch) parts_.prefetch->stop();
  }
  /// The package of this number has ended; `failed`: as an error.
  void note_written(uint64_t number, bool failed) TUTTI_EXCLUDES(mutex_);
  /// Whether something of this launch that is under way, and that the device's queues do not keep
  /// in order with the uses, meets them; waits until nothing does. `behind`: whatever this device
  /// has of it comes before them.
  bool meets_others(std::span<const PackageUse> uses, uint32_t backend, bool behind = false)
      TUTTI_EXCLUDES(mutex_);
  void wait_for_others(std::span<const PackageUse> uses, uint32_t backend) TUTTI_EXCLUDES(mutex_);
  bool meets(std::span<const PackageUse> uses, uint32_t backend, bool behind) const
      TUTTI_REQUIRES(mutex_);
  /// The launch before has ended.
  void first_now() TUTTI_EXCLUDES(mutex_);
  /// A participant has ended, or the launch before has: the last of them ends this one.
  void leave() TUTTI_EXCLUDES(mutex_);
  /// Tells the model; seconds as Outcome::balanced_seconds.
  double learn(std::vector<PackageRecord> packages);
  std::vector<uint64_t> slices_of_each(const std::vector<PackageRecord>& packages) const;
  /// Where several places changed what only one may (MergeRegion::alone): gives back the packages
  /// of all but one, whose participant is returned.
  std::optional<size_t> drop_conflicts() TUTTI_EXCLUDES(mutex_);
  /// Gives back the packages of a device that does not give what it has computed. False: all do.
  bool drop_unreachable() TUTTI_EXCLUDES(mutex_);
  /// Gives back what a device that is lost by now has computed, and where that lies in its memory
  /// alone, as far as what it has needed is elsewhere. False: there is no such device.
  /// `any_device`: each may be.
  bool drop_lost(bool any_device) TUTTI_EXCLUDES(mutex_);
  /// The same of one device, of packages that are not merged.
  bool drop_packages(size_t participant) TUTTI_EXCLUDES(mutex_);
  /// The launch reads nothing of what it merges.
  bool reads_nothing_merged() const;
  /// The last participant to end: whatever is left is done by a device that works.
  void complete() TUTTI_EXCLUDES(mutex_);
  Status merge(Status status);
  /// Its results could not be put together, since a device is lost: others compute its part.
  Status merge_without_lost(Status failed) TUTTI_EXCLUDES(mutex_);
  uint64_t number() const { return parts_.command ? parts_.command->number : 0; }  // in the trace
  void finish();

  Parts parts_;
  const KernelWork work_;
  const KernelPlan plan_;
  const Ref<Stream> stream_;
  const uint32_t dimension_;
  const uint64_t slices_;
  uint64_t begun_ns_ = 0;  // constant once begun
  Ended ended_;
  std::vector<std::unique_ptr<Merge>> merges_;
  const bool chainable_;
  const bool twice_;       // packages may be computed a second time
  bool repeated_ = false;  // drop_conflicts() found some
  // Per participant, of those that looked ahead. Only its device's worker touches it.
  std::vector<std::unique_ptr<Seat>> seats_;

  Mutex mutex_;
  std::unique_ptr<Balancer> balancer_ TUTTI_GUARDED_BY(mutex_);
  Regions regions_ TUTTI_GUARDED_BY(mutex_);
  size_t active_ TUTTI_GUARDED_BY(mutex_);             // participants, and the launch before
  std::vector<bool> away_ TUTTI_GUARDED_BY(mutex_);    // per participant: it may be called back
  std::vector<bool> failed_ TUTTI_GUARDED_BY(mutex_);  // per participant
  Status status_ TUTTI_GUARDED_BY(mutex_);             // of a package that failed while it ran
  Error last_error_ TUTTI_GUARDED_BY(mutex_);          // of a package that was not launched
  std::vector<PackageRecord> packages_ TUTTI_GUARDED_BY(mutex_);

  // Of the chain.
  std::shared_ptr<SplitRun> before_ TUTTI_GUARDED_BY(mutex_);  // until it has ended
  std::shared_ptr<SplitRun> next_ TUTTI_GUARDED_BY(mutex_);
  std::function<void()> start_next_ TUTTI_GUARDED_BY(mutex_);  // until it is called
  bool next_started_ TUTTI_GUARDED_BY(mutex_) = false;
  uint64_t first_ns_ TUTTI_GUARDED_BY(mutex_) = 0;  // when the launch before had ended
  // Ranges given out and not yet launched, and devices that hand out: all that may move data.
  size_t starting_ TUTTI_GUARDED_BY(mutex_) = 0;
  uint64_t last_number_ TUTTI_GUARDED_BY(mutex_) = 0;
  // Launched, or about to be, and not known to have ended.
  std::vector<Running> running_ TUTTI_GUARDED_BY(mutex_);
  std::vector<PackageUse> not_shown_ TUTTI_GUARDED_BY(mutex_);  // of packages that have ended
  std::vector<PackageUse> written_ TUTTI_GUARDED_BY(mutex_);    // by all that have ended well
  // Of packages that cannot be computed anew, since they have changed what they read.
  std::vector<PackageUse> shown_early_ TUTTI_GUARDED_BY(mutex_);
  // What packages wrote is shown when they end.
  bool shows_ TUTTI_GUARDED_BY(mutex_) = plan_.streamed();
  bool finished_ TUTTI_GUARDED_BY(mutex_) = false;

  // Of overdue packages; the first four by participant.
  std::vector<Presence> presence_ TUTTI_GUARDED_BY(mutex_);
  std::vector<uint64_t> there_since_ns_ TUTTI_GUARDED_BY(mutex_);
  std::vector<uint32_t> taking_ TUTTI_GUARDED_BY(mutex_);  // ranges given out and not yet launched
  std::vector<Range> pending_ TUTTI_GUARDED_BY(mutex_);    // one of those that waits for its turn
  std::vector<bool> no_help_ TUTTI_GUARDED_BY(mutex_);     // has failed to compute one again
  std::vector<Dropped> dropped_ TUTTI_GUARDED_BY(mutex_);  // these go on
  bool computes_again_ TUTTI_GUARDED_BY(mutex_) = false;   // a thread does
  bool watched_ TUTTI_GUARDED_BY(mutex_) = false;
  bool went_without_ TUTTI_GUARDED_BY(mutex_) = false;  // a package
  bool read_meanwhile_ TUTTI_GUARDED_BY(mutex_) = false;
  ConditionVariable package_ended_;
};

}  // namespace tutti::scheduler
