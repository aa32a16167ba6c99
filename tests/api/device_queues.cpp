// SPDX-License-Identifier: Apache-2.0
//
// Queues on the device, and kernels that enqueue kernels. Skipped where the device has none.
#include <numeric>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

constexpr size_t kItems = 256;
constexpr cl_command_queue_properties kOnDevice =
    CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;

class DeviceQueues : public QueueTest {
 protected:
  void SetUp() override {
    QueueTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    if (device_version() < 300 || value_of<cl_device_device_enqueue_capabilities>(query_of(
                                      device_, CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES)) == 0) {
      GTEST_SKIP() << "the device has no queues of its own";
    }
  }
  Queue make_queue_on_device(cl_command_queue_properties properties = kOnDevice,
                             cl_uint size = 0) const {
    cl_int code = CL_SUCCESS;
    Queue queue(create(properties, size, code));
    EXPECT_SUCCESS(code);
    return queue;
  }
  cl_command_queue create(cl_command_queue_properties properties, cl_uint size,
                          cl_int& code) const {
    const cl_queue_properties with_size[] = {CL_QUEUE_PROPERTIES, properties, CL_QUEUE_SIZE, size,
                                             0};
    const cl_queue_properties without[] = {CL_QUEUE_PROPERTIES, properties, 0};
    return clCreateCommandQueueWithProperties(context_, device_, size != 0 ? with_size : without,
                                              &code);
  }
  void expect_refused(cl_command_queue_properties properties, cl_uint size) const {
    cl_int code = CL_SUCCESS;
    EXPECT_EQ(create(properties, size, code), nullptr);
    EXPECT_TRUE(is_one_of(code, {CL_INVALID_VALUE, CL_INVALID_QUEUE_PROPERTIES}));
  }
  cl_uint number(cl_device_info what) const { return value_of<cl_uint>(query_of(device_, what)); }
  cl_command_queue default_of(cl_command_queue queue) const {
    return value_of<cl_command_queue>(query_of(queue, CL_QUEUE_DEVICE_DEFAULT));
  }
  Program enqueuing() const {
    return build(R"CLC(
void square(global int* out, int step) { out[get_global_id(0)] += step * (int)get_global_id(0); }
kernel void to_default(global int* out, global int* failed, int step) {
  size_t items = out[0];
  out[0] = 0;
  failed[0] = enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_WAIT_KERNEL,
                             ndrange_1D(items), ^{ square(out, step); });
}
kernel void to_given(global int* out, global int* failed, int step, queue_t queue) {
  size_t items = out[0];
  out[0] = 0;
  failed[0] = enqueue_kernel(queue, CLK_ENQUEUE_FLAGS_WAIT_KERNEL,
                             ndrange_1D(items), ^{ square(out, step); });
}
)CLC",
                 "-cl-std=CL2.0");
  }
  /// Three launches of a kernel whose child adds `step * i` to each element `i`.
  void expect_adds(cl_kernel kernel, cl_command_queue given = nullptr) const {
    std::vector<cl_int> numbers(kItems);
    const Buffer failed = make_buffer_of(std::vector<cl_int>(1, 1));
    for (const cl_int step : {1, 2, 5}) {
      std::iota(numbers.begin(), numbers.end(), 1000);
      numbers[0] = kItems;
      const Buffer out = make_buffer_of(numbers);
      set_args(kernel, out, failed, step);
      if (given != nullptr) {
        ASSERT_SUCCESS(clSetKernelArg(kernel, 3, sizeof given, &given));
      }
      const size_t one = 1;
      ASSERT_SUCCESS(
          clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr));
      numbers[0] = 0;
      for (size_t i = 0; i < kItems; ++i) numbers[i] += step * static_cast<cl_int>(i);
      EXPECT_TRUE(same_elements(numbers, read_all<cl_int>(out, kItems)));
      EXPECT_EQ(read_all<cl_int>(failed, 1)[0], 0);
    }
  }
};

TEST_F(DeviceQueues, Queries) {
  const Queue queue = make_queue_on_device();
  EXPECT_EQ(value_of<cl_command_queue_properties>(query_of(queue, CL_QUEUE_PROPERTIES)), kOnDevice);
  EXPECT_EQ(value_of<cl_context>(query_of(queue, CL_QUEUE_CONTEXT)), context_.get());
  EXPECT_EQ(value_of<cl_device_id>(query_of(queue, CL_QUEUE_DEVICE)), device_);
  EXPECT_EQ(reference_count(queue.get(), CL_QUEUE_REFERENCE_COUNT), 1u);
  EXPECT_EQ(value_of<cl_uint>(query_of(queue, CL_QUEUE_SIZE)),
            number(CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE));
  const cl_uint most = number(CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE);
  const Queue large = make_queue_on_device(kOnDevice, most);
  EXPECT_EQ(value_of<cl_uint>(query_of(large, CL_QUEUE_SIZE)), most);
  cl_uint size = 0;
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE,
            clGetCommandQueueInfo(queue_, CL_QUEUE_SIZE, sizeof size, &size, nullptr));
}

