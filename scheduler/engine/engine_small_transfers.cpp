// SPDX-License-Identifier: Apache-2.0
// The shortest ways of small transfers between launches. A blocking read goes behind what its
// stream has launched on the device that holds the data, so that the application waits once for
// both. A write, a fill, and a read that nobody waits for join the batch that they come after.
#include "scheduler/engine/engine_impl.h"

namespace tutti::scheduler {
namespace {

// Of larger ones the transfer takes the time, which other ways do better.
constexpr uint64_t kSmallBytes = 64 << 10;

}  // namespace

std::optional<Status> Engine::Impl::read_behind(Stream& stream, const Ref<Command>& command) {
  const auto* read = std::get_if<ReadWork>(&command->work_);
  // With times, the application expects that they do not overlap.
  if (!read || read->size > kSmallBytes || stream.options().profiling) return std::nullopt;
  const auto uses = uses_of(command->work_, nullptr);
  LogicalBuffer& buffer = *read->from.buffer;
  Ref<Command> before;
  uint32_t backend = 0;
  bool at_host = false;
  {
    MutexLock lock(log.mutex());
    before = log.newest_direct(stream);
    if (!before && !log.is_idle(stream)) return std::nullopt;
    at_host = (!before || before->idle_) && buffer.valid_at(kHostPlace, uses[0].begin, uses[0].end);
    const Place place = executor.preferred_place(buffer, uses[0].begin, uses[0].end);
    if (!before && !at_host && place == kHostPlace) return std::nullopt;
    if (!at_host) backend = before ? before->backend_ : place - 1;
    if (!(at_host ||
          (direct.possible(command->work_, backend) && allocated(uses, {&backend, 1}))) ||
        !log.hold_behind(stream, before.get(), command, uses)) {
      return std::nullopt;
    }
  }
  log.set_running(command);
  const auto run = [&]() -> Status {
    if (at_host) return execute(*command);
    buffer.note_read(read->size);
    TUTTI_ASSIGN(backends::Memory * memory, buffer.device_memory(backend));
    TUTTI_ASSIGN(const Stream::Turn turn, stream.next_turn(backend, false));
    if (turn.after) TUTTI_TRY(turn.after->wait());
    return turn.queue->read_blocking(*memory, read->from.origin + read->offset, read->size,
                                     read->to);
  };
  const Status status = run();
  log.finish(command, code_of(status));
  if (before && !idle_batch(stream)) finish_if_ended(before);
  return status;
}

bool Engine::Impl::may_join_batches(const Work& work) {
  if (const auto* write = std::get_if<WriteWork>(&work)) return write->size <= kSmallBytes;
  if (const auto* fill = std::get_if<FillWork>(&work)) return fill->size <= kSmallBytes;
  if (const auto* read = std::get_if<ReadWork>(&work)) return read->size <= kSmallBytes;
  return false;
}

std::optional<Result<Ref<Command>>> Engine::Impl::transfer_behind(Stream& stream, const Work& work,
                                                                  const EnqueueOptions& options) {
  const auto* write = std::get_if<WriteWork>(&work);
  const auto* read = std::get_if<ReadWork>(&work);
  if (read && (options.blocking || options.observed)) return std::nullopt;
  if (options.blocking && options.observed) return std::nullopt;  // it has ended, not the batch
  const auto uses = uses_of(work, nullptr);
  Ref<Command> batch;
  uint32_t backend = 0;
  {
    MutexLock lock(log.mutex());
    batch = log.open_batch(stream);
    if (!batch) return std::nullopt;
    backend = batch->backend_;
    LogicalBuffer& buffer = *uses[0].buffer;
    // The host's copy takes or gives it at once. But the batch would be over then, and without
    // another device the next launches may as well repeat.
    if (batch->idle_ && (options.blocking || !in_one_memory(buffer)) &&
        (read ? buffer.valid_at(kHostPlace, uses[0].begin, uses[0].end)
              : executor.place_of_write(buffer, uses[0].begin, uses[0].end) == kHostPlace)) {
      return std::nullopt;
    }
    // Where another device may want it next it need not wait here.
    if ((!read && backends.real_count() > 1 &&
         buffer.valid_places(uses[0].begin, uses[0].end) != place_bit(buffer.place_on(backend))) ||
        (backends.traits(backend).reads_ahead && log.reads_what_is_written(stream, work)) ||
        !direct.possible(work, backend) || !may_join(*batch, uses)) {
      return std::nullopt;
    }
    log.join(*batch, uses);
    if (read) log.join_host_use(stream, *batch, host_use_of(work));
  }
  auto submitted =
      options.blocking && write
          ? direct.write_blocking(*write, stream, backend).map([&] { return batch->completion_; })
          : direct.submit(work, stream, backend, {}, {.times = false, .own_end = options.observed});
  if (!submitted) {
    settle(stream, *batch, backend, {}, batch->completion_, nullptr);
    return tl::unexpected<Error>(std::move(submitted).error());
  }
  Ref<Command> event = new_batch_event(options);
  settle(stream, *batch, backend, {}, std::move(*submitted), nullptr, event.get());
  return event;
}

}  // namespace tutti::scheduler
