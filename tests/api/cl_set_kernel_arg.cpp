// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using ClSetKernelArg = KernelTest;

// As `Record` in the kernels' source; float4 is aligned to 16 bytes.
struct alignas(16) Record {
  cl_int a;
  alignas(16) cl_float v[4];
  cl_char c;
};

TEST_F(ClSetKernelArg, EveryKindOfArgument) {
  const Kernel many = kernel("many_arguments");
  const Buffer out = make_buffer(4 * 64);
  const Buffer table = make_buffer_of(std::vector<cl_int>{100000, 1, 2});
  const cl_short4 s = {{1, 2, 3, 400}};
  const Record record = {5000, {0, 0, 60000, 0}, 7};
  set_args(many, out, cl_char{-3}, s, record, table, LocalBytes{64 * 4}, cl_int{11});
  ASSERT_SUCCESS(launch(many, 64, 64));
  const cl_int expected = -3 + 400 + 5000 + 60000 + 7 + 100000 + 11;
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, expected), read_all<cl_int>(out, 64)));
}

TEST_F(ClSetKernelArg, ValueIsTakenWhenItIsSet) {
  const Kernel add = kernel("add_scalar");
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 0));
  set_args(add, data, cl_int{1});
  ASSERT_SUCCESS(launch(add, 64, 64));
  // Changes after the enqueue concern later launches only.
  for (const cl_int value : {10, 100, 1000}) {
    cl_int local = value;
    ASSERT_SUCCESS(clSetKernelArg(add, 1, sizeof(local), &local));
    local = -1;
    ASSERT_SUCCESS(launch(add, 64, 64));
  }
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 1111), read_all<cl_int>(data, 64)));
}

TEST_F(ClSetKernelArg, BufferArgumentCanBeChangedBetweenLaunches) {
  const Kernel add = kernel("add_scalar");
  std::vector<Buffer> buffers;
  for (cl_int i = 0; i < 5; ++i) {
    buffers.push_back(make_buffer_of(std::vector<cl_int>(64, i)));
    set_args(add, buffers.back(), 100 * i);
    ASSERT_SUCCESS(launch(add, 64, 64));
  }
  for (cl_int i = 0; i < 5; ++i) {
    EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 101 * i),
                              read_all<cl_int>(buffers[static_cast<size_t>(i)], 64)));
  }
}

TEST_F(ClSetKernelArg, NullBuffers) {
  // "If the argument is a buffer object, the arg_value pointer can be NULL or point to a NULL
  // value in which case a NULL value will be used as the value for the argument"
  const Kernel is_null = kernel("is_null");
  const Buffer out = make_buffer(4);
  const Buffer some = make_buffer(4);
  const cl_mem none = nullptr;
  ASSERT_SUCCESS(set_arg(is_null, 1, out));
  ASSERT_SUCCESS(clSetKernelArg(is_null, 0, sizeof(cl_mem), &none));
  ASSERT_SUCCESS(launch(is_null, 1, 1));
  EXPECT_EQ(read_all<cl_int>(out, 1)[0], 1);
  ASSERT_SUCCESS(set_arg(is_null, 0, some));
  ASSERT_SUCCESS(launch(is_null, 1, 1));
  EXPECT_EQ(read_all<cl_int>(out, 1)[0], 2);
  ASSERT_SUCCESS(clSetKernelArg(is_null, 0, sizeof(cl_mem), nullptr));
  ASSERT_SUCCESS(launch(is_null, 1, 1));
  EXPECT_EQ(read_all<cl_int>(out, 1)[0], 1);
}

TEST_F(ClSetKernelArg, RejectsBadIndex) {
  // "CL_INVALID_ARG_INDEX if arg_index is not a valid argument index."
  const Kernel add = kernel("add_scalar");
  const cl_int value = 0;
  EXPECT_CL(CL_INVALID_ARG_INDEX, clSetKernelArg(add, 2, sizeof(value), &value));
  EXPECT_CL(CL_INVALID_ARG_INDEX, clSetKernelArg(add, ~cl_uint{0}, sizeof(value), &value));
}

