// SPDX-License-Identifier: Apache-2.0
//
// Pipes: what the host makes and asks, and kernels that pass packets on. Where the device has none,
// unsupported_features.cpp says what its calls give.
#include <algorithm>
#include <numeric>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

constexpr size_t kPackets = 1024;

class Pipes : public QueueTest {
 protected:
  void SetUp() override {
    QueueTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    if (device_version() < 300 ||
        value_of<cl_bool>(query_of(device_, CL_DEVICE_PIPE_SUPPORT)) != CL_TRUE) {
      GTEST_SKIP() << "the device has no pipes";
    }
  }
  Buffer make_pipe(cl_uint packet_size, cl_uint packets, cl_mem_flags flags = 0) const {
    cl_int code = CL_SUCCESS;
    Buffer pipe(clCreatePipe(context_, flags, packet_size, packets, nullptr, &code));
    EXPECT_SUCCESS(code);
    return pipe;
  }
  void expect_refused(cl_int expected, cl_mem_flags flags, cl_uint packet_size, cl_uint packets,
                      const cl_pipe_properties* properties = nullptr) const {
    cl_int code = CL_SUCCESS;
    EXPECT_EQ(clCreatePipe(context_, flags, packet_size, packets, properties, &code), nullptr);
    EXPECT_CL(expected, code);
  }
  void run(cl_kernel kernel, size_t items) const {
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr));
  }
  Program passing() const {
    return build(R"CLC(
kernel void fill(global const int* in, write_only pipe int p) {
  int value = in[get_global_id(0)];
  write_pipe(p, &value);
}
kernel void drain(read_only pipe int p, global int* out, global int* failed) {
  int value = -1;
  if (read_pipe(p, &value) == 0) out[get_global_id(0)] = value;
  else failed[get_global_id(0)] = 1;
}
kernel void count(read_only pipe int p, global uint* out) {
  out[0] = get_pipe_num_packets(p);
  out[1] = get_pipe_max_packets(p);
}
)CLC",
                 "-cl-std=CL2.0 -cl-kernel-arg-info");
  }
};

TEST_F(Pipes, Queries) {
  const Buffer pipe = make_pipe(8, 16);
  cl_uint value = 0;
  ASSERT_SUCCESS(clGetPipeInfo(pipe, CL_PIPE_PACKET_SIZE, sizeof value, &value, nullptr));
  EXPECT_EQ(value, 8u);
  ASSERT_SUCCESS(clGetPipeInfo(pipe, CL_PIPE_MAX_PACKETS, sizeof value, &value, nullptr));
  EXPECT_EQ(value, 16u);
  size_t size = 1;
  ASSERT_SUCCESS(clGetPipeInfo(pipe, CL_PIPE_PROPERTIES, 0, nullptr, &size));
  EXPECT_EQ(size, 0u);
  EXPECT_CL(CL_INVALID_VALUE, clGetPipeInfo(pipe, CL_MEM_TYPE, sizeof value, &value, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, clGetPipeInfo(pipe, CL_PIPE_MAX_PACKETS, 1, &value, nullptr));
  cl_mem_object_type type = 0;
  ASSERT_SUCCESS(clGetMemObjectInfo(pipe, CL_MEM_TYPE, sizeof type, &type, nullptr));
  EXPECT_EQ(type, static_cast<cl_mem_object_type>(CL_MEM_OBJECT_PIPE));
  cl_mem_flags flags = 0;
  ASSERT_SUCCESS(clGetMemObjectInfo(pipe, CL_MEM_FLAGS, sizeof flags, &flags, nullptr));
  EXPECT_EQ(flags, cl_mem_flags{CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS});
  const Buffer buffer = make_buffer(64);
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            clGetPipeInfo(buffer, CL_PIPE_PACKET_SIZE, sizeof value, &value, nullptr));
}

