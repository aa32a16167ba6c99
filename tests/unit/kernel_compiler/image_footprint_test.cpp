// SPDX-License-Identifier: Apache-2.0
// Images from source to bytes: which part of an image's host copy the packages of a launch read and
// write, by the analysis and the scheduler's evaluation together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "scheduler/access/access_eval.h"
#include "scheduler/access/image_layout.h"
#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

using namespace scheduler;
using ::testing::HasSubstr;

constexpr uint64_t kPixel = 4;

struct Extent {
  uint32_t width = 1, height = 1, depth = 1;
};

ImageLayout packed(const Extent& extent) {
  const uint64_t row = kPixel * extent.width;
  return {row, row * extent.height, kPixel, {extent.width, extent.height, extent.depth}};
}

class ImageFootprint : public ::testing::Test {
 protected:
  void compile(const std::string& source) {
    CompileRequest request = request_for(source);
    request.extensions.push_back("cl_khr_3d_image_writes");
    output_ = compiled(request);
    const auto& summary = kernel_of(output_);
    data_.assign(summary.arguments.size(), {});
    values_.assign(summary.arguments.size(), {});
  }
  uint32_t index(const std::string& name) const {
    const auto& arguments = kernel_of(output_).arguments;
    for (uint32_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].name == name) return i;
    }
    ADD_FAILURE() << name;
    return 0;
  }
  template <typename T>
  void give(uint32_t argument, const T& value) {
    data_[argument].resize(sizeof(value));
    std::memcpy(data_[argument].data(), &value, sizeof(value));
    values_[argument].scalar = data_[argument];
  }
  void image(const std::string& name, const Extent& extent, uint64_t root = 0) {
    const uint32_t argument = index(name);
    give(argument, packed(extent));
    values_[argument].buffer = root != 0 ? root : argument + 1;
    values_[argument].size = kPixel * extent.width * extent.height * extent.depth;
    values_[argument].unit = kPixel;
  }
  void buffer(const std::string& name, uint64_t size) {
    values_[index(name)].buffer = index(name) + 1;
    values_[index(name)].size = size;
  }
  void sampler(const std::string& name, int32_t reach) { give(index(name), SamplerLayout{reach}); }
  void scalar(const std::string& name, int32_t value) { give(index(name), value); }
  LaunchAccess launch(std::array<uint64_t, 3> global, std::array<uint64_t, 3> local) {
    LaunchShape shape;
    shape.dims = 3;
    shape.global = global;
    shape.local = local;
    return LaunchAccess::evaluate(kernel_of(output_), shape, values_);
  }
  ArgumentUse use(const LaunchAccess& access, const std::string& name, uint32_t dimension,
                  uint64_t first, uint64_t count) {
    for (const ArgumentUse& one : access.package(dimension, first, count)) {
      if (one.argument == index(name)) return one;
    }
    return {};
  }

  CompileOutput output_;
  std::vector<std::vector<std::byte>> data_;
  std::vector<ArgumentValue> values_;
};

std::string writes(const std::string& type, const std::string& coordinates) {
  return "kernel void k(write_only " + type +
         " out) {\n"
         "  const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
         "  write_imagef(out, " +
         coordinates + ", (float4)(x + y + z));\n}";
}

TEST_F(ImageFootprint, LineBySlices) {
  for (const char* type : {"image1d_t", "image1d_buffer_t"}) {
    compile(writes(type, "x"));
    image("out", {1024});
    const auto access = launch({1024, 1, 1}, {64, 1, 1});
    EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint) << access.verdict().reason;
    const ArgumentUse written = use(access, "out", 0, 3, 2);
    EXPECT_EQ(written.write.range, (ByteRange{3 * 64 * kPixel, 5 * 64 * kPixel}));
    EXPECT_TRUE(written.overwrites);
  }
}

TEST_F(ImageFootprint, LayersOfLines) {
  compile(writes("image1d_array_t", "(int2)(x, y)"));
  image("out", {128, 50});
  const auto access = launch({128, 50, 1}, {32, 1, 1});
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(access.verdict().dimension, 1u);
  const ArgumentUse written = use(access, "out", 1, 10, 5);
  EXPECT_EQ(written.write.range, (ByteRange{10 * 128 * kPixel, 15 * 128 * kPixel}));
  EXPECT_TRUE(written.overwrites);
}

