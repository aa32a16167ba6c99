// SPDX-License-Identifier: Apache-2.0
#include "apart.h"

#include <CL/cl_icd.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
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
  decltype(cl_icd_dispatch::clSetMemObjectDestructorCallback) set_destructor = nullptr;
  decltype(cl_icd_dispatch::clGetMemObjectInfo) get_memory_info = nullptr;
  decltype(cl_icd_dispatch::clFinish) finish = nullptr;
  decltype(cl_icd_dispatch::clWaitForEvents) wait = nullptr;
  decltype(cl_icd_dispatch::clGetCommandQueueInfo) get_queue_info = nullptr;
  decltype(cl_icd_dispatch::clCreateUserEvent) create_event = nullptr;
  decltype(cl_icd_dispatch::clSetUserEventStatus) set_status = nullptr;
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

/// TUTTI_TEST_LINK, in bytes per second; 0: there is no link.
double link_bytes_per_second() {
  static const double rate = [] {
    const char* text = std::getenv("TUTTI_TEST_LINK");
    return text != nullptr ? std::atof(text) * 1e6 : 0;
  }();
  return rate;
}

/// A buffer in memory of ours, so that transfers can go past the driver, which would let them wait
/// for kernels.
cl_mem create_behind_link(cl_context context, cl_mem_flags flags, size_t size, cl_int* error) {
  const size_t bytes = (size + 4095) / 4096 * 4096;
  void* const memory = std::aligned_alloc(4096, bytes);
  if (memory == nullptr) return nullptr;
  const auto content = garbage(std::min(size, kMostGarbage));
  std::memcpy(memory, content.data(), content.size());
  const Original& original = original_of(context);
  cl_mem made = original.create_buffer(context, flags | CL_MEM_USE_HOST_PTR, size, memory, error);
  if (made == nullptr) {
    std::free(memory);
  } else {
    original.set_destructor(
        made, [](cl_mem, void* mine) { std::free(mine); }, memory);
  }
  return made;
}

/// What a buffer has behind the link; null: it is none of those.
unsigned char* behind_link(cl_command_queue queue, cl_mem buffer) {
  void* memory = nullptr;
  const Original& original = original_of(queue);
  original.get_memory_info(buffer, CL_MEM_HOST_PTR, sizeof memory, &memory, nullptr);
  return static_cast<unsigned char*>(memory);
}

/// An event that has ended: a marker would wait for kernels, where the device has one thread.
cl_int make_ended(cl_command_queue queue, cl_event* event) {
  const Original& original = original_of(queue);
  cl_context context = nullptr;
  cl_int code = original.get_queue_info(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
  if (code != CL_SUCCESS) return code;
  *event = original.create_event(context, &code);
  return code != CL_SUCCESS ? code : original.set_status(*event, CL_COMPLETE);
}

/// A transfer of so many bytes, as a copy engine does it: beside kernels, with the caller waiting.
template <typename Copy>
cl_int pass_link(cl_command_queue queue, size_t bytes, cl_uint count, const cl_event* events,
                 cl_event* event, Copy copy) {
  const Original& original = original_of(queue);
  cl_int code = original.finish(queue);
  if (code == CL_SUCCESS && count > 0) code = original.wait(count, events);
  if (code != CL_SUCCESS) return code;
  std::this_thread::sleep_for(
      std::chrono::duration<double>(static_cast<double>(bytes) / link_bytes_per_second()));
  copy();
  return event != nullptr ? make_ended(queue, event) : CL_SUCCESS;
}

cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                               size_t offset, size_t size, void* to, cl_uint count,
                               const cl_event* events, cl_event* event) {
  const unsigned char* const from = behind_link(queue, buffer);
  if (from == nullptr) {
    return original_of(queue).read_buffer(queue, buffer, blocking, offset, size, to, count, events,
                                          event);
  }
  return pass_link(queue, size, count, events, event,
                   [&] { std::memcpy(to, from + offset, size); });
}

cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                size_t offset, size_t size, const void* from, cl_uint count,
                                const cl_event* events, cl_event* event) {
  unsigned char* const to = behind_link(queue, buffer);
  if (to == nullptr) {
    return original_of(queue).write_buffer(queue, buffer, blocking, offset, size, from, count,
                                           events, event);
  }
  return pass_link(queue, size, count, events, event,
                   [&] { std::memcpy(to + offset, from, size); });
}

