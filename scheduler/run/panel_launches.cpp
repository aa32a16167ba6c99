// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/panel_launches.h"

#include <algorithm>
#include <utility>

#include "scheduler/run/vendor_launch.h"

namespace tutti::scheduler {
namespace {

/// Several commands, in the order in which they were enqueued.
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
    auto all = all_.front()->times();
    for (const auto& one : all_) {
      const auto its = one->times();
      if (!all || !its) return std::nullopt;
      all->ended = std::max(all->ended, its->ended);
    }
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
      places_(plan.panels.copies) {}

Status PanelLaunches::begin() {
  TUTTI_ASSIGN(transfers_, backends_.transfer_queue(backend_));
  for (const Panels::Argument& one : plan_.panels.arguments) {
    LogicalBuffer& buffer = *(*work_.arguments)[one.argument].view.buffer;
    if (!buffer.has_memory(backend_)) continue;
    TUTTI_TRY(buffer.move_shard(backend_, buffer.shard_range(backend_)));
  }
  return {};
}

void PanelLaunches::moved(const LogicalBuffer& buffer) {
  for (const Panels::Argument& one : plan_.panels.arguments) {
    if ((*work_.arguments)[one.argument].view.buffer.get() != &buffer) continue;
    for (Place& place : places_) place.groups.reset();
  }
}

Result<backends::CompletionPtr> PanelLaunches::launch(std::span<backends::Queue* const> queues,
                                                      const backends::Launch& launch,
                                                      const Arguments& arguments,
                                                      const SliceRange& slices,
                                                      backends::WaitList wait) {
  auto launched = launch_all(queues, launch, arguments, slices, wait);
  // Others may compute the package then.
  if (!launched) {
    for (backends::Queue* const queue : queues) static_cast<void>(queue->finish());
  }
  return launched;
}

Result<backends::CompletionPtr> PanelLaunches::launch_all(std::span<backends::Queue* const> queues,
                                                          const backends::Launch& launch,
                                                          const Arguments& arguments,
                                                          const SliceRange& slices,
                                                          backends::WaitList wait) {
  const auto next_queue = [&]() -> backends::Queue& {
    return *queues[launches_++ % queues.size()];
  };
  const Panels& panels = plan_.panels;
  if (plan_.panels_move_with_slices()) {
    return launch_block(next_queue(), launch, arguments, slices, wait);
  }
  auto series = std::make_shared<Series>();
  const uint64_t groups = plan_.shape.groups(panels.dimension);
  const uint64_t blocks = (groups + panels.block - 1) / panels.block;
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t first = (downwards_ ? blocks - 1 - i : i) * panels.block;
    backends::Launch part = launch;
    narrow(part, plan_.shape, panels.dimension, first, std::min(panels.block, groups - first));
    arguments.hidden.set_first_group(panels.dimension, first);
    // The last one's panels lie as all others do.
    TUTTI_ASSIGN(auto launched,
                 launch_block(next_queue(), part, arguments, {first, panels.block}, wait));
    series->add(std::move(launched));
  }
  downwards_ = !downwards_;
  return series;
}

Result<backends::CompletionPtr> PanelLaunches::launch_block(backends::Queue& queue,
                                                            const backends::Launch& launch,
                                                            const Arguments& arguments,
                                                            const SliceRange& groups,
                                                            backends::WaitList wait) {
  newest_ = place_for(groups);
  TUTTI_TRY(bring(arguments, groups, newest_));
  TUTTI_ASSIGN(auto launched, queue.launch(launch, wait));
  places_[newest_].users.push_back(launched);
  // It is enqueued, and may run whatever the vendor says of this: its own end tells.
  static_cast<void>(queue.flush());
  return launched;
}

uint64_t PanelLaunches::place_for(const SliceRange& groups) {
  for (uint64_t n = 0; n < places_.size(); ++n) {
    const auto& [users, there] = places_[n];
    if (there != groups) continue;
    const bool failed =
        std::any_of(users.begin(), users.end(), [](const auto& user) { return user->poll() < 0; });
    if (!failed) return n;
  }
  const uint64_t n = (newest_ + 1) % places_.size();
  // What becomes of them, their packages tell.
  for (const auto& user : places_[n].users) static_cast<void>(user->wait());
  places_[n] = {};
  return n;
}

Status PanelLaunches::bring(const Arguments& arguments, const SliceRange& groups, uint64_t n) {
  for (const Panels::Argument& one : plan_.panels.arguments) {
    const BufferView& view = (*work_.arguments)[one.argument].view;
    const auto shape = panel_of(one.columns, groups.first, groups.count, one.size);
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
    if (places_[n].groups == groups) continue;
    TUTTI_TRY(backends_.transfers().write_packed(
        backend_, *transfers_, *there.memory, n * shape->bytes(), shape->bytes(),
        [&, window = host + view.origin](uint64_t from, uint64_t to, std::byte* block) {
          shape->pack(window, from, to, block);
        }));
  }
  places_[n].groups = groups;
  return {};
}

}  // namespace tutti::scheduler
