// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClEnqueueMapBuffer : public QueueTest {
 protected:
  uint8_t* map(cl_mem buffer, cl_map_flags flags, size_t offset, size_t size,
               cl_bool blocking = CL_TRUE, cl_event* event = nullptr) {
    cl_int code = CL_SUCCESS;
    void* pointer =
        clEnqueueMapBuffer(queue_, buffer, blocking, flags, offset, size, 0, nullptr, event, &code);
    EXPECT_SUCCESS(code);
    EXPECT_NE(pointer, nullptr);
    return static_cast<uint8_t*>(pointer);
  }
  cl_int map_code(cl_mem buffer, cl_map_flags flags, size_t offset, size_t size) {
    cl_int code = CL_SUCCESS;
    const void* pointer = clEnqueueMapBuffer(queue_, buffer, CL_TRUE, flags, offset, size, 0,
                                             nullptr, nullptr, &code);
    EXPECT_EQ(pointer != nullptr, code == CL_SUCCESS);
    return code;
  }
  void unmap(cl_mem buffer, void* pointer, cl_event* event = nullptr) {
    EXPECT_SUCCESS(clEnqueueUnmapMemObject(queue_, buffer, pointer, 0, nullptr, event));
  }
  cl_uint map_count(cl_mem buffer) { return value_of<cl_uint>(query_of(buffer, CL_MEM_MAP_COUNT)); }
};

constexpr cl_mem_flags kKinds[] = {CL_MEM_READ_WRITE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_USE_HOST_PTR};

TEST_F(ClEnqueueMapBuffer, ReadSeesTheData) {
  for (const cl_mem_flags kind : kKinds) {
    std::vector<uint8_t> memory(10007);
    const Buffer buffer =
        make_buffer(memory.size(), kind, kind == CL_MEM_USE_HOST_PTR ? memory.data() : nullptr);
    const std::vector<uint8_t> data = noise(memory.size(), 1);
    write_all(buffer, data);
    for (const size_t offset : {size_t{0}, size_t{1}, size_t{4096}, size_t{10006}}) {
      const size_t size = data.size() - offset;
      uint8_t* pointer = map(buffer, CL_MAP_READ, offset, size);
      ASSERT_NE(pointer, nullptr);
      EXPECT_TRUE(same_elements(
          std::vector<uint8_t>(data.begin() + static_cast<ptrdiff_t>(offset), data.end()),
          std::vector<uint8_t>(pointer, pointer + size)));
      unmap(buffer, pointer);
    }
  }
}

TEST_F(ClEnqueueMapBuffer, WriteReachesTheBuffer) {
  for (const cl_mem_flags kind : kKinds) {
    for (const cl_map_flags flags :
         {cl_map_flags{CL_MAP_WRITE}, cl_map_flags{CL_MAP_READ | CL_MAP_WRITE},
          cl_map_flags{CL_MAP_WRITE_INVALIDATE_REGION}}) {
      SCOPED_TRACE(testing::Message() << "buffer " << kind << ", map " << flags);
      std::vector<uint8_t> expected = noise(5003, 2);
      std::vector<uint8_t> memory(expected.size());
      const Buffer buffer =
          make_buffer(memory.size(), kind, kind == CL_MEM_USE_HOST_PTR ? memory.data() : nullptr);
      write_all(buffer, expected);
      const std::vector<uint8_t> change = noise(1001, 3);
      uint8_t* pointer = map(buffer, flags, 77, change.size());
      ASSERT_NE(pointer, nullptr);
      std::copy(change.begin(), change.end(), pointer);
      unmap(buffer, pointer);
      std::copy(change.begin(), change.end(), expected.begin() + 77);
      EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(buffer, expected.size())));
    }
  }
}

