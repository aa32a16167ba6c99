// SPDX-License-Identifier: Apache-2.0
//
// Functions of extensions that the device claims, by their addresses.
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include <cstddef>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ExtensionFunctions : public KernelTest {
 protected:
  bool claims(const std::string& name) const {
    const std::string list = " " + string_of(query_of(device_, CL_DEVICE_EXTENSIONS)) + " ";
    return list.find(" " + name + " ") != std::string::npos;
  }
  template <typename Function>
  Function address(const char* name) const {
    return reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(platform_, name));
  }
};

TEST_F(ExtensionFunctions, UnknownNamesHaveNone) {
  EXPECT_EQ(clGetExtensionFunctionAddressForPlatform(platform_, "clNoSuchFunctionKHR"), nullptr);
}

TEST_F(ExtensionFunctions, ListsAgree) {
  if (device_version() < 300) GTEST_SKIP() << "an OpenCL 3.0 query";
  std::string names;
  for (const auto& entry :
       array_of<cl_name_version>(query_of(device_, CL_DEVICE_EXTENSIONS_WITH_VERSION))) {
    names += (names.empty() ? "" : " ") + std::string(entry.name);
    EXPECT_GE(CL_VERSION_MAJOR(entry.version), 0u);
  }
  std::string plain = string_of(query_of(device_, CL_DEVICE_EXTENSIONS));
  while (!plain.empty() && plain.back() == ' ') plain.pop_back();
  EXPECT_EQ(names, plain);
}

TEST_F(ExtensionFunctions, ExtendedVersioning) {
  if (!claims("cl_khr_extended_versioning")) GTEST_SKIP() << "not claimed";
  EXPECT_EQ(value_of<cl_version>(query_of(platform_, CL_PLATFORM_NUMERIC_VERSION_KHR)) >> 22, 3u);
  const auto version =
      value_of<cl_version>(query_of(device_, CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR));
  EXPECT_EQ(string_of(query_of(device_, CL_DEVICE_OPENCL_C_VERSION)).substr(0, 12),
            "OpenCL C " + std::to_string(CL_VERSION_MAJOR(version)) + "." +
                std::to_string(CL_VERSION_MINOR(version)));
}

TEST_F(ExtensionFunctions, CreateCommandQueue) {
  if (!claims("cl_khr_create_command_queue")) GTEST_SKIP() << "not claimed";
  const auto create =
      address<clCreateCommandQueueWithPropertiesKHR_fn>("clCreateCommandQueueWithPropertiesKHR");
  ASSERT_NE(create, nullptr);
  const cl_queue_properties_khr properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  cl_int code = CL_SUCCESS;
  const Queue queue(create(context_, device_, properties, &code));
  ASSERT_SUCCESS(code);
  EXPECT_EQ(value_of<cl_command_queue_properties>(query_of(queue, CL_QUEUE_PROPERTIES)),
            cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE});
  EXPECT_EQ(create(nullptr, device_, properties, &code), nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
}

