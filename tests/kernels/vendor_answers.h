// SPDX-License-Identifier: Apache-2.0
// What those need who answer in a vendor's place.
#pragma once

#include <CL/cl_icd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace tutti::kernel_fuzz {

inline cl_int answer(const void* data, size_t bytes, size_t size, void* value, size_t* size_ret) {
  if (size_ret != nullptr) *size_ret = bytes;
  if (value == nullptr) return CL_SUCCESS;
  if (size < bytes) return CL_INVALID_VALUE;
  std::memcpy(value, data, bytes);
  return CL_SUCCESS;
}

/// What a device answers, as often as there is one of these.
template <typename Value>
std::vector<Value> list_of(cl_device_id device, const cl_icd_dispatch& table, cl_device_info name) {
  size_t size = 0;
  if (table.clGetDeviceInfo(device, name, 0, nullptr, &size) != CL_SUCCESS) return {};
  std::vector<Value> list(size / sizeof(Value));
  table.clGetDeviceInfo(device, name, size, list.data(), nullptr);
  return list;
}

inline std::string extensions_of(cl_device_id device, const cl_icd_dispatch& table) {
  const auto text = list_of<char>(device, table, CL_DEVICE_EXTENSIONS);
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

}  // namespace tutti::kernel_fuzz
