// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/memory.h"

#include "icd/validate/memory_properties.h"

#include <bit>
#include <limits>

namespace tutti::icd::validate {
namespace {

constexpr cl_mem_flags kHostAccess =
    CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
constexpr cl_mem_flags kHostPointer =
    CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

}  // namespace

bool valid_flags(cl_mem_flags flags) {
  if ((flags & ~(kKernelAccess | kHostAccess | kHostPointer)) != 0) return false;
  if (std::popcount(flags & kKernelAccess) > 1 || std::popcount(flags & kHostAccess) > 1)
    return false;
  // "CL_MEM_ALLOC_HOST_PTR [CL_MEM_COPY_HOST_PTR] and CL_MEM_USE_HOST_PTR are mutually exclusive."
  return (flags & CL_MEM_USE_HOST_PTR) == 0 ||
         (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) == 0;
}

Result<cl_mem_flags> flags_under(cl_mem_flags parent, cl_mem_flags flags) {
  // "CL_INVALID_VALUE if buffer was created with CL_MEM_WRITE_ONLY and flags specifies
  // CL_MEM_READ_WRITE or CL_MEM_READ_ONLY, or if buffer was created with CL_MEM_READ_ONLY and flags
  // specifies CL_MEM_READ_WRITE or CL_MEM_WRITE_ONLY, or if flags specifies CL_MEM_USE_HOST_PTR,
  // CL_MEM_ALLOC_HOST_PTR or CL_MEM_COPY_HOST_PTR."
  const bool wider =
      ((parent & CL_MEM_WRITE_ONLY) != 0 &&
       (flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY)) != 0) ||
      ((parent & CL_MEM_READ_ONLY) != 0 && (flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY)) != 0);
  if (!valid_flags(flags) || (flags & kHostPointer) != 0 || wider) {
    return fail(CL_INVALID_VALUE, "invalid flags for this parent buffer");
  }
  // "CL_INVALID_VALUE if buffer was created with CL_MEM_HOST_WRITE_ONLY and flags specify
  // CL_MEM_HOST_READ_ONLY, or if buffer was created with CL_MEM_HOST_READ_ONLY and flags specify
  // CL_MEM_HOST_WRITE_ONLY, or if buffer was created with CL_MEM_HOST_NO_ACCESS and flags specify
  // CL_MEM_HOST_READ_ONLY or CL_MEM_HOST_WRITE_ONLY."
  if (((parent & CL_MEM_HOST_WRITE_ONLY) != 0 && (flags & CL_MEM_HOST_READ_ONLY) != 0) ||
      ((parent & CL_MEM_HOST_READ_ONLY) != 0 && (flags & CL_MEM_HOST_WRITE_ONLY) != 0) ||
      ((parent & CL_MEM_HOST_NO_ACCESS) != 0 &&
       (flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY)) != 0)) {
    return fail(CL_INVALID_VALUE, "host access flags contradict the parent buffer's");
  }
  // "If the CL_MEM_READ_WRITE, … values are not specified in flags, they are inherited from the
  // corresponding memory access qualifiers associated with buffer. The [host pointer] values cannot
  // be specified in flags but are inherited from buffer. … If the CL_MEM_HOST_… values are not
  // specified in flags, they are inherited."
  if ((flags & kKernelAccess) == 0) flags |= parent & kKernelAccess;
  if ((flags & kHostAccess) == 0) flags |= parent & kHostAccess;
  return flags | (parent & kHostPointer);
}

namespace {}  // namespace

