// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using Triple = std::array<size_t, 3>;

class ClEnqueueNdRangeKernel : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (HasFatalFailure()) return;
    add_ = kernel("add_one");
    data_ = make_buffer_of(std::vector<cl_int>(4096, 0));
    set_args(add_, data_);
  }
  cl_int enqueue(cl_kernel which, cl_uint dimensions, const size_t* offset, const size_t* global,
                 const size_t* local, cl_uint wait_count = 0, const cl_event* waits = nullptr,
                 cl_event* event = nullptr) {
    return clEnqueueNDRangeKernel(queue_, which, dimensions, offset, global, local, wait_count,
                                  waits, event);
  }

  Kernel add_;
  Buffer data_;
};

TEST_F(ClEnqueueNdRangeKernel, OffsetAndLocalSizesSelectTheItems) {
  struct Case {
    size_t offset, global, local;
  };
  std::vector<cl_int> expected(4096, 0);
  for (const Case& c : {Case{0, 4096, 64}, Case{64, 64, 64}, Case{1, 63, 0}, Case{4095, 1, 1},
                        Case{100, 997, 0}, Case{5, 128, 64}, Case{0, 1, 1}}) {
    ASSERT_SUCCESS(launch(add_, c.global, c.local, c.offset));
    for (size_t i = 0; i < c.global; ++i) ++expected[c.offset + i];
  }
  EXPECT_TRUE(same_elements(expected, read_all<cl_int>(data_, 4096)));
}

TEST_F(ClEnqueueNdRangeKernel, RequiredWorkGroupSize) {
  const Kernel required = kernel("required_size");
  const Buffer out = make_buffer_of(std::vector<cl_int>(16 * 6, 0));
  set_args(required, out);
  const Triple global = {16, 6, 1};
  const Triple right = {4, 2, 1};
  ASSERT_SUCCESS(enqueue(required, 3, nullptr, global.data(), right.data()));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(96, 42), read_all<cl_int>(out, 96)));
  // "CL_INVALID_WORK_GROUP_SIZE if local_work_size is specified and does not match the required
  // work-group size for kernel in the program source."
  const Triple wrong = {2, 2, 1};
  EXPECT_CL(CL_INVALID_WORK_GROUP_SIZE, enqueue(required, 3, nullptr, global.data(), wrong.data()));
}

TEST_F(ClEnqueueNdRangeKernel, RequiredWorkGroupSizeWithNullLocal) {
  // "CL_INVALID_WORK_GROUP_SIZE if local_work_size is NULL and the
  // __attribute__((reqd_work_group_size(X, Y, Z))) qualifier is used" was the rule up to 2.2;
  // in 3.0 the required size "will be used".
  const Kernel required = kernel("required_size");
  const Buffer out = make_buffer_of(std::vector<cl_int>(16 * 6, 0));
  set_args(required, out);
  const Triple global = {16, 6, 1};
  const cl_int code = enqueue(required, 3, nullptr, global.data(), nullptr);
  ASSERT_TRUE(is_one_of(code, {CL_SUCCESS, CL_INVALID_WORK_GROUP_SIZE}));
  const cl_int expected = code == CL_SUCCESS ? 42 : 0;
  EXPECT_TRUE(same_elements(std::vector<cl_int>(96, expected), read_all<cl_int>(out, 96)));
}

TEST_F(ClEnqueueNdRangeKernel, ZeroGlobalSizeIsATrivialCommand) {
  // "If global_work_size is NULL, or the value in any passed dimension is 0 then the kernel command
  // will trivially succeed after its event dependencies are satisfied and subsequently update its
  // completion event" (since 2.1; an error before).
  if (device_version() < 210) GTEST_SKIP() << "an error before OpenCL 2.1";
  const Triple zero = {16, 0, 1};
  Event event;
  ASSERT_SUCCESS(enqueue(add_, 3, nullptr, zero.data(), nullptr, 0, nullptr, event.out()));
  ASSERT_SUCCESS(clWaitForEvents(1, event.list()));
  ASSERT_SUCCESS(enqueue(add_, 1, nullptr, nullptr, nullptr));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(4096, 0), read_all<cl_int>(data_, 4096)));
}