TEST_F(Pipes, WhatCannotBeMade) {
  const auto largest = value_of<cl_uint>(query_of(device_, CL_DEVICE_PIPE_MAX_PACKET_SIZE));
  ASSERT_GE(largest, 1024u);
  expect_refused(CL_INVALID_PIPE_SIZE, 0, 0, 16);
  expect_refused(CL_INVALID_PIPE_SIZE, 0, largest + 1, 16);
  expect_refused(CL_INVALID_PIPE_SIZE, 0, 4, 0);
  expect_refused(CL_INVALID_VALUE, CL_MEM_READ_ONLY, 4, 16);
  expect_refused(CL_INVALID_VALUE, CL_MEM_USE_HOST_PTR, 4, 16);
  const cl_pipe_properties none[] = {0};
  expect_refused(CL_INVALID_VALUE, 0, 4, 16, none);
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(clCreatePipe(nullptr, 0, 4, 16, nullptr, &code), nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
}

TEST_F(Pipes, AreNoBuffersAndNoImages) {
  const Buffer pipe = make_pipe(4, 16);
  cl_int value = 0;
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            clEnqueueReadBuffer(queue_, pipe, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            clEnqueueWriteBuffer(queue_, pipe, CL_TRUE, 0, 4, &value, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            clEnqueueFillBuffer(queue_, pipe, &value, 4, 0, 4, 0, nullptr, nullptr));
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(
      clEnqueueMapBuffer(queue_, pipe, CL_TRUE, CL_MAP_READ, 0, 4, 0, nullptr, nullptr, &code),
      nullptr);
  EXPECT_CL(CL_INVALID_MEM_OBJECT, code);
  const cl_buffer_region region{0, 4};
  EXPECT_EQ(clCreateSubBuffer(pipe, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code), nullptr);
  EXPECT_CL(CL_INVALID_MEM_OBJECT, code);
  const Buffer buffer = make_buffer(64);
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            clEnqueueCopyBuffer(queue_, pipe, buffer, 0, 0, 4, 0, nullptr, nullptr));
}

TEST_F(Pipes, Arguments) {
  const Program program = passing();
  const Kernel drain = make_kernel(program, "drain");
  const Buffer pipe = make_pipe(4, 16);
  const Buffer buffer = make_buffer(64);
  const cl_mem none = nullptr;
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clSetKernelArg(drain, 0, sizeof(cl_mem), buffer.list()));
  EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(drain, 0, 2, pipe.list()));
  EXPECT_CL(CL_INVALID_ARG_VALUE, clSetKernelArg(drain, 0, sizeof(cl_mem), &none));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clSetKernelArg(drain, 1, sizeof(cl_mem), pipe.list()));
  EXPECT_SUCCESS(clSetKernelArg(drain, 0, sizeof(cl_mem), pipe.list()));

  cl_kernel_arg_address_qualifier address = 0;
  cl_kernel_arg_access_qualifier access = 0;
  cl_kernel_arg_type_qualifier type = 0;
  ASSERT_SUCCESS(clGetKernelArgInfo(drain, 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof address,
                                    &address, nullptr));
  ASSERT_SUCCESS(clGetKernelArgInfo(drain, 0, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access,
                                    &access, nullptr));
  ASSERT_SUCCESS(
      clGetKernelArgInfo(drain, 0, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof type, &type, nullptr));
  EXPECT_EQ(address, cl_kernel_arg_address_qualifier{CL_KERNEL_ARG_ADDRESS_GLOBAL});
  EXPECT_EQ(access, cl_kernel_arg_access_qualifier{CL_KERNEL_ARG_ACCESS_READ_ONLY});
  EXPECT_EQ(type, cl_kernel_arg_type_qualifier{CL_KERNEL_ARG_TYPE_PIPE});
}

TEST_F(Pipes, PacketsPassFromKernelToKernel) {
  const Program program = passing();
  const Kernel fill = make_kernel(program, "fill");
  const Kernel drain = make_kernel(program, "drain");
  const Kernel count = make_kernel(program, "count");
  std::vector<cl_int> numbers(kPackets);
  std::iota(numbers.begin(), numbers.end(), 7);
  const Buffer in = make_buffer_of(numbers, CL_MEM_READ_ONLY);
  const Buffer out = make_buffer_of(std::vector<cl_int>(kPackets));
  const Buffer failed = make_buffer_of(std::vector<cl_int>(kPackets));
  const Buffer counts = make_buffer(2 * sizeof(cl_uint));
  const Buffer pipe = make_pipe(4, kPackets);
  set_args(fill, in, pipe);
  set_args(drain, pipe, out, failed);
  set_args(count, pipe, counts);
  for (int round = 0; round < 3; ++round) {
    run(fill, kPackets);
    run(count, 1);
    const auto seen = read_all<cl_uint>(counts, 2);
    EXPECT_EQ(seen[0], kPackets);
    EXPECT_GE(seen[1], kPackets);
    run(drain, kPackets);
    std::vector<cl_int> passed = read_all<cl_int>(out, kPackets);
    std::sort(passed.begin(), passed.end());  // in any order, and each once
    EXPECT_TRUE(same_elements(numbers, passed));
    EXPECT_TRUE(same_elements(std::vector<cl_int>(kPackets), read_all<cl_int>(failed, kPackets)));
  }
  // It is empty now.
  run(drain, kPackets);
  EXPECT_TRUE(same_elements(std::vector<cl_int>(kPackets, 1), read_all<cl_int>(failed, kPackets)));
}

TEST_F(Pipes, AReleasedOneServesWhatIsInFlight) {
  const Program program = passing();
  const Kernel fill = make_kernel(program, "fill");
  const Buffer in = make_buffer_of(std::vector<cl_int>(kPackets, 3), CL_MEM_READ_ONLY);
  Buffer pipe = make_pipe(4, kPackets);
  set_args(fill, in, pipe);
  run(fill, kPackets);
  pipe.reset();
  EXPECT_SUCCESS(clFinish(queue_));
}

}  // namespace
}  // namespace tutti::api_tests
