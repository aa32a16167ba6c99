// SPDX-License-Identifier: Apache-2.0
// What becomes of a command that may be started: handed to a vendor's queue at once, done at once
// in the calling thread, or left to the conductor. Pure: plain facts in, a decision out, which may
// be thrown away. Asked in two steps, since some facts are about the device that the first one
// names.
#pragma once

#include <cstdint>
#include <optional>

#include "scheduler/command/command.h"
#include "scheduler/run/direct_path.h"

namespace tutti::scheduler {

class Admission {
 public:
  enum class Path : uint8_t { kDirect, kInline, kConducted };

  /// Unfinished commands that the command comes after, taken together.
  class Ahead {
   public:
    struct One {
      const void* command = nullptr;
      bool direct = false;  // in a vendor's hands
      uint32_t backend = kNoBackend;
      bool shown_later = false;  // its data are in place before others can see that
      bool same_stream = false;  // as the command that is asked about
      Waits waits = Waits::kOrder;
    };
    void add(const One& one);

    bool none() const { return first_.command == nullptr; }
    /// Of all: the device whose hands they are in; kNoBackend: there are none, or not in one's.
    uint32_t backend() const { return all_on_one_ && !none() ? first_.backend : kNoBackend; }
    bool all_on(uint32_t backend) const { return none() || this->backend() == backend; }
    /// Some are seen to be complete only after others, and the order is about that.
    bool seen_later() const { return seen_later_; }
    bool any_shown_later() const { return any_shown_later_; }
    /// It is one command alone, of the same stream.
    bool only_before() const { return one_ && first_.same_stream; }
    /// The application has named one of the same stream.
    bool names_own() const { return names_own_; }

   private:
    One first_;
    bool all_on_one_ = true, one_ = true;
    bool seen_later_ = false, any_shown_later_ = false, names_own_ = false;
  };

  /// A kernel's plan, as far as it matters here.
  struct Launch {
    uint32_t backend = kNoBackend;  // where it runs whole
    bool measured_apart = false;    // it is split, a trial, or on a device that has failed of late
    bool others_may = false;        // some other device could run it
    bool synchronous = false;       // its device computes in the thread that enqueues
    double seconds = 0;             // expected
  };
  struct Asked {
    Ahead ahead{};
    std::optional<Launch> launch{};  // of a kernel
    bool only_order = false;         // it is nothing but order, given what lies where
    bool host_work = false;          // the application's own function,
    bool in_caller = false;          // which is to run in the calling thread
    bool overwrites = false;         // a write or fill
    bool overtakes = false;          // it would run before what is unfinished in its stream
    bool markers = false;            // the device of `ahead` has marks for its queues
    bool all_synchronous = false;    // all devices compute in the thread that enqueues
    bool several_memories = true;    // its data may lie in more than one
    uint32_t data_backend =
        kNoBackend;      // where its data lie or shall lie; none: in the host's copy
    uint64_t bytes = 0;  // that it uses
  };

  /// The device whose queue may take it; kNoBackend: none. Absent: it is decided already.
  static std::optional<uint32_t> target(const Asked& asked, Admission& decided);
  /// What is to be known of that device.
  struct AtTarget {
    double busy_seconds = 0;             // until it has done what it has; where it `overtakes`
    bool possible = false;               // what it needs is there, or is sent along
    bool reads_what_is_written = false;  // by who writes the application's memory before it
    bool lacks_memory = false;
    Ahead conflicts{};  // started commands that use the same bytes
  };
  static Admission decide(const Asked& asked, uint32_t target, const AtTarget& at);

  Path path = Path::kConducted;
  uint32_t backend = kNoBackend;          // direct: whose queue
  bool ends_with_before = false;          // direct: nothing is submitted
  bool marks = false;                     // direct: a mark is
  bool to_host = false;                   // inline: the content goes to the host's copy
  uint32_t lacks_memory_on = kNoBackend;  // conducted for that reason alone

  /// So little content goes to the host's copy rather than behind what keeps a device busy.
  static constexpr uint64_t kLittleBytes = 4096;
};

}  // namespace tutti::scheduler
