// SPDX-License-Identifier: Apache-2.0
// What each command of a command buffer computes, against a reference on the host: each is changed
// in between, so that a second run shows, too.
#include <algorithm>
#include <random>
#include <utility>

#include "command_buffers.h"
#include "images.h"
#include "svm.h"

namespace tutti::api_tests {
namespace {

using CommandBufferCommands = CommandBufferTest;

TEST_F(CommandBufferCommands, CopyAndFillParts) {
  constexpr size_t kSize = 4096;
  auto expected = noise(kSize, 1);
  const auto source = noise(kSize, 2);
  const Buffer to = make_buffer_of(expected), from = make_buffer_of(source);
  const CommandBuffer commands = make_commands();
  ASSERT_SUCCESS(
      f_.copy(commands, nullptr, nullptr, from, to, 100, 1001, 555, 0, nullptr, nullptr, nullptr));
  const cl_ushort pattern = 0xABCD;
  ASSERT_SUCCESS(f_.fill(commands, nullptr, nullptr, to, &pattern, sizeof pattern, 1200, 100, 0,
                         nullptr, nullptr, nullptr));
  // Nothing at all.
  ASSERT_SUCCESS(
      f_.copy(commands, nullptr, nullptr, from, to, 0, 0, 0, 0, nullptr, nullptr, nullptr));
  ASSERT_SUCCESS(f_.fill(commands, nullptr, nullptr, to, &pattern, sizeof pattern, 0, 0, 0, nullptr,
                         nullptr, nullptr));
  finalize(commands);
  for (uint32_t round = 0; round < 3; ++round) {
    expected = noise(kSize, 10 + round);
    write_all(to, expected);
    enqueue(commands);
    std::copy_n(source.begin() + 100, 555, expected.begin() + 1001);
    for (size_t i = 1200; i < 1300; i += 2) std::memcpy(&expected[i], &pattern, 2);
    EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(to, kSize)));
  }
}

TEST_F(CommandBufferCommands, CopyRectangle) {
  constexpr size_t kRow = 64, kRows = 32, kSlices = 4, kSize = kRow * kRows * kSlices;
  const auto source = noise(kSize, 1);
  const Buffer from = make_buffer_of(source), to = make_buffer(kSize);
  const size_t from_origin[] = {8, 3, 1}, to_origin[] = {20, 10, 0}, region[] = {30, 12, 3};
  const CommandBuffer commands = make_commands();
  ASSERT_SUCCESS(f_.copy_rect(commands, nullptr, nullptr, from, to, from_origin, to_origin, region,
                              kRow, kRow * kRows, kRow, kRow * kRows, 0, nullptr, nullptr,
                              nullptr));
  finalize(commands);
  for (uint32_t round = 0; round < 2; ++round) {
    auto expected = noise(kSize, 10 + round);
    write_all(to, expected);
    enqueue(commands);
    for (size_t z = 0; z < region[2]; ++z) {
      for (size_t y = 0; y < region[1]; ++y) {
        const auto at = [&](const size_t* origin) {
          return ((z + origin[2]) * kRows + y + origin[1]) * kRow + origin[0];
        };
        std::copy_n(&source[at(from_origin)], region[0], &expected[at(to_origin)]);
      }
    }
    EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(to, kSize)));
  }
}

TEST_F(CommandBufferCommands, LaunchWithOffsetAndLocalSize) {
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(1000, 0));
  const Kernel add = kernel("add_one");
  set_args(add, buffer);
  const CommandBuffer commands = make_commands();
  const size_t offset = 100, global = 512, local = 64, nothing = 0;
  ASSERT_SUCCESS(f_.kernel(commands, nullptr, nullptr, add, 1, &offset, &global, &local, 0, nullptr,
                           nullptr, nullptr));
  ASSERT_SUCCESS(f_.kernel(commands, nullptr, nullptr, add, 1, nullptr, &nothing, nullptr, 0,
                           nullptr, nullptr, nullptr));
  finalize(commands);
  enqueue(commands);
  enqueue(commands);
  std::vector<cl_int> expected(1000, 0);
  std::fill_n(expected.begin() + 100, 512, 2);
  EXPECT_TRUE(same_elements(expected, read_all<cl_int>(buffer, 1000)));
}

