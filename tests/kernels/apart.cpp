// SPDX-License-Identifier: Apache-2.0
#include "apart.h"

#include <CL/cl_icd.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "built_in.h"
#include "pointers.h"
#include "sharing.h"

namespace tutti::kernel_fuzz {
namespace {

bool gpus = false;  // Apart::kGpus

constexpr size_t kMostGarbage = 64 << 20;  // bytes

struct Original {
  decltype(cl_icd_dispatch::clCreateBuffer) create_buffer = nullptr;
  decltype(cl_icd_dispatch::clGetDeviceInfo) get_device_info = nullptr;
  decltype(cl_icd_dispatch::clEnqueueReadBuffer) read_buffer = nullptr;
  decltype(cl_icd_dispatch::clEnqueueWriteBuffer) write_buffer = nullptr;
  decltype(cl_icd_dispatch::clEnqueueReadBufferRect) read_buffer_rect = nullptr;
  decltype(cl_icd_dispatch::clEnqueueWriteBufferRect) write_buffer_rect = nullptr;
};

std::map<const cl_icd_dispatch*, Original>& originals() {
  static auto* map = new std::map<const cl_icd_dispatch*, Original>;
  return *map;
}

template <typename Object>
const Original& original_of(Object object) {
  return originals().at(*reinterpret_cast<cl_icd_dispatch**>(object));
}

/// What memory may hold that nobody has written: each time something else, of values that kernels
/// write, too.
std::vector<unsigned char> garbage(size_t size) {
  static std::atomic<uint64_t> last{0};
  std::minstd_rand random(static_cast<unsigned>(++last));
  std::vector<unsigned char> bytes(size);
  for (size_t at = 0; at < size;) {
    const auto value = static_cast<unsigned char>(random() % 4 == 0 ? random() : 0);
    for (size_t end = std::min(size, at + random() % 64 + 1); at < end; ++at) bytes[at] = value;
  }
  return bytes;
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                                 cl_int* error) {
  const auto create = original_of(context).create_buffer;
  if (host == nullptr && (flags & CL_MEM_ALLOC_HOST_PTR) == 0 && size != 0 &&
      size <= kMostGarbage) {
    return create(context, flags | CL_MEM_COPY_HOST_PTR, size, garbage(size).data(), error);
  }
  if (!gpus && (flags & CL_MEM_USE_HOST_PTR) != 0) {
    flags = (flags & ~cl_mem_flags{CL_MEM_USE_HOST_PTR}) | CL_MEM_COPY_HOST_PTR;
  }
  return create(context, flags, size, host, error);
}

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size,
                                   void* value, size_t* size_needed) {
  const cl_int code = original_of(device).get_device_info(device, name, size, value, size_needed);
  if (code == CL_SUCCESS && name == CL_DEVICE_TYPE && value != nullptr) {
    *static_cast<cl_device_type*>(value) = CL_DEVICE_TYPE_GPU;
  }
  return code;
}

/// TUTTI_TEST_LINK: transfers of buffers take their callers as long as a link of so many MB/s
/// would.
double link_bytes_per_second() {
  static const double rate = [] {
    const char* text = std::getenv("TUTTI_TEST_LINK");
    return text != nullptr ? std::atof(text) * 1e6 : 0;
  }();
  return rate;
}

void pass_link(size_t bytes) {
  std::this_thread::sleep_for(
      std::chrono::duration<double>(static_cast<double>(bytes) / link_bytes_per_second()));
}

cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                               size_t offset, size_t size, void* to, cl_uint count,
                               const cl_event* events, cl_event* event) {
  pass_link(size);
  return original_of(queue).read_buffer(queue, buffer, blocking, offset, size, to, count, events,
                                        event);
}

cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                size_t offset, size_t size, const void* from, cl_uint count,
                                const cl_event* events, cl_event* event) {
  pass_link(size);
  return original_of(queue).write_buffer(queue, buffer, blocking, offset, size, from, count, events,
                                         event);
}

