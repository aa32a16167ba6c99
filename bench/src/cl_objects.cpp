// SPDX-License-Identifier: Apache-2.0
#include "cl_objects.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace tutti::bench {
namespace {

bool is_index(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool contains(const std::string& text, const std::string& part) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

/// The texts of OpenCL are counted with their terminating zero.
std::string without_zero(std::string text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

/// The position in `names` that `wish` means: an index, a part of a name, or the first.
std::optional<std::size_t> choose(const std::vector<std::string>& names, const std::string& wish) {
  if (wish.empty()) return names.empty() ? std::nullopt : std::optional<std::size_t>(0);
  if (is_index(wish)) {
    if (wish.size() > 6) return std::nullopt;
    const std::size_t index = std::stoul(wish);
    return index < names.size() ? std::optional(index) : std::nullopt;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (contains(names[i], wish)) return i;
  }
  return std::nullopt;
}

}  // namespace

std::string error_name(cl_int status) {
  switch (status) {
#define TUTTI_BENCH_CASE(code) \
  case code:                   \
    return #code
    TUTTI_BENCH_CASE(CL_DEVICE_NOT_FOUND);
    TUTTI_BENCH_CASE(CL_DEVICE_NOT_AVAILABLE);
    TUTTI_BENCH_CASE(CL_COMPILER_NOT_AVAILABLE);
    TUTTI_BENCH_CASE(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    TUTTI_BENCH_CASE(CL_OUT_OF_RESOURCES);
    TUTTI_BENCH_CASE(CL_OUT_OF_HOST_MEMORY);
    TUTTI_BENCH_CASE(CL_BUILD_PROGRAM_FAILURE);
    TUTTI_BENCH_CASE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    TUTTI_BENCH_CASE(CL_INVALID_VALUE);
    TUTTI_BENCH_CASE(CL_INVALID_DEVICE);
    TUTTI_BENCH_CASE(CL_INVALID_CONTEXT);
    TUTTI_BENCH_CASE(CL_INVALID_COMMAND_QUEUE);
    TUTTI_BENCH_CASE(CL_INVALID_MEM_OBJECT);
    TUTTI_BENCH_CASE(CL_INVALID_BUILD_OPTIONS);
    TUTTI_BENCH_CASE(CL_INVALID_PROGRAM);
    TUTTI_BENCH_CASE(CL_INVALID_PROGRAM_EXECUTABLE);
    TUTTI_BENCH_CASE(CL_INVALID_KERNEL_NAME);
    TUTTI_BENCH_CASE(CL_INVALID_KERNEL);
    TUTTI_BENCH_CASE(CL_INVALID_ARG_INDEX);
    TUTTI_BENCH_CASE(CL_INVALID_ARG_VALUE);
    TUTTI_BENCH_CASE(CL_INVALID_ARG_SIZE);
    TUTTI_BENCH_CASE(CL_INVALID_KERNEL_ARGS);
    TUTTI_BENCH_CASE(CL_INVALID_WORK_DIMENSION);
    TUTTI_BENCH_CASE(CL_INVALID_WORK_GROUP_SIZE);
    TUTTI_BENCH_CASE(CL_INVALID_WORK_ITEM_SIZE);
    TUTTI_BENCH_CASE(CL_INVALID_BUFFER_SIZE);
    TUTTI_BENCH_CASE(CL_INVALID_OPERATION);
#undef TUTTI_BENCH_CASE
    default:
      return "error " + std::to_string(status);
  }
}

void check(cl_int status, const char* call) {
  if (status != CL_SUCCESS) throw ClError(std::string(call) + ": " + error_name(status));
}

std::string platform_text(cl_platform_id platform, cl_platform_info what) {
  std::size_t size = 0;
  check(clGetPlatformInfo(platform, what, 0, nullptr, &size), "clGetPlatformInfo");
  std::string text(size, '\0');
  check(clGetPlatformInfo(platform, what, size, text.data(), nullptr), "clGetPlatformInfo");
  return without_zero(std::move(text));
}

std::string device_text(cl_device_id device, cl_device_info what) {
  std::size_t size = 0;
  check(clGetDeviceInfo(device, what, 0, nullptr, &size), "clGetDeviceInfo");
  std::string text(size, '\0');
  check(clGetDeviceInfo(device, what, size, text.data(), nullptr), "clGetDeviceInfo");
  return without_zero(std::move(text));
}

std::vector<PlatformListing> list_platforms() {
  cl_uint count = 0;
  // Without any platform the loader answers CL_PLATFORM_NOT_FOUND_KHR: an empty list to us.
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_platform_id> platforms(count);
  check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  std::vector<PlatformListing> found;
  for (std::size_t i = 0; i < platforms.size(); ++i) {
    PlatformListing listing{i, platforms[i], platform_text(platforms[i], CL_PLATFORM_NAME), {}};
    cl_uint devices = 0;
    // Some drivers answer DEFAULT with CL_DEVICE_NOT_FOUND although they have devices: ask for ALL.
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 0, nullptr, &devices) != CL_SUCCESS ||
        devices == 0) {
      continue;
    }
    listing.devices.resize(devices);
    check(
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, devices, listing.devices.data(), nullptr),
        "clGetDeviceIDs");
    found.push_back(std::move(listing));
  }
  return found;
}

