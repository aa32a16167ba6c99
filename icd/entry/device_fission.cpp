// SPDX-License-Identifier: Apache-2.0
// Device fission, the extension (cl_ext_device_fission): OpenCL 1.2's sub-devices under other names
// and numbers. Not reported, but applications of that time call it where the dispatch table has it.
#include <CL/cl_ext.h>

#include <vector>

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"

namespace tutti::icd {
namespace {

cl_int code_of_extension(cl_int code) {
  switch (code) {
    case CL_DEVICE_PARTITION_FAILED:
      return CL_DEVICE_PARTITION_FAILED_EXT;
    case CL_INVALID_DEVICE_PARTITION_COUNT:
      return CL_INVALID_PARTITION_COUNT_EXT;
    default:
      return code;
  }
}

/// The list as clCreateSubDevices takes it. What it has no name for becomes an invalid property.
std::vector<cl_device_partition_property> in_core_numbers(
    const cl_device_partition_property_ext* properties) {
  std::vector<cl_device_partition_property> list;
  switch (*properties) {
    case CL_DEVICE_PARTITION_EQUALLY_EXT:
      list = {CL_DEVICE_PARTITION_EQUALLY,
              static_cast<cl_device_partition_property>(properties[1])};
      break;
    case CL_DEVICE_PARTITION_BY_COUNTS_EXT:
      list = {CL_DEVICE_PARTITION_BY_COUNTS};
      for (const auto* at = properties + 1; *at != CL_PARTITION_BY_COUNTS_LIST_END_EXT; ++at) {
        list.push_back(static_cast<cl_device_partition_property>(*at));
      }
      list.push_back(CL_DEVICE_PARTITION_BY_COUNTS_LIST_END);
      break;
    default:
      list = {-1};
  }
  list.push_back(0);
  return list;
}

}  // namespace

cl_int CL_API_CALL clCreateSubDevicesEXT(cl_device_id in_device,
                                         const cl_device_partition_property_ext* properties,
                                         cl_uint num_entries, cl_device_id* out_devices,
                                         cl_uint* num_devices) {
  const auto create = [&](const cl_device_partition_property* list) {
    return code_of_extension(
        icd::clCreateSubDevices(in_device, list, num_entries, out_devices, num_devices));
  };
  if (properties == nullptr) return create(nullptr);
  cl_int code = CL_SUCCESS;
  const cl_int list_made = entry("clCreateSubDevicesEXT", [&]() -> Status {
    code = create(in_core_numbers(properties).data());
    return {};
  });
  return list_made != CL_SUCCESS ? list_made : code;
}

cl_int CL_API_CALL clRetainDeviceEXT(cl_device_id device) { return icd::clRetainDevice(device); }

cl_int CL_API_CALL clReleaseDeviceEXT(cl_device_id device) { return icd::clReleaseDevice(device); }

}  // namespace tutti::icd
