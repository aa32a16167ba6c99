// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/command_buffer.h"

#include <algorithm>
#include <utility>

#include "base/memory_reserve.h"
#include "base/small_vector.h"
#include "device_virtual/event.h"

namespace tutti::device_virtual {

using scheduler::Command;
using scheduler::CommandGroup;
using scheduler::EnqueueOptions;
using scheduler::KernelWork;
using scheduler::MarkerWork;

namespace {

bool lacks_arguments(const RecordedLaunches& launches) {
  return std::any_of(launches.begin(), launches.end(),
                     [](const auto& launch) { return launch && !launch->complete; });
}

/// Whether it is one that computes nothing, or no launch at all.
bool is_empty(const RecordedLaunch* launch) {
  return launch == nullptr || launch->work.shape.is_empty();
}

}  // namespace

CommandBuffer::CommandBuffer(CommandQueue& queue,
                             std::vector<cl_command_buffer_properties_khr> properties)
    : queue_(queue),
      properties_(std::move(properties)),
      mutable_((property(CL_COMMAND_BUFFER_FLAGS_KHR) & kMutable) != 0) {}

CommandBuffer::~CommandBuffer() = default;

bool CommandBuffer::has(cl_sync_point_khr point) {
  const MutexLock lock(mutex_);
  return point != 0 && point <= entries_.size();
}

Result<cl_sync_point_khr> CommandBuffer::record(Recorded command,
                                                std::span<const cl_sync_point_khr> waits) {
  Entry entry{std::move(command)};
  const bool barrier = std::holds_alternative<MarkerWork>(entry.command.work);
  const MutexLock lock(mutex_);
  if (is_finalized()) return fail(CL_INVALID_OPERATION, "the command buffer has been finalized");
  const auto index = static_cast<uint32_t>(entries_.size());
  for (const cl_sync_point_khr point : waits) entry.after.push_back(point - 1);
  if (barrier && waits.empty()) {
    // All before the newest barrier that is come before that.
    for (uint32_t i = barrier_ == kNone ? 0 : barrier_ + 1; i < index; ++i) {
      entry.after.push_back(i);
    }
  }
  if (barrier_ != kNone) entry.after.push_back(barrier_);
  // "If the queue is an in-order queue, then an additional dependency is created on the last
  // command appended".
  const bool in_order = (queue_->properties() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  if (in_order && index != 0) entry.after.push_back(index - 1);
  std::sort(entry.after.begin(), entry.after.end());
  entry.after.erase(std::unique(entry.after.begin(), entry.after.end()), entry.after.end());
  if (entry.command.handle) entry.command.handle->set_index(index);
  entries_.push_back(std::move(entry));
  for (const uint32_t before : entries_.back().after) entries_[before].named = true;
  if (barrier) barrier_ = index;
  return index + 1;
}

Status CommandBuffer::finalize() {
  const MutexLock lock(mutex_);
  if (is_finalized()) return fail(CL_INVALID_OPERATION, "the command buffer has been finalized");
  auto launches = std::make_shared<RecordedLaunches>();
  launches->reserve(entries_.size());
  for (Entry& entry : entries_) launches->push_back(std::move(entry.command.launch));
  lacking_.store(lacks_arguments(*launches), std::memory_order_relaxed);
  launches_ = std::move(launches);
  finalized_.store(true, std::memory_order_release);
  return {};
}

std::shared_ptr<const RecordedLaunch> CommandBuffer::launch_of(const MutableCommand& command) {
  const MutexLock lock(mutex_);
  return launches_ ? (*launches_)[command.index()] : entries_[command.index()].command.launch;
}

bool CommandBuffer::update(std::span<const Update> updates) {
  std::shared_ptr<const RecordedLaunches> before;  // ends without the lock
  const MutexLock lock(mutex_);
  for (const Update& one : updates) {
    if ((*launches_)[one.command->index()] != one.from) return false;
  }
  auto launches = std::make_shared<RecordedLaunches>(*launches_);
  for (const Update& one : updates) (*launches)[one.command->index()] = one.to;
  lacking_.store(lacks_arguments(*launches), std::memory_order_release);
  before = std::exchange(launches_, std::move(launches));
  return true;
}

/// One enqueuing of all commands.
struct CommandBuffer::Enqueuing {
  scheduler::Engine& engine;
  scheduler::Stream& stream;
  const RecordedLaunches& launches;
  std::span<Command* const> waits;  // what all wait for
  bool observed = false;            // the application gets an event
  Ref<CommandGroup> group{};        // where it does
  Ref<Command> first{};             // in a stream that measures times: that begins first
  Ref<Command> last{};              // what is observed; null: there is none yet
};

Result<Ref<Command>> CommandBuffer::enqueue_one(const Entry& entry, const RecordedLaunch* launch,
                                                const Enqueuing& all,
                                                const EnqueueOptions& options) {
  if (is_empty(launch)) {
    return all.engine.enqueue(all.stream, scheduler::Work(entry.command.work), options);
  }
  const Kernel& kernel = *entry.command.kernel;
  const KernelWork& work = launch->work;
  if (kernel.may_repeat(work.local_given)) {
    const scheduler::LaunchAgain again{*work.kernel,      work.shape,        work.local_given,
                                       launch->arguments, options.wait_list, options.group};
    scheduler::LaunchObserver observer{options.type, {}, options.ends_group};
    const auto launched =
        all.engine.launch_again(all.stream, again, options.observed ? &observer : nullptr);
    if (launched && !*launched) return tl::unexpected<Error>(launched->error());
    if (launched) return std::move(observer.command);
  }
  TUTTI_ASSIGN(auto now, kernel.launch_now(work));
  return all.engine.enqueue(all.stream, std::move(now), options);
}

Status CommandBuffer::enqueue_in_order(Enqueuing& all) {
  const bool times = all.observed && all.stream.options().profiling;
  // The queue's order is all that barriers and synchronization points ask for. A launch at the end
  // may stand for all.
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (std::holds_alternative<MarkerWork>(entry.command.work)) continue;
    const RecordedLaunch* const launch = all.launches[i].get();
    const bool ends = all.observed && i + 1 == entries_.size() && !is_empty(launch);
    EnqueueOptions options;
    options.type = ends ? CL_COMMAND_COMMAND_BUFFER_KHR : entry.command.type;
    options.wait_list = all.waits;
    options.observed = ends || (times && !all.first);
    options.group = all.group.get();
    options.ends_group = ends;
    TUTTI_ASSIGN(auto command, enqueue_one(entry, launch, all, options));
    if (times && !all.first) all.first = command;
    if (ends) all.last = std::move(command);
  }
  return {};
}

Status CommandBuffer::enqueue_unordered(Enqueuing& all) {
  std::vector<Ref<Command>> made(entries_.size());
  SmallVector<Command*, 8> names;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    names.assign(all.waits.begin(), all.waits.end());
    for (const uint32_t before : entry.after) names.push_back(made[before].get());
    EnqueueOptions options;
    options.type = entry.command.type;
    options.wait_list = {names.data(), names.size()};
    options.observed = entry.named || all.observed;
    TUTTI_ASSIGN(made[i], enqueue_one(entry, all.launches[i].get(), all, options));
  }
  if (!all.observed) return {};
  names.assign(all.waits.begin(), all.waits.end());
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].named) names.push_back(made[i].get());
  }
  EnqueueOptions options;
  options.type = CL_COMMAND_COMMAND_BUFFER_KHR;
  options.wait_list = {names.data(), names.size()};
  TUTTI_ASSIGN(all.last, all.engine.enqueue(all.stream, MarkerWork{}, options));
  if (!made.empty()) all.first = made.front();
  return {};
}

