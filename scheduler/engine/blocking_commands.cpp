// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/blocking_commands.h"

#include <algorithm>
#include <utility>

#include "scheduler/order/failed_content.h"
#include "scheduler/run/awaited.h"
#include "scheduler/run/given_up.h"

namespace tutti::scheduler {

std::optional<Edges> BlockingCommands::append(Stream& stream, const Ref<Node>& command,
                                              const EnqueueOptions& options, bool& ready) {
  if (parts_.batches) parts_.batches->close(&stream);
  Edges edges;
  Nodes nobody;
  Ref<Node> splitting;
  {
    MutexLock lock(log_.mutex());
    edges = log_.prerequisites(stream, options.wait_list, options.waits_for_all, *command);
    log_.append(stream, command, options.barrier);
    if (const cl_int error = command->dependency_error; error != CL_SUCCESS) {
      // In its turn, since what follows comes after it. But nobody waits for what else it names.
      const auto named = [](const Edge& edge) { return edge.waits == Waits::kNamed; };
      edges.erase(std::remove_if(edges.begin(), edges.end(), named), edges.end());
      if (edges.empty()) {
        lock.unlock();
        log_.finish(command, error);
        return std::nullopt;
      }
    }
    command->awaited = true;
    log_.link(*command, edges, nobody);
    ready = log_.unguard(*command);
    splitting = parts_.splits.before(log_, command->work, edges);
  }
  if (splitting) parts_.chains.look_behind(std::move(splitting), false);
  if (command->trace) {
    parts_.trace.enqueued(*command->trace, awaited(edges, options.wait_list));
  }
  return edges;
}

cl_int BlockingCommands::hold(Node& command) {
  const auto uses = uses_of(command.work, nullptr);
  for (;;) {
    Nodes conflicts;
    {
      MutexLock lock(log_.mutex());
      conflicts = log_.conflicts(command, uses, 0);
      if (conflicts.empty()) {
        log_.hold(command, uses);
        return failed_input(uses);
      }
    }
    if (command.trace) {
      Awaited found;
      for (const auto& other : conflicts) found.add(other->trace.get(), Waits::kData);
      parts_.trace.held_up(*command.trace, found);
    }
    for (const auto& other : conflicts) parts_.ends.wait_for_data(other);
  }
}

Result<Ref<Node>> BlockingCommands::run(Stream& stream, Ref<Node> command,
                                        const EnqueueOptions& options) {
  bool ready = false;
  const auto edges = append(stream, command, options, ready);
  if (edges) {
    for (const Edge& edge : *edges) {
      if (edge.command->direct.load(std::memory_order_acquire)) parts_.ends.wait(edge.command);
    }
    if (!ready) command->shown_status.wait(CL_QUEUED, std::memory_order_acquire);
  }
  if (const cl_int failed = command->shown_status.load(std::memory_order_acquire); failed < 0) {
    return fail(failed, "an event in the wait list failed");
  }
  const cl_int input = hold(*command);
  log_.set_running(command);
  if (input != CL_SUCCESS) parts_.host.stop_early(*command);
  const Status status =
      input == CL_SUCCESS ? parts_.host.execute(*command) : fail(input, "its content has failed");
  if (!status && input == CL_SUCCESS) {
    tell_given_up(command->work, NotAnew::kTransfer, status.error());
  }
  log_.finish(command, code_of(status));
  if (!status) return tl::unexpected<Error>(status.error());
  return command;
}

std::optional<BlockingCommands::Source> BlockingCommands::hold_source(Stream& stream,
                                                                      const Ref<Node>& command,
                                                                      LogicalBuffer& buffer) {
  const auto uses = uses_of(command->work, nullptr);
  Source found;
  MutexLock lock(log_.mutex());
  const Ref<Node> before = log_.newest_direct(stream);
  if (!before && !log_.is_idle(stream)) return std::nullopt;
  if (touches_failed(uses)) return std::nullopt;
  found.at_host =
      (!before || before->idle) && buffer.valid_at(kHostPlace, uses[0].begin, uses[0].end);
  const Place place = parts_.executor.preferred_place(buffer, uses[0].begin, uses[0].end);
  if (!before && !found.at_host && place == kHostPlace) return std::nullopt;
  if (!found.at_host) found.backend = before ? before->backend : place - 1;
  const bool there = found.at_host || (parts_.direct.possible(command->work, found.backend) &&
                                       allocated(uses, {&found.backend, 1}));
  if (!there || !log_.hold_behind(stream, before.get(), command, uses)) return std::nullopt;
  if (before && !before->idle && std::holds_alternative<ReadWork>(command->work)) {
    command->reads_again.store(Node::ReadsAgain::kMay, std::memory_order_relaxed);
  }
  found.before = before;
  return found;
}

Status BlockingCommands::read_from(Stream& stream, uint32_t backend, const ReadWork& read) {
  LogicalBuffer& buffer = *read.from.buffer;
  buffer.note_read(read.size);
  const uint64_t begin = read.from.origin + read.offset;
  TUTTI_ASSIGN(const Shard there, buffer.shard(backend, begin, begin + read.size));
  TUTTI_ASSIGN(const DeviceQueues::Turn turn, stream.queues.next_turn(backend, false));
  if (turn.after) TUTTI_TRY(turn.after->wait());
  return parts_.backends.transfers().read_rows(backend, *turn.queue, *there.memory,
                                               {.offset = there.at(begin), .length = read.size},
                                               read.to);
}

bool BlockingCommands::made_anew(Node& read) {
  if (read.reads_again.load(std::memory_order_relaxed) == Node::ReadsAgain::kNo) return false;
  // From now on it is relied on.
  if (read.reads_again.exchange(Node::ReadsAgain::kNo) != Node::ReadsAgain::kWill) return false;
  Nodes anew;
  {
    MutexLock lock(log_.mutex());
    anew.swap(read.behind);
  }
  for (const auto& command : anew) parts_.ends.wait_for_data(command);
  return true;
}

bool BlockingCommands::finish_before(Stream& stream, const MapWork& map) {
  {
    MutexLock lock(log_.mutex());
    const uint64_t begin = map.view.origin + map.offset;
    if (!map.view.buffer->valid_at(kHostPlace, begin, begin + map.size)) return false;
  }
  // Where it is no batch that is idle then, the map takes the usual way.
  if (parts_.batches) static_cast<void>(parts_.batches->finish(stream));
  return true;
}

std::optional<Status> BlockingCommands::run_behind(Stream& stream, const Ref<Node>& command) {
  // With times, the application expects that they do not overlap.
  if (stream.options().profiling) return std::nullopt;
  const auto* read = std::get_if<ReadWork>(&command->work);
  const auto* map = std::get_if<MapWork>(&command->work);
  const bool may =
      read ? read->size <= LaunchBatches::kSmallBytes : map && finish_before(stream, *map);
  if (!may) return std::nullopt;
  const auto source = hold_source(stream, command, read ? *read->from.buffer : *map->view.buffer);
  if (!source) return std::nullopt;
  log_.set_running(command);
  Status status =
      source->at_host ? parts_.host.execute(*command) : read_from(stream, source->backend, *read);
  if (!status && !source->at_host) {
    // The content may lie elsewhere, too; and what a call has failed to read, another one may.
    parts_.backends.health().note_failure(source->backend, status.error());
    if (source->before) parts_.ends.wait_for_data(source->before);
    status = parts_.host.execute(*command);
  }
  // Of what lies before it in the queue the vendor says now whether it has failed.
  if (source->before) parts_.ends.note_failures(stream);
  if (made_anew(*command)) status = parts_.host.execute(*command);
  if (!status) tell_given_up(command->work, NotAnew::kTransfer, status.error());
  log_.finish(command, code_of(status));
  const cl_int ended = command->shown_status.load(std::memory_order_acquire);
  if (status && ended < 0) status = fail(ended, "its content has failed");
  const auto idle = [&] {
    MutexLock lock(log_.mutex());
    return parts_.batches && parts_.batches->make_idle(log_, stream);
  };
  if (source->before && !idle()) parts_.ends.finish_if_ended(source->before);
  return status;
}

}  // namespace tutti::scheduler
