// SPDX-License-Identifier: Apache-2.0
#include "pointers.h"

#include <CL/cl_ext.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "vendor_answers.h"

namespace tutti::kernel_fuzz {
namespace pointers {
namespace {

constexpr std::string_view kUnified = "cl_intel_unified_shared_memory";
constexpr std::string_view kAddresses = "cl_ext_buffer_device_address";
// As headers of 2025 have them.
constexpr cl_mem_properties kPrivateAddress = 0x5000;  // CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT
constexpr cl_mem_info kAddress = 0x5001;               // CL_MEM_DEVICE_ADDRESS_EXT
constexpr cl_kernel_exec_info kReached = 0x5002;       // CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT

/// A vendor's own functions, and what is given.
struct Original {
  cl_icd_dispatch table{};
  bool unified = false, addresses = false;
};

/// By their tables.
std::map<const cl_icd_dispatch*, Original>& originals() {
  static auto* map = new std::map<const cl_icd_dispatch*, Original>;
  return *map;
}

template <typename Object>
const Original& given(Object object) {
  return originals().at(*reinterpret_cast<cl_icd_dispatch**>(object));
}
template <typename Object>
const cl_icd_dispatch& original_of(Object object) {
  return given(object).table;
}

/// The addresses of buffers that have one.
class Addresses {
 public:
  void note(cl_mem buffer, void* address) {
    const std::lock_guard lock(mutex_);
    known_[buffer] = address;
  }
  void* of(cl_mem buffer) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(buffer);
    return found == known_.end() ? nullptr : found->second;
  }
  void* take(cl_mem buffer) {
    const std::lock_guard lock(mutex_);
    return known_.extract(buffer).mapped();
  }

 private:
  std::mutex mutex_;
  std::map<cl_mem, void*> known_;
};
Addresses& addresses() {
  static auto* all = new Addresses;
  return *all;
}

void CL_CALLBACK give_back(cl_mem buffer, void* context) {
  auto* const owner = static_cast<cl_context>(context);
  original_of(owner).clSVMFree(owner, addresses().take(buffer));
}

cl_mem CL_API_CALL create_buffer(cl_context context, const cl_mem_properties* properties,
                                 cl_mem_flags flags, size_t size, void* host, cl_int* code) {
  const cl_icd_dispatch& table = original_of(context);
  if (properties == nullptr || properties[0] != kPrivateAddress) {
    return table.clCreateBufferWithProperties(context, properties, flags, size, host, code);
  }
  void* const memory = table.clSVMAlloc(context, CL_MEM_READ_WRITE, size, 0);
  cl_mem const buffer =
      table.clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, size, memory, code);
  if (buffer == nullptr) return nullptr;
  addresses().note(buffer, memory);
  table.clSetMemObjectDestructorCallback(buffer, &give_back, context);
  return buffer;
}

cl_int CL_API_CALL get_memory_info(cl_mem memory, cl_mem_info name, size_t size, void* value,
                                   size_t* size_ret) {
  if (name != kAddress) {
    return original_of(memory).clGetMemObjectInfo(memory, name, size, value, size_ret);
  }
  void* const address = addresses().of(memory);
  return answer(&address, sizeof address, size, value, size_ret);
}

cl_int CL_API_CALL set_address(cl_kernel kernel, cl_uint index, cl_ulong value) {
  return original_of(kernel).clSetKernelArgSVMPointer(kernel, index,
                                                      reinterpret_cast<const void*>(value));
}

void* allocate(cl_context context, size_t size, cl_uint alignment, cl_int* code) {
  constexpr cl_svm_mem_flags kFine = CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER;
  void* const memory = original_of(context).clSVMAlloc(context, kFine, size, alignment);
  *code = memory != nullptr ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
  return memory;
}

void* CL_API_CALL host_alloc(cl_context context, const cl_mem_properties_intel*, size_t size,
                             cl_uint alignment, cl_int* code) {
  return allocate(context, size, alignment, code);
}
void* CL_API_CALL device_alloc(cl_context context, cl_device_id, const cl_mem_properties_intel*,
                               size_t size, cl_uint alignment, cl_int* code) {
  return allocate(context, size, alignment, code);
}
cl_int CL_API_CALL let_go(cl_context context, void* memory) {
  original_of(context).clSVMFree(context, memory);
  return CL_SUCCESS;
}
cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, const void* value) {
  return original_of(kernel).clSetKernelArgSVMPointer(kernel, index, value);
}
cl_int CL_API_CALL copy(cl_command_queue queue, cl_bool blocking, void* to, const void* from,
                        size_t size, cl_uint count, const cl_event* list, cl_event* event) {
  return original_of(queue).clEnqueueSVMMemcpy(queue, blocking, to, from, size, count, list, event);
}

