// SPDX-License-Identifier: Apache-2.0
// cl_khr_command_buffer 0.9.8, which is provisional: what older headers do not declare of it. Where
// a function is called differently in them, icd/entry/entries.h has it as it is in 0.9.8.
#pragma once

#include <CL/cl_ext.h>

#ifndef CL_COMMAND_BUFFER_CONTEXT_KHR
#define CL_COMMAND_BUFFER_CONTEXT_KHR 0x1299
#endif
#ifndef CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR
#define CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR 0x129A
#endif

namespace tutti::device_virtual {

inline constexpr char kCommandBufferExtension[] = "cl_khr_command_buffer";
inline constexpr cl_version kCommandBufferVersion = CL_MAKE_VERSION(0, 9, 8);

}  // namespace tutti::device_virtual
