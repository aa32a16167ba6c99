// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/panel_launches.h"

#include <algorithm>
#include <utility>

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
      newest_(plan.panels.copies) {}

Status PanelLaunches::begin() {
  TUTTI_ASSIGN(transfers_, backends_.transfer_queue(backend_));
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
  if (!launched) static_cast<void>(queue.finish());
  return launched;
}

Result<backends::CompletionPtr> PanelLaunches::launch_all(backends::Queue& queue,
                                                          const backends::Launch& launch,
                                                          const Arguments& arguments,
                                                          const SliceRange& slices,
                                                          backends::WaitList wait) {
  const Panels& panels = plan_.panels;
  if (plan_.panels_move_with_slices()) {
    return launch_block(queue, launch, arguments, slices.first, slices.count, wait);
  }
  auto series = std::make_shared<Series>();
  const uint64_t groups = plan_.shape.groups(panels.dimension);
  for (uint64_t first = 0; first < groups; first += panels.block) {
    const uint64_t count = std::min(panels.block, groups - first);
    backends::Launch part = launch;
    narrow(part, plan_.shape, panels.dimension, first, count);
    arguments.hidden.set_first_group(panels.dimension, first);
    // The last one's panels lie as all others do.
    TUTTI_ASSIGN(auto launched, launch_block(queue, part, arguments, first, panels.block,
                                             first == 0 ? wait : backends::WaitList()));
    series->add(std::move(launched));
  }
  return series;
}

Result<backends::CompletionPtr> PanelLaunches::launch_block(backends::Queue& queue,
                                                            const backends::Launch& launch,
                                                            const Arguments& arguments,
                                                            uint64_t first, uint64_t count,
                                                            backends::WaitList wait) {
  const uint64_t n = next_++ % newest_.size();
  // What becomes of it, its package tells.
  if (newest_[n]) static_cast<void>(newest_[n]->wait());
  TUTTI_TRY(bring(arguments, first, count, n));
  TUTTI_ASSIGN(newest_[n], queue.launch(launch, wait));
  // It is enqueued, and may run whatever the vendor says of this: its own end tells.
  static_cast<void>(queue.flush());
  return newest_[n];
}

Status PanelLaunches::bring(const Arguments& arguments, uint64_t first, uint64_t count,
                            uint64_t n) {
  for (const Panels::Argument& one : plan_.panels.arguments) {
    const BufferView& view = (*work_.arguments)[one.argument].view;
    const auto shape = panel_of(one.columns, first, count, one.size);
    if (!shape) return fail(CL_INVALID_OPERATION, "an argument without panels");
    TUTTI_ASSIGN(const std::byte* host, view.buffer->host_memory());
    TUTTI_ASSIGN(const Shard there, view.buffer->shard(backend_, 0, (n + 1) * shape->bytes()));
    backends::Argument& argument = arguments.all[one.argument];
    argument.memory = there.memory;
    argument.origin = 0;
    argument.size = there.memory->size();
    const bool shown = arguments.shards.set(one.argument, shape->before(n)) &&
                       added_.set(one.argument, shape->pitch, shape->width);
    if (!shown) return fail(CL_INVALID_KERNEL_ARGS, "an argument that is no panel");
    TUTTI_TRY(backends_.transfers().write_packed(
        backend_, *transfers_, *there.memory, n * shape->bytes(), shape->bytes(),
        [&, window = host + view.origin](uint64_t from, uint64_t to, std::byte* block) {
          shape->pack(window, from, to, block);
        }));
  }
  return {};
}

}  // namespace tutti::scheduler
