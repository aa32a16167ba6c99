// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/shared_memory.h"

#include <gtest/gtest.h>

namespace tutti::backends {
namespace {

/// A driver's functions, which keep what they were asked for.
struct SharedMemoryDriver {
  static void* CL_API_CALL allocate(cl_context, cl_svm_mem_flags flags, size_t, cl_uint) {
    asked = flags;
    return storage;
  }
  static void CL_API_CALL let_go(cl_context, void*) {}
  alignas(128) static inline std::byte storage[64];
  static inline cl_svm_mem_flags asked = 0;
};

TEST(OpenClSharedMemory, IsForReadingAndWritingWhateverKernelsDo) {
  VendorFunctions functions;
  functions.clSVMAlloc = &SharedMemoryDriver::allocate;
  functions.clSVMFree = &SharedMemoryDriver::let_go;
  VendorDevice device;
  device.cl = &functions;
  constexpr cl_svm_mem_flags kFine = CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS;
  for (const cl_svm_mem_flags access : {CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE}) {
    ASSERT_TRUE(OpenClSharedMemory::create(device, nullptr, nullptr, 0, 64, 0, access | kFine));
    EXPECT_EQ(SharedMemoryDriver::asked, CL_MEM_READ_WRITE | kFine) << access;
  }
}

}  // namespace
}  // namespace tutti::backends