Status CommandBuffer::enqueue(CommandQueue& queue, std::span<Command* const> wait_list,
                              cl_event* event) {
  const auto complete = [](Command* command) { return command->status() == CL_COMPLETE; };
  if (std::all_of(wait_list.begin(), wait_list.end(), complete)) wait_list = {};
  scheduler::Stream& stream = queue.stream();
  std::shared_ptr<const RecordedLaunches> held;  // an update may come meanwhile
  if (mutable_) {
    const MutexLock lock(mutex_);
    held = launches_;
  }
  Enqueuing all{context().engine(), stream, held ? *held : *launches_, wait_list, event != nullptr};
  if (stream.options().out_of_order) {
    TUTTI_TRY(enqueue_unordered(all));
  } else {
    if (all.observed) all.group = make_ref<CommandGroup>();
    TUTTI_TRY(enqueue_in_order(all));
  }
  if (event == nullptr) return {};
  if (!all.last) {
    EnqueueOptions options;
    options.type = CL_COMMAND_COMMAND_BUFFER_KHR;
    options.wait_list = wait_list;
    options.waits_for_all = true;
    options.group = all.group.get();
    options.ends_group = true;
    TUTTI_ASSIGN(all.last, all.engine.enqueue(stream, MarkerWork{}, options));
  }
  const MemoryReserved memory;  // all is enqueued
  *event = (new Event(queue, std::move(all.last), std::move(all.first)))->handle();
  return {};
}

Status CommandBuffer::info(cl_command_buffer_info_khr what, const InfoAnswer& answer) {
  switch (what) {
    case CL_COMMAND_BUFFER_QUEUES_KHR:
      return answer.value<cl_command_queue>(queue_->handle());
    case CL_COMMAND_BUFFER_NUM_QUEUES_KHR:
      return answer.value<cl_uint>(1);
    case CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR:
      return answer.value(public_references());
    case CL_COMMAND_BUFFER_STATE_KHR:
      return answer.value<cl_command_buffer_state_khr>(
          is_executable()  ? CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR
          : is_finalized() ? kStateFinalized
                           : CL_COMMAND_BUFFER_STATE_RECORDING_KHR);
    case CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR:
      return answer.list(std::span<const cl_command_buffer_properties_khr>(properties_));
    case CL_COMMAND_BUFFER_CONTEXT_KHR:
      return answer.value<cl_context>(context().handle());
    default:
      return unknown_query();
  }
}

}  // namespace tutti::device_virtual
