// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClEnqueueCopyBuffer : public QueueTest {
 protected:
  cl_int copy(cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size,
              cl_event* event = nullptr) {
    return clEnqueueCopyBuffer(queue_, from, to, from_offset, to_offset, size, 0, nullptr, event);
  }
};

TEST_F(ClEnqueueCopyBuffer, CopiesExactlyTheRange) {
  constexpr size_t kSize = 20011;
  const std::vector<uint8_t> data = noise(kSize, 1);
  const Buffer from = make_buffer_of(data);
  struct Case {
    size_t from_offset, to_offset, size;
  };
  for (const Case& c : {Case{0, 0, kSize}, Case{0, 0, 1}, Case{1, 0, 1}, Case{0, kSize - 1, 1},
                        Case{3, 5, 7}, Case{5, 3, 4099}, Case{4096, 1, 4096}, Case{17, 9000, 11000},
                        Case{kSize - 1, 0, 1}, Case{128, 256, 512}, Case{1, 0, kSize - 1}}) {
    SCOPED_TRACE(testing::Message() << c.from_offset << " -> " << c.to_offset << ", " << c.size);
    std::vector<uint8_t> expected = noise(kSize, 2);
    const Buffer to = make_buffer_of(expected);
    ASSERT_SUCCESS(copy(from, to, c.from_offset, c.to_offset, c.size));
    std::copy_n(data.begin() + static_cast<ptrdiff_t>(c.from_offset), c.size,
                expected.begin() + static_cast<ptrdiff_t>(c.to_offset));
    ASSERT_TRUE(same_elements(expected, read_all<uint8_t>(to, kSize)));
    ASSERT_TRUE(same_elements(data, read_all<uint8_t>(from, kSize)));
  }
}

TEST_F(ClEnqueueCopyBuffer, InsideOneBuffer) {
  std::vector<uint8_t> expected = noise(1000, 3);
  const Buffer buffer = make_buffer_of(expected);
  Event event;
  ASSERT_SUCCESS(copy(buffer, buffer, 100, 600, 400, event.out()));
  ASSERT_SUCCESS(copy(buffer, buffer, 600, 100, 333));
  std::copy_n(expected.begin() + 100, 400, expected.begin() + 600);
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(buffer, 1000)));
  EXPECT_EQ(value_of<cl_command_type>(query_of(event, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_COPY_BUFFER});
}

TEST_F(ClEnqueueCopyBuffer, BetweenPartsOfOneParent) {
  const size_t unit = alignment();
  std::vector<uint8_t> expected = noise(8 * unit, 4);
  const Buffer parent = make_buffer_of(expected);
  const Buffer low = make_sub_buffer(parent, 0, 4 * unit);
  const Buffer high = make_sub_buffer(parent, 4 * unit, 4 * unit);
  ASSERT_SUCCESS(copy(low, high, 3, 5, 3 * unit));
  std::copy_n(expected.begin() + 3, 3 * unit,
              expected.begin() + static_cast<ptrdiff_t>(4 * unit + 5));
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(parent, 8 * unit)));
}

TEST_F(ClEnqueueCopyBuffer, Chain) {
  const std::vector<uint8_t> data = noise(3001, 5);
  std::vector<Buffer> buffers;
  buffers.push_back(make_buffer_of(data));
  for (int i = 0; i < 20; ++i) {
    buffers.push_back(make_buffer(data.size()));
    ASSERT_SUCCESS(
        copy(buffers[buffers.size() - 2], buffers[buffers.size() - 1], 0, 0, data.size()));
  }
  EXPECT_TRUE(same_elements(data, read_all<uint8_t>(buffers.back(), data.size())));
}

TEST_F(ClEnqueueCopyBuffer, RejectsOverlap) {
  // "CL_MEM_COPY_OVERLAP if src_buffer and dst_buffer are the same buffer or sub-buffer object and
  // the source and destination regions overlap or if src_buffer and dst_buffer are different
  // sub-buffers of the same associated buffer object and they overlap."
  const size_t unit = alignment();
  const Buffer buffer = make_buffer(8 * unit);
  EXPECT_CL(CL_MEM_COPY_OVERLAP, copy(buffer, buffer, 0, 0, 10));
  EXPECT_CL(CL_MEM_COPY_OVERLAP, copy(buffer, buffer, 0, 9, 10));
  EXPECT_CL(CL_MEM_COPY_OVERLAP, copy(buffer, buffer, 9, 0, 10));
  EXPECT_SUCCESS(copy(buffer, buffer, 0, 10, 10));
  EXPECT_SUCCESS(copy(buffer, buffer, 10, 0, 10));
  const Buffer low = make_sub_buffer(buffer, 0, 4 * unit);
  const Buffer middle = make_sub_buffer(buffer, 2 * unit, 4 * unit);
  EXPECT_CL(CL_MEM_COPY_OVERLAP, copy(low, low, 0, 1, 2));
  EXPECT_CL(CL_MEM_COPY_OVERLAP, copy(low, middle, 2 * unit, 0, unit));
}

TEST_F(ClEnqueueCopyBuffer, RejectsBadArguments) {
  const Buffer from = make_buffer(64);
  const Buffer to = make_buffer(128);
  // "CL_INVALID_VALUE if src_offset, dst_offset, size, src_offset + size or dst_offset + size
  // require accessing elements outside the src_buffer and dst_buffer"
  EXPECT_CL(CL_INVALID_VALUE, copy(from, to, 0, 0, 65));
  EXPECT_CL(CL_INVALID_VALUE, copy(from, to, 1, 0, 64));
  EXPECT_CL(CL_INVALID_VALUE, copy(from, to, 0, 65, 64));
  EXPECT_CL(CL_INVALID_VALUE, copy(to, from, 64, 0, 65));
  EXPECT_CL(CL_INVALID_VALUE, copy(from, to, 2, 0, ~size_t{0}));
  // "CL_INVALID_MEM_OBJECT if src_buffer and dst_buffer are not valid buffer objects."
  EXPECT_CL(CL_INVALID_MEM_OBJECT, copy(nullptr, to, 0, 0, 64));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, copy(from, nullptr, 0, 0, 64));
  // "CL_INVALID_CONTEXT if the context associated with command_queue, src_buffer and dst_buffer are
  // not the same"
  const Context other = make_context();
  cl_int code = CL_SUCCESS;
  const Buffer foreign(clCreateBuffer(other, 0, 64, nullptr, &code));
  ASSERT_SUCCESS(code);
  EXPECT_CL(CL_INVALID_CONTEXT, copy(from, foreign, 0, 0, 64));
  EXPECT_CL(CL_INVALID_CONTEXT, copy(foreign, to, 0, 0, 64));
}

}  // namespace
}  // namespace tutti::api_tests
