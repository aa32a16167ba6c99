// SPDX-License-Identifier: Apache-2.0
//
// What Tutti does not offer, or not on all devices: foreign binaries,
// SVM, pipes. Calling it must give an error code or work, and must never crash: the dispatch table
// has no null slots. Not run against vendors' drivers, where such calls may do anything.
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class UnsupportedFeatures : public KernelTest {
 protected:
  void SetUp() override {
    if (!options().tutti) GTEST_SKIP() << "for Tutti only";
    KernelTest::SetUp();
    if (HasFatalFailure()) return;
    buffer_ = make_buffer(4096);
  }
  // An object and CL_SUCCESS, or no object and an error.
  template <typename T, typename Release>
  void expect_object_or_error(T object, cl_int code, Release release) {
    EXPECT_EQ(object != nullptr, code == CL_SUCCESS) << error_name(code);
    if (object != nullptr) {
      EXPECT_SUCCESS(release(object));
    }
  }
  void expect_error(cl_int code) { EXPECT_LT(code, 0); }

  Buffer buffer_;
  cl_int code_ = CL_SUCCESS;
  const size_t zero_[3] = {0, 0, 0};
  const size_t one_[3] = {1, 1, 1};
};

TEST_F(UnsupportedFeatures, ImageCommands) {
  // A buffer is no image, whatever is supported.
  uint8_t data[64] = {};
  size_t pitch = 0;
  expect_error(
      clEnqueueReadImage(queue_, buffer_, CL_TRUE, zero_, one_, 0, 0, data, 0, nullptr, nullptr));
  expect_error(
      clEnqueueWriteImage(queue_, buffer_, CL_TRUE, zero_, one_, 0, 0, data, 0, nullptr, nullptr));
  expect_error(
      clEnqueueCopyImage(queue_, buffer_, buffer_, zero_, zero_, one_, 0, nullptr, nullptr));
  expect_error(
      clEnqueueCopyImageToBuffer(queue_, buffer_, buffer_, zero_, one_, 0, 0, nullptr, nullptr));
  expect_error(
      clEnqueueCopyBufferToImage(queue_, buffer_, buffer_, 0, zero_, one_, 0, nullptr, nullptr));
  expect_error(clEnqueueFillImage(queue_, buffer_, data, zero_, one_, 0, nullptr, nullptr));
  EXPECT_EQ(clEnqueueMapImage(queue_, buffer_, CL_TRUE, CL_MAP_READ, zero_, one_, &pitch, nullptr,
                              0, nullptr, nullptr, &code_),
            nullptr);
  expect_error(code_);
}

TEST_F(UnsupportedFeatures, Samplers) {
  cl_sampler sampler =
      clCreateSampler(context_, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &code_);
  expect_object_or_error(sampler, code_, clReleaseSampler);
  sampler = clCreateSamplerWithProperties(context_, nullptr, &code_);
  expect_object_or_error(sampler, code_, clReleaseSampler);
  size_t size = 0;
  EXPECT_CL(CL_INVALID_SAMPLER, clGetSamplerInfo(nullptr, CL_SAMPLER_CONTEXT, 0, nullptr, &size));
}

TEST_F(UnsupportedFeatures, BinariesAndIntermediateLanguage) {
  const unsigned char bytes[] = {1, 2, 3, 4};
  const unsigned char* binary = bytes;
  const size_t length = sizeof(bytes);
  cl_int status = CL_SUCCESS;
  EXPECT_EQ(clCreateProgramWithBinary(context_, 1, &device_, &length, &binary, &status, &code_),
            nullptr);
  expect_error(code_);
  EXPECT_EQ(clCreateProgramWithIL(context_, bytes, length, &code_), nullptr);
  expect_error(code_);
  const bool taken =
      device_version() >= 210 && !string_of(query_of(device_, CL_DEVICE_IL_VERSION)).empty();
  EXPECT_CL(taken ? CL_INVALID_VALUE : CL_INVALID_OPERATION, code_);
  EXPECT_EQ(clCreateProgramWithBuiltInKernels(context_, 1, &device_, "none_such", &code_), nullptr);
  expect_error(code_);
  // "CL_INVALID_OPERATION if no devices associated with program support intermediate language
  // programs", "CL_INVALID_PROGRAM if program is not a valid program object created from" one.
  EXPECT_CL(taken ? CL_INVALID_PROGRAM : CL_INVALID_OPERATION,
            clSetProgramSpecializationConstant(program_, 0, 4, bytes));
  EXPECT_CL(CL_INVALID_PROGRAM, clSetProgramSpecializationConstant(nullptr, 0, 4, bytes));
  expect_error(clSetProgramReleaseCallback(program_, nullptr, nullptr));
}

