// SPDX-License-Identifier: Apache-2.0
// Launches of which each slice reads all of some columns, on devices that have no memory for what
// these lie in.
#include <bit>
#include <random>

#include "engine_fixture.h"
#include "scheduler/access/panel_argument.h"
#include "scheduler/access/shard_argument.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

// C = A · B, in bytes, modulo 256. Sizes divide by nothing, but where a test says so.
constexpr uint32_t kRows = 50, kInner = 31;
constexpr uint32_t kUsualColumns = 701;
uint32_t columns = kUsualColumns;
constexpr uint64_t kGroupRows = 2, kGroupColumns = 8;
constexpr uint32_t kPanelsOf = 3;

uint32_t round_up(uint32_t size, uint64_t to) {
  return static_cast<uint32_t>((size + to - 1) / to * to);
}

KernelSummary summary_of_product() {
  KernelSummary summary;
  summary.name = "product";
  summary.shard_arguments = 7;
  summary.panel_arguments = kPanelsOf;
  for (const char* name : {"a", "b", "c"}) {
    Argument argument;
    argument.kind = ArgKind::kGlobal;
    argument.name = name;
    summary.arguments.push_back(argument);
  }
  const auto add = [&](ExprKind kind, uint32_t index, int64_t value,
                       std::vector<uint32_t> operands) {
    summary.exprs.push_back({kind, 64, index, value, std::move(operands)});
    return static_cast<uint32_t>(summary.exprs.size() - 1);
  };
  const auto number = [&](int64_t value) { return add(ExprKind::kConst, 0, value, {}); };
  const auto at = [&](uint32_t row, int64_t length, uint32_t column) {
    return add(ExprKind::kAdd, 0, 0, {add(ExprKind::kMul, 0, 0, {row, number(length)}), column});
  };
  const auto column = add(ExprKind::kGlobalId, 0, 0, {}), row = add(ExprKind::kGlobalId, 1, 0, {});
  const auto inner = add(ExprKind::kLoop, 0, 0, {});
  summary.loops.push_back({number(kInner - 1), true});
  const std::vector<Guard> guards{{Compare::kULt, column, number(columns)},
                                  {Compare::kULt, row, number(kRows)}};
  for (const auto& [argument, offset] :
       {std::pair{0u, at(row, kInner, inner)}, std::pair{1u, at(inner, columns, column)},
        std::pair{2u, at(row, columns, column)}}) {
    Access access;
    access.kind = argument == 2 ? AccessKind::kStore : AccessKind::kLoad;
    access.argument = argument;
    access.offset = offset;
    access.size = 1;
    access.guards = guards;
    access.guards_exact = true;
    if (argument != 2) access.loops = {0};
    summary.accesses.push_back(std::move(access));
  }
  return summary;
}

template <typename At>
void multiply(const FakeItem& item, const At& at) {
  const uint64_t column = item.global_id[0], row = item.global_id[1];
  if (column >= columns || row >= kRows) return;
  uint8_t sum = 0;
  for (uint64_t k = 0; k < kInner; ++k) {
    sum = static_cast<uint8_t>(sum + std::to_integer<uint8_t>(*at(0, row * kInner + k)) *
                                         std::to_integer<uint8_t>(*at(1, k * columns + column)));
  }
  *at(2, row * columns + column) = std::byte{sum};
}

/// Where the panel variant finds a byte of what the argument shows.
std::byte* place_of(const FakeItem& item, size_t argument, uint64_t at) {
  uint64_t before[16], rows[16];
  const auto& all = item.launch->arguments;
  std::memcpy(before, all[all.size() - 2].bytes.data(), sizeof before);
  std::memcpy(rows, all[all.size() - 1].bytes.data(), sizeof rows);
  at -= before[argument];
  if ((kPanelsOf >> argument & 1) == 0) return item.memory(argument) + at;
  const size_t slot = 3 * static_cast<size_t>(std::popcount(kPanelsOf & ((1u << argument) - 1)));
  const uint64_t row = rows[slot] == 0 ? 0 : at / rows[slot];
  return item.memory(argument) + row * rows[slot + 1] + (at - row * rows[slot]);
}

class ProductKernel : public FakeKernel {
 public:
  explicit ProductKernel(uint32_t backends)
      : FakeKernel(
            summary_of_product(),
            [](const FakeItem& item) {
              multiply(item, [&](size_t i, uint64_t at) { return item.memory(i) + at; });
            },
            backends),
        panels_(
            summary_of_product(),
            [](const FakeItem& item) {
              multiply(item, [&](size_t i, uint64_t at) { return place_of(item, i, at); });
            },
            backends) {}
  Result<backends::Kernel*> vendor_kernel(uint32_t backend, KernelVariant variant) override {
    if (variant != KernelVariant::kPanels) return FakeKernel::vendor_kernel(backend, variant);
    if (without_panels & backend_bit(backend)) return fail(CL_BUILD_PROGRAM_FAILURE);
    return panels_.vendor_kernel(backend, KernelVariant::kUntouched);
  }
  BackendMask without_panels = 0;

