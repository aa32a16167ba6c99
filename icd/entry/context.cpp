// SPDX-License-Identifier: Apache-2.0
// Entry points of contexts.
#include "icd/validate/context.h"

#include <utility>

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"

namespace tutti::icd {
namespace {

using device_virtual::Context;

Result<cl_context> make_context(validate::CreateContext call, Context::Notify notify,
                                void* user_data) {
  Context::Options options;
  if (!call.gl.empty()) {
    scheduler::BackendSet& backends = *platform::composition()->backends;
    TUTTI_ASSIGN(options.lease,
                 backends.lease(backends.primary(call.devices.front()->backends()), call.gl));
  }
  options.properties = std::move(call.properties);
  options.notify = notify;
  options.user_data = user_data;
  return (new Context(std::move(call.devices), *platform::composition()->engine,
                      std::move(options)))
      ->handle();
}

}  // namespace

cl_context CL_API_CALL clCreateContext(const cl_context_properties* properties, cl_uint num_devices,
                                       const cl_device_id* devices,
                                       void(CL_CALLBACK* pfn_notify)(const char*, const void*,
                                                                     size_t, void*),
                                       void* user_data, cl_int* errcode_ret) {
  return entry_object("clCreateContext", errcode_ret, [&]() -> Result<cl_context> {
    TUTTI_ASSIGN(auto call,
                 validate::create_context(properties, num_devices, devices,
                                          reinterpret_cast<const void*>(pfn_notify), user_data));
    return make_context(std::move(call), pfn_notify, user_data);
  });
}

cl_context CL_API_CALL
clCreateContextFromType(const cl_context_properties* properties, cl_device_type device_type,
                        void(CL_CALLBACK* pfn_notify)(const char*, const void*, size_t, void*),
                        void* user_data, cl_int* errcode_ret) {
  return entry_object("clCreateContextFromType", errcode_ret, [&]() -> Result<cl_context> {
    TUTTI_ASSIGN(auto call, validate::create_context_from_type(
                                properties, device_type, reinterpret_cast<const void*>(pfn_notify),
                                user_data));
    return make_context(std::move(call), pfn_notify, user_data);
  });
}

cl_int CL_API_CALL clRetainContext(cl_context context) {
  return entry("clRetainContext", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::context(context));
    object->retain_public();
    return {};
  });
}

cl_int CL_API_CALL clReleaseContext(cl_context context) {
  return entry("clReleaseContext", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::context(context));
    if (!object->release_public()) return fail(CL_INVALID_CONTEXT, "released too often");
    return {};
  });
}

cl_int CL_API_CALL clGetContextInfo(cl_context context, cl_context_info param_name,
                                    size_t param_value_size, void* param_value,
                                    size_t* param_value_size_ret) {
  return entry("clGetContextInfo", [&]() -> Status {
    TUTTI_ASSIGN(const auto* const object, validate::context(context));
    return object->info(param_name, {param_value_size, param_value, param_value_size_ret});
  });
}

cl_int CL_API_CALL clSetContextDestructorCallback(cl_context context,
                                                  void(CL_CALLBACK* pfn_notify)(cl_context, void*),
                                                  void* user_data) {
  return entry("clSetContextDestructorCallback", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::set_context_destructor(
                                         context, reinterpret_cast<const void*>(pfn_notify)));
    object->add_destructor(pfn_notify, user_data);
    return {};
  });
}

}  // namespace tutti::icd
