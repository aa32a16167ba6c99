// SPDX-License-Identifier: Apache-2.0
// cl_khr_gl_sharing with the OpenGL of tests: the vendor's objects are its own buffers and images,
// and memory of another interface like any (external_memory.cpp).
#include <CL/cl_gl.h>

#include <map>
#include <mutex>
#include <vector>

#include "pointers.h"
#include "sharing.h"
#include "tests/api/test_gl.h"
#include "vendor_answers.h"

namespace tutti::kernel_fuzz::sharing {
namespace {

using test_gl::Kind;
using test_gl::Object;

std::mutex contexts_mutex;
/// The vendor's contexts that share, and with what.
std::map<cl_context, test_gl::Context*>& sharing_contexts() {
  static auto* all = new std::map<cl_context, test_gl::Context*>;
  return *all;
}

bool is_gl(cl_context_properties name) {
  return name == CL_GL_CONTEXT_KHR || name == CL_EGL_DISPLAY_KHR || name == CL_GLX_DISPLAY_KHR;
}

/// The context of OpenGL among the properties; null: none is given. `rest`: the others.
test_gl::Context* context_in(const cl_context_properties* properties,
                             std::vector<cl_context_properties>& rest, cl_int& code) {
  test_gl::Context* found = nullptr;
  bool display = false;
  for (; properties != nullptr && *properties != 0; properties += 2) {
    if (properties[0] == CL_GL_CONTEXT_KHR) {
      found = reinterpret_cast<test_gl::Context*>(properties[1]);
    } else if (is_gl(properties[0])) {
      display |= properties[1] != 0;
    } else {
      rest.insert(rest.end(), {properties[0], properties[1]});
    }
  }
  rest.push_back(0);
  if (found != nullptr && (found->valid != test_gl::Context::kValid || !display)) {
    code = CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR;
  }
  return found;
}

void CL_CALLBACK forget_context(cl_context context, void*) {
  const std::lock_guard lock(contexts_mutex);
  --sharing_contexts().extract(context).mapped()->shared;
}

test_gl::Context& context_of(cl_context context) {
  const std::lock_guard lock(contexts_mutex);
  const auto found = sharing_contexts().find(context);
  if (found == sharing_contexts().end()) wrong("OpenGL: an object in a context that shares none");
  return *found->second;
}

/// Null: there is no such object.
const Object* find_object(const test_gl::Context& gl, Kind kind, cl_uint target, cl_int level,
                          cl_uint name, cl_int* code) {
  for (const Object& object : gl.objects) {
    if (object.kind != kind || object.name != name || object.target != target) continue;
    *code = object.level == level ? CL_SUCCESS : CL_INVALID_MIP_LEVEL;
    return *code == CL_SUCCESS ? &object : nullptr;
  }
  *code = CL_INVALID_GL_OBJECT;
  return nullptr;
}

cl_mem create_object(cl_context context, cl_mem_flags flags, Kind kind, cl_uint target,
                     cl_int level, cl_uint name, cl_int* code) {
  test_gl::Context& gl = context_of(context);
  const Object* const object = find_object(gl, kind, target, level, name, code);
  if (object == nullptr) return nullptr;
  const cl_icd_dispatch& table = original_of(context);
  const bool image = kind != Kind::kBuffer;
  const cl_mem made = image ? table.clCreateImage(context, flags, &object->format,
                                                  &object->description, nullptr, code)
                            : table.clCreateBuffer(context, flags, object->size, nullptr, code);
  if (made == nullptr) return nullptr;
  return over_content(made, object->content, image ? image_bytes(made) : object->size, image,
                      &gl.used_by);
}

cl_mem CL_API_CALL create_buffer_of(cl_context context, cl_mem_flags flags, cl_GLuint name,
                                    int* code) {
  return create_object(context, flags, Kind::kBuffer, 0, 0, name, code);
}
cl_mem CL_API_CALL create_texture_of(cl_context context, cl_mem_flags flags, cl_GLenum target,
                                     cl_GLint level, cl_GLuint name, cl_int* code) {
  return create_object(context, flags, Kind::kTexture, target, level, name, code);
}
cl_mem CL_API_CALL create_renderbuffer_of(cl_context context, cl_mem_flags flags, cl_GLuint name,
                                          cl_int* code) {
  return create_object(context, flags, Kind::kRenderbuffer, 0, 0, name, code);
}

cl_int CL_API_CALL acquire_objects(cl_command_queue queue, cl_uint count, const cl_mem* memory,
                                   cl_uint event_count, const cl_event* events, cl_event* event) {
  return hand_over(true, true, queue, count, memory, event_count, events, event);
}
cl_int CL_API_CALL release_objects(cl_command_queue queue, cl_uint count, const cl_mem* memory,
                                   cl_uint event_count, const cl_event* events, cl_event* event) {
  return hand_over(true, false, queue, count, memory, event_count, events, event);
}

cl_int CL_API_CALL context_info(const cl_context_properties* properties, cl_gl_context_info what,
                                size_t size, void* value, size_t* size_ret) {
  std::vector<cl_context_properties> rest;
  cl_int code = CL_SUCCESS;
  const test_gl::Context* const gl = context_in(properties, rest, code);
  if (gl == nullptr) wrong("OpenGL: asked for the device of no context");
  if (code != CL_SUCCESS) return code;
  if (rest.size() < 2 || rest[0] != CL_CONTEXT_PLATFORM) wrong("OpenGL: no platform is named");
  const auto platform = reinterpret_cast<cl_platform_id>(rest[1]);
  const cl_icd_dispatch& table = original_of(platform);
  cl_uint count = 0;
  table.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  std::vector<cl_device_id> devices(count);
  table.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
  if (gl->elsewhere) {
    devices.clear();
  } else if (what == CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR) {
    devices.resize(1);
  }
  return answer(devices.data(), devices.size() * sizeof(cl_device_id), size, value, size_ret);
}

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count,
                                      const cl_device_id* devices,
                                      void(CL_CALLBACK* notify)(const char*, const void*, size_t,
                                                                void*),
                                      void* user_data, cl_int* code) {
  const cl_icd_dispatch& table = original_of(devices[0]);
  std::vector<cl_context_properties> rest;
  cl_int checked = CL_SUCCESS;
  test_gl::Context* const gl = context_in(properties, rest, checked);
  if (checked == CL_SUCCESS && gl != nullptr && gl->elsewhere) {
    checked = CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR;
  }
  if (checked != CL_SUCCESS) {
    *code = checked;
    return nullptr;
  }
  const cl_context context =
      table.clCreateContext(rest.data(), count, devices, notify, user_data, code);
  if (context == nullptr || gl == nullptr) return context;
  {
    const std::lock_guard lock(contexts_mutex);
    sharing_contexts()[context] = gl;
    ++gl->shared;
  }
  if (table.clSetContextDestructorCallback(context, &forget_context, nullptr) != CL_SUCCESS)
    wrong("OpenGL: the end of a context is not told");
  return context;
}

}  // namespace

void replace_gl_functions(cl_icd_dispatch& table) {
  replace(table.clCreateContext, &create_context);
  replace(table.clGetGLContextInfoKHR, &context_info);
  replace(table.clCreateFromGLBuffer, &create_buffer_of);
  replace(table.clCreateFromGLTexture, &create_texture_of);
  replace(table.clCreateFromGLRenderbuffer, &create_renderbuffer_of);
  replace(table.clEnqueueAcquireGLObjects, &acquire_objects);
  replace(table.clEnqueueReleaseGLObjects, &release_objects);
}

}  // namespace tutti::kernel_fuzz::sharing