void copy_rows(unsigned char* to, const size_t* to_origin, size_t to_row, size_t to_slice,
               const unsigned char* from, const size_t* from_origin, size_t from_row,
               size_t from_slice, const size_t* region) {
  if (to_row == 0) to_row = region[0];
  if (to_slice == 0) to_slice = region[1] * to_row;
  if (from_row == 0) from_row = region[0];
  if (from_slice == 0) from_slice = region[1] * from_row;
  for (size_t z = 0; z < region[2]; ++z) {
    for (size_t y = 0; y < region[1]; ++y) {
      std::memcpy(to + to_origin[0] + (to_origin[1] + y) * to_row + (to_origin[2] + z) * to_slice,
                  from + from_origin[0] + (from_origin[1] + y) * from_row +
                      (from_origin[2] + z) * from_slice,
                  region[0]);
    }
  }
}

cl_int CL_API_CALL read_buffer_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    const size_t* origin, const size_t* host_origin,
                                    const size_t* region, size_t row_pitch, size_t slice_pitch,
                                    size_t host_row_pitch, size_t host_slice_pitch, void* to,
                                    cl_uint count, const cl_event* events, cl_event* event) {
  const unsigned char* const from = behind_link(queue, buffer);
  if (from == nullptr) {
    return original_of(queue).read_buffer_rect(queue, buffer, blocking, origin, host_origin, region,
                                               row_pitch, slice_pitch, host_row_pitch,
                                               host_slice_pitch, to, count, events, event);
  }
  return pass_link(queue, region[0] * region[1] * region[2], count, events, event, [&] {
    copy_rows(static_cast<unsigned char*>(to), host_origin, host_row_pitch, host_slice_pitch, from,
              origin, row_pitch, slice_pitch, region);
  });
}

cl_int CL_API_CALL write_buffer_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     const size_t* origin, const size_t* host_origin,
                                     const size_t* region, size_t row_pitch, size_t slice_pitch,
                                     size_t host_row_pitch, size_t host_slice_pitch,
                                     const void* from, cl_uint count, const cl_event* events,
                                     cl_event* event) {
  unsigned char* const to = behind_link(queue, buffer);
  if (to == nullptr) {
    return original_of(queue).write_buffer_rect(queue, buffer, blocking, origin, host_origin,
                                                region, row_pitch, slice_pitch, host_row_pitch,
                                                host_slice_pitch, from, count, events, event);
  }
  return pass_link(queue, region[0] * region[1] * region[2], count, events, event, [&] {
    copy_rows(to, origin, row_pitch, slice_pitch, static_cast<const unsigned char*>(from),
              host_origin, host_row_pitch, host_slice_pitch, region);
  });
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                                 cl_int* error) {
  const auto create = original_of(context).create_buffer;
  if (host == nullptr && (flags & CL_MEM_ALLOC_HOST_PTR) == 0 && link_bytes_per_second() > 0) {
    return create_behind_link(context, flags, size, error);
  }
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

void change(cl_platform_id platform, Apart apart) {
  if (std::getenv("TUTTI_TEST_POINTERS") != nullptr) {
    give_pointers(platform);
    give_built_in_kernels(platform);
  }
  if (std::getenv("TUTTI_TEST_SHARING") != nullptr) give_sharing(platform);
  if (apart == Apart::kNone) return;
  cl_icd_dispatch* table = *reinterpret_cast<cl_icd_dispatch**>(platform);
  if (originals().contains(table)) return;
  originals()[table] = {table->clCreateBuffer,
                        table->clGetDeviceInfo,
                        table->clEnqueueReadBuffer,
                        table->clEnqueueWriteBuffer,
                        table->clEnqueueReadBufferRect,
                        table->clEnqueueWriteBufferRect,
                        table->clSetMemObjectDestructorCallback,
                        table->clGetMemObjectInfo,
                        table->clFinish,
                        table->clWaitForEvents,
                        table->clGetCommandQueueInfo,
                        table->clCreateUserEvent,
                        table->clSetUserEventStatus};
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