cl_int CL_API_CALL set_exec_info(cl_kernel kernel, cl_kernel_exec_info name, size_t size,
                                 const void* value) {
  // It is the host's memory.
  if (name >= CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL &&
      name <= CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL) {
    return CL_SUCCESS;
  }
  if (name == CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL || name == kReached)
    name = CL_KERNEL_EXEC_INFO_SVM_PTRS;
  return original_of(kernel).clSetKernelExecInfo(kernel, name, size, value);
}

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size,
                                   void* value, size_t* size_ret) {
  const Original& original = given(device);
  const cl_icd_dispatch& table = original.table;
  const cl_device_unified_shared_memory_capabilities_intel all =
      CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL | CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL;
  switch (name) {
    case CL_DEVICE_EXTENSIONS: {
      std::string text = extensions_of(device, table);
      if (original.unified) text += " " + std::string(kUnified);
      if (original.addresses) text += " " + std::string(kAddresses);
      return answer(text.c_str(), text.size() + 1, size, value, size_ret);
    }
    case CL_DEVICE_EXTENSIONS_WITH_VERSION: {
      auto list = list_of<cl_name_version>(device, table, name);
      if (original.addresses) {
        cl_name_version& entry = list.emplace_back();
        entry.version = CL_MAKE_VERSION(1, 0, 2);
        kAddresses.copy(entry.name, sizeof entry.name - 1);
      }
      return answer(list.data(), list.size() * sizeof list[0], size, value, size_ret);
    }
    case CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL:
    case CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL:
    case CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL:
      if (original.unified) return answer(&all, sizeof all, size, value, size_ret);
      break;
    default:
      break;
  }
  return table.clGetDeviceInfo(device, name, size, value, size_ret);
}

void* CL_API_CALL function_of(cl_platform_id platform, const char* name) {
  const Original& original = given(platform);
  const std::string_view wanted = name;
  if (original.unified) {
    if (wanted == "clHostMemAllocINTEL") return reinterpret_cast<void*>(&host_alloc);
    if (wanted == "clDeviceMemAllocINTEL" || wanted == "clSharedMemAllocINTEL") {
      return reinterpret_cast<void*>(&device_alloc);
    }
    if (wanted == "clMemFreeINTEL") return reinterpret_cast<void*>(&let_go);
    if (wanted == "clSetKernelArgMemPointerINTEL") return reinterpret_cast<void*>(&set_argument);
    if (wanted == "clEnqueueMemcpyINTEL") return reinterpret_cast<void*>(&copy);
  }
  if (original.addresses && wanted == "clSetKernelArgDevicePointerEXT") {
    return reinterpret_cast<void*>(&set_address);
  }
  return original.table.clGetExtensionFunctionAddressForPlatform(platform, name);
}

}  // namespace

void give(cl_platform_id platform) {
  cl_icd_dispatch* table = *reinterpret_cast<cl_icd_dispatch**>(platform);
  cl_device_id device = nullptr;
  cl_device_svm_capabilities svm = 0;
  if (originals().contains(table) ||
      table->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS ||
      table->clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, nullptr) !=
          CL_SUCCESS ||
      (svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) == 0) {
    return;
  }
  const std::string extensions = extensions_of(device, *table);
  Original& original = originals()[table];
  original.table = *table;
  original.unified = extensions.find(kUnified) == std::string::npos;
  original.addresses = extensions.find(kAddresses) == std::string::npos;
  replace(table->clGetDeviceInfo, &get_device_info);
  replace(table->clSetKernelExecInfo, &set_exec_info);
  replace(table->clGetExtensionFunctionAddressForPlatform, &function_of);
  if (!original.addresses) return;
  replace(table->clCreateBufferWithProperties, &create_buffer);
  replace(table->clGetMemObjectInfo, &get_memory_info);
}

}  // namespace pointers

void make_writable(void* entry) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(entry) / page * page;
  if (mprotect(reinterpret_cast<void*>(begin), page, PROT_READ | PROT_WRITE) != 0) {
    throw std::runtime_error("a vendor's dispatch table cannot be changed");
  }
}

void give_pointers(cl_platform_id platform) { pointers::give(platform); }

}  // namespace tutti::kernel_fuzz
