// SPDX-License-Identifier: Apache-2.0
// What the objects of a device in a process of its own have in common: the device's present helper,
// and the number that it knows an object by. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backends/process/channel.h"
#include "base/live_counters.h"

namespace tutti::backends::process {

/// The device as its objects see it; owned by its backend. Helpers that have ended are kept, since
/// objects may still refer to them.
class RemoteDevice {
 public:
  RemoteDevice(SharedArena& shared, std::unique_ptr<Channel> first);

  Channel& present() const { return *present_.load(std::memory_order_acquire); }
  /// From now on the present one.
  void replace(std::unique_ptr<Channel> channel) TUTTI_EXCLUDES(mutex_);
  uint32_t renewals() const { return renewals_.load(std::memory_order_acquire); }

  /// A piece of memory for transfers from and to memory that is not shared. Two of kStage bytes
  /// each.
  static constexpr uint64_t kStage = uint64_t{2} << 20;
  struct Stage {
    SharedRange range;
    Channel* channel = nullptr;  // in which it is pinned
    uint64_t pinned = 0;
    std::byte* part(uint64_t i) const { return range.data() + i % 2 * kStage; }
    Place place(uint64_t i) const { return range.offset() + i % 2 * kStage; }
  };
  Result<Stage> take_stage() TUTTI_EXCLUDES(mutex_);
  void give_back(Stage stage) TUTTI_EXCLUDES(mutex_);
  /// Has the device pin memory, where it has use of that; the number, or 0.
  uint64_t pin(Channel& channel, const SharedRange& range) const;

  void count_to_device(uint64_t bytes);
  void count_to_host(uint64_t bytes);
  Traffic traffic() const {
    return {to_device_.load(std::memory_order_relaxed), to_host_.load(std::memory_order_relaxed)};
  }

  SharedArena& arena;
  const DeviceTraits traits;
  live::Device* const counters;  // null: nobody counts

 private:
  std::atomic<Channel*> present_;
  std::atomic<uint32_t> renewals_{0};
  std::atomic<uint64_t> to_device_{0}, to_host_{0};
  Mutex mutex_;
  std::vector<std::unique_ptr<Channel>> channels_ TUTTI_GUARDED_BY(mutex_);
  std::vector<Stage> stages_ TUTTI_GUARDED_BY(mutex_);
};

/// An object in the helper, made anew in a later one when it is next used, where that can be.
class Remote {
 public:
  using Make = std::function<Result<uint64_t>(Channel&)>;
  /// `make` may be empty: what it was is gone with its helper.
  Remote(ObjectKind kind, Channel& channel, uint64_t number, Make make = {})
      : kind_(kind), make_(std::move(make)), channel_(&channel), number_(number) {}
  ~Remote() { channel_->drop(kind_, number_); }
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  /// What the helper knows it by.
  Result<uint64_t> in(Channel& channel)TUTTI_EXCLUDES(mutex_);

 private:
  const ObjectKind kind_;
  const Make make_;
  Mutex mutex_;  // held while it is made anew
  Channel* channel_;
  uint64_t number_;
};
using RemotePtr = std::shared_ptr<Remote>;

}  // namespace tutti::backends::process
