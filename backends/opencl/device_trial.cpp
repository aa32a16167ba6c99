// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/device_trial.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <thread>

#include "backends/opencl/shared_memory.h"
#include "base/keep_forever.h"
#include "base/thread_annotations.h"

namespace tutti::backends {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kBytes = 3 * kPage;

/// The answers that were found, one per device for the life of the process.
template <typename Answer>
class Remembered {
 public:
  template <typename Find>
  Answer get(cl_device_id device, Find&& find) {
    {
      MutexLock lock(mutex_);
      if (const auto found = known_.find(device); found != known_.end()) return found->second;
    }
    const Answer answer = find();  // no lock while calling a vendor
    MutexLock lock(mutex_);
    return known_.emplace(device, answer).first->second;
  }

 private:
  Mutex mutex_;
  std::map<cl_device_id, Answer> known_ TUTTI_GUARDED_BY(mutex_);
};

bool all_bytes(const std::byte* data, size_t size, std::byte value) {
  for (size_t i = 0; i < size; ++i) {
    if (data[i] != value) return false;
  }
  return true;
}

/// Makes calls until the first one that fails, which goes to the log.
class Trial {
 public:
  explicit Trial(const VendorDevice& device) : device_(device) {}

  bool succeeds(const char* call, cl_int code) const {
    if (code != CL_SUCCESS) device_.note(call, code);
    return code == CL_SUCCESS;
  }
  OwnedMemory buffer(cl_context context, cl_mem_flags flags, void* host) const {
    cl_int code = CL_SUCCESS;
    OwnedMemory made(device_.cl->clCreateBuffer(context, flags, kBytes, host, &code),
                     device_.cl->clReleaseMemObject);
    succeeds("clCreateBuffer", code);
    return made;
  }

 private:
  const VendorDevice& device_;
};

// The device's write must reach `host`, and a write of the host must reach the device.
bool shares(const VendorDevice& device, cl_context context, cl_command_queue queue,
            std::byte* host) {
  const VendorFunctions& cl = *device.cl;
  const Trial trial(device);
  const auto first = std::byte{0x11}, second = std::byte{0x5a}, third = std::byte{0xc3};
  std::memset(host, 0x11, kBytes);
  const OwnedMemory shared = trial.buffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, host);
  const OwnedMemory other = trial.buffer(context, CL_MEM_READ_WRITE, nullptr);
  if (!shared.get() || !other.get()) return false;

  std::array<std::byte, kBytes> data{};
  data.fill(second);
  // Copies between two buffers are the device's own work; a host write could go to `host` directly.
  if (!trial.succeeds("clEnqueueWriteBuffer",
                      cl.clEnqueueWriteBuffer(queue, other.get(), CL_TRUE, 0, kBytes, data.data(),
                                              0, nullptr, nullptr)) ||
      !trial.succeeds("clEnqueueCopyBuffer",
                      cl.clEnqueueCopyBuffer(queue, other.get(), shared.get(), 0, kPage, kPage, 0,
                                             nullptr, nullptr)) ||
      !trial.succeeds("clFinish", cl.clFinish(queue))) {
    return false;
  }
  if (!all_bytes(host, kPage, first) || !all_bytes(host + kPage, kPage, second) ||
      !all_bytes(host + 2 * kPage, kPage, first)) {
    return false;
  }
  std::memset(host, 0xc3, kBytes);
  if (!trial.succeeds("clEnqueueCopyBuffer",
                      cl.clEnqueueCopyBuffer(queue, shared.get(), other.get(), 0, 0, kBytes, 0,
                                             nullptr, nullptr)) ||
      !trial.succeeds("clEnqueueReadBuffer",
                      cl.clEnqueueReadBuffer(queue, other.get(), CL_TRUE, 0, kBytes, data.data(), 0,
                                             nullptr, nullptr))) {
    return false;
  }
  return all_bytes(data.data(), kBytes, third);
}

