// SPDX-License-Identifier: Apache-2.0
// cl_intel_unified_shared_memory: allocations of the host, of a device, and of both.
#include <CL/cl_ext.h>

#include <algorithm>
#include <numeric>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

constexpr size_t kUnifiedItems = 128 * 64;
constexpr size_t kUnifiedLarge = 1 << 20;  // bytes; not what is moved at once as a little thing

const char* const kUnifiedSource = R"(
kernel void add(global const int* a, global const int* b, global int* sum) {
  size_t i = get_global_id(0);
  sum[i] = a[i] + b[i];
}
kernel void double_it(global int* data) { data[get_global_id(0)] *= 2; }
typedef struct Node { global struct Node* next; int value; } Node;
kernel void sum_list(global Node* head, global int* sum) {
  int result = 0;
  for (global Node* node = head; node; node = node->next) result += node->value;
  *sum = result;
}
kernel void slowly(global int* data, int rounds) {
  int value = data[get_global_id(0)];
  for (int i = 0; i < rounds; ++i) value = value * 1664525 + 1013904223;
  data[get_global_id(0)] = value;
}
)";

struct UnifiedNode {
  UnifiedNode* next;
  cl_int value;
};

struct UnifiedFunctions {
  clHostMemAllocINTEL_fn host_alloc = nullptr;
  clDeviceMemAllocINTEL_fn device_alloc = nullptr;
  clSharedMemAllocINTEL_fn shared_alloc = nullptr;
  clMemFreeINTEL_fn free = nullptr;
  clMemBlockingFreeINTEL_fn blocking_free = nullptr;
  clGetMemAllocInfoINTEL_fn info = nullptr;
  clSetKernelArgMemPointerINTEL_fn set_arg = nullptr;
  clEnqueueMemFillINTEL_fn fill = nullptr;
  clEnqueueMemcpyINTEL_fn copy = nullptr;
  clEnqueueMigrateMemINTEL_fn migrate = nullptr;
  clEnqueueMemAdviseINTEL_fn advise = nullptr;
};

using UnifiedKind = cl_unified_shared_memory_type_intel;

