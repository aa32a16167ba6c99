// SPDX-License-Identifier: Apache-2.0
// What the planner remembers of a kernel's launches of one size. Where the devices' shares met, as
// slices of an irregular kernel take unequal times; what splits really cost; and for how
// long splitting was not tried, so that a decision made on bad luck does not stand for ever.
// Thread-safe: one lock, short.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/thread_annotations.h"

namespace tutti::scheduler {

class Boundaries {
 public:
  /// A split was priced at `split` seconds and found dearer than the whole launch of `whole`
  /// seconds, by `loss`. True when it shall be tried all the same: so much time has gone by since
  /// the last one that the attempt costs next to nothing of it (Kicherer's thesis, 6.4.1). At first
  /// what it may lose counts, since a verdict may be an accident's; after each attempt twice as
  /// much, up to all that it takes. `gain`: what the split would save if what splits cost beyond
  /// their price had been an accident. True also when launches would have saved several times what
  /// the attempt may lose, by now.
  bool try_again(uint64_t kernel, uint64_t items, double whole, double split, double loss,
                 double gain = 0);
  /// A split was found cheaper.
  void pays(uint64_t kernel, uint64_t items);
  /// Likewise for a split of `seconds` over these `devices`, where one over fewer of them would be
  /// made, of `fewer` seconds.
  bool try_again(uint64_t kernel, uint64_t items, const std::vector<uint32_t>& devices,
                 double fewer, double seconds);
  /// Some of these `devices` seem too slow to take part in a launch, which takes `fewer` seconds
  /// without them. True when it goes without them whatever more is found out, since an attempt with
  /// them loses `least` at least, or since it was found out not long ago.
  bool leave_out(uint64_t kernel, uint64_t items, const std::vector<uint32_t>& devices,
                 double fewer, double least);
  /// Where it does not. True when they shall take part all the same, which is expected to lose
  /// `loss`: when it is next to nothing of the time without, and after each time twice as seldom.
  bool try_left_out(uint64_t kernel, uint64_t items, const std::vector<uint32_t>& devices,
                    double fewer, double loss);
  /// A split would gain `gain` seconds at every launch, were it not for data that have to move
  /// first, in `cost` seconds. True once so much gain was foregone that it would have paid the
  /// move: at worst twice what is best is spent on it. Twice as much is waited for after each time.
  bool worth_moving(uint64_t kernel, uint64_t items, double gain, double cost);
  /// Data that were moved have been found in place.
  void move_paid(uint64_t kernel, uint64_t items);
  /// A launch would gain `gain` seconds on another device than that of the launch before it. True
  /// once so much gain was foregone that it would have paid the way there, of `cost` seconds. Twice
  /// as much is waited for after each time.
  bool worth_leaving(uint64_t kernel, uint64_t items, double gain, double cost);
  /// Slices that each of the `devices` computed at the last split launch of as many work-items;
  /// empty where there is none, or by other devices.
  std::vector<uint64_t> shares(uint64_t kernel, uint64_t items,
                               std::span<const uint32_t> devices) const;
  /// `surplus`: seconds that the split took beyond what its shares were priced at, where it tells.
  void remember(uint64_t kernel, uint64_t items, std::span<const uint32_t> devices,
                std::vector<uint64_t> shares, std::optional<double> surplus);
  /// A whole launch took `seconds` on `device`. Kept only beside splits: of all others the
  /// performance model tells enough.
  void remember_whole(uint64_t kernel, uint64_t items, uint32_t device, double seconds);
  /// Seconds of whole launches on `device` between splits, the smaller of the last two, since one
  /// may be an accident; 0: none yet.
  double whole(uint64_t kernel, uint64_t items, uint32_t device) const;
  /// A split of `split` seconds was found cheaper than whole launches on `device`, by `loss`. True
  /// when one of these shall run all the same, since what is known of them may be an accident's: it
  /// costs a small part of the time since the last one, and half of that after each time.
  bool compare_again(uint64_t kernel, uint64_t items, uint32_t device, double split, double loss);
  /// The last split launches are known, two of them at least.
  bool settled(uint64_t kernel, uint64_t items) const;
  /// The smaller surplus of the last two splits over just these devices, since one may be an
  /// accident; none before there were two.
  std::optional<double> surplus(uint64_t kernel, uint64_t items,
                                const std::vector<uint32_t>& devices) const;

 private:
  struct Surplus {
    double seconds[2] = {0, 0};  // of the last two splits
    uint32_t splits = 0;         // two or more: 2
    double ignored = 0;          // seconds of launches over fewer devices instead
    double looked = 0;           // of these, when it was last found out what an attempt loses
    double caution = 1;          // how many times its loss an attempt counts for
  };
  /// What is put off until it would have paid.
  struct PutOff {
    double foregone = 0;  // seconds
    double patience = 1;  // how many times it must have paid
    bool pays(double gain, double cost);
  };
  /// Whole launches on one device.
  struct Whole {
    double seconds[2] = {0, 0};  // of the last two; 0: there was none
    double split = 0;            // seconds of splits since
    double caution = 1;          // how many times its loss an attempt counts for
  };
  struct Last {
    std::vector<uint32_t> devices;
    std::vector<uint64_t> shares;
    double ignored = 0;   // seconds of whole launches since the last split
    double missed = 0;    // seconds that splits might have saved them
    PutOff moving;        // a split whose data are not in place
    PutOff leaving;       // the device of the launch before
    double caution = 1;   // how many times its loss an attempt counts for
    uint32_t splits = 0;  // two or more: 2
    std::map<std::vector<uint32_t>, Surplus> surplus;  // by devices
    std::map<uint32_t, Whole> whole;                   // by device
  };

  Last& entry(uint64_t kernel, uint64_t items) TUTTI_REQUIRES(mutex_);
  const Last* find(uint64_t kernel, uint64_t items) const TUTTI_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::unordered_map<uint64_t, Last> last_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
