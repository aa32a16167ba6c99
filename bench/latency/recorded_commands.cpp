// SPDX-License-Identifier: Apache-2.0
#include "recorded_commands.h"

#include <string_view>
#include <utility>
#include <vector>

#include "cl_objects.h"

namespace tutti::bench {

template <typename Function>
bool RecordedCommands::find(Function& function, cl_platform_id platform, const char* name) {
  function = reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(platform, name));
  return function != nullptr;
}

std::optional<RecordedCommands> RecordedCommands::begin(cl_platform_id platform,
                                                        cl_device_id device,
                                                        cl_command_queue queue) {
  std::size_t size = 0;
  if (clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION_KHR, 0, nullptr, &size) !=
      CL_SUCCESS) {
    return std::nullopt;  // before cl_khr_extended_versioning
  }
  std::vector<cl_name_version_khr> extensions(size / sizeof(cl_name_version_khr));
  check(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS_WITH_VERSION_KHR, size, extensions.data(),
                        nullptr),
        "clGetDeviceInfo");
  bool found = false;
  for (const cl_name_version_khr& one : extensions) {
    found |= std::string_view(one.name) == "cl_khr_command_buffer" &&
             one.version >= CL_MAKE_VERSION_KHR(0, 9, 5);
  }
  RecordedCommands made;
  if (!found || !find(made.create_, platform, "clCreateCommandBufferKHR") ||
      !find(made.release_, platform, "clReleaseCommandBufferKHR") ||
      !find(made.finalize_, platform, "clFinalizeCommandBufferKHR") ||
      !find(made.enqueue_, platform, "clEnqueueCommandBufferKHR") ||
      !find(made.kernel_, platform, "clCommandNDRangeKernelKHR") ||
      !find(made.copy_, platform, "clCommandCopyBufferKHR")) {
    return std::nullopt;
  }
  cl_int status = CL_SUCCESS;
  made.commands_ = made.create_(1, &queue, nullptr, &status);
  check(status, "clCreateCommandBufferKHR");
  return made;
}

RecordedCommands::RecordedCommands(RecordedCommands&& other) noexcept
    : create_(other.create_),
      release_(other.release_),
      finalize_(other.finalize_),
      enqueue_(other.enqueue_),
      kernel_(other.kernel_),
      copy_(other.copy_),
      commands_(std::exchange(other.commands_, nullptr)) {}

RecordedCommands::~RecordedCommands() {
  if (commands_ != nullptr) release_(commands_);
}

void RecordedCommands::launch(cl_kernel kernel, std::size_t items) {
  check(kernel_(commands_, nullptr, nullptr, kernel, 1, nullptr, &items, &items, 0, nullptr,
                nullptr, nullptr),
        "clCommandNDRangeKernelKHR");
}

void RecordedCommands::copy(cl_mem from, cl_mem to, std::size_t bytes) {
  check(copy_(commands_, nullptr, nullptr, from, to, 0, 0, bytes, 0, nullptr, nullptr, nullptr),
        "clCommandCopyBufferKHR");
}

void RecordedCommands::finalize() { check(finalize_(commands_), "clFinalizeCommandBufferKHR"); }

void RecordedCommands::enqueue(cl_event* event) {
  check(enqueue_(0, nullptr, commands_, 0, nullptr, event), "clEnqueueCommandBufferKHR");
}

}  // namespace tutti::bench
