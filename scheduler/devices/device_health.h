// SPDX-License-Identifier: Apache-2.0
// Which devices can be relied on. A device whose calls or commands fail several times in a row, or
// that says that it is lost, is tried; where that fails, too, it takes no part any more, until a
// later trial in a context of its own finds it well: the first one after a second, then at twice
// the interval each time, up to a limit. One that is lost again before it is trusted waits longer
// from the start. Thread-safe; no lock is held while a device is tried.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "backends/api/backend.h"
#include "base/clock.h"
#include "base/thread_annotations.h"
#include "scheduler/devices/place.h"

namespace tutti::scheduler {

class DeviceHealth {
 public:
  /// What else follows; each may be absent. Set before the first use.
  struct Hooks {
    /// What lies on the device alone is gone.
    std::function<void(uint32_t backend, const Error& why)> lost{};
    /// Somebody shall call retry(), in a thread that may wait.
    std::function<void(uint32_t backend)> due{};
    /// A device that was lost works, in a context of its own. Somebody shall see to it that nothing
    /// of the old one is used any more, and call ready(). Absent: nothing was.
    std::function<void(uint32_t backend)> renewed{};
    /// It takes part again.
    std::function<void(uint32_t backend, uint64_t lost_ns, uint64_t now_ns)> back{};
  };
  /// Tries the device, which may take long; `anew`: in a context of its own.
  using Trial = std::function<Status(uint32_t backend, bool anew)>;

  explicit DeviceHealth(Trial trial, uint64_t (*clock)() = &now_ns)
      : trial_(std::move(trial)), clock_(clock) {}
  void set_hooks(Hooks hooks) { hooks_ = std::move(hooks); }
  /// There is but one device: whatever it does, it takes part.
  void set_alone() { alone_ = true; }
  /// `name`: for messages; `own_process`: as DeviceTraits::own_process. Before the device is used.
  void set_device(uint32_t backend, std::string name, bool own_process) {
    devices_[backend].name = std::move(name);
    devices_[backend].own_process = own_process;
  }

  /// It is away, and tried like one that was lost now. Before the device is used.
  void begin_lost(uint32_t backend) TUTTI_EXCLUDES(mutex_);

  /// Those of `asked` that take part; where none of them does, those that are late, or all: their
  /// own errors tell.
  BackendMask usable(BackendMask asked) {
    const BackendMask lost = lost_.load(std::memory_order_acquire);
    const BackendMask late = late_.load(std::memory_order_acquire);
    return (lost | late) == 0 ? asked : without(asked, lost, late);
  }
  BackendMask lost() const { return lost_.load(std::memory_order_acquire); }
  /// Those that have a package under way which its launch has not waited for.
  BackendMask late() const { return late_.load(std::memory_order_acquire); }
  /// One more such package is under way; it has ended, or was waited for after all.
  void begin_late(uint32_t backend) TUTTI_EXCLUDES(mutex_);
  void end_late(uint32_t backend) TUTTI_EXCLUDES(mutex_);
  uint32_t late_packages(uint32_t backend) const TUTTI_EXCLUDES(mutex_);
  /// It has failed of late: what its launches overwrite is copied first.
  bool suspect(uint32_t backend) const {
    return devices_[backend].suspicion.load(std::memory_order_relaxed) > 0;
  }
  bool any_suspect() const { return any_suspect_.load(std::memory_order_relaxed); }

