// SPDX-License-Identifier: Apache-2.0
// Launches that need more memory than their devices have, and read what lies between two numbers:
// which those are when they begin.
#include <algorithm>
#include <random>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

/// out[i] = sum of value[k], k from first[i] to end[i], as bytes.
KernelSummary summary_of_rows() {
  KernelSummary summary;
  summary.name = "rows";
  summary.shard_arguments = 15;
  for (const char* name : {"first", "end", "value", "out"}) {
    Argument argument;
    argument.kind = ArgKind::kGlobal;
    argument.name = name;
    summary.arguments.push_back(argument);
  }
  Expr item, four, at, any;
  item.kind = ExprKind::kGlobalId;
  four.kind = ExprKind::kConst;
  four.value = 4;
  at.kind = ExprKind::kMul;
  at.operands = {0, 1};
  any.kind = ExprKind::kUnknown;
  summary.exprs = {item, four, at, any};
  summary.loops.push_back({});
  for (uint32_t argument = 0; argument < 4; ++argument) {
    Access access;
    access.kind = argument == 3 ? AccessKind::kStore : AccessKind::kLoad;
    access.argument = argument;
    access.size = argument < 2 ? 4 : 1;
    access.offset = argument < 2 ? 2 : argument == 2 ? 3 : 0;
    access.guards_exact = argument != 2;
    if (argument == 2) {
      access.loops = {0};
      access.content = ContentBounds{.first = 0, .end = 1, .width = 32, .is_signed = true};
    }
    summary.accesses.push_back(access);
  }
  return summary;
}

void run_row(const FakeItem& item) {
  const auto i = static_cast<uint32_t>(item.global_id[0]);
  int32_t first = 0, end = 0;
  std::memcpy(&first, item.memory(0) + 4 * i, 4);
  std::memcpy(&end, item.memory(1) + 4 * i, 4);
  uint8_t sum = 0;
  for (int32_t k = first; k < end; ++k) {
    sum = static_cast<uint8_t>(sum + std::to_integer<uint8_t>(item.memory(2)[k]));
  }
  item.memory(3)[i] = std::byte{sum};
}

class ContentOfBuffers : public EngineTest {
 protected:
  static constexpr uint32_t kRows = kBytes / 16;
  ContentOfBuffers() { shard_unit = 64; }

  void start_small(const FakeKinds& devices) {
    start(devices, SplitMode::kAuto, kBytes / 2);
    for (FakeBackend* fake : fakes) fake->memory_left = kBytes / 2;
    stream = engine->create_stream({});
    std::mt19937 random(5);
    values.resize(kBytes);
    for (std::byte& byte : values) byte = static_cast<std::byte>(random());
    value = with_bytes(values);
    out = with_bytes(std::vector<std::byte>(kRows));
    firsts.resize(kRows);
    ends.resize(kRows);
    for (uint32_t i = 0; i < kRows; ++i) {
      firsts[i] = static_cast<int32_t>(16 * i + random() % 8);
      ends[i] = firsts[i] + static_cast<int32_t>(random() % 9);
    }
  }
  Ref<LogicalBuffer> with_bytes(std::span<const std::byte> bytes) {
    LogicalBuffer::Options options;
    options.size = bytes.size();
    return *engine->create_buffer(options, bytes.data());
  }
  Ref<LogicalBuffer> with_numbers(const std::vector<int32_t>& numbers) {
    return with_bytes(std::as_bytes(std::span(numbers)));
  }
  Result<Ref<Command>> launch(const Ref<LogicalBuffer>& first, const Ref<LogicalBuffer>& end) {
    for (FakeBackend* fake : fakes) fake->measured_ns = 5'000'000;
    auto arguments = std::make_shared<ArgumentSet>(4);
    size_t at = 0;
    for (const auto& buffer : {first, end, value, out}) {
      (*arguments)[at].kind = ArgumentSlot::Kind::kBuffer;
      (*arguments)[at++].view = whole(buffer);
    }
    KernelWork work;
    work.kernel = std::make_shared<FakeKernel>(summary_of_rows(), run_row, set->count());
    work.arguments = arguments;
    work.shape.global[0] = kRows;
    work.shape.local[0] = kGroup;
    work.local_given = true;
    for (uint32_t device = 0; device < set->count(); ++device) {
      for (int run = 0; run < 2; ++run) set->model().add(model_key(work), device, kRows, 1e-2);
    }
    return enqueue(*stream, std::move(work));
  }
  void launch_often() {
    const auto first = with_numbers(firsts), end = with_numbers(ends);
    for (int round = 0; round < 3; ++round) {
      const auto command = launch(first, end);
      ASSERT_TRUE(command) << command.error().message;
      EXPECT_TRUE(engine->finish(*stream));
      EXPECT_EQ((*command)->status(), CL_COMPLETE);
      check();
    }
    for (uint32_t i = 0; i < set->count(); ++i) EXPECT_LE(set->memory(i).peak(), kBytes / 2);
  }
  void check() {
    std::vector<std::byte> read(kRows);
    ASSERT_TRUE(enqueue(*stream, ReadWork{whole(out), 0, kRows, read.data()}, {}, true));
    for (uint32_t i = 0; i < kRows; ++i) {
      uint8_t sum = 0;
      for (int32_t k = firsts[i]; k < ends[i]; ++k) {
        sum = static_cast<uint8_t>(sum + std::to_integer<uint8_t>(values[static_cast<size_t>(k)]));
      }
      ASSERT_EQ(read[i], std::byte{sum}) << i;
    }
  }

