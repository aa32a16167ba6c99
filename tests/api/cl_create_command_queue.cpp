// SPDX-License-Identifier: Apache-2.0
#include <CL/cl_ext.h>

#include <utility>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClCreateCommandQueue : public ContextTest {
 protected:
  cl_int create(cl_context context, cl_device_id device, cl_command_queue_properties properties) {
    cl_int code = CL_SUCCESS;
    const cl_command_queue queue = clCreateCommandQueue(context, device, properties, &code);
    if (code == CL_SUCCESS) {
      EXPECT_SUCCESS(clReleaseCommandQueue(queue));
    } else {
      EXPECT_EQ(queue, nullptr);
    }
    return code;
  }
  cl_int create_with(cl_context context, cl_device_id device,
                     const cl_queue_properties* properties) {
    cl_int code = CL_SUCCESS;
    const cl_command_queue queue =
        clCreateCommandQueueWithProperties(context, device, properties, &code);
    if (code == CL_SUCCESS) {
      EXPECT_SUCCESS(clReleaseCommandQueue(queue));
    } else {
      EXPECT_EQ(queue, nullptr);
    }
    return code;
  }
};

class ClCreateCommandQueueWithProperties : public ClCreateCommandQueue {
 protected:
  void SetUp() override {
    // Tutti has it, as an extension, whatever the version of the device behind.
    if (device_version() < 200 && !options().tutti) GTEST_SKIP() << "an OpenCL 2.0 function";
    ClCreateCommandQueue::SetUp();
  }
};

using ClGetCommandQueueInfo = ClCreateCommandQueueWithProperties;

TEST_F(ClCreateCommandQueue, EverySupportedProperty) {
  EXPECT_SUCCESS(create(context_, device_, 0));
  EXPECT_SUCCESS(create(context_, device_, CL_QUEUE_PROFILING_ENABLE));
  if (!device_supports_out_of_order()) return;
  EXPECT_SUCCESS(create(context_, device_, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE));
  EXPECT_SUCCESS(create(context_, device_,
                        CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE));
}

TEST_F(ClCreateCommandQueue, RejectsBadArguments) {
  // "CL_INVALID_CONTEXT if context is not a valid context."
  EXPECT_CL(CL_INVALID_CONTEXT, create(nullptr, device_, 0));
  // "CL_INVALID_DEVICE if device is not a valid device or is not associated with context."
  EXPECT_CL(CL_INVALID_DEVICE, create(context_, nullptr, 0));
  // "CL_INVALID_VALUE if values specified in properties are not valid."
  EXPECT_CL(CL_INVALID_VALUE, create(context_, device_, cl_command_queue_properties{1} << 40));
}

TEST_F(ClCreateCommandQueue, RejectsUnsupportedProperty) {
  if (device_supports_out_of_order()) GTEST_SKIP() << "everything is supported";
  // "CL_INVALID_QUEUE_PROPERTIES if values specified in properties are valid but are not supported
  // by the device."
  EXPECT_CL(CL_INVALID_QUEUE_PROPERTIES,
            create(context_, device_, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE));
}

