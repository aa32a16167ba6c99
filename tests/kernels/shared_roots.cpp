// SPDX-License-Identifier: Apache-2.0
#include "shared_roots.h"

#include <cstring>

#include "device.h"

namespace tutti::kernel_fuzz {
namespace {

void check(cl_int error, const char* call) {
  if (error != CL_SUCCESS) throw ClError(call, error);
}

}  // namespace

SharedRoots::SharedRoots(cl_context context, cl_command_queue queue, const KernelCase& kernel)
    : context_(context), queue_(queue), kernel_(kernel) {
  for (const Root& root : kernel.roots) {
    memory_.push_back(root.shared() ? static_cast<uint8_t*>(
                                          clSVMAlloc(context_, CL_MEM_READ_WRITE, root.size, 64))
                                    : nullptr);
    if (root.shared() && memory_.back() == nullptr) {
      throw ClError("clSVMAlloc", CL_MEM_OBJECT_ALLOCATION_FAILURE);
    }
  }
}

SharedRoots::~SharedRoots() {
  if (kernel_.has_shared()) clFinish(queue_);
  for (uint8_t* memory : memory_) {
    if (memory != nullptr) clSVMFree(context_, memory);
  }
}

void SharedRoots::copy(size_t root, Bytes& data, bool write) {
  // By either way that there is.
  uint8_t* const memory = memory_[root];
  if (kernel_.roots[root].seed % 2 == 0) {
    check(clEnqueueSVMMemcpy(queue_, CL_TRUE, write ? memory : data.data(),
                             write ? data.data() : memory, data.size(), 0, nullptr, nullptr),
          "clEnqueueSVMMemcpy");
    return;
  }
  check(clEnqueueSVMMap(queue_, CL_TRUE, write ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_READ,
                        memory, data.size(), 0, nullptr, nullptr),
        "clEnqueueSVMMap");
  std::memcpy(write ? memory : data.data(), write ? data.data() : memory, data.size());
  check(clEnqueueSVMUnmap(queue_, memory, 0, nullptr, nullptr), "clEnqueueSVMUnmap");
}

void SharedRoots::write(size_t root, const Bytes& data) {
  Bytes with_addresses = data;
  for (const Link& link : kernel_.roots[root].links) {
    const auto address = reinterpret_cast<uintptr_t>(memory_[link.root] + link.at);
    std::memcpy(&with_addresses[link.offset], &address, 8);
  }
  copy(root, with_addresses, true);
}

void SharedRoots::read(size_t root, Bytes& data) {
  copy(root, data, false);
  for (const Link& link : kernel_.roots[root].links) {
    uintptr_t address = 0;
    std::memcpy(&address, &data[link.offset], 8);
    for (size_t r = 0; r < memory_.size(); ++r) {
      const uintptr_t at = address - reinterpret_cast<uintptr_t>(memory_[r]);
      if (memory_[r] == nullptr || at >= kernel_.roots[r].size) continue;
      const uint64_t symbol = pointer_symbol(static_cast<uint32_t>(r), at);
      std::memcpy(&data[link.offset], &symbol, 8);
      break;
    }
  }
}

cl_mem SharedRoots::buffer_over(size_t root) {
  cl_int error = CL_SUCCESS;
  cl_mem made = clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                               kernel_.roots[root].size, memory_[root], &error);
  check(error, "clCreateBuffer");
  return made;
}

void SharedRoots::set_argument(cl_kernel kernel, cl_uint index, size_t root, uint64_t at) {
  check(clSetKernelArgSVMPointer(kernel, index, memory_[root] + at), "clSetKernelArgSVMPointer");
}

void SharedRoots::name_all(cl_kernel kernel) {
  std::vector<const void*> pointers;
  for (const uint8_t* memory : memory_) {
    if (memory != nullptr) pointers.push_back(memory);
  }
  if (pointers.empty()) return;
  check(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, pointers.size() * sizeof(void*),
                            pointers.data()),
        "clSetKernelExecInfo");
}

}  // namespace tutti::kernel_fuzz