DeviceChoice choose_device(const std::string& platform, const std::string& device) {
  const std::vector<PlatformListing> platforms = list_platforms();
  const PlatformListing* chosen = nullptr;
  std::string known;
  for (const PlatformListing& one : platforms) {
    known += "\n  " + std::to_string(one.index) + ": " + one.name;
    const bool fits = platform.empty()     ? true
                      : is_index(platform) ? std::to_string(one.index) == platform
                                           : contains(one.name, platform);
    if (fits && chosen == nullptr) chosen = &one;
  }
  if (chosen == nullptr) {
    if (platforms.empty()) throw ClError("no OpenCL platform has a device");
    throw ClError("no platform with a device fits \"" + platform + "\"; there are:" + known);
  }
  std::vector<std::string> names;
  known.clear();
  for (cl_device_id one : chosen->devices) {
    names.push_back(device_text(one, CL_DEVICE_NAME));
    known += "\n  " + std::to_string(names.size() - 1) + ": " + names.back();
  }
  const std::optional<std::size_t> position = choose(names, device);
  if (!position) {
    throw ClError("no device of platform \"" + chosen->name + "\" fits \"" + device +
                  "\"; there are:" + known);
  }
  const cl_device_id id = chosen->devices[*position];
  return {chosen->platform, id, chosen->name, names[*position], device_text(id, CL_DRIVER_VERSION)};
}

Session::Session(DeviceChoice choice) : choice_(std::move(choice)) {
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(choice_.platform), 0};
  cl_int status = CL_SUCCESS;
  context_ = Context(clCreateContext(properties, 1, &choice_.device, nullptr, nullptr, &status));
  check(status, "clCreateContext");
  queue_ = Queue(clCreateCommandQueue(context(), choice_.device, 0, &status));
  check(status, "clCreateCommandQueue");
  const std::string version = platform_text(choice_.platform, CL_PLATFORM_VERSION);
  can_fill_ = version.rfind("OpenCL 1.0", 0) != 0 && version.rfind("OpenCL 1.1", 0) != 0;
}

void fill(const Session& session, cl_mem memory, std::size_t bytes, cl_uint pattern) {
  if (session.can_fill()) {
    check(clEnqueueFillBuffer(session.queue(), memory, &pattern, sizeof pattern, 0, bytes, 0,
                              nullptr, nullptr),
          "clEnqueueFillBuffer");
  } else {
    const std::vector<cl_uint> data(bytes / sizeof pattern, pattern);
    check(clEnqueueWriteBuffer(session.queue(), memory, CL_TRUE, 0, bytes, data.data(), 0, nullptr,
                               nullptr),
          "clEnqueueWriteBuffer");
  }
}

Program Session::build(std::string_view source, const std::string& options) const {
  const char* text = source.data();
  const std::size_t length = source.size();
  cl_int status = CL_SUCCESS;
  Program program(clCreateProgramWithSource(context(), 1, &text, &length, &status));
  check(status, "clCreateProgramWithSource");
  status = clBuildProgram(program.get(), 1, &choice_.device, options.c_str(), nullptr, nullptr);
  if (status != CL_SUCCESS) {
    std::size_t size = 0;
    std::string log;
    if (clGetProgramBuildInfo(program.get(), choice_.device, CL_PROGRAM_BUILD_LOG, 0, nullptr,
                              &size) == CL_SUCCESS) {
      log.resize(size);
      clGetProgramBuildInfo(program.get(), choice_.device, CL_PROGRAM_BUILD_LOG, size, log.data(),
                            nullptr);
    }
    throw ClError("clBuildProgram: " + error_name(status) + "\n" + without_zero(std::move(log)));
  }
  return program;
}

Kernel make_kernel(const Program& program, const char* name) {
  cl_int status = CL_SUCCESS;
  Kernel kernel(clCreateKernel(program.get(), name, &status));
  check(status, "clCreateKernel");
  return kernel;
}

void enqueue(const Session& session, const Kernel& kernel, const NdRange& range) {
  check(clEnqueueNDRangeKernel(session.queue(), kernel.get(),
                               static_cast<cl_uint>(range.global.size()),
                               range.offset.empty() ? nullptr : range.offset.data(),
                               range.global.data(), range.local.data(), 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
}

}  // namespace tutti::bench
