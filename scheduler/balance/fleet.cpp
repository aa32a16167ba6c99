// SPDX-License-Identifier: Apache-2.0
#include "scheduler/balance/fleet.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tutti::scheduler {
namespace {

constexpr double kIrregular = 0.2;  // algorithms.md §1, sigmoid
// A package that takes this part of the time so far changes the end by no more.
constexpr double kLeastPart = 0.003;
constexpr double kShortest = 1e-9;  // seconds; clocks may show none at all for a tiny package
constexpr double kSlowest = 1e-12;

}  // namespace

Fleet::Fleet(const std::vector<BalancerDevice>& devices, size_t window)
    : window_(std::clamp<size_t>(window, 1, kWindow)) {
  members_.reserve(devices.size());
  for (const BalancerDevice& device : devices) {
    Member member;
    member.nominal = device.nominal_speed > kSlowest && std::isfinite(device.nominal_speed)
                         ? device.nominal_speed
                         : kSlowest;
    member.known = device.known;
    known_regular_ = known_regular_ && device.known && device.irregularity <= kIrregular;
    member.min_package = std::max<uint64_t>(device.min_package, 1);
    member.worthwhile = static_cast<double>(device.worthwhile);
    members_.push_back(std::move(member));
  }
}

double Fleet::mean_speed(const Member& member) const {
  double slices = 0;
  double seconds = 0;
  for (size_t i = 0; i < measured_packages(member); ++i) {
    slices += member.last[i].slices;
    seconds += member.last[i].seconds;
  }
  return slices / seconds;
}

double Fleet::speed(size_t device) const {
  const Member& member = members_[device];
  if (member.finished > 0) return mean_speed(member);
  if (!measured()) return member.nominal;
  double real = 0;
  double nominal = 0;
  for (const Member& other : members_) {
    if (other.finished == 0) continue;
    real += mean_speed(other);
    nominal += other.nominal;
  }
  return std::max(member.nominal * real / nominal, kSlowest);
}

size_t Fleet::present_count() const {
  return static_cast<size_t>(
      std::count_if(members_.begin(), members_.end(), [&](const Member& m) { return present(m); }));
}

double Fleet::present_speed() const {
  double sum = 0;
  for (size_t i = 0; i < members_.size(); ++i) {
    if (present(members_[i])) sum += speed(i);
  }
  return sum;
}

bool Fleet::first_under_way() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member& m) { return m.finished == 0 && !m.under_way.empty(); });
}

double Fleet::weight(size_t device) const {
  return speed(device) / present_speed() / static_cast<double>(present_count());
}

uint64_t Fleet::package(size_t device, double size, uint64_t remaining) const {
  // A share of 99.9999… slices is one of 100: rounding errors must not leave a tail.
  const double most = static_cast<double>(remaining);
  const auto slices = static_cast<uint64_t>(std::clamp(size * (1 + 1e-9), 0.0, most));
  return std::min(std::max(slices, min_package(device)), remaining);
}

uint64_t Fleet::whole_rounds(size_t device, double size, uint64_t remaining) const {
  const uint64_t slices = package(device, size, remaining);
  return slices == remaining ? slices : slices - slices % min_package(device);
}

bool Fleet::admit_if_useful(size_t device, uint64_t remaining, double now) {
  if (device >= size() || remaining == 0) return false;
  members_[device].refused = !may_start(device, remaining, now);
  return !members_[device].refused;
}

double Fleet::speed_at_most(const Member& member, double now) {
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  if (member.under_way.empty()) return kNoLimit;
  const Package& first = member.under_way.front();
  const double begun = std::max(member.last_end, first.given);
  return now > begun ? std::max(static_cast<double>(first.slices) / (now - begun), kSlowest)
                     : kNoLimit;
}

double Fleet::busy_until(size_t device, double now) const {
  const Member& member = members_[device];
  if (member.under_way.empty()) return now;
  double rate = speed(device);
  double end = now;
  bool first = true;
  for (const Package& package : member.under_way) {
    const auto slices = static_cast<double>(package.slices);
    if (first && measured()) {
      const double begun = std::max(member.last_end, package.given);
      end = std::max(now, begun + slices / rate);
      rate = std::min(rate, speed_at_most(member, now));
    } else {
      end += slices / rate;
    }
    first = false;
  }
  return end;
}

