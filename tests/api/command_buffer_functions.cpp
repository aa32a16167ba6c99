// SPDX-License-Identifier: Apache-2.0
// The functions of command buffers, and what the tests of them share.
#include "command_buffers.h"

#include <algorithm>
#include <string>

namespace tutti::api_tests {
namespace {

template <typename Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(
      clGetExtensionFunctionAddressForPlatform(options().platform, name));
}

}  // namespace

const CommandBufferFunctions& command_buffer_functions() {
  static const CommandBufferFunctions functions = [] {
    CommandBufferFunctions f;
    find(f.create, "clCreateCommandBufferKHR");
    find(f.retain, "clRetainCommandBufferKHR");
    find(f.release, "clReleaseCommandBufferKHR");
    find(f.finalize, "clFinalizeCommandBufferKHR");
    find(f.enqueue, "clEnqueueCommandBufferKHR");
    find(f.info, "clGetCommandBufferInfoKHR");
    find(f.barrier, "clCommandBarrierWithWaitListKHR");
    find(f.copy, "clCommandCopyBufferKHR");
    find(f.copy_rect, "clCommandCopyBufferRectKHR");
    find(f.copy_buffer_to_image, "clCommandCopyBufferToImageKHR");
    find(f.copy_image, "clCommandCopyImageKHR");
    find(f.copy_image_to_buffer, "clCommandCopyImageToBufferKHR");
    find(f.fill, "clCommandFillBufferKHR");
    find(f.fill_image, "clCommandFillImageKHR");
    find(f.kernel, "clCommandNDRangeKernelKHR");
    find(f.svm_copy, "clCommandSVMMemcpyKHR");
    find(f.svm_fill, "clCommandSVMMemFillKHR");
    return f;
  }();
  return functions;
}

cl_int release_command_buffer(cl_command_buffer_khr commands) {
  return command_buffer_functions().release(commands);
}

bool has_command_buffers() {
  if (device_version() < 300) return false;
  const auto extensions = array_of<cl_name_version>(
      ::tutti::api_tests::query_of(options().device, CL_DEVICE_EXTENSIONS_WITH_VERSION));
  return std::any_of(extensions.begin(), extensions.end(), [](const cl_name_version& extension) {
    return std::string(extension.name) == kCommandBufferExtension &&
           extension.version >= CL_MAKE_VERSION(0, 9, 5);
  });
}

void CommandBufferTest::SetUp() {
  KernelTest::SetUp();
  if (!options().tutti && !has_command_buffers()) GTEST_SKIP() << "no command buffers";
  ASSERT_TRUE(has_command_buffers());
  ASSERT_NE(f_.create, nullptr);
}

CommandBuffer CommandBufferTest::make_commands(cl_command_queue queue) const {
  cl_int code = CL_SUCCESS;
  if (queue == nullptr) queue = queue_;
  CommandBuffer commands(f_.create(1, &queue, nullptr, &code));
  EXPECT_SUCCESS(code);
  return commands;
}

cl_sync_point_khr CommandBufferTest::launch(cl_command_buffer_khr commands, cl_kernel kernel,
                                            size_t global, const Waits& waits) const {
  cl_sync_point_khr point = 0;
  EXPECT_SUCCESS(f_.kernel(commands, nullptr, nullptr, kernel, 1, nullptr, &global, nullptr,
                           size_of(waits), list_of(waits), &point, nullptr));
  return point;
}

cl_sync_point_khr CommandBufferTest::copy(cl_command_buffer_khr commands, cl_mem from, cl_mem to,
                                          size_t bytes, const Waits& waits) const {
  cl_sync_point_khr point = 0;
  EXPECT_SUCCESS(f_.copy(commands, nullptr, nullptr, from, to, 0, 0, bytes, size_of(waits),
                         list_of(waits), &point, nullptr));
  return point;
}

cl_sync_point_khr CommandBufferTest::barrier(cl_command_buffer_khr commands,
                                             const Waits& waits) const {
  cl_sync_point_khr point = 0;
  EXPECT_SUCCESS(
      f_.barrier(commands, nullptr, nullptr, size_of(waits), list_of(waits), &point, nullptr));
  return point;
}

void CommandBufferTest::finalize(cl_command_buffer_khr commands) const {
  EXPECT_SUCCESS(f_.finalize(commands));
}

void CommandBufferTest::enqueue(cl_command_buffer_khr commands, cl_command_queue queue) const {
  EXPECT_SUCCESS(f_.enqueue(queue != nullptr ? 1 : 0, queue != nullptr ? &queue : nullptr, commands,
                            0, nullptr, nullptr));
}

Event CommandBufferTest::enqueue_observed(cl_command_buffer_khr commands,
                                          const std::vector<cl_event>& waits,
                                          cl_command_queue queue) const {
  Event event;
  EXPECT_SUCCESS(f_.enqueue(queue != nullptr ? 1 : 0, queue != nullptr ? &queue : nullptr, commands,
                            static_cast<cl_uint>(waits.size()),
                            waits.empty() ? nullptr : waits.data(), event.out()));
  return event;
}

Query CommandBufferTest::query_of(cl_command_buffer_khr commands,
                                  cl_command_buffer_info_khr param) const {
  return [this, commands, param](size_t size, void* value, size_t* size_ret) {
    return f_.info(commands, param, size, value, size_ret);
  };
}

}  // namespace tutti::api_tests
