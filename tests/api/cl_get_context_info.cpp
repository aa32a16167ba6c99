// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using ClGetContextInfo = ContextTest;
using ClSetContextDestructorCallback = ContextTest;

TEST_F(ClGetContextInfo, Devices) {
  EXPECT_EQ(value_of<cl_uint>(query_of(context_, CL_CONTEXT_NUM_DEVICES)), 1u);
  EXPECT_EQ(array_of<cl_device_id>(query_of(context_, CL_CONTEXT_DEVICES)),
            std::vector<cl_device_id>{device_});
}

TEST_F(ClGetContextInfo, PropertiesAsGiven) {
  const std::vector<cl_context_properties> expected = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform_), 0};
  EXPECT_EQ(array_of<cl_context_properties>(query_of(context_, CL_CONTEXT_PROPERTIES)), expected);
}

TEST_F(ClGetContextInfo, NoPropertiesGiveAnEmptyAnswer) {
  cl_int code = CL_SUCCESS;
  const Context context(clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  // "if the properties argument specified in clCreateContext is NULL, the implementation must
  // return param_value_size_ret as 0, or the single value 0"
  const auto properties = array_of<cl_context_properties>(query_of(context, CL_CONTEXT_PROPERTIES));
  EXPECT_TRUE(properties.empty() || properties == std::vector<cl_context_properties>{0});
}

TEST_F(ClGetContextInfo, ReferenceCount) {
  EXPECT_EQ(reference_count(context_.get(), CL_CONTEXT_REFERENCE_COUNT), 1u);
  EXPECT_SUCCESS(clRetainContext(context_));
  EXPECT_EQ(reference_count(context_.get(), CL_CONTEXT_REFERENCE_COUNT), 2u);
  EXPECT_SUCCESS(clReleaseContext(context_));
  EXPECT_EQ(reference_count(context_.get(), CL_CONTEXT_REFERENCE_COUNT), 1u);
}

TEST_F(ClGetContextInfo, ObjectsKeepTheContextWithoutCounting) {
  // The count that applications see is theirs: a queue or a buffer does not change it, and keeps
  // the context alive all the same.
  Buffer buffer = make_buffer(64);
  Queue queue = make_queue();
  if (options().tutti) {  // vendors may count otherwise
    EXPECT_EQ(reference_count(context_.get(), CL_CONTEXT_REFERENCE_COUNT), 1u);
  }
  context_.reset();
  std::vector<uint8_t> data(64, 7);
  EXPECT_SUCCESS(
      clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, 64, data.data(), 0, nullptr, nullptr));
  EXPECT_NE(value_of<cl_context>(query_of(buffer, CL_MEM_CONTEXT)), nullptr);
}

TEST_F(ClGetContextInfo, RejectsUnknownParameter) {
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetContextInfo(context_, 0xdead, 0, nullptr, &size));
}

struct Call {
  std::vector<int>* order;
  int number;
  Latch* done;
};

void CL_CALLBACK record(cl_context, void* user_data) {
  auto* call = static_cast<Call*>(user_data);
  call->order->push_back(call->number);
  call->done->count_down();
}

TEST_F(ClSetContextDestructorCallback, CalledInReverseOrder) {
  if (device_version() < 300) GTEST_SKIP() << "an OpenCL 3.0 function";
  std::vector<int> order;
  Latch done(3);
  Call calls[] = {{&order, 0, &done}, {&order, 1, &done}, {&order, 2, &done}};
  for (Call& call : calls) {
    ASSERT_SUCCESS(clSetContextDestructorCallback(context_, record, &call));
  }
  EXPECT_TRUE(order.empty());
  context_.reset();
  ASSERT_TRUE(done.wait());
  // "The registered callback functions are called in the reverse order in which they were
  // registered."
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
}

TEST_F(ClSetContextDestructorCallback, RejectsNullCallback) {
  if (device_version() < 300) GTEST_SKIP() << "an OpenCL 3.0 function";
  // "CL_INVALID_VALUE if pfn_notify is NULL."
  EXPECT_CL(CL_INVALID_VALUE, clSetContextDestructorCallback(context_, nullptr, nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