 private:
  FakeKernel panels_;
};

class EnginePanels : public EngineTest {
 protected:
  static constexpr uint64_t kMemory = 12000;  // bytes; b alone has 21731, c 35050
  EnginePanels() {
    shard_unit = 64;
    columns = kUsualColumns;
  }

  void start_small(const FakeKinds& devices) { start_with(devices, SplitMode::kAuto, kMemory); }
  void start_with(const FakeKinds& devices, SplitMode split, uint64_t memory) {
    stream = nullptr;
    a = b = nullptr;
    start(devices, split, memory);
    for (FakeBackend* fake : fakes) fake->memory_left = static_cast<int64_t>(memory);
    stream = engine->create_stream({});
    a = random_bytes(kRows * kInner);
    b = random_bytes(kInner * columns);
    kernel = std::make_shared<ProductKernel>(set->count());
  }
  Ref<LogicalBuffer> random_bytes(uint64_t size) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    LogicalBuffer::Options options;
    options.size = size;
    return *engine->create_buffer(options, bytes.data());
  }
  KernelWork product(const Ref<LogicalBuffer>& left, const Ref<LogicalBuffer>& right,
                     const Ref<LogicalBuffer>& out, uint32_t rows = kRows) {
    for (FakeBackend* fake : fakes) fake->measured_ns = 5'000'000;
    auto arguments = std::make_shared<ArgumentSet>(3);
    size_t at = 0;
    for (const auto& buffer : {left, right, out}) {
      (*arguments)[at].kind = ArgumentSlot::Kind::kBuffer;
      (*arguments)[at++].view = whole(buffer);
    }
    KernelWork work;
    work.kernel = kernel;
    work.arguments = arguments;
    work.shape.dims = 2;
    work.shape.global = {round_up(columns, kGroupColumns), round_up(rows, kGroupRows), 1};
    work.shape.local = {kGroupColumns, kGroupRows, 1};
    work.local_given = true;
    for (uint32_t device = 0; device < set->count(); ++device) {
      for (int run = 0; run < 2; ++run) {
        set->model().add(model_key(work), device, work.shape.items(), 1e-2);
      }
    }
    return work;
  }
  cl_int run(const Ref<LogicalBuffer>& out, uint32_t rows = kRows) {
    const auto command = enqueue(*stream, product(a, b, out, rows));
    if (!command) return command.error().code;
    static_cast<void>(engine->finish(*stream));
    return (*command)->status();
  }
  std::vector<std::byte> bytes_of(const Ref<LogicalBuffer>& buffer) {
    std::vector<std::byte> bytes(buffer->size());
    EXPECT_TRUE(enqueue(*stream, ReadWork{whole(buffer), 0, bytes.size(), bytes.data()}, {}, true));
    return bytes;
  }
  std::vector<std::byte> expected() {
    const auto left = bytes_of(a), right = bytes_of(b);
    std::vector<std::byte> out(kRows * columns);
    for (size_t i = 0; i < kRows; ++i) {
      for (size_t j = 0; j < columns; ++j) {
        uint8_t sum = 0;
        for (size_t k = 0; k < kInner; ++k) {
          sum = static_cast<uint8_t>(sum + std::to_integer<uint8_t>(left[i * kInner + k]) *
                                               std::to_integer<uint8_t>(right[k * columns + j]));
        }
        out[i * columns + j] = std::byte{sum};
      }
    }
    return out;
  }

  std::mt19937 random{3};
  Ref<Stream> stream;
  Ref<LogicalBuffer> a, b;
  std::shared_ptr<ProductKernel> kernel;
};

TEST_F(EnginePanels, ProductsOfMatricesThatDevicesCannotHold) {
  for (const size_t devices : {size_t{1}, size_t{2}, size_t{4}}) {
    start_small(FakeKinds(devices, kOwnMemory));
    for (int i = 0; i < 3; ++i) {
      const auto c = random_bytes(kRows * columns);
      ASSERT_EQ(run(c), CL_COMPLETE);
      EXPECT_EQ(bytes_of(c), expected());
      b = random_bytes(kInner * columns);
    }
    for (size_t i = 0; i < devices; ++i) {
      EXPECT_LE(set->memory(static_cast<uint32_t>(i)).peak(), kMemory);
      EXPECT_GT(fakes[i]->launches, 1u) << i;
    }
  }
}

TEST_F(EnginePanels, TheNextOnesComeWhileALaunchComputes) {
  columns = 3000;
  start_with({kOwnMemory}, SplitMode::kAuto, 40000);
  const auto c = random_bytes(kRows * columns);
  const auto right = expected();
  std::atomic<bool> launched{false}, written{false};
  fakes[0]->fate = [&](FakeCall call) -> FakeFate {
    if (call == FakeCall::kWrite && launched) {
      written = true;
      written.notify_all();
    }
    if (call != FakeCall::kLaunch || launched.exchange(true)) return {};
    return {.before = [&] { written.wait(false); }};
  };
  ASSERT_EQ(run(c), CL_COMPLETE);
  EXPECT_EQ(bytes_of(c), right);
  EXPECT_TRUE(written);
}

