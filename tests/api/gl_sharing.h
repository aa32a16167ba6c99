// SPDX-License-Identifier: Apache-2.0
// A context of OpenGL that is the test's (test_gl.h), and one of OpenCL that shares with it. A
// vendor's own driver takes contexts of OpenGL alone.
#pragma once

#include <CL/cl_gl.h>

#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "fixtures.h"
#include "test_gl.h"

namespace tutti::api_tests {

using test_gl::Kind;

inline constexpr size_t kGlItems = 1 << 14, kGlBytes = kGlItems * sizeof(cl_int);
inline constexpr cl_GLenum kTexture2D = 0x0DE1, kTexture3D = 0x806F, kTextureArray = 0x8C1A;
inline constexpr cl_GLenum kCubeFace = 0x8517;
inline constexpr cl_GLuint kBufferName = 7, kInName = 8, kOutName = 9, kRenderName = 10,
                           kDeepName = 11, kArrayName = 12, kFaceName = 13;
inline constexpr size_t kGlWidth = 64, kGlHeight = kGlItems / kGlWidth, kGlDepth = 8;

inline std::vector<cl_int> counted(cl_int first) {
  std::vector<cl_int> items(kGlItems);
  std::iota(items.begin(), items.end(), first);
  return items;
}

/// A context of OpenGL with an object of each kind, each of kGlItems of four bytes.
struct FakeGl {
  FakeGl() {
    const auto add = [this](Kind kind, cl_GLuint name, cl_GLenum target, cl_int level,
                            const cl_image_desc& description) {
      content[name] = counted(0);
      context.objects.push_back({kind, name, target, level, content[name].data(), kGlBytes,
                                 cl_image_format{CL_RGBA, CL_UNSIGNED_INT8}, description});
    };
    cl_image_desc flat{};
    flat.image_type = CL_MEM_OBJECT_IMAGE2D;
    flat.image_width = kGlWidth;
    flat.image_height = kGlHeight;
    cl_image_desc deep = flat, array = flat;
    deep.image_type = CL_MEM_OBJECT_IMAGE3D;
    array.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY;
    deep.image_height = array.image_height = kGlHeight / kGlDepth;
    deep.image_depth = array.image_array_size = kGlDepth;
    add(Kind::kBuffer, kBufferName, 0, 0, {});
    add(Kind::kTexture, kInName, kTexture2D, 0, flat);
    add(Kind::kTexture, kOutName, kTexture2D, 2, flat);
    add(Kind::kRenderbuffer, kRenderName, 0, 0, flat);
    add(Kind::kTexture, kDeepName, kTexture3D, 0, deep);
    add(Kind::kTexture, kArrayName, kTextureArray, 0, array);
    add(Kind::kTexture, kFaceName, kCubeFace, 0, flat);
  }
  /// After the contexts that share with it.
  ~FakeGl() { wait_until_shared(0); }
  FakeGl(const FakeGl&) = delete;
  FakeGl& operator=(const FakeGl&) = delete;

  const std::vector<cl_int>& of(cl_GLuint name) const { return content[name]; }
  /// In place: the objects keep the addresses.
  void count(cl_GLuint name, cl_int first) {
    std::iota(content[name].begin(), content[name].end(), first);
  }

  /// What has just ended may be held by a thread of the driver for some microseconds.
  void wait_until_shared(int times) const {
    while (context.shared != times) std::this_thread::yield();
  }

  test_gl::Context context;
  std::vector<cl_int> content[16];  // by name
};

inline cl_context_properties as_property(const void* pointer) {
  return reinterpret_cast<cl_context_properties>(pointer);
}

class GlSharing : public KernelTest {
 protected:
  void SetUp() override {
    const std::string list = " " + string_of(query_of(device_, CL_DEVICE_EXTENSIONS)) + " ";
    const char* const vendor = std::getenv("TUTTI_TEST_SHARING");
    if (vendor == nullptr) GTEST_SKIP() << "not the test's OpenGL";
    if (vendor != std::string("alone")) GTEST_SKIP() << "several devices";
    ASSERT_NE(list.find(" cl_khr_gl_sharing "), std::string::npos);
    context_ = make_sharing(gl_.context);
    ASSERT_NE(context_.get(), nullptr);
    queue_ = make_queue();
    ASSERT_NE(queue_.get(), nullptr);
    program_ = build(common_source());
  }
  void TearDown() override {
    KernelTest::TearDown();
    program_.reset();
    queue_.reset();
    context_.reset();
  }

  std::vector<cl_context_properties> properties(const test_gl::Context& gl) const {
    return {CL_CONTEXT_PLATFORM,
            as_property(platform_),
            CL_GL_CONTEXT_KHR,
            as_property(&gl),
            CL_EGL_DISPLAY_KHR,
            as_property(&display_),
            0};
  }
  cl_int try_context(const std::vector<cl_context_properties>& list, bool from_type = false) const {
    cl_int code = CL_SUCCESS;
    const Context made(
        from_type
            ? clCreateContextFromType(list.data(), CL_DEVICE_TYPE_ALL, nullptr, nullptr, &code)
            : clCreateContext(list.data(), 1, &device_, nullptr, nullptr, &code));
    EXPECT_EQ(made.get() != nullptr, code == CL_SUCCESS);
    return code;
  }
  Context make_sharing(const test_gl::Context& gl) const {
    const auto list = properties(gl);
    cl_int code = CL_SUCCESS;
    Context made(clCreateContext(list.data(), 1, &device_, nullptr, nullptr, &code));
    EXPECT_SUCCESS(code);
    return made;
  }
  Buffer shared_buffer(cl_mem_flags flags = CL_MEM_READ_WRITE) const {
    cl_int code = CL_SUCCESS;
    Buffer made(clCreateFromGLBuffer(context_, flags, kBufferName, &code));
    EXPECT_SUCCESS(code);
    return made;
  }
  Buffer shared_texture(cl_mem_flags flags, cl_GLenum target, cl_GLuint name,
                        cl_int level = 0) const {
    cl_int code = CL_SUCCESS;
    Buffer made(clCreateFromGLTexture(context_, flags, target, level, name, &code));
    EXPECT_SUCCESS(code);
    return made;
  }
  void acquire(cl_mem memory, cl_event* event = nullptr) const {
    ASSERT_SUCCESS(clEnqueueAcquireGLObjects(queue_, 1, &memory, 0, nullptr, event));
  }
  void release(cl_mem memory, cl_event* event = nullptr) const {
    ASSERT_SUCCESS(clEnqueueReleaseGLObjects(queue_, 1, &memory, 0, nullptr, event));
  }
  void add_one(cl_mem memory) const {
    const Kernel add = kernel("add_one");
    ASSERT_SUCCESS(clSetKernelArg(add, 0, sizeof memory, &memory));
    ASSERT_SUCCESS(launch(add, kGlItems));
  }

  const int display_ = 0;
  FakeGl gl_;
};

}  // namespace tutti::api_tests
