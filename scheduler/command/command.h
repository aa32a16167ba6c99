// SPDX-License-Identifier: Apache-2.0
// One enqueued command (or user event) as the application sees it: what has become of it so far.
// Its place among the others is the command log's matter (scheduler/order/node.h). Reference
// counted; thread-safe.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <functional>

#include "base/ref_counted.h"

namespace tutti::scheduler {

/// Profiling times in nanoseconds of the process's steady clock; zero = not yet.
struct CommandTimes {
  uint64_t queued = 0, submitted = 0, started = 0, ended = 0;
};

/// Why a command waits for another.
enum class Waits : uint8_t {
  kNamed,  // the application said so: errors pass along
  kOrder,  // its place in the stream
  kData,   // both use the same bytes, and the other one has started: until that has ended
  kShow,   // it only is not done before the other is
};

class Command : public RefCounted {
 public:
  using Callback = std::function<void(cl_int status)>;

  cl_command_type type() const { return type_; }
  bool is_user() const { return type_ == CL_COMMAND_USER; }
  /// CL_QUEUED … CL_COMPLETE or a negative error; asks the vendor for direct commands.
  virtual cl_int status() = 0;
  /// Valid as far as the command has come; QUEUED ≤ SUBMIT ≤ START ≤ END.
  virtual CommandTimes times() = 0;
  /// Calls back once when the status reaches `type` (CL_SUBMITTED, CL_RUNNING or CL_COMPLETE, or an
  /// error), at once if it already has, from a thread of the engine with no lock held.
  virtual void add_callback(cl_int type, Callback callback) = 0;

 protected:
  explicit Command(cl_command_type type) : type_(type) {}

 private:
  const cl_command_type type_;
};

}  // namespace tutti::scheduler
