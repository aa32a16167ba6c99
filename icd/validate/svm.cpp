// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/svm.h"

#include <bit>
#include <cstdint>

#include "icd/validate/kernel.h"

namespace tutti::icd::validate {

using device_virtual::CommandQueue;
using device_virtual::Context;

namespace {

Status offered(const device_virtual::Capabilities& can, Shared shared) {
  if (shared == Shared::kVirtual ? can.svm != 0 : can.unified.any()) return {};
  return tutti::fail(CL_INVALID_OPERATION, shared == Shared::kVirtual
                                               ? "the device has no shared virtual memory"
                                               : "the device has no unified shared memory");
}

/// "svm_ptr is a pointer to a memory region that will be …" of shared memory, all of it.
Result<SharedPlace> shared_range(CommandQueue& queue, const void* pointer, size_t size) {
  auto place = queue.context().shared_memory().find(pointer);
  if (!place || size > place->rest()) {
    return tutti::fail(CL_INVALID_VALUE, "not in shared virtual memory of the context");
  }
  return *std::move(place);
}

/// Unified memory is never mapped.
Result<SharedPlace> mapped_range(CommandQueue& queue, const void* pointer, size_t size) {
  TUTTI_ASSIGN(SharedPlace place, shared_range(queue, pointer, size));
  if (backends::is_unified(place.allocation->kind())) {
    return tutti::fail(CL_INVALID_VALUE, "unified shared memory is not mapped");
  }
  return place;
}

}  // namespace

Result<Context*> svm_alloc(cl_context context_handle, cl_svm_mem_flags flags, size_t size,
                           cl_uint alignment) {
  constexpr cl_svm_mem_flags kAccess = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
  constexpr cl_svm_mem_flags kFine = CL_MEM_SVM_FINE_GRAIN_BUFFER;
  // "clSVMAlloc will fail if context is not a valid context, or no devices in context support SVM."
  TUTTI_ASSIGN(Context* const found, context(context_handle));
  const device_virtual::Capabilities& can = found->capabilities();
  if (can.svm == 0) {
    return tutti::fail(CL_INVALID_OPERATION, "the device has no shared virtual memory");
  }
  // "flags does not contain CL_MEM_SVM_FINE_GRAIN_BUFFER but does contain CL_MEM_SVM_ATOMICS."
  // "The values specified in flags are not valid."
  if ((flags & ~(kAccess | kFine | CL_MEM_SVM_ATOMICS)) != 0 ||
      std::popcount(flags & kAccess) > 1 ||
      (flags & (kFine | CL_MEM_SVM_ATOMICS)) == cl_svm_mem_flags{CL_MEM_SVM_ATOMICS}) {
    return tutti::fail(CL_INVALID_VALUE, "invalid flags of shared memory");
  }
  // "CL_MEM_SVM_FINE_GRAIN_BUFFER or CL_MEM_SVM_ATOMICS is specified in flags and these are not
  // supported by at least one device in context."
  if (((flags & kFine) != 0 && (can.svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) == 0) ||
      ((flags & CL_MEM_SVM_ATOMICS) != 0 && (can.svm & CL_DEVICE_SVM_ATOMICS) == 0)) {
    return tutti::fail(CL_INVALID_OPERATION, "the device has no such shared memory");
  }
  // "size is 0 or > CL_DEVICE_MAX_MEM_ALLOC_SIZE value for any device in context."
  if (size == 0 || size > can.max_undivided) {
    return tutti::fail(CL_INVALID_VALUE, "size is 0 or above CL_DEVICE_MAX_MEM_ALLOC_SIZE");
  }
  // "alignment is not a power of two". 0 stands for the largest data type's.
  if (alignment != 0 && !std::has_single_bit(alignment)) {
    return tutti::fail(CL_INVALID_VALUE, "the alignment is not a power of two");
  }
  return found;
}

Result<CommandQueue*> svm_queue(cl_command_queue queue_handle, Shared shared) {
  // "CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue."
  TUTTI_ASSIGN(CommandQueue* const found, queue(queue_handle));
  // "CL_INVALID_OPERATION if the device associated with command_queue does not support SVM."
  TUTTI_TRY(offered(found->device().capabilities(), shared));
  return found;
}

Result<CommandQueue*> svm_free(cl_command_queue queue_handle, cl_uint count, void* const* pointers,
                               RawWaitList waits, WaitList& list) {
  TUTTI_ASSIGN(CommandQueue* const found, svm_queue(queue_handle, Shared::kVirtual));
  // "CL_INVALID_VALUE if num_svm_pointers is 0 and svm_pointers is non-NULL, or if svm_pointers is
  // NULL and num_svm_pointers is not 0."
  if ((count == 0) != (pointers == nullptr)) {
    return tutti::fail(CL_INVALID_VALUE, "num_svm_pointers and svm_pointers do not agree");
  }
  TUTTI_TRY(check_waits(found, waits, list));
  return found;
}

Result<CommandQueue*> svm_memcpy(cl_command_queue queue_handle, const void* to, const void* from,
                                 size_t size, RawWaitList waits, WaitList& list, Shared shared) {
  TUTTI_ASSIGN(CommandQueue* const found, svm_queue(queue_handle, shared));
  // "CL_INVALID_VALUE if dst_ptr is NULL; if src_ptr is NULL."
  if (to == nullptr || from == nullptr) return tutti::fail(CL_INVALID_VALUE, "a NULL pointer");
  TUTTI_TRY(check_waits(found, waits, list));
  // "CL_MEM_COPY_OVERLAP if the values specified for dst_ptr, src_ptr and size result in an
  // overlapping copy."
  const auto target = reinterpret_cast<uintptr_t>(to);
  const auto source = reinterpret_cast<uintptr_t>(from);
  if (target < source ? source - target < size : target - source < size) {
    return tutti::fail(CL_MEM_COPY_OVERLAP, "source and destination overlap");
  }
  return found;
}

Result<OnShared> svm_fill(cl_command_queue queue_handle, const void* pointer, const void* pattern,
                          size_t pattern_size, size_t size, RawWaitList waits, WaitList& list,
                          Shared shared) {
  OnShared on;
  TUTTI_ASSIGN(on.queue, svm_queue(queue_handle, shared));
  // "CL_INVALID_VALUE if pattern is NULL; if pattern_size is zero; … not a power of two; … greater
  // than 128."
  if (pattern == nullptr || !std::has_single_bit(pattern_size) || pattern_size > 128) {
    return tutti::fail(CL_INVALID_VALUE, "no pattern, or not of a permitted size");
  }
  // "CL_INVALID_VALUE if svm_ptr is NULL; if svm_ptr is not aligned to pattern_size bytes; … if
  // size is not a multiple of pattern_size."
  if (reinterpret_cast<uintptr_t>(pointer) % pattern_size != 0 || size % pattern_size != 0) {
    return tutti::fail(CL_INVALID_VALUE, "pointer or size is not a multiple of pattern_size");
  }
  TUTTI_ASSIGN(on.place, shared_range(*on.queue, pointer, size));
  TUTTI_TRY(check_waits(on.queue, waits, list));
  return on;
}

Result<OnShared> svm_map(cl_command_queue queue_handle, cl_map_flags flags, const void* pointer,
                         size_t size, RawWaitList waits, WaitList& list) {
  OnShared on;
  TUTTI_ASSIGN(on.queue, svm_queue(queue_handle, Shared::kVirtual));
  // "CL_INVALID_VALUE if svm_ptr is NULL; if size is zero; if values specified in map_flags are not
  // valid."
  if (size == 0) return tutti::fail(CL_INVALID_VALUE, "nothing is to be mapped");
  TUTTI_TRY(map_flags(flags));
  TUTTI_ASSIGN(on.place, mapped_range(*on.queue, pointer, size));
  TUTTI_TRY(check_waits(on.queue, waits, list));
  return on;
}

Result<OnShared> svm_unmap(cl_command_queue queue_handle, const void* pointer, RawWaitList waits,
                           WaitList& list) {
  OnShared on;
  TUTTI_ASSIGN(on.queue, svm_queue(queue_handle, Shared::kVirtual));
  // "CL_INVALID_VALUE if svm_ptr is NULL." That it is mapped the call itself finds, since another
  // thread may unmap meanwhile.
  TUTTI_ASSIGN(on.place, mapped_range(*on.queue, pointer, 0));
  TUTTI_TRY(check_waits(on.queue, waits, list));
  return on;
}

Result<CommandQueue*> svm_migrate(cl_command_queue queue_handle, cl_uint count,
                                  const void* const* pointers, const size_t* sizes,
                                  cl_mem_migration_flags flags, RawWaitList waits, WaitList& list) {
  TUTTI_ASSIGN(CommandQueue* const found, svm_queue(queue_handle, Shared::kVirtual));
  // "CL_INVALID_VALUE if num_svm_pointers is zero; if svm_pointers is NULL; if flags is not zero
  // and is not a valid combination of the values described in the Memory migration Flags table".
  if (count == 0 || pointers == nullptr ||
      (flags & ~(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED)) != 0) {
    return tutti::fail(CL_INVALID_VALUE, "no pointers, or unknown migration flags");
  }
  for (cl_uint i = 0; i < count; ++i) {
    // "… if sizes[i] is non-zero and the memory range described by svm_pointers[i] and sizes[i] is
    // not contained within an SVM allocation returned by clSVMAlloc."
    TUTTI_TRY(shared_range(*found, pointers[i], sizes != nullptr ? sizes[i] : 0));
  }
  TUTTI_TRY(check_waits(found, waits, list));
  return found;
}

Result<ArgumentPointer> argument_pointer(cl_kernel kernel_handle, cl_uint index, const void* value,
                                         Shared shared) {
  ArgumentPointer call;
  // "CL_INVALID_KERNEL if kernel is not a valid kernel object."
  TUTTI_ASSIGN(call.kernel, kernel(kernel_handle));
  // "CL_INVALID_OPERATION if no devices in the context associated with kernel support SVM."
  Context& context = call.kernel->context();
  TUTTI_TRY(offered(context.capabilities(), shared));
  // "CL_INVALID_ARG_INDEX if arg_index is not a valid argument index."
  TUTTI_TRY(argument_index(*call.kernel, index));
  // "CL_INVALID_ARG_VALUE if arg_value specified is not a valid value." "… can only be used for
  // arguments that are declared to be a pointer to global or constant memory."
  const scheduler::ArgKind kind = call.kernel->summary().arguments[index].kind;
  if (kind != scheduler::ArgKind::kGlobal && kind != scheduler::ArgKind::kConstant) {
    return tutti::fail(CL_INVALID_ARG_VALUE, "the argument is no pointer to global memory");
  }
  call.place = context.shared_memory().find(value);
  if (!call.place && value != nullptr) {
    return tutti::fail(CL_INVALID_ARG_VALUE, "not in shared virtual memory of the context");
  }
  return call;
}

Result<ArgumentPointer> argument_address(cl_kernel kernel_handle, cl_uint index,
                                         backends::DeviceAddress value) {
  ArgumentPointer call;
  // "CL_INVALID_KERNEL if kernel is not a valid kernel object."
  TUTTI_ASSIGN(call.kernel, kernel(kernel_handle));
  // "CL_INVALID_OPERATION if no devices in the context associated with kernel support the
  // cl_ext_buffer_device_address extension."
  Context& context = call.kernel->context();
  if (!context.capabilities().buffer_addresses) {
    return tutti::fail(CL_INVALID_OPERATION, "buffers have no addresses on the device");
  }
  // "CL_INVALID_ARG_INDEX if arg_index is not a valid argument index; if arg_index corresponds to
  // an argument that is not a pointer to the global address space."
  TUTTI_TRY(argument_index(*call.kernel, index));
  if (call.kernel->summary().arguments[index].kind != scheduler::ArgKind::kGlobal) {
    return tutti::fail(CL_INVALID_ARG_INDEX, "the argument is no pointer to global memory");
  }
  const auto* const address = reinterpret_cast<const void*>(value);
  call.place = context.addressed_buffers().find(address);
  // Of a buffer over shared memory the address is that one's.
  if (!call.place) call.place = context.shared_memory().find(address);
  // The specification allows any value; which device another one would be of is not known.
  if (!call.place && value != 0) {
    return tutti::fail(CL_INVALID_ARG_VALUE, "not an address of the context's buffers");
  }
  return call;
}

}  // namespace tutti::icd::validate
