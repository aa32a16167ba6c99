// SPDX-License-Identifier: Apache-2.0
// Checks of the platform's and the device's entry points. Pure functions, thread-safe.
#pragma once

#include "icd/validate/common.h"

namespace tutti::icd::validate {

/// Of clGetPlatformIDs and clIcdGetPlatformIDsKHR.
Status get_platform_ids(cl_uint num_entries, const cl_platform_id* platforms,
                        const cl_uint* num_platforms);
Status device_type(cl_device_type type);
Result<platform::Platform*> get_device_ids(cl_platform_id platform, cl_device_type type,
                                           cl_uint num_entries, const cl_device_id* devices,
                                           const cl_uint* num_devices);
struct SubDevices {
  device_virtual::Device* device = nullptr;
  device_virtual::Device::Division division;
};
Result<SubDevices> create_sub_devices(cl_device_id device,
                                      const cl_device_partition_property* properties,
                                      cl_uint num_devices, const cl_device_id* out_devices);
Status host_timer(cl_device_id device, const void* timestamp);

}  // namespace tutti::icd::validate
