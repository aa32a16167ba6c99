// SPDX-License-Identifier: Apache-2.0
// Commands of which one stands for all to the application: it fails if one of them has. Reference
// counted by its commands; thread-safe.
#pragma once

#include <CL/cl.h>

#include <atomic>

#include "base/ref_counted.h"

namespace tutti::scheduler {

class CommandGroup : public RefCounted {
 public:
  /// The error of the first that has failed; CL_SUCCESS: none is known to have.
  cl_int error() const { return error_.load(std::memory_order_acquire); }
  void note_error(cl_int error) {
    cl_int none = CL_SUCCESS;
    error_.compare_exchange_strong(none, error, std::memory_order_acq_rel);
  }

 private:
  std::atomic<cl_int> error_{CL_SUCCESS};
};

}  // namespace tutti::scheduler
