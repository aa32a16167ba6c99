// SPDX-License-Identifier: Apache-2.0
// The shortest way of a small blocking read: behind what its stream has launched on the device that
// holds the data, so that the application waits once for both.
#include "scheduler/engine/engine_impl.h"

namespace tutti::scheduler {

std::optional<Status> Engine::Impl::read_behind(Stream& stream, const Ref<Node>& command) {
  const auto* read = std::get_if<ReadWork>(&command->work);
  // With times, the application expects that they do not overlap.
  if (!read || read->size > LaunchBatches::kSmallBytes || stream.options().profiling)
    return std::nullopt;
  const auto uses = uses_of(command->work, nullptr);
  LogicalBuffer& buffer = *read->from.buffer;
  Ref<Node> before;
  uint32_t backend = 0;
  bool at_host = false;
  {
    MutexLock lock(log.mutex());
    before = log.newest_direct(stream);
    if (!before && !log.is_idle(stream)) return std::nullopt;
    at_host = (!before || before->idle) && buffer.valid_at(kHostPlace, uses[0].begin, uses[0].end);
    const Place place = executor.preferred_place(buffer, uses[0].begin, uses[0].end);
    if (!before && !at_host && place == kHostPlace) return std::nullopt;
    if (!at_host) backend = before ? before->backend : place - 1;
    if (!(at_host || (direct.possible(command->work, backend) && allocated(uses, {&backend, 1}))) ||
        !log.hold_behind(stream, before.get(), command, uses)) {
      return std::nullopt;
    }
  }
  log.set_running(command);
  const auto run = [&]() -> Status {
    if (at_host) return execute(*command);
    buffer.note_read(read->size);
    TUTTI_ASSIGN(backends::Memory * memory, buffer.device_memory(backend));
    TUTTI_ASSIGN(const DeviceQueues::Turn turn, stream.queues.next_turn(backend, false));
    if (turn.after) TUTTI_TRY(turn.after->wait());
    return turn.queue->read_blocking(*memory, read->from.origin + read->offset, read->size,
                                     read->to);
  };
  const Status status = run();
  log.finish(command, code_of(status));
  if (before && !(batches && batches->make_idle(stream))) ends.finish_if_ended(before);
  return status;
}

}  // namespace tutti::scheduler
