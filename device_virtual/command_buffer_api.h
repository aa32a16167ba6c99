// SPDX-License-Identifier: Apache-2.0
// cl_khr_command_buffer 0.9.8 and cl_khr_command_buffer_mutable_dispatch 0.9.5, which are
// provisional: what older headers do not declare of them, or declare as another version has it.
// Where a function is called differently in them, icd/entry/entries.h has it as it is in these.
#pragma once

#include <CL/cl_ext.h>

#include <cstddef>
#include <vector>

#ifndef CL_COMMAND_BUFFER_CONTEXT_KHR
#define CL_COMMAND_BUFFER_CONTEXT_KHR 0x1299
#endif
#ifndef CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR
#define CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR 0x129A
#endif

namespace tutti::device_virtual {

inline constexpr char kCommandBufferExtension[] = "cl_khr_command_buffer";
inline constexpr cl_version kCommandBufferVersion = CL_MAKE_VERSION(0, 9, 8);
inline constexpr char kMutableDispatchExtension[] = "cl_khr_command_buffer_mutable_dispatch";
inline constexpr cl_version kMutableDispatchVersion = CL_MAKE_VERSION(0, 9, 5);

// Of the command buffer: the flags, the property beside them, and the state between recording and
// being executable, whose number is another state's in older versions.
inline constexpr cl_bitfield kSimultaneousUse = 1 << 0;  // CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR
inline constexpr cl_bitfield kMutable = 1 << 1;          // CL_COMMAND_BUFFER_MUTABLE_KHR
// CL_COMMAND_BUFFER_MUTABLE_DISPATCH_ASSERTS_KHR
inline constexpr cl_properties kCommandBufferAsserts = 0x12B7;
inline constexpr cl_uint kStateFinalized = 2;  // CL_COMMAND_BUFFER_STATE_FINALIZED_KHR

// Of a command: properties of clCommandNDRangeKernelKHR, and what they are made of.
inline constexpr cl_properties kUpdatableFields =
    0x12B1;  // CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR
inline constexpr cl_properties kDispatchAsserts = 0x12B8;  // CL_MUTABLE_DISPATCH_ASSERTS_KHR
// CL_MUTABLE_DISPATCH_ASSERT_NO_ADDITIONAL_WORK_GROUPS_KHR
inline constexpr cl_bitfield kNoAdditionalGroups = 1 << 0;
inline constexpr cl_bitfield kUpdatesOffset = 1 << 0;     // CL_MUTABLE_DISPATCH_GLOBAL_OFFSET_KHR
inline constexpr cl_bitfield kUpdatesGlobal = 1 << 1;     // CL_MUTABLE_DISPATCH_GLOBAL_SIZE_KHR
inline constexpr cl_bitfield kUpdatesLocal = 1 << 2;      // CL_MUTABLE_DISPATCH_LOCAL_SIZE_KHR
inline constexpr cl_bitfield kUpdatesArguments = 1 << 3;  // CL_MUTABLE_DISPATCH_ARGUMENTS_KHR
inline constexpr cl_bitfield kUpdatesExecInfo = 1 << 4;   // CL_MUTABLE_DISPATCH_EXEC_INFO_KHR
/// All of them: what CL_DEVICE_MUTABLE_DISPATCH_CAPABILITIES_KHR answers.
inline constexpr cl_bitfield kUpdates =
    kUpdatesOffset | kUpdatesGlobal | kUpdatesLocal | kUpdatesArguments | kUpdatesExecInfo;
inline constexpr cl_device_info kMutableDispatchCapabilities = 0x12B0;

inline constexpr cl_int kInvalidMutableCommand = -1141;  // CL_INVALID_MUTABLE_COMMAND_KHR
inline constexpr cl_uint kDispatchConfig = 0;  // CL_STRUCTURE_TYPE_MUTABLE_DISPATCH_CONFIG_KHR

/// The value of a property in such a list of pairs; the other where it is not there.
inline cl_properties property_in(const std::vector<cl_properties>& list, cl_properties name,
                                 cl_properties otherwise) {
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    if (list[i] == name) return list[i + 1];
  }
  return otherwise;
}

/// cl_mutable_command_info_khr.
enum MutableCommandInfo : cl_uint {
  kMutableCommandQueue = 0x12A0,
  kMutableCommandBuffer = 0x12A1,
  kMutableCommandProperties = 0x12A2,
  kMutableCommandKernel = 0x12A3,
  kMutableCommandDimensions = 0x12A4,
  kMutableCommandOffset = 0x12A5,
  kMutableCommandGlobal = 0x12A6,
  kMutableCommandLocal = 0x12A7,
  kMutableCommandType = 0x12AD
};

/// cl_mutable_dispatch_arg_khr.
struct DispatchArgument {
  cl_uint index;
  size_t size;
  const void* value;
};
/// cl_mutable_dispatch_exec_info_khr.
struct DispatchExecInfo {
  cl_uint name;
  size_t size;
  const void* value;
};
/// cl_mutable_dispatch_config_khr, which begins with two more fields in older headers.
struct DispatchConfig {
  cl_mutable_command_khr command;
  cl_uint num_args;
  cl_uint num_svm_args;
  cl_uint num_exec_infos;
  cl_uint work_dim;
  const DispatchArgument* arg_list;
  const DispatchArgument* arg_svm_list;
  const DispatchExecInfo* exec_info_list;
  const size_t* global_work_offset;
  const size_t* global_work_size;
  const size_t* local_work_size;
};

}  // namespace tutti::device_virtual
