// SPDX-License-Identifier: Apache-2.0
#include "scheduler/model/performance_model.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"

namespace tutti::scheduler {
namespace {

constexpr uint32_t kEnoughSamples = 3;
// Samples of a well-known kernel are so far apart, but no more launches than that: a sample costs
// several times what a launch of a few microseconds does.
constexpr double kRefreshSeconds = 10e-3;
constexpr uint32_t kLongestInterval = 8192;
// Where launches take longer than is known, since an argument says how often a loop runs, samples
// are no farther apart than that.
constexpr uint64_t kLongestPause = 250'000'000;  // ns
// A kernel's first run is often an outlier (caches, lazy code generation): it is forgotten when the
// second one is this much faster.
constexpr double kOutlier = 1.5;
constexpr uint64_t kFlushInterval = 1'000'000'000;  // ns
constexpr const char* kGainOf = "gain of several devices: ";
constexpr const char* kWholeOf = "whole launches of ";
constexpr size_t kMostUnwritten = 64;  // samples of one kernel on one device

/// Under which a kernel's whole launches on neighbours are kept.
uint64_t whole_key(uint64_t kernel) { return kernel ^ 0x8d5f3a1c96e2b740ull; }

}  // namespace

void PerformanceModel::remember_in(std::string file) {
  MutexLock lock(store_mutex_);
  file_ = std::move(file);
  kept_.store(!file_.empty(), std::memory_order_relaxed);
}

ModelStore* PerformanceModel::store() {
  if (opened_ || file_.empty()) return opened_.get();
  auto opened = ModelStore::open(file_, ModelStore::Mode::kCreate);
  if (opened) {
    opened_ = std::move(*opened);
  } else {
    log(LogLevel::kWarning, "what is learned of kernels is not kept: {}", opened.error().message);
    file_.clear();
    kept_.store(false, std::memory_order_relaxed);
  }
  return opened_.get();
}

void PerformanceModel::set_device(uint32_t device, std::string identity) {
  MutexLock lock(mutex_);
  if (devices_.size() <= device) devices_.resize(device + 1);
  devices_[device] = std::move(identity);
}

void PerformanceModel::set_neighbours(std::vector<uint32_t> devices) {
  MutexLock lock(mutex_);
  neighbours_ = std::move(devices);
}

bool PerformanceModel::has_neighbours(uint32_t device) const {
  return std::find(neighbours_.begin(), neighbours_.end(), device) != neighbours_.end();
}

PerformanceModel::History& PerformanceModel::history(uint64_t kernel, uint32_t device) {
  History& history = histories_[{kernel, device}];
  if (!history.looked_up) {
    history.looked_up = true;
    if (kept_.load(std::memory_order_relaxed) && device < devices_.size()) {
      MutexLock lock(store_mutex_);
      if (ModelStore* file = store()) {
        if (const auto sums = file->load(kernel, devices_[device])) {
          history.fit = TimeFit(*sums);
          history.from_store = true;
        }
      }
    }
  }
  return history;
}

void PerformanceModel::add(uint64_t kernel, uint32_t device, uint64_t items, double seconds,
                           const std::string& name) {
  const Sample whole{static_cast<double>(items), seconds};
  add_packages(kernel, device, {&whole, 1}, name);
}

void PerformanceModel::add_whole(uint64_t kernel, uint32_t device, uint64_t items, double seconds,
                                 const std::string& name) {
  add(kernel, device, items, seconds, name);
  const auto neighbours = [&] {
    MutexLock lock(mutex_);
    return has_neighbours(device);
  };
  if (neighbours()) add(whole_key(kernel), device, items, seconds, kWholeOf + name);
}

void PerformanceModel::add_packages(uint64_t kernel, uint32_t device,
                                    std::span<const Sample> packages, const std::string& name) {
  Sample all;
  for (const Sample& package : packages) {
    all.size += package.size;
    all.seconds += package.seconds;
  }
  if (all.size <= 0 || all.seconds <= 0) return;
  MutexLock lock(mutex_);
  History& known = history(kernel, device);
  all.speed = all.size / all.seconds;
  if (known.samples == 1 && known.first_speed > 0 && all.speed > kOutlier * known.first_speed) {
    known.fit = TimeFit();
    known.unwritten.clear();
  }
  known.first_speed = known.fit.empty() ? all.speed : 0;
  known.interval = static_cast<uint32_t>(
      std::clamp<double>(kRefreshSeconds / all.seconds, kRefreshInterval, kLongestInterval));
  ++known.samples;
  ++total_samples_;
  if (known.expected > 0) --known.expected;
  const bool kept = kept_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < packages.size(); ++i) {
    Sample sample = packages[i];
    // The single packages of an irregular kernel say little of its speed.
    sample.speed = i + 1 == packages.size() ? all.speed : 0;
    known.fit.add(sample);
    if (kept) known.unwritten.push_back(sample);
  }
  if (!kept) return;
  if (known.unwritten.size() > kMostUnwritten) {  // the newest count most
    known.unwritten.erase(known.unwritten.begin(), known.unwritten.end() - kMostUnwritten);
  }
  if (known.name.empty()) known.name = name;
  if (unwritten_since_ == 0) unwritten_since_ = now_ns();
}