class UnifiedMemory : public QueueTest {
 protected:
  void SetUp() override {
    QueueTest::SetUp();
    const std::string list = " " + string_of(query_of(device_, CL_DEVICE_EXTENSIONS)) + " ";
    if (list.find(" cl_intel_unified_shared_memory ") == std::string::npos) {
      GTEST_SKIP() << "no unified shared memory";
    }
    find(cl_.host_alloc, "clHostMemAllocINTEL");
    find(cl_.device_alloc, "clDeviceMemAllocINTEL");
    find(cl_.shared_alloc, "clSharedMemAllocINTEL");
    find(cl_.free, "clMemFreeINTEL");
    find(cl_.blocking_free, "clMemBlockingFreeINTEL");
    find(cl_.info, "clGetMemAllocInfoINTEL");
    find(cl_.set_arg, "clSetKernelArgMemPointerINTEL");
    find(cl_.fill, "clEnqueueMemFillINTEL");
    find(cl_.copy, "clEnqueueMemcpyINTEL");
    find(cl_.migrate, "clEnqueueMigrateMemINTEL");
    find(cl_.advise, "clEnqueueMemAdviseINTEL");
    ASSERT_FALSE(HasFailure());
  }
  void TearDown() override {
    for (void* pointer : allocated_) EXPECT_SUCCESS(cl_.free(context_, pointer));
    QueueTest::TearDown();
  }
  template <typename Function>
  void find(Function& function, const char* name) const {
    function =
        reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(platform_, name));
    EXPECT_NE(function, nullptr) << name;
  }

  void* allocate(UnifiedKind kind, size_t bytes, cl_int* code,
                 const cl_mem_properties_intel* properties = nullptr, cl_uint alignment = 0) const {
    switch (kind) {
      case CL_MEM_TYPE_HOST_INTEL:
        return cl_.host_alloc(context_, properties, bytes, alignment, code);
      case CL_MEM_TYPE_DEVICE_INTEL:
        return cl_.device_alloc(context_, device_, properties, bytes, alignment, code);
      default:
        return cl_.shared_alloc(context_, device_, properties, bytes, alignment, code);
    }
  }
  // Freed at the test's end.
  template <typename T = cl_int>
  T* make(UnifiedKind kind, size_t count) {
    cl_int code = CL_INVALID_VALUE;
    void* const memory = allocate(kind, count * sizeof(T), &code);
    EXPECT_SUCCESS(code);
    EXPECT_NE(memory, nullptr);
    if (memory != nullptr) allocated_.push_back(memory);
    return static_cast<T*>(memory);
  }
  void let_go(void* pointer) { std::erase(allocated_, pointer); }
  // Those that the device has.
  std::vector<UnifiedKind> kinds() const {
    std::vector<UnifiedKind> kinds;
    const auto has = [&](cl_device_info what) {
      return value_of<cl_bitfield>(query_of(device_, what)) != 0;
    };
    if (has(CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL)) kinds.push_back(CL_MEM_TYPE_HOST_INTEL);
    if (has(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL)) kinds.push_back(CL_MEM_TYPE_DEVICE_INTEL);
    if (has(CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL)) {
      kinds.push_back(CL_MEM_TYPE_SHARED_INTEL);
    }
    return kinds;
  }
  std::vector<UnifiedKind> kinds_of_the_host() const {
    auto all = kinds();
    std::erase(all, UnifiedKind{CL_MEM_TYPE_DEVICE_INTEL});
    return all;
  }

  cl_int copy(void* to, const void* from, size_t bytes, cl_event* event = nullptr) const {
    return cl_.copy(queue_, CL_TRUE, to, from, bytes, 0, nullptr, event);
  }
  std::vector<cl_int> load(const cl_int* from, size_t count) const {
    std::vector<cl_int> data(count);
    EXPECT_SUCCESS(copy(data.data(), from, count * sizeof(cl_int)));
    return data;
  }
  void store(cl_int* to, const std::vector<cl_int>& data) const {
    EXPECT_SUCCESS(copy(to, data.data(), data.size() * sizeof(cl_int)));
  }
  void set_pointers(cl_kernel kernel, const std::vector<const void*>& pointers) const {
    for (cl_uint i = 0; i < pointers.size(); ++i) {
      EXPECT_SUCCESS(cl_.set_arg(kernel, i, pointers[i])) << i;
    }
  }
  Kernel kernel(const char* name) {
    if (!program_) program_ = build(kUnifiedSource);
    return make_kernel(program_, name);
  }
  static std::vector<cl_int> counted(size_t count, cl_int factor = 1) {
    std::vector<cl_int> data(count);
    for (size_t i = 0; i < count; ++i) data[i] = static_cast<cl_int>(i) * factor;
    return data;
  }
  template <typename T>
  T info(const void* pointer, cl_mem_info_intel what) const {
    T value{};
    size_t size = 0;
    EXPECT_SUCCESS(cl_.info(context_, pointer, what, sizeof value, &value, &size));
    EXPECT_EQ(size, sizeof value);
    return value;
  }

  UnifiedFunctions cl_;
  std::vector<void*> allocated_;
  Program program_;
};

cl_command_type unified_type_of(cl_event event) {
  return value_of<cl_command_type>(query_of(event, CL_EVENT_COMMAND_TYPE));
}

TEST_F(UnifiedMemory, TellsWhatItIs) {
  EXPECT_NE(value_of<cl_bitfield>(query_of(device_, CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL)) &
                CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL,
            0u);
  for (const UnifiedKind kind : kinds()) {
    auto* const memory = make<char>(kind, 1000);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 128, 0u);
    for (const char* pointer : {memory, memory + 999}) {
      EXPECT_EQ(info<UnifiedKind>(pointer, CL_MEM_ALLOC_TYPE_INTEL), kind);
      EXPECT_EQ(info<void*>(pointer, CL_MEM_ALLOC_BASE_PTR_INTEL), memory);
      EXPECT_EQ(info<size_t>(pointer, CL_MEM_ALLOC_SIZE_INTEL), 1000u);
      EXPECT_EQ(info<cl_device_id>(pointer, CL_MEM_ALLOC_DEVICE_INTEL),
                kind == CL_MEM_TYPE_HOST_INTEL ? nullptr : device_);
      EXPECT_EQ(info<cl_mem_alloc_flags_intel>(pointer, CL_MEM_ALLOC_FLAGS_INTEL), 0u);
    }
  }
  int none = 0;
  EXPECT_EQ(info<UnifiedKind>(&none, CL_MEM_ALLOC_TYPE_INTEL),
            UnifiedKind{CL_MEM_TYPE_UNKNOWN_INTEL});
  EXPECT_EQ(info<void*>(&none, CL_MEM_ALLOC_BASE_PTR_INTEL), nullptr);
  EXPECT_EQ(info<size_t>(&none, CL_MEM_ALLOC_SIZE_INTEL), 0u);
  EXPECT_CL(CL_INVALID_VALUE, cl_.info(context_, &none, 0x4000, 0, nullptr, nullptr));
}

