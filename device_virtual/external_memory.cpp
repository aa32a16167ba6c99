// SPDX-License-Identifier: Apache-2.0
// Commands that hand memory over between OpenCL and the interface that has made it.
#include <memory>
#include <utility>
#include <vector>

#include "device_virtual/buffer.h"
#include "device_virtual/command_queue.h"

namespace tutti::device_virtual {

Status CommandQueue::hand_over(std::span<Buffer* const> memory, backends::HandOver what,
                               const Submission& submission) {
  const bool acquires = what == backends::HandOver::kAcquire;
  if (memory.empty()) return enqueue(scheduler::no_work(), submission);
  const backends::ExternalKind kind = memory.front()->external_kind();
  // Vendors may use the context of OpenGL, which the application's thread has as its own then.
  scheduler::HostWork work{.function = {},
                           .renews = acquires,
                           .in_caller = kind == backends::ExternalKind::kGl,
                           .name = acquires ? "an acquire of memory" : "a release of memory"};
  for (Buffer* const object : memory) work.in_place.push_back(object->view());
  work.function = [context = context_, views = work.in_place, what, acquires, kind]() -> Status {
    const uint32_t home = views.front().buffer->home();
    std::vector<std::shared_ptr<backends::Memory>> own;
    for (const scheduler::BufferView& view : views) own.push_back(view.buffer->external());
    // The other interface finds all that was written here, and what it has written is found here.
    for (const auto& view : views) {
      if (!acquires) TUTTI_TRY(view.buffer->hold_at_home(false));
    }
    const Status done = context->backends().at(home).hand_over(own, what, kind);
    context->backends().health().note(home, done);
    TUTTI_TRY(done);
    for (const auto& view : views) {
      if (acquires) TUTTI_TRY(view.buffer->hold_at_home(true));
    }
    return {};
  };
  return enqueue(std::move(work), submission);
}

}  // namespace tutti::device_virtual