TEST_F(CommandBufferCommands, ManyKindsOfLaunches) {
  // More kernels, shapes and buffers than launches that repeat are known of.
  constexpr size_t kBuffers = 12, kElements = 300;
  const Kernel times_plus = kernel("times_plus");
  std::vector<Buffer> buffers;
  std::vector<std::vector<cl_uint>> expected(kBuffers, std::vector<cl_uint>(kElements, 1));
  for (const auto& data : expected) buffers.push_back(make_buffer_of(data));
  const CommandBuffer commands = make_commands();
  struct Step {
    size_t buffer;
    size_t items;
    cl_uint factor, term;
  };
  std::vector<Step> steps;
  std::mt19937 random(7);
  for (cl_uint i = 0; i < 60; ++i) {
    const Step step{random() % kBuffers, size_t{64} << random() % 3, i * 2 + 1, i};
    set_args(times_plus, buffers[step.buffer], step.factor, step.term);
    launch(commands, times_plus, step.items);
    steps.push_back(step);
  }
  finalize(commands);
  for (int round = 0; round < 20; ++round) {
    enqueue(commands);
    for (const Step& step : steps) {
      auto& data = expected[step.buffer];
      std::for_each_n(data.begin(), step.items,
                      [&](cl_uint& value) { value = value * step.factor + step.term; });
    }
  }
  for (size_t i = 0; i < kBuffers; ++i) {
    EXPECT_TRUE(same_elements(expected[i], read_all<cl_uint>(buffers[i], kElements))) << i;
  }
}

// Random commands on random queues, each with the points of those whose buffers it shares.
TEST_F(CommandBufferCommands, RandomCommands) {
  constexpr size_t kBuffers = 5, kElements = 2000;
  const Kernel times_plus = kernel("times_plus");
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](size_t bound) { return random() % bound; };
    const auto any_queue = [&] {
      const bool unordered = device_supports_out_of_order() && below(2) == 0;
      return make_queue(unordered ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
    };
    const Queue recorded = any_queue(), run = any_queue();
    std::vector<Buffer> buffers;
    std::vector<std::vector<cl_uint>> expected;
    for (uint32_t i = 0; i < kBuffers; ++i) {
      expected.push_back(noise_of<cl_uint>(kElements, seed * 10 + i));
      buffers.push_back(make_buffer_of(expected.back()));
    }
    const CommandBuffer commands = make_commands(recorded);
    std::vector<std::function<void()>> reference;
    std::array<cl_sync_point_khr, kBuffers> newest{};
    const auto waits_of = [&](std::initializer_list<size_t> used) {
      Waits waits;
      for (const size_t i : used) {
        if (newest[i] != 0) waits.push_back(newest[i]);
      }
      return waits;
    };
    for (int i = 0; i < 30; ++i) {
      const size_t a = below(kBuffers);
      const size_t b = (a + 1 + below(kBuffers - 1)) % kBuffers;
      const auto number = static_cast<cl_uint>(below(1000));
      const size_t count = kElements / (1 + below(3));
      switch (below(4)) {
        case 0:
          newest[a] = newest[b] =
              copy(commands, buffers[a], buffers[b], count * sizeof(cl_uint), waits_of({a, b}));
          reference.emplace_back([&expected, a, b, count] {
            std::copy_n(expected[a].begin(), count, expected[b].begin());
          });
          break;
        case 1:
          newest[a] = fill(commands, buffers[a], number, count, waits_of({a}));
          reference.emplace_back(
              [&expected, a, count, number] { std::fill_n(expected[a].begin(), count, number); });
          break;
        case 2:
          newest.fill(barrier(commands));
          break;
        default:
          set_args(times_plus, buffers[a], number, cl_uint{3});
          newest[a] = launch(commands, times_plus, count, waits_of({a}));
          reference.emplace_back([&expected, a, count, number] {
            std::for_each_n(expected[a].begin(), count,
                            [&](cl_uint& value) { value = value * number + 3; });
          });
          break;
      }
    }
    finalize(commands);
    Event before;
    for (int round = 0; round < 4; ++round) {
      std::vector<cl_event> waits;
      if (before.get() != nullptr) waits.push_back(before);
      before = enqueue_observed(commands, waits, run);
      for (const auto& step : reference) step();
    }
    ASSERT_SUCCESS(clWaitForEvents(1, before.list()));
    for (size_t i = 0; i < kBuffers; ++i) {
      EXPECT_TRUE(same_elements(expected[i], read_all<cl_uint>(buffers[i], kElements))) << i;
    }
  }
}

