// SPDX-License-Identifier: Apache-2.0
// What a device of ours has and can do. What kernels use of it holds on the primary; others take no
// part where it does not hold on them. Made by the platform (platform/capability_merger.h);
// immutable, and so thread-safe.
#pragma once

#include <CL/cl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/api/backend.h"

namespace tutti::device_virtual {

struct Capabilities {
  cl_device_type type = CL_DEVICE_TYPE_CPU;
  std::string name;
  /// Extensions of OpenCL C: those that have a macro in kernels. No cl_khr_icd.
  std::vector<std::string> language_extensions;
  /// OpenCL C 3.0 feature macros that hold: "__opencl_c_int64" …
  std::vector<std::string> language_features;
  bool has_language_feature(std::string_view feature) const {
    return std::find(language_features.begin(), language_features.end(), feature) !=
           language_features.end();
  }
  uint32_t version = 300;   // of the device (__OPENCL_VERSION__): 310, or less with older devices
  uint32_t opencl_c = 120;  // highest language version, 120 for 1.2
  bool fp64 = false;
  bool images = false;
  struct ImageLimits {  // zero without images
    std::array<size_t, 2> extent_2d{};
    std::array<size_t, 3> extent_3d{};
    size_t buffer_pixels = 0;
    size_t layers = 0;
    uint32_t pitch_alignment = 0;  // pixels, of 2-D images from buffers; 0: there are none
    uint32_t base_alignment = 0;   // pixels, likewise
  } image_limits;
  bool native_kernels = false;  // CL_EXEC_NATIVE_KERNEL
  bool smaller_groups = false;  // work-groups of a launch need not all have the same size
  bool priority_hints = false;  // cl_khr_priority_hints: queues may say how urgent they are
  bool throttle_hints = false;  // cl_khr_throttle_hints
  cl_device_svm_capabilities svm = 0;
  struct DeviceQueues {  // zero where kernels enqueue none
    cl_command_queue_properties properties = 0;
    uint32_t preferred_size = 0, max_size = 0;  // bytes
    bool replaceable = false;                   // the default one
  } device_queues;
  bool il_programs = false;  // programs in SPIR-V
  std::vector<std::string> built_in_kernels;
  uint32_t max_pipe_packet = 0;  // bytes; 0: there are no pipes
  backends::UnifiedMemory unified;
  bool buffer_addresses = false;  // cl_ext_buffer_device_address
  /// What a device offers that alone stands behind Tutti, to share objects with other interfaces.
  struct Sharing {
    bool semaphores = false;                                    // cl_khr_semaphore
    std::vector<cl_uint> semaphore_imports, semaphore_exports;  // kinds of handles
    bool external_memory = false;                               // cl_khr_external_memory
    std::vector<cl_uint> memory_imports;                        // kinds of handles
    bool gl = false;                                            // cl_khr_gl_sharing
  } sharing;
  uint32_t address_bits = 64;
  bool little_endian = true;
  size_t max_work_group_size = 1;
  std::array<size_t, 3> max_work_item_sizes{1, 1, 1};
  uint64_t max_allocation = 0;    // bytes, of a buffer
  uint64_t max_undivided = 0;     // bytes, of what has to be on one device: images, shared memory
  uint64_t global_memory = 0;     // bytes
  uint64_t local_memory = 0;      // bytes
  uint32_t memory_alignment = 1;  // bytes: sub-buffer origins are multiples of it
  size_t max_parameter_size = 0;  // bytes
  /// Answers of clGetDeviceInfo, except those that name objects (platform, parent, count) or tell
  /// how a device can be partitioned.
  std::map<cl_device_info, std::vector<std::byte>> answers;
  /// Ranges of questions, ends included, that the primary answers.
  std::vector<std::pair<cl_device_info, cl_device_info>> primary_queries;
};

}  // namespace tutti::device_virtual