std::optional<double> PerformanceModel::speed(uint64_t kernel, uint32_t device) {
  MutexLock lock(mutex_);
  const TimeFit& known = history(kernel, device).fit;
  if (known.empty()) return std::nullopt;
  return known.speed();
}

TimeFit PerformanceModel::fit(uint64_t kernel, uint32_t device) {
  MutexLock lock(mutex_);
  return history(kernel, device).fit;
}

TimeFit PerformanceModel::whole_fit(uint64_t kernel, uint32_t device) {
  MutexLock lock(mutex_);
  return has_neighbours(device) ? history(whole_key(kernel), device).fit : TimeFit();
}

bool PerformanceModel::settled(uint64_t kernel, uint32_t device) {
  MutexLock lock(mutex_);
  const History& known = history(kernel, device);
  return known.from_store || known.samples > 1;
}

bool PerformanceModel::wants_sample(uint64_t kernel, uint32_t device, uint32_t launches,
                                    uint64_t now) {
  MutexLock lock(mutex_);
  History& known = history(kernel, device);
  known.asked += launches;
  const bool wanted = known.samples + known.expected < kEnoughSamples ||
                      known.asked >= known.interval || now - known.wanted_ns >= kLongestPause;
  if (wanted) {
    ++known.expected;
    known.asked = 0;
    known.wanted_ns = now;
  }
  return wanted;
}

