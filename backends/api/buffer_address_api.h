// SPDX-License-Identifier: Apache-2.0
// What cl_ext_buffer_device_address 1.0.2 adds to OpenCL, which headers before 2025 do not have.
#pragma once

#include <CL/cl.h>

#include <string_view>

namespace tutti::backends {

inline constexpr std::string_view kBufferAddresses = "cl_ext_buffer_device_address";
inline constexpr cl_version kBufferAddressesVersion = CL_MAKE_VERSION(1, 0, 2);

using DeviceAddress = cl_ulong;                               // cl_mem_device_address_ext
inline constexpr cl_mem_properties kPrivateAddress = 0x5000;  // CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT
inline constexpr cl_mem_info kAddressOfMemory = 0x5001;       // CL_MEM_DEVICE_ADDRESS_EXT
// CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT
inline constexpr cl_kernel_exec_info kReachedAddresses = 0x5002;

using clSetKernelArgDevicePointerEXT_fn = cl_int(CL_API_CALL*)(cl_kernel, cl_uint, DeviceAddress);

}  // namespace tutti::backends
