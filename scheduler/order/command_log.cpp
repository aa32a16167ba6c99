// SPDX-License-Identifier: Apache-2.0
#include "scheduler/order/command_log.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace tutti::scheduler {
namespace {

/// Whether the buffers that it uses are all that a command may change, or depend on beside host
/// memory that it reads.
bool only_buffers(const Work& work) {
  if (const auto* kernel = std::get_if<KernelWork>(&work)) {
    return kernel->kernel->summary().whole_reason.empty();  // it is understood
  }
  if (const auto* rect = std::get_if<RectWork>(&work)) return rect->write;
  return std::holds_alternative<WriteWork>(work) || std::holds_alternative<FillWork>(work) ||
         std::holds_alternative<FillImageWork>(work) || std::holds_alternative<CopyWork>(work) ||
         std::holds_alternative<CopyRectWork>(work);
}

}  // namespace

bool CommandLog::meets_in_host_memory(const HostUse& use, const Command& command) {
  const HostUse reads{command.host_begin_, command.host_end_, true};
  return keep_order(use, host_use_of(command.work_)) || keep_order(use, reads);
}

std::vector<Edge> CommandLog::prerequisites(Stream& stream, std::span<Command* const> wait_list,
                                            bool waits_for_all, cl_int* error) {
  std::vector<Edge> edges;
  auto add = [&](Command* command, Waits waits) {
    if (!command) return;
    if (command->state_ != Command::State::kDone) {
      edges.push_back({Ref<Command>(command), waits});
    } else if (waits == Waits::kNamed && command->status_.load(std::memory_order_relaxed) < 0) {
      *error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
  };
  for (Command* command : wait_list) add(command, Waits::kNamed);
  if (!stream.options().out_of_order) {
    // An in-order command that failed does not fail its successors: the specification leaves that
    // to dependencies that the application names.
    add(stream.last_.get(), Waits::kOrder);
  } else if (waits_for_all && wait_list.empty()) {
    for (const auto& command : stream.outstanding_) add(command.get(), Waits::kOrder);
  } else {
    add(stream.barrier_.get(), Waits::kOrder);
  }
  return edges;
}

void CommandLog::drop_done(Stream& stream) {
  for (auto* commands : {&stream.outstanding_, &stream.host_writers_}) {
    while (!commands->empty() && commands->front()->state_ == Command::State::kDone) {
      mutex_.retire(std::move(commands->front()));
      commands->pop_front();
    }
  }
}

void CommandLog::append(Stream& stream, const Ref<Command>& command, bool barrier) {
  command->stream_ = Ref<Stream>(&stream);
  command->releases_ = releases_;
  stream.lease_.store(0, std::memory_order_relaxed);
  drop_done(stream);
  stream.outstanding_.push_back(command);
  if (host_use_of(command->work_).writes) stream.host_writers_.push_back(command);
  if (!stream.options().out_of_order) {
    stream.last_ = command;
  } else if (barrier) {
    stream.barrier_ = command;
  }
}

void CommandLog::link(Command& command, std::span<const Edge> edges,
                      std::vector<Ref<Command>>& watch) {
  if (live_ && command.state_ != Command::State::kWaiting) live::add(live_->waiting, 1);
  command.state_ = Command::State::kWaiting;
  command.unfinished_ = 1 + static_cast<uint32_t>(edges.size());  // +1: the guard while linking
  for (const Edge& edge : edges) {
    Command& before = *edge.command;
    before.dependents_.push_back({Ref<Command>(&command), edge.waits});
    command.held_back_ |= edge.waits != Waits::kData && before.stream_ != command.stream_;
    if (before.state_ == Command::State::kDirect && !before.watched_ && !command.awaited_) {
      before.watched_ = true;
      watch.push_back(edge.command);
    }
  }
}

std::optional<std::vector<Edge>> CommandLog::edges_of_data(const Stream& stream,
                                                           const Command& command,
                                                           std::span<const Edge> edges,
                                                           std::span<const BufferUse> uses) {
  using State = Command::State;
  constexpr size_t kMost = 64;  // to be looked at, now and by who waits
  const auto& options = stream.options();
  // With times, the application expects that they do not overlap.
  if (options.out_of_order || options.profiling || !only_buffers(command.work_)) return {};
  if (!stream.last_ || stream.last_->state_ == State::kDone) return {};
  std::vector<Edge> needed;
  for (const Edge& edge : edges) {
    if (edge.waits != Waits::kOrder) needed.push_back(edge);
  }
  const auto started = conflicts(command, uses);
  const HostUse host = host_use_of(command.work_);
  size_t seen = 0;
  for (auto it = stream.outstanding_.rbegin(); it != stream.outstanding_.rend(); ++it) {
    const Ref<Command>& before = *it;
    if (before->state_ == State::kDone) continue;
    if (++seen > kMost || std::holds_alternative<MarkerWork>(before->work_)) return {};
    if (before->state_ == State::kEnded) continue;
    if (meets_in_host_memory(host, *before)) return {};
    bool meets = std::find(started.begin(), started.end(), before) != started.end();
    if (before->state_ == State::kWaiting) {
      // It holds nothing yet. And what others must allow first may be about its data.
      if (before->held_back_) return {};
      for (const BufferUse& other : uses_of(before->work_, nullptr)) {
        meets |= std::any_of(uses.begin(), uses.end(), [&](const BufferUse& use) {
          return use.buffer == other.buffer && keep_order(use, other);
        });
      }
    }
    if (!meets) continue;
    if (before == stream.last_ && !before->after_) return {};  // which all others are done before
    needed.push_back({before, Waits::kData});
  }
  return needed;
}

bool CommandLog::reads_what_is_written(const Stream& stream, const Work& work) {
  const HostUse host = host_use_of(work);
  if (host.begin == host.end || host.writes) return false;
  return std::any_of(
      stream.host_writers_.begin(), stream.host_writers_.end(), [&](const auto& before) {
        return before->state_ != Command::State::kDone && meets_in_host_memory(host, *before);
      });
}

void CommandLog::overtake(Stream& stream, Command& command, std::vector<Ref<Command>>& watch) {
  Ref<Command> last = stream.last_;
  last->dependents_.push_back({Ref<Command>(&command), Waits::kShow});
  last->open_ = false;
  if (last->state_ == Command::State::kDirect && !last->watched_) {
    last->watched_ = true;
    watch.push_back(last);
  }
  command.after_ = std::move(last);
  command.overtook_ = true;
}

std::vector<Ref<Command>> CommandLog::overtaken(const Command& command) {
  std::vector<Ref<Command>> before;
  {
    MutexLock lock(mutex_);
    for (auto next = command.after_; next; next = next->after_) before.push_back(next);
  }
  std::reverse(before.begin(), before.end());
  return before;
}

Ref<Command> CommandLog::next_command(const Command& command) {
  // Behind one that has overtaken others it waits for those, too.
  if (!command.stream_ || command.after_) return {};
  for (const auto& dependent : command.dependents_) {
    const Command& next = *dependent.command;
    if (dependent.waits == Waits::kOrder && next.state_ == Command::State::kWaiting &&
        next.unfinished_ == 1 && !next.after_ && !next.held_back_ &&
        !next.stream_->options().out_of_order && !next.chained_ && !next.early_) {
      return dependent.command;
    }
  }
  return {};
}

Ref<Command> CommandLog::next_kernel(const Command& command) {
  Ref<Command> next = next_command(command);
  const bool kernel = next && !next->awaited_ && std::holds_alternative<KernelWork>(next->work_);
  return kernel && !command.stream_->options().profiling ? next : Ref<Command>();
}

bool CommandLog::unguard(Command& command) { return --command.unfinished_ == 0; }

std::vector<Ref<Command>> CommandLog::conflicts(const Command& self,
                                                std::span<const BufferUse> uses) {
  std::vector<Ref<Command>> found;
  for (const BufferUse& use : uses) {
    for (const RangeUse& other : use.buffer->uses) {
      const bool counts = other.command != &self && !other.command->idle_;
      if (counts && keep_order(use, other)) found.emplace_back(other.command);
    }
  }
  return found;
}

void CommandLog::hold(Command& command, std::span<const BufferUse> uses) {
  for (const BufferUse& use : uses) {
    use.buffer->last_use = ++last_use_;
    auto& held = use.buffer->uses;
    for (const RangeUse& other : held) {
      // A read behind a batch changes nothing for launches that repeat.
      const bool behind = !use.writes && other.command->stream_ == command.stream_;
      if (other.command == &command || behind) continue;
      if (other.command->kinds_) other.command->kinds_->touched = true;
    }
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

Ref<Command> CommandLog::newest_direct(Stream& stream) {
  const Command* last = stream.last_.get();
  const bool direct = last && last->state_ == Command::State::kDirect && !last->after_;
  return direct ? stream.last_ : Ref<Command>();
}

bool CommandLog::ahead_of(const Command& command, const Command& other) {
  return other.stream_ == command.stream_ && other.backend_ == command.backend_ &&
         other.state_ == Command::State::kDirect && !other.after_;
}

bool CommandLog::is_idle(Stream& stream) {
  drop_done(stream);
  return stream.outstanding_.empty();
}

bool CommandLog::are_ahead(const Stream& stream, std::span<Command* const> commands) {
  MutexLock lock(mutex_);
  return std::all_of(commands.begin(), commands.end(), [&](const Command* command) {
    if (command->state_ == Command::State::kDone) {
      return command->status_.load(std::memory_order_relaxed) == CL_COMPLETE;
    }
    return command->state_ == Command::State::kDirect && !command->after_ &&
           command->stream_.get() == &stream && !stream.options().out_of_order;
  });
}

bool CommandLog::hold_behind(Stream& stream, const Command* before, const Ref<Command>& read,
                             std::span<const BufferUse> uses) {
  for (const auto& other : conflicts(*read, uses)) {
    if (!before || !ahead_of(*before, *other)) return false;
  }
  read->stream_ = Ref<Stream>(&stream);
  hold(*read, uses);
  return true;
}

void CommandLog::release_uses(Command& command) {
  for (const auto& buffer : command.used_buffers_) {
    std::erase_if(buffer->uses, [&](const RangeUse& use) { return use.command == &command; });
  }
}

bool CommandLog::set_direct(Command& command, uint32_t backend,
                            backends::CompletionPtr completion) {
  command.backend_ = backend;
  if (completion != command.completion_) {
    command.completion_.swap(completion);
    if (completion) mutex_.retire(std::move(completion));
  }
  command.state_ = Command::State::kDirect;
  command.direct_.store(true, std::memory_order_release);
  command.status_.store(CL_SUBMITTED, std::memory_order_release);
  command.status_.notify_all();
  command.data_.store(Command::Data::kVendorKnows, std::memory_order_release);
  command.data_.notify_all();
  const bool watch =
      !command.watched_ && (!command.dependents_.empty() || !command.callbacks_.empty());
  command.watched_ |= watch;
  return watch;
}

backends::CompletionPtr CommandLog::completion_of(Command& command) {
  if (!command.is_batch_) return command.completion_;
  MutexLock lock(mutex_);
  if (command.state_ == Command::State::kSubmitting) return nullptr;
  command.open_ = false;
  return command.completion_;
}

backends::CompletionPtr CommandLog::completion_so_far(const Command& command) {
  MutexLock lock(mutex_);
  return command.state_ == Command::State::kDirect ? command.completion_ : nullptr;
}

void CommandLog::set_running(const Ref<Command>& command) {
  std::vector<Command::PendingCallback> due;
  {
    MutexLock lock(mutex_);
    if (command->state_ == Command::State::kDone) return;  // a chained one, meanwhile
    const uint64_t now = now_ns();
    if (live_ && command->state_ == Command::State::kWaiting) count_wait(*command, now);
    command->state_ = Command::State::kRunning;
    command->submitted_.store(now, std::memory_order_relaxed);
    command->started_.store(now, std::memory_order_relaxed);
    // What overtook others has not begun as far as one can see.
    const cl_int shown = command->overtook_ ? CL_SUBMITTED : CL_RUNNING;
    command->status_.store(shown, std::memory_order_release);
    std::erase_if(command->callbacks_, [&](Command::PendingCallback& pending) {
      if (pending.type < shown) return false;
      due.push_back(std::move(pending));
      return true;
    });
  }
  command->status_.notify_all();
  std::stable_sort(due.begin(), due.end(),
                   [](const auto& a, const auto& b) { return a.type > b.type; });
  for (auto& pending : due) sink_.call_back(std::move(pending.callback), pending.type);
}

void CommandLog::count_wait(const Command& command, uint64_t now) {
  live::add(live_->waiting, UINT64_MAX);  // one less
  live::add(live_->waited, 1);
  const uint64_t queued = command.queued_.load(std::memory_order_relaxed);
  live::add(live_->waited_ns, now - std::min(now, queued));
}

void CommandLog::note_end(Command& command) {
  release_uses(command);
  command.open_ = false;
  command.data_.store(Command::Data::kInPlace, std::memory_order_release);
  if (command.direct_.load(std::memory_order_relaxed)) return;  // the vendor knows
  const uint64_t now = now_ns();
  uint64_t never = 0;
  command.submitted_.compare_exchange_strong(never, now);
  never = 0;
  command.started_.compare_exchange_strong(never, now);
  command.ended_.store(now, std::memory_order_relaxed);
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
    std::vector<Command::Member> members;
    std::unique_ptr<Command::Kinds> kinds;
    Ref<Stream> stream;
    {
      MutexLock lock(mutex_);
      if (command->state_ == Command::State::kDone) continue;
      if (command->idle_) wake(*command);
      if (live_ && command->state_ == Command::State::kWaiting && command->stream_) {
        count_wait(*command, now_ns());
      }
      if (command->state_ != Command::State::kEnded) note_end(*command);
      buffers.swap(command->used_buffers_);
      const bool shown = !command->after_;
      if (shown) {
        command->state_ = Command::State::kDone;
        command->status_.store(status, std::memory_order_release);
        callbacks.swap(command->callbacks_);
        dependents.swap(command->dependents_);
        std::swap(work, command->work_);
        members.swap(command->members_);
        kinds = std::move(command->kinds_);
        stream = std::move(command->stream_);
      } else {
        command->state_ = Command::State::kEnded;
        command->ended_status_ = status;
        const auto rest = std::stable_partition(
            command->dependents_.begin(), command->dependents_.end(),
            [](const auto& dependent) { return dependent.waits != Waits::kData; });
        dependents.assign(std::make_move_iterator(rest),
                          std::make_move_iterator(command->dependents_.end()));
        command->dependents_.erase(rest, command->dependents_.end());
      }
      if (stream) {
        // Who named a dependency that failed is told of that one.
        if (status < 0 && status != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST &&
            !command->observed_) {
          stream->unseen_error_ = status;
        }
        drop_done(*stream);
        if (stream->last_ == command) stream->last_ = nullptr;
        if (stream->barrier_ == command) stream->barrier_ = nullptr;
        if (stream->sampled_ == command) stream->sampled_ = nullptr;
      }
      for (auto& dependent : dependents) {
        Command& next = *dependent.command;
        if (dependent.waits == Waits::kShow) {
          next.after_ = nullptr;
          if (next.state_ == Command::State::kEnded) {
            ended.emplace_back(dependent.command, next.ended_status_);
          }
          continue;
        }
        if (status < 0 && dependent.waits == Waits::kNamed) {
          next.dependency_error_ = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        }
        if (--next.unfinished_ > 0) continue;
        if (next.dependency_error_ < 0) {
          ended.emplace_back(dependent.command, next.dependency_error_);
        } else if (next.awaited_) {
          // Notifying looks for waiters, and they must not look before this is seen.
          next.status_.store(CL_SUBMITTED, std::memory_order_seq_cst);
          next.status_.notify_all();
        } else {
          ready.push_back(dependent.command);
        }
      }
    }
    command->data_.notify_all();
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

Ref<Command> CommandLog::first_if_direct(Stream& stream) {
  drop_done(stream);
  const auto& outstanding = stream.outstanding_;
  if (outstanding.empty() || outstanding.front()->state_ != Command::State::kDirect) return {};
  return outstanding.front();
}

Ref<Command> CommandLog::oldest_direct(Stream& stream) {
  MutexLock lock(mutex_);
  return first_if_direct(stream);
}

Ref<Command> CommandLog::in_a_crowd(Stream& stream) {
  constexpr size_t kMany = 64, kEach = 32;
  if (stream.outstanding_.size() < kMany || stream.outstanding_.size() % kEach != 0) return {};
  return first_if_direct(stream);
}

Ref<Command> CommandLog::exchange_sampled(Stream& stream, Ref<Command> command) {
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