TEST_F(CommandBufferCommands, Printf) {
  const Program program = build("kernel void say(int x) { printf(\"said %d\\n\", x); }\n");
  const Kernel say = make_kernel(program, "say");
  set_args(say, cl_int{42});
  const CommandBuffer commands = make_commands();
  launch(commands, say, 1);
  finalize(commands);
  testing::internal::CaptureStdout();
  for (int i = 0; i < 2; ++i) {
    const Event event = enqueue_observed(commands);
    ASSERT_SUCCESS(clWaitForEvents(1, event.list()));
  }
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "said 42\nsaid 42\n");
}

class CommandBufferImages : public ImageTest {
 protected:
  void SetUp() override {
    ImageTest::SetUp();
    if (!has_command_buffers()) GTEST_SKIP() << "no command buffers";
    cl_int code = CL_SUCCESS;
    commands_ = CommandBuffer(f_.create(1, queue_.list(), nullptr, &code));
    ASSERT_SUCCESS(code);
  }
  void TearDown() override {
    commands_.reset();
    ImageTest::TearDown();
  }
  void run() {
    if (!std::exchange(finalized_, true)) {
      ASSERT_SUCCESS(f_.finalize(commands_));
    }
    ASSERT_SUCCESS(f_.enqueue(0, nullptr, commands_, 0, nullptr, nullptr));
  }

  const CommandBufferFunctions& f_ = command_buffer_functions();
  CommandBuffer commands_;
  bool finalized_ = false;
};

TEST_F(CommandBufferImages, CopiesAndFills) {
  const ImageKind kind{"2d", CL_MEM_OBJECT_IMAGE2D, {40, 30, 1}};
  const Pixels source(kind.extent, 4, 1);
  const Buffer from = upload(kind, kRgba8, source), to = make_image(kind, kRgba8);
  const Extent from_origin{3, 4, 0}, to_origin{10, 11, 0}, region{12, 13, 1};
  const Extent packed_origin{0, 20, 0};
  const size_t bytes = region[0] * region[1] * 4;
  const Buffer packed = make_buffer(bytes + 16), given = make_buffer(bytes + 16);
  const Extent fill_origin{30, 1, 0}, fill_region{7, 5, 1};
  const cl_uint color[4] = {1, 2, 3, 4};
  const Extent given_region{12, 10, 1};
  ASSERT_SUCCESS(f_.copy_image(commands_, nullptr, nullptr, from, to, from_origin.data(),
                               to_origin.data(), region.data(), 0, nullptr, nullptr, nullptr));
  ASSERT_SUCCESS(f_.fill_image(commands_, nullptr, nullptr, to, color, fill_origin.data(),
                               fill_region.data(), 0, nullptr, nullptr, nullptr));
  ASSERT_SUCCESS(f_.copy_image_to_buffer(commands_, nullptr, nullptr, to, packed, to_origin.data(),
                                         region.data(), 16, 0, nullptr, nullptr, nullptr));
  ASSERT_SUCCESS(f_.copy_buffer_to_image(commands_, nullptr, nullptr, given, to, 16,
                                         packed_origin.data(), given_region.data(), 0, nullptr,
                                         nullptr, nullptr));
  for (uint32_t round = 0; round < 3; ++round) {
    Pixels expected(kind.extent, 4, 50 + round);
    ASSERT_SUCCESS(clEnqueueWriteImage(queue_, to, CL_TRUE, zero_.data(), kind.extent.data(), 0, 0,
                                       expected.bytes.data(), 0, nullptr, nullptr));
    const Pixels into(given_region, 4, 70 + round);
    ASSERT_SUCCESS(clEnqueueWriteBuffer(queue_, given, CL_TRUE, 16, into.bytes.size(),
                                        into.bytes.data(), 0, nullptr, nullptr));
    run();
    expected.paste(source.cut(from_origin, region), to_origin);
    Pixels filled(fill_region, 4, 1);
    for (size_t i = 0; i < filled.bytes.size(); ++i) filled.bytes[i] = 1 + i % 4;
    expected.paste(filled, fill_origin);
    const Pixels cut = expected.cut(to_origin, region);
    expected.paste(into, packed_origin);
    const Pixels seen = download(to, zero_, kind.extent, 4);
    EXPECT_TRUE(same_elements(expected.bytes, seen.bytes)) << round;
    auto whole = read_all<uint8_t>(packed, bytes + 16);
    whole.erase(whole.begin(), whole.begin() + 16);
    EXPECT_TRUE(same_elements(cut.bytes, whole)) << round;
  }
}

