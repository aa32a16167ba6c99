// SPDX-License-Identifier: Apache-2.0
// A value per backend: those of the real devices from the start, those of parts of devices (which
// may be made at any time, BackendSet::parts) at the first use of one of them. Thread-safe as far
// as finding the values goes; elements never move.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "scheduler/devices/place.h"

namespace tutti::scheduler {

template <typename T>
class PerBackend {
 public:
  explicit PerBackend(uint32_t real_devices) : real_(real_devices) {}
  ~PerBackend() { delete[] parts_.load(std::memory_order_acquire); }
  PerBackend(const PerBackend&) = delete;
  PerBackend& operator=(const PerBackend&) = delete;

  T& operator[](uint32_t backend) {
    return backend < real_.size() ? real_[backend] : parts()[backend - real_.size()];
  }
  /// Null where nobody has asked for the value of a part of a device yet.
  const T* find(uint32_t backend) const {
    if (backend < real_.size()) return &real_[backend];
    const T* parts = parts_.load(std::memory_order_acquire);
    return parts ? parts + (backend - real_.size()) : nullptr;
  }

 private:
  T* parts() {
    if (T* made = parts_.load(std::memory_order_acquire)) return made;
    T* made = new T[kMostBackends - real_.size()]();
    T* other = nullptr;
    if (parts_.compare_exchange_strong(other, made, std::memory_order_acq_rel)) return made;
    delete[] made;  // another thread was faster
    return other;
  }

  std::vector<T> real_;
  std::atomic<T*> parts_{nullptr};
};

}  // namespace tutti::scheduler
