// SPDX-License-Identifier: Apache-2.0
// Checks of the entry points on kernels, in the specification's order. Pure functions, thread-safe.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "device_virtual/kernel.h"

namespace tutti::icd::validate {

Result<device_virtual::Kernel*> kernel(cl_kernel handle);  // CL_INVALID_KERNEL
Status kernel_name(const char* name);
Status argument_index(const device_virtual::Kernel& kernel, cl_uint index);
/// The device of a kernel query; it may be NULL where the program has only one.
Status kernel_device(const device_virtual::Kernel& kernel, cl_device_id handle);
/// The values that a question of clGetKernelSubGroupInfo is about.
Result<std::span<const size_t>> sub_group_question(const device_virtual::Kernel& kernel,
                                                   cl_kernel_sub_group_info what, size_t input_size,
                                                   const void* input);
Status exec_info(const device_virtual::Kernel& kernel, cl_kernel_exec_info param_name, size_t size,
                 const void* value);

// clSetKernelArg.
/// It is a number, and may be set. Asked first: of the arguments it is what is set most often.
inline bool is_number(const device_virtual::Kernel& kernel, cl_uint index, size_t size,
                      const void* value) {
  const auto& arguments = kernel.summary().arguments;
  return index < arguments.size() && arguments[index].kind == scheduler::ArgKind::kScalar &&
         arguments[index].size == size && value != nullptr;
}
/// What the value of another argument means, and whether it may be set.
struct ArgumentValue {
  enum class Kind : uint8_t { kLocal, kBuffer, kSampler, kQueue };
  Kind kind = Kind::kLocal;
  device_virtual::Buffer* buffer = nullptr;       // kBuffer, also images and pipes; null: the
                                                  // NULL pointer
  backends::SamplerState sampler{};               // kSampler
  device_virtual::CommandQueue* queue = nullptr;  // kQueue
};
Result<ArgumentValue> argument_value(const device_virtual::Kernel& kernel, cl_uint index,
                                     size_t size, const void* value);

}  // namespace tutti::icd::validate
