// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/platform.h"

namespace tutti::icd::validate {
namespace {

Status room_for_list(cl_uint num_entries, const void* list, const cl_uint* count) {
  if (num_entries == 0 && list != nullptr) return fail(CL_INVALID_VALUE, "num_entries is 0");
  if (list == nullptr && count == nullptr) return fail(CL_INVALID_VALUE, "nothing is asked for");
  return {};
}

}  // namespace

Status get_platform_ids(cl_uint num_entries, const cl_platform_id* platforms,
                        const cl_uint* num_platforms) {
  // "CL_INVALID_VALUE if num_entries is equal to zero and platforms is not NULL or if both
  // num_platforms and platforms are NULL."
  return room_for_list(num_entries, platforms, num_platforms);
}

Status device_type(cl_device_type type) {
  // "CL_INVALID_DEVICE_TYPE if device_type is not a valid value."
  constexpr cl_device_type kKnown = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU |
                                    CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR |
                                    CL_DEVICE_TYPE_CUSTOM;
  if (type != CL_DEVICE_TYPE_ALL && (type == 0 || (type & ~kKnown) != 0)) {
    return fail(CL_INVALID_DEVICE_TYPE, "device_type is not a valid value");
  }
  return {};
}

Result<platform::Platform*> get_device_ids(cl_platform_id platform_handle, cl_device_type type,
                                           cl_uint num_entries, const cl_device_id* devices,
                                           const cl_uint* num_devices) {
  // "CL_INVALID_PLATFORM if platform is not a valid platform."
  TUTTI_ASSIGN(auto* const found, platform(platform_handle));
  TUTTI_TRY(device_type(type));
  // "CL_INVALID_VALUE if num_entries is equal to zero and devices is not NULL or if both
  // num_devices and devices are NULL."
  TUTTI_TRY(room_for_list(num_entries, devices, num_devices));
  return found;
}

Result<SubDevices> create_sub_devices(cl_device_id device_handle,
                                      const cl_device_partition_property* properties,
                                      cl_uint num_devices, const cl_device_id* out_devices) {
  SubDevices call;
  // "CL_INVALID_DEVICE if in_device is not a valid device."
  TUTTI_ASSIGN(call.device, device(device_handle));
  // The properties: read_partition().
  TUTTI_ASSIGN(call.division, call.device->plan_sub_devices(properties));
  // "CL_INVALID_VALUE if out_devices is not NULL and num_devices is less than the number of
  // sub-devices created by the partition scheme."
  if (out_devices != nullptr && num_devices < call.division.parts.size()) {
    return fail(CL_INVALID_VALUE, "num_devices is too small");
  }
  return call;
}

Status host_timer(cl_device_id device_handle, const void* timestamp) {
  // "CL_INVALID_DEVICE if device is not a valid OpenCL device."
  TUTTI_ASSIGN([[maybe_unused]] auto* const found, device(device_handle));
  // "CL_INVALID_VALUE if host_timestamp … is NULL."
  if (timestamp == nullptr) return fail(CL_INVALID_VALUE, "the timestamp's address is NULL");
  return {};
}

}  // namespace tutti::icd::validate
