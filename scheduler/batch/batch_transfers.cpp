// SPDX-License-Identifier: Apache-2.0
// Small transfers between launches: a write, a fill, and a read that nobody waits for join the
// batch that they come after.
#include "scheduler/batch/launch_batches.h"

namespace tutti::scheduler {

bool LaunchBatches::may_join(const Work& work) {
  if (const auto* write = std::get_if<WriteWork>(&work)) return write->size <= kSmallBytes;
  if (const auto* fill = std::get_if<FillWork>(&work)) return fill->size <= kSmallBytes;
  if (const auto* read = std::get_if<ReadWork>(&work)) return read->size <= kSmallBytes;
  return false;
}

std::optional<Result<Ref<Node>>> LaunchBatches::join(Stream& stream, const Work& work,
                                                     const EnqueueOptions& options) {
  const auto* write = std::get_if<WriteWork>(&work);
  const auto* read = std::get_if<ReadWork>(&work);
  if (read && (options.blocking || options.observed)) return std::nullopt;
  if (options.blocking && options.observed) return std::nullopt;  // it has ended, not the batch
  const auto uses = uses_of(work, nullptr);
  Ref<Node> batch;
  uint32_t backend = 0;
  {
    MutexLock lock(log_.mutex());
    batch = open_batch(stream);
    if (!batch) return std::nullopt;
    backend = batch->backend;
    LogicalBuffer& buffer = *uses[0].buffer;
    // The host's copy takes or gives it at once. But the batch would be over then, and where the
    // device does, too, or there is no other, the next launches may as well repeat.
    const bool as_well = buffer.in_one_memory() || parts_.backends.all_synchronous();
    if (batch->idle && (options.blocking || !as_well) &&
        (read ? buffer.valid_at(kHostPlace, uses[0].begin, uses[0].end)
              : parts_.executor.place_of_write(buffer, uses[0].begin, uses[0].end) == kHostPlace)) {
      return std::nullopt;
    }
    // Where another device may want it next it need not wait here, if that is for long.
    const PlaceSet places = buffer.valid_places(uses[0].begin, uses[0].end);
    const bool here = places == place_bit(buffer.place_on(backend)) ||
                      (places == kEverywhere && parts_.planner.ends_soon(batch->expected, backend));
    if ((!read && parts_.backends.real_count() > 1 && !here) ||
        (parts_.backends.traits(backend).reads_ahead && log_.reads_what_is_written(stream, work)) ||
        !parts_.direct.possible(work, backend) || !is_free(*batch, uses)) {
      return std::nullopt;
    }
    join_node(*batch, uses);
    if (read) log_.join_host_use(stream, *batch, host_use_of(work));
  }
  auto submitted = options.blocking && write
                       ? parts_.direct.write_blocking(*write, stream, backend).map([&] {
                           return batch->completion;
                         })
                       : parts_.direct.submit(work, stream, backend, {},
                                              {.times = false, .own_end = options.observed});
  if (!submitted) {
    settle(stream, *batch, backend, {}, batch->completion, nullptr);
    if (may_go_elsewhere(stream, backend, submitted.error())) return std::nullopt;
    return tl::unexpected<Error>(std::move(submitted).error());
  }
  Ref<Node> event = new_event(options);
  settle(stream, *batch, backend, {}, std::move(*submitted), nullptr, event.get());
  return event;
}

}  // namespace tutti::scheduler