std::optional<double> PerformanceModel::ratio(uint32_t device, uint32_t other) {
  std::vector<double> ratios;
  if (kept_.load(std::memory_order_relaxed) && std::max(device, other) < devices_.size()) {
    MutexLock lock(store_mutex_);
    if (ModelStore* file = store()) ratios = file->ratios(devices_[device], devices_[other]);
  }
  for (const auto& [key, known] : histories_) {
    if (key.device != device || known.samples == 0 || key.kernel <= kFinding) continue;
    const auto there = histories_.find({key.kernel, other});
    if (there == histories_.end() || there->second.samples == 0) continue;
    ratios.push_back(known.fit.speed() / there->second.fit.speed());
  }
  if (ratios.empty()) return std::nullopt;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

std::optional<double> PerformanceModel::experience(uint32_t device, uint32_t other) {
  MutexLock lock(mutex_);
  const auto [found, fresh] = ratios_.try_emplace({device, other});
  Ratio& known = found->second;
  if (fresh || total_samples_ >= 2 * known.at + 2) known = {ratio(device, other), total_samples_};
  return known.value;
}

void PerformanceModel::note_gain(uint64_t key, double seconds, const std::string& name) {
  if (!kept_.load(std::memory_order_relaxed) || seconds <= 0) return;
  MutexLock lock(mutex_);
  Gain& gain = unwritten_gains_[key];
  gain.seconds += seconds;
  if (gain.name.empty()) gain.name = kGainOf + name;
  if (unwritten_since_ == 0) unwritten_since_ = now_ns();
}

PerformanceModel::Gains PerformanceModel::gains(uint64_t key) {
  MutexLock lock(mutex_);
  const TimeFit::Sums& known = history(key, 0).fit.sums();
  return known.n > 0 ? Gains{known.t / known.n, known.t} : Gains();
}

std::optional<PowerSums> PerformanceModel::stored_power(uint32_t device) {
  MutexLock lock(mutex_);
  if (!kept_.load(std::memory_order_relaxed) || device >= devices_.size()) return std::nullopt;
  MutexLock store_lock(store_mutex_);
  ModelStore* const file = store();
  return file ? file->load_power(devices_[device]) : std::nullopt;
}

void PerformanceModel::keep_power(uint32_t device, const PowerSums& sums) {
  if (sums.idle_seconds <= 0 && sums.busy_seconds <= 0) return;
  MutexLock lock(mutex_);
  if (!kept_.load(std::memory_order_relaxed) || device >= devices_.size()) return;
  unwritten_power_.push_back({devices_[device], sums});
}

uint64_t PerformanceModel::with_devices(uint64_t launch) const {
  for (const std::string& device : devices_) {
    launch = XXH3_64bits_withSeed(device.data(), device.size(), launch);
  }
  return launch;
}

std::optional<KeptLaunch> PerformanceModel::kept_launch(uint64_t launch) {
  if (!kept_.load(std::memory_order_relaxed)) return std::nullopt;
  MutexLock lock(mutex_);
  const uint64_t key = with_devices(launch);
  MutexLock store_lock(store_mutex_);
  ModelStore* const file = store();
  return file ? file->load_launch(key) : std::nullopt;
}

void PerformanceModel::keep_launch(uint64_t launch, KeptLaunch kept) {
  if (!kept_.load(std::memory_order_relaxed)) return;
  MutexLock lock(mutex_);
  unwritten_launches_[with_devices(launch)] = std::move(kept);
  if (unwritten_since_ == 0) unwritten_since_ = now_ns();
}

bool PerformanceModel::wants_flush() const {
  MutexLock lock(mutex_);
  return unwritten_since_ != 0 && now_ns() - unwritten_since_ >= kFlushInterval;
}

void PerformanceModel::flush() {
  struct Unwritten {
    uint64_t kernel;
    std::string device, name;
    std::vector<Sample> samples;
  };
  std::vector<Unwritten> unwritten;
  std::vector<ModelStore::Power> power;
  std::vector<ModelStore::Launch> launches;
  {
    MutexLock lock(mutex_);
    unwritten_since_ = 0;
    power.swap(unwritten_power_);
    for (auto& [key, kept] : unwritten_launches_) launches.push_back({key, std::move(kept)});
    unwritten_launches_.clear();
    for (auto& [key, gain] : unwritten_gains_) {
      if (devices_.empty()) break;
      unwritten.push_back(
          {key, devices_.front(), gain.name, {{.size = 1, .seconds = gain.seconds}}});
    }
    unwritten_gains_.clear();
    for (auto& [key, known] : histories_) {
      if (known.unwritten.empty() || key.device >= devices_.size()) continue;
      unwritten.push_back({key.kernel, devices_[key.device], known.name, {}});
      unwritten.back().samples.swap(known.unwritten);
    }
  }
  std::vector<ModelStore::Update> updates;
  for (const Unwritten& one : unwritten) {
    updates.push_back({one.kernel, one.device, one.name, one.samples});
  }
  MutexLock lock(store_mutex_);
  const bool nothing = updates.empty() && power.empty() && launches.empty();
  ModelStore* file = nothing ? nullptr : store();
  if (!file) return;
  // Where another process writes for long, these samples are lost: there will be more.
  Status status = file->apply(updates);
  if (status) status = file->add_power(power);
  if (status) status = file->keep_launches(launches);
  if (status || file->busy()) return;
  // Once: a full disk stays full.
  log(LogLevel::kWarning, "what was learned of kernels is not kept: {}", status.error().message);
  opened_.reset();
  file_.clear();
  kept_.store(false, std::memory_order_relaxed);
}

}  // namespace tutti::scheduler
