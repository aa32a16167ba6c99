// SPDX-License-Identifier: Apache-2.0
// cl_khr_gl_sharing: buffers and images that are objects of OpenGL, which here is a table of the
// test's (test_gl.h). A vendor's own driver takes contexts of OpenGL alone.
#include <CL/cl_gl.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <thread>

#include "fixtures.h"
#include "test_gl.h"

namespace tutti::api_tests {
namespace {

using test_gl::Kind;

constexpr size_t kGlItems = 1 << 14, kGlBytes = kGlItems * sizeof(cl_int);
constexpr cl_GLenum kTexture2D = 0x0DE1, kTexture3D = 0x806F, kTextureArray = 0x8C1A;
constexpr cl_GLenum kCubeFace = 0x8517;
constexpr cl_GLuint kBufferName = 7, kInName = 8, kOutName = 9, kRenderName = 10, kDeepName = 11,
                    kArrayName = 12, kFaceName = 13;
constexpr size_t kGlWidth = 64, kGlHeight = kGlItems / kGlWidth, kGlDepth = 8;

std::vector<cl_int> counted(cl_int first) {
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
  const std::vector<cl_int>& of(cl_GLuint name) const { return content[name]; }
  /// In place: the objects keep the addresses.
  void count(cl_GLuint name, cl_int first) {
    std::iota(content[name].begin(), content[name].end(), first);
  }

  test_gl::Context context;
  std::vector<cl_int> content[16];  // by name
};

cl_context_properties as_property(const void* pointer) {
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
  void TearDown() override { KernelTest::TearDown(); }

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

TEST_F(GlSharing, BuffersComeAndGo) {
  const Buffer buffer = shared_buffer();
  EXPECT_EQ(value_of<size_t>(query_of(buffer, CL_MEM_SIZE)), kGlBytes);
  for (cl_int round = 0; round < 5; ++round) {
    gl_.count(kBufferName, round * 100);
    Event acquired, released;
    acquire(buffer, acquired.out());
    for (int i = 0; i < 3; ++i) add_one(buffer);
    release(buffer, released.out());
    ASSERT_SUCCESS(clWaitForEvents(1, released.list()));
    EXPECT_TRUE(same_elements(counted(round * 100 + 3), gl_.of(kBufferName)));
    EXPECT_EQ(value_of<cl_command_type>(query_of(acquired, CL_EVENT_COMMAND_TYPE)),
              cl_command_type{CL_COMMAND_ACQUIRE_GL_OBJECTS});
    EXPECT_EQ(value_of<cl_command_type>(query_of(released, CL_EVENT_COMMAND_TYPE)),
              cl_command_type{CL_COMMAND_RELEASE_GL_OBJECTS});
  }
}

// What the host writes is there when OpenGL has it again, and what it reads is not from before.
TEST_F(GlSharing, BuffersAreTheHostsToo) {
  const Buffer buffer = shared_buffer();
  const Buffer plain = make_buffer(kGlBytes);
  for (cl_int round = 0; round < 3; ++round) {
    gl_.count(kBufferName, round);
    acquire(buffer);
    EXPECT_TRUE(same_elements(counted(round), read_all<cl_int>(buffer, kGlItems)));
    const cl_int small[] = {7, 8, 9};
    ASSERT_SUCCESS(clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, 40, sizeof small, small, 0,
                                        nullptr, nullptr));
    cl_int code = CL_SUCCESS;
    auto* const mapped = static_cast<cl_int*>(clEnqueueMapBuffer(
        queue_, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 400, 400, 0, nullptr, nullptr, &code));
    ASSERT_SUCCESS(code);
    EXPECT_EQ(mapped[1], round + 101);
    mapped[1] = -1;
    ASSERT_SUCCESS(clEnqueueUnmapMemObject(queue_, buffer, mapped, 0, nullptr, nullptr));
    ASSERT_SUCCESS(clEnqueueCopyBuffer(queue_, buffer, plain, 0, 0, kGlBytes, 0, nullptr, nullptr));
    add_one(plain);
    release(buffer);
    ASSERT_SUCCESS(clFinish(queue_));
    auto expected = counted(round);
    expected[10] = 7;
    expected[11] = 8;
    expected[12] = 9;
    expected[101] = -1;
    EXPECT_TRUE(same_elements(expected, gl_.of(kBufferName)));
    for (cl_int& item : expected) ++item;
    EXPECT_TRUE(same_elements(expected, read_all<cl_int>(plain, kGlItems)));
  }
}

TEST_F(GlSharing, ImagesOfAllKinds) {
  if (value_of<cl_bool>(query_of(device_, CL_DEVICE_IMAGE_SUPPORT)) == CL_FALSE) {
    GTEST_SKIP() << "no images";
  }
  const Program program = build(R"(
kernel void invert(read_only image2d_t in, write_only image2d_t out) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(out, at, 255 - read_imageui(in, at));
}
kernel void fold(read_only image3d_t deep, read_only image2d_array_t array, global uint4* sums) {
  int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  size_t i = at.x + 64 * (at.y + get_global_size(1) * at.z);
  sums[i] = read_imageui(deep, at) + 2 * read_imageui(array, at);
}
)");
  cl_int code = CL_SUCCESS;
  const Buffer in = shared_texture(CL_MEM_READ_ONLY, kTexture2D, kInName);
  const Buffer out = shared_texture(CL_MEM_WRITE_ONLY, kTexture2D, kOutName, 2);
  const Buffer rendered(
      clCreateFromGLRenderbuffer(context_, CL_MEM_READ_WRITE, kRenderName, &code));
  ASSERT_SUCCESS(code);
  const Buffer face(
      clCreateFromGLTexture2D(context_, CL_MEM_READ_ONLY, kCubeFace, 0, kFaceName, &code));
  ASSERT_SUCCESS(code);
  const Buffer deep(
      clCreateFromGLTexture3D(context_, CL_MEM_READ_ONLY, kTexture3D, 0, kDeepName, &code));
  ASSERT_SUCCESS(code);
  const Buffer array = shared_texture(CL_MEM_READ_ONLY, kTextureArray, kArrayName);
  const auto size = [](cl_mem image, cl_image_info what) {
    size_t value = 0;
    EXPECT_SUCCESS(clGetImageInfo(image, what, sizeof value, &value, nullptr));
    return value;
  };
  EXPECT_EQ(size(in, CL_IMAGE_WIDTH), kGlWidth);
  EXPECT_EQ(size(in, CL_IMAGE_HEIGHT), kGlHeight);
  EXPECT_EQ(size(deep, CL_IMAGE_DEPTH), kGlDepth);
  EXPECT_EQ(size(array, CL_IMAGE_ARRAY_SIZE), kGlDepth);
  cl_image_format format{};
  ASSERT_SUCCESS(clGetImageInfo(rendered, CL_IMAGE_FORMAT, sizeof format, &format, nullptr));
  EXPECT_EQ(format.image_channel_order, cl_channel_order{CL_RGBA});
  EXPECT_EQ(format.image_channel_data_type, cl_channel_type{CL_UNSIGNED_INT8});

