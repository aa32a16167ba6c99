// SPDX-License-Identifier: Apache-2.0
#include "faulty_kernels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "base/thread_annotations.h"

namespace tutti::faulty {
namespace {

struct Arguments {
  Mutex mutex;
  std::set<cl_mem> memory TUTTI_GUARDED_BY(mutex);  // that was made
  std::map<cl_kernel, std::map<cl_uint, cl_mem>> of_kernels TUTTI_GUARDED_BY(mutex);
};
Arguments& known_arguments() {
  static auto* kept = new Arguments;
  return *kept;
}

/// A buffer's content, or an image's, without what lies between its rows.
struct Content {
  explicit Content(cl_mem of) : memory(of) {
    vendor().clGetMemObjectInfo(memory, CL_MEM_TYPE, sizeof type, &type, nullptr);
    if (!is_image()) {
      vendor().clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof region[0], region.data(), nullptr);
      bytes.resize(region[0]);
      return;
    }
    constexpr cl_image_info kSizes[] = {CL_IMAGE_WIDTH, CL_IMAGE_HEIGHT, CL_IMAGE_DEPTH};
    vendor().clGetImageInfo(memory, CL_IMAGE_ELEMENT_SIZE, sizeof pixel, &pixel, nullptr);
    for (size_t i = 0; i < region.size(); ++i) {
      vendor().clGetImageInfo(memory, kSizes[i], sizeof region[i], &region[i], nullptr);
      region[i] = std::max<size_t>(region[i], 1);
    }
    bytes.resize(pixel * region[0] * region[1] * region[2]);
  }
  bool is_image() const { return type != CL_MEM_OBJECT_BUFFER; }
  void read(cl_command_queue queue) {
    if (is_image()) {
      vendor().clEnqueueReadImage(queue, memory, CL_TRUE, kOrigin.data(), region.data(), 0, 0,
                                  bytes.data(), 0, nullptr, nullptr);
    } else {
      vendor().clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, bytes.size(), bytes.data(), 0,
                                   nullptr, nullptr);
    }
  }
  /// That byte alone: others may be writing what lies beside it.
  void write(cl_command_queue queue, size_t byte) const {
    if (!is_image()) {
      vendor().clEnqueueWriteBuffer(queue, memory, CL_TRUE, byte, 1, &bytes[byte], 0, nullptr,
                                    nullptr);
      return;
    }
    const size_t at = byte / pixel, row = at / region[0];
    const std::array<size_t, 3> origin{at % region[0], row % region[1], row / region[1]};
    constexpr std::array<size_t, 3> kOne{1, 1, 1};
    vendor().clEnqueueWriteImage(queue, memory, CL_TRUE, origin.data(), kOne.data(), 0, 0,
                                 &bytes[at * pixel], 0, nullptr, nullptr);
  }

  static constexpr std::array<size_t, 3> kOrigin{0, 0, 0};
  cl_mem memory;
  cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
  std::array<size_t, 3> region{1, 1, 1};  // of a buffer: its bytes; else pixels
  size_t pixel = 1;                       // bytes
  std::vector<unsigned char> bytes;
};

/// What a kernel's buffers and images hold.
std::vector<Content> contents_of(cl_command_queue queue, cl_kernel kernel) {
  std::vector<Content> found;
  Arguments& known = known_arguments();
  MutexLock lock(known.mutex);
  for (const auto& [index, memory] : known.of_kernels[kernel]) {
    found.emplace_back(memory).read(queue);
  }
  return found;
}

}  // namespace

void note_memory(cl_mem memory) {
  Arguments& known = known_arguments();
  MutexLock lock(known.mutex);
  known.memory.insert(memory);
}

void note_argument(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  cl_mem memory = nullptr;
  if (size != sizeof memory || value == nullptr) return;
  std::memcpy(&memory, value, sizeof memory);
  Arguments& known = known_arguments();
  MutexLock lock(known.mutex);
  auto& arguments = known.of_kernels[kernel];
  if (known.memory.contains(memory)) {
    arguments[index] = memory;
  } else {
    arguments.erase(index);
  }
}

cl_int run_wrongly(const Command& described, cl_kernel kernel) {
  vendor().clFinish(described.queue);
  const auto before = contents_of(described.queue, kernel);
  const cl_int code = enqueue(described, {});
  if (code != CL_SUCCESS) return code;
  vendor().clFinish(described.queue);
  auto after = contents_of(described.queue, kernel);
  for (size_t i = 0; i < after.size(); ++i) {
    auto& bytes = after[i].bytes;
    const auto at = std::mismatch(bytes.begin(), bytes.end(), before[i].bytes.begin()).first;
    if (at == bytes.end()) continue;
    *at ^= 0x55;
    after[i].write(described.queue, static_cast<size_t>(at - bytes.begin()));
    break;
  }
  return code;
}

}  // namespace tutti::faulty
