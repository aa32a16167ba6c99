// SPDX-License-Identifier: Apache-2.0
//
// The optional parts of OpenCL C 3.0, as far as the device says that it has them: what kernels that
// use them compute, over many work-groups, which a driver may divide among devices.
#include <algorithm>
#include <numeric>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

constexpr size_t kItems = 6400;
constexpr size_t kLocal = 64;

class LanguageFeatures : public QueueTest {
 protected:
  void SetUp() override {
    QueueTest::SetUp();
    if (device_version() < 300) GTEST_SKIP() << "an OpenCL 3.0 query";
    for (const cl_name_version& entry :
         array_of<cl_name_version>(query_of(device_, CL_DEVICE_OPENCL_C_FEATURES))) {
      features_.emplace_back(entry.name);
    }
  }
  bool has(const char* feature) const {
    return std::find(features_.begin(), features_.end(), feature) != features_.end();
  }
  /// Kernel `k(global const int* in, global int* out)` on 0, 1, 2 … and zeros.
  std::vector<cl_int> results_of(const std::string& source, int times = 1) {
    program_ = build(source, "-cl-std=CL3.0");
    std::vector<cl_int> numbers(kItems);
    std::iota(numbers.begin(), numbers.end(), 0);
    const Buffer in = make_buffer_of(numbers, CL_MEM_READ_ONLY);
    const Buffer out = make_buffer_of(std::vector<cl_int>(kItems));
    kernel_ = make_kernel(program_, "k");
    set_args(kernel_, in, out);
    for (int i = 0; i < times; ++i) {
      EXPECT_SUCCESS(clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &kItems, &kLocal, 0,
                                            nullptr, nullptr));
    }
    return read_all<cl_int>(out, kItems);
  }
  static std::vector<cl_int> expected(cl_int (*of)(cl_int)) {
    std::vector<cl_int> values(kItems);
    for (size_t i = 0; i < kItems; ++i) values[i] = of(static_cast<cl_int>(i));
    return values;
  }

  std::vector<std::string> features_;
  Program program_;
  Kernel kernel_;
};

// Where a device behind has no doubles, it computes the second kernel all the same.
TEST_F(LanguageFeatures, DoublesBesideFloats) {
  if (!has("__opencl_c_fp64")) GTEST_SKIP() << "not offered";
  const Program program = build(R"CLC(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
constant double factors[2] = {0.5, 0.1};
double scaled(double x) { return x * factors[1] + factors[0]; }
kernel void doubles(global double* data) {
  const size_t i = get_global_id(0);
  data[i] = scaled(data[i]) + get_group_id(0);
}
kernel void floats(global float* data) {
  const size_t i = get_global_id(0);
  data[i] = data[i] * 0.5f + get_group_id(0);
})CLC",
                                "-cl-std=CL3.0");
  const Kernel doubles = make_kernel(program, "doubles"), floats = make_kernel(program, "floats");
  std::vector<cl_double> wide(kItems);
  std::vector<cl_float> narrow(kItems);
  for (size_t i = 0; i < kItems; ++i) {
    wide[i] = 1.0 / static_cast<double>(i + 3);
    narrow[i] = static_cast<float>(i);
  }
  const Buffer wides = make_buffer_of(wide), narrows = make_buffer_of(narrow);
  set_args(doubles, wides);
  set_args(floats, narrows);
  for (int round = 0; round < 3; ++round) {
    for (const Kernel* kernel : {&doubles, &floats}) {
      ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, *kernel, 1, nullptr, &kItems, &kLocal, 0,
                                            nullptr, nullptr));
    }
    for (size_t i = 0; i < kItems; ++i) {
      wide[i] = wide[i] * 0.1 + 0.5 + static_cast<double>(i / kLocal);
      narrow[i] = narrow[i] * 0.5f + static_cast<float>(i / kLocal);
    }
  }
  const auto found = read_all<cl_double>(wides, kItems);
  for (size_t i = 0; i < kItems; ++i) ASSERT_NEAR(found[i], wide[i], 1e-12 * (1 + wide[i])) << i;
  EXPECT_TRUE(same_elements(narrow, read_all<cl_float>(narrows, kItems)));
}