TEST_F(ClSetKernelArg, RejectsBadSizes) {
  // "CL_INVALID_ARG_SIZE if arg_size does not match the size of the data type for an argument that
  // is not a memory object or if the argument is a memory object and arg_size != sizeof(cl_mem) or
  // if arg_size is zero and the argument is declared with the local qualifier"
  const Kernel many = kernel("many_arguments");
  const Buffer buffer = make_buffer(64);
  const std::vector<uint8_t> bytes(256);
  EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(many, 0, sizeof(cl_mem) - 1, buffer.list()));
  EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(many, 0, sizeof(cl_mem) + 1, buffer.list()));
  EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(many, 0, 0, buffer.list()));
  EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(many, 4, 4, buffer.list()));
  const std::pair<cl_uint, size_t> values[] = {{1, 1}, {2, 8}, {3, sizeof(Record)}, {6, 4}};
  for (const auto& [index, size] : values) {
    EXPECT_CL(CL_SUCCESS, clSetKernelArg(many, index, size, bytes.data())) << index;
    EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(many, index, size + 1, bytes.data())) << index;
    EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(many, index, size - 1, bytes.data())) << index;
  }
  // "This error condition does not apply if the platform associated with kernel is OpenCL 3.1 or
  // newer."
  EXPECT_CL(platform_version() >= 310 ? CL_SUCCESS : CL_INVALID_ARG_SIZE,
            clSetKernelArg(many, 5, 0, nullptr));
}

TEST_F(ClSetKernelArg, LocalMemoryMayBeNone) {
  if (platform_version() < 310) GTEST_SKIP() << "of OpenCL 3.1";
  const Program program = build(
      "kernel void maybe(global int* out, local int* scratch, int size) {\n"
      "  for (int i = 0; i < size; ++i) scratch[i] = 5;\n"
      "  out[0] = size ? scratch[size - 1] : 7;\n"
      "}\n");
  const Kernel maybe = make_kernel(program, "maybe");
  const Buffer out = make_buffer(sizeof(cl_int));
  set_args(maybe, out, LocalBytes{0}, cl_int{0});
  EXPECT_SUCCESS(launch(maybe, 1, 1));
  EXPECT_EQ(read_all<cl_int>(out, 1)[0], 7);
  set_args(maybe, out, LocalBytes{16}, cl_int{4});
  EXPECT_SUCCESS(launch(maybe, 1, 1));
  EXPECT_EQ(read_all<cl_int>(out, 1)[0], 5);
}

TEST_F(ClSetKernelArg, RejectsBadValues) {
  // "CL_INVALID_ARG_VALUE if arg_value specified is not a valid value": for a local argument it
  // must be NULL, for one passed by value it must not.
  const Kernel many = kernel("many_arguments");
  const cl_int value = 1;
  EXPECT_CL(CL_INVALID_ARG_VALUE, clSetKernelArg(many, 5, sizeof(value), &value));
  EXPECT_CL(CL_INVALID_ARG_VALUE, clSetKernelArg(many, 6, sizeof(value), nullptr));
}

TEST_F(ClSetKernelArg, RejectsHandleOfAnotherKind) {
  if (!options().strict_handles) GTEST_SKIP() << "--strict-handles is off";
  // "CL_INVALID_MEM_OBJECT for an argument declared to be a memory object when the specified
  // arg_value is not a valid memory object."
  const Kernel add = kernel("add_one");
  const cl_command_queue queue = queue_;
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clSetKernelArg(add, 0, sizeof(queue), &queue));
}

TEST_F(ClSetKernelArg, RejectsNullSampler) {
  if (value_of<cl_bool>(query_of(device_, CL_DEVICE_IMAGE_SUPPORT)) == CL_FALSE) {
    GTEST_SKIP() << "no images";
  }
  // "CL_INVALID_SAMPLER for an argument declared to be of type sampler_t when the specified
  // arg_value is not a valid sampler object."
  const Program program = build(
      "kernel void sampled(read_only image2d_t image, sampler_t sampler, global float4* out) {\n"
      "  out[0] = read_imagef(image, sampler, (int2)(0, 0));\n}\n");
  const Kernel sampled = make_kernel(program, "sampled");
  const cl_sampler none = nullptr;
  EXPECT_CL(CL_INVALID_SAMPLER, clSetKernelArg(sampled, 1, sizeof(none), &none));
  // "[CL_INVALID_ARG_SIZE] if the argument is a sampler and arg_size != sizeof(cl_sampler)"
  EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(sampled, 1, 4, &none));
}

TEST_F(ClSetKernelArg, RejectsNullKernel) {
  const cl_int value = 0;
  EXPECT_CL(CL_INVALID_KERNEL, clSetKernelArg(nullptr, 0, sizeof(value), &value));
}

TEST_F(ClSetKernelArg, FailedSetKeepsTheOldValue) {
  const Kernel add = kernel("add_scalar");
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 0));
  set_args(add, data, cl_int{5});
  const cl_long wide = 7;
  EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(add, 1, sizeof(wide), &wide));
  ASSERT_SUCCESS(launch(add, 64, 64));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 5), read_all<cl_int>(data, 64)));
}

}  // namespace
}  // namespace tutti::api_tests
