// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/device_queue.h"

#include <vector>

namespace tutti::backends {
OpenClDeviceQueue::OpenClDeviceQueue(const VendorDevice& device, OwnedQueue queue,
                                     uint32_t generation)
    : device_(device),
      queue_(std::move(queue)),
      generation_(generation),
      number_(next_object_number()) {}

Result<std::shared_ptr<OpenClDeviceQueue>> OpenClDeviceQueue::create(
    const VendorDevice& device, cl_context context, uint32_t generation,
    const DeviceQueueOptions& options) {
  if (!device.cl->clCreateCommandQueueWithProperties) {
    return device.failure("clCreateCommandQueueWithProperties", CL_INVALID_OPERATION);
  }
  cl_command_queue_properties properties =
      CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  if (options.profiling) properties |= CL_QUEUE_PROFILING_ENABLE;
  if (options.as_default) properties |= CL_QUEUE_ON_DEVICE_DEFAULT;
  std::vector<cl_queue_properties> list{CL_QUEUE_PROPERTIES, properties};
  if (options.size != 0) list.insert(list.end(), {CL_QUEUE_SIZE, options.size});
  list.push_back(0);
  cl_int code = CL_SUCCESS;
  OwnedQueue queue(
      device.cl->clCreateCommandQueueWithProperties(context, device.device, list.data(), &code),
      device.cl->clReleaseCommandQueue);
  if (code != CL_SUCCESS || !queue.get()) {
    return device.failure("clCreateCommandQueueWithProperties", code ? code : CL_OUT_OF_RESOURCES);
  }
  return std::shared_ptr<OpenClDeviceQueue>(
      new OpenClDeviceQueue(device, std::move(queue), generation));
}

}  // namespace tutti::backends