TEST_F(UnifiedMemory, CopiesBetweenAllKinds) {
  const auto data = counted(kUnifiedItems, 3);
  for (const UnifiedKind from : kinds()) {
    for (const UnifiedKind to : kinds()) {
      auto* const source = make(from, kUnifiedItems);
      auto* const target = make(to, kUnifiedItems);
      store(source, data);
      Event event;
      ASSERT_SUCCESS(copy(target, source, kUnifiedItems * 4, event.out()));
      EXPECT_EQ(unified_type_of(event), cl_command_type{CL_COMMAND_MEMCPY_INTEL});
      ASSERT_SUCCESS(copy(target + 5, source + 100, 40));
      auto expected = data;
      std::copy_n(data.begin() + 100, 10, expected.begin() + 5);
      EXPECT_TRUE(same_elements(expected, load(target, kUnifiedItems)));
    }
  }
}

TEST_F(UnifiedMemory, Fill) {
  for (const UnifiedKind kind : kinds()) {
    for (const size_t size : {1, 4, 16, 128}) {
      auto* const memory = make<uint8_t>(kind, 40 * size);
      auto expected = noise(40 * size, 3);
      const auto pattern = noise(size, 4);
      ASSERT_SUCCESS(copy(memory, expected.data(), expected.size()));
      Event event;
      ASSERT_SUCCESS(cl_.fill(queue_, memory + 3 * size, pattern.data(), size, 30 * size, 0,
                              nullptr, event.out()));
      EXPECT_EQ(unified_type_of(event), cl_command_type{CL_COMMAND_MEMFILL_INTEL});
      for (size_t i = 0; i < 30 * size; ++i) expected[3 * size + i] = pattern[i % size];
      std::vector<uint8_t> seen(expected.size());
      ASSERT_SUCCESS(copy(seen.data(), memory, seen.size()));
      EXPECT_TRUE(same_elements(expected, seen)) << size;
    }
  }
}

TEST_F(UnifiedMemory, ArgumentsOfKernels) {
  const Kernel add = kernel("add");
  for (const UnifiedKind kind : kinds()) {
    auto* const a = make(kind, kUnifiedItems + 3);
    auto* const sum = make(kind, kUnifiedItems);
    store(a, counted(kUnifiedItems + 3));
    set_pointers(add, {a, a + 3, sum});
    for (int round = 0; round < 3; ++round) ASSERT_SUCCESS(launch(add, kUnifiedItems, 64));
    auto expected = counted(kUnifiedItems, 2);
    for (cl_int& value : expected) value += 3;
    EXPECT_TRUE(same_elements(expected, load(sum, kUnifiedItems)));
    // With a buffer among them.
    const Buffer buffer = make_buffer(kUnifiedItems * 4);
    EXPECT_SUCCESS(set_arg(add, 2, buffer));
    ASSERT_SUCCESS(launch(add, kUnifiedItems, 64));
    EXPECT_TRUE(same_elements(expected, read_all<cl_int>(buffer, kUnifiedItems)));
  }
}

// Without a call that tells of it.
TEST_F(UnifiedMemory, TheHostReadsAndWrites) {
  const Kernel add = kernel("add"), twice = kernel("double_it");
  for (const UnifiedKind kind : kinds_of_the_host()) {
    auto* const data = make(kind, kUnifiedItems);
    auto* const sum = make(kind, kUnifiedItems);
    set_pointers(add, {data, data, sum});
    set_pointers(twice, {data});
    for (cl_int round = 1; round < 4; ++round) {
      for (size_t i = 0; i < kUnifiedItems; ++i) data[i] = static_cast<cl_int>(i) + round;
      ASSERT_SUCCESS(launch(twice, kUnifiedItems, 64));
      ASSERT_SUCCESS(launch(add, kUnifiedItems, 64));
      ASSERT_SUCCESS(clFinish(queue_));
      for (size_t i = 0; i < kUnifiedItems; ++i) {
        ASSERT_EQ(data[i], 2 * (static_cast<cl_int>(i) + round)) << i;
        ASSERT_EQ(sum[i], 4 * (static_cast<cl_int>(i) + round)) << i;
      }
    }
  }
}