TEST_F(ImageFootprint, SlicesOrRowsOfSlices) {
  for (const char* type : {"image3d_t", "image2d_array_t"}) {
    compile(writes(type, "(int4)(x, y, z, 0)"));
    image("out", {32, 64, 40});
    auto access = launch({32, 64, 40}, {8, 8, 1});
    EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
    EXPECT_EQ(access.verdict().dimension, 2u);
    const uint64_t slice = 32 * 64 * kPixel;
    ArgumentUse written = use(access, "out", 2, 4, 2);
    EXPECT_EQ(written.write.range, (ByteRange{4 * slice, 6 * slice}));
    EXPECT_TRUE(written.overwrites);

    // Too few slices: rows of all of them.
    image("out", {32, 64, 2});
    access = launch({32, 64, 2}, {8, 1, 1});
    EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint) << access.verdict().reason;
    EXPECT_EQ(access.verdict().dimension, 1u);
    written = use(access, "out", 1, 10, 6);
    EXPECT_EQ(written.write.period, 32 * 64 * kPixel);
    EXPECT_EQ(written.write.length, 6 * 32 * kPixel);
    EXPECT_EQ(written.write.phase, static_cast<int64_t>(10 * 32 * kPixel));
  }
}

TEST_F(ImageFootprint, WorkItemsOutsideTheImageWriteNothing) {
  compile(writes("image3d_t", "(int4)(x, y, z, 0)"));
  image("out", {30, 61, 37});
  const auto access = launch({32, 64, 40}, {8, 8, 1});
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint) << access.verdict().reason;
  EXPECT_EQ(access.verdict().dimension, 2u);
  EXPECT_TRUE(use(access, "out", 2, 38, 2).write.empty());
  EXPECT_TRUE(use(access, "out", 2, 0, 5).overwrites);
}

TEST_F(ImageFootprint, ALineOfWorkItemsOverRows) {
  compile(
      "kernel void k(write_only image2d_t out) {\n"
      "  const int i = get_global_id(0), w = get_image_width(out);\n"
      "  write_imagef(out, (int2)(i % w, i / w), (float4)(i));\n}");
  image("out", {100, 64});
  const auto access = launch({6400, 1, 1}, {64, 1, 1});
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint) << access.verdict().reason;
  // Packages begin within rows.
  EXPECT_EQ(use(access, "out", 0, 1, 3).write.range, (ByteRange{64 * kPixel, 256 * kPixel}));
}

TEST_F(ImageFootprint, ColumnsNotKnownAreRows) {
  compile(
      "kernel void k(write_only image2d_t out, global const int* at) {\n"
      "  const int x = get_global_id(0), y = get_global_id(1);\n"
      "  write_imagef(out, (int2)(at[x], y), (float4)(x));\n}");
  image("out", {64, 64});
  buffer("at", 256);
  const auto access = launch({64, 64, 1}, {16, 1, 1});
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_EQ(access.verdict().dimension, 1u);
  const ArgumentUse written = use(access, "out", 1, 8, 8);
  EXPECT_EQ(written.write.range, (ByteRange{8 * 64 * kPixel, 16 * 64 * kPixel}));
  EXPECT_FALSE(written.overwrites);
}

TEST_F(ImageFootprint, RowsNotKnownKeepAKernelWhole) {
  compile(
      "kernel void k(write_only image2d_t out, global const int* at) {\n"
      "  const int x = get_global_id(0), y = get_global_id(1);\n"
      "  write_imagef(out, (int2)(x, at[y]), (float4)(x));\n}");
  image("out", {64, 64});
  buffer("at", 256);
  EXPECT_EQ(launch({64, 64, 1}, {16, 1, 1}).verdict().mode, MergeMode::kWhole);
}

