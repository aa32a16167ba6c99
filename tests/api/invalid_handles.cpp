// SPDX-License-Identifier: Apache-2.0
//
// Handles that are NULL, or of another kind than the call wants. NULL as the first argument is
// often answered by the ICD loader; inside of lists and in later arguments it is the driver's.
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using NullHandles = KernelTest;

TEST_F(NullHandles, RetainAndRelease) {
  EXPECT_CL(CL_INVALID_DEVICE, clRetainDevice(nullptr));
  EXPECT_CL(CL_INVALID_DEVICE, clReleaseDevice(nullptr));
  EXPECT_CL(CL_INVALID_CONTEXT, clRetainContext(nullptr));
  EXPECT_CL(CL_INVALID_CONTEXT, clReleaseContext(nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clRetainCommandQueue(nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clReleaseCommandQueue(nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clRetainMemObject(nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clReleaseMemObject(nullptr));
  EXPECT_CL(CL_INVALID_PROGRAM, clRetainProgram(nullptr));
  EXPECT_CL(CL_INVALID_PROGRAM, clReleaseProgram(nullptr));
  EXPECT_CL(CL_INVALID_KERNEL, clRetainKernel(nullptr));
  EXPECT_CL(CL_INVALID_KERNEL, clReleaseKernel(nullptr));
  EXPECT_CL(CL_INVALID_EVENT, clRetainEvent(nullptr));
  EXPECT_CL(CL_INVALID_EVENT, clReleaseEvent(nullptr));
  EXPECT_CL(CL_INVALID_SAMPLER, clRetainSampler(nullptr));
  EXPECT_CL(CL_INVALID_SAMPLER, clReleaseSampler(nullptr));
}

TEST_F(NullHandles, Queries) {
  size_t size = 0;
  EXPECT_CL(CL_INVALID_DEVICE, clGetDeviceInfo(nullptr, CL_DEVICE_NAME, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_CONTEXT, clGetContextInfo(nullptr, CL_CONTEXT_DEVICES, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE,
            clGetCommandQueueInfo(nullptr, CL_QUEUE_CONTEXT, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clGetMemObjectInfo(nullptr, CL_MEM_SIZE, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_PROGRAM, clGetProgramInfo(nullptr, CL_PROGRAM_SOURCE, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_KERNEL, clGetKernelInfo(nullptr, CL_KERNEL_NUM_ARGS, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_EVENT, clGetEventInfo(nullptr, CL_EVENT_COMMAND_TYPE, 0, nullptr, &size));
}

// Every entry below passes a handle of the wrong kind. Vendors may crash on that; a layer that
// tags its handles must not.
class WrongHandles : public KernelTest {
 protected:
  void SetUp() override {
    if (!options().strict_handles) GTEST_SKIP() << "--strict-handles is off";
    KernelTest::SetUp();
    if (HasFatalFailure()) return;
    buffer_ = make_buffer(64);
    event_ = make_user_event();
    ASSERT_SUCCESS(clSetUserEventStatus(event_, CL_COMPLETE));
    kernel_ = kernel("write_one");
    set_args(kernel_, buffer_, cl_int{1});
  }
  template <typename To, typename From>
  static To as(const From& handle) {
    return reinterpret_cast<To>(handle.get());
  }

  Buffer buffer_;
  Event event_;
  Kernel kernel_;
  size_t size_ = 0;
};

TEST_F(WrongHandles, FirstArguments) {
  EXPECT_CL(CL_INVALID_CONTEXT, clRetainContext(as<cl_context>(buffer_)));
  EXPECT_CL(CL_INVALID_CONTEXT, clReleaseContext(as<cl_context>(queue_)));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clRetainCommandQueue(as<cl_command_queue>(buffer_)));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clReleaseCommandQueue(as<cl_command_queue>(context_)));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clRetainMemObject(as<cl_mem>(queue_)));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clReleaseMemObject(as<cl_mem>(kernel_)));
  EXPECT_CL(CL_INVALID_PROGRAM, clRetainProgram(as<cl_program>(kernel_)));
  EXPECT_CL(CL_INVALID_PROGRAM, clReleaseProgram(as<cl_program>(event_)));
  EXPECT_CL(CL_INVALID_KERNEL, clRetainKernel(as<cl_kernel>(buffer_)));
  EXPECT_CL(CL_INVALID_KERNEL, clReleaseKernel(as<cl_kernel>(program_)));
  EXPECT_CL(CL_INVALID_EVENT, clRetainEvent(as<cl_event>(queue_)));
  EXPECT_CL(CL_INVALID_EVENT, clReleaseEvent(as<cl_event>(buffer_)));
  EXPECT_CL(CL_INVALID_SAMPLER, clRetainSampler(as<cl_sampler>(buffer_)));
  EXPECT_CL(CL_INVALID_DEVICE, clRetainDevice(as<cl_device_id>(context_)));
}

TEST_F(WrongHandles, Queries) {
  EXPECT_CL(CL_INVALID_PLATFORM,
            clGetPlatformInfo(as<cl_platform_id>(context_), CL_PLATFORM_NAME, 0, nullptr, &size_));
  EXPECT_CL(CL_INVALID_DEVICE,
            clGetDeviceInfo(as<cl_device_id>(context_), CL_DEVICE_NAME, 0, nullptr, &size_));
  EXPECT_CL(CL_INVALID_CONTEXT,
            clGetContextInfo(as<cl_context>(queue_), CL_CONTEXT_DEVICES, 0, nullptr, &size_));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clGetCommandQueueInfo(as<cl_command_queue>(buffer_),
                                                            CL_QUEUE_CONTEXT, 0, nullptr, &size_));
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            clGetMemObjectInfo(as<cl_mem>(kernel_), CL_MEM_SIZE, 0, nullptr, &size_));
  EXPECT_CL(CL_INVALID_PROGRAM,
            clGetProgramInfo(as<cl_program>(kernel_), CL_PROGRAM_SOURCE, 0, nullptr, &size_));
  EXPECT_CL(CL_INVALID_KERNEL,
            clGetKernelInfo(as<cl_kernel>(buffer_), CL_KERNEL_NUM_ARGS, 0, nullptr, &size_));
  EXPECT_CL(CL_INVALID_EVENT,
            clGetEventInfo(as<cl_event>(kernel_), CL_EVENT_COMMAND_TYPE, 0, nullptr, &size_));
}

TEST_F(WrongHandles, Creation) {
  cl_int code = CL_SUCCESS;
  const cl_device_id device = as<cl_device_id>(queue_);
  EXPECT_EQ(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code), nullptr);
  EXPECT_CL(CL_INVALID_DEVICE, code);
  EXPECT_EQ(clCreateBuffer(as<cl_context>(queue_), 0, 64, nullptr, &code), nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
  EXPECT_EQ(clCreateCommandQueue(as<cl_context>(buffer_), device_, 0, &code), nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
  EXPECT_EQ(clCreateCommandQueue(context_, device, 0, &code), nullptr);
  EXPECT_CL(CL_INVALID_DEVICE, code);
  EXPECT_EQ(clCreateKernel(as<cl_program>(kernel_), "write_one", &code), nullptr);
  EXPECT_CL(CL_INVALID_PROGRAM, code);
  EXPECT_EQ(clCreateUserEvent(as<cl_context>(event_), &code), nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
  const cl_buffer_region region = {0, 32};
  EXPECT_EQ(clCreateSubBuffer(as<cl_mem>(queue_), 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code),
            nullptr);
  EXPECT_CL(CL_INVALID_MEM_OBJECT, code);
}

TEST_F(WrongHandles, Commands) {
  uint8_t data[64] = {};
  const size_t one = 1;
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE,
            clEnqueueReadBuffer(as<cl_command_queue>(context_), buffer_, CL_TRUE, 0, 64, data, 0,
                                nullptr, nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clEnqueueReadBuffer(queue_, as<cl_mem>(kernel_), CL_TRUE, 0, 64,
                                                       data, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clEnqueueWriteBuffer(queue_, as<cl_mem>(event_), CL_TRUE, 0, 64,
                                                        data, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clEnqueueCopyBuffer(queue_, buffer_, as<cl_mem>(program_), 0, 0,
                                                       64, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_KERNEL, clEnqueueNDRangeKernel(queue_, as<cl_kernel>(buffer_), 1, nullptr,
                                                      &one, &one, 0, nullptr, nullptr));
  const cl_event wrong = as<cl_event>(buffer_);
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST,
            clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &one, &one, 1, &wrong, nullptr));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, clEnqueueMarkerWithWaitList(queue_, 1, &wrong, nullptr));
  const cl_event good_and_wrong[] = {event_, wrong};
  EXPECT_CL(CL_INVALID_EVENT, clWaitForEvents(2, good_and_wrong));
  EXPECT_CL(CL_INVALID_EVENT, clSetUserEventStatus(as<cl_event>(queue_), CL_COMPLETE));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clFinish(as<cl_command_queue>(buffer_)));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clFlush(as<cl_command_queue>(kernel_)));
  const cl_mem wrong_mem = as<cl_mem>(queue_);
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            clEnqueueMigrateMemObjects(queue_, 1, &wrong_mem, 0, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            clEnqueueUnmapMemObject(queue_, as<cl_mem>(event_), data, 0, nullptr, nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