TEST_F(ExtensionFunctions, SuggestedLocalSizeIsWhatALaunchGets) {
  if (!claims("cl_khr_suggested_local_work_size")) GTEST_SKIP() << "not claimed";
  const auto suggest =
      address<clGetKernelSuggestedLocalWorkSizeKHR_fn>("clGetKernelSuggestedLocalWorkSizeKHR");
  ASSERT_NE(suggest, nullptr);
  const Program program = build(
      "kernel void sizes(global uint* out) {\n"
      "  size_t i = get_global_id(0) + get_global_id(1) * get_global_size(0);\n"
      "  out[i] = get_local_size(0) + get_local_size(1) * 1000;\n"
      "}\n"
      "kernel __attribute__((reqd_work_group_size(8, 2, 1))) void fixed(global uint* out) {}\n");
  const Kernel sizes = make_kernel(program, "sizes");
  struct Case {
    cl_uint dims;
    size_t global[2];
  };
  for (const Case& c : {Case{1, {4096, 1}}, Case{1, {1000, 1}}, Case{1, {997, 1}}, Case{1, {1, 1}},
                        Case{2, {120, 36}}, Case{2, {7, 1024}}}) {
    SCOPED_TRACE(testing::Message() << c.global[0] << " x " << c.global[1]);
    const size_t count = c.global[0] * c.global[1];
    const Buffer out = make_buffer(count * sizeof(cl_uint));
    set_args(sizes, out);
    size_t local[2] = {0, 1};
    ASSERT_SUCCESS(suggest(queue_, sizes, c.dims, nullptr, c.global, local));
    ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, sizes, c.dims, nullptr, c.global, nullptr, 0,
                                          nullptr, nullptr));
    const auto expected = static_cast<cl_uint>(local[0] + local[1] * 1000);
    EXPECT_TRUE(
        same_elements(std::vector<cl_uint>(count, expected), read_all<cl_uint>(out, count)));
  }
  const Kernel fixed = make_kernel(program, "fixed");
  const Buffer out = make_buffer(64);
  set_args(fixed, out);
  const size_t global[2] = {64, 64};
  size_t local[2] = {0, 0};
  ASSERT_SUCCESS(suggest(queue_, fixed, 2, nullptr, global, local));
  EXPECT_EQ(local[0], 8u);
  EXPECT_EQ(local[1], 2u);
}

TEST_F(ExtensionFunctions, SuggestedLocalSizeIsALoadersOfOpenCl31) {
  if (platform_version() < 310) GTEST_SKIP() << "of OpenCL 3.1";
  // The slot behind those of OpenCL 3.0, where such a loader looks.
  constexpr size_t kSlot =
      offsetof(cl_icd_dispatch, clSetContextDestructorCallback) / sizeof(void*) + 1;
  void* const* const table = *reinterpret_cast<void***>(static_cast<cl_command_queue>(queue_));
  const auto suggest = reinterpret_cast<clGetKernelSuggestedLocalWorkSizeKHR_fn>(table[kSlot]);
  const auto same =
      address<clGetKernelSuggestedLocalWorkSizeKHR_fn>("clGetKernelSuggestedLocalWorkSizeKHR");
  const Kernel add = kernel("add_one");
  const Buffer data = make_buffer(4096);
  set_args(add, data);
  const size_t global[1] = {960};
  size_t local[1] = {0}, expected[1] = {0};
  ASSERT_SUCCESS(suggest(queue_, add, 1, nullptr, global, local));
  ASSERT_SUCCESS(same(queue_, add, 1, nullptr, global, expected));
  EXPECT_EQ(local[0], expected[0]);
  EXPECT_CL(CL_INVALID_KERNEL, suggest(queue_, nullptr, 1, nullptr, global, local));
}

TEST_F(ExtensionFunctions, SuggestedLocalSizeRejectsBadArguments) {
  if (!claims("cl_khr_suggested_local_work_size")) GTEST_SKIP() << "not claimed";
  const auto suggest =
      address<clGetKernelSuggestedLocalWorkSizeKHR_fn>("clGetKernelSuggestedLocalWorkSizeKHR");
  ASSERT_NE(suggest, nullptr);
  const Kernel add = kernel("add_one");
  const size_t global[3] = {64, 1, 1};
  const size_t zero = 0;
  size_t local[3] = {};
  EXPECT_CL(CL_INVALID_KERNEL_ARGS, suggest(queue_, add, 1, nullptr, global, local));
  const Buffer data = make_buffer(256);
  set_args(add, data);
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, suggest(nullptr, add, 1, nullptr, global, local));
  EXPECT_CL(CL_INVALID_KERNEL, suggest(queue_, nullptr, 1, nullptr, global, local));
  EXPECT_CL(CL_INVALID_WORK_DIMENSION, suggest(queue_, add, 0, nullptr, global, local));
  EXPECT_CL(CL_INVALID_GLOBAL_WORK_SIZE, suggest(queue_, add, 1, nullptr, nullptr, local));
  EXPECT_CL(CL_INVALID_GLOBAL_WORK_SIZE, suggest(queue_, add, 1, nullptr, &zero, local));
  EXPECT_CL(CL_INVALID_VALUE, suggest(queue_, add, 1, nullptr, global, nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