// No copy of it that was made before may be taken for it.
TEST_F(UnifiedMemory, TheHostChangesWhatWasCopied) {
  const Kernel twice = kernel("double_it");
  for (const UnifiedKind kind : kinds_of_the_host()) {
    for (const size_t bytes : {size_t{4096}, kUnifiedLarge}) {
      const size_t count = bytes / 4;
      auto* const memory = make(kind, count);
      auto* const apart = make(CL_MEM_TYPE_DEVICE_INTEL, count);
      const Buffer buffer = make_buffer(bytes);
      set_pointers(twice, {apart});
      for (cl_int round = 1; round < 4; ++round) {
        std::fill_n(memory, count, round);
        ASSERT_SUCCESS(copy(apart, memory, bytes));
        ASSERT_SUCCESS(launch(twice, count, 64));
        EXPECT_TRUE(same_elements(std::vector<cl_int>(count, 2 * round), load(apart, count)));
        ASSERT_SUCCESS(copy(memory, apart, bytes));
        EXPECT_EQ(memory[count - 1], 2 * round);
        memory[count - 1] = 77;
        ASSERT_SUCCESS(
            clEnqueueWriteBuffer(queue_, buffer, CL_TRUE, 0, bytes, memory, 0, nullptr, nullptr));
        EXPECT_EQ(read_all<cl_int>(buffer, count)[count - 1], 77);
      }
    }
  }
}

TEST_F(UnifiedMemory, TransfersOfBuffersKeepTheOrder) {
  const Kernel add = kernel("add"), slowly = kernel("slowly");
  for (const UnifiedKind kind : kinds()) {
    const Buffer buffer = make_buffer(kUnifiedItems * 4);
    auto* const memory = make(kind, kUnifiedItems);
    auto* const sum = make(CL_MEM_TYPE_DEVICE_INTEL, kUnifiedItems);
    store(memory, counted(kUnifiedItems));
    for (cl_int round = 0; round < 3; ++round) {
      write_all(buffer, counted(kUnifiedItems, 7));
      EXPECT_SUCCESS(set_arg(slowly, 0, buffer));
      EXPECT_SUCCESS(set_arg(slowly, 1, cl_int{2000}));
      ASSERT_SUCCESS(launch(slowly, kUnifiedItems, 64));
      // A kernel uses what the transfer before it has brought there.
      ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, buffer, CL_FALSE, 0, kUnifiedItems * 4, memory, 0,
                                         nullptr, nullptr));
      set_pointers(add, {memory, memory, sum});
      ASSERT_SUCCESS(launch(add, kUnifiedItems, 64));
      auto expected = read_all<cl_int>(buffer, kUnifiedItems);
      for (cl_int& value : expected) value = static_cast<cl_int>(2u * static_cast<cl_uint>(value));
      EXPECT_TRUE(same_elements(expected, load(sum, kUnifiedItems)));
    }
  }
}

TEST_F(UnifiedMemory, PointersFoundInMemory) {
  const Kernel sum_list = kernel("sum_list");
  constexpr cl_bool kYes = CL_TRUE;
  for (const cl_kernel_exec_info what : {CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL,
                                         CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
                                         CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL}) {
    const bool has =
        what == CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL || !kinds_of_the_host().empty();
    if (has) {
      EXPECT_SUCCESS(clSetKernelExecInfo(sum_list, what, sizeof kYes, &kYes));
    }
  }
  for (const UnifiedKind kind : kinds()) {
    // Two allocations, whose nodes lead from the one to the other and back.
    auto* const even = make<UnifiedNode>(kind, 100);
    auto* const odd = make<UnifiedNode>(CL_MEM_TYPE_DEVICE_INTEL, 100);
    auto* const sum = make(kind, 1);
    std::vector<UnifiedNode> evens(100), odds(100);
    for (size_t i = 0; i < 100; ++i) {
      evens[i] = {odd + i, static_cast<cl_int>(2 * i)};
      odds[i] = {i + 1 < 100 ? even + i + 1 : nullptr, static_cast<cl_int>(2 * i + 1)};
    }
    ASSERT_SUCCESS(copy(even, evens.data(), 100 * sizeof(UnifiedNode)));
    ASSERT_SUCCESS(copy(odd, odds.data(), 100 * sizeof(UnifiedNode)));
    const void* const reached[] = {even, odd};
    EXPECT_SUCCESS(
        clSetKernelExecInfo(sum_list, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, sizeof reached, reached));
    set_pointers(sum_list, {even, sum});
    ASSERT_SUCCESS(launch(sum_list, 1, 1));
    EXPECT_EQ(load(sum, 1)[0], 199 * 200 / 2);
  }
}

