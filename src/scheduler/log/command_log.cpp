// SPDX-License-Identifier: Apache-2.0
#include "scheduler/log/command_log.h"

#include <algorithm>

#include "platform/clock.h"

namespace tutti::scheduler {

std::vector<Edge> CommandLog::prerequisites(Stream& stream, std::span<Command* const> wait_list,
                                            bool waits_for_all, cl_int* error) {
  std::vector<Edge> edges;
  auto add = [&](Command* command, bool passes_errors) {
    if (!command) return;
    if (command->state_ != Command::State::kDone) {
      edges.push_back({Ref<Command>(command), passes_errors});
    } else if (passes_errors && command->status_.load(std::memory_order_relaxed) < 0) {
      *error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
  };
  for (Command* command : wait_list) add(command, true);
  if (!stream.options().out_of_order) {
    // An in-order command that failed does not fail its successors: the specification leaves that
    // to dependencies that the application names.
    add(stream.last_.get(), false);
  } else if (waits_for_all && wait_list.empty()) {
    for (const auto& command : stream.outstanding_) add(command.get(), false);
  } else {
    add(stream.barrier_.get(), false);
  }
  return edges;
}

void CommandLog::append(Stream& stream, const Ref<Command>& command, bool barrier) {
  command->stream_ = Ref<Stream>(&stream);
  auto& outstanding = stream.outstanding_;
  while (!outstanding.empty() && outstanding.front()->state_ == Command::State::kDone) {
    outstanding.pop_front();
  }
  outstanding.push_back(command);
  if (!stream.options().out_of_order) {
    stream.last_ = command;
  } else if (barrier) {
    stream.barrier_ = command;
  }
}

void CommandLog::link(Command& command, std::span<const Edge> edges,
                      std::vector<Ref<Command>>& watch) {
  command.state_ = Command::State::kWaiting;
  command.unfinished_ = 1 + static_cast<uint32_t>(edges.size());  // +1: the guard while linking
  for (const Edge& edge : edges) {
    Command& before = *edge.command;
    before.dependents_.push_back({Ref<Command>(&command), edge.passes_errors});
    if (before.state_ == Command::State::kDirect && !before.watched_ && !command.awaited_) {
      before.watched_ = true;
      watch.push_back(edge.command);
    }
  }
}

bool CommandLog::unguard(Command& command) { return --command.unfinished_ == 0; }

std::vector<Ref<Command>> CommandLog::conflicts(const Command& self,
                                                std::span<const BufferUse> uses) {
  std::vector<Ref<Command>> found;
  for (const BufferUse& use : uses) {
    for (const RangeUse& other : use.buffer->uses) {
      if (other.command == &self || !(use.writes || other.writes)) continue;
      if (use.begin >= other.end || other.begin >= use.end) continue;
      found.emplace_back(other.command);
    }
  }
  return found;
}

void CommandLog::hold(Command& command, std::span<const BufferUse> uses) {
  for (const BufferUse& use : uses) {
    use.buffer->last_use = ++last_use_;
    auto& held = use.buffer->uses;
    RangeUse entry{&command, use.begin, use.end, use.writes};
    if (command.state_ == Command::State::kSubmitting) {
      std::erase_if(held, [&](const RangeUse& earlier) {
        const Command& other = *earlier.command;
        if (other.stream_ != command.stream_ || other.backend_ != command.backend_ ||
            (other.state_ != Command::State::kDirect &&
             other.state_ != Command::State::kSubmitting)) {
          return false;
        }
        entry.begin = std::min(entry.begin, earlier.begin);
        entry.end = std::max(entry.end, earlier.end);
        entry.writes |= earlier.writes;
        return true;
      });
    }
    held.push_back(entry);
    if (std::none_of(command.used_buffers_.begin(), command.used_buffers_.end(),
                     [&](const auto& buffer) { return buffer.get() == use.buffer; })) {
      command.used_buffers_.emplace_back(use.buffer);
    }
  }
}

void CommandLog::release_uses(Command& command) {
  for (const auto& buffer : command.used_buffers_) {
    std::erase_if(buffer->uses, [&](const RangeUse& use) { return use.command == &command; });
  }
}

bool CommandLog::set_direct(Command& command, uint32_t backend,
                            backends::CompletionPtr completion) {
  command.backend_ = backend;
  command.completion_ = std::move(completion);
  command.state_ = Command::State::kDirect;
  command.direct_.store(true, std::memory_order_release);
  command.status_.store(CL_SUBMITTED, std::memory_order_release);
  command.status_.notify_all();
  const bool watch =
      !command.watched_ && (!command.dependents_.empty() || !command.callbacks_.empty());
  command.watched_ |= watch;
  return watch;
}

Ref<Command> CommandLog::open_train(Stream& stream, uint32_t backend) {
  constexpr size_t kMostRiders = 256;
  Command* last = stream.last_.get();
  const bool joinable = last && last->open_ && last->state_ == Command::State::kDirect &&
                        last->backend_ == backend && !last->watched_ && last->dependents_.empty() &&
                        last->riders_.size() < kMostRiders;
  return joinable ? stream.last_ : Ref<Command>();
}

void CommandLog::join(Command& train, const KernelWork& work, std::span<const BufferUse> uses) {
  train.state_ = Command::State::kSubmitting;
  train.direct_.store(false, std::memory_order_release);
  train.status_.store(CL_QUEUED, std::memory_order_release);
  hold(train, uses);
  auto& riders = train.riders_;
  if (riders.empty() || riders.back().arguments != work.arguments ||
      riders.back().kernel != work.kernel) {
    riders.push_back({work.kernel, work.arguments});
  }
}

backends::CompletionPtr CommandLog::completion_of(Command& command) {
  if (!command.is_train_) return command.completion_;
  MutexLock lock(mutex_);
  if (command.state_ == Command::State::kSubmitting) return nullptr;
  command.open_ = false;
  return command.completion_;
}

void CommandLog::set_running(const Ref<Command>& command) {
  std::vector<Command::PendingCallback> due;
  {
    MutexLock lock(mutex_);
    command->state_ = Command::State::kRunning;
    const uint64_t now = now_ns();
    command->submitted_.store(now, std::memory_order_relaxed);
    command->started_.store(now, std::memory_order_relaxed);
    command->status_.store(CL_RUNNING, std::memory_order_release);
    std::erase_if(command->callbacks_, [&](Command::PendingCallback& pending) {
      if (pending.type == CL_COMPLETE) return false;
      due.push_back(std::move(pending));
      return true;
    });
  }
  command->status_.notify_all();
  std::stable_sort(due.begin(), due.end(),
                   [](const auto& a, const auto& b) { return a.type > b.type; });
  for (auto& pending : due) sink_.call_back(std::move(pending.callback), pending.type);
}

void CommandLog::finish(const Ref<Command>& first, cl_int first_status) {
  std::vector<std::pair<Ref<Command>, cl_int>> ended{{first, first_status}};
  while (!ended.empty()) {
    auto [command, status] = std::move(ended.back());
    ended.pop_back();
    std::vector<Command::PendingCallback> callbacks;
    std::vector<Command::Dependent> dependents;
    std::vector<Ref<LogicalBuffer>> buffers;  // the last references go when no lock is held
    std::vector<Ref<Command>> ready;
    Work work;
    std::vector<Command::Rider> riders;
    Ref<Stream> stream;
    {
      MutexLock lock(mutex_);
      if (command->state_ == Command::State::kDone) continue;
      release_uses(*command);
      command->state_ = Command::State::kDone;
      if (!command->direct_.load(std::memory_order_relaxed)) {
        const uint64_t now = now_ns();
        uint64_t never = 0;
        command->submitted_.compare_exchange_strong(never, now);
        never = 0;
        command->started_.compare_exchange_strong(never, now);
        command->ended_.store(now, std::memory_order_relaxed);
      }
      command->status_.store(status, std::memory_order_release);
      callbacks.swap(command->callbacks_);
      dependents.swap(command->dependents_);
      buffers.swap(command->used_buffers_);
      std::swap(work, command->work_);
      riders.swap(command->riders_);
      command->open_ = false;
      stream = std::move(command->stream_);
      if (stream) {
        // Who named a dependency that failed is told of that one.
        if (status < 0 && status != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST &&
            !command->observed_) {
          stream->unseen_error_ = status;
        }
        auto& outstanding = stream->outstanding_;
        while (!outstanding.empty() && outstanding.front()->state_ == Command::State::kDone) {
          outstanding.pop_front();
        }
        if (stream->last_ == command) stream->last_ = nullptr;
        if (stream->barrier_ == command) stream->barrier_ = nullptr;
        if (stream->sampled_ == command) stream->sampled_ = nullptr;
      }
      for (auto& dependent : dependents) {
        Command& next = *dependent.command;
        if (status < 0 && dependent.passes_errors) {
          next.dependency_error_ = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        }
        if (--next.unfinished_ > 0) continue;
        if (next.dependency_error_ < 0) {
          ended.emplace_back(dependent.command, next.dependency_error_);
        } else if (next.awaited_) {
          next.status_.store(CL_SUBMITTED, std::memory_order_release);
          next.status_.notify_all();
        } else {
          ready.push_back(dependent.command);
        }
      }
    }
    command->status_.notify_all();
    std::stable_sort(callbacks.begin(), callbacks.end(),
                     [](const auto& a, const auto& b) { return a.type > b.type; });
    for (auto& pending : callbacks) {
      // On success each callback hears the status it asked for; a failure is what all hear.
      sink_.call_back(std::move(pending.callback), status < 0 ? status : pending.type);
    }
    for (auto& next : ready) sink_.ready(std::move(next));
  }
}

void CommandLog::add_callback(const Ref<Command>& command, cl_int type,
                              Command::Callback callback) {
  bool watch = false;
  {
    MutexLock lock(mutex_);
    const cl_int status = command->status_.load(std::memory_order_relaxed);
    const bool reached = command->state_ == Command::State::kDone || status <= type;
    if (!reached) {
      command->callbacks_.push_back({type, std::move(callback)});
      watch = command->state_ == Command::State::kDirect && !command->watched_;
      command->watched_ |= watch;
    } else {
      type = command->state_ == Command::State::kDone && status < 0 ? status : type;
    }
    if (!reached) callback = nullptr;
  }
  if (watch) sink_.watch(command);
  if (callback) sink_.call_back(std::move(callback), type);
}

Ref<Command> CommandLog::oldest_direct(Stream& stream) {
  MutexLock lock(mutex_);
  auto& outstanding = stream.outstanding_;
  while (!outstanding.empty() && outstanding.front()->state_ == Command::State::kDone) {
    outstanding.pop_front();
  }
  if (outstanding.empty() || outstanding.front()->state_ != Command::State::kDirect) return {};
  return outstanding.front();
}

Ref<Command> CommandLog::exchange_sampled(Stream& stream, Ref<Command> command) {
  MutexLock lock(mutex_);
  std::swap(stream.sampled_, command);
  return command;
}

std::vector<Ref<Command>> CommandLog::outstanding(Stream& stream) {
  MutexLock lock(mutex_);
  std::vector<Ref<Command>> result;
  result.reserve(stream.outstanding_.size());
  for (const auto& command : stream.outstanding_) {
    if (command->state_ != Command::State::kDone) result.push_back(command);
  }
  return result;
}

}  // namespace tutti::scheduler
