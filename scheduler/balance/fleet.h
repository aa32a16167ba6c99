// SPDX-License-Identifier: Apache-2.0
// What a balancer knows of the devices of one launch: measured speeds, packages that are under way,
// and from both who would end when. Internal to balance/. Not thread-safe, as its balancer.
//
// A device counts as present until it was refused a package while it had none under way: nobody
// relies on such a device any more. So whoever is refused work leaves somebody behind who will ask
// for it. When a package of those has ended, who was refused may be called back: what lies behind
// may be slower than all that was known (an irregular kernel's costly part).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "scheduler/balance/balancer.h"

namespace tutti::scheduler {

class Fleet {
 public:
  /// A device's speed is that of its last `window` packages, at most kWindow.
  explicit Fleet(const std::vector<BalancerDevice>& devices, size_t window = kWindow);

  size_t size() const { return members_.size(); }
  uint64_t min_package(size_t device) const { return members_[device].min_package; }
  /// Slices per second over the last packages together (the mean of their speeds would let one
  /// package of an easy region count as much as ten times the work); before the first one the
  /// nominal speed, scaled by how the measured devices compare with theirs.
  double speed(size_t device) const;
  /// Some package was measured, so speeds are in slices per second.
  bool measured() const { return measured_devices_ > 0; }
  /// The speeds of some device's last packages, three or two, spread by more than a fifth of their
  /// mean.
  bool irregular() const { return irregular_; }
  /// The device's speed at this kernel was known before the launch.
  bool known(size_t device) const { return members_[device].known; }
  /// All were, with times that deviate by no more than a fifth, and nothing here says otherwise.
  bool regular() const { return known_regular_ && !irregular_; }

  /// Packages that the device has ended.
  size_t ended(size_t device) const { return members_[device].finished; }
  /// Some device has begun, but not ended a package yet.
  bool first_under_way() const;
  size_t present_count() const;
  /// s_i/(N·s_T) among the present devices: the formulas' factor for one of them.
  double weight(size_t device) const;
  /// s_i/s_T among the present devices.
  double share(size_t device) const { return speed(device) / present_speed(); }
  /// It has packages under way.
  bool busy(size_t device) const { return !members_[device].under_way.empty(); }

  /// Slices for `device` such that all present devices end together.
  double fair_share(size_t device, uint64_t remaining, double now) const;

  /// `size` slices as a package: at least the smallest one, never more than `remaining`.
  uint64_t package(size_t device, double size, uint64_t remaining) const;
  /// The same in whole smallest packages: a begun round of a device takes as long as a full one.
  uint64_t whole_rounds(size_t device, double size, uint64_t remaining) const;

  /// The slices of a package that shall have `size`: no more than the fair share, and all of that
  /// where it would make less than two worthwhile packages; but no less than makes a difference to
  /// the end.
  double sized(size_t device, double size, uint64_t remaining, double now) const;

  /// Throttling: whether a device that asks gets a package now. It is noted who was sent away. For
  /// a device that is none, or with nothing left, false.
  bool admit_if_useful(size_t device, uint64_t remaining, double now);
  void give(size_t device, uint64_t slices, double now);
  /// The package given last to the device, of `given` slices, is of `taken` only.
  void trim(size_t device, uint64_t given, uint64_t taken);
  void finished(const PackageReport& report);
  /// `device` goes on where `owner` works. Where both are known to this kernel, it is expected to
  /// find what the owner finds there, if that is slower than what it is used to.
  void helps(size_t device, size_t owner, double now);
  /// The device has failed and is present no more.
  void lose(size_t device);

 private:
  static constexpr size_t kWindow = 3;
  struct Package {
    uint64_t slices;
    double given;
  };
  struct Measured {
    double slices;
    double seconds;
  };
  struct Member {
    double nominal = 1;
    bool known = false;  // nominal is this kernel's speed on the device
    uint64_t min_package = 1;
    double worthwhile = 1;                 // slices
    std::array<Measured, kWindow> last{};  // packages, a ring
    size_t finished = 0;
    double last_end = 0;
    std::deque<Package> under_way;  // in the order in which they were given
    bool refused = false;
  };
  static constexpr size_t kNobody = static_cast<size_t>(-1);

  size_t measured_packages(const Member& member) const {
    return std::min(member.finished, window_);
  }
  bool present(const Member& member) const { return !member.refused || !member.under_way.empty(); }
  /// algorithms.md §1, throttling: the smallest package of `device` would not end later than
  /// everybody else could end all `remaining` slices without it.
  bool may_start(size_t device, uint64_t remaining, double now) const;
  double mean_speed(const Member& member) const;
  /// No more than that, by the package under way, which is not done by now; infinite without one.
  static double speed_at_most(const Member& member, double now);
  double present_speed() const;
  /// When `device` will have ended what it was given; not before `now`.
  double busy_until(size_t device, double now) const;
  /// When the present devices without `absent` end `slices` more, all ending together.
  double end_together(uint64_t slices, double now, size_t absent) const;

  std::vector<Member> members_;
  size_t window_;
  size_t measured_devices_ = 0;
  bool known_regular_ = true;
  bool irregular_ = false;
};

/// A balancer that learns in the launch: all that it is told goes to its fleet.
class FleetBalancer : public Balancer {
 public:
  void finished(const PackageReport& report) override { fleet_.finished(report); }
  void trimmed(uint32_t device, uint64_t given, uint64_t taken) override {
    fleet_.trim(device, given, taken);
  }
  void helps(uint32_t device, uint32_t owner, double now) override {
    fleet_.helps(device, owner, now);
  }
  bool calls_back(uint32_t device, uint64_t remaining, double now) override {
    return fleet_.admit_if_useful(device, remaining, now);
  }
  void lost(uint32_t device) override { fleet_.lose(device); }

 protected:
  explicit FleetBalancer(Fleet fleet) : fleet_(std::move(fleet)) {}
  Fleet fleet_;
};

}  // namespace tutti::scheduler
