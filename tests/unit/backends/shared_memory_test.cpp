// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/shared_memory.h"

#include <gtest/gtest.h>

#include "backends/opencl/opencl_queue.h"

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
    const SharedRequest request{.size = 64, .flags = access | kFine};
    ASSERT_TRUE(OpenClSharedMemory::create(device, nullptr, nullptr, 0, request));
    EXPECT_EQ(SharedMemoryDriver::asked, CL_MEM_READ_WRITE | kFine) << access;
  }
}

/// A driver that gives memory back to kernels some time after it was asked to.
struct UnmappingDriver {
  static cl_int CL_API_CALL map(cl_command_queue, cl_bool, cl_map_flags, void*, size_t, cl_uint,
                                const cl_event*, cl_event*) {
    return CL_SUCCESS;
  }
  static cl_int CL_API_CALL unmap(cl_command_queue, void*, cl_uint, const cl_event*, cl_event*) {
    ++under_way;
    return CL_SUCCESS;
  }
  static cl_int CL_API_CALL finish(cl_command_queue) {
    under_way = 0;
    return CL_SUCCESS;
  }
  static cl_int CL_API_CALL let_go(cl_command_queue) { return CL_SUCCESS; }
  static inline int under_way = 0;
};

TEST(OpenClSharedMemory, IsUnmappedWhenTheCallReturns) {
  VendorFunctions functions;
  functions.clSVMAlloc = &SharedMemoryDriver::allocate;
  functions.clSVMFree = &SharedMemoryDriver::let_go;
  functions.clEnqueueSVMMap = &UnmappingDriver::map;
  functions.clEnqueueSVMUnmap = &UnmappingDriver::unmap;
  functions.clFinish = &UnmappingDriver::finish;
  VendorDevice device;
  device.cl = &functions;
  TrafficCount traffic;
  int handle = 0;
  OpenClQueue queue(
      device, OwnedQueue(reinterpret_cast<cl_command_queue>(&handle), &UnmappingDriver::let_go), 0,
      traffic);
  const auto memory = OpenClSharedMemory::create(device, nullptr, nullptr, 0, {.size = 64});
  ASSERT_TRUE(memory);
  for (int again = 0; again < 3; ++again) {
    ASSERT_TRUE(queue.map_shared(**memory, 0, 64, CL_MAP_READ | CL_MAP_WRITE));
    ASSERT_TRUE(queue.unmap_shared(**memory, 0));
    EXPECT_EQ(UnmappingDriver::under_way, 0) << again;
  }
}

/// A driver with unified memory, which counts.
struct UnifiedDriver {
  static void* CL_API_CALL host(cl_context, const cl_mem_properties_intel* properties, size_t,
                                cl_uint, cl_int* code) {
    asked = "host";
    flags = properties != nullptr ? properties[1] : 0;
    *code = CL_SUCCESS;
    return storage;
  }
  static void* CL_API_CALL device(cl_context, cl_device_id, const cl_mem_properties_intel*, size_t,
                                  cl_uint, cl_int* code) {
    asked = "device";
    *code = CL_SUCCESS;
    return storage;
  }
  static void* CL_API_CALL shared(cl_context, cl_device_id, const cl_mem_properties_intel*, size_t,
                                  cl_uint, cl_int* code) {
    *code = CL_OUT_OF_HOST_MEMORY;
    return nullptr;
  }
  static cl_int CL_API_CALL let_go(cl_context, void*) {
    ++freed;
    return CL_SUCCESS;
  }
  alignas(128) static inline std::byte storage[64];
  static inline std::string asked;
  static inline cl_bitfield flags = 0;
  static inline int freed = 0;
};

TEST(OpenClSharedMemory, EachKindIsItsFunctions) {
  VendorFunctions functions;
  functions.clHostMemAllocINTEL = &UnifiedDriver::host;
  functions.clDeviceMemAllocINTEL = &UnifiedDriver::device;
  functions.clSharedMemAllocINTEL = &UnifiedDriver::shared;
  functions.clMemFreeINTEL = &UnifiedDriver::let_go;
  VendorDevice device;
  device.cl = &functions;
  const auto make = [&](SharedKind kind) {
    const SharedRequest request{
        .kind = kind, .size = 64, .flags = CL_MEM_ALLOC_WRITE_COMBINED_INTEL};
    return OpenClSharedMemory::create(device, nullptr, nullptr, 0, request);
  };
  {
    const auto host = make(SharedKind::kHost);
    ASSERT_TRUE(host);
    EXPECT_EQ(UnifiedDriver::asked, "host");
    EXPECT_EQ(UnifiedDriver::flags, cl_bitfield{CL_MEM_ALLOC_WRITE_COMBINED_INTEL});
    EXPECT_EQ((*host)->kind(), SharedKind::kHost);
  }
  EXPECT_EQ(UnifiedDriver::freed, 1);
  ASSERT_TRUE(make(SharedKind::kDevice));
  EXPECT_EQ(UnifiedDriver::asked, "device");
  EXPECT_EQ(UnifiedDriver::freed, 2);
  const auto none = make(SharedKind::kShared);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, CL_OUT_OF_HOST_MEMORY);
}

}  // namespace
}  // namespace tutti::backends
