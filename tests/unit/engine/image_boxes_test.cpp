// SPDX-License-Identifier: Apache-2.0
// Ranges of an image's host copy as boxes, against a walk over its pixels.
#include "scheduler/memory/image_boxes.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tutti::scheduler {
namespace {

using backends::ImageShape;

ImageShape shape_of(cl_mem_object_type type, std::array<size_t, 3> extent, size_t pixel,
                    size_t row_gap = 0, size_t slice_gap = 0) {
  ImageShape shape;
  shape.type = type;
  shape.extent = extent;
  shape.pixel_size = pixel;
  shape.row_pitch = (extent[0] + row_gap) * pixel;
  if (type == CL_MEM_OBJECT_IMAGE1D_ARRAY) shape.slice_pitch = shape.row_pitch * (1 + slice_gap);
  if (type == CL_MEM_OBJECT_IMAGE3D || type == CL_MEM_OBJECT_IMAGE2D_ARRAY) {
    shape.slice_pitch = shape.row_pitch * (extent[1] + slice_gap);
  }
  return shape;
}

using Pixel = std::array<size_t, 3>;

uint64_t place_of(const ImageShape& shape, const Pixel& pixel) {
  return pixel[0] * shape.pixel_size + pixel[1] * shape.second_pitch() +
         pixel[2] * shape.slice_pitch;
}

/// A mark for each pixel of the image, in the order of x, y, z.
using Marks = std::vector<char>;

size_t index_of(const ImageShape& shape, const Pixel& pixel) {
  return (pixel[2] * shape.extent[1] + pixel[1]) * shape.extent[0] + pixel[0];
}

/// The places of all pixels, in that order.
std::vector<uint64_t> places_in(const ImageShape& shape) {
  std::vector<uint64_t> result;
  for (size_t z = 0; z < shape.extent[2]; ++z) {
    for (size_t y = 0; y < shape.extent[1]; ++y) {
      for (size_t x = 0; x < shape.extent[0]; ++x) result.push_back(place_of(shape, {x, y, z}));
    }
  }
  return result;
}

// Most of the test's time passes in these loops: nothing is called in them.
void mark_pixels_in(const std::vector<uint64_t>& places, uint64_t pixel_size, uint64_t begin,
                    uint64_t end, Marks* marks) {
  const uint64_t* const place = places.data();
  char* const mark = marks->data();
  for (size_t i = 0, count = places.size(); i < count; ++i) {
    if (place[i] < end && begin < place[i] + pixel_size) mark[i] = 1;
  }
}

/// The boxes' pixels; each box lies in the image and where its offset says, and no pixel is twice.
Marks pixels_of(const ImageShape& shape, const std::vector<PlacedBox>& boxes) {
  Marks result(shape.extent[0] * shape.extent[1] * shape.extent[2]);
  bool once = true;
  for (const auto& [box, offset] : boxes) {
    EXPECT_EQ(offset, place_of(shape, box.origin));
    bool inside = true;
    for (size_t d = 0; d < 3; ++d) inside &= box.origin[d] + box.extent[d] <= shape.extent[d];
    EXPECT_TRUE(inside);
    if (!inside) continue;
    for (size_t z = 0; z < box.extent[2]; ++z) {
      for (size_t y = 0; y < box.extent[1]; ++y) {
        const size_t row = index_of(shape, {box.origin[0], box.origin[1] + y, box.origin[2] + z});
        char* const mark = result.data() + row;
        for (size_t x = 0, width = box.extent[0]; x < width; ++x) {
          once = once && mark[x] == 0;
          mark[x] = 1;
        }
      }
    }
  }
  EXPECT_TRUE(once);
  return result;
}

const std::vector<ImageShape> kShapes = {
    shape_of(CL_MEM_OBJECT_IMAGE1D, {37, 1, 1}, 4),
    shape_of(CL_MEM_OBJECT_IMAGE1D_ARRAY, {7, 5, 1}, 8),
    shape_of(CL_MEM_OBJECT_IMAGE1D_ARRAY, {7, 5, 1}, 2, 1, 2),
    shape_of(CL_MEM_OBJECT_IMAGE2D, {9, 6, 1}, 16),
    shape_of(CL_MEM_OBJECT_IMAGE2D, {9, 6, 1}, 4, 3),
    shape_of(CL_MEM_OBJECT_IMAGE2D, {9, 1, 1}, 4),
    shape_of(CL_MEM_OBJECT_IMAGE2D_ARRAY, {4, 3, 5}, 4, 0, 1),
    shape_of(CL_MEM_OBJECT_IMAGE3D, {5, 4, 3}, 4),
    shape_of(CL_MEM_OBJECT_IMAGE3D, {5, 4, 3}, 8, 2, 1),
    shape_of(CL_MEM_OBJECT_IMAGE3D, {5, 1, 3}, 1),
    shape_of(CL_MEM_OBJECT_IMAGE3D, {5, 4, 1}, 4),
};

TEST(ImageBoxes, EveryRange) {
  for (const ImageShape& shape : kShapes) {
    const uint64_t size = shape.span();
    const auto places = places_in(shape);
    for (uint64_t begin = 0; begin < size; begin += begin % 3 + 1) {
      for (uint64_t end = begin + 1; end <= size; end += end % 5 + 1) {
        const auto boxes = boxes_of(shape, begin, end);
        EXPECT_LE(boxes.size(), 5u);
        Marks expected(places.size());
        mark_pixels_in(places, shape.pixel_size, begin, end, &expected);
        ASSERT_EQ(pixels_of(shape, boxes), expected)
            << "extent " << shape.extent[0] << " " << shape.extent[1] << " " << shape.extent[2]
            << " range " << begin << " " << end;
      }
    }
    EXPECT_EQ(boxes_of(shape, 0, size).size(), 1u);
  }
}

TEST(ImageBoxes, RangesAtEqualDistances) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 3000; ++trial) {
    const ImageShape& shape = kShapes[random() % kShapes.size()];
    const uint64_t pixel = shape.pixel_size, pixels = shape.span() / pixel;
    const uint64_t length = 1 + random() % 8;
    SegmentRows rows;
    rows.pitch = (length + random() % 12) * pixel;
    if (random() % 2 && shape.second_pitch() >= length * pixel) rows.pitch = shape.second_pitch();
    if (random() % 2 && shape.slice_pitch >= length * pixel) rows.pitch = shape.slice_pitch;
    rows.first.begin = random() % pixels * pixel;
    rows.first.end = std::min(rows.first.begin + length * pixel, shape.span());
    rows.count = 1 + (shape.span() - rows.first.end) / rows.pitch;
    const auto places = places_in(shape);
    Marks expected(places.size());
    for (uint64_t i = 0; i < rows.count; ++i) {
      mark_pixels_in(places, pixel, rows.first.begin + i * rows.pitch,
                     rows.first.end + i * rows.pitch, &expected);
    }
    ASSERT_EQ(pixels_of(shape, boxes_of(shape, rows)), expected) << trial;
  }
}

