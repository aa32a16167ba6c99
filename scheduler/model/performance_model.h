// SPDX-License-Identifier: Apache-2.0
// What is known of each kernel's time on each device, and of transfers, from the launches of this
// process and, where a store is set, of earlier ones. Pure logic but for the store; no OpenCL.
// Thread-safe: one lock, short, except while what is kept of a kernel or launch is read once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/thread_annotations.h"
#include "scheduler/model/model_store.h"
#include "scheduler/model/power_model.h"
#include "scheduler/model/time_fit.h"

namespace tutti::scheduler {

/// Transfers between the host's copy and a device, remembered like kernels; their size is
/// transfer_size().
inline constexpr uint64_t kToDevice = 1;
inline constexpr uint64_t kFromDevice = 2;
/// Of `rows` that lie apart, of so many bytes in all: to begin one takes about as long as so much
/// of it, and narrow columns are to say nothing of how fast whole ranges travel.
constexpr uint64_t transfer_size(uint64_t bytes, uint64_t rows) {
  constexpr uint64_t kToBeginOne = 2048;
  return rows > 1 ? bytes + rows * kToBeginOne : bytes;
}
/// Likewise builds of programs (BuildTimes); their size is bytes of sources. And those that a
/// vendor found on disk.
inline constexpr uint64_t kBuilding = 3, kFinding = 4;

class PerformanceModel {
 public:
  PerformanceModel() = default;
  /// From now on, what is known is looked up in and written to `file`, which is opened when it is
  /// first needed. Where it cannot be used, a warning says so and nothing is kept.
  void remember_in(std::string file);
  /// Who device number `device` is, across runs: model, driver, units.
  void set_device(uint32_t device, std::string identity);
  /// These devices share the host's memory and caches with each other, and may slow each other
  /// down: what they need for packages of a split says little of what they need alone.
  void set_neighbours(std::vector<uint32_t> devices);

  /// A whole launch: `items` work-items took `seconds` on `device`. `name` is for people who read
  /// the store.
  void add(uint64_t kernel, uint32_t device, uint64_t items, double seconds,
           const std::string& name = {});
  /// The same of a kernel; of neighbours it is also kept apart from what packages take.
  void add_whole(uint64_t kernel, uint32_t device, uint64_t items, double seconds,
                 const std::string& name = {});
  /// A device's part of a launch, package by package.
  void add_packages(uint64_t kernel, uint32_t device, std::span<const Sample> packages,
                    const std::string& name = {});

  /// Work-items per second of the last launches; absent before the first.
  std::optional<double> speed(uint64_t kernel, uint32_t device);
  /// Everything known; empty() before the first sample.
  TimeFit fit(uint64_t kernel, uint32_t device);
  /// What is known of whole launches on neighbours; empty() of other devices.
  TimeFit whole_fit(uint64_t kernel, uint32_t device);
  /// Seen more than once. Before that, a slow one may be an outlier.
  bool settled(uint64_t kernel, uint32_t device);
  /// Does a further sample tell something new? Whoever is told true is to add one. False once three
  /// are there or expected, except now and then. It stands for `launches` that were made since the
  /// last question.
  bool wants_sample(uint64_t kernel, uint32_t device, uint32_t launches = 1,
                    uint64_t now = tick_ns());

  /// How many times as fast as `other` the device was at kernels known on both: the median. Absent
  /// where there are none.
  std::optional<double> experience(uint32_t device, uint32_t other);

  /// A launch of the program gained so many seconds by something that had to be made ready first,
  /// or would have. `key` stands for both.
  void note_gain(uint64_t key, double seconds, const std::string& name);
  /// What was gained so in earlier processes, in seconds: on average of each of the last ones, and
  /// by all of these.
  struct Gains {
    double average = 0, sum = 0;
  };
  Gains gains(uint64_t key);

  /// What earlier runs have seen of the device's power.
  std::optional<PowerSums> stored_power(uint32_t device);
  /// What this run has seen of it: added to the store at the next flush().
  void keep_power(uint32_t device, const PowerSums& sums);

  /// What an earlier process, with the same devices, saw of the launch. Nothing where none did.
  std::optional<KeptLaunch> kept_launch(uint64_t launch);
  /// Takes the place of that at the next flush().
  void keep_launch(uint64_t launch, KeptLaunch kept);

  /// Samples that are not in the store yet have been waiting for a while.
  bool wants_flush() const;
  /// Writes them. Never fails: without a store they are dropped.
  void flush() TUTTI_EXCLUDES(mutex_, store_mutex_);

 private:
  struct Key {
    uint64_t kernel;
    uint32_t device;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>(key.kernel * 0x9E3779B97F4A7C15ull + key.device);
    }
  };
  // Launches between samples of a well-known kernel, at least.
  static constexpr uint32_t kRefreshInterval = 64;
  struct History {
    TimeFit fit;
    bool looked_up = false;
    bool from_store = false;
    uint32_t samples = 0;    // of this process
    uint32_t expected = 0;   // that wants_sample asked for and that have not come (some never do)
    uint32_t asked = 0;      // wants_sample calls since it last asked for one
    uint64_t wanted_ns = 0;  // when that was
    uint32_t interval = kRefreshInterval;  // after so many it asks again
    double first_speed = 0;                // of the only sample, until there is a second
    std::string name;
    std::vector<Sample> unwritten;
  };

  struct Ratio {
    std::optional<double> value;
    uint64_t at = 0;  // total_samples_ when it was made
  };

  History& history(uint64_t kernel, uint32_t device) TUTTI_REQUIRES(mutex_);
  bool has_neighbours(uint32_t device) const TUTTI_REQUIRES(mutex_);
  std::optional<double> ratio(uint32_t device, uint32_t other) TUTTI_REQUIRES(mutex_);
  /// The launch with these devices.
  uint64_t with_devices(uint64_t launch) const TUTTI_REQUIRES(mutex_);
  /// Null where there is none.
  ModelStore* store() TUTTI_REQUIRES(store_mutex_);

  mutable Mutex mutex_;
  std::unordered_map<Key, History, Hash> histories_ TUTTI_GUARDED_BY(mutex_);
  // Made anew when twice as much is known.
  std::unordered_map<Key, Ratio, Hash> ratios_ TUTTI_GUARDED_BY(mutex_);
  uint64_t total_samples_ TUTTI_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> devices_ TUTTI_GUARDED_BY(mutex_);
  std::vector<uint32_t> neighbours_ TUTTI_GUARDED_BY(mutex_);
  struct Gain {
    double seconds = 0;
    std::string name;
  };
  std::unordered_map<uint64_t, Gain> unwritten_gains_ TUTTI_GUARDED_BY(mutex_);
  std::vector<ModelStore::Power> unwritten_power_ TUTTI_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, KeptLaunch> unwritten_launches_ TUTTI_GUARDED_BY(mutex_);
  uint64_t unwritten_since_ TUTTI_GUARDED_BY(mutex_) = 0;  // ns; 0: nothing is unwritten
  std::atomic<bool> kept_{false};                          // there is a file to write to
  // Taken after mutex_, or alone: writing holds up nobody but who looks up a new kernel.
  mutable Mutex store_mutex_;
  std::string file_ TUTTI_GUARDED_BY(store_mutex_);  // empty: none
  std::unique_ptr<ModelStore> opened_ TUTTI_GUARDED_BY(store_mutex_);
};

}  // namespace tutti::scheduler
