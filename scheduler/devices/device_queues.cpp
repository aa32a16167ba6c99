// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/device_queues.h"

namespace tutti::scheduler {

Result<backends::Queue*> DeviceQueues::queue_of(uint32_t backend, size_t index) {
  Lane& lane = devices_[backend][index];
  if (auto* queue = lane.queue.load(std::memory_order_acquire)) return queue;
  // With no lock held: of two threads that need it first, one makes it in vain.
  TUTTI_ASSIGN(auto made,
               backends_.at(backend).create_queue({.profiling = index != kPlain, .hints = hints_}));
  MutexLock lock(mutex_);
  if (!lane.made) {
    lane.made = std::move(made);
    lane.queue.store(lane.made.get(), std::memory_order_release);
  }
  return lane.made.get();
}

Result<DeviceQueues::Turn> DeviceQueues::next_turn(uint32_t backend, bool measured) {
  Turn turn;
  TUTTI_ASSIGN(turn.queue, queue(backend, measured));
  if (has_one_lane(backend)) return turn;
  turn.lane = measured ? kMeasured : kPlain;
  MutexLock lock(mutex_);
  const Lanes& lanes = devices_[backend];
  if (!lanes[turn.lane].follows_other) turn.after = lanes[1 - turn.lane].newest;
  return turn;
}

void DeviceQueues::submitted(uint32_t backend, const Turn& turn, backends::CompletionPtr newest) {
  if (has_one_lane(backend)) return;
  MutexLock lock(mutex_);
  Lanes& lanes = devices_[backend];
  Lane& lane = lanes[turn.lane];
  Lane& other = lanes[1 - turn.lane];
  // Another thread may have submitted to the other lane since the turn was taken.
  lane.follows_other = lane.follows_other || turn.after == other.newest;
  other.follows_other = false;
  lane.newest.swap(newest);  // the old one goes after the lock
}

}  // namespace tutti::scheduler