TEST_F(ClEnqueueNdRangeKernel, SmallerLastGroups) {
  if (device_version() < 300 ||
      value_of<cl_bool>(query_of(device_, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT)) != CL_TRUE) {
    GTEST_SKIP() << "not offered";
  }
  const char* const source =
      "kernel void k(global int* out) {\n"
      "  out[get_global_linear_id()] = get_num_groups(0) * 1000000 + get_num_groups(1) * 100000 +\n"
      "    get_local_size(0) * 1000 + get_local_size(1) * 100 +\n"
      "    get_enqueued_local_size(0) * 10 + get_enqueued_local_size(1); }";
  const Program program = build(source, "-cl-std=CL3.0");
  const Kernel ragged = make_kernel(program, "k");
  const Buffer out = make_buffer_of(std::vector<cl_int>(10 * 5, 0));
  set_args(ragged, out);
  const Triple global = {10, 5, 1}, local = {4, 2, 1};
  ASSERT_SUCCESS(enqueue(ragged, 2, nullptr, global.data(), local.data()));
  std::vector<cl_int> expected;
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 10; ++x) {
      expected.push_back(3300042 + (x < 8 ? 4 : 2) * 1000 + (y < 4 ? 2 : 1) * 100);
    }
  }
  EXPECT_TRUE(same_elements(expected, read_all<cl_int>(out, 50)));
  // "CL_INVALID_WORK_GROUP_SIZE if the program was compiled with -cl-uniform-work-group-size and
  // the number of work-items […] is not evenly divisible by size of work-group".
  const Program uniform = build(source, "-cl-std=CL3.0 -cl-uniform-work-group-size");
  const Kernel refuses = make_kernel(uniform, "k");
  set_args(refuses, out);
  EXPECT_CL(CL_INVALID_WORK_GROUP_SIZE, enqueue(refuses, 2, nullptr, global.data(), local.data()));
}

TEST_F(ClEnqueueNdRangeKernel, RejectsRaggedSizes) {
  // Of a program in OpenCL C 1.2.
  // "CL_INVALID_WORK_GROUP_SIZE if the program was compiled with -cl-uniform-work-group-size [or
  // non-uniform work-groups are not supported] and the number of work-items specified by
  // global_work_size is not evenly divisible by size of work-group given by local_work_size"
  const size_t global = 100;
  const size_t local = 64;
  EXPECT_CL(CL_INVALID_WORK_GROUP_SIZE, enqueue(add_, 1, nullptr, &global, &local));
  const Triple global3 = {8, 9, 8};
  const Triple local3 = {4, 2, 4};
  EXPECT_CL(CL_INVALID_WORK_GROUP_SIZE, enqueue(add_, 3, nullptr, global3.data(), local3.data()));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(4096, 0), read_all<cl_int>(data_, 4096)));
}

TEST_F(ClEnqueueNdRangeKernel, RejectsZeroLocalSize) {
  // "CL_INVALID_WORK_GROUP_SIZE if any of the values specified in local_work_size is 0" follows
  // from the divisibility; a few drivers name it CL_INVALID_WORK_ITEM_SIZE.
  const size_t global = 64;
  const size_t local = 0;
  EXPECT_TRUE(is_one_of(enqueue(add_, 1, nullptr, &global, &local),
                        {CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE}));
}

TEST_F(ClEnqueueNdRangeKernel, RejectsLargeLocalSizes) {
  // "CL_INVALID_WORK_ITEM_SIZE if the number of work-items specified in any of local_work_size[0],
  // ... is greater than the corresponding values specified by CL_DEVICE_MAX_WORK_ITEM_SIZES"
  const auto sizes = array_of<size_t>(query_of(device_, CL_DEVICE_MAX_WORK_ITEM_SIZES));
  const size_t too_many = sizes[0] + 1;
  EXPECT_TRUE(is_one_of(enqueue(add_, 1, nullptr, &too_many, &too_many),
                        {CL_INVALID_WORK_ITEM_SIZE, CL_INVALID_WORK_GROUP_SIZE}));
  // "CL_INVALID_WORK_GROUP_SIZE if local_work_size is specified and the total number of work-items
  // in the work-group [...] is greater than the value specified by CL_KERNEL_WORK_GROUP_SIZE"
  const auto most = value_of<size_t>(query_of(add_, device_, CL_KERNEL_WORK_GROUP_SIZE));
  const Triple local = {std::min(most, sizes[0]), std::min<size_t>(2, sizes[1]), 1};
  if (local[0] * local[1] <= most) GTEST_SKIP() << "no work-group of one too many can be made";
  EXPECT_CL(CL_INVALID_WORK_GROUP_SIZE, enqueue(add_, 3, nullptr, local.data(), local.data()));
}

