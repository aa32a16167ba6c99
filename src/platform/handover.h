// SPDX-License-Identifier: Apache-2.0
// Work that one thread hands over and another one does, in order: a ring of items that are filled
// in place, so that nothing is allocated once they have grown. A worker is woken for the first item
// and goes on until none is left. Nobody ever waits for it: who finds the ring full, or needs to
// know that all is done, does what is left. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>

#include "platform/task_thread.h"
#include "platform/thread_annotations.h"

namespace tutti {

template <typename Item, size_t kRoom>
class Handover {
 public:
  /// Hands over an item, which `fill` makes of what its slot held before. `work` is called with
  /// each item, in the order of the pushes, by one thread at a time; it does the same wherever it
  /// is given. `keep` owns this object while the worker has to do with it. False: the ring was
  /// full, and half of it was done first.
  template <typename Fill, typename Work>
  bool push(TaskThread& worker, std::shared_ptr<void> keep, Fill&& fill, Work work) {
    MutexLock lock(pushing_);
    const uint64_t place = pushed_.load(std::memory_order_relaxed);
    if (place - seen_done_ >= kRoom) seen_done_ = done_.load(std::memory_order_acquire);
    const bool full = place - seen_done_ >= kRoom;
    if (full) do_until(place - kRoom / 2, work);
    fill(ring_[place % kRoom]);
    pushed_.store(place + 1, std::memory_order_seq_cst);
    if (!working_.load(std::memory_order_seq_cst) &&
        !working_.exchange(true, std::memory_order_seq_cst)) {
      try {
        worker.post([this, keep = std::move(keep), work] { work_off(work); });
      } catch (const std::system_error&) {  // no thread to be had
        working_.store(false, std::memory_order_seq_cst);
        do_until(place + 1, work);
      }
    }
    return !full;
  }

  /// Returns when `work` has returned for everything that was pushed before the call.
  template <typename Work>
  void drain(Work work) {
    if (!idle()) do_until(pushed_.load(std::memory_order_acquire), work);
  }

 private:
  bool idle() const {
    return done_.load(std::memory_order_seq_cst) == pushed_.load(std::memory_order_seq_cst);
  }

  /// Until the first `count` of all items are done; false when the next one was not there.
  template <typename Work>
  bool do_until(uint64_t count, Work& work) {
    MutexLock lock(doing_);
    for (;;) {
      const uint64_t place = done_.load(std::memory_order_relaxed);
      if (place >= count) return true;
      const uint64_t pushed = pushed_.load(std::memory_order_acquire);
      if (place == pushed) return false;
      if (place + 1 < pushed) fetch_ahead(ring_[(place + 1) % kRoom]);
      work(ring_[place % kRoom]);
      done_.store(place + 1, std::memory_order_seq_cst);
    }
  }

  template <typename Work>
  void work_off(Work work) {
    do {
      // One at a time: somebody may want to do them.
      while (do_until(done_.load(std::memory_order_relaxed) + 1, work)) {
      }
      working_.store(false, std::memory_order_seq_cst);
      // What was pushed meanwhile has seen a worker.
    } while (!idle() && !working_.exchange(true, std::memory_order_seq_cst));
  }

  /// The other processor's cache has it.
  static void fetch_ahead(const Item& item) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&item);
    for (size_t at = 0; at < sizeof(Item); at += kLine) __builtin_prefetch(bytes + at);
  }

  // What one thread writes and the other does not lies in cache lines of its own.
  static constexpr size_t kLine = 64;
  alignas(kLine) Mutex pushing_;  // held while an item is pushed
  uint64_t seen_done_ TUTTI_GUARDED_BY(pushing_) = 0;
  alignas(kLine) Mutex doing_;  // held while items are worked on
  alignas(kLine) std::atomic<uint64_t> pushed_{0};
  alignas(kLine) std::atomic<uint64_t> done_{0};
  alignas(kLine) std::atomic<bool> working_{false};  // a task is posted or runs
  alignas(kLine) std::array<Item, kRoom> ring_{};
};

}  // namespace tutti
