// SPDX-License-Identifier: Apache-2.0
//
// What the tests of command buffers share: the functions of cl_khr_command_buffer as 0.9.8 has
// them (older headers declare some with other parameters), and an owning handle. Skipped where the
// device has none, or of a version before 0.9.5, whose functions take no properties.
//
// Ownership: a CommandBuffer owns one reference, for one test. Thread-safety: of the test's thread.
#pragma once

#include <CL/cl_ext.h>

#include "fixtures.h"

namespace tutti::api_tests {

constexpr char kCommandBufferExtension[] = "cl_khr_command_buffer";
constexpr cl_uint kCommandBufferContext = 0x1299;  // CL_COMMAND_BUFFER_CONTEXT_KHR
// CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR
constexpr cl_device_info kCommandBufferQueueProperties = 0x129A;

using Properties = const cl_properties*;
using Points = const cl_sync_point_khr*;
using Point = cl_sync_point_khr*;
using Mutable = cl_mutable_command_khr*;

struct CommandBufferFunctions {
  decltype(&clCreateCommandBufferKHR) create = nullptr;
  decltype(&clRetainCommandBufferKHR) retain = nullptr;
  decltype(&clReleaseCommandBufferKHR) release = nullptr;
  decltype(&clFinalizeCommandBufferKHR) finalize = nullptr;
  decltype(&clEnqueueCommandBufferKHR) enqueue = nullptr;
  decltype(&clGetCommandBufferInfoKHR) info = nullptr;
  cl_int(CL_API_CALL* barrier)(cl_command_buffer_khr, cl_command_queue, Properties, cl_uint, Points,
                               Point, Mutable) = nullptr;
  cl_int(CL_API_CALL* copy)(cl_command_buffer_khr, cl_command_queue, Properties, cl_mem, cl_mem,
                            size_t, size_t, size_t, cl_uint, Points, Point, Mutable) = nullptr;
  cl_int(CL_API_CALL* copy_rect)(cl_command_buffer_khr, cl_command_queue, Properties, cl_mem,
                                 cl_mem, const size_t*, const size_t*, const size_t*, size_t,
                                 size_t, size_t, size_t, cl_uint, Points, Point, Mutable) = nullptr;
  cl_int(CL_API_CALL* copy_buffer_to_image)(cl_command_buffer_khr, cl_command_queue, Properties,
                                            cl_mem, cl_mem, size_t, const size_t*, const size_t*,
                                            cl_uint, Points, Point, Mutable) = nullptr;
  cl_int(CL_API_CALL* copy_image)(cl_command_buffer_khr, cl_command_queue, Properties, cl_mem,
                                  cl_mem, const size_t*, const size_t*, const size_t*, cl_uint,
                                  Points, Point, Mutable) = nullptr;
  cl_int(CL_API_CALL* copy_image_to_buffer)(cl_command_buffer_khr, cl_command_queue, Properties,
                                            cl_mem, cl_mem, const size_t*, const size_t*, size_t,
                                            cl_uint, Points, Point, Mutable) = nullptr;
  cl_int(CL_API_CALL* fill)(cl_command_buffer_khr, cl_command_queue, Properties, cl_mem,
                            const void*, size_t, size_t, size_t, cl_uint, Points, Point,
                            Mutable) = nullptr;
  cl_int(CL_API_CALL* fill_image)(cl_command_buffer_khr, cl_command_queue, Properties, cl_mem,
                                  const void*, const size_t*, const size_t*, cl_uint, Points, Point,
                                  Mutable) = nullptr;
  cl_int(CL_API_CALL* kernel)(cl_command_buffer_khr, cl_command_queue, Properties, cl_kernel,
                              cl_uint, const size_t*, const size_t*, const size_t*, cl_uint, Points,
                              Point, Mutable) = nullptr;
  cl_int(CL_API_CALL* svm_copy)(cl_command_buffer_khr, cl_command_queue, Properties, void*,
                                const void*, size_t, cl_uint, Points, Point, Mutable) = nullptr;
  cl_int(CL_API_CALL* svm_fill)(cl_command_buffer_khr, cl_command_queue, Properties, void*,
                                const void*, size_t, size_t, cl_uint, Points, Point,
                                Mutable) = nullptr;
};
const CommandBufferFunctions& command_buffer_functions();
cl_int release_command_buffer(cl_command_buffer_khr commands);
// Whether the device under test has it, as the tests know it.
bool has_command_buffers();

using CommandBuffer = Handle<cl_command_buffer_khr, release_command_buffer>;

// The synchronization points that a command waits for.
using Waits = std::vector<cl_sync_point_khr>;

class CommandBufferTest : public KernelTest {
 protected:
  void SetUp() override;

  CommandBuffer make_commands(cl_command_queue queue = nullptr) const;
  // Each returns the new command's synchronization point, and expects success.
  cl_sync_point_khr launch(cl_command_buffer_khr commands, cl_kernel kernel, size_t global,
                           const Waits& waits = {}) const;
  cl_sync_point_khr copy(cl_command_buffer_khr commands, cl_mem from, cl_mem to, size_t bytes,
                         const Waits& waits = {}) const;
  template <typename T>
  cl_sync_point_khr fill(cl_command_buffer_khr commands, cl_mem buffer, T pattern, size_t count,
                         const Waits& waits = {}) const {
    cl_sync_point_khr point = 0;
    EXPECT_SUCCESS(f_.fill(commands, nullptr, nullptr, buffer, &pattern, sizeof pattern, 0,
                           count * sizeof pattern, size_of(waits), list_of(waits), &point,
                           nullptr));
    return point;
  }
  cl_sync_point_khr barrier(cl_command_buffer_khr commands, const Waits& waits = {}) const;
  void finalize(cl_command_buffer_khr commands) const;
  // On the queue that it was made for, unless another is given.
  void enqueue(cl_command_buffer_khr commands, cl_command_queue queue = nullptr) const;
  Event enqueue_observed(cl_command_buffer_khr commands, const std::vector<cl_event>& waits = {},
                         cl_command_queue queue = nullptr) const;
  Query query_of(cl_command_buffer_khr commands, cl_command_buffer_info_khr param) const;
  using KernelTest::launch;

  static cl_uint size_of(const Waits& waits) { return static_cast<cl_uint>(waits.size()); }
  static Points list_of(const Waits& waits) { return waits.empty() ? nullptr : waits.data(); }

  const CommandBufferFunctions& f_ = command_buffer_functions();
};

}  // namespace tutti::api_tests