TEST_F(ClEnqueueNdRangeKernel, RejectsBadDimensions) {
  // "CL_INVALID_WORK_DIMENSION if work_dim is not a valid value (i.e. a value between 1 and
  // CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS)."
  const size_t global[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_CL(CL_INVALID_WORK_DIMENSION, enqueue(add_, 0, nullptr, global, nullptr));
  const auto most = value_of<cl_uint>(query_of(device_, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS));
  EXPECT_CL(CL_INVALID_WORK_DIMENSION, enqueue(add_, most + 1, nullptr, global, nullptr));
}

TEST_F(ClEnqueueNdRangeKernel, RejectsWrappingOffset) {
  // "CL_INVALID_GLOBAL_OFFSET if the value specified in global_work_size + the corresponding values
  // in global_work_offset for any dimensions is greater than the maximum value representable by
  // size_t on the device"
  const size_t global = 64;
  const size_t offset = ~size_t{0} - 10;
  EXPECT_CL(CL_INVALID_GLOBAL_OFFSET, enqueue(add_, 1, &offset, &global, nullptr));
}

TEST_F(ClEnqueueNdRangeKernel, RejectsUnsetArguments) {
  // "CL_INVALID_KERNEL_ARGS if the kernel argument values have not been specified."
  const size_t global = 64;
  const Kernel scalar = kernel("add_scalar");
  EXPECT_CL(CL_INVALID_KERNEL_ARGS, enqueue(scalar, 1, nullptr, &global, nullptr));
  ASSERT_SUCCESS(set_arg(scalar, 0, data_));
  EXPECT_CL(CL_INVALID_KERNEL_ARGS, enqueue(scalar, 1, nullptr, &global, nullptr));
  ASSERT_SUCCESS(set_arg(scalar, 1, cl_int{1}));
  EXPECT_CL(CL_SUCCESS, enqueue(scalar, 1, nullptr, &global, nullptr));
}

TEST_F(ClEnqueueNdRangeKernel, RejectsMixedContexts) {
  const size_t global = 64;
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clEnqueueNDRangeKernel(nullptr, add_, 1, nullptr, &global,
                                                             nullptr, 0, nullptr, nullptr));
  // "CL_INVALID_CONTEXT if context associated with command_queue and kernel are not the same"
  const Context other = make_context();
  cl_int code = CL_SUCCESS;
  const Queue foreign(clCreateCommandQueue(other, device_, 0, &code));
  ASSERT_SUCCESS(code);
  EXPECT_CL(CL_INVALID_CONTEXT, clEnqueueNDRangeKernel(foreign, add_, 1, nullptr, &global, nullptr,
                                                       0, nullptr, nullptr));
}

TEST_F(ClEnqueueNdRangeKernel, RejectsNullKernel) {
  // "CL_INVALID_KERNEL if kernel is not a valid kernel object."
  const size_t global = 64;
  EXPECT_CL(CL_INVALID_KERNEL, enqueue(nullptr, 1, nullptr, &global, nullptr));
  EXPECT_CL(CL_INVALID_KERNEL, clEnqueueTask(queue_, nullptr, 0, nullptr, nullptr));
}

TEST_F(ClEnqueueNdRangeKernel, RejectsBadWaitLists) {
  const size_t global = 64;
  const cl_event none = nullptr;
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, enqueue(add_, 1, nullptr, &global, nullptr, 1, nullptr));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, enqueue(add_, 1, nullptr, &global, nullptr, 1, &none));
}