TEST_F(ImageFootprint, RowsThatMeetKeepAKernelWhole) {
  compile(
      "kernel void k(write_only image2d_t out) {\n"
      "  const int x = get_global_id(0), y = get_global_id(1);\n"
      "  write_imagef(out, (int2)(x, y / 2), (float4)(y & 1));\n}");
  image("out", {64, 64});
  const auto access = launch({64, 64, 1}, {16, 1, 1});
  // Two rows of work-items write one row: columns are apart, rows are not.
  EXPECT_NE(access.verdict().dimension, 1u);
}

TEST_F(ImageFootprint, SkippedPixelsAreNotOverwritten) {
  compile(
      "kernel void k(write_only image2d_t out, global const int* p) {\n"
      "  const int x = get_global_id(0), y = get_global_id(1);\n"
      "  if (p[y * 64 + x]) write_imagef(out, (int2)(x, y), (float4)(1));\n}");
  image("out", {64, 64});
  buffer("p", 64 * 64 * 4);
  const auto access = launch({64, 64, 1}, {16, 1, 1});
  EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint);
  EXPECT_FALSE(use(access, "out", 1, 0, 64).overwrites);
}

std::string filter(const std::string& sampler, const std::string& parameter,
                   const std::string& at) {
  return sampler + "kernel void k(read_only image2d_t in, " + parameter +
         "write_only image2d_t out) {\n"
         "  const int x = get_global_id(0), y = get_global_id(1);\n"
         "  if (x >= get_image_width(out) || y >= get_image_height(out)) return;\n"
         "  float4 sum = 0;\n"
         "  for (int dy = -2; dy <= 2; ++dy)\n"
         "    for (int dx = -2; dx <= 2; ++dx) sum += read_imagef(in, " +
         at + ");\n  write_imagef(out, (int2)(x, y), sum);\n}";
}
std::string constant_sampler(const std::string& modes) {
  return "constant sampler_t s = " + modes + ";\n";
}

/// What a 5x5 filter over 60x90 pixels reads for rows 16 to 23.
class ImageFilter : public ImageFootprint {
 protected:
  ByteRange rows_read(std::optional<int32_t> reach = std::nullopt) {
    image("in", {60, 90});
    image("out", {60, 90});
    if (reach) sampler("s", *reach);
    const auto access = launch({64, 96, 1}, {16, 4, 1});
    EXPECT_EQ(access.verdict().mode, MergeMode::kDisjoint) << access.verdict().reason;
    EXPECT_EQ(access.verdict().dimension, 1u);
    EXPECT_TRUE(use(access, "out", 1, 4, 2).overwrites);
    // The first rows and the last: clamped.
    EXPECT_EQ(use(access, "in", 1, 0, 1).read.range.begin, 0u);
    EXPECT_EQ(use(access, "in", 1, 22, 2).read.range.end, 90 * kRow);
    const ByteRange bytes = use(access, "in", 1, 4, 2).read.range;
    return {bytes.begin / kRow, (bytes.end + kRow - 1) / kRow};
  }
  static constexpr uint64_t kRow = 60 * kPixel;
  const ByteRange all_{0, 90};
};

constexpr const char* kNearest =
    "CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST";
constexpr const char* kLinear =
    "CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_LINEAR";
constexpr const char* kNormalized =
    "CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_NEAREST";

TEST_F(ImageFilter, WithoutASampler) {
  compile(filter("", "", "(int2)(x + dx, y + dy)"));
  EXPECT_EQ(rows_read(), (ByteRange{14, 26}));
}

TEST_F(ImageFilter, NearestAtIntegers) {
  compile(filter(constant_sampler(kNearest), "", "s, (int2)(x, y) + (int2)(dx, dy)"));
  EXPECT_EQ(rows_read(), (ByteRange{14, 26}));
}

TEST_F(ImageFilter, CoordinatesOfFloatingPoint) {
  compile(filter(constant_sampler(kNearest), "", "s, (float2)(x + dx + 0.5f, y + dy + 0.5f)"));
  EXPECT_EQ(rows_read(), (ByteRange{14, 26}));
  compile(filter(constant_sampler(kNearest), "",
                 "s, convert_float2((int2)(x, y)) + (float2)(dx, dy) + 0.5f"));
  EXPECT_EQ(rows_read(), (ByteRange{14, 26}));
  // On the edge between two pixels.
  compile(filter(constant_sampler(kNearest), "", "s, (float2)(x + dx, y + dy)"));
  EXPECT_EQ(rows_read(), (ByteRange{13, 26}));
}