cl_int CL_API_CALL read_buffer_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    const size_t* origin, const size_t* host_origin,
                                    const size_t* region, size_t row_pitch, size_t slice_pitch,
                                    size_t host_row_pitch, size_t host_slice_pitch, void* to,
                                    cl_uint count, const cl_event* events, cl_event* event) {
  pass_link(region[0] * region[1] * region[2]);
  return original_of(queue).read_buffer_rect(queue, buffer, blocking, origin, host_origin, region,
                                             row_pitch, slice_pitch, host_row_pitch,
                                             host_slice_pitch, to, count, events, event);
}

cl_int CL_API_CALL write_buffer_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     const size_t* origin, const size_t* host_origin,
                                     const size_t* region, size_t row_pitch, size_t slice_pitch,
                                     size_t host_row_pitch, size_t host_slice_pitch,
                                     const void* from, cl_uint count, const cl_event* events,
                                     cl_event* event) {
  pass_link(region[0] * region[1] * region[2]);
  return original_of(queue).write_buffer_rect(queue, buffer, blocking, origin, host_origin, region,
                                              row_pitch, slice_pitch, host_row_pitch,
                                              host_slice_pitch, from, count, events, event);
}

void change(cl_platform_id platform, Apart apart) {
  if (std::getenv("TUTTI_TEST_POINTERS") != nullptr) {
    give_pointers(platform);
    give_built_in_kernels(platform);
  }
  if (std::getenv("TUTTI_TEST_SHARING") != nullptr) give_sharing(platform);
  if (apart == Apart::kNone) return;
  cl_icd_dispatch* table = *reinterpret_cast<cl_icd_dispatch**>(platform);
  if (originals().contains(table)) return;
  originals()[table] = {table->clCreateBuffer,          table->clGetDeviceInfo,
                        table->clEnqueueReadBuffer,     table->clEnqueueWriteBuffer,
                        table->clEnqueueReadBufferRect, table->clEnqueueWriteBufferRect};
  if (link_bytes_per_second() > 0) {
    replace(table->clEnqueueReadBuffer, &read_buffer);
    replace(table->clEnqueueWriteBuffer, &write_buffer);
    replace(table->clEnqueueReadBufferRect, &read_buffer_rect);
    replace(table->clEnqueueWriteBufferRect, &write_buffer_rect);
  }
  replace(table->clCreateBuffer, &create_buffer);
  if (gpus) replace(table->clGetDeviceInfo, &get_device_info);
}

/// The library that an .icd file names, or the library itself; stays loaded.
void change_vendor(const std::string& item, Apart apart) {
  std::string library = item;
  if (library.ends_with(".icd")) std::getline(std::ifstream(item) >> std::ws, library);
  if (library.find("libtutti") != std::string::npos) return;
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return;
  const auto function =
      reinterpret_cast<void* (*)(const char*)>(dlsym(handle, "clGetExtensionFunctionAddress"));
  const auto platforms_of =
      function == nullptr
          ? nullptr
          : reinterpret_cast<decltype(&clGetPlatformIDs)>(function("clIcdGetPlatformIDsKHR"));
  cl_uint count = 0;
  if (platforms_of == nullptr || platforms_of(0, nullptr, &count) != CL_SUCCESS) return;
  std::vector<cl_platform_id> platforms(count);
  platforms_of(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) change(platform, apart);
}

}  // namespace

void keep_memory_apart(Apart apart) {
  if (apart == Apart::kNone && std::getenv("TUTTI_TEST_POINTERS") == nullptr &&
      std::getenv("TUTTI_TEST_SHARING") == nullptr) {
    return;
  }
  gpus = apart == Apart::kGpus;
  const char* vendors = std::getenv("TUTTI_VENDORS");
  std::istringstream items(vendors != nullptr ? vendors : "/etc/OpenCL/vendors");
  std::vector<std::string> vendors_found;
  for (std::string item; std::getline(items, item, ':');) {
    if (!std::filesystem::is_directory(item)) {
      vendors_found.push_back(item);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(item)) {
      if (entry.path().extension() == ".icd") vendors_found.push_back(entry.path().string());
    }
  }
  for (size_t i = 0; i < vendors_found.size(); i += apart == Apart::kHalf ? 2 : 1)
    change_vendor(vendors_found[i], apart);
}

}  // namespace tutti::kernel_fuzz