TEST_F(ClEnqueueMapBuffer, WriteKeepsBytesThatTheHostLeaves) {
  // CL_MAP_WRITE, unlike WRITE_INVALIDATE_REGION: "the pointer [...] contains the latest bits"
  const std::vector<uint8_t> data = noise(4096, 4);
  std::vector<uint8_t> expected = data;
  const Buffer buffer = make_buffer_of(data);
  uint8_t* pointer = map(buffer, CL_MAP_WRITE, 0, data.size());
  ASSERT_NE(pointer, nullptr);
  for (size_t i = 0; i < data.size(); i += 5) pointer[i] = expected[i] = static_cast<uint8_t>(i);
  unmap(buffer, pointer);
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(buffer, data.size())));
}

TEST_F(ClEnqueueMapBuffer, UseHostPtrGivesThatMemory) {
  // "If the buffer object is created with CL_MEM_USE_HOST_PTR [...] the pointer value returned by
  // clEnqueueMapBuffer will be derived from the host_ptr specified when the buffer is created."
  const size_t unit = alignment();
  std::vector<uint8_t> memory = noise(8 * unit, 5);
  const Buffer buffer = make_buffer(memory.size(), CL_MEM_USE_HOST_PTR, memory.data());
  uint8_t* whole = map(buffer, CL_MAP_READ, 0, memory.size());
  EXPECT_EQ(whole, memory.data());
  unmap(buffer, whole);
  uint8_t* part = map(buffer, CL_MAP_READ, 123, 45);
  EXPECT_EQ(part, memory.data() + 123);
  unmap(buffer, part);
  const Buffer sub = make_sub_buffer(buffer, 2 * unit, unit);
  uint8_t* in_sub = map(sub, CL_MAP_READ, 7, 9);
  EXPECT_EQ(in_sub, memory.data() + 2 * unit + 7);
  unmap(sub, in_sub);
}

TEST_F(ClEnqueueMapBuffer, NonBlockingIsReadyAfterItsEvent) {
  const std::vector<uint8_t> data = noise(3000, 6);
  const Buffer buffer = make_buffer_of(data);
  Event mapped;
  Event unmapped;
  uint8_t* pointer = map(buffer, CL_MAP_READ, 0, data.size(), CL_FALSE, mapped.out());
  ASSERT_NE(pointer, nullptr);
  ASSERT_SUCCESS(clWaitForEvents(1, mapped.list()));
  EXPECT_TRUE(same_elements(data, std::vector<uint8_t>(pointer, pointer + data.size())));
  unmap(buffer, pointer, unmapped.out());
  EXPECT_EQ(value_of<cl_command_type>(query_of(mapped, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_MAP_BUFFER});
  EXPECT_EQ(value_of<cl_command_type>(query_of(unmapped, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_UNMAP_MEM_OBJECT});
}

TEST_F(ClEnqueueMapBuffer, NonBlockingComesAfterEarlierCommands) {
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(1024, 1));
  const cl_int value = 42;
  ASSERT_SUCCESS(clEnqueueFillBuffer(queue_, buffer, &value, 4, 0, 4096, 0, nullptr, nullptr));
  Event mapped;
  uint8_t* pointer = map(buffer, CL_MAP_READ, 0, 4096, CL_FALSE, mapped.out());
  ASSERT_NE(pointer, nullptr);
  ASSERT_SUCCESS(clFinish(queue_));
  std::vector<cl_int> seen(1024);
  std::memcpy(seen.data(), pointer, 4096);
  EXPECT_TRUE(same_elements(std::vector<cl_int>(1024, 42), seen));
  unmap(buffer, pointer);
}

TEST_F(ClEnqueueMapBuffer, MapCount) {
  const Buffer buffer = make_buffer_of(noise(4096, 7));
  EXPECT_EQ(map_count(buffer), 0u);
  uint8_t* first = map(buffer, CL_MAP_READ, 0, 100);
  EXPECT_EQ(map_count(buffer), 1u);
  uint8_t* second = map(buffer, CL_MAP_READ, 2000, 100);
  EXPECT_EQ(map_count(buffer), 2u);
  unmap(buffer, first);
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_EQ(map_count(buffer), 1u);
  unmap(buffer, second);
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_EQ(map_count(buffer), 0u);
}

TEST_F(ClEnqueueMapBuffer, SeveralRegionsAtOnce) {
  std::vector<uint8_t> expected = noise(10000, 8);
  const Buffer buffer = make_buffer_of(expected);
  struct Region {
    size_t offset, size;
    uint8_t* pointer;
  };
  std::vector<Region> regions = {
      {0, 999, nullptr}, {1000, 1, nullptr}, {1001, 2003, nullptr}, {5000, 5000, nullptr}};
  for (Region& region : regions) {
    region.pointer = map(buffer, CL_MAP_WRITE, region.offset, region.size);
    ASSERT_NE(region.pointer, nullptr);
  }
  for (size_t r = 0; r < regions.size(); ++r) {
    const std::vector<uint8_t> change = noise(regions[r].size, static_cast<uint32_t>(50 + r));
    std::copy(change.begin(), change.end(), regions[r].pointer);
    std::copy(change.begin(), change.end(),
              expected.begin() + static_cast<ptrdiff_t>(regions[r].offset));
  }
  // Unmapped in another order
  for (const size_t r : {size_t{2}, size_t{0}, size_t{3}, size_t{1}}) {
    unmap(buffer, regions[r].pointer);
  }
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(buffer, expected.size())));
}

