// SPDX-License-Identifier: Apache-2.0
// Shared virtual memory: allocations, and the commands of the host.
#include "svm.h"

#include <algorithm>
#include <numeric>

namespace tutti::api_tests {

void SvmTest::SetUp() {
  QueueTest::SetUp();
  if ((capabilities() & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) {
    GTEST_SKIP() << "no shared virtual memory";
  }
}

cl_device_svm_capabilities SvmTest::capabilities() const {
  return value_of<cl_device_svm_capabilities>(query_of(device_, CL_DEVICE_SVM_CAPABILITIES));
}

namespace {

constexpr size_t kSharedInts = 10000;

using SvmAlloc = SvmTest;
using SvmCommands = SvmTest;

cl_command_type type_of(cl_event event) {
  return value_of<cl_command_type>(query_of(event, CL_EVENT_COMMAND_TYPE));
}

TEST_F(SvmAlloc, AlignsAsAsked) {
  for (const cl_uint alignment : {0u, 1u, 4u, 64u, 128u}) {
    const Shared<uint8_t> shared(context_, 1000, CL_MEM_READ_WRITE, alignment);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(shared.get()) % std::max(alignment, 1u), 0u) << alignment;
  }
  // The largest data type's, where nothing is asked for.
  const Shared<uint8_t> shared(context_, 3);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(shared.get()) % 128, 0u);
}

TEST_F(SvmAlloc, AllocationsLieApart) {
  std::vector<Shared<uint8_t>> all;
  for (size_t size : {1, 100, 4096, 65536}) all.emplace_back(context_, size);
  for (const auto& a : all) {
    for (const auto& b : all) {
      if (&a == &b) continue;
      EXPECT_TRUE(a.get() + a.bytes() <= b.get() || b.get() + b.bytes() <= a.get());
    }
  }
}

TEST_F(SvmAlloc, RejectsBadArguments) {
  const auto alloc = [&](cl_svm_mem_flags flags, size_t size, cl_uint alignment = 0) {
    void* const memory = clSVMAlloc(context_, flags, size, alignment);
    if (memory != nullptr) clSVMFree(context_, memory);
    return memory != nullptr;
  };
  EXPECT_TRUE(alloc(0, 64));
  EXPECT_TRUE(alloc(CL_MEM_READ_ONLY, 64));
  EXPECT_FALSE(alloc(CL_MEM_READ_WRITE, 0));
  EXPECT_FALSE(alloc(CL_MEM_READ_WRITE, 64, 3));
  EXPECT_FALSE(alloc(CL_MEM_READ_WRITE, ~size_t{0}));
  EXPECT_FALSE(alloc(CL_MEM_READ_WRITE | CL_MEM_READ_ONLY, 64));
  EXPECT_FALSE(alloc(CL_MEM_SVM_ATOMICS, 64));
  EXPECT_FALSE(alloc(CL_MEM_USE_HOST_PTR, 64));
  const bool fine = (capabilities() & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
  EXPECT_EQ(alloc(CL_MEM_SVM_FINE_GRAIN_BUFFER, 64), fine);
  const bool atomics = (capabilities() & CL_DEVICE_SVM_ATOMICS) != 0;
  EXPECT_EQ(alloc(CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS, 64), atomics);
  clSVMFree(context_, nullptr);
  if (!options().tutti) return;
  EXPECT_EQ(clSVMAlloc(nullptr, CL_MEM_READ_WRITE, 64, 0), nullptr);
}

TEST_F(SvmCommands, MapAndUnmap) {
  const Shared<uint32_t> shared(context_, kSharedInts);
  const auto data = noise_of<uint32_t>(kSharedInts, 1);
  store(shared, data);
  EXPECT_TRUE(same_elements(data, load(shared)));
  // A part, which keeps what is beside it.
  Event event;
  ASSERT_SUCCESS(clEnqueueSVMMap(queue_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, shared.get() + 7, 40,
                                 0, nullptr, event.out()));
  EXPECT_EQ(type_of(event), cl_command_type{CL_COMMAND_SVM_MAP});
  EXPECT_EQ(shared.get()[9], data[9]);
  shared.get()[8] = 88;
  ASSERT_SUCCESS(clEnqueueSVMUnmap(queue_, shared.get() + 7, 0, nullptr, event.out()));
  EXPECT_EQ(type_of(event), cl_command_type{CL_COMMAND_SVM_UNMAP});
  auto expected = data;
  expected[8] = 88;
  EXPECT_TRUE(same_elements(expected, load(shared)));
}

TEST_F(SvmCommands, Memcpy) {
  const Shared<uint32_t> a(context_, kSharedInts), b(context_, kSharedInts);
  const auto data = noise_of<uint32_t>(kSharedInts, 2);
  const auto copy = [&](void* to, const void* from, size_t bytes, cl_event* event = nullptr) {
    return clEnqueueSVMMemcpy(queue_, CL_TRUE, to, from, bytes, 0, nullptr, event);
  };
  Event event;
  ASSERT_SUCCESS(copy(a.get(), data.data(), a.bytes(), event.out()));
  EXPECT_EQ(type_of(event), cl_command_type{CL_COMMAND_SVM_MEMCPY});
  // Between two allocations, within one, at inner addresses.
  ASSERT_SUCCESS(copy(b.get(), a.get(), b.bytes()));
  ASSERT_SUCCESS(copy(b.get() + 5, a.get() + 100, 333 * 4));
  ASSERT_SUCCESS(copy(b.get() + 2000, b.get() + 10, 500 * 4));
  auto expected = data;
  std::copy_n(data.begin() + 100, 333, expected.begin() + 5);
  std::copy_n(std::vector<uint32_t>(expected).begin() + 10, 500, expected.begin() + 2000);
  std::vector<uint32_t> seen(kSharedInts);
  ASSERT_SUCCESS(copy(seen.data(), b.get(), b.bytes()));
  EXPECT_TRUE(same_elements(expected, seen));
  EXPECT_TRUE(same_elements(data, load(a)));
  // The host's memory on both sides.
  std::vector<uint32_t> other(kSharedInts);
  ASSERT_SUCCESS(copy(other.data(), seen.data(), a.bytes()));
  EXPECT_TRUE(same_elements(seen, other));
  ASSERT_SUCCESS(copy(a.get(), b.get(), 0));
}

TEST_F(SvmCommands, Fill) {
  for (const size_t size : {1, 2, 4, 8, 16, 32, 64, 128}) {
    const Shared<uint8_t> shared(context_, 40 * size);
    auto expected = noise(40 * size, 3);
    store(shared, expected);
    const auto pattern = noise(size, 4);
    Event event;
    ASSERT_SUCCESS(clEnqueueSVMMemFill(queue_, shared.get() + 3 * size, pattern.data(), size,
                                       30 * size, 0, nullptr, event.out()));
    EXPECT_EQ(type_of(event), cl_command_type{CL_COMMAND_SVM_MEMFILL});
    for (size_t i = 0; i < 30 * size; ++i) expected[3 * size + i] = pattern[i % size];
    EXPECT_TRUE(same_elements(expected, load(shared))) << size;
  }
}

TEST_F(SvmCommands, Migrate) {
  const Shared<uint32_t> shared(context_, kSharedInts);
  const auto data = noise_of<uint32_t>(kSharedInts, 5);
  store(shared, data);
  const void* const pointers[] = {shared.get(), shared.get() + 10};
  const size_t sizes[] = {0, 400};
  Event event;
  ASSERT_SUCCESS(clEnqueueSVMMigrateMem(queue_, 2, const_cast<const void**>(pointers), sizes,
                                        CL_MIGRATE_MEM_OBJECT_HOST, 0, nullptr, event.out()));
  EXPECT_EQ(type_of(event), cl_command_type{CL_COMMAND_SVM_MIGRATE_MEM});
  EXPECT_TRUE(same_elements(data, load(shared)));
}

TEST_F(SvmCommands, Free) {
  Shared<uint32_t> a(context_, kSharedInts), b(context_, 10);
  void* pointers[] = {a.release(), b.release()};
  Event event;
  ASSERT_SUCCESS(clEnqueueSVMFree(queue_, 2, pointers, nullptr, nullptr, 0, nullptr, event.out()));
  pointers[0] = pointers[1] = nullptr;  // the call has its own
  EXPECT_EQ(type_of(event), cl_command_type{CL_COMMAND_SVM_FREE});
  EXPECT_SUCCESS(clFinish(queue_));
}

struct FreeCall {
  Latch latch;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  std::vector<void*> pointers;
};

void CL_CALLBACK free_all(cl_command_queue queue, cl_uint count, void** pointers, void* data) {
  auto& call = *static_cast<FreeCall*>(data);
  call.queue = queue;
  call.pointers.assign(pointers, pointers + count);
  for (cl_uint i = 0; i < count; ++i) clSVMFree(call.context, pointers[i]);
  call.latch.count_down();
}

TEST_F(SvmCommands, FreeWithCallback) {
  Shared<uint32_t> a(context_, kSharedInts), b(context_, 10);
  const std::vector<void*> given = {a.release(), b.release()};
  std::vector<void*> pointers = given;
  FreeCall call;
  call.context = context_;
  const Event before = make_user_event();
  ASSERT_SUCCESS(
      clEnqueueSVMFree(queue_, 2, pointers.data(), &free_all, &call, 1, before.list(), nullptr));
  pointers.assign(2, nullptr);
  ASSERT_SUCCESS(clFlush(queue_));
  EXPECT_TRUE(call.pointers.empty());  // not before the event
  ASSERT_SUCCESS(clSetUserEventStatus(before, CL_COMPLETE));
  ASSERT_TRUE(call.latch.wait());
  EXPECT_EQ(call.queue, queue_.get());
  EXPECT_EQ(call.pointers, given);
}

TEST_F(SvmCommands, WaitForEvents) {
  const Shared<uint32_t> shared(context_, 4);
  store(shared, {1, 2, 3, 4});
  const Event before = make_user_event();
  const std::vector<uint32_t> data = {5, 6, 7, 8};
  Event copied;
  ASSERT_SUCCESS(clEnqueueSVMMemcpy(queue_, CL_FALSE, shared.get(), data.data(), 16, 1,
                                    before.list(), copied.out()));
  ASSERT_SUCCESS(clFlush(queue_));
  EXPECT_NE(value_of<cl_int>(query_of(copied, CL_EVENT_COMMAND_EXECUTION_STATUS)), CL_COMPLETE);
  ASSERT_SUCCESS(clSetUserEventStatus(before, CL_COMPLETE));
  EXPECT_TRUE(same_elements(data, load(shared)));
}

TEST_F(SvmCommands, RejectBadArguments) {
  const Shared<uint8_t> shared(context_, 256);
  uint8_t* const data = shared.get();
  uint8_t host[256] = {};
  const auto copy = [&](void* to, const void* from, size_t size) {
    return clEnqueueSVMMemcpy(queue_, CL_TRUE, to, from, size, 0, nullptr, nullptr);
  };
  EXPECT_CL(CL_INVALID_VALUE, copy(nullptr, data, 16));
  EXPECT_CL(CL_INVALID_VALUE, copy(data, nullptr, 16));
  EXPECT_CL(CL_MEM_COPY_OVERLAP, copy(data, data + 8, 16));
  EXPECT_CL(CL_MEM_COPY_OVERLAP, copy(data + 8, data, 16));
  const auto fill = [&](void* to, const void* pattern, size_t pattern_size, size_t size) {
    return clEnqueueSVMMemFill(queue_, to, pattern, pattern_size, size, 0, nullptr, nullptr);
  };
  EXPECT_CL(CL_INVALID_VALUE, fill(nullptr, host, 4, 16));
  EXPECT_CL(CL_INVALID_VALUE, fill(data, nullptr, 4, 16));
  EXPECT_CL(CL_INVALID_VALUE, fill(data + 2, host, 4, 16));
  EXPECT_CL(CL_INVALID_VALUE, fill(data, host, 0, 16));
  EXPECT_CL(CL_INVALID_VALUE, fill(data, host, 3, 15));
  EXPECT_CL(CL_INVALID_VALUE, fill(data, host, 256, 256));
  EXPECT_CL(CL_INVALID_VALUE, fill(data, host, 4, 18));
  EXPECT_CL(CL_INVALID_VALUE, map(nullptr, 16, CL_MAP_READ));
  EXPECT_CL(CL_INVALID_VALUE, map(data, 0, CL_MAP_READ));
  EXPECT_CL(CL_INVALID_VALUE, map(data, 16, CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION));
  EXPECT_CL(CL_INVALID_VALUE, unmap(nullptr));
  void* pointers[] = {data};
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueSVMFree(queue_, 0, pointers, nullptr, nullptr, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueSVMFree(queue_, 1, nullptr, nullptr, nullptr, 0, nullptr, nullptr));
  const void* ranges[] = {data};
  const size_t sizes[] = {257};
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueSVMMigrateMem(queue_, 0, ranges, nullptr, 0, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueSVMMigrateMem(queue_, 1, nullptr, nullptr, 0, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueSVMMigrateMem(queue_, 1, ranges, sizes, 0, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST,
            clEnqueueSVMMemcpy(queue_, CL_TRUE, data, host, 16, 1, nullptr, nullptr));
  if (!options().tutti) return;  // of no defined meaning
  EXPECT_CL(CL_INVALID_VALUE, copy(data + 250, host, 16));
  EXPECT_CL(CL_INVALID_VALUE, map(host, 16, CL_MAP_READ));
  EXPECT_CL(CL_INVALID_VALUE, unmap(data));
}

TEST_F(SvmCommands, BufferOverIt) {
  const Shared<uint32_t> shared(context_, kSharedInts);
  const auto data = noise_of<uint32_t>(kSharedInts, 6);
  const Buffer buffer =
      make_buffer(shared.bytes(), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, shared.get());
  EXPECT_EQ(value_of<cl_bool>(query_of(buffer, CL_MEM_USES_SVM_POINTER)), cl_bool{CL_TRUE});
  EXPECT_EQ(value_of<void*>(query_of(buffer, CL_MEM_HOST_PTR)), shared.get());
  write_all(buffer, data);
  EXPECT_TRUE(same_elements(data, load(shared)));
  auto turned = data;
  std::reverse(turned.begin(), turned.end());
  store(shared, turned);
  EXPECT_TRUE(same_elements(turned, read_all<uint32_t>(buffer, kSharedInts)));
  // Its own maps give the same addresses.
  cl_int code = CL_SUCCESS;
  auto* const mapped = static_cast<uint32_t*>(clEnqueueMapBuffer(
      queue_, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 400, 400, 0, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  EXPECT_EQ(mapped, shared.get() + 100);
  EXPECT_EQ(mapped[3], turned[103]);
  mapped[3] = turned[103] = 3;
  ASSERT_SUCCESS(clEnqueueUnmapMemObject(queue_, buffer, mapped, 0, nullptr, nullptr));
  EXPECT_TRUE(same_elements(turned, load(shared)));
  const Buffer part = make_sub_buffer(buffer, alignment(), 64);
  EXPECT_EQ(value_of<size_t>(query_of(part, CL_MEM_OFFSET)), alignment());
  EXPECT_EQ(read_all<uint32_t>(part, 1)[0], turned[alignment() / 4]);
  // "CL_INVALID_BUFFER_SIZE if … host_ptr is a pointer returned by clSVMAlloc and size is greater
  // than the size passed to clSVMAlloc."
  if (options().tutti) {
    clCreateBuffer(context_, CL_MEM_USE_HOST_PTR, shared.bytes() + 1, shared.get(), &code);
    EXPECT_CL(CL_INVALID_BUFFER_SIZE, code);
  }
  const Buffer plain = make_buffer(16);
  EXPECT_EQ(value_of<cl_bool>(query_of(plain, CL_MEM_USES_SVM_POINTER)), cl_bool{CL_FALSE});
}

}  // namespace
}  // namespace tutti::api_tests
