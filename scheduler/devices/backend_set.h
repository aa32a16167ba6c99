// SPDX-License-Identifier: Apache-2.0
// The real devices that take part, in the user's order, and after them the parts of devices that
// sub-devices stand on, and the devices in contexts that share with OpenGL, each with the place
// that its memory stands for. Made once per process,
// never destroyed there; backends are added, never removed, so that reading takes no lock.
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/api/backend.h"
#include "base/thread_annotations.h"
#include "scheduler/devices/device_health.h"
#include "scheduler/devices/device_memory.h"
#include "scheduler/devices/other_processes.h"
#include "scheduler/devices/per_backend.h"
#include "scheduler/devices/pinned_pool.h"
#include "scheduler/devices/place.h"
#include "scheduler/devices/shard_probe.h"
#include "scheduler/devices/staged_transfers.h"
#include "scheduler/model/build_times.h"
#include "scheduler/model/performance_model.h"
#include "scheduler/model/power_model.h"

namespace tutti::scheduler {

enum class TransferKind : uint8_t;

/// Of some devices, not none, the one whose features and limits a device with these behind it
/// shows: the one with the preferred index (DeviceTraits), else the fastest by nominal speed of
/// those that were there when the process started. An index into `devices`.
size_t primary_of(std::span<const backends::DeviceTraits* const> devices,
                  std::optional<uint32_t> preferred);

class BackendSet;

/// A backend that is made for somebody alone, until the last one that has this lets go of it.
class BackendLease {
 public:
  BackendLease(BackendSet& backends, uint32_t backend) : backends_(backends), backend_(backend) {}
  ~BackendLease();
  BackendLease(const BackendLease&) = delete;
  BackendLease& operator=(const BackendLease&) = delete;
  uint32_t backend() const { return backend_; }

 private:
  BackendSet& backends_;
  const uint32_t backend_;
};
using BackendLeasePtr = std::shared_ptr<BackendLease>;

class BackendSet {
 public:
  /// Of more than kMostBackends devices the first ones take part. `memory_limit`: bytes that are
  /// used of each device's memory at most. `preferred`: the index (DeviceTraits) of the
  /// one that is the primary.
  explicit BackendSet(std::vector<std::unique_ptr<backends::Backend>> backends,
                      uint64_t memory_limit = UINT64_MAX,
                      std::optional<uint32_t> preferred = std::nullopt);

  /// Of all backends that exist by now.
  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  /// Of the real devices: the first of them.
  uint32_t real_count() const { return real_count_; }
  BackendMask real_devices() const { return backend_bit(real_count_) - 1; }
  /// primary_of() of some backends, not none.
  uint32_t primary(BackendMask backends) const;
  backends::Backend& at(uint32_t index) { return *backends_[index]; }
  const backends::DeviceTraits& traits(uint32_t index) const { return backends_[index]->traits(); }
  /// The host's place where the device shares the host's memory, else one of its own.
  Place place(uint32_t backend) const {
    return backends_[backend]->traits().shares_host_memory ? kHostPlace : backend + 1;
  }
  /// What the device was given it may carry out at any time, in the host's memory: nobody else may
  /// do it in its place, and what it should have written stays failed.
  bool may_write_late(uint32_t backend) const {
    return backends_[backend]->hangs() && place(backend) == kHostPlace;
  }
  /// Some device has memory of its own.
  bool memory_apart() const { return memory_apart_; }
  /// All devices compute in the host's memory, and in the thread that enqueues, flushes or waits.
  bool all_synchronous() const { return all_synchronous_; }
  PinnedPool& pinned() { return pinned_; }
  /// Large transfers of pageable memory.
  StagedTransfers& transfers() { return transfers_; }
  const StagedTransfers& transfers() const { return transfers_; }
  /// Of a device with memory of its own.
  DeviceMemory& memory(uint32_t backend) { return memories_[backend]; }
  /// What is known of the speeds of all of them.
  PerformanceModel& model() { return model_; }
  BuildTimes& build_times() { return build_times_; }
  /// Which of them work.
  DeviceHealth& health() { return health_; }
  /// What the application wrote has come straight to the device, since that time.
  void note_write(uint32_t backend, uint64_t bytes, uint64_t began_ns);
  /// Whether such writes have always taken several times as long as to another device, of late: a
  /// GPU on a few lanes; always of a device of another host. Nobody wants to wait for it.
  bool slow_link(uint32_t backend) const;
  /// Kernels that compute on the device, as far as the host's threads wait for them, and how many
  /// have begun so far.
  struct Activity {
    std::atomic<uint32_t> computing{0};
    std::atomic<uint64_t> begun{0};
  };
  Activity& activity(uint32_t backend) { return activities_[backend]; }
  /// And of their power, where sensors tell it.
  PowerModel& power() { return power_; }
  /// A whole launch of `items` work-items has taken that long on the device, of which others may
  /// have had a part.
  void note_whole(uint64_t kernel, uint32_t backend, uint64_t items, double seconds,
                  const std::string& name);
  /// Which part of the device a command of this process has had that has just ended, while others
  /// computed there, too; 1: all of it. Absent where what it took tells nothing, since the kernel
  /// was measured without them.
  std::optional<double> part_of_device(uint64_t kernel, uint32_t backend);
  /// Which of them compute with parts of buffers.
  ShardProbe& shard_probe() { return shard_probe_; }
  /// What other processes do on them.
  OtherProcesses& others() { return others_; }
  /// The queue for transfers outside any stream, made at first use.
  Result<backends::Queue*> transfer_queue(uint32_t backend);
  /// One more, for long reads that must not hold up what packages need.
  Result<backends::Queue*> reading_queue(uint32_t backend);

