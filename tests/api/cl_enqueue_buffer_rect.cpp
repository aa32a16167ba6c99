// SPDX-License-Identifier: Apache-2.0
//
// clEnqueueReadBufferRect, clEnqueueWriteBufferRect and clEnqueueCopyBufferRect.
#include <functional>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using Triple = std::array<size_t, 3>;

struct Rect {
  Triple origin;
  size_t row_pitch;    // 0: region[0]
  size_t slice_pitch;  // 0: region[1] * row pitch
};

struct RectCase {
  Triple region;
  Rect first;
  Rect second;
};

void PrintTo(const RectCase& c, std::ostream* stream) {
  *stream << "region " << testing::PrintToString(c.region);
  for (const Rect* rect : {&c.first, &c.second}) {
    *stream << ", origin " << testing::PrintToString(rect->origin) << " pitches " << rect->row_pitch
            << " " << rect->slice_pitch;
  }
}

const RectCase kCases[] = {
    {{1, 1, 1}, {{0, 0, 0}, 0, 0}, {{0, 0, 0}, 0, 0}},
    {{1, 1, 1}, {{5, 3, 2}, 17, 17 * 9}, {{1, 2, 3}, 11, 11 * 7}},
    {{64, 1, 1}, {{3, 0, 0}, 0, 0}, {{0, 0, 0}, 0, 0}},
    {{7, 5, 1}, {{0, 0, 0}, 0, 0}, {{0, 0, 0}, 7, 0}},
    {{7, 5, 1}, {{2, 1, 0}, 13, 0}, {{0, 0, 0}, 0, 0}},
    {{7, 5, 3}, {{2, 1, 1}, 13, 13 * 8}, {{4, 3, 2}, 29, 29 * 9}},
    {{13, 4, 3}, {{0, 0, 0}, 13, 13 * 4}, {{0, 0, 0}, 13, 13 * 6}},
    {{16, 8, 4}, {{16, 8, 4}, 64, 64 * 16}, {{0, 0, 0}, 0, 0}},
    {{31, 17, 5}, {{1, 0, 0}, 32, 32 * 19}, {{3, 5, 1}, 100, 100 * 23}},
    {{100, 30, 2}, {{11, 7, 1}, 131, 131 * 41}, {{0, 0, 0}, 100, 0}},
    {{4, 100, 1}, {{0, 0, 0}, 256, 0}, {{252, 0, 0}, 256, 0}},
    {{1, 1, 50}, {{0, 0, 0}, 1, 7}, {{0, 0, 0}, 3, 9}},
    {{255, 3, 3}, {{0, 1, 0}, 257, 257 * 5}, {{1, 0, 2}, 256, 256 * 3}},
};

size_t row_pitch(const Rect& rect, const Triple& region) {
  return rect.row_pitch != 0 ? rect.row_pitch : region[0];
}
size_t slice_pitch(const Rect& rect, const Triple& region) {
  return rect.slice_pitch != 0 ? rect.slice_pitch : region[1] * row_pitch(rect, region);
}
// The specification's formula: origin[2] * slice_pitch + origin[1] * row_pitch + origin[0].
size_t position(const Rect& rect, const Triple& region, size_t x, size_t y, size_t z) {
  return (rect.origin[2] + z) * slice_pitch(rect, region) +
         (rect.origin[1] + y) * row_pitch(rect, region) + rect.origin[0] + x;
}
size_t needed_size(const Rect& rect, const Triple& region) {
  return position(rect, region, region[0] - 1, region[1] - 1, region[2] - 1) + 1;
}
void copy_on_host(const RectCase& c, const std::vector<uint8_t>& from, std::vector<uint8_t>* to) {
  for (size_t z = 0; z < c.region[2]; ++z) {
    for (size_t y = 0; y < c.region[1]; ++y) {
      for (size_t x = 0; x < c.region[0]; ++x) {
        (*to)[position(c.second, c.region, x, y, z)] = from[position(c.first, c.region, x, y, z)];
      }
    }
  }
}

class BufferRectEach : public QueueTest, public testing::WithParamInterface<RectCase> {
 protected:
  static constexpr size_t kTail = 9;  // bytes after the last one touched
  const RectCase& c_ = GetParam();
  std::vector<uint8_t> from_ = noise(needed_size(c_.first, c_.region) + kTail, 1);
  std::vector<uint8_t> to_ = noise(needed_size(c_.second, c_.region) + kTail, 2);
};

INSTANTIATE_TEST_SUITE_P(Shapes, BufferRectEach, testing::ValuesIn(kCases));

TEST_P(BufferRectEach, Read) {
  const Buffer buffer = make_buffer_of(from_);
  std::vector<uint8_t> expected = to_;
  copy_on_host(c_, from_, &expected);
  for (const cl_bool blocking : {CL_TRUE, CL_FALSE}) {
    std::vector<uint8_t> host = to_;
    ASSERT_SUCCESS(clEnqueueReadBufferRect(
        queue_, buffer, blocking, c_.first.origin.data(), c_.second.origin.data(), c_.region.data(),
        c_.first.row_pitch, c_.first.slice_pitch, c_.second.row_pitch, c_.second.slice_pitch,
        host.data(), 0, nullptr, nullptr));
    ASSERT_SUCCESS(clFinish(queue_));
    EXPECT_TRUE(same_elements(expected, host));
  }
}