TEST_F(UnifiedMemory, Hints) {
  for (const UnifiedKind kind : kinds()) {
    auto* const memory = make(kind, kUnifiedItems);
    store(memory, counted(kUnifiedItems));
    Event event;
    ASSERT_SUCCESS(cl_.migrate(queue_, memory, kUnifiedItems * 4, CL_MIGRATE_MEM_OBJECT_HOST, 0,
                               nullptr, event.out()));
    EXPECT_EQ(unified_type_of(event), cl_command_type{CL_COMMAND_MIGRATEMEM_INTEL});
    ASSERT_SUCCESS(cl_.advise(queue_, memory, kUnifiedItems * 4, 0, 0, nullptr, event.out()));
    EXPECT_EQ(unified_type_of(event), cl_command_type{CL_COMMAND_MEMADVISE_INTEL});
    EXPECT_TRUE(same_elements(counted(kUnifiedItems), load(memory, kUnifiedItems)));
  }
}

TEST_F(UnifiedMemory, Free) {
  EXPECT_SUCCESS(cl_.free(context_, nullptr));
  EXPECT_SUCCESS(cl_.blocking_free(context_, nullptr));
  const Kernel slowly = kernel("slowly");
  for (const UnifiedKind kind : kinds()) {
    auto* const memory = make(kind, kUnifiedItems);
    store(memory, counted(kUnifiedItems));
    set_pointers(slowly, {memory});
    EXPECT_SUCCESS(set_arg(slowly, 1, cl_int{20000}));
    Event event;
    const size_t items = kUnifiedItems;
    ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, slowly, 1, nullptr, &items, nullptr, 0, nullptr,
                                          event.out()));
    let_go(memory);
    ASSERT_SUCCESS(cl_.blocking_free(context_, memory));
    EXPECT_EQ(value_of<cl_int>(query_of(event, CL_EVENT_COMMAND_EXECUTION_STATUS)), CL_COMPLETE);
    EXPECT_EQ(info<UnifiedKind>(memory, CL_MEM_ALLOC_TYPE_INTEL),
              UnifiedKind{CL_MEM_TYPE_UNKNOWN_INTEL});
    if (!options().tutti) continue;
    EXPECT_CL(CL_INVALID_VALUE, cl_.free(context_, memory));
    // A kernel forgets what is freed.
    EXPECT_CL(CL_INVALID_KERNEL_ARGS, launch(slowly, kUnifiedItems));
  }
}

