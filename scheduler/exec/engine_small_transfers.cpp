// SPDX-License-Identifier: Apache-2.0
// The shortest ways of small transfers between launches. A blocking read goes behind what its
// stream has launched on the device that holds the data, so that the application waits once for
// both. A write, a fill, and a read that nobody waits for join the train that they come after.
#include "scheduler/exec/engine_impl.h"

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
    at_host =
        (!before || before->rests_) && buffer.valid_at(kHostPlace, uses[0].begin, uses[0].end);
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
  if (before && !rest_train(stream)) finish_if_ended(before);
  return status;
}

bool Engine::Impl::may_join_trains(const Work& work) {
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
  if (options.blocking && options.observed) return std::nullopt;  // it has ended, not the train
  const auto uses = uses_of(work, nullptr);
  Ref<Command> train;
  uint32_t backend = 0;
  {
    MutexLock lock(log.mutex());
    train = log.open_train(stream);
    if (!train) return std::nullopt;
    backend = train->backend_;
    LogicalBuffer& buffer = *uses[0].buffer;
    // The host's copy takes or gives it at once. But the train would be over then, and without
    // another device the next launches may as well repeat.
    if (train->rests_ && (options.blocking || !in_one_memory(buffer)) &&
        (read ? buffer.valid_at(kHostPlace, uses[0].begin, uses[0].end)
              : executor.place_of_write(buffer, uses[0].begin, uses[0].end) == kHostPlace)) {
      return std::nullopt;
    }
    // Where another device may want it next it need not wait here.
    if ((!read && backends.real_count() > 1 &&
         buffer.valid_places(uses[0].begin, uses[0].end) != place_bit(buffer.place_on(backend))) ||
        (backends.traits(backend).reads_ahead && log.reads_what_is_written(stream, work)) ||
        !direct.possible(work, backend) || !may_join(*train, uses)) {
      return std::nullopt;
    }
    log.join(*train, uses);
    if (read) log.join_host_use(stream, *train, host_use_of(work));
  }
  auto submitted =
      options.blocking && write
          ? direct.write_blocking(*write, stream, backend).map([&] { return train->completion_; })
          : direct.submit(work, stream, backend, {}, {.times = false, .own_end = options.observed});
  if (!submitted) {
    settle(stream, *train, backend, {}, train->completion_, nullptr);
    return tl::unexpected<Error>(std::move(submitted).error());
  }
  Ref<Command> passenger = new_passenger(options);
  settle(stream, *train, backend, {}, std::move(*submitted), nullptr, passenger.get());
  return passenger;
}

}  // namespace tutti::scheduler
