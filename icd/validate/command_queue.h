// SPDX-License-Identifier: Apache-2.0
// Checks of the command-queue's entry points. Pure functions, thread-safe.
#pragma once

#include "icd/validate/common.h"

namespace tutti::icd::validate {

struct CreateQueue {
  device_virtual::Context* context = nullptr;
  device_virtual::Device* device = nullptr;
  cl_command_queue_properties properties = 0;
  std::vector<cl_queue_properties> property_list;  // with the closing 0; empty if NULL
  backends::QueueHints hints;
  cl_uint size_on_device = 0;  // bytes; 0: a queue of the host
};
Result<CreateQueue> create_queue(cl_context context, cl_device_id device,
                                 cl_command_queue_properties properties);
Result<CreateQueue> create_queue_with_properties(cl_context context, cl_device_id device,
                                                 const cl_queue_properties* properties);
Result<device_virtual::CommandQueue*> set_queue_property(cl_command_queue queue,
                                                         cl_command_queue_properties properties);
struct DefaultQueue {
  device_virtual::Context* context = nullptr;
  device_virtual::Device* device = nullptr;
  device_virtual::CommandQueue* queue = nullptr;
};
Result<DefaultQueue> set_default_device_queue(cl_context context, cl_device_id device,
                                              cl_command_queue queue);

}  // namespace tutti::icd::validate
