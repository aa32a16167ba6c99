// SPDX-License-Identifier: Apache-2.0
#include "sharing.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "pointers.h"
#include "vendor_answers.h"

namespace tutti::kernel_fuzz {
namespace sharing {
namespace {

constexpr const char* kExtensions[] = {
    "cl_khr_semaphore",
    "cl_khr_external_semaphore",
    "cl_khr_external_semaphore_opaque_fd",
    "cl_khr_external_semaphore_sync_fd",
    "cl_khr_external_memory",
    "cl_khr_external_memory_opaque_fd",
    "cl_khr_external_memory_dma_buf",
    "cl_khr_gl_sharing",
};
// CL_DEVICE_EXTERNAL_MEMORY_IMPORT_ASSUME_LINEAR_IMAGES_HANDLE_TYPES_KHR of newer headers.
constexpr cl_device_info kLinearImages = 0x2052;
constexpr cl_semaphore_type_khr kSemaphoreTypes[] = {CL_SEMAPHORE_TYPE_BINARY_KHR};

/// By their tables.
std::map<const cl_icd_dispatch*, cl_icd_dispatch>& originals() {
  static auto* map = new std::map<const cl_icd_dispatch*, cl_icd_dispatch>;
  return *map;
}

cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info name, size_t size,
                                   void* value, size_t* size_ret) {
  const cl_icd_dispatch& table = original_of(device);
  switch (name) {
    case CL_DEVICE_EXTENSIONS: {
      std::string text = extensions_of(device, table);
      for (const char* extension : kExtensions) text += std::string(" ") + extension;
      return answer(text.c_str(), text.size() + 1, size, value, size_ret);
    }
    case CL_DEVICE_EXTENSIONS_WITH_VERSION: {
      auto list = list_of<cl_name_version>(device, table, name);
      for (const char* extension : kExtensions) {
        cl_name_version& entry = list.emplace_back();
        entry.version = CL_MAKE_VERSION(1, 0, 1);
        std::strncpy(entry.name, extension, sizeof entry.name - 1);
      }
      return answer(list.data(), list.size() * sizeof list[0], size, value, size_ret);
    }
    case CL_DEVICE_SEMAPHORE_TYPES_KHR:
      return answer(kSemaphoreTypes, sizeof kSemaphoreTypes, size, value, size_ret);
    case CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR:
    case CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR:
      return answer(kSemaphoreHandleTypes, sizeof kSemaphoreHandleTypes, size, value, size_ret);
    case CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR:
      return answer(kMemoryHandleTypes, sizeof kMemoryHandleTypes, size, value, size_ret);
    case kLinearImages:
      return answer(kMemoryHandleTypes, sizeof kMemoryHandleTypes[0], size, value, size_ret);
    default:
      return table.clGetDeviceInfo(device, name, size, value, size_ret);
  }
}

void* CL_API_CALL function_of(cl_platform_id platform, const char* name) {
  if (void* const found = semaphore_function(name)) return found;
  if (void* const found = external_memory_function(name)) return found;
  return original_of(platform).clGetExtensionFunctionAddressForPlatform(platform, name);
}

}  // namespace

void wrong(const char* what) {
  std::fprintf(stderr, "the test's vendor: %s\n", what);
  std::abort();
}

const cl_icd_dispatch& original_of(const void* object) {
  return originals().at(*static_cast<cl_icd_dispatch* const*>(object));
}

}  // namespace sharing

void give_sharing(cl_platform_id platform) {
  cl_icd_dispatch* const table = *reinterpret_cast<cl_icd_dispatch**>(platform);
  if (!sharing::originals().try_emplace(table, *table).second) return;
  replace(table->clGetDeviceInfo, &sharing::get_device_info);
  replace(table->clCreateBufferWithProperties, &sharing::create_buffer);
  replace(table->clCreateImageWithProperties, &sharing::create_image);
  sharing::replace_gl_functions(*table);
  replace(table->clGetExtensionFunctionAddressForPlatform, &sharing::function_of);
}

}  // namespace tutti::kernel_fuzz