  const Kernel invert = make_kernel(program, "invert"), fold = make_kernel(program, "fold");
  const Buffer sums = make_buffer(kGlItems * 16);
  set_args(fold, deep, array, sums);
  const cl_mem all[] = {in, out, rendered, face, deep, array};
  const size_t global[] = {kGlWidth, kGlHeight},
               volume[] = {kGlWidth, kGlHeight / kGlDepth, kGlDepth};
  for (cl_int round = 0; round < 2; ++round) {
    gl_.count(kInName, round * 1000);
    gl_.count(kDeepName, round);
    ASSERT_SUCCESS(clEnqueueAcquireGLObjects(queue_, 6, all, 0, nullptr, nullptr));
    for (const auto& [from, to] : {std::pair(in.get(), out.get()), {face.get(), rendered.get()}}) {
      ASSERT_SUCCESS(clSetKernelArg(invert, 0, sizeof from, &from));
      ASSERT_SUCCESS(clSetKernelArg(invert, 1, sizeof to, &to));
      ASSERT_SUCCESS(
          clEnqueueNDRangeKernel(queue_, invert, 2, nullptr, global, nullptr, 0, nullptr, nullptr));
    }
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, fold, 3, nullptr, volume, nullptr, 0, nullptr, nullptr));
    const size_t origin[] = {3, 0, 0}, region[] = {2, 1, 1};
    const cl_int pixels[] = {77, 78};
    ASSERT_SUCCESS(clEnqueueWriteImage(queue_, out, CL_FALSE, origin, region, 0, 0, pixels, 0,
                                       nullptr, nullptr));
    ASSERT_SUCCESS(clEnqueueReleaseGLObjects(queue_, 6, all, 0, nullptr, nullptr));
    ASSERT_SUCCESS(clFinish(queue_));
    auto expected = counted(round * 1000);
    for (cl_int& item : expected) item = ~item;
    expected[3] = 77;
    expected[4] = 78;
    EXPECT_TRUE(same_elements(expected, gl_.of(kOutName)));
    EXPECT_TRUE(same_elements(counted(round * 1000), gl_.of(kInName)));
    expected = counted(0);
    for (cl_int& item : expected) item = ~item;
    EXPECT_TRUE(same_elements(expected, gl_.of(kRenderName)));
    const auto folded = read_all<cl_uint4>(sums, kGlItems);
    for (size_t i = 0; i < kGlItems; ++i) {
      const cl_uint low = (static_cast<cl_uint>(i) + static_cast<cl_uint>(round)) & 255;
      ASSERT_EQ(folded[i].s[0], low + 2 * (i & 255)) << i;
    }
  }
}