TEST_F(UnifiedMemory, RejectsBadAllocations) {
  if (!options().tutti) GTEST_SKIP() << "vendors are lenient";
  const auto code_of = [&](UnifiedKind kind, size_t bytes, cl_uint alignment = 0,
                           std::vector<cl_mem_properties_intel> properties = {0}) {
    cl_int code = CL_SUCCESS;
    void* const memory = allocate(kind, bytes, &code, properties.data(), alignment);
    EXPECT_EQ(memory != nullptr, code == CL_SUCCESS);
    if (memory != nullptr) {
      EXPECT_SUCCESS(cl_.free(context_, memory));
    }
    return code;
  };
  constexpr cl_mem_properties_intel kFlags = CL_MEM_ALLOC_FLAGS_INTEL;
  for (const UnifiedKind kind : kinds()) {
    EXPECT_CL(CL_SUCCESS, code_of(kind, 64, 128));
    EXPECT_CL(CL_SUCCESS, code_of(kind, 64, 0, {kFlags, CL_MEM_ALLOC_WRITE_COMBINED_INTEL, 0}));
    EXPECT_CL(CL_INVALID_BUFFER_SIZE, code_of(kind, 0));
    EXPECT_CL(CL_INVALID_BUFFER_SIZE, code_of(kind, ~size_t{0}));
    EXPECT_CL(CL_INVALID_VALUE, code_of(kind, 64, 3));
    EXPECT_CL(CL_INVALID_VALUE, code_of(kind, 64, 256));
    EXPECT_CL(CL_INVALID_PROPERTY, code_of(kind, 64, 0, {0x1234, 0, 0}));
    EXPECT_CL(CL_INVALID_PROPERTY, code_of(kind, 64, 0, {kFlags, 0, kFlags, 0, 0}));
    EXPECT_CL(CL_INVALID_PROPERTY, code_of(kind, 64, 0, {kFlags, 1 << 10, 0}));
    constexpr cl_mem_properties_intel kOnHost = CL_MEM_ALLOC_INITIAL_PLACEMENT_HOST_INTEL;
    constexpr cl_mem_properties_intel kOnDevice = CL_MEM_ALLOC_INITIAL_PLACEMENT_DEVICE_INTEL;
    EXPECT_CL(kind == CL_MEM_TYPE_SHARED_INTEL ? CL_SUCCESS : CL_INVALID_PROPERTY,
              code_of(kind, 64, 0, {kFlags, kOnHost, 0}));
    EXPECT_CL(CL_INVALID_PROPERTY, code_of(kind, 64, 0, {kFlags, kOnHost | kOnDevice, 0}));
  }
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(cl_.host_alloc(nullptr, nullptr, 64, 0, &code), nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
  EXPECT_EQ(cl_.device_alloc(context_, nullptr, nullptr, 64, 0, &code), nullptr);
  EXPECT_CL(CL_INVALID_DEVICE, code);
  EXPECT_CL(CL_INVALID_CONTEXT, cl_.free(nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, cl_.free(context_, &code));
}

TEST_F(UnifiedMemory, RejectsBadArguments) {
  if (!options().tutti) GTEST_SKIP() << "vendors are lenient";
  auto* const memory = make(CL_MEM_TYPE_DEVICE_INTEL, 64);
  cl_int host[64] = {};
  EXPECT_CL(CL_INVALID_VALUE, copy(nullptr, memory, 16));
  EXPECT_CL(CL_INVALID_VALUE, copy(memory, nullptr, 16));
  EXPECT_CL(CL_INVALID_VALUE, copy(host, memory + 60, 64));
  EXPECT_CL(CL_MEM_COPY_OVERLAP, copy(memory, memory + 2, 16));
  const auto fill = [&](void* to, const void* pattern, size_t pattern_size, size_t size) {
    return cl_.fill(queue_, to, pattern, pattern_size, size, 0, nullptr, nullptr);
  };
  EXPECT_CL(CL_INVALID_VALUE, fill(nullptr, host, 4, 16));
  EXPECT_CL(CL_INVALID_VALUE, fill(memory, nullptr, 4, 16));
  EXPECT_CL(CL_INVALID_VALUE, fill(memory + 1, host, 8, 16));
  EXPECT_CL(CL_INVALID_VALUE, fill(memory, host, 3, 15));
  EXPECT_CL(CL_INVALID_VALUE, fill(memory, host, 4, 18));
  EXPECT_CL(CL_INVALID_VALUE, fill(memory, host, 256, 256));
  EXPECT_CL(CL_INVALID_VALUE, cl_.migrate(queue_, memory, 4, 1 << 20, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, cl_.advise(queue_, memory, 4, 0, 1, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE,
            cl_.copy(nullptr, CL_TRUE, host, memory, 4, 0, nullptr, nullptr));
  const Kernel twice = kernel("double_it"), slowly = kernel("slowly");
  EXPECT_CL(CL_INVALID_KERNEL, cl_.set_arg(nullptr, 0, memory));
  EXPECT_CL(CL_INVALID_ARG_INDEX, cl_.set_arg(twice, 1, memory));
  EXPECT_CL(CL_INVALID_ARG_VALUE, cl_.set_arg(twice, 0, host));
  EXPECT_CL(CL_INVALID_ARG_VALUE, cl_.set_arg(slowly, 1, memory));
  EXPECT_SUCCESS(cl_.set_arg(twice, 0, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clSetKernelExecInfo(twice, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL, 1, host));
  EXPECT_CL(CL_INVALID_VALUE,
            clSetKernelExecInfo(twice, CL_KERNEL_EXEC_INFO_USM_PTRS_INTEL, 9, host));
  // It is no shared virtual memory.
  clSVMFree(context_, memory);
  EXPECT_EQ(info<size_t>(memory, CL_MEM_ALLOC_SIZE_INTEL), 256u);
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueSVMMap(queue_, CL_TRUE, CL_MAP_READ, memory, 16, 0, nullptr, nullptr));
  // The host reads nothing there.
  cl_int code = CL_SUCCESS;
  for (const cl_mem_flags flags : {CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR}) {
    EXPECT_EQ(clCreateBuffer(context_, flags, 64, memory, &code), nullptr);
    EXPECT_CL(CL_INVALID_HOST_PTR, code);
  }
}

}  // namespace
}  // namespace tutti::api_tests
