// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/memory_properties.h"

#include <algorithm>

#include "backends/api/buffer_address_api.h"
#include "backends/api/sharing_api.h"
#include "icd/validate/unsupported.h"

namespace tutti::icd::validate {
namespace {

using device_virtual::Buffer;
using device_virtual::Context;
using device_virtual::Device;
using MemoryProperty = cl_mem_properties;

bool is_memory_handle(MemoryProperty name) {
  return std::any_of(backends::kMemoryHandles.begin(), backends::kMemoryHandles.end(),
                     [&](const backends::HandleKind& kind) { return kind.type == name; });
}

/// Reads the list of properties from its begin to its end.
class MemoryProperties {
 public:
  MemoryProperties(const Context& context, const MemoryProperty* properties,
                   Buffer::Options& options)
      : context_(context), next_(properties), options_(options) {}

  Status read(bool of_buffer) {
    while (*next_ != 0) TUTTI_TRY(read_one(of_buffer));
    options_.properties.push_back(0);
    // "CL_INVALID_PROPERTY … if properties does not include a supported external memory handle and
    // CL_MEM_DEVICE_HANDLE_LIST_KHR is specified as part of properties".
    if (names_devices_ && options_.external.empty()) {
      return fail(CL_INVALID_PROPERTY, "devices are named, and no handle");
    }
    return {};
  }

 private:
  MemoryProperty take() {
    options_.properties.push_back(*next_);
    return *next_++;
  }

  Status read_one(bool of_buffer) {
    const MemoryProperty name = take();
    // "CL_INVALID_PROPERTY … if the same property name is specified more than once".
    if (std::find(seen_.begin(), seen_.end(), name) != seen_.end()) {
      return fail(CL_INVALID_PROPERTY, "a memory property more than once");
    }
    seen_.push_back(name);
    if (name == backends::kPrivateAddress && of_buffer) return read_address();
    if (name == backends::kMemoryDevices) return read_devices();
    if (is_memory_handle(name)) return read_handle(name);
    return fail(CL_INVALID_PROPERTY, "unsupported memory property");
  }

  Status read_address() {
    const MemoryProperty value = take();
    // "CL_INVALID_PROPERTY … if the value specified for a supported property name is not valid".
    if (value != CL_TRUE && value != CL_FALSE) {
      return fail(CL_INVALID_PROPERTY, "unsupported memory property");
    }
    // "CL_INVALID_OPERATION if properties includes CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT and there are
    // no devices in the context that support the cl_ext_buffer_device_address extension."
    if (!context_.capabilities().buffer_addresses) {
      return fail(CL_INVALID_OPERATION, "buffers have no addresses on the device");
    }
    options_.device_address = value == CL_TRUE;
    return {};
  }

  Status read_devices() {
    names_devices_ = true;
    while (const MemoryProperty entry = take()) {
      // "CL_INVALID_DEVICE if a device identified by the property CL_MEM_DEVICE_HANDLE_LIST_KHR is
      // not a valid device or is not associated with context".
      TUTTI_ASSIGN(const Device* const found,
                   device(reinterpret_cast<cl_device_id>(static_cast<uintptr_t>(entry))));
      if (!context_.has(found)) return fail(CL_INVALID_DEVICE, "no device of the context");
    }
    return {};
  }

  Status read_handle(MemoryProperty name) {
    // "CL_INVALID_PROPERTY … if properties includes more than one external memory handle".
    if (!options_.external.empty()) return fail(CL_INVALID_PROPERTY, "more than one handle");
    const MemoryProperty handle = take();
    const device_virtual::Capabilities::Sharing& sharing = context_.capabilities().sharing;
    if (!sharing.external_memory) {
      return fail(CL_INVALID_PROPERTY, "the device imports no memory");
    }
    // "CL_INVALID_DEVICE if … one or more devices in context cannot import the requested external
    // memory object type".
    const auto& imports = sharing.memory_imports;
    if (std::find(imports.begin(), imports.end(), name) == imports.end()) {
      return fail(CL_INVALID_DEVICE, "the device imports no handles of this type");
    }
    options_.external = {name, handle, 0};
    return {};
  }

