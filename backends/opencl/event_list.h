// SPDX-License-Identifier: Apache-2.0
// What every enqueue on a vendor's queue needs: the vendor's handles of memory, and of a wait list.
#pragma once

#include <vector>

#include "backends/opencl/opencl_objects.h"

namespace tutti::backends {

inline cl_mem handle_of(Memory& memory) { return static_cast<OpenClMemory&>(memory).handle(); }

/// A wait list as vendors take it; short ones need no allocation. What is known to have ended is
/// left out, and so is what the same queue, being in-order, does before; what another queue has to
/// run first is flushed there: the specification leaves that to us.
class EventList {
 public:
  EventList(WaitList wait, cl_command_queue queue) {
    cl_event* out = few_;
    if (wait.size() > std::size(few_)) {
      many_.resize(wait.size());
      out = many_.data();
    }
    events_ = out;
    for (const CompletionPtr& completion : wait) {
      const auto& vendor = static_cast<const OpenClCompletion&>(*completion);
      if (vendor.queue() == queue || vendor.known_complete()) continue;
      if (const cl_event event = vendor.event()) {
        vendor.flush_queue();
        out[count_++] = event;
      } else if (code_ == CL_SUCCESS) {
        code_ = vendor.finish_queue();
      }
    }
  }
  /// Of a clFinish, where a vendor gave no event to wait for: what it waits for has not ended
  /// unless this is CL_SUCCESS.
  cl_int code() const { return code_; }
  cl_uint count() const { return count_; }
  const cl_event* events() const { return count_ ? events_ : nullptr; }

 private:
  cl_event few_[8];
  std::vector<cl_event> many_;
  const cl_event* events_ = nullptr;
  cl_uint count_ = 0;
  cl_int code_ = CL_SUCCESS;
};

}  // namespace tutti::backends
