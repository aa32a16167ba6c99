// SPDX-License-Identifier: Apache-2.0
// The executor's work on what the host touches itself: maps, and functions of the application.
#include "scheduler/run/executor.h"

namespace tutti::scheduler {

Status Executor::run(const MapWork& work) {
  const uint64_t begin = work.view.origin + work.offset;
  TUTTI_ASSIGN([[maybe_unused]] std::byte * host, work.view.buffer->host_memory());
  if (!work.discard) {
    work.view.buffer->note_read(work.size);
    return work.view.buffer->make_valid(kHostPlace, begin, begin + work.size);
  }
  // From now on the application writes there, and nothing else may.
  work.view.buffer->set_exclusive(kHostPlace, begin, begin + work.size);
  return {};
}

Status Executor::run(const HostWork& work) {
  for (const BufferView& view : work.buffers) {
    TUTTI_ASSIGN([[maybe_unused]] std::byte * host, view.buffer->host_memory());
    TUTTI_TRY(view.buffer->make_valid(kHostPlace, view.origin, view.origin + view.size));
  }
  TUTTI_TRY(work.function());
  for (const BufferView& view : work.buffers) {
    view.buffer->set_exclusive(kHostPlace, view.origin, view.origin + view.size);
  }
  return {};
}

Status Executor::run(const MapSharedWork& work) {
  LogicalBuffer& buffer = *work.view.buffer;
  const uint32_t home = buffer.home();
  const Place place = buffer.place_on(home);
  const uint64_t begin = work.view.origin + work.offset;
  const uint64_t end = begin + work.size;
  if (!work.unmap && (work.flags & CL_MAP_WRITE_INVALIDATE_REGION) == 0) {
    buffer.note_read(work.size);
    TUTTI_TRY(buffer.make_valid(place, begin, end));
  }
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(home));
  const Status done = work.unmap
                          ? queue->unmap_shared(*buffer.shared(), begin)
                          : queue->map_shared(*buffer.shared(), begin, work.size, work.flags);
  backends_.health().note(home, done);
  TUTTI_TRY(done);
  // What the application writes is there alone, also while it does.
  if (work.writes) buffer.set_exclusive(place, begin, end);
  return {};
}

Status Executor::run(const UnmapWork& work) {
  if (!work.written) return {};
  const uint64_t begin = work.view.origin + work.offset;
  work.view.buffer->set_exclusive(kHostPlace, begin, begin + work.size);
  return {};
}

}  // namespace tutti::scheduler