TEST_P(BufferRectEach, Write) {
  std::vector<uint8_t> expected = to_;
  copy_on_host(c_, from_, &expected);
  for (const cl_bool blocking : {CL_TRUE, CL_FALSE}) {
    const Buffer buffer = make_buffer_of(to_);
    ASSERT_SUCCESS(clEnqueueWriteBufferRect(
        queue_, buffer, blocking, c_.second.origin.data(), c_.first.origin.data(), c_.region.data(),
        c_.second.row_pitch, c_.second.slice_pitch, c_.first.row_pitch, c_.first.slice_pitch,
        from_.data(), 0, nullptr, nullptr));
    EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(buffer, to_.size())));
  }
}

TEST_P(BufferRectEach, Copy) {
  const Buffer source = make_buffer_of(from_);
  const Buffer target = make_buffer_of(to_);
  std::vector<uint8_t> expected = to_;
  copy_on_host(c_, from_, &expected);
  Event event;
  ASSERT_SUCCESS(clEnqueueCopyBufferRect(
      queue_, source, target, c_.first.origin.data(), c_.second.origin.data(), c_.region.data(),
      c_.first.row_pitch, c_.first.slice_pitch, c_.second.row_pitch, c_.second.slice_pitch, 0,
      nullptr, event.out()));
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(target, to_.size())));
  EXPECT_TRUE(same_elements(from_, read_all<uint8_t>(source, from_.size())));
  EXPECT_EQ(value_of<cl_command_type>(query_of(event, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_COPY_BUFFER_RECT});
}

class BufferRect : public QueueTest {
 protected:
  // One call of each of the three functions, with the same geometry for both sides.
  struct Geometry {
    Triple origin = {0, 0, 0};
    Triple region = {4, 4, 1};
    size_t row_pitch = 0;
    size_t slice_pitch = 0;
  };
  void expect_all(cl_int expected, const Geometry& g) {
    const size_t zero[3] = {0, 0, 0};
    EXPECT_CL(expected, clEnqueueReadBufferRect(queue_, buffer_, CL_TRUE, g.origin.data(), zero,
                                                g.region.data(), g.row_pitch, g.slice_pitch, 0, 0,
                                                host_.data(), 0, nullptr, nullptr));
    EXPECT_CL(expected, clEnqueueWriteBufferRect(queue_, buffer_, CL_TRUE, g.origin.data(), zero,
                                                 g.region.data(), g.row_pitch, g.slice_pitch, 0, 0,
                                                 host_.data(), 0, nullptr, nullptr));
    EXPECT_CL(expected, clEnqueueCopyBufferRect(queue_, buffer_, large_, g.origin.data(), zero,
                                                g.region.data(), g.row_pitch, g.slice_pitch, 0, 0,
                                                0, nullptr, nullptr));
    EXPECT_CL(expected, clEnqueueCopyBufferRect(queue_, large_, buffer_, zero, g.origin.data(),
                                                g.region.data(), 0, 0, g.row_pitch, g.slice_pitch,
                                                0, nullptr, nullptr));
  }
  void SetUp() override {
    QueueTest::SetUp();
    buffer_ = make_buffer_of(std::vector<uint8_t>(16 * 16));
    large_ = make_buffer_of(std::vector<uint8_t>(1 << 16));
  }

  Buffer buffer_;
  Buffer large_;
  std::vector<uint8_t> host_ = std::vector<uint8_t>(1 << 16);
};

TEST_F(BufferRect, RejectsBadGeometry) {
  {
    SCOPED_TRACE("the geometry that the others vary is right");
    expect_all(CL_SUCCESS, {.row_pitch = 16});
  }
  // "CL_INVALID_VALUE if the region being read or written specified by (buffer_origin, region,
  // buffer_row_pitch, buffer_slice_pitch) is out of bounds."
  expect_all(CL_INVALID_VALUE, {.origin = {13, 15, 0}, .region = {4, 1, 1}, .row_pitch = 16});
  expect_all(CL_INVALID_VALUE, {.region = {4, 17, 1}, .row_pitch = 16});
  expect_all(CL_INVALID_VALUE, {.region = {16, 16, 2}, .row_pitch = 16});
  expect_all(CL_INVALID_VALUE, {.origin = {0, 0, 1}, .region = {16, 16, 1}, .row_pitch = 16});
  // "CL_INVALID_VALUE if any region array element is 0."
  expect_all(CL_INVALID_VALUE, {.region = {0, 4, 1}});
  expect_all(CL_INVALID_VALUE, {.region = {4, 0, 1}});
  expect_all(CL_INVALID_VALUE, {.region = {4, 4, 0}});
  // "CL_INVALID_VALUE if buffer_row_pitch is not 0 and is less than region[0]."
  expect_all(CL_INVALID_VALUE, {.row_pitch = 3});
  // "CL_INVALID_VALUE if buffer_slice_pitch is not 0 and is less than region[1] x buffer_row_pitch
  // and not a multiple of buffer_row_pitch."
  expect_all(CL_INVALID_VALUE, {.region = {4, 4, 2}, .row_pitch = 8, .slice_pitch = 30});
}

