// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/semaphore.h"

#include <algorithm>
#include <utility>

#include "backends/api/sharing_api.h"

namespace tutti::icd::validate {
namespace {

using device_virtual::Context;
using device_virtual::Device;
using device_virtual::Semaphore;
using SemaphoreProperty = cl_semaphore_properties_khr;

template <typename T>
bool contains(const std::vector<T>& list, T entry) {
  return std::find(list.begin(), list.end(), entry) != list.end();
}

bool is_semaphore_handle(SemaphoreProperty name) {
  return std::any_of(backends::kSemaphoreHandles.begin(), backends::kSemaphoreHandles.end(),
                     [&](const backends::HandleKind& kind) { return kind.type == name; });
}

/// Reads the list of properties from its begin to its end.
class SemaphoreProperties {
 public:
  SemaphoreProperties(const Context& context, const SemaphoreProperty* properties)
      : context_(context), next_(properties) {}

  Result<Semaphore::Options> read() {
    while (*next_ != 0) TUTTI_TRY(read_one());
    options_.properties.push_back(0);
    options_.of_vendor.push_back(0);
    TUTTI_TRY(check_all());
    return std::move(options_);
  }

 private:
  SemaphoreProperty take() {
    options_.properties.push_back(*next_);
    return *next_++;
  }

  Status read_one() {
    const SemaphoreProperty name = take();
    // "CL_INVALID_PROPERTY if a property name in sema_props is not a supported property name, if
    // the value specified for a supported property name is not valid, or if the same property name
    // is specified more than once."
    if (contains(seen_, name)) return fail(CL_INVALID_PROPERTY, "a property more than once");
    seen_.push_back(name);
    switch (name) {
      case CL_SEMAPHORE_TYPE_KHR: {
        const SemaphoreProperty type = take();
        if (type != CL_SEMAPHORE_TYPE_BINARY_KHR) {
          return fail(CL_INVALID_PROPERTY, "the type of semaphore is not supported");
        }
        options_.of_vendor.insert(options_.of_vendor.end(), {name, type});
        return {};
      }
      case backends::kSemaphoreDevices:
        return read_devices();
      case CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR:
        return read_exports();
      default:
        return read_import(name);
    }
  }

  Status read_devices() {
    while (const SemaphoreProperty entry = take()) {
      // "CL_INVALID_DEVICE if … it does not identify exactly one valid device; or if a device
      // identified by CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR is not one of the devices within
      // context."
      auto* const handle = reinterpret_cast<cl_device_id>(static_cast<uintptr_t>(entry));
      TUTTI_ASSIGN(const Device* const found, device(handle));
      if (!context_.has(found)) return fail(CL_INVALID_DEVICE, "no device of the context");
      options_.devices.push_back(handle);
    }
    if (options_.devices.size() != 1) return fail(CL_INVALID_DEVICE, "not exactly one device");
    return {};
  }

  Status read_exports() {
    while (const SemaphoreProperty type = take()) {
      if (!contains(can().semaphore_exports, static_cast<cl_uint>(type))) {
        return fail(CL_INVALID_PROPERTY, "the device exports no handles of this type");
      }
      options_.exports.push_back(static_cast<cl_uint>(type));
    }
    // "CL_INVALID_VALUE if more than one semaphore handle type is specified in the
    // CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR list."
    if (options_.exports.size() > 1) return fail(CL_INVALID_VALUE, "more than one handle type");
    if (options_.exports.empty()) return {};
    options_.of_vendor.insert(options_.of_vendor.end(),
                              {CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR, options_.exports.front(),
                               CL_SEMAPHORE_EXPORT_HANDLE_TYPES_LIST_END_KHR});
    return {};
  }

  Status read_import(SemaphoreProperty name) {
    if (!is_semaphore_handle(name))
      return fail(CL_INVALID_PROPERTY, "unknown property of semaphores");
    // "CL_INVALID_PROPERTY if sema_props includes more than one external semaphore handle."
    if (options_.import != 0) return fail(CL_INVALID_PROPERTY, "more than one handle");
    // "CL_INVALID_DEVICE if one or more devices … cannot import the requested external semaphore
    // handle type."
    if (!contains(can().semaphore_imports, static_cast<cl_uint>(name))) {
      return fail(CL_INVALID_DEVICE, "the device imports no handles of this type");
    }
    options_.import = static_cast<cl_uint>(name);
    const SemaphoreProperty handle = take();
    options_.of_vendor.insert(options_.of_vendor.end(), {name, handle});
    return {};
  }