TEST_F(ImageFilter, LinearReadsANeighbour) {
  compile(filter(constant_sampler(kLinear), "", "s, (float2)(x + dx + 0.5f, y + dy + 0.5f)"));
  EXPECT_EQ(rows_read(), (ByteRange{13, 27}));
  compile(filter(constant_sampler(kLinear), "", "s, (int2)(x + dx, y + dy)"));
  EXPECT_EQ(rows_read(), (ByteRange{13, 27}));
}

TEST_F(ImageFilter, NormalizedReadsAll) {
  compile(
      filter(constant_sampler(kNormalized), "", "s, (float2)((x + dx) / 60.0f, (y + dy) / 90.0f)"));
  EXPECT_EQ(rows_read(), all_);
  compile(filter(constant_sampler(kNormalized), "", "s, (float2)(x + dx + 0.5f, y + dy + 0.5f)"));
  EXPECT_EQ(rows_read(), all_);
  compile(filter(constant_sampler(kNormalized), "", "s, (int2)(x + dx, y + dy)"));
  EXPECT_EQ(rows_read(), all_);
}

TEST_F(ImageFilter, SamplersGivenAsArguments) {
  compile(filter("", "sampler_t s, ", "s, (int2)(x + dx, y + dy)"));
  EXPECT_EQ(rows_read(0), (ByteRange{14, 26}));
  EXPECT_EQ(rows_read(1), (ByteRange{13, 27}));
  EXPECT_EQ(rows_read(kAnyReach), all_);
  compile(filter("", "sampler_t s, ", "s, (float2)(x + dx + 0.5f, y + dy + 0.5f)"));
  EXPECT_EQ(rows_read(0), (ByteRange{14, 26}));
  EXPECT_EQ(rows_read(1), (ByteRange{13, 27}));
  EXPECT_EQ(rows_read(kAnyReach), all_);
}

TEST_F(ImageFilter, SizesBelowZeroAreOnTheRight) {
  // A size_t of −1 is a large number: the last row, not the first.
  compile(
      "constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE |\n"
      "  CLK_FILTER_NEAREST;\n"
      "kernel void k(read_only image2d_t in, global float4* out) {\n"
      "  const size_t y = get_global_id(0) - 1;\n"
      "  out[get_global_id(0)] = read_imagef(in, s, (float2)(0.5f, (float)y + 0.5f));\n}");
  image("in", {60, 90});
  buffer("out", 16 * 64);
  const auto access = launch({64, 1, 1}, {16, 1, 1});
  EXPECT_EQ(use(access, "in", 0, 0, 1).read.range.end, 90 * kRow);
}

TEST_F(ImageFilter, DistantRowsClampToTheEdge) {
  compile(
      "kernel void k(read_only image2d_t in, int far, global float4* out) {\n"
      "  const int y = get_global_id(0);\n"
      "  out[y] = read_imagef(in, (int2)(0, y + far));\n}");
  image("in", {60, 90});
  buffer("out", 16 * 64);
  scalar("far", 1000);
  EXPECT_EQ(use(launch({64, 1, 1}, {16, 1, 1}), "in", 0, 0, 4).read.range,
            (ByteRange{89 * kRow, 90 * kRow}));
  scalar("far", -1000);
  EXPECT_EQ(use(launch({64, 1, 1}, {16, 1, 1}), "in", 0, 0, 4).read.range, (ByteRange{0, kRow}));
}

TEST_F(ImageFootprint, ReadsFromMemorysCoordinatesSeeAll) {
  compile(
      "kernel void k(read_only image2d_t in, global const int* at, global float4* out) {\n"
      "  const int y = get_global_id(0);\n"
      "  out[y] = read_imagef(in, (int2)(y, at[y]));\n}");
  image("in", {64, 64});
  buffer("at", 256);
  buffer("out", 1024);
  EXPECT_EQ(use(launch({64, 1, 1}, {16, 1, 1}), "in", 0, 0, 1).read.range,
            (ByteRange{0, 64 * 64 * kPixel}));
}