TEST_F(ClEnqueueMapBuffer, OverlappingReadMaps) {
  const std::vector<uint8_t> data = noise(2048, 9);
  const Buffer buffer = make_buffer_of(data);
  uint8_t* first = map(buffer, CL_MAP_READ, 0, 2048);
  uint8_t* second = map(buffer, CL_MAP_READ, 1000, 500);
  uint8_t* third = map(buffer, CL_MAP_READ, 0, 2048);
  ASSERT_TRUE(first != nullptr && second != nullptr && third != nullptr);
  EXPECT_EQ(std::memcmp(first, data.data(), 2048), 0);
  EXPECT_EQ(std::memcmp(second, data.data() + 1000, 500), 0);
  unmap(buffer, first);
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_EQ(std::memcmp(third, data.data(), 2048), 0);
  EXPECT_EQ(std::memcmp(second, data.data() + 1000, 500), 0);
  unmap(buffer, second);
  unmap(buffer, third);
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_EQ(map_count(buffer), 0u);
}

TEST_F(ClEnqueueMapBuffer, ReadMapIsNotWrittenBack) {
  // The device's data stay what they are when the host only read.
  std::vector<uint8_t> data = noise(1024, 10);
  const Buffer buffer = make_buffer_of(data);
  uint8_t* pointer = map(buffer, CL_MAP_READ, 0, 512);
  ASSERT_NE(pointer, nullptr);
  const std::vector<uint8_t> change = noise(512, 11);
  // Another part may be written meanwhile.
  ASSERT_SUCCESS(
      clEnqueueWriteBuffer(queue_, buffer, CL_TRUE, 512, 512, change.data(), 0, nullptr, nullptr));
  unmap(buffer, pointer);
  std::copy(change.begin(), change.end(), data.begin() + 512);
  EXPECT_TRUE(same_elements(data, read_all<uint8_t>(buffer, 1024)));
}

TEST_F(ClEnqueueMapBuffer, MappedPointerIsHostMemoryForOtherCommands) {
  const std::vector<uint8_t> data = noise(1024, 12);
  const Buffer source = make_buffer_of(data);
  const Buffer staging = make_buffer(1024, CL_MEM_ALLOC_HOST_PTR);
  uint8_t* pointer = map(staging, CL_MAP_WRITE, 0, 1024);
  ASSERT_NE(pointer, nullptr);
  ASSERT_SUCCESS(
      clEnqueueReadBuffer(queue_, source, CL_TRUE, 0, 1024, pointer, 0, nullptr, nullptr));
  EXPECT_EQ(std::memcmp(pointer, data.data(), 1024), 0);
  unmap(staging, pointer);
  EXPECT_TRUE(same_elements(data, read_all<uint8_t>(staging, 1024)));
}

