// SPDX-License-Identifier: Apache-2.0
// The shortest way of a small blocking read: it goes behind what its stream has launched on the
// device that holds the data, so that the application waits once for both.
#include "scheduler/exec/engine_impl.h"

namespace tutti::scheduler {
namespace {

// Of larger ones the transfer takes the time, which others do better.
constexpr uint64_t kSmallBytes = 64 << 10;

}  // namespace

std::optional<Status> Engine::Impl::read_behind(Stream& stream, const Ref<Command>& command) {
  const auto* read = std::get_if<ReadWork>(&command->work_);
  // With times, the application expects that they do not overlap.
  if (!read || read->size > kSmallBytes || stream.options().profiling) return std::nullopt;
  const auto uses = uses_of(command->work_, nullptr);
  Ref<Command> before;
  uint32_t backend = 0;
  {
    MutexLock lock(log.mutex());
    before = log.newest_direct(stream);
    if (!before) return std::nullopt;
    backend = before->backend_;
    if (!direct.possible(command->work_, backend) || !allocated(uses, {&backend, 1}) ||
        !log.hold_behind(*before, command, uses)) {
      return std::nullopt;
    }
  }
  log.set_running(command);
  LogicalBuffer& buffer = *read->from.buffer;
  buffer.note_read(read->size);
  const auto run = [&]() -> Status {
    TUTTI_ASSIGN(backends::Memory * memory, buffer.device_memory(backend));
    TUTTI_ASSIGN(const Stream::Turn turn, stream.next_turn(backend, false));
    if (turn.after) TUTTI_TRY(turn.after->wait());
    return turn.queue->read_blocking(*memory, read->from.origin + read->offset, read->size,
                                     read->to);
  };
  const Status status = run();
  log.finish(command, code_of(status));
  if (!rest_train(stream)) finish_if_ended(before);
  return status;
}

}  // namespace tutti::scheduler