TEST_F(ClCreateCommandQueueWithProperties, EverySupportedProperty) {
  EXPECT_SUCCESS(create_with(context_, device_, nullptr));
  const cl_queue_properties empty[] = {0};
  EXPECT_SUCCESS(create_with(context_, device_, empty));
  const cl_queue_properties none[] = {CL_QUEUE_PROPERTIES, 0, 0};
  EXPECT_SUCCESS(create_with(context_, device_, none));
  const cl_queue_properties profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  EXPECT_SUCCESS(create_with(context_, device_, profiling));
  if (!device_supports_out_of_order()) return;
  const cl_queue_properties both[] = {
      CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  EXPECT_SUCCESS(create_with(context_, device_, both));
}

TEST_F(ClCreateCommandQueueWithProperties, RejectsBadArguments) {
  EXPECT_CL(CL_INVALID_CONTEXT, create_with(nullptr, device_, nullptr));
  EXPECT_CL(CL_INVALID_DEVICE, create_with(context_, nullptr, nullptr));
}

TEST_F(ClCreateCommandQueueWithProperties, RejectsUnknownName) {
  // "CL_INVALID_VALUE if values specified in properties are not valid."
  const cl_queue_properties unknown[] = {0x7777, 1, 0};
  EXPECT_CL(CL_INVALID_VALUE, create_with(context_, device_, unknown));
}

TEST_F(ClCreateCommandQueueWithProperties, HintsWhereTheDeviceHasThem) {
  const std::string extensions = string_of(query_of(device_, CL_DEVICE_EXTENSIONS));
  for (const auto& [extension, name] :
       {std::pair{"cl_khr_priority_hints", cl_queue_properties{CL_QUEUE_PRIORITY_KHR}},
        std::pair{"cl_khr_throttle_hints", cl_queue_properties{CL_QUEUE_THROTTLE_KHR}}}) {
    const bool offered = extensions.find(extension) != std::string::npos;
    for (const cl_queue_properties value : {1, 2, 4}) {
      const cl_queue_properties hint[] = {name, value, 0};
      EXPECT_CL(offered ? CL_SUCCESS : CL_INVALID_VALUE, create_with(context_, device_, hint));
    }
    for (const cl_queue_properties value : {0, 3, 8}) {
      const cl_queue_properties none[] = {name, value, 0};
      EXPECT_CL(CL_INVALID_VALUE, create_with(context_, device_, none));
    }
    if (!offered) continue;
    const std::vector<cl_queue_properties> list = {CL_QUEUE_PROPERTIES, 0, name, 4, 0};
    cl_int code = CL_SUCCESS;
    const Queue queue(clCreateCommandQueueWithProperties(context_, device_, list.data(), &code));
    ASSERT_SUCCESS(code);
    EXPECT_EQ(array_of<cl_queue_properties>(query_of(queue, CL_QUEUE_PROPERTIES_ARRAY)), list);
    // "CL_INVALID_QUEUE_PROPERTIES if [...] the queue is a CL_QUEUE_ON_DEVICE."
    const cl_queue_properties on_device[] = {
        CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, name, 1,
        0};
    EXPECT_CL(CL_INVALID_QUEUE_PROPERTIES, create_with(context_, device_, on_device));
  }
}

TEST_F(ClCreateCommandQueueWithProperties, RejectsUnknownBits) {
  const cl_queue_properties bits[] = {CL_QUEUE_PROPERTIES, cl_queue_properties{1} << 40, 0};
  EXPECT_CL(CL_INVALID_VALUE, create_with(context_, device_, bits));
}

TEST_F(ClCreateCommandQueueWithProperties, RejectsDeviceQueueWithoutOutOfOrder) {
  // "If CL_QUEUE_ON_DEVICE is set, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE must also be set";
  // "CL_QUEUE_SIZE [...] can only be specified if CL_QUEUE_ON_DEVICE is set"
  const cl_queue_properties on_device[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE, 0};
  EXPECT_TRUE(is_one_of(create_with(context_, device_, on_device),
                        {CL_INVALID_VALUE, CL_INVALID_QUEUE_PROPERTIES}));
  const cl_queue_properties sized[] = {CL_QUEUE_SIZE, 4096, 0};
  EXPECT_TRUE(is_one_of(create_with(context_, device_, sized),
                        {CL_INVALID_VALUE, CL_INVALID_QUEUE_PROPERTIES}));
}

TEST_F(ClCreateCommandQueueWithProperties, RejectsUnsupportedDeviceQueue) {
  const auto on_device = value_of<cl_command_queue_properties>(
      query_of(device_, CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES));
  if (on_device != 0) GTEST_SKIP() << "the device has device queues";
  // "CL_INVALID_QUEUE_PROPERTIES if values specified in properties are valid but are not supported
  // by the device."
  const cl_queue_properties properties[] = {
      CL_QUEUE_PROPERTIES, CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  EXPECT_CL(CL_INVALID_QUEUE_PROPERTIES, create_with(context_, device_, properties));
}

TEST_F(ClGetCommandQueueInfo, ContextAndDevice) {
  const Queue queue = make_queue();
  EXPECT_EQ(value_of<cl_context>(query_of(queue, CL_QUEUE_CONTEXT)), context_.get());
  EXPECT_EQ(value_of<cl_device_id>(query_of(queue, CL_QUEUE_DEVICE)), device_);
}

TEST_F(ClGetCommandQueueInfo, Properties) {
  std::vector<cl_command_queue_properties> cases = {0, CL_QUEUE_PROFILING_ENABLE};
  if (device_supports_out_of_order()) cases.push_back(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  for (const auto properties : cases) {
    const Queue queue = make_queue(properties);
    EXPECT_EQ(value_of<cl_command_queue_properties>(query_of(queue, CL_QUEUE_PROPERTIES)),
              properties);
  }
}

TEST_F(ClGetCommandQueueInfo, PropertiesArray) {
  if (device_version() < 300) GTEST_SKIP() << "an OpenCL 3.0 query";
  // "Return the properties argument specified in clCreateCommandQueueWithProperties."
  const Queue queue = make_queue(CL_QUEUE_PROFILING_ENABLE);
  const std::vector<cl_queue_properties> expected = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE,
                                                     0};
  EXPECT_EQ(array_of<cl_queue_properties>(query_of(queue, CL_QUEUE_PROPERTIES_ARRAY)), expected);
  // "if the properties argument [...] was NULL, or the command-queue was created using
  // clCreateCommandQueue, [...] the implementation must return param_value_size_ret equal to 0"
  cl_int code = CL_SUCCESS;
  const Queue without(clCreateCommandQueueWithProperties(context_, device_, nullptr, &code));
  ASSERT_SUCCESS(code);
  EXPECT_TRUE(check_query(query_of(without, CL_QUEUE_PROPERTIES_ARRAY)).empty());
  const Queue legacy(clCreateCommandQueue(context_, device_, CL_QUEUE_PROFILING_ENABLE, &code));
  ASSERT_SUCCESS(code);
  EXPECT_TRUE(check_query(query_of(legacy, CL_QUEUE_PROPERTIES_ARRAY)).empty());
}

TEST_F(ClGetCommandQueueInfo, ReferenceCount) {
  const Queue queue = make_queue();
  EXPECT_EQ(reference_count(queue.get(), CL_QUEUE_REFERENCE_COUNT), 1u);
  EXPECT_SUCCESS(clRetainCommandQueue(queue));
  EXPECT_EQ(reference_count(queue.get(), CL_QUEUE_REFERENCE_COUNT), 2u);
  EXPECT_SUCCESS(clReleaseCommandQueue(queue));
  EXPECT_EQ(reference_count(queue.get(), CL_QUEUE_REFERENCE_COUNT), 1u);
}

TEST_F(ClGetCommandQueueInfo, SizeIsForDeviceQueues) {
  // "CL_QUEUE_SIZE [...] CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue
  // for param_name"
  const Queue queue = make_queue();
  cl_uint size = 0;
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE,
            clGetCommandQueueInfo(queue, CL_QUEUE_SIZE, sizeof(size), &size, nullptr));
}

TEST_F(ClGetCommandQueueInfo, DefaultDeviceQueueIsNull) {
  if (device_version() < 210) GTEST_SKIP() << "an OpenCL 2.1 query";
  const auto on_device = value_of<cl_command_queue_properties>(
      query_of(device_, CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES));
  if (on_device != 0) GTEST_SKIP() << "the device has device queues";
  const Queue queue = make_queue();
  EXPECT_EQ(value_of<cl_command_queue>(query_of(queue, CL_QUEUE_DEVICE_DEFAULT)), nullptr);
}

TEST_F(ClGetCommandQueueInfo, RejectsUnknownParameter) {
  const Queue queue = make_queue();
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetCommandQueueInfo(queue, 0xdead, 0, nullptr, &size));
}

