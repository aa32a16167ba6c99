// SPDX-License-Identifier: Apache-2.0
#include "scheduler/order/failed_content.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "scheduler/order/command_log.h"

namespace tutti::scheduler {
namespace {

/// What a command that holds its uses is known to do with buffers.
BufferUses held_uses(const Node& command) {
  // Of kernels the plan has told more than the work does, and a batch is many of them.
  if (!std::holds_alternative<KernelWork>(command.work)) return uses_of(command.work, nullptr);
  if (!command.exact_uses.empty()) return command.exact_uses;
  BufferUses uses;
  BufferUses all = uses_of(command.work, nullptr);
  for (const auto& buffer : command.used_buffers) {
    bool held = false;
    for (const RangeUse& one : buffer->uses) {
      if (one.command != &command) continue;
      held = true;
      uses.push_back(
          {buffer.get(), one.begin, one.end, one.changes, one.changes, one.needed, one.partly});
    }
    if (held) continue;
    // What came behind it on its device has taken its uses over.
    if (command.is_batch) {
      uses.push_back({buffer.get(), 0, buffer->size(), true, true, true});
      continue;
    }
    std::copy_if(all.begin(), all.end(), std::back_inserter(uses),
                 [&](const BufferUse& use) { return use.buffer == buffer.get(); });
  }
  return uses;
}

void spoil(LogicalBuffer& buffer, const ByteRange& range, cl_int error, uint64_t number) {
  buffer.failed.add(range, error, number);
  // Launches that would repeat are to be looked at again.
  for (const RangeUse& other : buffer.uses) other.command->touched = true;
}

}  // namespace

cl_int failed_input(std::span<const BufferUse> uses) {
  for (const BufferUse& use : uses) {
    if (!use.needed || use.buffer->failed.empty()) continue;
    if (const cl_int error = use.buffer->failed.error_in({use.begin, use.end})) return error;
  }
  return CL_SUCCESS;
}

cl_int failed_input(const Node& command) {
  return touches_failed(command) ? failed_input(held_uses(command)) : CL_SUCCESS;
}

bool touches_failed(std::span<const BufferUse> uses) {
  return std::any_of(uses.begin(), uses.end(),
                     [](const BufferUse& use) { return !use.buffer->failed.empty(); });
}

bool touches_failed(const Node& command) {
  const auto& buffers = command.used_buffers;
  return std::any_of(buffers.begin(), buffers.end(),
                     [](const auto& buffer) { return !buffer->failed.empty(); });
}

cl_int settle(const Node& command) {
  if (!touches_failed(command)) return CL_SUCCESS;
  const auto uses = held_uses(command);
  if (const cl_int error = failed_input(uses)) return error;
  for (const BufferUse& use : uses) {
    const bool anew = use.changes && !use.needed && !use.partly;
    if (!anew || use.buffer->may_change_late()) continue;
    use.buffer->failed.clear({use.begin, use.end}, command.number);
  }
  return CL_SUCCESS;
}

void spoil(const Node& command, cl_int error) {
  const auto uses =
      command.used_buffers.empty() ? uses_of(command.work, nullptr) : held_uses(command);
  for (const BufferUse& use : uses) {
    if (use.changes) spoil(*use.buffer, {use.begin, use.end}, error, command.newest_number);
  }
}

void drop_sent(std::span<const BufferUse> uses, uint32_t backend) {
  for (const BufferUse& use : uses) {
    const Place place = use.buffer->place_on(backend);
    if (place == kHostPlace) continue;
    for (const auto& segment : use.buffer->segments(use.begin, use.end)) {
      const bool there = (segment.places & place_bit(place)) != 0;
      if (there) use.buffer->drop_copy(place, {.range = {segment.begin, segment.end}});
    }
  }
}

void drop_sent(const Node& command) {
  if (!std::holds_alternative<KernelWork>(command.work) || command.backend == kNoBackend) return;
  BufferUses uses;
  if (command.is_batch) {
    for (const auto& buffer : command.used_buffers)
      uses.push_back({buffer.get(), 0, buffer->size()});
  } else {
    uses = uses_of(command.work, nullptr);
  }
  drop_sent(uses, command.backend);
}

// ---- the log's part

void CommandLog::fail_with(Node& command, const Node& before) {
  command.dependency_error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  command.dependency_spoils |= before.spoils;
}

void CommandLog::join_group(Node& command, CommandGroup* group) {
  if (is_of_group(command, group)) return;
  constexpr size_t kMany = 16;
  auto& groups = command.groups;
  if (groups.size() >= kMany && std::has_single_bit(groups.size())) {
    // Nobody else has what only the batch has, nor can get it.
    const auto alone = [](const Ref<CommandGroup>& one) { return one->references() == 1; };
    groups.erase(std::remove_if(groups.begin(), groups.end(), alone), groups.end());
  }
  groups.emplace_back(group);
}

void CommandLog::note_in_groups(const Node& command, cl_int error) {
  for (const auto& group : command.groups) group->note_error(error);
}

void CommandLog::note_unseen(Node& command, cl_int error) {
  command.joined_error = error;
  note_in_groups(command, error);
  // Who comes behind an event of it may end before it does; and nothing of it is computed anew.
  if (command.several()) spoil(command, error);
  any_failed_.store(true, std::memory_order_relaxed);
}

void CommandLog::note_queue_failed(Stream& stream, uint32_t backend, cl_int error) {
  MutexLock lock(mutex_);
  for (const auto& command : stream.outstanding) {
    const bool known =
        command->is_batch ? command->told_well && !command->several() : command->observed;
    if (command->state == Node::State::kDirect && command->backend == backend && !known) {
      note_unseen(*command, error);
    }
  }
}

bool CommandLog::drain(Stream& stream, uint32_t backend) {
  bool well = true;
  stream.queues.visit(backend, [&](backends::Queue& queue) {
    const Status ended = queue.finish();
    if (ended) return;
    note_queue_failed(stream, backend, code_of(ended));
    well = false;
  });
  if (well) return true;
  // It may have failed at once, and what is before it in the queue still run.
  std::vector<backends::CompletionPtr> under_way;
  {
    MutexLock lock(mutex_);
    for (const auto& command : stream.outstanding) {
      const bool direct = command->state == Node::State::kDirect && command->backend == backend;
      if (direct && command->completion) under_way.push_back(command->completion);
    }
  }
  for (const auto& completion : under_way) static_cast<void>(completion->wait());
  return false;
}

uint64_t CommandLog::note_lost(LogicalBuffer& buffer, std::span<const ByteRange> ranges,
                               cl_int error) {
  if (ranges.empty()) return 0;
  uint64_t bytes = 0;
  MutexLock lock(mutex_);
  for (const ByteRange& range : ranges) {
    if (buffer.failed.error_in(range) == CL_SUCCESS) bytes += range.size();
    spoil(buffer, range, error, 0);
  }
  any_failed_.store(true, std::memory_order_relaxed);
  return bytes;
}

void CommandLog::note_failure(Node& command, cl_int& status) {
  if (status == CL_COMPLETE) {
    status = command.joined_error < 0 ? command.joined_error : settle(command);
  } else if (status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST &&
             command.dependency_error == CL_SUCCESS) {
    // A vendor names what the command came after, whose error is known where it used its data.
    if (const cl_int error = failed_input(command)) status = error;
  }
  if (status == CL_COMPLETE || command.type() == CL_COMMAND_USER) return;
  note_in_groups(command, status);
  drop_sent(command);
  if (command.refused) return;
  command.spoils = command.dependency_error == CL_SUCCESS || command.dependency_spoils;
  if (!command.spoils) return;
  spoil(command, status);
  any_failed_.store(true, std::memory_order_relaxed);
}

}  // namespace tutti::scheduler
