// SPDX-License-Identifier: Apache-2.0
// In which order the commands on a binary semaphore go to its vendor: each wait takes one signal,
// so that a wait comes after the signal that it takes, and a signal after the wait that took the
// one before. But a wait may be enqueued before its signal, or take one from outside. `CommandRef`
// may be empty. Not thread-safe.
#pragma once

#include <cstdint>
#include <utility>

namespace tutti::device_virtual {

template <typename CommandRef>
class SemaphoreOrder {
 public:
  /// `imported`: it is signalled outside, too.
  explicit SemaphoreOrder(bool imported) : imported_(imported) {}

  /// What a new wait comes after; empty: nothing, or it takes a signal that is not known yet.
  CommandRef before_wait() const { return waits_ < signals_ ? last_signal_ : CommandRef(); }
  /// What a new signal comes after; empty: nothing, or it is what the last wait waits for.
  CommandRef before_signal() const {
    return imported_ || waits_ <= signals_ ? last_wait_ : CommandRef();
  }
  void note_wait(CommandRef command) {
    ++waits_;
    last_wait_ = std::move(command);
  }
  void note_signal(CommandRef command) {
    ++signals_;
    last_signal_ = std::move(command);
  }
  /// Something else has taken the last signal, which has ended.
  void note_taken() { note_wait(CommandRef()); }
  const CommandRef& last_signal() const { return last_signal_; }

 private:
  bool imported_;
  uint64_t signals_ = 0, waits_ = 0;
  CommandRef last_signal_{}, last_wait_{};
};

}  // namespace tutti::device_virtual
