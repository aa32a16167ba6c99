// SPDX-License-Identifier: Apache-2.0
// cl_khr_gl_sharing: queries, what its functions take, and devices that do not offer it.
#include "gl_sharing.h"

namespace tutti::api_tests {
namespace {

TEST_F(GlSharing, TellsWhatAnObjectIs) {
  const Buffer buffer = shared_buffer(), plain = make_buffer(64);
  const Buffer texture = shared_texture(CL_MEM_WRITE_ONLY, kTexture2D, kOutName, 2);
  const Buffer array = shared_texture(CL_MEM_READ_ONLY, kTextureArray, kArrayName);
  cl_int code = CL_SUCCESS;
  const Buffer rendered(
      clCreateFromGLRenderbuffer(context_, CL_MEM_READ_WRITE, kRenderName, &code));
  ASSERT_SUCCESS(code);
  const auto expect = [](cl_mem memory, cl_gl_object_type type, cl_GLuint name) {
    cl_gl_object_type told = 0;
    cl_GLuint named = 0;
    EXPECT_SUCCESS(clGetGLObjectInfo(memory, &told, &named));
    EXPECT_EQ(told, type);
    EXPECT_EQ(named, name);
    EXPECT_SUCCESS(clGetGLObjectInfo(memory, nullptr, nullptr));
  };
  expect(buffer, CL_GL_OBJECT_BUFFER, kBufferName);
  expect(texture, CL_GL_OBJECT_TEXTURE2D, kOutName);
  expect(array, CL_GL_OBJECT_TEXTURE2D_ARRAY, kArrayName);
  expect(rendered, CL_GL_OBJECT_RENDERBUFFER, kRenderName);
  EXPECT_CL(CL_INVALID_GL_OBJECT, clGetGLObjectInfo(plain, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clGetGLObjectInfo(nullptr, nullptr, nullptr));
  const auto of_texture = [&](cl_gl_texture_info what) -> Query {
    return [&, what](size_t size, void* value, size_t* size_ret) {
      return clGetGLTextureInfo(texture, what, size, value, size_ret);
    };
  };
  EXPECT_EQ(value_of<cl_GLenum>(of_texture(CL_GL_TEXTURE_TARGET)), kTexture2D);
  EXPECT_EQ(value_of<cl_GLint>(of_texture(CL_GL_MIPMAP_LEVEL)), 2);
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetGLTextureInfo(texture, 0x7777, 0, nullptr, &size));
  for (const cl_mem other : {buffer.get(), plain.get(), rendered.get()}) {
    EXPECT_CL(CL_INVALID_GL_OBJECT,
              clGetGLTextureInfo(other, CL_GL_TEXTURE_TARGET, 0, nullptr, &size));
  }
}

TEST_F(GlSharing, TellsTheDeviceOfAContext) {
  const auto function = reinterpret_cast<clGetGLContextInfoKHR_fn>(
      clGetExtensionFunctionAddressForPlatform(platform_, "clGetGLContextInfoKHR"));
  ASSERT_NE(function, nullptr);
  for (const cl_gl_context_info what :
       {CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR, CL_DEVICES_FOR_GL_CONTEXT_KHR}) {
    const auto ask = [&](const test_gl::Context& gl) -> Query {
      return [&, what, list = properties(gl)](size_t size, void* value, size_t* size_ret) {
        return function(list.data(), what, size, value, size_ret);
      };
    };
    EXPECT_EQ(array_of<cl_device_id>(ask(gl_.context)), std::vector<cl_device_id>{device_});
    FakeGl elsewhere;
    elsewhere.context.elsewhere = true;
    size_t size = 99;
    EXPECT_SUCCESS(ask(elsewhere.context)(0, nullptr, &size));
    EXPECT_EQ(size, 0u);
    FakeGl none;
    none.context.valid = 0;
    EXPECT_CL(CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR, ask(none.context)(0, nullptr, &size));
  }
  const auto list = properties(gl_.context);
  const cl_context_properties plain[] = {CL_CONTEXT_PLATFORM, as_property(platform_), 0};
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, function(list.data(), 0x7777, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR,
            function(plain, CL_DEVICES_FOR_GL_CONTEXT_KHR, 0, nullptr, &size));
}

TEST_F(GlSharing, ContextsTakeValidProperties) {
  const auto platform = as_property(platform_), gl = as_property(&gl_.context);
  const auto display = as_property(&display_);
  FakeGl none, elsewhere;
  none.context.valid = 0;
  elsewhere.context.elsewhere = true;
  for (const bool from_type : {false, true}) {
    const auto attempt = [&](std::vector<cl_context_properties> more) {
      more.insert(more.begin(), {CL_CONTEXT_PLATFORM, platform});
      more.push_back(0);
      return try_context(more, from_type);
    };
    EXPECT_SUCCESS(attempt({CL_GL_CONTEXT_KHR, gl, CL_GLX_DISPLAY_KHR, display}));
    EXPECT_SUCCESS(attempt({CL_EGL_DISPLAY_KHR, display, CL_GL_CONTEXT_KHR, gl, CL_GLX_DISPLAY_KHR,
                            0, CL_CONTEXT_INTEROP_USER_SYNC, CL_TRUE}));
    // Defaults share nothing.
    EXPECT_SUCCESS(attempt({CL_GL_CONTEXT_KHR, 0, CL_GLX_DISPLAY_KHR, 0}));
    EXPECT_CL(CL_INVALID_PROPERTY, attempt({CL_GL_CONTEXT_KHR, gl, CL_GL_CONTEXT_KHR, gl}));
    EXPECT_CL(CL_INVALID_OPERATION, attempt({CL_GL_CONTEXT_KHR, gl, CL_EGL_DISPLAY_KHR, display,
                                             CL_GLX_DISPLAY_KHR, display}));
    EXPECT_CL(CL_INVALID_OPERATION, attempt({CL_GL_CONTEXT_KHR, gl, CL_WGL_HDC_KHR, display}));
    EXPECT_CL(CL_INVALID_OPERATION, attempt({CL_CGL_SHAREGROUP_KHR, gl}));
    EXPECT_CL(CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR, attempt({CL_GL_CONTEXT_KHR, gl}));
    for (const FakeGl* const other : {&none, &elsewhere}) {
      EXPECT_CL(
          CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR,
          attempt({CL_GL_CONTEXT_KHR, as_property(&other->context), CL_EGL_DISPLAY_KHR, display}));
    }
  }
  gl_.wait_until_shared(1);
  EXPECT_EQ(array_of<cl_context_properties>(query_of(context_, CL_CONTEXT_PROPERTIES)),
            properties(gl_.context));
  EXPECT_EQ(array_of<cl_device_id>(query_of(context_, CL_CONTEXT_DEVICES)),
            std::vector<cl_device_id>{device_});
}

// "Any of the devices specified in the devices argument cannot support OpenCL objects which share
// the data store of an OpenGL object": a part of the device.
TEST_F(GlSharing, PartsOfTheDeviceDoNot) {
  const cl_device_partition_property ways[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1,
                                               CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
  cl_device_id part = nullptr;
  if (clCreateSubDevices(device_, ways, 1, &part, nullptr) != CL_SUCCESS) {
    GTEST_SKIP() << "the device has no parts";
  }
  const auto list = properties(gl_.context);
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(clCreateContext(list.data(), 1, &part, nullptr, nullptr, &code), nullptr);
  EXPECT_CL(CL_INVALID_OPERATION, code);
  EXPECT_SUCCESS(clReleaseDevice(part));
}

TEST_F(GlSharing, TakesValidArguments) {
  const Context plain = make_context();
  cl_int code = CL_SUCCESS;
  const auto failed = [&](cl_mem made) {
    EXPECT_EQ(made, nullptr);
    return code;
  };
  for (const cl_context other : {plain.get(), cl_context{nullptr}}) {
    EXPECT_CL(CL_INVALID_CONTEXT, failed(clCreateFromGLBuffer(other, 0, kBufferName, &code)));
    EXPECT_CL(CL_INVALID_CONTEXT,
              failed(clCreateFromGLTexture(other, 0, kTexture2D, 0, kInName, &code)));
  }
  EXPECT_CL(CL_INVALID_VALUE,
            failed(clCreateFromGLBuffer(context_, CL_MEM_COPY_HOST_PTR, kBufferName, &code)));
  EXPECT_CL(CL_INVALID_GL_OBJECT, failed(clCreateFromGLBuffer(context_, 0, 999, &code)));
  EXPECT_CL(CL_INVALID_GL_OBJECT, failed(clCreateFromGLRenderbuffer(context_, 0, 999, &code)));
  EXPECT_CL(CL_INVALID_VALUE, failed(clCreateFromGLTexture(context_, 0, 1, 0, kInName, &code)));
  EXPECT_CL(CL_INVALID_MIP_LEVEL,
            failed(clCreateFromGLTexture(context_, 0, kTexture2D, 1, kInName, &code)));
  EXPECT_CL(CL_INVALID_VALUE,
            failed(clCreateFromGLTexture2D(context_, 0, kTexture3D, 0, kDeepName, &code)));
  EXPECT_CL(CL_INVALID_VALUE,
            failed(clCreateFromGLTexture3D(context_, 0, kTexture2D, 0, kInName, &code)));
  const Buffer buffer = shared_buffer(0), ordinary = make_buffer(64);
  EXPECT_EQ(value_of<cl_mem_flags>(query_of(buffer, CL_MEM_FLAGS)),
            cl_mem_flags{CL_MEM_READ_WRITE});
  const Queue elsewhere(clCreateCommandQueue(plain, device_, 0, &code));
  ASSERT_SUCCESS(code);
  const Event broken = make_user_event();
  ASSERT_SUCCESS(clSetUserEventStatus(broken, -1));
  for (const auto command : {&clEnqueueAcquireGLObjects, &clEnqueueReleaseGLObjects}) {
    EXPECT_CL(CL_INVALID_COMMAND_QUEUE, command(nullptr, 1, buffer.list(), 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_CONTEXT, command(elsewhere, 1, buffer.list(), 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_VALUE, command(queue_, 0, buffer.list(), 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_VALUE, command(queue_, 1, nullptr, 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_GL_OBJECT, command(queue_, 1, ordinary.list(), 0, nullptr, nullptr));
    const cl_mem null = nullptr;
    EXPECT_CL(CL_INVALID_MEM_OBJECT, command(queue_, 1, &null, 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, command(queue_, 1, buffer.list(), 1, nullptr, nullptr));
    EXPECT_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
              command(queue_, 1, buffer.list(), 1, broken.list(), nullptr));
    // "If num_objects is 0 and mem_objects is NULL the function does nothing and returns
    // CL_SUCCESS."
    EXPECT_SUCCESS(command(queue_, 0, nullptr, 0, nullptr, nullptr));
  }
  const auto acquire_memory = reinterpret_cast<decltype(&clEnqueueAcquireGLObjects)>(
      clGetExtensionFunctionAddressForPlatform(platform_, "clEnqueueAcquireExternalMemObjectsKHR"));
  ASSERT_NE(acquire_memory, nullptr);
  EXPECT_CL(CL_INVALID_MEM_OBJECT, acquire_memory(queue_, 1, buffer.list(), 0, nullptr, nullptr));
  EXPECT_SUCCESS(clFinish(queue_));
}

class NoGlSharing : public QueueTest {};

TEST_F(NoGlSharing, WhereSeveralDevicesStandBehind) {
  const std::string list = " " + string_of(query_of(device_, CL_DEVICE_EXTENSIONS)) + " ";
  if (list.find(" cl_khr_gl_sharing ") != std::string::npos) GTEST_SKIP() << "there is";
  if (!options().tutti) GTEST_SKIP() << "for Tutti only";
  FakeGl gl;
  cl_int code = CL_SUCCESS;
  const cl_context_properties platform[] = {CL_CONTEXT_PLATFORM, as_property(platform_), 0};
  // Loaders may have one of their own.
  const auto context_info = reinterpret_cast<clGetGLContextInfoKHR_fn>(
      clGetExtensionFunctionAddressForPlatform(platform_, "clGetGLContextInfoKHR"));
  if (context_info != nullptr) {
    EXPECT_CL(CL_INVALID_OPERATION,
              context_info(platform, CL_DEVICES_FOR_GL_CONTEXT_KHR, 0, nullptr, nullptr));
  }
  for (const cl_context_properties name : {CL_GL_CONTEXT_KHR, CL_EGL_DISPLAY_KHR}) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, as_property(platform_), name,
                                                as_property(&gl.context), 0};
    EXPECT_EQ(clCreateContext(properties, 1, &device_, nullptr, nullptr, &code), nullptr);
    EXPECT_CL(CL_INVALID_PROPERTY, code);
  }
  const Buffer plain = make_buffer(64);
  EXPECT_EQ(clCreateFromGLBuffer(context_, 0, kBufferName, &code), nullptr);
  EXPECT_CL(CL_INVALID_OPERATION, code);
  EXPECT_EQ(clCreateFromGLTexture(context_, 0, kTexture2D, 0, kInName, &code), nullptr);
  EXPECT_CL(CL_INVALID_OPERATION, code);
  EXPECT_EQ(clCreateFromGLTexture2D(context_, 0, kTexture2D, 0, kInName, &code), nullptr);
  EXPECT_CL(CL_INVALID_OPERATION, code);
  EXPECT_EQ(clCreateFromGLTexture3D(context_, 0, kTexture3D, 0, kDeepName, &code), nullptr);
  EXPECT_CL(CL_INVALID_OPERATION, code);
  EXPECT_EQ(clCreateFromGLRenderbuffer(nullptr, 0, kRenderName, &code), nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
  EXPECT_CL(CL_INVALID_GL_OBJECT, clGetGLObjectInfo(plain, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_GL_OBJECT,
            clGetGLTextureInfo(plain, CL_GL_TEXTURE_TARGET, 0, nullptr, nullptr));
  for (const auto command : {&clEnqueueAcquireGLObjects, &clEnqueueReleaseGLObjects}) {
    EXPECT_CL(CL_INVALID_OPERATION, command(queue_, 1, plain.list(), 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_COMMAND_QUEUE, command(nullptr, 1, plain.list(), 0, nullptr, nullptr));
  }
}

}  // namespace
}  // namespace tutti::api_tests
