// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

struct Arguments {
  cl_int* out;
  const cl_int* in;
  size_t count;
  cl_int added;
};

void CL_CALLBACK add(void* raw) {
  const auto* arguments = static_cast<const Arguments*>(raw);
  for (size_t i = 0; i < arguments->count; ++i) {
    arguments->out[i] = arguments->in[i] + arguments->added;
  }
}

class ClEnqueueNativeKernel : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    const auto capabilities =
        value_of<cl_device_exec_capabilities>(query_of(device_, CL_DEVICE_EXECUTION_CAPABILITIES));
    if ((capabilities & CL_EXEC_NATIVE_KERNEL) == 0) GTEST_SKIP() << "no native kernels";
  }
  cl_int enqueue(cl_mem out, cl_mem in, size_t count, cl_int added, cl_event* event = nullptr,
                 cl_uint waits = 0, const cl_event* wait_list = nullptr) const {
    Arguments arguments{nullptr, nullptr, count, added};
    const cl_mem buffers[] = {out, in};
    const void* places[] = {&arguments.out, &arguments.in};
    return clEnqueueNativeKernel(queue_, add, &arguments, sizeof(arguments), 2, buffers, places,
                                 waits, wait_list, event);
  }
};

TEST_F(ClEnqueueNativeKernel, WorksOnBuffers) {
  const std::vector<cl_int> data = noise_of<cl_int>(1000, 1);
  const Buffer in = make_buffer_of(data);
  const Buffer out = make_buffer(4000);
  // The arguments are copied: enqueue() has ended when the kernel runs.
  Event event;
  ASSERT_SUCCESS(enqueue(out, in, 1000, 3, event.out()));
  EXPECT_EQ(value_of<cl_command_type>(query_of(event, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_NATIVE_KERNEL});
  std::vector<cl_int> expected = data;
  for (cl_int& value : expected) value += 3;
  EXPECT_TRUE(same_elements(expected, read_all<cl_int>(out, 1000)));
}

TEST_F(ClEnqueueNativeKernel, BetweenKernelsOfTheDevice) {
  constexpr size_t kCount = 4096;
  const std::vector<cl_int> zeros(kCount, 0);
  const Buffer data = make_buffer_of(zeros);
  const Kernel add_one = kernel("add_one");
  set_args(add_one, data);
  for (int round = 0; round < 3; ++round) {
    ASSERT_SUCCESS(launch(add_one, kCount));
    ASSERT_SUCCESS(enqueue(data, data, kCount, 10));
  }
  ASSERT_SUCCESS(launch(add_one, kCount));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(kCount, 34), read_all<cl_int>(data, kCount)));
}

TEST_F(ClEnqueueNativeKernel, OnASubBuffer) {
  const size_t begin = std::max<size_t>(alignment(), 64);
  const std::vector<cl_int> data(begin / 4 + 16, 5);
  const Buffer buffer = make_buffer_of(data);
  const Buffer part = make_sub_buffer(buffer, begin, 64);
  ASSERT_SUCCESS(enqueue(part, part, 16, 1));
  std::vector<cl_int> expected = data;
  for (size_t i = begin / 4; i < expected.size(); ++i) expected[i] = 6;
  EXPECT_TRUE(same_elements(expected, read_all<cl_int>(buffer, expected.size())));
}

TEST_F(ClEnqueueNativeKernel, WithoutArguments) {
  static std::atomic<void*> seen;
  seen = this;
  Event event;
  ASSERT_SUCCESS(clEnqueueNativeKernel(
      queue_, [](void* arguments) { seen = arguments; }, nullptr, 0, 0, nullptr, nullptr, 0,
      nullptr, event.out()));
  ASSERT_SUCCESS(clWaitForEvents(1, event.list()));
  EXPECT_EQ(seen.load(), nullptr);
}

TEST_F(ClEnqueueNativeKernel, BufferReleasedMeanwhile) {
  const std::vector<cl_int> data = noise_of<cl_int>(100, 2);
  const Buffer out = make_buffer(400);
  const Event gate = make_user_event();
  {
    const Buffer in = make_buffer_of(data);
    ASSERT_SUCCESS(enqueue(out, in, 100, 0, nullptr, 1, gate.list()));
  }
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_TRUE(same_elements(data, read_all<cl_int>(out, 100)));
}

TEST_F(ClEnqueueNativeKernel, RejectsBadArguments) {
  const Buffer buffer = make_buffer(64);
  Arguments arguments{};
  const cl_mem buffers[] = {buffer};
  const void* places[] = {&arguments.out};
  const auto call = [&](void(CL_CALLBACK * function)(void*), void* args, size_t size, cl_uint count,
                        const cl_mem* list, const void** at) {
    return clEnqueueNativeKernel(queue_, function, args, size, count, list, at, 0, nullptr,
                                 nullptr);
  };
  const size_t size = sizeof(arguments);
  // "CL_INVALID_VALUE if user_func is NULL", "if args is a NULL value and cb_args > 0, or if args
  // is a NULL value and num_mem_objects > 0", "if args is not NULL and cb_args is 0", "if
  // num_mem_objects > 0 and mem_list or args_mem_loc are NULL", "if num_mem_objects = 0 and
  // mem_list or args_mem_loc are not NULL".
  EXPECT_CL(CL_INVALID_VALUE, call(nullptr, &arguments, size, 1, buffers, places));
  EXPECT_CL(CL_INVALID_VALUE, call(add, nullptr, size, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, call(add, nullptr, 0, 1, buffers, places));
  EXPECT_CL(CL_INVALID_VALUE, call(add, &arguments, 0, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, call(add, &arguments, size, 1, nullptr, places));
  EXPECT_CL(CL_INVALID_VALUE, call(add, &arguments, size, 1, buffers, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, call(add, &arguments, size, 0, buffers, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, call(add, &arguments, size, 0, nullptr, places));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clEnqueueNativeKernel(nullptr, add, &arguments, size, 1,
                                                            buffers, places, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST,
            clEnqueueNativeKernel(queue_, add, &arguments, size, 1, buffers, places, 1, nullptr,
                                  nullptr));
}

TEST_F(ClEnqueueNativeKernel, RejectsPlacesOutsideTheArguments) {
  if (!options().tutti) GTEST_SKIP() << "the specification names no error for it";
  const Buffer buffer = make_buffer(64);
  Arguments arguments{};
  const cl_mem buffers[] = {buffer};
  const void* places[] = {&arguments.count};
  EXPECT_CL(CL_INVALID_VALUE, clEnqueueNativeKernel(queue_, add, &arguments, sizeof(void*), 1,
                                                    buffers, places, 0, nullptr, nullptr));
}

TEST_F(ClEnqueueNativeKernel, RejectsForeignBuffers) {
  Arguments arguments{};
  const void* places[] = {&arguments.out};
  const Context other = make_context();
  cl_int code = CL_SUCCESS;
  const Buffer foreign(clCreateBuffer(other, CL_MEM_READ_WRITE, 64, nullptr, &code));
  EXPECT_NE(clEnqueueNativeKernel(queue_, add, &arguments, sizeof(arguments), 1, foreign.list(),
                                  places, 0, nullptr, nullptr),
            CL_SUCCESS);
}

}  // namespace
}  // namespace tutti::api_tests
