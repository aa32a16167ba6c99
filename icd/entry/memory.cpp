// SPDX-License-Identifier: Apache-2.0
// Entry points of memory objects.
#include "icd/validate/memory.h"

#include <utility>

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"

namespace tutti::icd {
namespace {

using device_virtual::Buffer;

cl_mem create_buffer(const char* name, cl_context context, const cl_mem_properties* properties,
                     cl_mem_flags flags, size_t size, void* host_ptr, cl_int* errcode_ret) {
  return entry_object(name, errcode_ret, [&]() -> Result<cl_mem> {
    TUTTI_ASSIGN(auto call, validate::create_buffer(context, properties, flags, size, host_ptr));
    TUTTI_ASSIGN(Buffer* const buffer, Buffer::create(*call.context, std::move(call.options)));
    return buffer->handle();
  });
}

}  // namespace

cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                                  void* host_ptr, cl_int* errcode_ret) {
  return create_buffer("clCreateBuffer", context, nullptr, flags, size, host_ptr, errcode_ret);
}

cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context context,
                                                const cl_mem_properties* properties,
                                                cl_mem_flags flags, size_t size, void* host_ptr,
                                                cl_int* errcode_ret) {
  return create_buffer("clCreateBufferWithProperties", context, properties, flags, size, host_ptr,
                       errcode_ret);
}

cl_mem CL_API_CALL clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags,
                                     cl_buffer_create_type buffer_create_type,
                                     const void* buffer_create_info, cl_int* errcode_ret) {
  return entry_object("clCreateSubBuffer", errcode_ret, [&]() -> Result<cl_mem> {
    TUTTI_ASSIGN(const auto call, validate::create_sub_buffer(buffer, flags, buffer_create_type,
                                                              buffer_create_info));
    TUTTI_ASSIGN(Buffer* const part,
                 call.buffer->create_sub_buffer(call.flags, call.origin, call.size));
    return part->handle();
  });
}

cl_mem CL_API_CALL clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint pipe_packet_size,
                                cl_uint pipe_max_packets, const cl_pipe_properties* properties,
                                cl_int* errcode_ret) {
  return entry_object("clCreatePipe", errcode_ret, [&]() -> Result<cl_mem> {
    TUTTI_ASSIGN(auto call, validate::create_pipe(context, flags, pipe_packet_size,
                                                  pipe_max_packets, properties));
    TUTTI_ASSIGN(Buffer* const pipe, Buffer::create(*call.context, std::move(call.options)));
    return pipe->handle();
  });
}

cl_int CL_API_CALL clGetPipeInfo(cl_mem pipe, cl_pipe_info param_name, size_t param_value_size,
                                 void* param_value, size_t* param_value_size_ret) {
  return entry("clGetPipeInfo", [&]() -> Status {
    TUTTI_ASSIGN(const auto* const object, validate::pipe(pipe));
    return object->pipe_info(param_name, {param_value_size, param_value, param_value_size_ret});
  });
}

cl_int CL_API_CALL clRetainMemObject(cl_mem memobj) {
  return entry("clRetainMemObject", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::memory(memobj));
    object->retain_public();
    return {};
  });
}

cl_int CL_API_CALL clReleaseMemObject(cl_mem memobj) {
  return entry("clReleaseMemObject", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::memory(memobj));
    if (!object->release_public()) return fail(CL_INVALID_MEM_OBJECT, "released too often");
    return {};
  });
}

cl_int CL_API_CALL clGetMemObjectInfo(cl_mem memobj, cl_mem_info param_name,
                                      size_t param_value_size, void* param_value,
                                      size_t* param_value_size_ret) {
  return entry("clGetMemObjectInfo", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::memory(memobj));
    return object->info(param_name, {param_value_size, param_value, param_value_size_ret});
  });
}

cl_int CL_API_CALL clSetMemObjectDestructorCallback(cl_mem memobj,
                                                    void(CL_CALLBACK* pfn_notify)(cl_mem, void*),
                                                    void* user_data) {
  return entry("clSetMemObjectDestructorCallback", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::set_memory_destructor(
                                         memobj, reinterpret_cast<const void*>(pfn_notify)));
    object->add_destructor(pfn_notify, user_data);
    return {};
  });
}

}  // namespace tutti::icd