TEST_F(CommandBufferImages, RejectBadArguments) {
  const ImageKind kind{"2d", CL_MEM_OBJECT_IMAGE2D, {40, 30, 1}};
  const Buffer image = make_image(kind, kRgba8), other = make_image(kind, kRgbaFloat);
  const Buffer buffer = make_buffer(64);
  const Extent wide{50, 1, 1}, one{1, 1, 1};
  const cl_uint color[4] = {};
  EXPECT_CL(CL_IMAGE_FORMAT_MISMATCH,
            f_.copy_image(commands_, nullptr, nullptr, image, other, zero_.data(), zero_.data(),
                          one.data(), 0, nullptr, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, f_.fill_image(commands_, nullptr, nullptr, image, color, zero_.data(),
                                            wide.data(), 0, nullptr, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            f_.copy_image_to_buffer(commands_, nullptr, nullptr, buffer, buffer, zero_.data(),
                                    one.data(), 0, 0, nullptr, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE,
            f_.copy_buffer_to_image(commands_, queue_, nullptr, buffer, image, 0, zero_.data(),
                                    one.data(), 0, nullptr, nullptr, nullptr));
}

class CommandBufferSvm : public SvmTest {
 protected:
  void SetUp() override {
    SvmTest::SetUp();
    if (!has_command_buffers()) GTEST_SKIP() << "no command buffers";
  }
};

TEST_F(CommandBufferSvm, CopiesAndFills) {
  constexpr size_t kCount = 3000;
  const CommandBufferFunctions& f = command_buffer_functions();
  const Shared<cl_uint> from(context_, kCount), to(context_, kCount);
  cl_int code = CL_SUCCESS;
  const CommandBuffer commands(f.create(1, queue_.list(), nullptr, &code));
  ASSERT_SUCCESS(code);
  const cl_uint pattern = 0x1234567;
  ASSERT_SUCCESS(f.svm_copy(commands, nullptr, nullptr, to.get() + 10, from.get() + 5, 2000, 0,
                            nullptr, nullptr, nullptr));
  ASSERT_SUCCESS(f.svm_fill(commands, nullptr, nullptr, to.get() + 100, &pattern, sizeof pattern,
                            400, 0, nullptr, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, f.svm_copy(commands, nullptr, nullptr, nullptr, from.get(), 8, 0,
                                         nullptr, nullptr, nullptr));
  EXPECT_CL(CL_MEM_COPY_OVERLAP, f.svm_copy(commands, nullptr, nullptr, to.get(), to.get() + 1, 64,
                                            0, nullptr, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, f.svm_fill(commands, nullptr, nullptr, to.get(), &pattern, 3, 12, 0,
                                         nullptr, nullptr, nullptr));
  ASSERT_SUCCESS(f.finalize(commands));
  for (uint32_t round = 0; round < 3; ++round) {
    const auto source = noise_of<cl_uint>(kCount, 100 + round);
    auto expected = noise_of<cl_uint>(kCount, 200 + round);
    store(from, source);
    store(to, expected);
    ASSERT_SUCCESS(f.enqueue(0, nullptr, commands, 0, nullptr, nullptr));
    std::copy_n(source.begin() + 5, 500, expected.begin() + 10);
    std::fill_n(expected.begin() + 100, 100, pattern);
    EXPECT_TRUE(same_elements(expected, load(to)));
  }
}

}  // namespace
}  // namespace tutti::api_tests