OwnedQueue trial_queue(const VendorDevice& device, cl_context context) {
  auto queue = create_vendor_queue(*device.cl, context, device.device, 0);
  if (queue) return {*queue, device.cl->clReleaseCommandQueue};
  device.note(queue.error().message.c_str(), queue.error().code);
  return {};
}

bool try_sharing(const VendorDevice& device, cl_context context) {
  const OwnedQueue queue = trial_queue(device, context);
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(kPage, kBytes + kPage)), &std::free);
  if (!queue.get() || !memory) return false;
  // Applications give USE_HOST_PTR addresses with no more alignment than their data type's.
  return shares(device, context, queue.get(), memory.get()) &&
         shares(device, context, queue.get(), memory.get() + 16 + 4);
}

using RanIn = std::atomic<std::thread::id>;

void CL_CALLBACK note_thread(void* arguments) {
  RanIn* ran_in = nullptr;
  std::memcpy(&ran_in, arguments, sizeof ran_in);
  ran_in->store(std::this_thread::get_id());
}

std::optional<bool> try_native_kernel(const VendorDevice& device, cl_context context) {
  const VendorFunctions& cl = *device.cl;
  const OwnedQueue queue = trial_queue(device, context);
  if (!queue.get()) return std::nullopt;
  const Trial trial(device);
  auto ran_in = std::make_unique<RanIn>();
  RanIn* argument = ran_in.get();
  if (!trial.succeeds(
          "clEnqueueNativeKernel",
          cl.clEnqueueNativeKernel(queue.get(), &note_thread, &argument, sizeof argument, 0,
                                   nullptr, nullptr, 0, nullptr, nullptr))) {
    return std::nullopt;
  }
  const bool flushed = trial.succeeds("clFlush", cl.clFlush(queue.get()));
  // Before anybody waits: threads that wait may help drivers that have threads of their own, too.
  const bool here = ran_in->load() == std::this_thread::get_id();
  if (!trial.succeeds("clFinish", cl.clFinish(queue.get()))) {
    keep_forever(std::move(ran_in));  // it may still be written to
    return std::nullopt;
  }
  if (!flushed || ran_in->load() == std::thread::id()) return std::nullopt;
  return here;
}

/// The host's way to shared memory of one kind.
class HostsWay {
 public:
  HostsWay(const VendorDevice& device, cl_command_queue queue, std::byte* memory, SharedKind kind)
      : device_(device), queue_(queue), memory_(memory), kind_(kind) {}

  bool get(std::byte* to) const {
    if (is_unified(kind_)) return copy(to, memory_);
    if (!map(CL_MAP_READ)) return false;
    std::memcpy(to, memory_, kBytes);
    return unmap();
  }
  bool put(const std::byte* from) const {
    if (is_unified(kind_)) return copy(memory_, from);
    if (!map(CL_MAP_WRITE)) return false;
    std::memcpy(memory_, from, kBytes);
    return unmap();
  }

 private:
  bool copy(std::byte* to, const std::byte* from) const {
    return Trial(device_).succeeds(
        "clEnqueueMemcpyINTEL",
        device_.cl->clEnqueueMemcpyINTEL(queue_, CL_TRUE, to, from, kBytes, 0, nullptr, nullptr));
  }
  bool map(cl_map_flags flags) const {
    return Trial(device_).succeeds(
        "clEnqueueSVMMap",
        device_.cl->clEnqueueSVMMap(queue_, CL_TRUE, flags, memory_, kBytes, 0, nullptr, nullptr));
  }
  bool unmap() const {
    const Trial trial(device_);
    return trial.succeeds("clEnqueueSVMUnmap",
                          device_.cl->clEnqueueSVMUnmap(queue_, memory_, 0, nullptr, nullptr)) &&
           trial.succeeds("clFinish", device_.cl->clFinish(queue_));
  }

