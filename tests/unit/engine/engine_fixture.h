// SPDX-License-Identifier: Apache-2.0
// An engine over fake devices, with short ways to enqueue.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "backends/bounded/bounded_backend.h"
#include "fake_kernels.h"
#include "scheduler/engine/engine.h"

namespace tutti::testing {

class EngineTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kBytes = 4096;
  static constexpr uint64_t kGroup = 16;  // items of a work-group

  void start(const FakeKinds& devices, SplitMode split, uint64_t memory_limit = UINT64_MAX) {
    engine.reset();
    fakes.clear();
    std::vector<std::unique_ptr<backends::Backend>> list;
    for (size_t i = 0; i < devices.size(); ++i) {
      auto fake = std::make_unique<FakeBackend>(static_cast<uint32_t>(i), devices[i]);
      fakes.push_back(fake.get());
      list.push_back(std::move(fake));
      if (deadline_ns > 0) {
        auto made = std::make_shared<std::unique_ptr<backends::Backend>>(std::move(list.back()));
        list.back() = *backends::with_deadline("a fake device", {deadline_ns},
                                               [made] { return std::move(*made); });
      }
    }
    set = std::make_unique<scheduler::BackendSet>(std::move(list), memory_limit);
    scheduler::EngineSettings settings;
    settings.split = split;
    settings.balancer = balancer;
    settings.verify = verify;
    settings.shards = shards;
    settings.look_ahead = look_ahead;
    if (shard_unit > 0) settings.shard_unit = shard_unit;
    if (overdue_ns > 0) settings.overdue_ns = overdue_ns;
    engine = std::make_unique<scheduler::Engine>(*set, settings);
  }
  void TearDown() override { engine.reset(); }
  Verify verify;  // of start()

  Ref<scheduler::LogicalBuffer> buffer(uint8_t value) {
    const std::vector<std::byte> bytes(kBytes, std::byte{value});
    scheduler::LogicalBuffer::Options options;
    options.size = kBytes;
    return *engine->create_buffer(options, bytes.data());
  }
  /// kBytes of pixels of four bytes, without gaps.
  Ref<scheduler::LogicalBuffer> image(std::array<size_t, 3> extent,
                                      cl_mem_object_type type = CL_MEM_OBJECT_IMAGE2D) {
    scheduler::LogicalBuffer::Options options;
    options.size = kBytes;
    options.image.emplace();
    options.image->type = type;
    options.image->extent = extent;
    options.image->pixel_size = 4;
    options.image->row_pitch = 4 * extent[0];
    if (type == CL_MEM_OBJECT_IMAGE3D) options.image->slice_pitch = 4 * extent[0] * extent[1];
    if (type == CL_MEM_OBJECT_IMAGE1D_ARRAY) options.image->slice_pitch = 4 * extent[0];
    EXPECT_EQ(options.image->span(), kBytes);
    return *scheduler::LogicalBuffer::create(*set, options);
  }
  static scheduler::BufferView whole(const Ref<scheduler::LogicalBuffer>& buffer) {
    return {buffer, 0, buffer->size()};
  }
  /// out[i] = in[i] * 3 + c over the whole of both buffers.
  scheduler::KernelWork map_kernel(const Ref<scheduler::LogicalBuffer>& in,
                                   const Ref<scheduler::LogicalBuffer>& out, uint32_t c) {
    using Slot = scheduler::ArgumentSlot;
    auto arguments = std::make_shared<scheduler::ArgumentSet>(4);
    (*arguments)[0].kind = (*arguments)[1].kind = Slot::Kind::kBuffer;
    (*arguments)[0].view = whole(in);
    (*arguments)[1].view = whole(out);
    for (const auto& [index, value] : {std::pair{2u, kBytes}, std::pair{3u, c}}) {
      (*arguments)[index].kind = Slot::Kind::kBytes;
      (*arguments)[index].bytes.resize(4);
      std::memcpy((*arguments)[index].bytes.data(), &value, 4);
    }
    scheduler::KernelWork work;
    work.kernel = fake_kernel(KernelForm::kMap, set->count());
    work.arguments = arguments;
    work.shape.global[0] = kBytes;
    work.shape.local[0] = kGroup;
    work.local_given = true;
    return work;
  }
  /// A launch of this form over the whole of both buffers, c = 1, that is known to take `seconds`
  /// on every device.
  template <typename Kernel = FakeKernel>
  scheduler::KernelWork known_kernel(KernelForm form, const Ref<scheduler::LogicalBuffer>& in,
                                     const Ref<scheduler::LogicalBuffer>& out, double seconds,
                                     FakeFunction function) {
    scheduler::KernelWork work = map_kernel(in, out, 1);
    work.kernel = std::make_shared<Kernel>(summary_of(form), std::move(function), set->count());
    for (uint32_t device = 0; device < set->count(); ++device) {
      // Twice: of a first run the model thinks that it may have been an outlier.
      for (int run = 0; run < 2; ++run) set->model().add(model_key(work), device, kBytes, seconds);
    }
    return work;
  }
  static void run_item(KernelForm form, const FakeItem& item) {
    apply(form, item.memory(0), item.memory(1), static_cast<uint32_t>(item.global_id[0]), kBytes,
          1);
  }
  Result<Ref<scheduler::Command>> enqueue(scheduler::Stream& stream, scheduler::Work work,
                                          std::vector<scheduler::Command*> wait = {},
                                          bool blocking = false) {
    scheduler::EnqueueOptions options;
    options.type = std::holds_alternative<scheduler::KernelWork>(work) ? CL_COMMAND_NDRANGE_KERNEL
                                                                       : CL_COMMAND_MARKER;
    options.wait_list = wait;
    options.blocking = blocking;
    options.waits_for_all = std::holds_alternative<scheduler::MarkerWork>(work);
    return engine->enqueue(stream, std::move(work), options);
  }
  /// Every byte of the buffer, read through `stream`.
  std::vector<std::byte> read(scheduler::Stream& stream,
                              const Ref<scheduler::LogicalBuffer>& buffer) {
    std::vector<std::byte> bytes(kBytes);
    EXPECT_TRUE(
        enqueue(stream, scheduler::ReadWork{whole(buffer), 0, kBytes, bytes.data()}, {}, true));
    return bytes;
  }
  static std::vector<std::byte> filled(uint8_t value) {
    return std::vector<std::byte>(kBytes, std::byte{value});
  }
  /// `bytes` after one work-group, whose first item is `first`, wrote the value.
  static std::vector<std::byte> with_group(std::vector<std::byte> bytes, uint64_t first,
                                           uint8_t value) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(first), kGroup, std::byte{value});
    return bytes;
  }

  uint64_t deadline_ns = 0;  // 0: devices are not bounded
  uint64_t overdue_ns = 0;   // 0: as it is by itself
  uint64_t shard_unit = 0;   // likewise
  ShardMode shards = ShardMode::kNeeded;
  LookAhead look_ahead = LookAhead::kAuto;
  scheduler::BalancerSpec balancer;
  std::vector<FakeBackend*> fakes;
  std::unique_ptr<scheduler::BackendSet> set;
  std::unique_ptr<scheduler::Engine> engine;
};

}  // namespace tutti::testing