  Status check_all() {
    // "CL_INVALID_VALUE … if sema_props do not specify <property, value> pairs for minimum set of
    // properties (i.e. CL_SEMAPHORE_TYPE_KHR)".
    if (!contains(seen_, SemaphoreProperty{CL_SEMAPHORE_TYPE_KHR})) {
      return fail(CL_INVALID_VALUE, "the type of semaphore is not given");
    }
    // "CL_INVALID_OPERATION If props_list specifies a cl_external_semaphore_handle_type_khr
    // followed by a handle as well as CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR."
    if (options_.import != 0 && !options_.exports.empty()) {
      return fail(CL_INVALID_OPERATION, "an imported semaphore cannot be exported");
    }
    // "CL_INVALID_PROPERTY … if context is a multiple device context and sema_props does not
    // specify CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR."
    if (options_.devices.empty() && context_.devices().size() > 1) {
      return fail(CL_INVALID_PROPERTY, "a context of several devices, and none is named");
    }
    if (options_.devices.empty()) options_.devices = {context_.devices().front()->handle()};
    if (!can().semaphores) {
      return fail(CL_INVALID_OPERATION, "no device of the context supports semaphores");
    }
    return {};
  }

  const device_virtual::Capabilities::Sharing& can() const {
    return context_.capabilities().sharing;
  }

  const Context& context_;
  const SemaphoreProperty* next_;
  std::vector<SemaphoreProperty> seen_;
  Semaphore::Options options_;
};

}  // namespace

Result<Semaphore*> semaphore(cl_semaphore_khr handle) {
  if (auto* const found = device_virtual::from_handle<Semaphore>(handle)) return found;
  return fail(CL_INVALID_SEMAPHORE_KHR, "not a valid semaphore");
}

Result<CreateSemaphore> create_semaphore(cl_context context_handle,
                                         const SemaphoreProperty* properties) {
  CreateSemaphore call;
  // "CL_INVALID_CONTEXT if context is not a valid context."
  TUTTI_ASSIGN(call.context, context(context_handle));
  // "CL_INVALID_VALUE if sema_props is NULL".
  if (properties == nullptr) return fail(CL_INVALID_VALUE, "no properties");
  TUTTI_ASSIGN(call.options, SemaphoreProperties(*call.context, properties).read());
  return call;
}

Result<OnSemaphores> on_semaphores(cl_command_queue queue_handle, cl_uint count,
                                   const cl_semaphore_khr* semaphores, RawWaitList waits,
                                   WaitList& list) {
  OnSemaphores call;
  // "CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue".
  TUTTI_ASSIGN(call.queue, queue(queue_handle));
  // "CL_INVALID_VALUE if num_sema_objects is 0."
  if (count == 0 || semaphores == nullptr) return fail(CL_INVALID_VALUE, "no semaphores");
  for (cl_uint i = 0; i < count; ++i) {
    // "CL_INVALID_SEMAPHORE_KHR if any of the semaphore objects specified by sema_objects is not
    // valid."
    TUTTI_ASSIGN(auto* const found, semaphore(semaphores[i]));
    // "CL_INVALID_COMMAND_QUEUE … if one or more of sema_objects belong to a context that does not
    // contain a device associated with command_queue"; "CL_INVALID_CONTEXT if the context
    // associated with command_queue and any of the semaphore objects in sema_objects are not the
    // same".
    if (!found->context().has(&call.queue->device())) {
      return fail(CL_INVALID_COMMAND_QUEUE, "a semaphore of a context without the queue's device");
    }
    if (&found->context() != &call.queue->context()) {
      return fail(CL_INVALID_CONTEXT, "queue and semaphore are of different contexts");
    }
    if (!found->has_device(call.queue->device().handle())) {
      return fail(CL_INVALID_COMMAND_QUEUE, "a semaphore of another device than the queue's");
    }
    call.semaphores.emplace_back(found);
  }
  TUTTI_TRY(check_waits_well(call.queue, waits, list));
  return call;
}

Result<Semaphore*> exported_semaphore(cl_semaphore_khr handle, cl_device_id device_handle) {
  TUTTI_ASSIGN(auto* const found, semaphore(handle));
  // "CL_INVALID_DEVICE if device is not a valid device, or if sema_object belongs to a context that
  // is not associated with device, or if sema_object can not be shared with device."
  TUTTI_TRY(device(device_handle).map([](const auto*) {}));
  if (!found->has_device(device_handle)) {
    return fail(CL_INVALID_DEVICE, "not the semaphore's device");
  }
  return found;
}

}  // namespace tutti::icd::validate
