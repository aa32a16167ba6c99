// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/launch_content.h"

#include <span>

#include "scheduler/devices/transfer_trace.h"

namespace tutti::scheduler {
namespace {

/// Calls visit(access, argument, view) for the numbers that bound one of these accesses, where
/// `view` of the buffer that is `argument` holds them; ends with the first failure.
template <typename Visit>
Status for_each_bound(const KernelWork& work, std::span<const uint32_t> bounded, Visit&& visit) {
  const KernelSummary& summary = work.kernel->summary();
  for (const uint32_t index : bounded) {
    const Access& access = summary.accesses[index];
    for (const uint32_t load : {access.content->first, access.content->end}) {
      const uint32_t argument = summary.accesses[load].argument;
      const BufferView& view = (*work.arguments)[argument].view;
      if (view.buffer) TUTTI_TRY(visit(access, argument, view));
    }
  }
  return {};
}

}  // namespace

std::shared_ptr<const ContentValues> content_of(const KernelWork& work, const LaunchAccess& launch,
                                                Content content) {
  const auto bounded = launch.bounded_by_content();
  if (bounded.empty()) return nullptr;
  auto values = std::make_shared<ContentValues>();
  const auto add = [&](const Access& access, uint32_t argument, const BufferView& view) -> Status {
    const ContentBounds& bounds = *access.content;
    if (view.origin % (bounds.width / 8) != 0 || values->has(argument, bounds)) return {};
    if (content == Content::kGuessed) {
      const uint64_t reached = (*work.arguments)[access.argument].view.size;
      values->guess(argument, bounds, view.size, reached);
    } else if (const std::byte* bytes =
                   view.buffer->content_at_host(view.origin, view.origin + view.size)) {
      values->add(argument, bounds, {bytes, view.size});
    }
    return {};
  };
  static_cast<void>(for_each_bound(work, bounded, add));
  return values;
}

Status bring_content(const KernelWork& work, const LaunchAccess& launch) {
  const TransferCause cause("it bounds what a launch reads", 0, kernel_name(work));
  const auto bring = [](const Access&, uint32_t, const BufferView& view) {
    return view.buffer->make_valid(kHostPlace, view.origin, view.origin + view.size);
  };
  return for_each_bound(work, launch.bounded_by_content(), bring);
}

}  // namespace tutti::scheduler