TEST_F(BufferRect, RejectsBadHostPitches) {
  const size_t zero[3] = {0, 0, 0};
  const size_t region[3] = {4, 4, 2};
  // The same rules for host_row_pitch and host_slice_pitch
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueReadBufferRect(queue_, buffer_, CL_TRUE, zero, zero, region, 0, 0, 3, 0,
                                    host_.data(), 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueWriteBufferRect(queue_, buffer_, CL_TRUE, zero, zero, region, 0, 0, 8, 30,
                                     host_.data(), 0, nullptr, nullptr));
}

TEST_F(BufferRect, RejectsNullPointers) {
  const size_t zero[3] = {0, 0, 0};
  const size_t region[3] = {4, 4, 1};
  // "CL_INVALID_VALUE if ptr is NULL"; "if buffer_origin, host_origin, or region is NULL" (2.1+)
  EXPECT_CL(CL_INVALID_VALUE, clEnqueueReadBufferRect(queue_, buffer_, CL_TRUE, zero, zero, region,
                                                      0, 0, 0, 0, nullptr, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, clEnqueueWriteBufferRect(queue_, buffer_, CL_TRUE, zero, zero, region,
                                                       0, 0, 0, 0, nullptr, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueReadBufferRect(queue_, buffer_, CL_TRUE, nullptr, zero, region, 0, 0, 0, 0,
                                    host_.data(), 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueReadBufferRect(queue_, buffer_, CL_TRUE, zero, zero, nullptr, 0, 0, 0, 0,
                                    host_.data(), 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, clEnqueueCopyBufferRect(queue_, buffer_, large_, zero, nullptr,
                                                      region, 0, 0, 0, 0, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            clEnqueueCopyBufferRect(queue_, nullptr, large_, zero, zero, region, 0, 0, 0, 0, 0,
                                    nullptr, nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            clEnqueueCopyBufferRect(queue_, buffer_, nullptr, zero, zero, region, 0, 0, 0, 0, 0,
                                    nullptr, nullptr));
}

TEST_F(BufferRect, CopyInsideOneBuffer) {
  std::vector<uint8_t> expected = noise(64 * 64, 7);
  const Buffer buffer = make_buffer_of(expected);
  const Triple from = {1, 2, 0};
  const Triple to = {33, 20, 0};
  const Triple region = {31, 40, 1};
  ASSERT_SUCCESS(clEnqueueCopyBufferRect(queue_, buffer, buffer, from.data(), to.data(),
                                         region.data(), 64, 0, 64, 0, 0, nullptr, nullptr));
  const std::vector<uint8_t> before = expected;
  copy_on_host({region, {from, 64, 0}, {to, 64, 0}}, before, &expected);
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(buffer, expected.size())));
}

TEST_F(BufferRect, CopyOverlap) {
  // "CL_MEM_COPY_OVERLAP if src_buffer and dst_buffer are the same buffer or sub-buffer object and
  // the source and destination regions overlap"
  const Buffer buffer = make_buffer(64 * 64);
  const Triple region = {16, 16, 1};
  const Triple from = {8, 8, 0};
  auto copy_to = [&](Triple to) {
    return clEnqueueCopyBufferRect(queue_, buffer, buffer, from.data(), to.data(), region.data(),
                                   64, 0, 64, 0, 0, nullptr, nullptr);
  };
  EXPECT_CL(CL_MEM_COPY_OVERLAP, copy_to({8, 8, 0}));
  EXPECT_CL(CL_MEM_COPY_OVERLAP, copy_to({23, 23, 0}));
  EXPECT_CL(CL_MEM_COPY_OVERLAP, copy_to({0, 0, 0}));
  EXPECT_SUCCESS(copy_to({24, 8, 0}));
  EXPECT_SUCCESS(copy_to({8, 24, 0}));
  EXPECT_SUCCESS(copy_to({24, 24, 0}));
}

TEST_F(BufferRect, CopyWithDifferentPitchesInOneBuffer) {
  // "CL_INVALID_VALUE if src_buffer and dst_buffer are the same buffer object and src_slice_pitch
  // is not equal to dst_slice_pitch and src_row_pitch is not equal to dst_row_pitch."
  const Buffer buffer = make_buffer(64 * 64);
  const size_t from[3] = {0, 0, 0};
  const size_t to[3] = {0, 32, 0};
  const size_t region[3] = {8, 4, 2};
  EXPECT_CL(CL_INVALID_VALUE, clEnqueueCopyBufferRect(queue_, buffer, buffer, from, to, region, 16,
                                                      128, 32, 256, 0, nullptr, nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
