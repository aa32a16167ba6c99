// SPDX-License-Identifier: Apache-2.0
// Which user events the commands of a replay wait for, directly or through others. One thread makes
// all calls of a replay: what waits for a user event that no earlier call has set waits for ever.
// Commands, queues and events are known by their numbers in the record. Used by one thread.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>

#include "record/call.h"

namespace tutti::tools {

class ReplayWaits {
 public:
  using UserEvents = std::set<uint64_t>;

  /// A call that made a queue or a user event, or set one.
  void made(const record::Call& call);
  void has_ended(uint64_t user_event) { open_.erase(user_event); }
  /// A command is about to be enqueued.
  void enqueued(const record::Call& call);

  /// User events that nobody has set, and that must be before this can end: the command that the
  /// call which began then has enqueued; clFinish, or clWaitForEvents.
  UserEvents of_command(uint64_t begin) const;
  UserEvents of_wait(const record::Call& call) const;
  const UserEvents& open() const { return open_; }

 private:
  struct Queue {
    bool out_of_order = false;
    UserEvents all;      // of everything that was enqueued
    UserEvents barrier;  // of what all that comes waits for
  };
  UserEvents still_open(const UserEvents& events) const;
  UserEvents of_list(const record::Call& call) const;

  UserEvents open_;
  std::unordered_map<uint64_t, UserEvents> of_event_, of_command_;
  std::unordered_map<uint64_t, Queue> queues_;
};

}  // namespace tutti::tools
