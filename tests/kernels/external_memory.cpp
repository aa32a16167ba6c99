// SPDX-License-Identifier: Apache-2.0
// Memory of another interface: a file in memory, or what the test has. Its content is in the
// vendor's object from an acquire to the release behind it, and at other times there is something
// else.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "sharing.h"

namespace tutti::kernel_fuzz::sharing {
namespace {

struct External {
  void* mapping = nullptr;
  size_t size = 0;  // bytes
  bool image = false;
  std::atomic<std::thread::id>* used_by = nullptr;  // of an object of OpenGL, else null
  bool acquired = false;
};

std::mutex mutex;
std::map<cl_mem, External>& known() {
  static auto* all = new std::map<cl_mem, External>;
  return *all;
}

bool has_handle(const cl_mem_properties* properties) {
  if (properties == nullptr) return false;
  for (const cl_uint type : kMemoryHandleTypes) {
    if (properties[0] == type) return true;
  }
  return false;
}

void CL_CALLBACK forget(cl_mem memory, void*) {
  const std::lock_guard lock(mutex);
  const auto entry = known().extract(memory);
  if (!entry.mapped().used_by) munmap(entry.mapped().mapping, entry.mapped().size);
}

/// The object takes the file over. Null: there is no such file, or it is too short.
cl_mem over_file(cl_mem memory, int file, size_t size, bool image, cl_int* code) {
  const cl_icd_dispatch& table = original_of(memory);
  struct stat status {};
  void* mapping = MAP_FAILED;
  if (fstat(file, &status) == 0 && static_cast<size_t>(status.st_size) >= size) {
    mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (mapping == MAP_FAILED) {
    table.clReleaseMemObject(memory);
    *code = CL_INVALID_VALUE;
    return nullptr;
  }
  close(file);
  {
    const std::lock_guard lock(mutex);
    known()[memory] = {mapping, size, image, nullptr, false};
  }
  table.clSetMemObjectDestructorCallback(memory, &forget, nullptr);
  return memory;
}

template <typename T>
T image_info(cl_mem image, cl_image_info name) {
  T value{};
  original_of(image).clGetImageInfo(image, name, sizeof value, &value, nullptr);
  return value;
}

std::array<size_t, 3> region_of(cl_mem image) {
  std::array<size_t, 3> region{};
  size_t next = 0;
  for (const cl_image_info what :
       {CL_IMAGE_WIDTH, CL_IMAGE_HEIGHT, CL_IMAGE_DEPTH, CL_IMAGE_ARRAY_SIZE}) {
    if (const auto size = image_info<size_t>(image, what); size != 0) region[next++] = size;
  }
  for (; next < region.size(); ++next) region[next] = 1;
  return region;
}

constexpr size_t kOrigin[3] = {0, 0, 0};

void write(cl_command_queue queue, cl_mem memory, const External& external, const void* from) {
  const cl_icd_dispatch& table = original_of(queue);
  const cl_int code =
      external.image
          ? table.clEnqueueWriteImage(queue, memory, CL_TRUE, kOrigin, region_of(memory).data(), 0,
                                      0, from, 0, nullptr, nullptr)
          : table.clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, external.size, from, 0, nullptr,
                                       nullptr);
  if (code != CL_SUCCESS) wrong("memory: cannot be written");
}

void read(cl_command_queue queue, cl_mem memory, const External& external) {
  const cl_icd_dispatch& table = original_of(queue);
  const cl_int code =
      external.image
          ? table.clEnqueueReadImage(queue, memory, CL_TRUE, kOrigin, region_of(memory).data(), 0,
                                     0, external.mapping, 0, nullptr, nullptr)
          : table.clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, external.size, external.mapping, 0,
                                      nullptr, nullptr);
  if (code != CL_SUCCESS) wrong("memory: cannot be read");
}

cl_int CL_API_CALL acquire_memory(cl_command_queue queue, cl_uint count, const cl_mem* memory,
                                  cl_uint event_count, const cl_event* events, cl_event* event) {
  return hand_over(false, true, queue, count, memory, event_count, events, event);
}
cl_int CL_API_CALL release_memory(cl_command_queue queue, cl_uint count, const cl_mem* memory,
                                  cl_uint event_count, const cl_event* events, cl_event* event) {
  return hand_over(false, false, queue, count, memory, event_count, events, event);
}

}  // namespace

