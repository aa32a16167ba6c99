// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClCreateSubBuffer : public QueueTest {
 protected:
  cl_int create(cl_mem parent, cl_mem_flags flags, size_t origin, size_t size) {
    const cl_buffer_region region = {origin, size};
    return create_raw(parent, flags, CL_BUFFER_CREATE_TYPE_REGION, &region);
  }
  cl_int create_raw(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type,
                    const void* info) {
    cl_int code = CL_SUCCESS;
    const cl_mem buffer = clCreateSubBuffer(parent, flags, type, info, &code);
    if (code == CL_SUCCESS) {
      EXPECT_SUCCESS(clReleaseMemObject(buffer));
    } else {
      EXPECT_EQ(buffer, nullptr);
    }
    return code;
  }
};

TEST_F(ClCreateSubBuffer, SeesItsPartOfTheParent) {
  const size_t unit = alignment();
  const std::vector<uint8_t> data = noise(8 * unit, 1);
  const Buffer parent = make_buffer_of(data);
  const Buffer part = make_sub_buffer(parent, 2 * unit, 3 * unit);
  const std::vector<uint8_t> expected(data.begin() + 2 * static_cast<ptrdiff_t>(unit),
                                      data.begin() + 5 * static_cast<ptrdiff_t>(unit));
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(part, 3 * unit)));
}

TEST_F(ClCreateSubBuffer, WritesShowInTheParentAndInOverlappingParts) {
  const size_t unit = alignment();
  std::vector<uint8_t> expected = noise(8 * unit, 1);
  const Buffer parent = make_buffer_of(expected);
  const Buffer low = make_sub_buffer(parent, 0, 5 * unit);
  const Buffer high = make_sub_buffer(parent, 3 * unit, 5 * unit);
  const std::vector<uint8_t> change = noise(unit + 7, 2);
  // Bytes 3.5 units on: in both parts
  EXPECT_SUCCESS(clEnqueueWriteBuffer(queue_, low, CL_TRUE, 3 * unit + unit / 2, change.size(),
                                      change.data(), 0, nullptr, nullptr));
  std::copy(change.begin(), change.end(),
            expected.begin() + static_cast<ptrdiff_t>(3 * unit + unit / 2));
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(parent, 8 * unit)));
  EXPECT_TRUE(same_elements(
      std::vector<uint8_t>(expected.begin() + static_cast<ptrdiff_t>(3 * unit), expected.end()),
      read_all<uint8_t>(high, 5 * unit)));
}

TEST_F(ClCreateSubBuffer, WholeParentAndRaggedSize) {
  const size_t unit = alignment();
  const Buffer parent = make_buffer(4 * unit + 5);
  EXPECT_SUCCESS(create(parent, 0, 0, 4 * unit + 5));
  EXPECT_SUCCESS(create(parent, 0, 4 * unit, 5));
  EXPECT_SUCCESS(create(parent, 0, unit, 1));
}

TEST_F(ClCreateSubBuffer, KeepsTheParentAlive) {
  const std::vector<uint8_t> data = noise(512, 5);
  Buffer parent = make_buffer_of(data);
  const Buffer part = make_sub_buffer(parent, 0, 512);
  parent.reset();
  EXPECT_TRUE(same_elements(data, read_all<uint8_t>(part, 512)));
}

TEST_F(ClCreateSubBuffer, RejectsBadParents) {
  // "CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object or is a sub-buffer object."
  EXPECT_CL(CL_INVALID_MEM_OBJECT, create(nullptr, 0, 0, 64));
  const Buffer parent = make_buffer(1024);
  const Buffer part = make_sub_buffer(parent, 0, 512);
  EXPECT_CL(CL_INVALID_MEM_OBJECT, create(part, 0, 0, 64));
}