  /// What the device takes for images of this type that kernels use so
  /// (clGetSupportedImageFormats); asked of its vendor once. An error is asked again.
  Result<std::vector<cl_image_format>> image_formats(uint32_t backend, cl_mem_flags access,
                                                     cl_mem_object_type type);
  /// The real devices that take images of this shape, and all parts of devices, as bits.
  BackendMask takers_of(const backends::ImageShape& shape);

  /// Parts of a backend with so many compute units each, as backends that stay: who asks for the
  /// same sizes again (or fewer of them) gets the same ones. CL_DEVICE_PARTITION_FAILED where the
  /// vendor cannot, or when there is no place left.
  Result<std::vector<uint32_t>> parts(uint32_t backend, std::span<const uint32_t> units);

  /// The same device in one more vendor context, which shares objects with the OpenGL context in
  /// `properties` (Backend::in_context). The lease is kept by whatever may use it: the context of
  /// the application's, its streams and its memory. The vendor's own error, or
  /// CL_OUT_OF_RESOURCES when there is no place left.
  Result<BackendLeasePtr> lease(uint32_t backend, const backends::ContextProperties& properties);

 private:
  friend class BackendLease;
  struct Partition {
    uint32_t whole = 0;  // the backend that was divided
    std::vector<uint32_t> units;
    uint32_t first = 0;  // its parts follow each other from here
  };

  using Queues = std::array<std::unique_ptr<backends::Queue>, kMostBackends>;

  /// That it is leased to nobody: its vendor context is let go of, and the place is for the next.
  void end_lease(uint32_t backend) TUTTI_EXCLUDES(mutex_, partition_mutex_);
  /// They follow those that are there; there are places for them. The count with them, which is
  /// yet to be told.
  uint32_t add(std::vector<std::unique_ptr<backends::Backend>> made)
      TUTTI_REQUIRES(partition_mutex_);
  void limit_memory(uint32_t backend);
  Status try_out(uint32_t backend, bool anew);
  Result<backends::Queue*> own_queue(Queues& queues, TransferKind kind, uint32_t backend)
      TUTTI_EXCLUDES(mutex_);

  const uint32_t real_count_;
  const uint64_t memory_limit_;
  const std::optional<uint32_t> preferred_;
  bool memory_apart_ = false;                                               // constant
  bool all_synchronous_ = true;                                             // constant
  std::array<std::unique_ptr<backends::Backend>, kMostBackends> backends_;  // constant below count_
  std::atomic<uint32_t> count_;
  PerformanceModel model_;
  BuildTimes build_times_{model_};
  PowerModel power_;
  OtherProcesses others_;
  DeviceHealth health_{[this](uint32_t backend, bool anew) { return try_out(backend, anew); }};
  PinnedPool pinned_;
  ShardProbe shard_probe_{real_count_};
  std::array<DeviceMemory, kMostBackends> memories_;
  struct Link {
    std::atomic<uint32_t> writes{0};
    std::atomic<double> best{0};  // bytes per second: others may have slowed some down
  };
  std::array<Link, kMostBackends> links_;
  std::array<Activity, kMostBackends> activities_;
  Mutex mutex_;
  Queues transfer_queues_, reading_queues_;  // their content is guarded by mutex_
  std::map<std::tuple<uint32_t, cl_mem_flags, cl_mem_object_type>, std::vector<cl_image_format>>
      image_formats_ TUTTI_GUARDED_BY(mutex_);
  Mutex partition_mutex_;  // held over the vendor's call: equal partitions are made once
  std::vector<Partition> partitions_ TUTTI_GUARDED_BY(partition_mutex_);
  struct Lease {
    uint32_t whole = 0, backend = 0;
    bool taken = false;
  };
  std::vector<Lease> leases_ TUTTI_GUARDED_BY(partition_mutex_);
  StagedTransfers transfers_{*this};
};

/// A kernel computes on the device, from construction to destruction.
class Computing {
 public:
  Computing() = default;
  Computing(BackendSet& backends, uint32_t backend) : activity_(&backends.activity(backend)) {
    ++activity_->begun;
    ++activity_->computing;
  }
  Computing(Computing&& other) noexcept : activity_(std::exchange(other.activity_, nullptr)) {}
  Computing& operator=(Computing&& other) noexcept {
    std::swap(activity_, other.activity_);
    return *this;
  }
  ~Computing() {
    if (activity_) --activity_->computing;
  }

 private:
  BackendSet::Activity* activity_ = nullptr;
};

/// Measures a transfer from construction to ended(), for the performance model. What a device that
/// does one thing at a time has done meanwhile is no part of a transfer: such a one tells nothing.
class TransferTimer {
 public:
  TransferTimer(BackendSet& backends, uint32_t backend);
  /// `direction`: kToDevice or kFromDevice; `rows` that lie apart, of so many bytes in all.
  void ended(uint64_t direction, uint64_t bytes, uint64_t rows = 1) const;

 private:
  BackendSet& backends_;
  const uint32_t backend_;
  const bool serial_;
  const uint64_t kernels_begun_;
  const bool alone_;
  const uint64_t began_ns_;
};

}  // namespace tutti::scheduler