TEST_F(UnsupportedFeatures, NativeKernels) {
  const auto capabilities =
      value_of<cl_device_exec_capabilities>(query_of(device_, CL_DEVICE_EXECUTION_CAPABILITIES));
  if ((capabilities & CL_EXEC_NATIVE_KERNEL) != 0) GTEST_SKIP() << "supported";
  // "CL_INVALID_OPERATION if the device associated with command_queue cannot execute the native
  // kernel."
  EXPECT_CL(CL_INVALID_OPERATION,
            clEnqueueNativeKernel(
                queue_, [](void*) {}, nullptr, 0, 0, nullptr, nullptr, 0, nullptr, nullptr));
}

TEST_F(UnsupportedFeatures, SharedVirtualMemory) {
  if (value_of<cl_device_svm_capabilities>(query_of(device_, CL_DEVICE_SVM_CAPABILITIES)) != 0) {
    GTEST_SKIP() << "supported";
  }
  uint8_t data[64] = {};
  // "clSVMAlloc returns a NULL pointer if [...] no device supports SVM"; the commands:
  // "CL_INVALID_OPERATION if the device associated with command queue does not support SVM."
  EXPECT_EQ(clSVMAlloc(context_, CL_MEM_READ_WRITE, 64, 0), nullptr);
  clSVMFree(context_, nullptr);
  EXPECT_CL(CL_INVALID_OPERATION,
            clEnqueueSVMMemcpy(queue_, CL_TRUE, data, data + 32, 16, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_OPERATION,
            clEnqueueSVMMemFill(queue_, data, data, 1, 16, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_OPERATION,
            clEnqueueSVMMap(queue_, CL_TRUE, CL_MAP_READ, data, 16, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_OPERATION, clEnqueueSVMUnmap(queue_, data, 0, nullptr, nullptr));
  void* pointers[] = {data};
  const size_t sizes[] = {16};
  EXPECT_CL(CL_INVALID_OPERATION,
            clEnqueueSVMFree(queue_, 1, pointers, nullptr, nullptr, 0, nullptr, nullptr));
  const void* const_pointers[] = {data};
  EXPECT_CL(CL_INVALID_OPERATION,
            clEnqueueSVMMigrateMem(queue_, 1, const_pointers, sizes, 0, 0, nullptr, nullptr));
  const Kernel add = kernel("add_one");
  EXPECT_CL(CL_INVALID_OPERATION, clSetKernelArgSVMPointer(add, 0, data));
  expect_error(clSetKernelExecInfo(add, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(pointers), pointers));
}

TEST_F(UnsupportedFeatures, Pipes) {
  if (value_of<cl_bool>(query_of(device_, CL_DEVICE_PIPE_SUPPORT)) == CL_TRUE) {
    GTEST_SKIP() << "supported";
  }
  // "CL_INVALID_OPERATION if no devices in context support pipes."
  EXPECT_EQ(clCreatePipe(context_, 0, 4, 16, nullptr, &code_), nullptr);
  EXPECT_CL(CL_INVALID_OPERATION, code_);
  size_t size = 0;
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clGetPipeInfo(buffer_, CL_PIPE_PACKET_SIZE, 0, nullptr, &size));
}

}  // namespace
}  // namespace tutti::api_tests
