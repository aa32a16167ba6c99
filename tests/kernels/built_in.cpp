// SPDX-License-Identifier: Apache-2.0
#include "built_in.h"

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "pointers.h"

namespace tutti::kernel_fuzz {
namespace built_in {
namespace {

constexpr std::string_view kNames = "test.scale;test.sum";
// What the names stand for: a dot is none of an identifier's.
constexpr const char* kSource = R"(
kernel void test_scale(global const int* from, global int* to, int factor) {
  const size_t i = get_global_id(0);
  to[i] = factor * from[i] + (int)get_global_size(0);
}
kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void test_sum(global int* values, local int* shared, uint2 add) {
  const size_t i = get_global_id(0), at = get_local_id(0);
  shared[at] = values[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  int sum = (int)(add.x + add.y);
  for (size_t k = 0; k < get_local_size(0); ++k) sum += shared[k];
  values[i] = sum;
})";

/// Vendors' own functions, by their tables.
std::map<const cl_icd_dispatch*, cl_icd_dispatch>& originals() {
  static auto* map = new std::map<const cl_icd_dispatch*, cl_icd_dispatch>;
  return *map;
}
template <typename Object>
const cl_icd_dispatch& original_of(Object object) {
  return originals().at(*reinterpret_cast<cl_icd_dispatch**>(object));
}

std::mutex mutex;
/// The programs of such kernels that were made, dead ones among them, whose handles may be others'
/// by now: these take the vendor's way all the same.
std::set<cl_program>& programs() {
  static auto* set = new std::set<cl_program>;
  return *set;
}

cl_program CL_API_CALL create(cl_context context, cl_uint count, const cl_device_id* devices,
                              const char* names, cl_int* code) {
  const cl_icd_dispatch& table = original_of(context);
  if (!std::string_view(names).starts_with("test.")) {
    return table.clCreateProgramWithBuiltInKernels(context, count, devices, names, code);
  }
  const char* source = kSource;
  cl_program program = table.clCreateProgramWithSource(context, 1, &source, nullptr, code);
  if (program == nullptr) return nullptr;
  *code = table.clBuildProgram(program, count, devices, "-cl-kernel-arg-info", nullptr, nullptr);
  const std::lock_guard lock(mutex);
  programs().insert(program);
  return program;
}

cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id* devices,
                         const char* options, void(CL_CALLBACK* notify)(cl_program, void*),
                         void* data) {
  {
    const std::lock_guard lock(mutex);
    if (programs().contains(program)) return CL_INVALID_OPERATION;
  }
  return original_of(program).clBuildProgram(program, count, devices, options, notify, data);
}

cl_int CL_API_CALL release(cl_program program) {
  {
    const std::lock_guard lock(mutex);
    programs().erase(program);
  }
  return original_of(program).clReleaseProgram(program);
}

cl_kernel CL_API_CALL create_kernel(cl_program program, const char* name, cl_int* code) {
  std::string known = name;
  if (known.starts_with("test.")) known[4] = '_';
  return original_of(program).clCreateKernel(program, known.c_str(), code);
}

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size,
                                   void* value, size_t* size_ret) {
  // In place of the vendor's, which PoCL lists and cannot build.
  if (name == CL_DEVICE_BUILT_IN_KERNELS) {
    if (size_ret != nullptr) *size_ret = kNames.size() + 1;
    if (value == nullptr) return CL_SUCCESS;
    if (size < kNames.size() + 1) return CL_INVALID_VALUE;
    std::memcpy(value, kNames.data(), kNames.size() + 1);
    return CL_SUCCESS;
  }
  return original_of(device).clGetDeviceInfo(device, name, size, value, size_ret);
}

void give(cl_platform_id platform) {
  cl_icd_dispatch* table = *reinterpret_cast<cl_icd_dispatch**>(platform);
  if (originals().contains(table)) return;
  originals()[table] = *table;
  replace(table->clGetDeviceInfo, &get_device_info);
  replace(table->clCreateProgramWithBuiltInKernels, &create);
  replace(table->clBuildProgram, &build);
  replace(table->clReleaseProgram, &release);
  replace(table->clCreateKernel, &create_kernel);
}

}  // namespace
}  // namespace built_in

void give_built_in_kernels(cl_platform_id platform) { built_in::give(platform); }

}  // namespace tutti::kernel_fuzz