TEST_F(ClEnqueueNdRangeKernel, RejectsTooMuchLocalMemory) {
  // "CL_OUT_OF_RESOURCES if there is a failure to queue the execution instance of kernel on the
  // command-queue because of insufficient resources needed to execute the kernel", for example
  // too much local memory.
  const Kernel reverse = kernel("reverse_in_group");
  const auto most = value_of<cl_ulong>(query_of(device_, CL_DEVICE_LOCAL_MEM_SIZE));
  set_args(reverse, data_, data_, LocalBytes{static_cast<size_t>(most) + 64});
  const size_t global = 64;
  EXPECT_TRUE(is_one_of(enqueue(reverse, 1, nullptr, &global, &global),
                        {CL_OUT_OF_RESOURCES, CL_INVALID_WORK_GROUP_SIZE}));
}

TEST_F(ClEnqueueNdRangeKernel, EventDescribesTheCommand) {
  const size_t global = 64;
  Event event;
  ASSERT_SUCCESS(enqueue(add_, 1, nullptr, &global, nullptr, 0, nullptr, event.out()));
  EXPECT_EQ(value_of<cl_command_type>(query_of(event, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_NDRANGE_KERNEL});
  EXPECT_EQ(value_of<cl_command_queue>(query_of(event, CL_EVENT_COMMAND_QUEUE)), queue_.get());
}

TEST_F(ClEnqueueNdRangeKernel, DividingByZeroIsNoFault) {
  // "A divide by zero with integer types does not cause an exception but will result in an
  // unspecified value." In a command that waits for another one a thread of the driver computes it.
  constexpr size_t kItems = 1 << 16;
  const Program program = build(
      "kernel void divide(global int* out, global const int* by) {\n"
      "  size_t i = get_global_id(0);\n"
      "  int x = 1000;\n"
      "  for (int k = 0; k < 50; ++k) x = x / by[i] + 999;\n"
      "  out[i] = x;\n"
      "}\n");
  const Kernel divide = make_kernel(program, "divide");
  std::vector<cl_int> by(kItems, 1000);
  for (size_t i = 0; i < kItems; i += 1001) by[i] = 0;
  const Buffer divisors = make_buffer_of(by);
  const Buffer out = make_buffer_of(std::vector<cl_int>(kItems, 0));
  set_args(divide, out, divisors);
  for (const bool behind_another : {false, true}) {
    cl_int code = CL_SUCCESS;
    Event user(clCreateUserEvent(context_, &code));
    ASSERT_SUCCESS(code);
    const cl_event waits[] = {user};
    ASSERT_SUCCESS(enqueue(divide, 1, nullptr, &kItems, nullptr, behind_another ? 1 : 0,
                           behind_another ? waits : nullptr));
    ASSERT_SUCCESS(clSetUserEventStatus(user, CL_COMPLETE));
    const std::vector<cl_int> result = read_all<cl_int>(out, kItems);
    for (size_t i = 0; i < kItems; ++i) {
      if (by[i] == 0) continue;
      ASSERT_EQ(result[i], 1000) << i;
    }
  }
}

TEST_F(ClEnqueueNdRangeKernel, Task) {
  // "clEnqueueTask is equivalent to calling clEnqueueNDRangeKernel with work_dim set to 1,
  // global_work_offset set to NULL, global_work_size[0] set to 1, and local_work_size[0] set to 1."
  const Kernel write = kernel("write_one");
  set_args(write, data_, cl_int{77});
  Event event;
  ASSERT_SUCCESS(clEnqueueTask(queue_, write, 0, nullptr, event.out()));
  const std::vector<cl_int> result = read_all<cl_int>(data_, 2);
  EXPECT_EQ(result, (std::vector<cl_int>{77, 0}));
  EXPECT_TRUE(is_one_of(
      static_cast<cl_int>(value_of<cl_command_type>(query_of(event, CL_EVENT_COMMAND_TYPE))),
      {CL_COMMAND_TASK, CL_COMMAND_NDRANGE_KERNEL}));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clEnqueueTask(nullptr, write, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_KERNEL_ARGS,
            clEnqueueTask(queue_, kernel("write_one"), 0, nullptr, nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