TEST_F(EnginePanels, WhatAPackageEndsWithTheNextOneBeginsWith) {
  columns = 3000;
  start_with({kOwnMemory}, SplitMode::kAuto, 40000);
  constexpr uint64_t kPanelBytes = (kInner + 1) * 128;  // of a block of one group
  std::atomic<uint32_t> panels{0};
  fakes[0]->transferring = [&](const void*, uint64_t bytes) { panels += bytes == kPanelBytes; };
  const auto c = random_bytes(kRows * columns);
  ASSERT_EQ(run(c), CL_COMPLETE);
  EXPECT_EQ(bytes_of(c), expected());
  const uint32_t blocks = columns / kGroupColumns;
  const uint32_t packages = fakes[0]->launches / blocks;
  EXPECT_EQ(fakes[0]->launches, packages * blocks);
  EXPECT_GT(packages, 1u);
  EXPECT_EQ(panels, packages * blocks - (packages - 1) * 2);
}

// One group of rows: it is divided by columns, and each package brings a panel for its own.
TEST_F(EnginePanels, PackagesForWhichThereAreNoPanelsBecomeSmaller) {
  shards = ShardMode::kStream;
  columns = 384;  // of which panels have one group: their rows are 128 bytes
  for (const size_t devices : {size_t{1}, size_t{2}, size_t{3}}) {
    start_with(FakeKinds(devices, kOwnMemory), SplitMode::kForce, 1 << 20);
    const auto all = expected();
    for (int i = 0; i < 30; ++i) {
      const auto c = random_bytes(kRows * columns);
      ASSERT_EQ(run(c, kGroupRows), CL_COMPLETE);
      const auto found = bytes_of(c);
      for (size_t at = 0; at < size_t{kGroupRows} * columns; ++at)
        ASSERT_EQ(found[at], all[at]) << at;
    }
  }
}

TEST_F(EnginePanels, BesideADeviceThatHasAll) {
  start_small({kSharesHost, kOwnMemory});
  const auto c = random_bytes(kRows * columns);
  ASSERT_EQ(run(c), CL_COMPLETE);
  EXPECT_EQ(bytes_of(c), expected());
}

TEST_F(EnginePanels, WhatWasThereIsNotTakenForTheBuffers) {
  start_small({kOwnMemory});
  // A part of what panels are of is valid on the device before, and is asked for there afterwards.
  ASSERT_TRUE(b->reshape(0, {0, 8192}));
  ASSERT_TRUE(b->make_valid(b->place_on(0), 0, 8192));
  b->set_exclusive(b->place_on(0), 0, 8192);
  const auto before = bytes_of(b);
  const auto c = random_bytes(kRows * columns);
  ASSERT_EQ(run(c), CL_COMPLETE);
  EXPECT_EQ(bytes_of(b), before);
  EXPECT_EQ(bytes_of(c), expected());
  EXPECT_FALSE(b->valid_at(b->place_on(0), 0, 64));
}

TEST_F(EnginePanels, ALaunchWithoutTheirVariantIsRefused) {
  start_small({kOwnMemory});
  kernel->without_panels = 1;
  EXPECT_EQ(run(random_bytes(kRows * columns)), CL_MEM_OBJECT_ALLOCATION_FAILURE);
  // What is written, or shown by two arguments, has none.
  kernel->without_panels = 0;
  const auto refused = enqueue(*stream, product(a, b, b));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

TEST_F(EnginePanels, WhereADeviceFailsAnotherOneGoesOn) {
  start_small({kOwnMemory, kOwnMemory});
  const auto c = random_bytes(kRows * columns);
  const auto right = expected();
  fakes[0]->fate = [](FakeCall call) -> FakeFate {
    if (call != FakeCall::kLaunch) return {};
    return {.result = CL_OUT_OF_RESOURCES, .done = 0.5};
  };
  ASSERT_EQ(run(c), CL_COMPLETE);
  EXPECT_EQ(bytes_of(c), right);
}

TEST_F(EnginePanels, AFailureOfAnyBlockIsThePackages) {
  start_small({kOwnMemory});
  const auto c = random_bytes(kRows * columns);
  std::atomic<int> launches{0};
  fakes[0]->fate = [&launches](FakeCall call) -> FakeFate {
    if (call != FakeCall::kLaunch || ++launches != 2) return {};
    return {.result = CL_OUT_OF_RESOURCES, .done = 0.5};
  };
  const auto right = expected();
  // Right, since it was computed anew, or told.
  if (run(c) == CL_COMPLETE) {
    EXPECT_EQ(bytes_of(c), right);
  }
  EXPECT_GT(launches, 2);
}

}  // namespace
}  // namespace tutti::testing
