// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClEnqueueFillBuffer : public QueueTest {
 protected:
  cl_int fill(cl_mem buffer, const void* pattern, size_t pattern_size, size_t offset, size_t size,
              cl_event* event = nullptr) {
    return clEnqueueFillBuffer(queue_, buffer, pattern, pattern_size, offset, size, 0, nullptr,
                               event);
  }
};

TEST_F(ClEnqueueFillBuffer, EveryPatternSize) {
  for (const size_t pattern_size : {1, 2, 4, 8, 16, 32, 64, 128}) {
    const size_t total = 33 * pattern_size;
    const std::vector<uint8_t> pattern = noise(pattern_size, 9);
    struct Case {
      size_t offset, count;
    };
    for (const Case& c : {Case{0, 33}, Case{0, 1}, Case{32, 1}, Case{1, 31}, Case{7, 13}}) {
      SCOPED_TRACE(testing::Message()
                   << "pattern " << pattern_size << ", offset " << c.offset << ", " << c.count);
      std::vector<uint8_t> expected = noise(total, 10);
      const Buffer buffer = make_buffer_of(expected);
      ASSERT_SUCCESS(fill(buffer, pattern.data(), pattern_size, c.offset * pattern_size,
                          c.count * pattern_size));
      for (size_t i = 0; i < c.count * pattern_size; ++i) {
        expected[c.offset * pattern_size + i] = pattern[i % pattern_size];
      }
      ASSERT_TRUE(same_elements(expected, read_all<uint8_t>(buffer, total)));
    }
  }
}

TEST_F(ClEnqueueFillBuffer, PatternMayBeReusedAtOnce) {
  // "The memory associated with pattern can be reused or freed after the function returns."
  const Buffer buffer = make_buffer(4096);
  cl_uint pattern = 0x01020304;
  Event event;
  ASSERT_SUCCESS(fill(buffer, &pattern, 4, 0, 4096, event.out()));
  pattern = 0;
  EXPECT_TRUE(
      same_elements(std::vector<cl_uint>(1024, 0x01020304), read_all<cl_uint>(buffer, 1024)));
  EXPECT_EQ(value_of<cl_command_type>(query_of(event, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_FILL_BUFFER});
}

TEST_F(ClEnqueueFillBuffer, SubBuffer) {
  const size_t unit = alignment();
  std::vector<uint8_t> expected = noise(4 * unit, 11);
  const Buffer parent = make_buffer_of(expected);
  const Buffer part = make_sub_buffer(parent, unit, 2 * unit);
  const uint8_t seven = 7;
  ASSERT_SUCCESS(fill(part, &seven, 1, 3, 2 * unit - 5));
  std::fill_n(expected.begin() + static_cast<ptrdiff_t>(unit + 3), 2 * unit - 5, seven);
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(parent, expected.size())));
}

TEST_F(ClEnqueueFillBuffer, RejectsBadArguments) {
  const Buffer buffer = make_buffer(256);
  const std::vector<uint8_t> pattern(256);
  // "CL_INVALID_VALUE if pattern is NULL or if pattern_size is 0 or if pattern_size is not one of
  // { 1, 2, 4, 8, 16, 32, 64, 128 }."
  EXPECT_CL(CL_INVALID_VALUE, fill(buffer, nullptr, 4, 0, 64));
  EXPECT_CL(CL_INVALID_VALUE, fill(buffer, pattern.data(), 0, 0, 64));
  EXPECT_CL(CL_INVALID_VALUE, fill(buffer, pattern.data(), 3, 0, 63));
  EXPECT_CL(CL_INVALID_VALUE, fill(buffer, pattern.data(), 256, 0, 256));
  // "CL_INVALID_VALUE if offset and size are not a multiple of pattern_size."
  EXPECT_CL(CL_INVALID_VALUE, fill(buffer, pattern.data(), 4, 2, 64));
  EXPECT_CL(CL_INVALID_VALUE, fill(buffer, pattern.data(), 4, 0, 62));
  // "CL_INVALID_VALUE if offset or offset + size require accessing elements outside the buffer"
  EXPECT_CL(CL_INVALID_VALUE, fill(buffer, pattern.data(), 4, 0, 260));
  EXPECT_CL(CL_INVALID_VALUE, fill(buffer, pattern.data(), 4, 256, 4));
  EXPECT_CL(CL_INVALID_VALUE, fill(buffer, pattern.data(), 4, 8, ~size_t{0} - 3));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, fill(nullptr, pattern.data(), 4, 0, 64));
}

}  // namespace
}  // namespace tutti::api_tests
