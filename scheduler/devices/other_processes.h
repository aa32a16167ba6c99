// SPDX-License-Identifier: Apache-2.0
// What other processes have given to the same devices: each publishes on the board until when it
// expects to keep a device busy (base/live_counters.h), and plans with what the others publish. It
// decides where something runs, never whether it may, so nothing of it needs to be true: what is
// damaged, far too long, or of a process that has gone counts as nothing. Others may be hostile:
// their files are copied word by word and never mapped, what is looked at is bounded, and looking
// takes no more than its part of the time. Nobody waits for anybody. Thread-safe.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/api/backend.h"
#include "base/kept_file.h"
#include "base/live_counters.h"
#include "base/live_processes.h"
#include "base/thread_annotations.h"
#include "scheduler/devices/place.h"

namespace tutti::scheduler {

/// What that means for something that would take so long on the device, were it alone there.
struct Contention {
  double wait = 0;      // seconds; others are through with what they have well before it is
  uint32_t beside = 0;  // so many processes compute beside it all the time, and take their parts
  bool any() const { return wait > 0 || beside > 0; }
};

class OtherProcesses {
 public:
  /// The device of this process: where it publishes, by traits().index.
  void add_device(uint32_t backend, const backends::DeviceTraits& traits);
  /// From now on the processes that publish in the folder, the board's, are looked at.
  void watch(std::string folder);

  void publish(uint32_t backend, uint64_t busy_until_ns) {
    if (live::Device* shown = shown_[backend].load(std::memory_order_acquire)) {
      shown->busy_until_ns.store(busy_until_ns, std::memory_order_relaxed);
    }
  }
  /// Looks again at what they publish, if it is time to.
  void look(uint64_t now) {
    if (now >= next_look_ns_.load(std::memory_order_relaxed)) look_again(now);
  }
  /// Of something that takes `seconds` on the device, and may begin at `from_ns`.
  Contention contention(uint32_t backend, uint64_t from_ns, double seconds) const;
  /// How many of them the device was expected to be computing for then.
  uint32_t beside(uint32_t backend, uint64_t at_ns) const;

 private:
  static constexpr size_t kMost = 8;  // of one device
  struct Claims {
    std::atomic<uint32_t> count{0};
    std::array<std::atomic<uint64_t>, kMost> until_ns{};
  };
  struct Process {
    live::FileOwner owner;
    uid_t user = 0;
    bool hidden = false;  // it may have gone, and another one may have its number
    Descriptor file;
    uint32_t devices = 0;  // that it had
    struct Place {
      uint32_t backend = 0;
      uint64_t busy_state = 0, busy_until = 0;  // bytes, in the file; 0: it is not there
    };
    std::vector<Place> places{};
  };

  void look_again(uint64_t now);
  void find_processes() TUTTI_REQUIRES(mutex_);
  std::optional<Process> process_of(Descriptor file, const live::FileOwner& owner) const
      TUTTI_REQUIRES(mutex_);
  bool has_room_for(uid_t user) const TUTTI_REQUIRES(mutex_);
  void read_claims(uint64_t now) TUTTI_REQUIRES(mutex_);

  std::array<std::atomic<live::Device*>, kMostBackends> shown_{};
  std::array<Claims, kMostBackends> claims_;
  std::atomic<uint64_t> next_look_ns_{UINT64_MAX};  // nobody is looked at before watch()

  Mutex mutex_;
  struct Known {
    uint32_t backend = 0;
    backends::DeviceTraits traits;
  };
  std::vector<Known> devices_ TUTTI_GUARDED_BY(mutex_);
  std::string folder_ TUTTI_GUARDED_BY(mutex_);
  std::vector<Process> processes_ TUTTI_GUARDED_BY(mutex_);
  uint64_t next_search_ns_ TUTTI_GUARDED_BY(mutex_) = 0;
};

/// Which of another process's devices is this one, which is among `devices`, all that this process
/// has. By its PCI address; of a device that has none by its names, and of several of these names
/// by its number in the list of all devices.
const live::LiveDevice* same_device(const backends::DeviceTraits& device,
                                    std::span<const backends::DeviceTraits* const> devices,
                                    const live::LiveProcess& process);

}  // namespace tutti::scheduler
