// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/unified_memory.h"

#include <bit>

#include "device_virtual/device.h"

namespace tutti::icd::validate {

using backends::SharedKind;
using backends::UnifiedMemory;
using device_virtual::CommandQueue;
using device_virtual::Context;
using device_virtual::Device;

namespace {

cl_bitfield capability(const UnifiedMemory& unified, SharedKind kind) {
  switch (kind) {
    case SharedKind::kVirtual:
    case SharedKind::kBuffer:
      break;
    case SharedKind::kHost:
      return unified.host;
    case SharedKind::kDevice:
      return unified.device;
    case SharedKind::kShared:
      return unified.shared();
  }
  return 0;
}

/// The device with which the memory is to be associated; null: none.
Result<const Device*> associated(const Context& context, SharedKind kind, cl_device_id handle) {
  if (kind == SharedKind::kHost || (kind == SharedKind::kShared && handle == nullptr)) {
    return nullptr;
  }
  // "CL_INVALID_DEVICE if device is not a valid device or is not associated with context."
  const auto* const device = device_virtual::from_handle<Device>(handle);
  if (device == nullptr || !context.has(device)) {
    return tutti::fail(CL_INVALID_DEVICE, "not a device of the context");
  }
  return device;
}

Result<cl_mem_alloc_flags_intel> allocation_flags(SharedKind kind,
                                                  const cl_mem_properties_intel* properties) {
  constexpr cl_mem_alloc_flags_intel kPlacements =
      CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL | CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;
  if (properties == nullptr || properties[0] == 0) return 0;
  // "CL_INVALID_PROPERTY if a memory property name in properties is not a supported property name,
  // if the value specified for a supported property name is not valid, or if the same property name
  // is specified more than once."
  if (properties[0] != CL_MEM_ALLOC_FLAGS_INTEL || properties[2] != 0) {
    return tutti::fail(CL_INVALID_PROPERTY, "unknown property of memory, or one more than once");
  }
  const cl_mem_alloc_flags_intel flags = properties[1];
  if ((flags & ~(kPlacements | CL_MEM_ALLOC_WRITE_COMBINED_INTEL)) != 0) {
    return tutti::fail(CL_INVALID_PROPERTY, "unknown flags of memory");
  }
  // "CL_INVALID_PROPERTY if either … flags are specified", of host and device allocations; "if both
  // … are specified", of shared ones.
  const cl_mem_alloc_flags_intel placements = flags & kPlacements;
  if (kind == SharedKind::kShared ? placements == kPlacements : placements != 0) {
    return tutti::fail(CL_INVALID_PROPERTY, "the initial placement cannot be chosen so");
  }
  return flags;
}

}  // namespace

Result<UnifiedAllocation> unified_allocation(SharedKind kind, cl_context context_handle,
                                             cl_device_id device_handle,
                                             const cl_mem_properties_intel* properties, size_t size,
                                             cl_uint alignment) {
  UnifiedAllocation call;
  // "CL_INVALID_CONTEXT if context is not a valid context."
  TUTTI_ASSIGN(call.context, context(context_handle));
  TUTTI_ASSIGN(const Device* const device, associated(*call.context, kind, device_handle));
  const device_virtual::Capabilities& can =
      device != nullptr ? device->capabilities() : call.context->capabilities();
  // "CL_INVALID_OPERATION if CL_DEVICE_…_MEM_CAPABILITIES_INTEL is zero".
  if (capability(can.unified, kind) == 0) {
    return tutti::fail(CL_INVALID_OPERATION, "the device has no such unified shared memory");
  }
  // "CL_INVALID_VALUE if alignment is not zero or a power of two." "CL_INVALID_VALUE if alignment
  // is greater than the size of the largest data type supported by device."
  if ((alignment != 0 && !std::has_single_bit(alignment)) ||
      alignment > device_virtual::kLargestType) {
    return tutti::fail(CL_INVALID_VALUE, "no alignment of a data type");
  }
  TUTTI_ASSIGN(call.origin.flags, allocation_flags(kind, properties));
  // "CL_INVALID_BUFFER_SIZE if size is zero or greater than CL_DEVICE_MAX_MEM_ALLOC_SIZE".
  if (size == 0 || size > can.max_undivided) {
    return tutti::fail(CL_INVALID_BUFFER_SIZE, "size is 0 or above CL_DEVICE_MAX_MEM_ALLOC_SIZE");
  }
  call.origin.device = device != nullptr ? device_handle : nullptr;
  call.request = {kind, size, alignment, call.origin.flags};
  return call;
}

Result<CommandQueue*> unified_hint(cl_command_queue queue_handle, cl_mem_migration_flags flags,
                                   RawWaitList waits, WaitList& list) {
  TUTTI_ASSIGN(CommandQueue* const found, svm_queue(queue_handle, Shared::kUnified));
  // "CL_INVALID_VALUE if flags is not a supported combination of memory migration flags."
  if ((flags & ~(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)) != 0) {
    return tutti::fail(CL_INVALID_VALUE, "unknown migration flags");
  }
  TUTTI_TRY(check_waits(found, waits, list));
  return found;
}

}  // namespace tutti::icd::validate