  /// A call or command of the device has ended so.
  void note(uint32_t backend, const Status& status) {
    status ? note_success(backend) : note_failure(backend, status.error());
  }
  void note_failure(uint32_t backend, const Error& why);
  /// Something that the device alone has, or may have, could not be had: whether it works, which is
  /// tried at once. Where it does not, it is lost. Not for a lack of memory, which may be of where
  /// it was to go, and of which the trial would fail, too.
  bool confirm(uint32_t backend, const Error& why);
  void note_success(uint32_t backend) {
    if (any_suspect_.load(std::memory_order_relaxed)) calm(backend);
  }
  /// Whether the device's result of a launch was that of others.
  void note_vote(uint32_t backend, bool right) {
    devices_[backend].votes.fetch_add(1, std::memory_order_relaxed);
    if (!right) devices_[backend].wrong_votes.fetch_add(1, std::memory_order_relaxed);
  }
  struct Votes {
    uint64_t all = 0, wrong = 0;
    double failure_rate() const {
      return all == 0 ? 0 : static_cast<double>(wrong) / static_cast<double>(all);
    }
  };
  Votes votes(uint32_t backend) const {
    return {devices_[backend].votes.load(std::memory_order_relaxed),
            devices_[backend].wrong_votes.load(std::memory_order_relaxed)};
  }
  /// Failures of the device so far.
  uint64_t failures(uint32_t backend) const {
    return devices_[backend].all.load(std::memory_order_relaxed);
  }
  /// Whether this is the first failure of the device that the user is told of.
  bool tells(uint32_t backend) { return !devices_[backend].told.exchange(true); }
  /// A device that takes no part is tried again.
  void retry(uint32_t backend);
  /// After Hooks::renewed: it takes part again; or `all_free` is false, since its old context is
  /// used still, and it is tried again later.
  void ready(uint32_t backend, bool all_free) TUTTI_EXCLUDES(mutex_);
  /// A launch has gone on without a package of the device.
  void note_late(uint32_t backend) {
    devices_[backend].all_late.fetch_add(1, std::memory_order_relaxed);
  }
  /// How often the device was lost, and for how long in all; and late.
  struct Losses {
    uint32_t count = 0;
    uint64_t ns = 0;
    bool now = false;
    uint32_t late = 0;  // packages that launches went on without
  };
  Losses losses(uint32_t backend) const TUTTI_EXCLUDES(mutex_);

 private:
  struct Device {
    std::string name;
    bool own_process = false;
    std::atomic<uint32_t> failures{0};   // in a row
    std::atomic<uint32_t> suspicion{0};  // successes until it is trusted again
    std::atomic<uint64_t> next_trial_ns{0};
    std::atomic<bool> told{false};
    std::atomic<uint64_t> votes{0}, wrong_votes{0};
    std::atomic<uint64_t> all{0};          // failures
    std::atomic<uint32_t> all_late{0};     // packages
    std::atomic<uint64_t> interval_ns{0};  // of trials; 0: the first one
    // Guarded by mutex_.
    bool renewed = false;  // it works in a context of its own, but does not take part yet
    uint32_t losses = 0;
    uint64_t lost_at_ns = 0, lost_for_ns = 0;
    uint32_t late = 0;  // packages, that go on
  };

  BackendMask without(BackendMask asked, BackendMask lost, BackendMask late);
  /// What its launches overwrite is copied first, for a while.
  void suspect_it(Device& device);
  void calm(uint32_t backend);
  /// In a trial, made now.
  bool works(uint32_t backend, bool anew) const;
  void lose(uint32_t backend, const Error& why) TUTTI_EXCLUDES(mutex_);
  /// False: it is lost already.
  bool note_lost(uint32_t backend) TUTTI_EXCLUDES(mutex_);
  /// The next trial comes after twice the interval before.
  void wait_longer(Device& device) TUTTI_REQUIRES(mutex_);

  const Trial trial_;
  uint64_t (*const clock_)();
  Hooks hooks_;
  bool alone_ = false;
  std::atomic<BackendMask> lost_{0};
  std::atomic<BackendMask> late_{0};
  std::atomic<bool> any_suspect_{false};
  std::array<Device, kMostBackends> devices_;
  mutable Mutex mutex_;  // a device becomes lost, or well, once
};

/// Whether a new queue of the device brings a few bytes to a new buffer, and back.
Status try_device(backends::Backend& device);

}  // namespace tutti::scheduler
