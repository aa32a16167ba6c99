// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/launch_content.h"

#include "scheduler/devices/transfer_trace.h"

namespace tutti::scheduler {

std::shared_ptr<const ContentValues> content_of(const KernelWork& work, const LaunchAccess& access,
                                                Content content) {
  const auto bounded = access.bounded_by_content();
  if (bounded.empty()) return nullptr;
  const KernelSummary& summary = work.kernel->summary();
  const ArgumentSet& arguments = *work.arguments;
  auto values = std::make_shared<ContentValues>();
  for (const uint32_t index : bounded) {
    const Access& reads = summary.accesses[index];
    const ContentBounds& bounds = *reads.content;
    for (const uint32_t load : {bounds.first, bounds.end}) {
      const uint32_t argument = summary.accesses[load].argument;
      const BufferView& view = arguments[argument].view;
      if (!view.buffer || view.origin % (bounds.width / 8) != 0) continue;
      if (values->has(argument, bounds)) continue;
      if (content == Content::kGuessed) {
        values->guess(argument, bounds, view.size, arguments[reads.argument].view.size);
      } else if (const std::byte* bytes =
                     view.buffer->content_at_host(view.origin, view.origin + view.size)) {
        values->add(argument, bounds, {bytes, view.size});
      }
    }
  }
  return values;
}

Status bring_content(const KernelWork& work, const LaunchAccess& access) {
  const TransferCause cause("it bounds what a launch reads", 0, kernel_name(work));
  const KernelSummary& summary = work.kernel->summary();
  for (const uint32_t index : access.bounded_by_content()) {
    const ContentBounds& bounds = *summary.accesses[index].content;
    for (const uint32_t load : {bounds.first, bounds.end}) {
      const BufferView& view = (*work.arguments)[summary.accesses[load].argument].view;
      if (!view.buffer) continue;
      TUTTI_TRY(view.buffer->make_valid(kHostPlace, view.origin, view.origin + view.size));
    }
  }
  return {};
}

}  // namespace tutti::scheduler
