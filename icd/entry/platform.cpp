// SPDX-License-Identifier: Apache-2.0
// Entry points of the platform and the device.
#include "icd/validate/platform.h"
#include "base/clock.h"
#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/recorder/recording_functions.h"

namespace tutti::icd {
namespace {

cl_int platform_ids(const char* name, cl_int none, cl_uint num_entries, cl_platform_id* platforms,
                    cl_uint* num_platforms) {
  return entry(name, [&]() -> Status {
    TUTTI_TRY(validate::get_platform_ids(num_entries, platforms, num_platforms));
    recorder::start_if_wanted();  // before the first handle is made
    const platform::Composition* all = platform::composition();
    if (num_platforms != nullptr) *num_platforms = all != nullptr ? 1 : 0;
    if (all == nullptr) return fail(none, "there is no vendor device");
    if (platforms != nullptr) platforms[0] = all->platform->handle();
    return {};
  });
}

}  // namespace

cl_int CL_API_CALL clGetPlatformIDs(cl_uint num_entries, cl_platform_id* platforms,
                                    cl_uint* num_platforms) {
  return platform_ids("clGetPlatformIDs", CL_SUCCESS, num_entries, platforms, num_platforms);
}

cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint num_entries, cl_platform_id* platforms,
                                          cl_uint* num_platforms) {
  return platform_ids("clIcdGetPlatformIDsKHR", CL_PLATFORM_NOT_FOUND_KHR, num_entries, platforms,
                      num_platforms);
}

cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info param_name,
                                     size_t param_value_size, void* param_value,
                                     size_t* param_value_size_ret) {
  return entry("clGetPlatformInfo", [&]() -> Status {
    TUTTI_ASSIGN(const auto* const object, validate::platform(platform));
    return object->info(param_name, {param_value_size, param_value, param_value_size_ret});
  });
}

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform, cl_device_type device_type,
                                  cl_uint num_entries, cl_device_id* devices,
                                  cl_uint* num_devices) {
  return entry("clGetDeviceIDs", [&]() -> Status {
    TUTTI_TRY(validate::get_device_ids(platform, device_type, num_entries, devices, num_devices));
    device_virtual::Device* device = platform::composition()->device;
    const bool found = device->matches(device_type);
    if (num_devices != nullptr) *num_devices = found ? 1 : 0;
    // "CL_DEVICE_NOT_FOUND if no OpenCL devices that matched device_type were found."
    if (!found) return fail(CL_DEVICE_NOT_FOUND, "no device of this type");
    if (devices != nullptr) devices[0] = device->handle();
    return {};
  });
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id device, cl_device_info param_name,
                                   size_t param_value_size, void* param_value,
                                   size_t* param_value_size_ret) {
  return entry("clGetDeviceInfo", [&]() -> Status {
    TUTTI_ASSIGN(const auto* const object, validate::device(device));
    return object->info(param_name, {param_value_size, param_value, param_value_size_ret});
  });
}

cl_int CL_API_CALL clCreateSubDevices(cl_device_id in_device,
                                      const cl_device_partition_property* properties,
                                      cl_uint num_devices, cl_device_id* out_devices,
                                      cl_uint* num_devices_ret) {
  return entry("clCreateSubDevices", [&]() -> Status {
    TUTTI_ASSIGN(const auto call,
                 validate::create_sub_devices(in_device, properties, num_devices, out_devices));
    if (out_devices != nullptr) {
      TUTTI_ASSIGN(auto devices, call.device->create_sub_devices(call.division));
      for (auto& device : devices) *out_devices++ = device.detach()->handle();
    }
    if (num_devices_ret != nullptr) {
      *num_devices_ret = static_cast<cl_uint>(call.division.parts.size());
    }
    return {};
  });
}

// "If device is a root level device …, the device reference count remains unchanged."
cl_int CL_API_CALL clRetainDevice(cl_device_id device) {
  return entry("clRetainDevice", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::device(device));
    if (!object->is_root()) object->retain_public();
    return {};
  });
}

cl_int CL_API_CALL clReleaseDevice(cl_device_id device) {
  return entry("clReleaseDevice", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::device(device));
    if (!object->is_root() && !object->release_public()) {
      return fail(CL_INVALID_DEVICE, "released too often");
    }
    return {};
  });
}

// The device's clock, in which events are timed, is the process's steady clock: the host's.
cl_int CL_API_CALL clGetDeviceAndHostTimer(cl_device_id device, cl_ulong* device_timestamp,
                                           cl_ulong* host_timestamp) {
  return entry("clGetDeviceAndHostTimer", [&]() -> Status {
    TUTTI_TRY(validate::host_timer(device, device_timestamp));
    TUTTI_TRY(validate::host_timer(device, host_timestamp));
    *device_timestamp = *host_timestamp = now_ns();
    return {};
  });
}

cl_int CL_API_CALL clGetHostTimer(cl_device_id device, cl_ulong* host_timestamp) {
  return entry("clGetHostTimer", [&]() -> Status {
    TUTTI_TRY(validate::host_timer(device, host_timestamp));
    *host_timestamp = now_ns();
    return {};
  });
}

}  // namespace tutti::icd
