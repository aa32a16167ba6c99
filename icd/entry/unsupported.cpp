// SPDX-License-Identifier: Apache-2.0
// Entry points of what is not there: images of EGL, and events of OpenGL and EGL. Each gives the
// error that the specification has for a device without it, and says its name once in the log.
#include "icd/validate/unsupported.h"
#include "icd/entry/entries.h"
#include "icd/entry/entry.h"

namespace tutti::icd {
namespace {

/// A creation function of something that no device of the context supports.
template <typename Handle>
Handle no_object(const char* name, cl_context context, cl_int* errcode_ret) {
  return entry_object(name, errcode_ret, [&]() -> Result<Handle> {
    TUTTI_TRY(validate::unsupported_in_context(name, context));
    return Handle{nullptr};
  });
}

/// A command that the queue's device does not support.
cl_int no_command(const char* name, cl_command_queue queue) {
  return entry(name, [&] { return validate::unsupported_in_queue(name, queue); });
}

}  // namespace

cl_event CL_API_CALL clCreateEventFromGLsyncKHR(cl_context context, cl_GLsync,
                                                cl_int* errcode_ret) {
  return no_object<cl_event>("clCreateEventFromGLsyncKHR", context, errcode_ret);
}

cl_mem CL_API_CALL clCreateFromEGLImageKHR(cl_context context, CLeglDisplayKHR, CLeglImageKHR,
                                           cl_mem_flags, const cl_egl_image_properties_khr*,
                                           cl_int* errcode_ret) {
  return no_object<cl_mem>("clCreateFromEGLImageKHR", context, errcode_ret);
}

cl_int CL_API_CALL clEnqueueAcquireEGLObjectsKHR(cl_command_queue command_queue, cl_uint,
                                                 const cl_mem*, cl_uint, const cl_event*,
                                                 cl_event*) {
  return no_command("clEnqueueAcquireEGLObjectsKHR", command_queue);
}

cl_int CL_API_CALL clEnqueueReleaseEGLObjectsKHR(cl_command_queue command_queue, cl_uint,
                                                 const cl_mem*, cl_uint, const cl_event*,
                                                 cl_event*) {
  return no_command("clEnqueueReleaseEGLObjectsKHR", command_queue);
}

cl_event CL_API_CALL clCreateEventFromEGLSyncKHR(cl_context context, CLeglSyncKHR, CLeglDisplayKHR,
                                                 cl_int* errcode_ret) {
  return no_object<cl_event>("clCreateEventFromEGLSyncKHR", context, errcode_ret);
}

}  // namespace tutti::icd
