// SPDX-License-Identifier: Apache-2.0
// Checks that many entry points share: handles and wait lists. Pure functions, thread-safe.
#pragma once

#include <CL/cl.h>

#include <array>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_virtual/buffer.h"
#include "device_virtual/command_queue.h"
#include "device_virtual/context.h"
#include "device_virtual/device.h"
#include "device_virtual/event.h"
#include "device_virtual/handle.h"
#include "device_virtual/sampler.h"
#include "platform/platform_object.h"

namespace tutti::icd::validate {

Result<platform::Platform*> platform(cl_platform_id handle);  // CL_INVALID_PLATFORM
Result<device_virtual::Device*> device(cl_device_id handle);  // CL_INVALID_DEVICE
Result<device_virtual::Context*> context(cl_context handle);  // CL_INVALID_CONTEXT
/// CL_INVALID_COMMAND_QUEUE. Of the host; of the host or on the device.
Result<device_virtual::CommandQueue*> queue(cl_command_queue handle);
Result<device_virtual::CommandQueue*> any_queue(cl_command_queue handle);
Result<device_virtual::Buffer*> memory(cl_mem handle);  // CL_INVALID_MEM_OBJECT
/// Of that kind and nothing else: CL_INVALID_MEM_OBJECT.
Result<device_virtual::Buffer*> buffer(cl_mem handle);
Result<device_virtual::Buffer*> image(cl_mem handle);
Result<device_virtual::Buffer*> pipe(cl_mem handle);
Result<device_virtual::Sampler*> sampler(cl_sampler handle);  // CL_INVALID_SAMPLER
Result<device_virtual::Event*> event(cl_event handle);        // CL_INVALID_EVENT

/// The commands of a wait list; a few need no allocation.
class WaitList {
 public:
  void add(scheduler::Command& command) {
    if (count_ < few_.size()) {
      few_[count_] = &command;
    } else {
      if (count_ == few_.size()) many_.assign(few_.begin(), few_.end());
      many_.push_back(&command);
    }
    ++count_;
  }
  /// Valid while this object lives, and is not moved.
  std::span<scheduler::Command* const> commands() const {
    return count_ <= few_.size() ? std::span<scheduler::Command* const>(few_.data(), count_)
                                 : std::span<scheduler::Command* const>(many_);
  }

 private:
  std::array<scheduler::Command*, 4> few_{};
  size_t count_ = 0;
  std::vector<scheduler::Command*> many_;
};

/// The checks on `event_wait_list` that every clEnqueue… has; appends to `list`.
/// CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_CONTEXT.
Status wait_list(const device_virtual::Context& context, cl_uint count, const cl_event* events,
                 WaitList& list);

}  // namespace tutti::icd::validate
