// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClCreateBuffer : public QueueTest {
 protected:
  cl_int create(cl_context context, cl_mem_flags flags, size_t size, void* host_ptr) {
    cl_int code = CL_SUCCESS;
    const cl_mem buffer = clCreateBuffer(context, flags, size, host_ptr, &code);
    if (code == CL_SUCCESS) {
      EXPECT_SUCCESS(clReleaseMemObject(buffer));
    } else {
      EXPECT_EQ(buffer, nullptr);
    }
    return code;
  }
  int bits_of(cl_mem_flags flags, cl_mem_flags mask) {
    int count = 0;
    for (cl_mem_flags bit = 1; bit != 0 && bit <= mask; bit <<= 1) {
      if ((flags & mask & bit) != 0) ++count;
    }
    return count;
  }
};

constexpr cl_mem_flags kAccess = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
constexpr cl_mem_flags kHostAccess =
    CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
constexpr cl_mem_flags kHostPointer =
    CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

// All 512 combinations of the nine flags, each with and without a host pointer, against the
// rules of the table "List of supported memory flag values".
TEST_F(ClCreateBuffer, EveryFlagCombination) {
  alignas(128) static uint8_t memory[256];
  for (cl_mem_flags low = 0; low < 64; ++low) {
    for (cl_mem_flags high = 0; high < 8; ++high) {
      const cl_mem_flags flags = low | high << 7;
      ASSERT_EQ(flags & ~(kAccess | kHostAccess | kHostPointer), 0u);
      // "CL_MEM_READ_WRITE or CL_MEM_WRITE_ONLY and CL_MEM_READ_ONLY are mutually exclusive";
      // "CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY and CL_MEM_HOST_NO_ACCESS are mutually
      // exclusive"; "CL_MEM_USE_HOST_PTR and CL_MEM_ALLOC_HOST_PTR [or CL_MEM_COPY_HOST_PTR] are
      // mutually exclusive"
      const bool use = (flags & CL_MEM_USE_HOST_PTR) != 0;
      const bool valid = bits_of(flags, kAccess) <= 1 && bits_of(flags, kHostAccess) <= 1 &&
                         !(use && (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0);
      // "CL_INVALID_HOST_PTR if host_ptr is NULL and CL_MEM_USE_HOST_PTR or CL_MEM_COPY_HOST_PTR
      // are set in flags or if host_ptr is not NULL but CL_MEM_COPY_HOST_PTR or
      // CL_MEM_USE_HOST_PTR are not set in flags."
      const bool wants_pointer = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
      for (void* pointer : {static_cast<void*>(nullptr), static_cast<void*>(memory)}) {
        SCOPED_TRACE(testing::Message() << "flags " << flags << ", host_ptr " << pointer);
        const cl_int code = create(context_, flags, sizeof(memory), pointer);
        const bool right_pointer = wants_pointer == (pointer != nullptr);
        if (valid && right_pointer) {
          EXPECT_CL(CL_SUCCESS, code);
        } else if (valid) {
          EXPECT_CL(CL_INVALID_HOST_PTR, code);
        } else if (right_pointer) {
          EXPECT_CL(CL_INVALID_VALUE, code);
        } else {
          EXPECT_TRUE(is_one_of(code, {CL_INVALID_VALUE, CL_INVALID_HOST_PTR}));
        }
      }
    }
  }
}

TEST_F(ClCreateBuffer, RejectsUnknownFlags) {
  // "CL_INVALID_VALUE if values specified in flags are not valid."
  EXPECT_CL(CL_INVALID_VALUE, create(context_, cl_mem_flags{1} << 40, 64, nullptr));
}

TEST_F(ClCreateBuffer, RejectsBadSizes) {
  // "CL_INVALID_BUFFER_SIZE if size is 0 or if size is greater than CL_DEVICE_MAX_MEM_ALLOC_SIZE
  // for all devices in context."
  EXPECT_CL(CL_INVALID_BUFFER_SIZE, create(context_, CL_MEM_READ_WRITE, 0, nullptr));
  const auto most = value_of<cl_ulong>(query_of(device_, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  EXPECT_CL(CL_INVALID_BUFFER_SIZE,
            create(context_, CL_MEM_READ_WRITE, static_cast<size_t>(most) + 1, nullptr));
}

TEST_F(ClCreateBuffer, RejectsNullContext) {
  EXPECT_CL(CL_INVALID_CONTEXT, create(nullptr, CL_MEM_READ_WRITE, 64, nullptr));
}

TEST_F(ClCreateBuffer, ErrorCodeMayBeNull) {
  const cl_mem buffer = clCreateBuffer(context_, 0, 64, nullptr, nullptr);
  ASSERT_NE(buffer, nullptr);
  EXPECT_SUCCESS(clReleaseMemObject(buffer));
  EXPECT_EQ(clCreateBuffer(context_, 0, 0, nullptr, nullptr), nullptr);
}

TEST_F(ClCreateBuffer, WithProperties) {
  if (device_version() < 300) GTEST_SKIP() << "an OpenCL 3.0 function";
  cl_int code = CL_SUCCESS;
  const cl_mem_properties empty[] = {0};
  const Buffer with_empty(clCreateBufferWithProperties(context_, empty, 0, 64, nullptr, &code));
  EXPECT_SUCCESS(code);
  const Buffer with_null(clCreateBufferWithProperties(context_, nullptr, 0, 64, nullptr, &code));
  EXPECT_SUCCESS(code);
  // "CL_MEM_PROPERTIES: the properties argument specified in clCreateBufferWithProperties [...]
  // If it was NULL, [...] param_value_size_ret equal to 0"
  EXPECT_EQ(array_of<cl_mem_properties>(query_of(with_empty, CL_MEM_PROPERTIES)),
            std::vector<cl_mem_properties>{0});
  EXPECT_TRUE(check_query(query_of(with_null, CL_MEM_PROPERTIES)).empty());
  // "CL_INVALID_PROPERTY if a property name in properties is not a supported property name"
  const cl_mem_properties unknown[] = {0x7777, 1, 0};
  EXPECT_EQ(clCreateBufferWithProperties(context_, unknown, 0, 64, nullptr, &code), nullptr);
  EXPECT_CL(CL_INVALID_PROPERTY, code);
}

TEST_F(ClCreateBuffer, CopyHostPtrTakesTheDataAtOnce) {
  std::vector<uint8_t> data = noise(4099, 1);
  const std::vector<uint8_t> expected = data;
  const Buffer buffer = make_buffer_of(data);
  std::fill(data.begin(), data.end(), uint8_t{0});
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(buffer, data.size())));
}

TEST_F(ClCreateBuffer, CopyAndAllocHostPtr) {
  const std::vector<uint8_t> data = noise(1000, 2);
  const Buffer buffer = make_buffer_of(data, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
  EXPECT_TRUE(same_elements(data, read_all<uint8_t>(buffer, data.size())));
}

TEST_F(ClCreateBuffer, UseHostPtrHoldsTheData) {
  std::vector<uint8_t> memory = noise(5000, 3);
  const std::vector<uint8_t> before = memory;
  const Buffer buffer = make_buffer(memory.size(), CL_MEM_USE_HOST_PTR, memory.data());
  EXPECT_TRUE(same_elements(before, read_all<uint8_t>(buffer, memory.size())));
  const std::vector<uint8_t> after = noise(5000, 4);
  write_all(buffer, after);
  // The application may look at the memory only while it is mapped.
  cl_int code = CL_SUCCESS;
  void* mapped = clEnqueueMapBuffer(queue_, buffer, CL_TRUE, CL_MAP_READ, 0, memory.size(), 0,
                                    nullptr, nullptr, &code);
  ASSERT_SUCCESS(code);
  EXPECT_EQ(mapped, memory.data());
  EXPECT_TRUE(same_elements(after, memory));
  EXPECT_SUCCESS(clEnqueueUnmapMemObject(queue_, buffer, mapped, 0, nullptr, nullptr));
  EXPECT_SUCCESS(clFinish(queue_));
}

TEST_F(ClCreateBuffer, TwoBuffersOverOneHostMemoryMayBeMade) {
  // What their commands see is undefined; making and releasing them is not.
  std::vector<uint8_t> memory(4096);
  const Buffer first = make_buffer(memory.size(), CL_MEM_USE_HOST_PTR, memory.data());
  const Buffer second = make_buffer(memory.size(), CL_MEM_USE_HOST_PTR, memory.data());
  EXPECT_NE(first.get(), second.get());
}

TEST_F(ClCreateBuffer, HostAccessFlagsForbidCommands) {
  const Buffer write_only = make_buffer(256, CL_MEM_HOST_WRITE_ONLY);
  const Buffer read_only = make_buffer(256, CL_MEM_HOST_READ_ONLY);
  const Buffer no_access = make_buffer(256, CL_MEM_HOST_NO_ACCESS);
  std::vector<uint8_t> data(256);
  const size_t origin[3] = {0, 0, 0};
  const size_t region[3] = {16, 4, 1};
  struct Case {
    cl_mem buffer;
    cl_int read;
    cl_int write;
  };
  // "CL_INVALID_OPERATION if clEnqueueReadBuffer is called on buffer which has been created with
  // CL_MEM_HOST_WRITE_ONLY or CL_MEM_HOST_NO_ACCESS."
  // "CL_INVALID_OPERATION if clEnqueueWriteBuffer is called on buffer which has been created with
  // CL_MEM_HOST_READ_ONLY or CL_MEM_HOST_NO_ACCESS."
  for (const Case& each : {Case{write_only, CL_INVALID_OPERATION, CL_SUCCESS},
                           Case{read_only, CL_SUCCESS, CL_INVALID_OPERATION},
                           Case{no_access, CL_INVALID_OPERATION, CL_INVALID_OPERATION}}) {
    EXPECT_CL(each.read, clEnqueueReadBuffer(queue_, each.buffer, CL_TRUE, 0, 256, data.data(), 0,
                                             nullptr, nullptr));
    EXPECT_CL(each.write, clEnqueueWriteBuffer(queue_, each.buffer, CL_TRUE, 0, 256, data.data(), 0,
                                               nullptr, nullptr));
    EXPECT_CL(each.read,
              clEnqueueReadBufferRect(queue_, each.buffer, CL_TRUE, origin, origin, region, 0, 0, 0,
                                      0, data.data(), 0, nullptr, nullptr));
    EXPECT_CL(each.write,
              clEnqueueWriteBufferRect(queue_, each.buffer, CL_TRUE, origin, origin, region, 0, 0,
                                       0, 0, data.data(), 0, nullptr, nullptr));
  }
  // Commands between buffers are no access by the host.
  const cl_int zero = 0;
  EXPECT_SUCCESS(clEnqueueFillBuffer(queue_, no_access, &zero, 4, 0, 256, 0, nullptr, nullptr));
  EXPECT_SUCCESS(
      clEnqueueCopyBuffer(queue_, no_access, write_only, 0, 0, 256, 0, nullptr, nullptr));
}

TEST_F(ClCreateBuffer, HostAccessFlagsForbidMaps) {
  struct Case {
    cl_mem_flags host_access;
    cl_map_flags map;
    cl_int expected;
  };
  // "CL_INVALID_OPERATION if buffer has been created with CL_MEM_HOST_WRITE_ONLY or
  // CL_MEM_HOST_NO_ACCESS and CL_MAP_READ is set in map_flags or if buffer has been created with
  // CL_MEM_HOST_READ_ONLY or CL_MEM_HOST_NO_ACCESS and CL_MAP_WRITE or
  // CL_MAP_WRITE_INVALIDATE_REGION is set in map_flags."
  for (const Case& each : {
           Case{CL_MEM_HOST_WRITE_ONLY, CL_MAP_READ, CL_INVALID_OPERATION},
           Case{CL_MEM_HOST_WRITE_ONLY, CL_MAP_READ | CL_MAP_WRITE, CL_INVALID_OPERATION},
           Case{CL_MEM_HOST_WRITE_ONLY, CL_MAP_WRITE, CL_SUCCESS},
           Case{CL_MEM_HOST_WRITE_ONLY, CL_MAP_WRITE_INVALIDATE_REGION, CL_SUCCESS},
           Case{CL_MEM_HOST_READ_ONLY, CL_MAP_READ, CL_SUCCESS},
           Case{CL_MEM_HOST_READ_ONLY, CL_MAP_WRITE, CL_INVALID_OPERATION},
           Case{CL_MEM_HOST_READ_ONLY, CL_MAP_WRITE_INVALIDATE_REGION, CL_INVALID_OPERATION},
           Case{CL_MEM_HOST_NO_ACCESS, CL_MAP_READ, CL_INVALID_OPERATION},
           Case{CL_MEM_HOST_NO_ACCESS, CL_MAP_WRITE, CL_INVALID_OPERATION},
           Case{CL_MEM_HOST_NO_ACCESS, CL_MAP_WRITE_INVALIDATE_REGION, CL_INVALID_OPERATION},
       }) {
    SCOPED_TRACE(testing::Message() << "flags " << each.host_access << " map " << each.map);
    const Buffer buffer = make_buffer(256, each.host_access);
    cl_int code = CL_SUCCESS;
    void* mapped =
        clEnqueueMapBuffer(queue_, buffer, CL_TRUE, each.map, 0, 256, 0, nullptr, nullptr, &code);
    EXPECT_CL(each.expected, code);
    EXPECT_EQ(mapped != nullptr, code == CL_SUCCESS);
    if (code == CL_SUCCESS) {
      EXPECT_SUCCESS(clEnqueueUnmapMemObject(queue_, buffer, mapped, 0, nullptr, nullptr));
      EXPECT_SUCCESS(clFinish(queue_));
    }
  }
}

}  // namespace
}  // namespace tutti::api_tests
