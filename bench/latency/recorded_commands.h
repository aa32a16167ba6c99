// SPDX-License-Identifier: Apache-2.0
// Commands in a command buffer (cl_khr_command_buffer from 0.9.5 on). One thread drives
// it.
#pragma once

#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <cstddef>
#include <optional>

namespace tutti::bench {

class RecordedCommands {
 public:
  /// Absent: the device has no command buffers, or of a version whose functions are called
  /// differently.
  static std::optional<RecordedCommands> begin(cl_platform_id platform, cl_device_id device,
                                               cl_command_queue queue);
  RecordedCommands(RecordedCommands&& other) noexcept;
  RecordedCommands& operator=(RecordedCommands&&) = delete;
  ~RecordedCommands();

  void launch(cl_kernel kernel, std::size_t items);
  void copy(cl_mem from, cl_mem to, std::size_t bytes);
  void finalize();
  /// `event` may be null.
  void enqueue(cl_event* event);

 private:
  RecordedCommands() = default;
  template <typename Function>
  static bool find(Function& function, cl_platform_id platform, const char* name);

  using Properties = const cl_properties*;
  using Points = const cl_sync_point_khr*;
  decltype(&clCreateCommandBufferKHR) create_ = nullptr;
  decltype(&clReleaseCommandBufferKHR) release_ = nullptr;
  decltype(&clFinalizeCommandBufferKHR) finalize_ = nullptr;
  decltype(&clEnqueueCommandBufferKHR) enqueue_ = nullptr;
  cl_int(CL_API_CALL* kernel_)(cl_command_buffer_khr, cl_command_queue, Properties, cl_kernel,
                               cl_uint, const std::size_t*, const std::size_t*, const std::size_t*,
                               cl_uint, Points, cl_sync_point_khr*,
                               cl_mutable_command_khr*) = nullptr;
  cl_int(CL_API_CALL* copy_)(cl_command_buffer_khr, cl_command_queue, Properties, cl_mem, cl_mem,
                             std::size_t, std::size_t, std::size_t, cl_uint, Points,
                             cl_sync_point_khr*, cl_mutable_command_khr*) = nullptr;
  cl_command_buffer_khr commands_ = nullptr;
};

}  // namespace tutti::bench