TEST_F(ClEnqueueMapBuffer, SubBufferWritesReachTheParent) {
  const size_t unit = alignment();
  std::vector<uint8_t> expected = noise(4 * unit, 13);
  const Buffer parent = make_buffer_of(expected);
  const Buffer part = make_sub_buffer(parent, unit, 2 * unit);
  uint8_t* pointer = map(part, CL_MAP_WRITE, 5, unit);
  ASSERT_NE(pointer, nullptr);
  std::fill_n(pointer, unit, uint8_t{0x5a});
  unmap(part, pointer);
  std::fill_n(expected.begin() + static_cast<ptrdiff_t>(unit + 5), unit, uint8_t{0x5a});
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(parent, expected.size())));
}

TEST_F(ClEnqueueMapBuffer, RejectsBadArguments) {
  const Buffer buffer = make_buffer(1024);
  // "CL_INVALID_VALUE if region being mapped given by (offset, size) is out of bounds or if size
  // is 0 or if values specified in map_flags are not valid."
  EXPECT_CL(CL_INVALID_VALUE, map_code(buffer, CL_MAP_READ, 0, 1025));
  EXPECT_CL(CL_INVALID_VALUE, map_code(buffer, CL_MAP_READ, 1024, 1));
  EXPECT_CL(CL_INVALID_VALUE, map_code(buffer, CL_MAP_READ, 2, ~size_t{0}));
  EXPECT_CL(CL_INVALID_VALUE, map_code(buffer, CL_MAP_READ, 0, 0));
  EXPECT_CL(CL_INVALID_VALUE, map_code(buffer, cl_map_flags{1} << 40, 0, 64));
  // "CL_MAP_READ or CL_MAP_WRITE and CL_MAP_WRITE_INVALIDATE_REGION are mutually exclusive."
  EXPECT_CL(CL_INVALID_VALUE,
            map_code(buffer, CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, 0, 64));
  EXPECT_CL(CL_INVALID_VALUE,
            map_code(buffer, CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION, 0, 64));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, map_code(nullptr, CL_MAP_READ, 0, 64));
  EXPECT_EQ(map_count(buffer), 0u);
}

TEST_F(ClEnqueueMapBuffer, RejectsOverlappingWriteMaps) {
  // "CL_INVALID_OPERATION if mapping would lead to overlapping regions being mapped for writing."
  const Buffer buffer = make_buffer(1024);
  uint8_t* pointer = map(buffer, CL_MAP_WRITE, 100, 100);
  EXPECT_CL(CL_INVALID_OPERATION, map_code(buffer, CL_MAP_WRITE, 150, 100));
  EXPECT_CL(CL_INVALID_OPERATION, map_code(buffer, CL_MAP_WRITE_INVALIDATE_REGION, 0, 1024));
  uint8_t* beside = map(buffer, CL_MAP_WRITE, 200, 100);
  unmap(buffer, pointer);
  unmap(buffer, beside);
}

TEST_F(ClEnqueueMapBuffer, RejectsBadUnmap) {
  // "CL_INVALID_VALUE if mapped_ptr is not a valid pointer returned by [...] clEnqueueMapBuffer
  // [...] for memobj."
  const Buffer buffer = make_buffer(1024);
  const Buffer other = make_buffer(1024);
  uint8_t* pointer = map(buffer, CL_MAP_READ, 0, 1024);
  ASSERT_NE(pointer, nullptr);
  int local = 0;
  auto code = [&](cl_mem object, void* address) {
    return clEnqueueUnmapMemObject(queue_, object, address, 0, nullptr, nullptr);
  };
  EXPECT_CL(CL_INVALID_VALUE, code(buffer, &local));
  EXPECT_CL(CL_INVALID_VALUE, code(buffer, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, code(other, pointer));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, code(nullptr, pointer));
  EXPECT_CL(CL_SUCCESS, code(buffer, pointer));
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_CL(CL_INVALID_VALUE, code(buffer, pointer)) << "unmapped twice";
}

}  // namespace
}  // namespace tutti::api_tests