TEST(ImageBoxes, ColumnsAndRowsOfSlicesAreOneBox) {
  const ImageShape flat = shape_of(CL_MEM_OBJECT_IMAGE2D, {9, 6, 1}, 4);
  const auto columns = boxes_of(flat, SegmentRows{{8, 16, 0}, 36, 6});
  ASSERT_EQ(columns.size(), 1u);
  EXPECT_EQ(columns[0].box.extent, (std::array<size_t, 3>{2, 6, 1}));
  const ImageShape deep = shape_of(CL_MEM_OBJECT_IMAGE3D, {5, 4, 3}, 4);
  const auto rows = boxes_of(deep, SegmentRows{{20, 60, 0}, 80, 3});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].box.origin, (std::array<size_t, 3>{0, 1, 0}));
  EXPECT_EQ(rows[0].box.extent, (std::array<size_t, 3>{5, 2, 3}));
}

TEST(ImageBoxes, WholePixels) {
  const ImageShape shape = shape_of(CL_MEM_OBJECT_IMAGE2D, {9, 6, 1}, 4);
  EXPECT_EQ(whole_pixels(shape, {.range = {5, 9}}, 216).range, (ByteRange{4, 12}));
  const ByteStrips even{{8, 200}, 8, 36, 12};
  EXPECT_EQ(whole_pixels(shape, even, 216), even);
  EXPECT_FALSE(whole_pixels(shape, {{8, 200}, 8, 36, 10}, 216).strided());
}

TEST(ImageBoxes, SamplersReach) {
  using backends::SamplerState;
  const auto reach = [](const SamplerState& sampler) { return layout_of(sampler).reach; };
  EXPECT_EQ(reach({false, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST}), 0);
  EXPECT_EQ(reach({false, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_LINEAR}), 1);
  EXPECT_EQ(reach({true, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST}), kAnyReach);
  EXPECT_EQ(reach({false, CL_ADDRESS_REPEAT, CL_FILTER_LINEAR}), kAnyReach);
}

}  // namespace
}  // namespace tutti::scheduler
