// SPDX-License-Identifier: Apache-2.0
// OpenCL handles that release themselves, and the few calls on them that programs here need.
// Ownership: every object owns its handle and cannot be copied. Errors are thrown as ClError.
// Not thread-safe: one thread drives everything.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::bench {

/// A failed OpenCL call, or a device that cannot be found.
class ClError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws a ClError that names the call, unless `status` is CL_SUCCESS.
void check(cl_int status, const char* call);

/// The symbolic name of the error codes of OpenCL 1.2, else the number.
std::string error_name(cl_int status);

template <typename T, cl_int(CL_API_CALL* kRelease)(T)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T raw) : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Handle() {
    if (raw_ != nullptr) kRelease(raw_);
  }
  T get() const { return raw_; }

 private:
  T raw_ = nullptr;
};

using Context = Handle<cl_context, clReleaseContext>;
using Queue = Handle<cl_command_queue, clReleaseCommandQueue>;
using Program = Handle<cl_program, clReleaseProgram>;
using Kernel = Handle<cl_kernel, clReleaseKernel>;
using Memory = Handle<cl_mem, clReleaseMemObject>;

struct DeviceChoice {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::string platform_name;
  std::string device_name;
  std::string driver_version;
};

/// Every device of every platform, in the loader's order. Platforms without a device are left out
/// of the result but keep their index.
struct PlatformListing {
  std::size_t index = 0;
  cl_platform_id platform = nullptr;
  std::string name;
  std::vector<cl_device_id> devices;
};
std::vector<PlatformListing> list_platforms();

std::string platform_text(cl_platform_id platform, cl_platform_info what);
std::string device_text(cl_device_id device, cl_device_info what);

/// Chooses by index (all digits) or by a part of the name, in any letter case. An empty string
/// means the first. Throws a ClError that lists what there is.
DeviceChoice choose_device(const std::string& platform, const std::string& device);

/// One device with one context and one in-order queue.
class Session {
 public:
  explicit Session(DeviceChoice choice);

  const DeviceChoice& choice() const { return choice_; }
  cl_context context() const { return context_.get(); }
  cl_command_queue queue() const { return queue_.get(); }
  /// A platform before OpenCL 1.2 has no clEnqueueFillBuffer; calling it would crash.
  bool can_fill() const { return can_fill_; }
  void finish() const { check(clFinish(queue()), "clFinish"); }

  /// Builds for the session's device; the build log is in the error.
  Program build(std::string_view source, const std::string& options) const;

 private:
  DeviceChoice choice_;
  bool can_fill_ = true;
  Context context_;
  Queue queue_;
};

/// The session's commands have ended when this goes, also where an error was thrown: only then may
/// the host data go that they read and write.
class EndsCommands {
 public:
  explicit EndsCommands(const Session& session) : queue_(session.queue()) {}
  ~EndsCommands() { clFinish(queue_); }
  EndsCommands(const EndsCommands&) = delete;
  EndsCommands& operator=(const EndsCommands&) = delete;

 private:
  const cl_command_queue queue_;
};

Kernel make_kernel(const Program& program, const char* name);

/// `bytes` must be a multiple of the pattern's size.
void fill(const Session& session, cl_mem memory, std::size_t bytes, cl_uint pattern);

/// A device buffer of `count` elements. Transfers are asynchronous: the host data must live until
/// the queue has finished.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(const Session& session, cl_mem_flags flags, std::size_t count) : count_(count) {
    cl_int status = CL_SUCCESS;
    memory_ = Memory(clCreateBuffer(session.context(), flags, bytes(), nullptr, &status));
    check(status, "clCreateBuffer");
  }

  cl_mem get() const { return memory_.get(); }
  std::size_t bytes() const { return count_ * sizeof(T); }

  /// `first`: the element that the data begin at.
  void write(const Session& session, std::span<const T> data, std::size_t first = 0) const {
    check(clEnqueueWriteBuffer(session.queue(), get(), CL_FALSE, first * sizeof(T),
                               data.size_bytes(), data.data(), 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  }
  void read(const Session& session, std::span<T> data, std::size_t first = 0) const {
    check(clEnqueueReadBuffer(session.queue(), get(), CL_FALSE, first * sizeof(T),
                              data.size_bytes(), data.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  }
  void fill(const Session& session, cl_uint pattern) const {
    tutti::bench::fill(session, get(), bytes(), pattern);
  }

 private:
  Memory memory_;
  std::size_t count_ = 0;
};

/// A kernel argument in local memory.
struct LocalBytes {
  std::size_t bytes;
};

namespace detail {
inline void set_arg(cl_kernel kernel, cl_uint index, LocalBytes local) {
  check(clSetKernelArg(kernel, index, local.bytes, nullptr), "clSetKernelArg");
}
inline void set_arg(cl_kernel kernel, cl_uint index, cl_mem memory) {
  check(clSetKernelArg(kernel, index, sizeof memory, &memory), "clSetKernelArg");
}
template <typename T>
void set_arg(cl_kernel kernel, cl_uint index, const DeviceArray<T>& array) {
  set_arg(kernel, index, array.get());
}
template <typename T>
requires std::is_arithmetic_v<T>
void set_arg(cl_kernel kernel, cl_uint index, T value) {
  check(clSetKernelArg(kernel, index, sizeof value, &value), "clSetKernelArg");
}
}  // namespace detail

template <typename... Args>
void set_args(const Kernel& kernel, const Args&... args) {
  cl_uint index = 0;
  (detail::set_arg(kernel.get(), index++, args), ...);
}

/// An NDRange; the lists have one to three entries, and the same number. No offset: zeros.
struct NdRange {
  std::vector<std::size_t> global;
  std::vector<std::size_t> local;
  std::vector<std::size_t> offset{};
};

inline std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void enqueue(const Session& session, const Kernel& kernel, const NdRange& range);

}  // namespace tutti::bench
