// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/host_sharing.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "backends/opencl/opencl_objects.h"
#include "platform/log.h"
#include "platform/thread_annotations.h"

namespace tutti::backends {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kBytes = 3 * kPage;

bool all_bytes(const std::byte* data, size_t size, std::byte value) {
  for (size_t i = 0; i < size; ++i) {
    if (data[i] != value) return false;
  }
  return true;
}

// The device's write must reach `host`, and a write of the host must reach the device.
bool shares(const VendorFunctions& cl, cl_context context, cl_command_queue queue,
            std::byte* host) {
  const auto first = std::byte{0x11}, second = std::byte{0x5a}, third = std::byte{0xc3};
  cl_int code = CL_SUCCESS;
  std::memset(host, 0x11, kBytes);
  OwnedMemory shared(
      cl.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kBytes, host, &code),
      cl.clReleaseMemObject);
  if (code != CL_SUCCESS) return false;
  OwnedMemory other(cl.clCreateBuffer(context, CL_MEM_READ_WRITE, kBytes, nullptr, &code),
                    cl.clReleaseMemObject);
  if (code != CL_SUCCESS) return false;

  std::array<std::byte, kBytes> data{};
  data.fill(second);
  // Copies between two buffers are the device's own work; a host write could go to `host` directly.
  if (cl.clEnqueueWriteBuffer(queue, other.get(), CL_TRUE, 0, kBytes, data.data(), 0, nullptr,
                              nullptr) != CL_SUCCESS ||
      cl.clEnqueueCopyBuffer(queue, other.get(), shared.get(), 0, kPage, kPage, 0, nullptr,
                             nullptr) != CL_SUCCESS ||
      cl.clFinish(queue) != CL_SUCCESS) {
    return false;
  }
  if (!all_bytes(host, kPage, first) || !all_bytes(host + kPage, kPage, second) ||
      !all_bytes(host + 2 * kPage, kPage, first)) {
    return false;
  }
  std::memset(host, 0xc3, kBytes);
  if (cl.clEnqueueCopyBuffer(queue, shared.get(), other.get(), 0, 0, kBytes, 0, nullptr, nullptr) !=
          CL_SUCCESS ||
      cl.clEnqueueReadBuffer(queue, other.get(), CL_TRUE, 0, kBytes, data.data(), 0, nullptr,
                             nullptr) != CL_SUCCESS) {
    return false;
  }
  return all_bytes(data.data(), kBytes, third);
}

bool try_out(const VendorFunctions& cl, cl_device_id device, cl_context context) {
  auto queue = create_vendor_queue(cl, context, device, 0);
  if (!queue) return false;
  const OwnedQueue owned(*queue, cl.clReleaseCommandQueue);
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(kPage, kBytes + kPage)), &std::free);
  if (!memory) return false;
  // Applications give USE_HOST_PTR addresses with no more alignment than their data type's.
  return shares(cl, context, *queue, memory.get()) &&
         shares(cl, context, *queue, memory.get() + 16 + 4);
}

}  // namespace

bool shares_host_memory(const VendorFunctions& cl, cl_device_id device, cl_context context) {
  static auto* mutex = new Mutex;
  static auto* known = new std::map<cl_device_id, bool>;
  {
    MutexLock lock(*mutex);
    if (const auto found = known->find(device); found != known->end()) return found->second;
  }
  const bool answer = try_out(cl, device, context);  // no lock while calling a vendor
  MutexLock lock(*mutex);
  return known->emplace(device, answer).first->second;
}

}  // namespace tutti::backends
