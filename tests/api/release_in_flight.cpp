// SPDX-License-Identifier: Apache-2.0
//
// Objects released while commands that use them wait or run: what is needed lives on.
#include <atomic>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using ReleaseInFlight = KernelTest;

TEST_F(ReleaseInFlight, EverythingButTheResult) {
  const Event gate = make_user_event();
  const size_t count = 6400;
  const size_t local = 64;
  std::vector<cl_int> seen(count, 0);
  Event read;
  {
    const Kernel add = kernel("add_scalar");
    const Kernel copy = kernel("copy_ints");
    const Buffer first = make_buffer_of(std::vector<cl_int>(count, 30));
    const Buffer second = make_buffer(count * 4);
    const Queue queue = make_queue();
    set_args(add, first, cl_int{12});
    set_args(copy, first, second);
    Event added;
    ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue, add, 1, nullptr, &count, &local, 1, gate.list(),
                                          added.out()));
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue, copy, 1, nullptr, &count, &local, 1, added.list(), nullptr));
    ASSERT_SUCCESS(clEnqueueReadBuffer(queue, second, CL_FALSE, 0, count * 4, seen.data(), 0,
                                       nullptr, read.out()));
    ASSERT_SUCCESS(clFlush(queue));
  }
  program_.reset();
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, read.list()));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(count, 42), seen));
}

TEST_F(ReleaseInFlight, QueueReleaseFlushes) {
  // "clReleaseCommandQueue performs an implicit flush to issue any previously queued OpenCL
  // commands in command_queue."
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 1));
  const cl_int five = 5;
  Event event;
  {
    const Queue queue = make_queue();
    ASSERT_SUCCESS(clEnqueueFillBuffer(queue, data, &five, 4, 0, 256, 0, nullptr, event.out()));
  }
  ASSERT_SUCCESS(clWaitForEvents(1, event.list()));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 5), read_all<cl_int>(data, 64)));
}

TEST_F(ReleaseInFlight, BufferThatAKernelArgumentNames) {
  const Kernel add = kernel("add_one");
  const Buffer result = make_buffer_of(std::vector<cl_int>(64, 0));
  {
    const Buffer data = make_buffer_of(std::vector<cl_int>(64, 8));
    set_args(add, data);
    ASSERT_SUCCESS(launch(add, 64, 64));
    ASSERT_SUCCESS(clEnqueueCopyBuffer(queue_, data, result, 0, 0, 256, 0, nullptr, nullptr));
  }
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 9), read_all<cl_int>(result, 64)));
  // Another buffer takes its place in the argument.
  const Buffer other = make_buffer_of(std::vector<cl_int>(64, 1));
  set_args(add, other);
  ASSERT_SUCCESS(launch(add, 64, 64));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 2), read_all<cl_int>(other, 64)));
}

TEST_F(ReleaseInFlight, ParentBeforeItsPart) {
  const size_t unit = alignment();
  const Kernel add = kernel("add_one");
  Buffer part;
  {
    const Buffer parent = make_buffer_of(std::vector<cl_int>(unit, 3));
    part = make_sub_buffer(parent, unit, 64 * 4 <= unit ? unit : 64 * 4);
  }
  set_args(add, part);
  ASSERT_SUCCESS(launch(add, 32, 32));
  std::vector<cl_int> seen(32);
  ASSERT_SUCCESS(
      clEnqueueReadBuffer(queue_, part, CL_TRUE, 0, 128, seen.data(), 0, nullptr, nullptr));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(32, 4), seen));
}

TEST_F(ReleaseInFlight, BuffersOfLaunchesThatWereWaitedFor) {
  // Again and again, released before the application waits and after it: all are freed then.
  for (const bool before : {false, true, false, true, false}) {
    Latch freed(2);
    const auto count_down = [](cl_mem, void* latch) { static_cast<Latch*>(latch)->count_down(); };
    const Kernel add = kernel("add_scalar");
    Buffer data = make_buffer_of(std::vector<cl_int>(64, 30));
    Buffer part = make_sub_buffer(data, 0, 128);
    for (const auto& buffer : {data.get(), part.get()}) {
      ASSERT_SUCCESS(clSetMemObjectDestructorCallback(buffer, count_down, &freed));
    }
    for (cl_int i = 0; i < 20; ++i) {
      set_args(add, i % 2 == 0 ? data.get() : part.get(), i);
      ASSERT_SUCCESS(launch(add, 32, 32));
      ASSERT_SUCCESS(clFinish(queue_));
    }
    EXPECT_EQ(read_all<cl_int>(data, 64)[31], 30 + 190);
    ASSERT_SUCCESS(launch(add, 32, 32));
    if (!before) {
      ASSERT_SUCCESS(clFinish(queue_));
    }
    data.reset();
    part.reset();
    if (before) {
      ASSERT_SUCCESS(clFinish(queue_));
    }
    EXPECT_TRUE(freed.wait());
  }
}

TEST_F(ReleaseInFlight, NothingPilesUpWhereNobodyWaits) {
  // Buffers that are released behind what uses them are freed while the application goes on.
  static std::atomic<size_t> freed;  // the last callback may still be at it at the end
  freed = 0;
  const auto count = [](cl_mem, void*) {
    ++freed;
    freed.notify_one();
  };
  const Kernel add = kernel("add_one");
  const std::vector<cl_int> ones(64, 1);
  size_t made = 0;
  while (freed < 1000 && made < 100'000) {
    const Buffer data = make_buffer(256);
    ASSERT_SUCCESS(clSetMemObjectDestructorCallback(data, count, nullptr));
    ASSERT_SUCCESS(
        clEnqueueWriteBuffer(queue_, data, CL_FALSE, 0, 256, ones.data(), 0, nullptr, nullptr));
    set_args(add, data);
    ASSERT_SUCCESS(launch(add, 64, 64));
    if (++made % 100 == 0) {
      ASSERT_SUCCESS(clFlush(queue_));
    }
  }
  EXPECT_GE(freed, 1000u);
  ASSERT_SUCCESS(clFinish(queue_));
  for (size_t seen = freed; seen < made; seen = freed) freed.wait(seen);
}

TEST_F(ReleaseInFlight, ContextLast) {
  Event event;
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 1));
  const cl_int five = 5;
  ASSERT_SUCCESS(clEnqueueFillBuffer(queue_, data, &five, 4, 0, 256, 0, nullptr, event.out()));
  context_.reset();
  ASSERT_SUCCESS(clWaitForEvents(1, event.list()));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 5), read_all<cl_int>(data, 64)));
}

}  // namespace
}  // namespace tutti::api_tests