  const Context& context_;
  const MemoryProperty* next_;
  Buffer::Options& options_;
  std::vector<MemoryProperty> seen_;
  bool names_devices_ = false;
};

}  // namespace

Status take_buffer_properties(const Context& context, const MemoryProperty* properties,
                              Buffer::Options& options) {
  TUTTI_TRY(MemoryProperties(context, properties, options).read(true));
  if (options.device_address && !options.external.empty()) {
    return fail(CL_INVALID_OPERATION, "memory of another interface has no address that stays");
  }
  return {};
}

Status take_image_properties(const Context& context, const MemoryProperty* properties,
                             Buffer::Options& options) {
  return MemoryProperties(context, properties, options).read(false);
}

Status check_external(const Buffer::Options& options, cl_mem_flags flags, const void* host_ptr) {
  if (options.external.empty()) return {};
  // "CL_INVALID_VALUE if properties includes a supported external memory handle and flags includes
  // CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR, or CL_MEM_COPY_HOST_PTR".
  if ((flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0) {
    return fail(CL_INVALID_VALUE, "memory of another interface is not the host's");
  }
  // "CL_INVALID_HOST_PTR if properties includes a supported external memory handle and host_ptr is
  // not NULL".
  if (host_ptr != nullptr) return fail(CL_INVALID_HOST_PTR, "the memory is another interface's");
  return {};
}

Result<HandOver> hand_over(const char* entry_point, backends::ExternalKind kind,
                           cl_command_queue queue_handle, cl_uint count, const cl_mem* memory,
                           RawWaitList waits, WaitList& list) {
  HandOver call;
  const bool gl = kind == backends::ExternalKind::kGl;
  // "CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue".
  TUTTI_ASSIGN(call.queue, queue(queue_handle));
  if (gl && !call.queue->context().capabilities().sharing.gl) {
    return tl::unexpected<Error>(unsupported_in_queue(entry_point, queue_handle).error());
  }
  // "CL_INVALID_CONTEXT if context associated with command_queue was not created from an OpenGL
  // context".
  if (gl && !call.queue->context().shares_gl()) {
    return fail(CL_INVALID_CONTEXT, "the context shares no objects with OpenGL");
  }
  // "CL_INVALID_VALUE if num_mem_objects is zero and mem_objects is not a NULL value, or if
  // num_mem_objects is greater than 0 and mem_objects is NULL."
  if ((count == 0) != (memory == nullptr)) {
    return fail(CL_INVALID_VALUE, "mem_objects and its length contradict each other");
  }
  for (cl_uint i = 0; i < count; ++i) {
    // "CL_INVALID_MEM_OBJECT if any of the memory objects in mem_objects is not a valid OpenCL
    // memory object created using an external memory handle."
    TUTTI_ASSIGN(auto* const found, validate::memory(memory[i]));
    // "CL_INVALID_GL_OBJECT if memory objects in mem_objects have not been created from a GL
    // object(s)."
    if (!found->is_external() || found->external_kind() != kind) {
      return gl ? fail(CL_INVALID_GL_OBJECT, "not created from an object of OpenGL")
                : fail(CL_INVALID_MEM_OBJECT, "not created from an external memory handle");
    }
    // "CL_INVALID_COMMAND_QUEUE … if one or more of mem_objects belong to a context that does not
    // contain a device associated with command_queue."
    if (!found->context().has(&call.queue->device())) {
      return fail(CL_INVALID_COMMAND_QUEUE, "memory of a context without the queue's device");
    }
    if (&found->context() != &call.queue->context()) {
      return fail(CL_INVALID_CONTEXT, "queue and memory object are of different contexts");
    }
    call.memory.push_back(found);
  }
  TUTTI_TRY(check_waits_well(call.queue, waits, list));
  return call;
}

}  // namespace tutti::icd::validate