cl_int hand_over(bool gl, bool acquire, cl_command_queue queue, cl_uint count, const cl_mem* memory,
                 cl_uint event_count, const cl_event* events, cl_event* event) {
  const cl_icd_dispatch& table = original_of(queue);
  if (event_count != 0) table.clWaitForEvents(event_count, events);
  for (cl_uint i = 0; i < count; ++i) {
    External external;
    {
      const std::lock_guard lock(mutex);
      const auto found = known().find(memory[i]);
      if (found == known().end()) return CL_INVALID_MEM_OBJECT;
      if ((found->second.used_by != nullptr) != gl) wrong("memory: handed over as what it is not");
      if (gl) *found->second.used_by = std::this_thread::get_id();
      if (found->second.acquired == acquire)
        wrong(acquire ? "memory: acquired twice" : "memory: released twice");
      found->second.acquired = acquire;
      external = found->second;
    }
    if (acquire) {
      write(queue, memory[i], external, external.mapping);
    } else {
      read(queue, memory[i], external);
      write(queue, memory[i], external, std::vector<unsigned char>(external.size, 0xEE).data());
    }
  }
  return table.clEnqueueMarkerWithWaitList(queue, 0, nullptr, event);
}

size_t image_bytes(cl_mem image) {
  const auto region = region_of(image);
  return image_info<size_t>(image, CL_IMAGE_ELEMENT_SIZE) * region[0] * region[1] * region[2];
}

cl_mem over_content(cl_mem memory, void* content, size_t size, bool image,
                    std::atomic<std::thread::id>* used_by) {
  {
    const std::lock_guard lock(mutex);
    known()[memory] = {content, size, image, used_by, false};
  }
  original_of(memory).clSetMemObjectDestructorCallback(memory, &forget, nullptr);
  return memory;
}

cl_mem CL_API_CALL create_buffer(cl_context context, const cl_mem_properties* properties,
                                 cl_mem_flags flags, size_t size, void* host, cl_int* code) {
  const cl_icd_dispatch& table = original_of(context);
  if (!has_handle(properties)) {
    return table.clCreateBufferWithProperties(context, properties, flags, size, host, code);
  }
  cl_mem memory = table.clCreateBuffer(context, flags, size, nullptr, code);
  if (memory == nullptr) return nullptr;
  return over_file(memory, static_cast<int>(properties[1]), size, false, code);
}

cl_mem CL_API_CALL create_image(cl_context context, const cl_mem_properties* properties,
                                cl_mem_flags flags, const cl_image_format* format,
                                const cl_image_desc* description, void* host, cl_int* code) {
  const cl_icd_dispatch& table = original_of(context);
  if (!has_handle(properties)) {
    return table.clCreateImageWithProperties(context, properties, flags, format, description, host,
                                             code);
  }
  cl_mem memory = table.clCreateImage(context, flags, format, description, nullptr, code);
  if (memory == nullptr) return nullptr;
  return over_file(memory, static_cast<int>(properties[1]), image_bytes(memory), true, code);
}

void* external_memory_function(const char* name) {
  const std::string_view wanted = name;
  if (wanted == "clEnqueueAcquireExternalMemObjectsKHR")
    return reinterpret_cast<void*>(&acquire_memory);
  if (wanted == "clEnqueueReleaseExternalMemObjectsKHR")
    return reinterpret_cast<void*>(&release_memory);
  return nullptr;
}

}  // namespace tutti::kernel_fuzz::sharing