TEST_F(GlSharing, InPartsAndOutOfOrder) {
  const Buffer buffer = shared_buffer();
  const Queue other = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const size_t half = kGlItems / 2;
  const Buffer part = make_sub_buffer(buffer, kGlBytes / 2, kGlBytes / 2);
  const Kernel add = kernel("add_one");
  set_args(add, part);
  Event acquired, added, released;
  const Event user = make_user_event();
  ASSERT_SUCCESS(
      clEnqueueAcquireGLObjects(other, 1, buffer.list(), 1, user.list(), acquired.out()));
  ASSERT_SUCCESS(clEnqueueNDRangeKernel(other, add, 1, nullptr, &half, nullptr, 1, acquired.list(),
                                        added.out()));
  ASSERT_SUCCESS(
      clEnqueueReleaseGLObjects(other, 1, buffer.list(), 1, added.list(), released.out()));
  EXPECT_CL(CL_INVALID_GL_OBJECT,
            clEnqueueAcquireGLObjects(other, 1, part.list(), 0, nullptr, nullptr));
  gl_.count(kBufferName, 10);
  ASSERT_SUCCESS(clSetUserEventStatus(user, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, released.list()));
  auto expected = counted(10);
  for (size_t i = half; i < kGlItems; ++i) ++expected[i];
  EXPECT_TRUE(same_elements(expected, gl_.of(kBufferName)));
}

// Where nothing is before them, in the application's thread, whose own the context of OpenGL is.
TEST_F(GlSharing, ChangesHandsInTheThreadThatEnqueues) {
  const Buffer buffer = shared_buffer();
  for (int round = 0; round < 3; ++round) {
    gl_.context.used_by = std::thread::id();
    acquire(buffer);
    EXPECT_EQ(gl_.context.used_by.load(), std::this_thread::get_id());
    add_one(buffer);
    release(buffer);
    ASSERT_SUCCESS(clFinish(queue_));
  }
  // Nobody is held up by what is not.
  const Event user = make_user_event();
  Event acquired;
  ASSERT_SUCCESS(
      clEnqueueAcquireGLObjects(queue_, 1, buffer.list(), 1, user.list(), acquired.out()));
  release(buffer);
  ASSERT_SUCCESS(clSetUserEventStatus(user, CL_COMPLETE));
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_TRUE(same_elements(counted(3), gl_.of(kBufferName)));
}

