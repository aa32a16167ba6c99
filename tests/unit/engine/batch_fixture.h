// SPDX-License-Identifier: Apache-2.0
// Launches with events of a kernel that is known to be brief, and so joins batches.
#pragma once

#include <memory>

#include "engine_fixture.h"

namespace tutti::testing {

class BatchTest : public EngineTest {
 protected:
  /// Anew, on these devices, with nothing split: a stream, and no launch yet.
  Ref<scheduler::Stream> begin(const FakeKinds& devices,
                               const scheduler::StreamOptions& options = {}) {
    start(devices, SplitMode::kNever);
    kernel_.reset();
    again = 0;
    return engine->create_stream(options);
  }
  /// A launch out[i] = in[i] * 3 + c with an event, of a kernel that is known to be brief. `again`
  /// counts those that repeat another one.
  Ref<scheduler::Command> launch(scheduler::Stream& stream, const Ref<scheduler::LogicalBuffer>& in,
                                 const Ref<scheduler::LogicalBuffer>& out, uint32_t c,
                                 const std::vector<scheduler::Command*>& wait_list = {}) {
    scheduler::KernelWork work = map_kernel(in, out, c);
    if (!kernel_) {
      kernel_ = std::make_shared<FakeKernel>(
          summary_of(KernelForm::kMap),
          [this](const FakeItem& item) {
            if (item.global_id[0] == 0) before_each_();
            uint32_t number = 0;
            std::memcpy(&number, item.launch->arguments[3].bytes.data(), 4);
            apply(KernelForm::kMap, item.memory(0), item.memory(1),
                  static_cast<uint32_t>(item.global_id[0]), kBytes, number);
          },
          set->count());
    }
    work.kernel = kernel_;
    for (uint32_t device = 0; device < set->count(); ++device) {
      set->model().add(scheduler::model_key(work), device, kBytes, 1e-6);
    }
    scheduler::LaunchObserver observer{CL_COMMAND_NDRANGE_KERNEL};
    if (launch_again(*engine, stream, work, &observer, wait_list)) {
      ++again;
      EXPECT_EQ(observer.command->type(), static_cast<cl_command_type>(CL_COMMAND_NDRANGE_KERNEL));
      return observer.command;
    }
    auto command = enqueue(stream, std::move(work), wait_list);
    EXPECT_TRUE(command);
    return *command;
  }
  /// Nobody observes it.
  void write(scheduler::Stream& stream, const Ref<scheduler::LogicalBuffer>& to, uint64_t size,
             const std::byte* from, bool blocking = false) {
    scheduler::EnqueueOptions options;
    options.type = CL_COMMAND_WRITE_BUFFER;
    options.observed = false;
    options.blocking = blocking;
    EXPECT_TRUE(engine->enqueue(stream, scheduler::WriteWork{whole(to), 0, size, from}, options));
  }
  Status wait(const Ref<scheduler::Command>& command) {
    scheduler::Command* one = command.get();
    return engine->wait({&one, 1});
  }
  /// Nobody observes it.
  void barrier(scheduler::Stream& stream) {
    scheduler::EnqueueOptions options;
    options.type = CL_COMMAND_BARRIER;
    options.observed = false;
    options.barrier = options.waits_for_all = true;
    EXPECT_TRUE(engine->enqueue(stream, scheduler::MarkerWork{}, options));
  }
  static std::vector<std::byte> mapped(uint32_t in, uint32_t c) {
    return filled(static_cast<uint8_t>(in * 3 + c));
  }

  int again = 0;
  std::shared_ptr<FakeKernel> kernel_;
  std::function<void()> before_each_ = [] {};
};

}  // namespace tutti::testing