  const VendorDevice& device_;
  const cl_command_queue queue_;
  std::byte* const memory_;
  const SharedKind kind_;
};

// What a buffer's command writes must be there for the host, and the other way about.
bool try_shared_memory(const VendorDevice& device, cl_context context, SharedKind kind, bool seen) {
  const VendorFunctions& cl = *device.cl;
  const OwnedQueue queue = trial_queue(device, context);
  if (!queue.get()) return false;
  const auto free = [&](std::byte* memory) { free_shared_memory(device, context, kind, memory); };
  const Trial trial(device);
  SharedRequest request;
  request.kind = kind;
  request.size = kBytes;
  if (kind == SharedKind::kVirtual) request.flags = CL_MEM_READ_WRITE;
  cl_int code = CL_SUCCESS;
  const std::unique_ptr<std::byte, decltype(free)> memory(
      allocate_shared_memory(device, context, request, code), free);
  if (!memory) return trial.succeeds("allocation of shared memory", code);
  const OwnedMemory buffer =
      trial.buffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, memory.get());
  if (!buffer.get()) return false;
  const HostsWay host(device, queue.get(), memory.get(), kind);
  const auto first = std::byte{0x5a}, second = std::byte{0xc3}, third = std::byte{0x96};
  std::array<std::byte, kBytes> data{};
  const auto write = [&](std::byte value) {
    data.fill(value);
    return trial.succeeds("clEnqueueWriteBuffer",
                          cl.clEnqueueWriteBuffer(queue.get(), buffer.get(), CL_TRUE, 0, kBytes,
                                                  data.data(), 0, nullptr, nullptr));
  };
  const auto holds = [&](std::byte value) {
    return trial.succeeds("clEnqueueReadBuffer",
                          cl.clEnqueueReadBuffer(queue.get(), buffer.get(), CL_TRUE, 0, kBytes,
                                                 data.data(), 0, nullptr, nullptr)) &&
           all_bytes(data.data(), kBytes, value);
  };
  std::array<std::byte, kBytes> other{};
  if (!write(first) || !host.get(other.data()) || !all_bytes(other.data(), kBytes, first)) {
    return false;
  }
  other.fill(second);
  if (!host.put(other.data()) || !holds(second)) return false;
  if (!is_unified(kind) || !seen) return true;
  // At its address, with no call that tells of it.
  if (!write(third) || !all_bytes(memory.get(), kBytes, third)) return false;
  std::memset(memory.get(), 0x5a, kBytes);
  return holds(first);
}

}  // namespace

bool shared_memory_is_buffers(const VendorDevice& device, cl_context context, SharedKind kind,
                              bool seen) {
  static auto* known = new std::array<Remembered<bool>, 4>;
  return (*known)[static_cast<size_t>(kind)].get(device.device, [&] {
    const auto turn = device.turn();
    return try_shared_memory(device, context, kind, seen);
  });
}

bool shares_host_memory(const VendorDevice& device, cl_context context) {
  static auto* known = new Remembered<bool>;
  return known->get(device.device, [&] { return try_sharing(device, context); });
}

bool runs_native_kernels(const VendorDevice& device) {
  if (!device.cl->clEnqueueNativeKernel) return false;
  cl_device_exec_capabilities can = 0;
  const cl_int code = device.cl->clGetDeviceInfo(device.device, CL_DEVICE_EXECUTION_CAPABILITIES,
                                                 sizeof can, &can, nullptr);
  if (code != CL_SUCCESS) device.note("clGetDeviceInfo(CL_DEVICE_EXECUTION_CAPABILITIES)", code);
  return code == CL_SUCCESS && (can & CL_EXEC_NATIVE_KERNEL) != 0;
}

std::optional<bool> runs_in_enqueuing_thread(const VendorDevice& device, cl_context context) {
  static auto* known = new Remembered<std::optional<bool>>;
  return known->get(device.device, [&] { return try_native_kernel(device, context); });
}

}  // namespace tutti::backends
