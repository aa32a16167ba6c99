// SPDX-License-Identifier: Apache-2.0
// What joins the batch that it comes after, beside launches: a small write, fill, copy, or read
// that nobody waits for, a marker, and an unmap that moves nothing.
#include <algorithm>

#include "scheduler/batch/launch_batches.h"

namespace tutti::scheduler {

bool LaunchBatches::may_join(const Work& work) {
  if (std::holds_alternative<MarkerWork>(work)) return true;
  if (std::holds_alternative<UnmapWork>(work)) return true;
  if (const auto* write = std::get_if<WriteWork>(&work)) return write->size <= kSmallBytes;
  if (const auto* fill = std::get_if<FillWork>(&work)) return fill->size <= kSmallBytes;
  if (const auto* copy = std::get_if<CopyWork>(&work)) return copy->size <= kSmallBytes;
  if (const auto* read = std::get_if<ReadWork>(&work)) return read->size <= kSmallBytes;
  return false;
}

bool LaunchBatches::host_has(const Work& work, const BufferUse& use) const {
  LogicalBuffer& buffer = *use.buffer;
  if (std::holds_alternative<ReadWork>(work)) {
    return buffer.valid_at(kHostPlace, use.begin, use.end);
  }
  const auto* copy = std::get_if<CopyWork>(&work);
  return (copy ? parts_.executor.place_of_copy(*copy)
               : parts_.executor.place_of_write(buffer, use.begin, use.end)) == kHostPlace;
}

bool LaunchBatches::join_transfer(Stream& stream, const Work& work, std::span<const BufferUse> uses,
                                  const EnqueueOptions& options, Node& batch) {
  const auto written =
      std::find_if(uses.begin(), uses.end(), [](const BufferUse& use) { return use.writes; });
  const bool reads = written == uses.end();
  const BufferUse& use = reads ? uses.front() : *written;
  const LogicalBuffer& buffer = *use.buffer;
  const uint32_t backend = batch.backend;
  // The host's copy takes or gives it at once. But the batch would be over then, and where the
  // device does, too, or there is no other, the next launches may as well repeat.
  const bool as_well = buffer.in_one_memory() || parts_.backends.all_synchronous();
  if (batch.idle && (options.blocking || !as_well) && host_has(work, use)) return false;
  // Where another device may want it next it need not wait here, if that is for long.
  const PlaceSet places = buffer.valid_places(use.begin, use.end);
  const bool here = places == place_bit(buffer.place_on(backend)) ||
                    (places == kEverywhere && parts_.planner.ends_soon(batch.expected, backend));
  if ((!reads && parts_.backends.real_count() > 1 && !here) ||
      (parts_.backends.traits(backend).reads_ahead && log_.reads_what_is_written(stream, work)) ||
      !parts_.direct.possible(work, backend) || !is_free(batch, uses)) {
    return false;
  }
  join_node(batch, uses, options.group);
  if (reads) log_.join_host_use(stream, batch, host_use_of(work));
  return true;
}

bool LaunchBatches::come_behind(const Stream& stream, const EnqueueOptions& options, Node& batch,
                                Completions& waits) {
  // The error of what a marker names must reach who observes it.
  if (options.observed || stream.options().out_of_order) return false;
  Nodes others;
  for (Command* const named : options.wait_list) {
    if (log_.are_ahead(stream, {&named, 1})) continue;
    Node& other = node_of(*named);
    // Of a batch more is to be known than when one of its launches ends.
    const bool there = other.state == Node::State::kDirect && other.backend == batch.backend &&
                       !other.is_batch && !other.after && other.completion;
    if (!there) return false;
    others.emplace_back(&other);
  }
  if (others.empty()) return true;
  constexpr size_t kMostBehind = 16;
  if (!CommandLog::waits_behind(batch)) log_.let_go_behind(batch);
  if (!parts_.backends.traits(batch.backend).markers ||
      batch.behind.size() + others.size() > kMostBehind) {
    return false;
  }
  join_node(batch, {}, options.group);
  for (Ref<Node>& other : others) {
    waits.push_back(other->completion);
    batch.behind.push_back(std::move(other));
  }
  return true;
}

bool LaunchBatches::join_marker(Stream& stream, const EnqueueOptions& options,
                                const Ref<Node>& batch, Completions& waits) {
  if (!CommandLog::all_ahead_of(stream, *batch)) return false;
  if (!options.wait_list.empty()) return come_behind(stream, options, *batch, waits);
  // One whose launches have all ended has nothing to wait for.
  if (options.observed && (batch->idle || !parts_.backends.traits(batch->backend).markers)) {
    return false;
  }
  if (options.barrier) log_.set_barrier(stream, batch, true);
  if (options.observed) join_node(*batch, {}, options.group);
  return true;
}

std::optional<Result<Ref<Node>>> LaunchBatches::join(Stream& stream, const Work& work,
                                                     const EnqueueOptions& options) {
  const auto* write = std::get_if<WriteWork>(&work);
  const bool marks = std::holds_alternative<MarkerWork>(work);
  if (std::holds_alternative<ReadWork>(work) && options.blocking) return std::nullopt;
  if (options.blocking && options.observed) return std::nullopt;  // it has ended, not the batch
  const bool unmaps = std::holds_alternative<UnmapWork>(work);
  if (unmaps && options.observed) return std::nullopt;  // it ends at once
  // With times, the application expects that a transfer begins where it says so.
  if (options.observed && stream.options().profiling) return std::nullopt;
  const auto uses = uses_of(work, nullptr);
  Ref<Node> batch;
  uint32_t backend = 0;
  Completions waits;  // of other queues' commands
  {
    MutexLock lock(log_.mutex());
    batch = open_batch(stream);
    if (!batch) return std::nullopt;
    backend = batch->backend;
    if (!(marks    ? join_marker(stream, options, batch, waits)
          : unmaps ? parts_.direct.only_order(work) && is_free(*batch, uses)
                   : join_transfer(stream, work, uses, options, *batch))) {
      return std::nullopt;
    }
  }
  // They are nothing but order, which the vendor's queue keeps.
  if (unmaps || (marks && !options.observed && waits.empty())) return Ref<Node>();
  auto submitted = options.blocking && write
                       ? parts_.direct.write_blocking(*write, stream, backend).map([&] {
                           return batch->completion;
                         })
                       : parts_.direct.submit(work, stream, backend, waits,
                                              {.times = false, .own_end = options.observed});
  if (!submitted) {
    settle(stream, *batch, backend, {}, batch->completion, nullptr);
    if (may_go_elsewhere(stream, backend, submitted.error(), uses)) return std::nullopt;
    return tl::unexpected<Error>(std::move(submitted).error());
  }
  Ref<Node> event;
  if (options.observed) {
    event = new_event(parts_.owner, options.type, {}, options.group, options.ends_group);
  }
  settle(stream, *batch, backend, {}, std::move(*submitted), nullptr, event.get());
  return event;
}

}  // namespace tutti::scheduler