double Fleet::end_together(uint64_t slices, double now, size_t absent) const {
  // The first t with Σ s_j·max(0, t − b_j) = slices: devices join in the order in which they become
  // free.
  std::vector<std::pair<double, double>> free_at;  // (b_j, s_j)
  free_at.reserve(members_.size());
  for (size_t i = 0; i < members_.size(); ++i) {
    if (i != absent && present(members_[i])) free_at.emplace_back(busy_until(i, now), speed(i));
  }
  if (free_at.empty()) return std::numeric_limits<double>::infinity();
  std::sort(free_at.begin(), free_at.end());
  double left = static_cast<double>(slices);
  double rate = 0;
  double time = free_at.front().first;
  for (const auto& [begin, speed] : free_at) {
    if (rate > 0 && left <= rate * (begin - time)) break;
    left -= rate * (begin - time);
    time = begin;
    rate += speed;
  }
  return time + std::max(left, 0.0) / rate;
}

bool Fleet::may_start(size_t device, uint64_t remaining, double now) const {
  // A package takes whole rounds of min_package slices, on the others too, however little is left.
  const auto round = [&](size_t i) { return static_cast<double>(min_package(i)) / speed(i); };
  double others = end_together(remaining, now, device);
  double soonest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < members_.size(); ++i) {
    if (i != device && present(members_[i])) {
      soonest = std::min(soonest, busy_until(i, now) + round(i));
    }
  }
  others = std::max(others, soonest);
  return busy_until(device, now) + round(device) <= others;
}

double Fleet::fair_share(size_t device, uint64_t remaining, double now) const {
  const double end = end_together(remaining, now, kNobody);
  return std::max(0.0, speed(device) * (end - busy_until(device, now)));
}

double Fleet::sized(size_t device, double size, uint64_t remaining, double now) const {
  const double share = fair_share(device, remaining, now);
  const double least = measured() ? kLeastPart * now * speed(device) : 0;
  const double worthwhile = std::max(members_[device].worthwhile, least);
  if (share < 2 * worthwhile) return std::max(share, least);
  return std::clamp(size, worthwhile, share);
}

void Fleet::give(size_t device, uint64_t slices, double now) {
  members_[device].under_way.push_back({slices, now});
}

void Fleet::trim(size_t device, uint64_t given, uint64_t taken) {
  auto& under_way = members_[device].under_way;
  if (!under_way.empty() && under_way.back().slices == given) under_way.back().slices = taken;
}

void Fleet::helps(size_t device, size_t owner, double now) {
  if (device >= members_.size() || owner >= members_.size()) return;
  Member& member = members_[device];
  const Member& there = members_[owner];
  if (!member.known || !there.known || member.finished == 0) return;
  double pace = speed_at_most(there, now);
  if (there.finished > 0) pace = std::min(pace, mean_speed(there));
  const double expected = std::max(pace * member.nominal / there.nominal, kSlowest);
  if (expected >= mean_speed(member)) return;
  // Its own packages there replace this one after the other.
  for (size_t i = 0; i < measured_packages(member); ++i) {
    member.last[i].slices = expected * member.last[i].seconds;
  }
}

void Fleet::lose(size_t device) {
  if (device >= members_.size()) return;
  members_[device].refused = true;
  members_[device].under_way.clear();
}

void Fleet::finished(const PackageReport& report) {
  if (report.device >= members_.size() || report.slices == 0) return;
  Member& member = members_[report.device];
  // Packages end in the order in which they were given; one that was not given here (work that
  // another device gave back) is measured all the same.
  const auto given =
      std::find_if(member.under_way.begin(), member.under_way.end(),
                   [&](const Package& package) { return package.slices == report.slices; });
  if (given != member.under_way.end()) member.under_way.erase(given);
  const double seconds = std::max(report.end - report.start, kShortest);
  if (member.finished == 0) ++measured_devices_;
  member.last[member.finished++ % window_] = {static_cast<double>(report.slices), seconds};
  member.last_end = std::max(member.last_end, report.end);
  const size_t count = measured_packages(member);
  if (count < 2) return;
  double sum = 0;
  double squares = 0;
  for (size_t i = 0; i < count; ++i) {
    const double speed = member.last[i].slices / member.last[i].seconds;
    sum += speed;
    squares += speed * speed;
  }
  const double mean = sum / static_cast<double>(count);
  const double variance = std::max(0.0, squares / static_cast<double>(count) - mean * mean);
  irregular_ = irregular_ || std::sqrt(variance) > kIrregular * mean;
}

}  // namespace tutti::scheduler