  Ref<Stream> stream;
  Ref<LogicalBuffer> value, out;
  std::vector<std::byte> values;
  std::vector<int32_t> firsts, ends;
};

TEST_F(ContentOfBuffers, OneDeviceStreamsRowsByWhereTheyLie) {
  start_small({kOwnMemory});
  launch_often();
}

TEST_F(ContentOfBuffers, TwoDevicesStreamRowsByWhereTheyLie) {
  start_small({kOwnMemory, kOwnMemory});
  launch_often();
}

TEST_F(ContentOfBuffers, WhatIsWrittenBeforeItBeginsCounts) {
  start_small({kOwnMemory, kOwnMemory});
  const auto first = with_numbers(std::vector<int32_t>(kRows, 0));
  const auto end = with_numbers(std::vector<int32_t>(kRows, 1));
  for (int round = 0; round < 4; ++round) {
    const auto gate = engine->create_user_command();
    const auto bytes = 4 * uint64_t{kRows};
    ASSERT_TRUE(enqueue(*stream, WriteWork{whole(first), 0, bytes, firsts.data()}, {gate.get()}));
    ASSERT_TRUE(enqueue(*stream, WriteWork{whole(end), 0, bytes, ends.data()}));
    const auto command = launch(first, end);
    ASSERT_TRUE(command) << command.error().message;
    ASSERT_TRUE(engine->set_user_status(*gate, CL_COMPLETE));
    EXPECT_TRUE(engine->finish(*stream));
    EXPECT_EQ((*command)->status(), CL_COMPLETE);
    check();
    // The other way round: what lay at the begin is read at the end.
    for (uint32_t i = 0; i < kRows / 2; ++i) {
      std::swap(firsts[i], firsts[kRows - 1 - i]);
      std::swap(ends[i], ends[kRows - 1 - i]);
    }
  }
}

TEST_F(ContentOfBuffers, WhereNoPartWouldDoItIsTold) {
  start_small({kOwnMemory});
  std::fill(firsts.begin(), firsts.end(), 0);
  std::fill(ends.begin(), ends.end(), static_cast<int32_t>(kBytes));
  const auto command = launch(with_numbers(firsts), with_numbers(ends));
  ASSERT_TRUE(command) << command.error().message;
  static_cast<void>(engine->finish(*stream));
  EXPECT_EQ((*command)->status(), CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

}  // namespace
}  // namespace tutti::testing
