// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/shared_memory.h"

#include "backends/opencl/opencl_queue.h"

namespace tutti::backends {

bool has_shared_memory(const VendorFunctions& cl) {
  return cl.clSVMAlloc && cl.clSVMFree && cl.clEnqueueSVMMap && cl.clEnqueueSVMUnmap &&
         cl.clSetKernelArgSVMPointer && cl.clSetKernelExecInfo;
}

Result<std::unique_ptr<SharedMemory>> OpenClSharedMemory::create(
    const VendorDevice& device, std::shared_ptr<const void> context, cl_context handle,
    uint32_t generation, uint64_t size, uint32_t alignment, cl_svm_mem_flags flags) {
  // What the application promises of its kernels is no matter here: copies come and go by a buffer
  // over this memory, which Intel's runtime refuses where the two differ (CL_INVALID_VALUE).
  flags &= ~cl_svm_mem_flags{CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY};
  const auto turn = device.turn();
  void* const data = device.cl->clSVMAlloc(handle, flags | CL_MEM_READ_WRITE, size, alignment);
  if (!data) return device.failure("clSVMAlloc", CL_MEM_OBJECT_ALLOCATION_FAILURE);
  return std::unique_ptr<SharedMemory>(new OpenClSharedMemory(
      device, std::move(context), handle, generation, static_cast<std::byte*>(data), size));
}

OpenClSharedMemory::~OpenClSharedMemory() {
  if (vendors_gone()) return;
  const auto turn = device_.turn();
  device_.cl->clSVMFree(handle_, data_);
}

Status OpenClQueue::map_shared(SharedMemory& memory, uint64_t offset, uint64_t size,
                               cl_map_flags flags) {
  if (vendors_gone()) return device_.gone("clEnqueueSVMMap");
  const uint64_t before = calls_before();
  const auto turn = device_.turn();
  track_->begin_call();
  const cl_int code = cl_.clEnqueueSVMMap(queue_.get(), CL_TRUE, flags, memory.data() + offset,
                                          size, 0, nullptr, nullptr);
  if (code != CL_SUCCESS) return dropped("clEnqueueSVMMap", code);
  track_->note_ended(before);  // the queue is in-order
  return {};
}

Status OpenClQueue::unmap_shared(SharedMemory& memory, uint64_t offset) {
  if (vendors_gone()) return device_.gone("clEnqueueSVMUnmap");
  {
    const auto turn = device_.turn();
    track_->begin_call();
    // Without an event, for which PoCL 6.0 crashes: the queue is in-order, so its end tells.
    const cl_int code =
        cl_.clEnqueueSVMUnmap(queue_.get(), memory.data() + offset, 0, nullptr, nullptr);
    if (code != CL_SUCCESS) return dropped("clEnqueueSVMUnmap", code);
  }
  return finish();
}

}  // namespace tutti::backends
