// SPDX-License-Identifier: Apache-2.0
// Images of which several places hold parts: what travels, and what it leaves alone.
#include <random>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineImages : public EngineTest {
 protected:
  static void fill(std::byte* memory, uint64_t begin, uint64_t end, uint8_t seed) {
    for (uint64_t i = begin; i < end; ++i) memory[i] = std::byte(i * 7 + seed);
  }
  uint64_t sent(uint32_t device) const { return fakes[device]->bytes_in; }
};

TEST_F(EngineImages, OnlyMissingPixelsTravel) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto one = image({16, 64, 1});
  fill(*one->host_memory(), 0, kBytes, 1);
  one->set_exclusive(kHostPlace, 0, kBytes);
  ASSERT_TRUE(one->make_valid(1, 640, 1280));
  EXPECT_EQ(sent(0), 640u);
  // From within a row to within another.
  ASSERT_TRUE(one->make_valid(1, 600, 1300));
  EXPECT_EQ(sent(0), 640u + 40 + 20);
  // Not whole pixels: those that hold them.
  ASSERT_TRUE(one->make_valid(2, 5, 9));
  EXPECT_EQ(sent(1), 8u);
  // Columns.
  ASSERT_TRUE(one->make_valid(2, ByteStrips{{0, kBytes}, 32, 64, 8}));
  EXPECT_EQ(sent(1), 8u + 64 * 8);
  EXPECT_TRUE(one->valid_at(2, 32, 40));
  EXPECT_FALSE(one->valid_at(2, 40, 44));
}

TEST_F(EngineImages, RowsOfSlicesOfA3dImage) {
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto deep = image({8, 16, 8}, CL_MEM_OBJECT_IMAGE3D);
  fill(*deep->host_memory(), 0, kBytes, 1);
  deep->set_exclusive(kHostPlace, 0, kBytes);
  const ByteStrips rows{{0, kBytes}, 4 * 32, 16 * 32, 3 * 32};
  ASSERT_TRUE(deep->make_valid(1, rows));
  EXPECT_EQ(sent(0), 8u * 3 * 32);
  // To the other device, and nothing else.
  deep->set_exclusive(1, 4 * 32, 5 * 32);
  (*deep->host_memory())[4 * 32] = std::byte{0};
  ASSERT_TRUE(deep->make_valid(2, rows));
  EXPECT_EQ(sent(1), 8u * 3 * 32);
  EXPECT_EQ(fakes[0]->bytes_out, 32u);
  deep->set_exclusive(2, 4 * 32, 5 * 32);
  ASSERT_TRUE(deep->make_valid(kHostPlace, 4 * 32, 5 * 32));
  EXPECT_EQ((*deep->host_memory())[4 * 32], std::byte((4 * 32 * 7 + 1) & 255));
}

TEST_F(EngineImages, OverABufferThatADeviceMayNotHaveInTheHostsMemory) {
  start({kSharesHost, kSharesHost}, SplitMode::kAuto);
  fakes[0]->changed_traits().images_over_host_memory = false;
  LogicalBuffer::Options options;
  options.size = kBytes;
  const auto whole = [](const Ref<LogicalBuffer>& buffer) {
    backends::ImageShape shape{.extent = {kBytes / 4, 1, 1}, .pixel_size = 4};
    shape.type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
    return std::pair(BufferView{buffer, 0, kBytes}, shape);
  };
  const auto used = *LogicalBuffer::create(*set, options);
  ASSERT_TRUE(used->device_memory(0));
  const auto [used_view, shape] = whole(used);
  const auto refused = make_ref<BufferImage>(*set, used_view, shape);
  EXPECT_EQ(refused->takers() & 0b11, 0b10u);
  EXPECT_EQ(used->place_on(0), kHostPlace);

  const auto fresh = *LogicalBuffer::create(*set, options);
  fill(*fresh->host_memory(), 0, kBytes, 5);
  fresh->set_exclusive(kHostPlace, 0, kBytes);
  const auto made = make_ref<BufferImage>(*set, whole(fresh).first, shape);
  EXPECT_EQ(made->takers() & 0b11, 0b11u);
  EXPECT_EQ(fresh->place_on(0), 1u);
  EXPECT_EQ(fresh->place_on(1), kHostPlace);
  ASSERT_TRUE(fresh->make_valid(1, 0, kBytes));
  EXPECT_EQ(sent(0), kBytes);
}

