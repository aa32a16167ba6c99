// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/panel_launches.h"

#include <algorithm>
#include <utility>

#include "scheduler/memory/device_transfer.h"
#include "scheduler/run/vendor_launch.h"

namespace tutti::scheduler {
namespace {

/// Of several commands of one queue, the last one behind the others.
class Series final : public backends::Completion {
 public:
  void add(backends::CompletionPtr one) { all_.push_back(std::move(one)); }

  cl_int poll() override {
    cl_int state = CL_COMPLETE;
    for (const auto& one : all_) {
      const cl_int its = one->poll();
      if (its < 0) return its;
      state = std::max(state, its);
    }
    return state;
  }
  bool known_complete() const override {
    return std::all_of(all_.begin(), all_.end(),
                       [](const auto& one) { return one->known_complete(); });
  }
  Status wait() override {
    Status status;
    for (const auto& one : all_) {
      Status ended = one->wait();
      if (status) status = std::move(ended);
    }
    return status;
  }
  std::optional<backends::VendorTimes> times() override {
    const auto first = all_.front()->times();
    auto all = all_.back()->times();
    if (!first || !all) return std::nullopt;
    all->queued = first->queued;
    all->submitted = first->submitted;
    all->started = first->started;
    return all;
  }

 private:
  std::vector<backends::CompletionPtr> all_;
};

}  // namespace

PanelLaunches::PanelLaunches(BackendSet& backends, uint32_t backend, const KernelWork& work,
                             const KernelPlan& plan)
    : backends_(backends),
      backend_(backend),
      work_(work),
      plan_(plan),
      added_(work.kernel->panel_arguments()),
      stages_{Stage(backends, backend, kTransferBlock), Stage(backends, backend, kTransferBlock)} {}

Status PanelLaunches::begin() {
  for (const Panels::Argument& one : plan_.panels.arguments) {
    LogicalBuffer& buffer = *(*work_.arguments)[one.argument].view.buffer;
    if (!buffer.has_memory(backend_)) continue;
    TUTTI_TRY(buffer.move_shard(backend_, buffer.shard_range(backend_)));
  }
  return {};
}

Result<backends::CompletionPtr> PanelLaunches::launch(backends::Queue& queue,
                                                      const backends::Launch& launch,
                                                      const Arguments& arguments,
                                                      const SliceRange& slices,
                                                      backends::WaitList wait) {
  auto launched = launch_all(queue, launch, arguments, slices, wait);
  // Others may compute the package then.
  static_cast<void>(launched ? queue.flush() : queue.finish());
  return launched;
}

Result<backends::CompletionPtr> PanelLaunches::launch_all(backends::Queue& queue,
                                                          const backends::Launch& launch,
                                                          const Arguments& arguments,
                                                          const SliceRange& slices,
                                                          backends::WaitList wait) {
  const Panels& panels = plan_.panels;
  if (plan_.panels_move_with_slices()) {
    TUTTI_TRY(bring(queue, arguments, slices.first, slices.count));
    return queue.launch(launch, wait);
  }
  auto series = std::make_shared<Series>();
  const uint64_t groups = plan_.shape.groups(panels.dimension);
  for (uint64_t first = 0; first < groups; first += panels.block) {
    const uint64_t count = std::min(panels.block, groups - first);
    TUTTI_TRY(bring(queue, arguments, first, count));
    backends::Launch part = launch;
    narrow(part, plan_.shape, panels.dimension, first, count);
    arguments.hidden.set_first_group(panels.dimension, first);
    TUTTI_ASSIGN(auto launched, queue.launch(part, first == 0 ? wait : backends::WaitList()));
    series->add(std::move(launched));
    static_cast<void>(queue.flush());
  }
  return series;
}

Status PanelLaunches::bring(backends::Queue& queue, const Arguments& arguments, uint64_t first,
                            uint64_t count) {
  for (const Panels::Argument& one : plan_.panels.arguments) {
    const BufferView& view = (*work_.arguments)[one.argument].view;
    const auto shape = panel_of(one.columns, first, count, one.size);
    if (!shape) return fail(CL_INVALID_OPERATION, "an argument without panels");
    TUTTI_ASSIGN(const std::byte* host, view.buffer->host_memory());
    TUTTI_ASSIGN(const Shard there, view.buffer->shard(backend_, 0, shape->bytes()));
    backends::Argument& argument = arguments.all[one.argument];
    argument.memory = there.memory;
    argument.origin = 0;
    argument.size = there.memory->size();
    const bool shown = arguments.shards.set(one.argument, static_cast<uint64_t>(shape->begin)) &&
                       added_.set(one.argument, shape->pitch, shape->width);
    if (!shown) return fail(CL_INVALID_KERNEL_ARGS, "an argument that is no panel");
    TUTTI_TRY(transfer(queue, *there.memory, *shape, host + view.origin));
  }
  return {};
}

Status PanelLaunches::transfer(backends::Queue& queue, backends::Memory& to,
                               const PanelShape& shape, const std::byte* window) {
  const uint64_t step = std::min(kTransferBlock, shape.bytes());
  for (uint64_t at = 0; at < shape.bytes(); at += step) {
    const uint64_t end = std::min(at + step, shape.bytes());
    Stage& stage = stages_[next_stage_ ^= 1];
    TUTTI_TRY(stage.wait());
    std::byte* const block = stage.memory(kTransferBlock);
    shape.pack(window, at, end, block);
    TUTTI_ASSIGN(auto sent, queue.write(to, at, end - at, block, {}));
    stage.sent(std::move(sent));
  }
  return {};
}

}  // namespace tutti::scheduler
