// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/pinned_memory.h"

#include "backends/opencl/opencl_queue.h"

namespace tutti::backends {
namespace {

void unmap(const VendorDevice& device, cl_command_queue queue, cl_mem memory, void* data) {
  cl_int code = device.cl->clEnqueueUnmapMemObject(queue, memory, data, 0, nullptr, nullptr);
  if (code != CL_SUCCESS) device.note("clEnqueueUnmapMemObject", code);
  code = device.cl->clFinish(queue);
  if (code != CL_SUCCESS) device.note("clFinish", code);
}

}  // namespace

Result<std::unique_ptr<PinnedMemory>> OpenClPinnedMemory::create(const VendorDevice& device,
                                                                 cl_context context,
                                                                 std::byte* data, uint64_t size) {
  const VendorFunctions& cl = *device.cl;
  auto made_queue = create_vendor_queue(cl, context, device.device, 0);
  if (!made_queue)
    return device.failure(made_queue.error().message.c_str(), made_queue.error().code);
  OwnedQueue queue(*made_queue, cl.clReleaseCommandQueue);
  cl_int code = CL_SUCCESS;
  OwnedMemory memory(
      cl.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, data, &code),
      cl.clReleaseMemObject);
  if (code != CL_SUCCESS) return device.failure("clCreateBuffer", code);
  void* const mapped =
      cl.clEnqueueMapBuffer(queue.get(), memory.get(), CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0,
                            size, 0, nullptr, nullptr, &code);
  if (code != CL_SUCCESS || !mapped) {
    return device.failure("clEnqueueMapBuffer", code ? code : CL_MAP_FAILURE);
  }
  if (mapped != data) {
    unmap(device, queue.get(), memory.get(), mapped);
    return device.failure("clEnqueueMapBuffer, which does not use our memory", CL_MAP_FAILURE);
  }
  return std::unique_ptr<PinnedMemory>(
      new OpenClPinnedMemory(device, std::move(queue), std::move(memory), data, size));
}

OpenClPinnedMemory::~OpenClPinnedMemory() {
  if (vendors_gone()) return;
  unmap(device_, queue_.get(), memory_.get(), data());
}

}  // namespace tutti::backends