Result<CreateBuffer> create_buffer(cl_context context_handle, const cl_mem_properties* properties,
                                   cl_mem_flags flags, size_t size, void* host_ptr) {
  CreateBuffer call;
  // "CL_INVALID_CONTEXT if context is not a valid context."
  TUTTI_ASSIGN(call.context, context(context_handle));
  // "CL_INVALID_PROPERTY if a property name in properties is not a supported property name".
  if (properties != nullptr) {
    TUTTI_TRY(take_buffer_properties(*call.context, properties, call.options));
  }
  if (!valid_flags(flags)) return fail(CL_INVALID_VALUE, "invalid memory flags");
  TUTTI_TRY(check_external(call.options, flags, host_ptr));
  // "CL_INVALID_BUFFER_SIZE if size is 0 or if size is greater than CL_DEVICE_MAX_MEM_ALLOC_SIZE
  // for all devices in context."
  if (size == 0 || size > call.context->capabilities().max_allocation) {
    return fail(CL_INVALID_BUFFER_SIZE, "size is 0 or above CL_DEVICE_MAX_MEM_ALLOC_SIZE");
  }
  // "CL_INVALID_HOST_PTR if host_ptr is NULL and CL_MEM_USE_HOST_PTR or CL_MEM_COPY_HOST_PTR are
  // set in flags or if host_ptr is not NULL but CL_MEM_COPY_HOST_PTR or CL_MEM_USE_HOST_PTR are not
  // set in flags."
  if ((host_ptr != nullptr) != ((flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0)) {
    return fail(CL_INVALID_HOST_PTR, "host_ptr and flags contradict each other");
  }
  // "If the value specified for flags is 0, the default is used which is CL_MEM_READ_WRITE."
  call.options.flags = flags == 0 ? CL_MEM_READ_WRITE : flags;
  call.options.size = size;
  call.options.host_ptr = host_ptr;
  return call;
}

Result<CreateSubBuffer> create_sub_buffer(cl_mem buffer_handle, cl_mem_flags flags,
                                          cl_buffer_create_type type, const void* info) {
  CreateSubBuffer call;
  // "CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object or is a sub-buffer object."
  TUTTI_ASSIGN(call.buffer, buffer(buffer_handle));
  if (call.buffer->is_sub_buffer()) return fail(CL_INVALID_MEM_OBJECT, "a sub-buffer");
  TUTTI_ASSIGN(call.flags, flags_under(call.buffer->flags(), flags));
  // "CL_INVALID_VALUE if the value specified in buffer_create_type is not valid." "CL_INVALID_VALUE
  // if value(s) specified in buffer_create_info … is not valid or if buffer_create_info is NULL."
  if (type != CL_BUFFER_CREATE_TYPE_REGION || info == nullptr) {
    return fail(CL_INVALID_VALUE, "a region is needed");
  }
  const auto& region = *static_cast<const cl_buffer_region*>(info);
  // "CL_INVALID_VALUE if the region specified by the cl_buffer_region structure … is out of bounds
  // in buffer." "CL_INVALID_BUFFER_SIZE if the size field … is 0."
  if (region.size == 0) return fail(CL_INVALID_BUFFER_SIZE, "the region is empty");
  if (region.origin > call.buffer->size() || region.size > call.buffer->size() - region.origin) {
    return fail(CL_INVALID_VALUE, "the region is out of bounds");
  }
  // "CL_MISALIGNED_SUB_BUFFER_OFFSET if there are no devices in context associated with buffer for
  // which the origin field … is aligned to the CL_DEVICE_MEM_BASE_ADDR_ALIGN value."
  if (region.origin % call.buffer->context().capabilities().memory_alignment != 0) {
    return fail(CL_MISALIGNED_SUB_BUFFER_OFFSET, "origin is not a multiple of the base alignment");
  }
  call.origin = region.origin;
  call.size = region.size;
  return call;
}

Result<CreatePipe> create_pipe(cl_context context_handle, cl_mem_flags flags, cl_uint packet_size,
                               cl_uint max_packets, const cl_pipe_properties* properties) {
  CreatePipe call;
  TUTTI_ASSIGN(call.context, context(context_handle));
  // "CL_INVALID_OPERATION if no devices in context support pipes."
  const cl_uint largest = call.context->capabilities().max_pipe_packet;
  if (largest == 0) return fail(CL_INVALID_OPERATION, "the device has no pipes");
  // "CL_INVALID_VALUE if values specified in flags are not as defined": "Only CL_MEM_READ_WRITE and
  // CL_MEM_HOST_NO_ACCESS can be specified when creating a pipe object."
  constexpr cl_mem_flags kAllowed = CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS;
  if ((flags & ~kAllowed) != 0) return fail(CL_INVALID_VALUE, "flags that a pipe cannot have");
  // "CL_INVALID_VALUE if properties is not NULL."
  if (properties != nullptr) return fail(CL_INVALID_VALUE, "pipes have no properties");
  // "CL_INVALID_PIPE_SIZE if pipe_packet_size is 0 or the pipe_packet_size exceeds
  // CL_DEVICE_PIPE_MAX_PACKET_SIZE value for all devices in context or if pipe_max_packets is 0."
  if (packet_size == 0 || packet_size > largest || max_packets == 0) {
    return fail(CL_INVALID_PIPE_SIZE, "no packets, or larger ones than the device takes");
  }
  // "If the value specified for flags is 0, the default is used which is CL_MEM_READ_WRITE |
  // CL_MEM_HOST_NO_ACCESS."
  call.options.flags = flags == 0 ? kAllowed : flags;
  call.options.pipe = {packet_size, max_packets};
  call.options.size = call.options.pipe->span();
  return call;
}

Result<device_virtual::Buffer*> set_memory_destructor(cl_mem memory, const void* notify) {
  // "CL_INVALID_MEM_OBJECT if memobj is not a valid memory object."
  TUTTI_ASSIGN(auto* const found, validate::memory(memory));
  // "CL_INVALID_VALUE if pfn_notify is NULL."
  if (notify == nullptr) return fail(CL_INVALID_VALUE, "pfn_notify is NULL");
  return found;
}

}  // namespace tutti::icd::validate