TEST_F(EngineImages, BetweenTwoDevicesInBlocksOfRows) {
  constexpr size_t kPitch = 4096, kRow = 4000, kRows = 5000;
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  LogicalBuffer::Options options;
  options.size = kPitch * (kRows - 1) + kRow;
  options.image = {.extent = {kRow / 4, kRows, 1}, .pixel_size = 4};
  options.image->row_pitch = kPitch;
  const auto one = *LogicalBuffer::create(*set, options);
  std::byte* const host = *one->host_memory();
  fill(host, 0, options.size, 3);
  one->set_exclusive(kHostPlace, 0, options.size);
  ASSERT_TRUE(one->make_valid(1, 0, options.size));
  one->set_exclusive(1, 0, options.size);
  std::fill_n(host, options.size, std::byte{0});
  // From within a row to within another.
  const uint64_t begin = 7 * kPitch + 20, end = (kRows - 3) * kPitch + 100;
  const uint64_t before = fakes[0]->bytes_out;
  ASSERT_TRUE(one->make_valid(2, begin, end));
  EXPECT_EQ(fakes[0]->bytes_out - before, (kRows - 10) * kRow - 20 + 100);
  EXPECT_FALSE(one->valid_at(kHostPlace, begin, end));
  one->set_exclusive(2, begin, end);
  ASSERT_TRUE(one->make_valid(kHostPlace, 0, options.size));
  for (size_t y = 0; y < kRows; ++y) {
    for (size_t x = 0; x < kRow; ++x) {
      const uint64_t at = y * kPitch + x;
      ASSERT_EQ(host[at], std::byte((at * 7 + 3) & 255)) << "row " << y << ", byte " << x;
    }
  }
}

TEST_F(EngineImages, ADividedImageGoesStraightToTheApplicationAndBack) {
  constexpr size_t kRow = 8 * 1024 * 4;
  start({kOwnMemory, kOwnMemory}, SplitMode::kAuto);
  auto stream = engine->create_stream({});
  LogicalBuffer::Options options;
  options.size = 64 * kRow;
  options.image.emplace();
  options.image->extent = {kRow / 4, 64, 1};
  options.image->pixel_size = 4;
  options.image->row_pitch = kRow;
  const auto one = *LogicalBuffer::create(*set, options);
  const auto divide = [&] {
    ASSERT_TRUE(one->make_valid(1, 0, 40 * kRow));
    ASSERT_TRUE(one->make_valid(2, 40 * kRow, 64 * kRow));
    one->set_exclusive(1, 0, 40 * kRow);
    one->set_exclusive(2, 40 * kRow, 64 * kRow);
  };
  std::vector<std::byte> content(64 * kRow), found(64 * kRow + 100);
  fill(content.data(), 0, content.size(), 1);
  RectWork all;
  all.view = {one, 0, options.size};
  all.region = {kRow, 64, 1};
  all.buffer_rect = all.host_rect = {{0, 0, 0}, kRow, 64 * kRow};
  all.write = true;
  all.host = content.data();
  ASSERT_TRUE(enqueue(*stream, all, {}, true));
  divide();
  // New content goes to where the old one was used.
  const uint64_t before = sent(0), before_other = sent(1);
  fill(content.data(), 0, content.size(), 9);
  ASSERT_TRUE(enqueue(*stream, all, {}, true));
  EXPECT_EQ(sent(0) - before, 40 * kRow);
  EXPECT_EQ(sent(1) - before_other, 24 * kRow);
  EXPECT_FALSE(one->valid_at(kHostPlace, 0, 4));
  // A box of both parts, and something of the host's copy.
  ASSERT_TRUE(one->make_valid(kHostPlace, 10 * kRow, 12 * kRow));
  const uint64_t fetched = fakes[0]->bytes_out + fakes[1]->bytes_out;
  RectWork some = all;
  some.write = false;
  some.host = found.data();
  some.buffer_rect.origin = {40, 5, 0};
  some.host_rect.origin = {100, 0, 0};
  some.region = {kRow - 80, 50, 1};
  ASSERT_TRUE(enqueue(*stream, some, {}, true));
  for (size_t y = 0; y < 50; ++y) {
    EXPECT_EQ(std::memcmp(&found[100 + y * kRow], &content[40 + (5 + y) * kRow], kRow - 80), 0);
  }
  EXPECT_EQ(found[99], std::byte{0});
  EXPECT_EQ(fakes[0]->bytes_out + fakes[1]->bytes_out - fetched, 48 * (kRow - 80));
  EXPECT_FALSE(one->valid_at(kHostPlace, 6 * kRow, 7 * kRow));
}

// By the number of devices: two have a way of their own.
class EngineImageParts : public EngineImages, public ::testing::WithParamInterface<uint32_t> {};