TEST_F(ImageFootprint, ReadsOfOtherShapes) {
  compile(
      "constant sampler_t s = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT |\n"
      "  CLK_FILTER_LINEAR;\n"
      "kernel void k(read_only image1d_t line, read_only image1d_array_t lines,\n"
      "              read_only image2d_array_t layers, read_only image3d_t deep,\n"
      "              read_only image2d_array_t wrapped, global float4* out) {\n"
      "  const int i = get_global_id(0);\n"
      "  float4 v = read_imagef(line, i + 3) + read_imagef(lines, (int2)(5, i));\n"
      "  v += read_imagef(layers, (int4)(1, 2, i, 0));\n"
      "  v += read_imagef(deep, (int4)(i, 2, i - 1, 0));\n"
      "  v += read_imagef(wrapped, s, (float4)(0.25f, 0.5f, i, 0));\n"
      "  out[i] = v;\n}");
  image("line", {64});
  image("lines", {16, 64});
  image("layers", {16, 8, 64});
  image("deep", {16, 8, 64});
  image("wrapped", {16, 8, 64});
  buffer("out", 1024);
  const auto access = launch({64, 1, 1}, {16, 1, 1});
  const uint64_t row = 16 * kPixel, slice = 8 * row;
  EXPECT_EQ(use(access, "line", 0, 1, 1).read.range, (ByteRange{19 * kPixel, 35 * kPixel}));
  EXPECT_EQ(use(access, "line", 0, 3, 1).read.range, (ByteRange{51 * kPixel, 64 * kPixel}));
  EXPECT_EQ(use(access, "lines", 0, 1, 1).read.range, (ByteRange{16 * row, 32 * row}));
  EXPECT_EQ(use(access, "layers", 0, 1, 1).read.range,
            (ByteRange{16 * slice + 2 * row, 31 * slice + 3 * row}));
  EXPECT_EQ(use(access, "deep", 0, 1, 1).read.range,
            (ByteRange{15 * slice + 2 * row, 30 * slice + 3 * row}));
  // A sampler changes no layer.
  EXPECT_EQ(use(access, "wrapped", 0, 1, 1).read.range, (ByteRange{16 * slice, 32 * slice}));
}

TEST_F(ImageFootprint, SizesAreKnown) {
  compile(
      "kernel void k(write_only image2d_array_t out, read_only image3d_t in, global int* p) {\n"
      "  const int2 size = get_image_dim(out);\n"
      "  const size_t i = get_global_id(0);\n"
      "  p[i] = 1;\n"
      "  if (i < get_image_array_size(out)) p[1000 + i] = 1;\n"
      "  if (i < size.y) p[2000 + i] = 1;\n"
      "  if (i < get_image_depth(in)) p[3000 + i] = 1;\n}");
  image("out", {7, 11, 13});
  image("in", {3, 5, 17});
  buffer("p", 16000);
  const auto access = launch({64, 1, 1}, {64, 1, 1});
  EXPECT_EQ(use(access, "p", 0, 0, 1).write.range.end, 4u * 3017);
  values_[index("in")].scalar = {};
  give(index("in"), packed({3, 5, 0}));
  EXPECT_EQ(use(launch({64, 1, 1}, {64, 1, 1}), "p", 0, 0, 1).write.range.end, 4u * 2011);
}

TEST_F(ImageFootprint, MipmapsAndOtherFunctionsOfImages) {
  const auto kernel =
      kernel_of(compiled("kernel void k(read_only image2d_t in, global float4* out) {\n"
                         "  out[get_global_id(0)] = read_imagef(in, (int2)(0, get_global_id(0)));\n"
                         "  out[0].x = get_image_channel_order(in);\n}"));
  EXPECT_EQ(kernel.whole_reason, "");
}

}  // namespace
}  // namespace tutti::kernel_compiler