TEST_F(DeviceQueues, WhatCannotBeMade) {
  expect_refused(CL_QUEUE_ON_DEVICE, 0);
  expect_refused(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_ON_DEVICE_DEFAULT, 0);
  expect_refused(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 1024);
  const cl_uint most = number(CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE);
  if (most < UINT32_MAX) expect_refused(kOnDevice, most + 1);
}

TEST_F(DeviceQueues, AreNoQueuesOfTheHost) {
  const Queue queue = make_queue_on_device();
  const Buffer buffer = make_buffer(64);
  cl_int value = 0;
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE,
            clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clFinish(queue));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clFlush(queue));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clEnqueueMarkerWithWaitList(queue, 0, nullptr, nullptr));
}

TEST_F(DeviceQueues, ThereIsOneDefault) {
  EXPECT_EQ(default_of(queue_), nullptr);
  Queue first = make_queue_on_device(kOnDevice | CL_QUEUE_ON_DEVICE_DEFAULT);
  Queue again = make_queue_on_device(kOnDevice | CL_QUEUE_ON_DEVICE_DEFAULT);
  EXPECT_EQ(first.get(), again.get());
  EXPECT_EQ(reference_count(first.get(), CL_QUEUE_REFERENCE_COUNT), 2u);
  EXPECT_EQ(default_of(queue_), first.get());
  EXPECT_EQ(default_of(first), first.get());
  const Queue other = make_queue_on_device();
  EXPECT_NE(other.get(), first.get());
  const cl_int code = clSetDefaultDeviceCommandQueue(context_, device_, other);
  if ((value_of<cl_device_device_enqueue_capabilities>(
           query_of(device_, CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES)) &
       CL_DEVICE_QUEUE_REPLACEABLE_DEFAULT) == 0) {
    EXPECT_CL(CL_INVALID_OPERATION, code);
    return;
  }
  ASSERT_SUCCESS(code);
  EXPECT_EQ(default_of(queue_), other.get());
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clSetDefaultDeviceCommandQueue(context_, device_, queue_));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clSetDefaultDeviceCommandQueue(context_, device_, nullptr));
  EXPECT_CL(CL_INVALID_DEVICE, clSetDefaultDeviceCommandQueue(context_, nullptr, other));
  EXPECT_CL(CL_INVALID_CONTEXT, clSetDefaultDeviceCommandQueue(nullptr, device_, other));
}

TEST_F(DeviceQueues, KernelsEnqueueToTheDefaultOne) {
  const Queue queue = make_queue_on_device(kOnDevice | CL_QUEUE_ON_DEVICE_DEFAULT);
  const Program program = enqueuing();
  const Kernel kernel = make_kernel(program, "to_default");
  expect_adds(kernel);
}

TEST_F(DeviceQueues, KernelsEnqueueToTheirArgument) {
  const Program program = enqueuing();
  const Kernel kernel = make_kernel(program, "to_given");
  const Queue first = make_queue_on_device();
  expect_adds(kernel, first);
  const Queue fallback = make_queue_on_device(kOnDevice | CL_QUEUE_ON_DEVICE_DEFAULT);
  expect_adds(kernel, fallback);
}

TEST_F(DeviceQueues, AnotherContextHasItsOwn) {
  const Queue queue = make_queue_on_device(kOnDevice | CL_QUEUE_ON_DEVICE_DEFAULT);
  cl_int code = CL_SUCCESS;
  const Context other(clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, kOnDevice | CL_QUEUE_ON_DEVICE_DEFAULT,
                                      0};
  Queue second(clCreateCommandQueueWithProperties(other, device_, list, &code));
  ASSERT_SUCCESS(code);
  EXPECT_NE(queue.get(), second.get());
  second.reset();
  const Program program = enqueuing();
  expect_adds(make_kernel(program, "to_default"));
}

TEST_F(DeviceQueues, Arguments) {
  const Program program = enqueuing();
  const Kernel kernel = make_kernel(program, "to_given");
  const Queue queue = make_queue_on_device();
  const cl_command_queue none = nullptr;
  EXPECT_CL(CL_INVALID_DEVICE_QUEUE, clSetKernelArg(kernel, 3, sizeof none, &none));
  EXPECT_CL(CL_INVALID_DEVICE_QUEUE, clSetKernelArg(kernel, 3, sizeof none, queue_.list()));
  EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(kernel, 3, 2, queue.list()));
  EXPECT_SUCCESS(clSetKernelArg(kernel, 3, sizeof none, queue.list()));
}

}  // namespace
}  // namespace tutti::api_tests