TEST_F(ClCreateSubBuffer, RejectsBadRegions) {
  const size_t unit = alignment();
  const Buffer parent = make_buffer(4 * unit);
  // "CL_INVALID_VALUE if the region specified by the cl_buffer_region structure [...] is out of
  // bounds in buffer"
  EXPECT_CL(CL_INVALID_VALUE, create(parent, 0, 0, 4 * unit + 1));
  EXPECT_CL(CL_INVALID_VALUE, create(parent, 0, unit, 4 * unit));
  EXPECT_CL(CL_INVALID_VALUE, create(parent, 0, 4 * unit, unit));
  // A sum that wraps is out of bounds as well.
  EXPECT_CL(CL_INVALID_VALUE, create(parent, 0, unit, ~size_t{0} - unit / 2));
  // "CL_INVALID_BUFFER_SIZE if the size field of the cl_buffer_region structure is 0."
  EXPECT_CL(CL_INVALID_BUFFER_SIZE, create(parent, 0, 0, 0));
  // "CL_INVALID_VALUE if value(s) specified in buffer_create_info [...] is not valid or if
  // buffer_create_info is NULL"; "[...] if the value of buffer_create_type is not valid"
  const cl_buffer_region region = {0, unit};
  EXPECT_CL(CL_INVALID_VALUE, create_raw(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, create_raw(parent, 0, 0x7777, &region));
}

TEST_F(ClCreateSubBuffer, RejectsMisalignedOrigin) {
  // "CL_MISALIGNED_SUB_BUFFER_OFFSET if there are no devices in context associated with buffer for
  // which the origin field [...] is aligned to the CL_DEVICE_MEM_BASE_ADDR_ALIGN value."
  const size_t unit = alignment();
  const Buffer parent = make_buffer(4 * unit);
  EXPECT_CL(CL_MISALIGNED_SUB_BUFFER_OFFSET, create(parent, 0, 1, unit));
  EXPECT_CL(CL_MISALIGNED_SUB_BUFFER_OFFSET, create(parent, 0, unit + 4, unit));
  EXPECT_CL(CL_MISALIGNED_SUB_BUFFER_OFFSET, create(parent, 0, unit / 2, unit));
}

TEST_F(ClCreateSubBuffer, RejectsFlagsAgainstTheParent) {
  struct Case {
    cl_mem_flags parent;
    cl_mem_flags part;
  };
  for (const Case& each : {
           // "CL_INVALID_VALUE if buffer was created with CL_MEM_WRITE_ONLY and flags specifies
           // CL_MEM_READ_WRITE or CL_MEM_READ_ONLY, or if buffer was created with CL_MEM_READ_ONLY
           // and flags specifies CL_MEM_READ_WRITE or CL_MEM_WRITE_ONLY, or if flags specifies
           // CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR or CL_MEM_COPY_HOST_PTR."
           Case{CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE},
           Case{CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY},
           Case{CL_MEM_READ_ONLY, CL_MEM_READ_WRITE},
           Case{CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY},
           Case{CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR},
           Case{CL_MEM_READ_WRITE, CL_MEM_ALLOC_HOST_PTR},
           Case{CL_MEM_READ_WRITE, CL_MEM_COPY_HOST_PTR},
           // "CL_INVALID_VALUE if buffer was created with CL_MEM_HOST_WRITE_ONLY and flags specify
           // CL_MEM_HOST_READ_ONLY, or if buffer was created with CL_MEM_HOST_READ_ONLY and flags
           // specify CL_MEM_HOST_WRITE_ONLY, or if buffer was created with CL_MEM_HOST_NO_ACCESS
           // and flags specify CL_MEM_HOST_READ_ONLY or CL_MEM_HOST_WRITE_ONLY."
           Case{CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY},
           Case{CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY},
           Case{CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY},
           Case{CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_WRITE_ONLY},
           // Mutually exclusive by themselves
           Case{CL_MEM_READ_WRITE, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY},
           Case{CL_MEM_READ_WRITE, CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS},
           Case{CL_MEM_READ_WRITE, cl_mem_flags{1} << 40},
       }) {
    SCOPED_TRACE(testing::Message() << "parent " << each.parent << ", part " << each.part);
    const Buffer parent = make_buffer(1024, each.parent);
    EXPECT_CL(CL_INVALID_VALUE, create(parent, each.part, 0, 512));
  }
}

TEST_F(ClCreateSubBuffer, FlagsAreInherited) {
  struct Case {
    cl_mem_flags parent;
    cl_mem_flags part;
    cl_mem_flags expected;
  };
  // "If the CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, or CL_MEM_WRITE_ONLY values are not specified in
  // flags, they are inherited from the corresponding memory access qualifiers associated with
  // buffer. The [host pointer] values cannot be specified in flags but are inherited [...]. If the
  // [host access] values are not specified in flags, they are inherited".
  for (const Case& each : {
           Case{CL_MEM_READ_ONLY, 0, CL_MEM_READ_ONLY},
           Case{CL_MEM_WRITE_ONLY, 0, CL_MEM_WRITE_ONLY},
           Case{CL_MEM_READ_WRITE, 0, CL_MEM_READ_WRITE},
           Case{CL_MEM_READ_WRITE, CL_MEM_READ_ONLY, CL_MEM_READ_ONLY},
           Case{CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY, CL_MEM_WRITE_ONLY},
           Case{CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, 0,
                CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR},
           Case{CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_ONLY,
                CL_MEM_READ_ONLY | CL_MEM_ALLOC_HOST_PTR},
           Case{CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY, 0,
                CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY},
           Case{CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_NO_ACCESS,
                CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS},
       }) {
    SCOPED_TRACE(testing::Message() << "parent " << each.parent << ", part " << each.part);
    const Buffer parent = make_buffer(1024, each.parent);
    const Buffer part = make_sub_buffer(parent, 0, 512, each.part);
    EXPECT_EQ(value_of<cl_mem_flags>(query_of(part, CL_MEM_FLAGS)), each.expected);
  }
}

TEST_F(ClCreateSubBuffer, Queries) {
  const size_t unit = alignment();
  std::vector<uint8_t> memory(8 * unit);
  const Buffer parent = make_buffer(memory.size(), CL_MEM_USE_HOST_PTR, memory.data());
  const Buffer part = make_sub_buffer(parent, 3 * unit, 2 * unit);
  EXPECT_EQ(value_of<cl_mem_object_type>(query_of(part, CL_MEM_TYPE)),
            cl_mem_object_type{CL_MEM_OBJECT_BUFFER});
  EXPECT_EQ(value_of<size_t>(query_of(part, CL_MEM_SIZE)), 2 * unit);
  EXPECT_EQ(value_of<size_t>(query_of(part, CL_MEM_OFFSET)), 3 * unit);
  EXPECT_EQ(value_of<cl_mem>(query_of(part, CL_MEM_ASSOCIATED_MEMOBJECT)), parent.get());
  EXPECT_EQ(value_of<cl_context>(query_of(part, CL_MEM_CONTEXT)), context_.get());
  // "CL_MEM_HOST_PTR: if memobj is created with clCreateSubBuffer, return the host_ptr + origin
  // value specified when memobj is created", where the parent uses one.
  EXPECT_EQ(value_of<void*>(query_of(part, CL_MEM_HOST_PTR)), memory.data() + 3 * unit);
  EXPECT_EQ(reference_count(part.get(), CL_MEM_REFERENCE_COUNT), 1u);
}

TEST_F(ClCreateSubBuffer, OutOfBoundsIsCheckedAgainstThePart) {
  const Buffer parent = make_buffer(1024);
  const Buffer part = make_sub_buffer(parent, 0, 256);
  std::vector<uint8_t> data(1024);
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueReadBuffer(queue_, part, CL_TRUE, 0, 257, data.data(), 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueWriteBuffer(queue_, part, CL_TRUE, 200, 57, data.data(), 0, nullptr, nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
