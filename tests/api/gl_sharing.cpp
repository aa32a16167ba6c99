// SPDX-License-Identifier: Apache-2.0
// cl_khr_gl_sharing: buffers and images that are objects of OpenGL.
#include "gl_sharing.h"

#include <algorithm>
#include <utility>

namespace tutti::api_tests {
namespace {

TEST_F(GlSharing, BuffersComeAndGo) {
  const Buffer buffer = shared_buffer();
  const Kernel add = kernel("add_one");
  EXPECT_GT(value_of<size_t>(query_of(add, device_, CL_KERNEL_WORK_GROUP_SIZE)), 0u);
  EXPECT_EQ(value_of<cl_build_status>(query_of(program_, device_, CL_PROGRAM_BUILD_STATUS)),
            CL_BUILD_SUCCESS);
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

// More of them than there are places for, one after the other, all with one context of OpenGL. An
// ordinary context goes on beside them.
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
      if (round < 3) {  // the same program, built for each of them
        const char* source = common_source().c_str();
        const Program program(clCreateProgramWithSource(context, 1, &source, nullptr, &code));
        ASSERT_SUCCESS(code);
        ASSERT_SUCCESS(clBuildProgram(program, 1, &device_, "", nullptr, nullptr));
        const Kernel add = make_kernel(program, "add_one");
        set_args(add, buffer);
        ASSERT_SUCCESS(clEnqueueAcquireGLObjects(queue, 1, buffer.list(), 0, nullptr, nullptr));
        ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue, add, 1, nullptr, &kGlItems, nullptr, 0,
                                              nullptr, nullptr));
        ASSERT_SUCCESS(clEnqueueReleaseGLObjects(queue, 1, buffer.list(), 0, nullptr, nullptr));
        ASSERT_SUCCESS(clFinish(queue));
        for (cl_int& item : expected) ++item;
      }
      ASSERT_TRUE(same_elements(expected, second.of(kBufferName)));
      ASSERT_SUCCESS(clEnqueueFillBuffer(plain_queue, ordinary, &round, sizeof round, 0, 64, 0,
                                         nullptr, nullptr));
    }
  }
  second.wait_until_shared(0);
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

}  // namespace
}  // namespace tutti::api_tests
