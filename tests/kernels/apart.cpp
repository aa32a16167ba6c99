// SPDX-License-Identifier: Apache-2.0
#include "apart.h"

#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tutti::kernel_fuzz {
namespace {

using CreateBuffer = decltype(cl_icd_dispatch::clCreateBuffer);

std::map<const cl_icd_dispatch*, CreateBuffer>& originals() {
  static auto* map = new std::map<const cl_icd_dispatch*, CreateBuffer>;
  return *map;
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                                 cl_int* error) {
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) {
    flags = (flags & ~cl_mem_flags{CL_MEM_USE_HOST_PTR}) | CL_MEM_COPY_HOST_PTR;
  }
  const auto* table = *reinterpret_cast<cl_icd_dispatch**>(context);
  return originals().at(table)(context, flags, size, host, error);
}

void change(cl_platform_id platform) {
  cl_icd_dispatch* table = *reinterpret_cast<cl_icd_dispatch**>(platform);
  if (originals().contains(table)) return;
  originals()[table] = table->clCreateBuffer;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(&table->clCreateBuffer) / page * page;
  if (mprotect(reinterpret_cast<void*>(begin), page, PROT_READ | PROT_WRITE) != 0) {
    throw std::runtime_error("a vendor's dispatch table cannot be changed");
  }
  table->clCreateBuffer = create_buffer;
}

/// The library that an .icd file names, or the library itself; stays loaded.
void change_vendor(const std::string& item) {
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
  for (cl_platform_id platform : platforms) change(platform);
}

}  // namespace

void keep_memory_apart(bool half) {
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
  for (size_t i = 0; i < vendors_found.size(); i += half ? 2 : 1) change_vendor(vendors_found[i]);
}

}  // namespace tutti::kernel_fuzz
