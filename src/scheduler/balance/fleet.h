// SPDX-License-Identifier: Apache-2.0
// What a balancer knows of the devices of one launch: measured speeds, packages that are under way,
// and from both who would end when. Internal to balance/. Not thread-safe, as its balancer.
//
// A device counts as present until it was refused a package while it had none under way: nobody
// relies on such a device any more, and it may still come back. So whoever is refused work leaves
// somebody behind who will ask for it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "scheduler/balance/balancer.h"

namespace tutti::scheduler {

class Fleet {
 public:
  explicit Fleet(const std::vector<BalancerDevice>& devices);

  size_t size() const { return members_.size(); }
  uint64_t min_package(size_t device) const { return members_[device].min_package; }
  /// Slices per second over the last three packages together (the mean of their speeds would let
  /// one package of an easy region count as much as ten times the work); before the first one the
  /// nominal speed, scaled by how the measured devices compare with theirs.
  double speed(size_t device) const;
  /// Some package was measured, so speeds are in slices per second.
  bool measured() const { return measured_devices_ > 0; }
  /// The speeds of some device's last packages, three or two, spread by more than a fifth of their
  /// mean.
  bool irregular() const { return irregular_; }

  size_t present_count() const;
  double present_speed() const;

  /// algorithms.md §1, throttling: the smallest package of `device` would not end later than
  /// everybody else could end all `remaining` slices without it.
  bool may_start(size_t device, uint64_t remaining, double now) const;
  /// Slices for `device` such that all present devices end together.
  double fair_share(size_t device, uint64_t remaining, double now) const;

  void admit(size_t device) { members_[device].refused = false; }
  void refuse(size_t device) { members_[device].refused = true; }
  void give(size_t device, uint64_t slices, double now);
  void finished(const PackageReport& report);

 private:
  struct Package {
    uint64_t slices;
    double given;
  };
  struct Measured {
    double slices;
    double seconds;
  };
  struct Member {
    size_t known() const { return std::min(finished, last.size()); }

    double nominal = 1;
    uint64_t min_package = 1;
    std::array<Measured, 3> last{};  // packages, a ring
    size_t finished = 0;
    double last_end = 0;
    std::deque<Package> under_way;  // in the order in which they were given
    bool refused = false;
  };
  static constexpr size_t kNobody = static_cast<size_t>(-1);

  bool present(const Member& member) const { return !member.refused || !member.under_way.empty(); }
  double mean_speed(const Member& member) const;
  /// When `device` will have ended what it was given; not before `now`.
  double busy_until(size_t device, double now) const;
  /// When the present devices without `absent` end `slices` more, all ending together.
  double end_together(uint64_t slices, double now, size_t absent) const;

  std::vector<Member> members_;
  size_t measured_devices_ = 0;
  bool irregular_ = false;
};

}  // namespace tutti::scheduler