TEST_F(LanguageFeatures, GenericPointers) {
  if (!has("__opencl_c_generic_address_space")) GTEST_SKIP() << "not offered";
  const auto results = results_of(R"CLC(
int value(int* p) { return *p; }
void put(int* p, int v) { *p = v; }
kernel void k(global int* in, global int* out) {
  local int kept[64];
  int g = get_global_id(0), l = get_local_id(0);
  kept[l] = 3 * in[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  int* from = g & 1 ? (int*)(in + g) : (int*)(kept + l);
  put(out + g, value(from) + 1);
}
)CLC");
  EXPECT_TRUE(same_elements(expected([](cl_int i) { return (i & 1 ? i : 3 * i) + 1; }), results));
}

TEST_F(LanguageFeatures, CollectiveFunctions) {
  if (!has("__opencl_c_work_group_collective_functions")) GTEST_SKIP() << "not offered";
  const auto results = results_of(
      "kernel void k(global const int* in, global int* out) {\n"
      "  int g = get_global_id(0); out[g] = work_group_reduce_max(in[g]) - in[g]; }");
  EXPECT_TRUE(same_elements(expected([](cl_int i) { return 63 - i % 64; }), results));
}

TEST_F(LanguageFeatures, VariablesKeepTheirValues) {
  if (!has("__opencl_c_program_scope_global_variables")) GTEST_SKIP() << "not offered";
  const auto results = results_of(
      "global atomic_int launches;\n"
      "kernel void k(global const int* in, global int* out) {\n"
      "  if (get_global_id(0) == 0)\n"
      "    out[0] = 1 + atomic_fetch_add_explicit(&launches, 1, memory_order_relaxed,\n"
      "                                           memory_scope_device); }",
      9);
  EXPECT_EQ(results[0], 9);
  EXPECT_GE(
      value_of<size_t>(query_of(program_, device_, CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE)),
      sizeof(cl_int));
}

TEST_F(LanguageFeatures, AtomicsOfTheDevice) {
  if (!has("__opencl_c_atomic_scope_device")) GTEST_SKIP() << "not offered";
  const auto results = results_of(
      "kernel void k(global const int* in, global int* out) {\n"
      "  int g = get_global_id(0);\n"
      "  atomic_fetch_add_explicit((global atomic_int*)(out + g % 7), in[g],\n"
      "                            memory_order_relaxed, memory_scope_device); }",
      2);
  std::vector<cl_int> sums(kItems);
  for (size_t i = 0; i < kItems; ++i) sums[i % 7] += 2 * static_cast<cl_int>(i);
  EXPECT_TRUE(same_elements(sums, results));
}

TEST_F(LanguageFeatures, OrderedAtomics) {
  if (!has("__opencl_c_atomic_order_acq_rel") || !has("__opencl_c_atomic_scope_device")) {
    GTEST_SKIP() << "not offered";
  }
  const auto results = results_of(
      "kernel void k(global const int* in, global int* out) {\n"
      "  int g = get_global_id(0);\n"
      "  atomic_store_explicit((global atomic_int*)(out + g), in[g] + 5,\n"
      "                        memory_order_release, memory_scope_device); }");
  EXPECT_TRUE(same_elements(expected([](cl_int i) { return i + 5; }), results));
}

TEST_F(LanguageFeatures, SubGroups) {
  if (!has("__opencl_c_subgroups")) GTEST_SKIP() << "not offered";
  const auto results = results_of(
      "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
      "kernel void k(global const int* in, global int* out) {\n"
      "  int g = get_global_id(0);\n"
      "  out[g] = sub_group_broadcast(in[g], 0) + (int)get_sub_group_local_id(); }");
  EXPECT_TRUE(same_elements(expected([](cl_int i) { return i; }), results));
  // What the host is told of them fits what kernels see.
  size_t size = 0, count = 0;
  const size_t local[] = {kLocal};
  EXPECT_SUCCESS(clGetKernelSubGroupInfo(kernel_, device_, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
                                         sizeof local, local, sizeof size, &size, nullptr));
  EXPECT_SUCCESS(clGetKernelSubGroupInfo(kernel_, device_, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE,
                                         sizeof local, local, sizeof count, &count, nullptr));
  ASSERT_GE(size, 1u);
  EXPECT_EQ(count, (kLocal + size - 1) / size);
  const auto sizes = results_of(
      "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
      "kernel void k(global const int* in, global int* out) {\n"
      "  out[get_global_id(0)] = get_max_sub_group_size(); }");
  EXPECT_EQ(sizes, std::vector<cl_int>(kItems, static_cast<cl_int>(size)));
}

TEST_F(LanguageFeatures, SubGroupQuestionsThatAreWrong) {
  if (!has("__opencl_c_subgroups")) GTEST_SKIP() << "not offered";
  const Program program = build("kernel void k(global int* a) { a[0] = 1; }");
  const Kernel kernel = make_kernel(program, "k");
  size_t size = 0;
  const size_t local[] = {kLocal};
  const auto ask = [&](cl_kernel of, cl_kernel_sub_group_info what, const void* input) {
    return clGetKernelSubGroupInfo(of, device_, what, sizeof local, input, sizeof size, &size,
                                   nullptr);
  };
  EXPECT_CL(CL_INVALID_KERNEL, ask(nullptr, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, local));
  EXPECT_CL(CL_INVALID_VALUE, ask(kernel, 0xdead, local));
  EXPECT_CL(CL_INVALID_VALUE, ask(kernel, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, nullptr));
}

TEST_F(LanguageFeatures, ReadWriteImages) {
  if (!has("__opencl_c_read_write_images")) GTEST_SKIP() << "not offered";
  const cl_image_format format{CL_RGBA, CL_SIGNED_INT32};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = 64;
  description.image_height = 40;
  std::vector<cl_int> pixels(64 * 40 * 4);
  std::iota(pixels.begin(), pixels.end(), 0);
  cl_int code = CL_SUCCESS;
  const Buffer image(clCreateImage(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format,
                                   &description, pixels.data(), &code));
  ASSERT_SUCCESS(code);
  const Program program = build(
      "kernel void k(read_write image2d_t i) {\n"
      "  int2 p = (int2)(get_global_id(0), get_global_id(1));\n"
      "  write_imagei(i, p, read_imagei(i, p) * 2); }",
      "-cl-std=CL3.0");
  const Kernel kernel = make_kernel(program, "k");
  set_args(kernel, image);
  const size_t global[] = {64, 40}, local[] = {16, 4};
  ASSERT_SUCCESS(
      clEnqueueNDRangeKernel(queue_, kernel, 2, nullptr, global, local, 0, nullptr, nullptr));
  for (cl_int& value : pixels) value *= 2;
  std::vector<cl_int> seen(pixels.size());
  const size_t origin[] = {0, 0, 0}, region[] = {64, 40, 1};
  ASSERT_SUCCESS(clEnqueueReadImage(queue_, image, CL_TRUE, origin, region, 0, 0, seen.data(), 0,
                                    nullptr, nullptr));
  EXPECT_TRUE(same_elements(pixels, seen));
}

}  // namespace
}  // namespace tutti::api_tests
