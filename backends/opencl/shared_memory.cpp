// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/shared_memory.h"

#include "backends/opencl/opencl_queue.h"

namespace tutti::backends {

bool has_shared_memory(const VendorFunctions& cl) {
  return cl.clSVMAlloc && cl.clSVMFree && cl.clEnqueueSVMMap && cl.clEnqueueSVMUnmap &&
         cl.clSetKernelArgSVMPointer && cl.clSetKernelExecInfo;
}

bool has_unified_memory(const VendorFunctions& cl) {
  return cl.clHostMemAllocINTEL && cl.clDeviceMemAllocINTEL && cl.clSharedMemAllocINTEL &&
         cl.clMemFreeINTEL && cl.clSetKernelArgMemPointerINTEL && cl.clEnqueueMemcpyINTEL &&
         cl.clSetKernelExecInfo;
}

bool has_buffer_addresses(const VendorFunctions& cl) {
  return cl.clCreateBufferWithProperties && cl.clGetMemObjectInfo &&
         cl.clSetKernelArgDevicePointerEXT && cl.clSetKernelExecInfo;
}

std::byte* allocate_shared_memory(const VendorDevice& device, cl_context context,
                                  const SharedRequest& request, cl_int& code) {
  const VendorFunctions& cl = *device.cl;
  const cl_mem_properties_intel flags[] = {CL_MEM_ALLOC_FLAGS_INTEL, request.flags, 0};
  const cl_mem_properties_intel* const given = request.flags != 0 ? flags : nullptr;
  void* data = nullptr;
  code = CL_SUCCESS;
  switch (request.kind) {
    case SharedKind::kVirtual: {
      // What the application promises of its kernels is no matter here: copies come and go by a
      // buffer over this memory, which Intel's runtime refuses where the two differ
      // (CL_INVALID_VALUE).
      const cl_svm_mem_flags kept =
          request.flags & ~cl_svm_mem_flags{CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY};
      data = cl.clSVMAlloc(context, kept | CL_MEM_READ_WRITE, request.size, request.alignment);
      break;
    }
    case SharedKind::kHost:
      data = cl.clHostMemAllocINTEL(context, given, request.size, request.alignment, &code);
      break;
    case SharedKind::kDevice:
      data = cl.clDeviceMemAllocINTEL(context, device.device, given, request.size,
                                      request.alignment, &code);
      break;
    case SharedKind::kShared:
      data = cl.clSharedMemAllocINTEL(context, device.device, given, request.size,
                                      request.alignment, &code);
      break;
    case SharedKind::kBuffer:
      break;
  }
  // Flags are hints, some of which Intel's processors do not take.
  if (!data && code == CL_INVALID_PROPERTY && given) {
    return allocate_shared_memory(device, context, {request.kind, request.size, request.alignment},
                                  code);
  }
  if (!data && code == CL_SUCCESS) code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return static_cast<std::byte*>(data);
}

void free_shared_memory(const VendorDevice& device, cl_context context, SharedKind kind,
                        std::byte* data) {
  if (!is_unified(kind)) return device.cl->clSVMFree(context, data);
  const cl_int code = device.cl->clMemFreeINTEL(context, data);
  if (code != CL_SUCCESS) device.note("clMemFreeINTEL", code);
}

namespace {

const char* allocation_call(SharedKind kind) {
  switch (kind) {
    case SharedKind::kVirtual:
    case SharedKind::kBuffer:
      break;
    case SharedKind::kHost:
      return "clHostMemAllocINTEL";
    case SharedKind::kDevice:
      return "clDeviceMemAllocINTEL";
    case SharedKind::kShared:
      return "clSharedMemAllocINTEL";
  }
  return "clSVMAlloc";
}

}  // namespace

Result<std::unique_ptr<SharedMemory>> OpenClSharedMemory::create(
    const VendorDevice& device, std::shared_ptr<const void> context, cl_context handle,
    uint32_t generation, const SharedRequest& request) {
  if (request.kind == SharedKind::kBuffer) {
    return create_buffer(device, std::move(context), handle, generation, request);
  }
  const auto turn = device.turn();
  cl_int code = CL_SUCCESS;
  std::byte* const data = allocate_shared_memory(device, handle, request, code);
  if (!data) return device.failure(allocation_call(request.kind), code);
  return std::unique_ptr<SharedMemory>(
      new OpenClSharedMemory(device, std::move(context), handle, generation, data, request));
}

Result<std::unique_ptr<SharedMemory>> OpenClSharedMemory::create_buffer(
    const VendorDevice& device, std::shared_ptr<const void> context, cl_context handle,
    uint32_t generation, const SharedRequest& request) {
  const VendorFunctions& cl = *device.cl;
  const cl_mem_properties properties[] = {kPrivateAddress, CL_TRUE, 0};
  const auto turn = device.turn();
  cl_int code = CL_SUCCESS;
  OwnedMemory buffer(cl.clCreateBufferWithProperties(handle, properties, CL_MEM_READ_WRITE,
                                                     request.size, nullptr, &code),
                     cl.clReleaseMemObject);
  if (code != CL_SUCCESS || !buffer.get()) {
    return device.failure("clCreateBufferWithProperties", code ? code : CL_OUT_OF_RESOURCES);
  }
  DeviceAddress address = 0;  // the context is of one device
  code = cl.clGetMemObjectInfo(buffer.get(), kAddressOfMemory, sizeof address, &address, nullptr);
  if (code != CL_SUCCESS || address == 0) {
    return device.failure("clGetMemObjectInfo(CL_MEM_DEVICE_ADDRESS_EXT)",
                          code ? code : CL_OUT_OF_RESOURCES);
  }
  std::unique_ptr<OpenClSharedMemory> made(
      new OpenClSharedMemory(device, std::move(context), handle, generation,
                             reinterpret_cast<std::byte*>(address), request));
  made->buffer_ = std::move(buffer);
  return made;
}

OpenClSharedMemory::~OpenClSharedMemory() {
  if (vendors_gone()) return;
  const auto turn = device_.turn();
  if (kind_ == SharedKind::kBuffer) {
    buffer_ = {};
    return;
  }
  free_shared_memory(device_, handle_, kind_, data_);
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
    track_->note_call();
  }
  return finish();
}

