// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/boundaries.h"

#include <algorithm>

namespace tutti::scheduler {
namespace {

constexpr size_t kMost = 4096;    // kernels and sizes
constexpr size_t kMostSets = 16;  // of devices
constexpr double kTrialShare = 0.01;
// Where so many times an attempt's loss may have been missed, or one accident may stand behind what
// is known, the attempt may take this part: in vain it costs a twentieth of the time at first, then
// half as much each time.
constexpr double kMayBeAccident = 4;
constexpr double kTrialShareMissing = 0.05;
constexpr double kMostPatience = 1024;
// What an attempt loses is found out again after so many times the time without.
constexpr double kLookAgain = 1.25;

uint64_t key(uint64_t kernel, uint64_t items) { return kernel ^ items * 0x9E3779B97F4A7C15ull; }

/// `spent` more seconds have gone by without what would take `cost`: is that no more than `share`
/// of them now?
bool enough(double& ignored, double spent, double cost, double share = kTrialShare) {
  ignored += spent;
  if (cost > share * ignored) return false;
  ignored = 0;
  return true;
}

}  // namespace

bool Boundaries::PutOff::pays(double gain, double cost) {
  foregone += std::max(0.0, gain);
  if (foregone < patience * cost) return false;
  foregone = 0;
  patience = std::min(2 * patience, kMostPatience);
  return true;
}

Boundaries::Last& Boundaries::entry(uint64_t kernel, uint64_t items) {
  if (last_.size() >= kMost) last_.clear();
  return last_[key(kernel, items)];
}

const Boundaries::Last* Boundaries::find(uint64_t kernel, uint64_t items) const {
  const auto found = last_.find(key(kernel, items));
  return found != last_.end() ? &found->second : nullptr;
}

bool Boundaries::try_again(uint64_t kernel, uint64_t items, double whole, double split, double loss,
                           double gain) {
  MutexLock lock(mutex_);
  Last& last = entry(kernel, items);
  last.missed += gain;
  const bool missed = gain > 0 && last.missed >= kMayBeAccident * last.caution * loss &&
                      last.caution * loss <= kTrialShareMissing * (last.ignored + whole);
  if (!enough(last.ignored, whole, std::min(split, last.caution * loss)) && !missed) return false;
  last.missed = last.ignored = 0;
  last.caution = std::min(2 * last.caution, kMostPatience);
  return true;
}

void Boundaries::pays(uint64_t kernel, uint64_t items) {
  MutexLock lock(mutex_);
  const auto found = last_.find(key(kernel, items));
  if (found != last_.end()) found->second.caution = 1;
}

bool Boundaries::try_again(uint64_t kernel, uint64_t items, const std::vector<uint32_t>& devices,
                           double fewer, double seconds) {
  MutexLock lock(mutex_);
  return enough(entry(kernel, items).surplus[devices].ignored, fewer, seconds);
}

bool Boundaries::leave_out(uint64_t kernel, uint64_t items, const std::vector<uint32_t>& devices,
                           double fewer, double least) {
  MutexLock lock(mutex_);
  Surplus& its = entry(kernel, items).surplus[devices];
  const double ignored = its.ignored + fewer;
  if (its.caution * least <= kTrialShare * ignored && ignored >= kLookAgain * its.looked) {
    its.looked = ignored;
    return false;
  }
  its.ignored = ignored;
  return true;
}

bool Boundaries::try_left_out(uint64_t kernel, uint64_t items, const std::vector<uint32_t>& devices,
                              double fewer, double loss) {
  MutexLock lock(mutex_);
  Surplus& its = entry(kernel, items).surplus[devices];
  if (!enough(its.ignored, fewer, its.caution * loss)) return false;
  its.caution = std::min(2 * its.caution, kMostPatience);
  its.looked = 0;
  return true;
}

bool Boundaries::worth_moving(uint64_t kernel, uint64_t items, double gain, double cost) {
  MutexLock lock(mutex_);
  return entry(kernel, items).moving.pays(gain, cost);
}

bool Boundaries::worth_leaving(uint64_t kernel, uint64_t items, double gain, double cost) {
  MutexLock lock(mutex_);
  return entry(kernel, items).leaving.pays(gain, cost);
}

void Boundaries::move_paid(uint64_t kernel, uint64_t items) {
  MutexLock lock(mutex_);
  const auto found = last_.find(key(kernel, items));
  if (found != last_.end()) found->second.moving.patience = 1;
}

std::vector<uint64_t> Boundaries::shares(uint64_t kernel, uint64_t items,
                                         std::span<const uint32_t> devices) const {
  MutexLock lock(mutex_);
  const Last* last = find(kernel, items);
  if (!last ||
      !std::equal(devices.begin(), devices.end(), last->devices.begin(), last->devices.end())) {
    return {};
  }
  return last->shares;
}

void Boundaries::remember(uint64_t kernel, uint64_t items, std::span<const uint32_t> devices,
                          std::vector<uint64_t> shares, std::optional<double> surplus) {
  MutexLock lock(mutex_);
  Last& last = entry(kernel, items);
  last.devices.assign(devices.begin(), devices.end());
  last.shares = std::move(shares);
  last.missed = last.ignored = 0;
  last.splits = std::min<uint32_t>(last.splits + 1, 2);
  if (!surplus) return;
  if (last.surplus.size() >= kMostSets) last.surplus.clear();
  Surplus& its = last.surplus[last.devices];
  its.seconds[1] = its.seconds[0];
  its.seconds[0] = *surplus;
  its.splits = std::min<uint32_t>(its.splits + 1, 2);
}

void Boundaries::remember_whole(uint64_t kernel, uint64_t items, uint32_t device, double seconds) {
  MutexLock lock(mutex_);
  const auto found = last_.find(key(kernel, items));
  if (found == last_.end()) return;
  Whole& its = found->second.whole[device];
  its.seconds[1] = its.seconds[0];
  its.seconds[0] = seconds;
  its.split = 0;
}

double Boundaries::whole(uint64_t kernel, uint64_t items, uint32_t device) const {
  MutexLock lock(mutex_);
  const Last* last = find(kernel, items);
  if (!last) return 0;
  const auto its = last->whole.find(device);
  if (its == last->whole.end()) return 0;
  const auto& [newest, before] = its->second.seconds;
  return before > 0 ? std::min(newest, before) : newest;
}

bool Boundaries::compare_again(uint64_t kernel, uint64_t items, uint32_t device, double split,
                               double loss) {
  MutexLock lock(mutex_);
  Whole& its = entry(kernel, items).whole[device];
  if (!enough(its.split, split, its.caution * loss, kTrialShareMissing)) return false;
  its.caution = std::min(2 * its.caution, kMostPatience);
  return true;
}

bool Boundaries::settled(uint64_t kernel, uint64_t items) const {
  MutexLock lock(mutex_);
  const Last* last = find(kernel, items);
  return last && last->splits >= 2;
}

std::optional<double> Boundaries::surplus(uint64_t kernel, uint64_t items,
                                          const std::vector<uint32_t>& devices) const {
  MutexLock lock(mutex_);
  const Last* last = find(kernel, items);
  if (!last) return std::nullopt;
  const auto its = last->surplus.find(devices);
  if (its == last->surplus.end() || its->second.splits < 2) return std::nullopt;
  return std::min(its->second.seconds[0], its->second.seconds[1]);
}

}  // namespace tutti::scheduler