// More of them than there are places for, one after the other; each is let go of in time, whatever
// the address of the next one is. An ordinary context goes on beside them.
TEST_F(GlSharing, ContextsComeAndGo) {
  const Context plain = make_context();
  cl_int code = CL_SUCCESS;
  const Queue plain_queue(clCreateCommandQueue(plain, device_, 0, &code));
  ASSERT_SUCCESS(code);
  const Buffer ordinary(clCreateBuffer(plain, CL_MEM_READ_WRITE, 64, nullptr, &code));
  ASSERT_SUCCESS(code);
  FakeGl second;
  for (cl_int round = 0; round < 70; ++round) {
    const Context context = make_sharing(second.context);
    ASSERT_NE(context.get(), nullptr) << round;
    EXPECT_EQ(second.context.shared, 1);
    {
      const Queue queue(clCreateCommandQueue(context, device_, 0, &code));
      ASSERT_SUCCESS(code);
      const Buffer buffer(clCreateFromGLBuffer(context, CL_MEM_READ_WRITE, kBufferName, &code));
      ASSERT_SUCCESS(code);
      // Memory that is kept for the next buffer must not be the next context's.
      const Buffer copy(clCreateBuffer(context, CL_MEM_READ_WRITE, kGlBytes, nullptr, &code));
      ASSERT_SUCCESS(code);
      second.count(kBufferName, round);
      ASSERT_SUCCESS(clEnqueueAcquireGLObjects(queue, 1, buffer.list(), 0, nullptr, nullptr));
      ASSERT_SUCCESS(clEnqueueCopyBuffer(queue, buffer, copy, 0, 4, 64, 0, nullptr, nullptr));
      ASSERT_SUCCESS(clEnqueueCopyBuffer(queue, copy, buffer, 4, 64, 64, 0, nullptr, nullptr));
      ASSERT_SUCCESS(clEnqueueReleaseGLObjects(queue, 1, buffer.list(), 0, nullptr, nullptr));
      ASSERT_SUCCESS(clFinish(queue));
      auto expected = counted(round);
      std::copy_n(expected.begin(), 16, expected.begin() + 16);
      ASSERT_TRUE(same_elements(expected, second.of(kBufferName)));
      ASSERT_SUCCESS(clEnqueueFillBuffer(plain_queue, ordinary, &round, sizeof round, 0, 64, 0,
                                         nullptr, nullptr));
    }
  }
  EXPECT_EQ(second.context.shared, 0);
  cl_int last = 0;
  ASSERT_SUCCESS(clEnqueueReadBuffer(plain_queue, ordinary, CL_TRUE, 60, sizeof last, &last, 0,
                                     nullptr, nullptr));
  EXPECT_EQ(last, 69);
  // Two at a time, and the first one is as it was.
  const Context third = make_sharing(second.context), fourth = make_sharing(second.context);
  EXPECT_EQ(second.context.shared, 2);
  const Buffer buffer = shared_buffer();
  acquire(buffer);
  add_one(buffer);
  release(buffer);
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_TRUE(same_elements(counted(1), gl_.of(kBufferName)));
}

// Nobody has the context any more, but its commands go on.
TEST_F(GlSharing, IsReleasedInFlight) {
  Event released;
  Event user = make_user_event();
  {
    Buffer buffer = shared_buffer();
    ASSERT_SUCCESS(clEnqueueAcquireGLObjects(queue_, 1, buffer.list(), 1, user.list(), nullptr));
    add_one(buffer);
    release(buffer, released.out());
    ASSERT_SUCCESS(clFlush(queue_));
  }
  program_.reset();
  queue_.reset();
  context_.reset();
  // It takes no place that is still in use.
  FakeGl second;
  const Context other = make_sharing(second.context);
  EXPECT_EQ(gl_.context.shared, 1);
  gl_.count(kBufferName, 5);
  ASSERT_SUCCESS(clSetUserEventStatus(user, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, released.list()));
  EXPECT_TRUE(same_elements(counted(6), gl_.of(kBufferName)));
}

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
  EXPECT_EQ(gl_.context.shared, 1);
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