TEST_F(ClCreateCommandQueue, PropertiesCanBeSet) {
  const Queue queue = make_queue();
  const Buffer buffer = make_buffer(4);
  const auto properties = [&] {
    return value_of<cl_command_queue_properties>(query_of(queue, CL_QUEUE_PROPERTIES));
  };
  const auto written = [&](cl_int value) {
    Event event;
    EXPECT_SUCCESS(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof value, &value, 0,
                                        nullptr, event.out()));
    EXPECT_SUCCESS(clFinish(queue));
    return event;
  };
  const Event before = written(1);
  cl_command_queue_properties old = 99;
  // An implementation may also refuse: "CL_INVALID_OPERATION if no devices in the context
  // associated with command_queue support modifying the properties of a command-queue."
  const cl_int code = clSetCommandQueueProperty(queue, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, &old);
  if (!options().tutti && code == CL_INVALID_OPERATION) GTEST_SKIP() << "refused";
  ASSERT_SUCCESS(code);
  EXPECT_EQ(old, 0u);
  EXPECT_EQ(properties(), cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE});
  const Event timed = written(2);
  cl_ulong time = 0;
  EXPECT_SUCCESS(
      clGetEventProfilingInfo(timed, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr));
  ASSERT_SUCCESS(clSetCommandQueueProperty(
      queue, CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_TRUE, &old));
  EXPECT_EQ(old, cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE});
  ASSERT_SUCCESS(clSetCommandQueueProperty(queue, CL_QUEUE_PROFILING_ENABLE, CL_FALSE, nullptr));
  EXPECT_EQ(properties(), cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE});
  const Event after = written(3);
  EXPECT_CL(CL_PROFILING_INFO_NOT_AVAILABLE,
            clGetEventProfilingInfo(after, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, clSetCommandQueueProperty(queue, 1u << 20, CL_TRUE, nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE,
            clSetCommandQueueProperty(nullptr, CL_QUEUE_PROFILING_ENABLE, CL_TRUE, nullptr));
}

TEST_F(ClCreateCommandQueue, HostQueuesAreNoDefaultDeviceQueues) {
  if (device_version() < 210) GTEST_SKIP() << "an OpenCL 2.1 function";
  if (!options().tutti) GTEST_SKIP() << "null in vendors' tables";
  const auto enqueue = value_of<cl_device_device_enqueue_capabilities>(
      query_of(device_, CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES));
  // "CL_INVALID_OPERATION if device does not support a replaceable default on-device queue.
  // CL_INVALID_COMMAND_QUEUE if command_queue is not a valid command-queue for device."
  const bool replaceable = (enqueue & CL_DEVICE_QUEUE_REPLACEABLE_DEFAULT) != 0;
  const Queue queue = make_queue();
  EXPECT_CL(replaceable ? CL_INVALID_COMMAND_QUEUE : CL_INVALID_OPERATION,
            clSetDefaultDeviceCommandQueue(context_, device_, queue));
}

}  // namespace
}  // namespace tutti::api_tests