TEST_P(EngineImageParts, RandomPartsOfRandomPlaces) {
  const uint32_t devices = GetParam();
  start(FakeKinds(devices, kOwnMemory), SplitMode::kAuto);
  std::mt19937 random(3);
  const std::vector<std::pair<cl_mem_object_type, std::array<size_t, 3>>> kinds = {
      {CL_MEM_OBJECT_IMAGE1D, {1024, 1, 1}},
      {CL_MEM_OBJECT_IMAGE1D_ARRAY, {64, 16, 1}},
      {CL_MEM_OBJECT_IMAGE2D, {32, 32, 1}},
      {CL_MEM_OBJECT_IMAGE3D, {8, 16, 8}}};
  for (const auto& [type, extent] : kinds) {
    auto one = image(extent, type);
    std::byte* host = *one->host_memory();
    std::vector<std::byte> expected(kBytes);
    fill(host, 0, kBytes, 9);
    std::copy(host, host + kBytes, expected.begin());
    one->set_exclusive(kHostPlace, 0, kBytes);
    for (int step = 0; step < 300; ++step) {
      const Place place = random() % (devices + 1);
      ByteStrips part{.range = {random() % 1024 * 4, 0}};
      part.range.end = part.range.begin + (1 + random() % (1024 - part.range.begin / 4)) * 4;
      if (random() % 2) {
        static constexpr uint64_t kPeriods[] = {32, 64, 128, 256, 512};
        part.period = kPeriods[random() % 5];
        part.phase = static_cast<int64_t>(random() % part.period / 4 * 4);
        part.length = (1 + random() % (part.period / 4)) * 4;
      }
      ASSERT_TRUE(one->make_valid(place, part));
      // What is valid nowhere but elsewhere may lie here in any shape.
      if (place != kHostPlace) continue;
      part.for_each([&](uint64_t begin, uint64_t end) {
        EXPECT_TRUE(std::equal(expected.begin() + static_cast<ptrdiff_t>(begin),
                               expected.begin() + static_cast<ptrdiff_t>(end), host + begin));
        fill(host, begin, end, static_cast<uint8_t>(step));
        fill(expected.data(), begin, end, static_cast<uint8_t>(step));
        one->set_exclusive(kHostPlace, begin, end);
      });
      if (step % 3 != 0) continue;
      // Another place has the only copy of some: the host's is worthless.
      const Place owner = 1 + random() % devices;
      ASSERT_TRUE(one->make_valid(owner, part));
      part.for_each([&](uint64_t begin, uint64_t end) {
        one->set_exclusive(owner, begin, end);
        std::fill(host + begin, host + end, std::byte{0x77});
      });
    }
    ASSERT_TRUE(one->make_valid(kHostPlace, 0, kBytes));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), host));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EngineImageParts, ::testing::Values(1, 2, 3));

TEST_F(EngineImages, AWholeLaunchKeepsWhatItsDeviceAloneHas) {
  // Half of the image is newest on the device, half at the host.
  start({kOwnMemory}, SplitMode::kNever);
  auto in = image({32, 32, 1});
  std::byte* host = *in->host_memory();
  std::vector<std::byte> content(kBytes);
  fill(content.data(), 0, kBytes, 5);
  std::copy(content.begin(), content.end(), host);
  in->set_exclusive(kHostPlace, 0, kBytes);
  ASSERT_TRUE(in->make_valid(1, 0, kBytes / 2));
  in->set_exclusive(1, 0, kBytes / 2);
  std::fill(host, host + kBytes / 2, std::byte{0x77});
  auto out = buffer(0);
  auto stream = engine->create_stream({});
  ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 4)));
  const auto found = read(*stream, out);
  for (uint32_t i = 0; i < kBytes; ++i) {
    ASSERT_EQ(std::to_integer<int>(found[i]), (std::to_integer<int>(content[i]) * 3 + 4) & 255)
        << i;
  }
  EXPECT_EQ(sent(0), 2 * kBytes);  // with the target
}

TEST_F(EngineImages, FillsAnImageOfABufferWhoseFormatIsForReadingOnly) {
  start({kReadOnlyImages}, SplitMode::kNever);
  auto pixels = buffer(9);
  backends::ImageShape shape;
  shape.type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  shape.access = CL_MEM_READ_ONLY;
  shape.extent = {kBytes / 4, 1, 1};
  shape.pixel_size = 4;
  shape.row_pitch = kBytes;
  FillImageWork work{whole(pixels), make_ref<BufferImage>(*set, whole(pixels), shape), {}, {}};
  work.box = {{3, 0, 0}, {5, 1, 1}};
  fill(work.color.data(), 0, work.color.size(), 1);
  auto stream = engine->create_stream({});
  ASSERT_TRUE(enqueue(*stream, work));
  const auto found = read(*stream, pixels);
  for (uint32_t i = 0; i < kBytes; ++i) {
    ASSERT_EQ(found[i], i >= 12 && i < 32 ? work.color[i % 4] : std::byte{9}) << i;
  }
}

}  // namespace
}  // namespace tutti::testing