namespace {

constexpr uint32_t kind_bit(SharedKind kind) { return uint32_t{1} << static_cast<uint32_t>(kind); }

struct IndirectAccess {
  SharedKind kind;
  cl_kernel_exec_info name;
};
constexpr IndirectAccess kIndirectAccesses[] = {
    {SharedKind::kHost, CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL},
    {SharedKind::kDevice, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL},
    {SharedKind::kShared, CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL},
};

}  // namespace

Status OpenClKernel::set_reached(std::span<const Argument> reached) {
  Reached now;
  now.unified = reached_.unified;  // what was said stays said
  for (const Argument& one : reached) {
    const auto& memory = static_cast<const OpenClMemory&>(*one.memory);
    const std::byte* const address = memory.shared();
    if (!address) return device_.of_lost_context("clSetKernelExecInfo");
    const SharedKind kind = memory.shared_kind();
    if (is_unified(kind)) {
      now.unified |= kind_bit(kind);
    } else {
      (kind == SharedKind::kBuffer ? now.buffers : now.shared).push_back(address);
    }
  }
  if (now == reached_) return {};
  // An empty list cannot be given, and what was named may have been freed.
  if ((now.shared.empty() && !reached_.shared.empty()) ||
      (now.buffers.empty() && !reached_.buffers.empty())) {
    TUTTI_TRY(make());
  }
  const uint32_t said = std::exchange(reached_, {}).unified;
  cl_kernel const kernel = kernel_.get();
  const auto set = [&](cl_kernel_exec_info what, size_t size, const void* value) -> Status {
    const cl_int code = device_.cl->clSetKernelExecInfo(kernel, what, size, value);
    if (code != CL_SUCCESS) return device_.failure("clSetKernelExecInfo", code);
    return {};
  };
  const auto name = [&](cl_kernel_exec_info what, const std::vector<const void*>& addresses) {
    return addresses.empty() ? Status{}
                             : set(what, addresses.size() * sizeof(void*), addresses.data());
  };
  TUTTI_TRY(name(CL_KERNEL_EXEC_INFO_SVM_PTRS, now.shared));
  TUTTI_TRY(name(kReachedAddresses, now.buffers));
  constexpr cl_bool kYes = CL_TRUE;
  for (const IndirectAccess& access : kIndirectAccesses) {
    if ((now.unified & ~said & kind_bit(access.kind)) == 0) continue;
    TUTTI_TRY(set(access.name, sizeof kYes, &kYes));
  }
  reached_ = std::move(now);
  return {};
}

}  // namespace tutti::backends
