// SPDX-License-Identifier: Apache-2.0
// An ICD whose platforms are those of a real driver, FAULTY_VENDOR (a library; PoCL), with hooks in
// that driver's dispatch table. FAULTY_VENDOR_PLAN says what fails (faulty_plan.h). The program
// that drives it may ask for the counts (faulty_control.h).
#include "faulty_control.h"

#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "faulty_commands.h"
#include "faulty_hooks.h"
#include "faulty_plan.h"

namespace tutti::faulty {
namespace {

/// Tables of drivers are constants, as a rule.
void make_writable(void* begin, size_t size) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(begin) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(begin) + size;
  if (mprotect(reinterpret_cast<void*>(first), end - first, PROT_READ | PROT_WRITE) != 0) {
    std::fprintf(stderr, "faulty vendor: the dispatch table cannot be changed\n");
    std::abort();
  }
}

using PlatformsOf = decltype(&clGetPlatformIDs);
using Address = void* (*)(const char*);

/// The real driver's function of that name.
void* real(const char* name) {
  static const Address address = [] {
    const char* vendor = std::getenv("FAULTY_VENDOR");
    void* library = dlopen(vendor != nullptr ? vendor : "libpocl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::fprintf(stderr, "faulty vendor: %s\n", dlerror());
    return library == nullptr
               ? nullptr
               : reinterpret_cast<Address>(dlsym(library, "clGetExtensionFunctionAddress"));
  }();
  return address != nullptr ? address(name) : nullptr;
}

/// The real driver's, hooked at the first call; null where there is none.
PlatformsOf real_platforms() {
  const auto get = reinterpret_cast<PlatformsOf>(real("clIcdGetPlatformIDsKHR"));
  cl_uint count = 0;
  if (get == nullptr || get(0, nullptr, &count) != CL_SUCCESS || count == 0) return nullptr;
  std::vector<cl_platform_id> platforms(count);
  get(count, platforms.data(), nullptr);
  cl_icd_dispatch* table = *reinterpret_cast<cl_icd_dispatch**>(platforms.front());
  try {
    if (const char* plan = std::getenv("FAULTY_VENDOR_PLAN")) set_plan(plan);
    note_devices(*table, platforms.front());
    make_writable(table, sizeof *table);
    set_vendor(*table);
    set_hooks(*table);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "faulty vendor: %s\n", error.what());
    std::abort();
  }
  return get;
}

cl_int CL_API_CALL platforms_of(cl_uint size, cl_platform_id* platforms, cl_uint* count) {
  static const PlatformsOf get = real_platforms();
  return get != nullptr ? get(size, platforms, count) : CL_PLATFORM_NOT_FOUND_KHR;
}

}  // namespace
}  // namespace tutti::faulty

extern "C" {

__attribute__((visibility("default"))) void* CL_API_CALL
clGetExtensionFunctionAddress(const char* name) {
  if (std::strcmp(name, "clIcdGetPlatformIDsKHR") == 0) {
    return reinterpret_cast<void*>(&tutti::faulty::platforms_of);
  }
  return tutti::faulty::real(name);
}

void faulty_end_preparation() { tutti::faulty::end_preparation(); }
int faulty_launches_after_loss() { return tutti::faulty::launches_after_loss(); }
int faulty_happened() { return tutti::faulty::faults_happened(); }
void faulty_counts(char* text, size_t size) {
  std::snprintf(text, size, "%s", tutti::faulty::counts().c_str());
}
}
