// SPDX-License-Identifier: Apache-2.0
#include "scheduler/order/command_log.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/memory_reserve.h"

namespace tutti::scheduler {
namespace {

constexpr size_t kMostOvertaken = 64;  // to be looked at, now and by who waits

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

bool CommandLog::meets_in_host_memory(const HostUse& use, const Node& command) {
  return keep_order(use, host_use_of(command.work)) || keep_order(use, command.joined_reads);
}

Edges CommandLog::prerequisites(Stream& stream, std::span<Command* const> wait_list,
                                bool waits_for_all, Node& command) {
  Edges edges;
  auto add = [&](Node* before, Waits waits) {
    if (!before) return;
    if (before->state != Node::State::kDone) {
      edges.push_back({Ref<Node>(before), waits});
    } else if (waits == Waits::kNamed && before->shown_status.load(std::memory_order_relaxed) < 0) {
      fail_with(command, *before);
    }
  };
  for (Command* named : wait_list) add(&node_of(*named), Waits::kNamed);
  if (!stream.options().out_of_order) {
    // An in-order command that failed does not fail its successors: the specification leaves that
    // to dependencies that the application names.
    add(stream.last.get(), Waits::kOrder);
  } else if (waits_for_all && wait_list.empty()) {
    // What lies before a barrier that waits for all is done before that.
    const Node* const last = stream.barrier_gathers ? stream.barrier.get() : nullptr;
    for (auto it = stream.outstanding.rbegin(); it != stream.outstanding.rend(); ++it) {
      add(it->get(), Waits::kOrder);
      if (it->get() == last) break;
    }
  } else {
    add(stream.barrier.get(), Waits::kOrder);
  }
  return edges;
}

void CommandLog::drop_done(Stream& stream) {
  for (auto* commands : {&stream.outstanding, &stream.host_writers}) {
    while (!commands->empty() && commands->front()->state == Node::State::kDone) {
      mutex_.retire(std::move(commands->front()));
      commands->pop_front();
    }
  }
}

void CommandLog::append(Stream& stream, const Ref<Node>& command, bool barrier, bool gathers) {
  command->stream = Ref<Stream>(&stream);
  command->releases = releases_;
  command->number = command->newest_number = ++last_number_;
  stream.lease.store(0, std::memory_order_relaxed);
  drop_done(stream);
  stream.outstanding.push_back(command);
  if (host_use_of(command->work).writes) stream.host_writers.push_back(command);
  stream.last = command;
  if (barrier) set_barrier(stream, command, gathers);
}

void CommandLog::set_barrier(Stream& stream, const Ref<Node>& command, bool gathers) {
  if (!stream.options().out_of_order) return;  // it is in order
  stream.barrier = command;
  stream.barrier_gathers = gathers;
}

void CommandLog::link(Node& command, std::span<const Edge> edges, Nodes& watch) {
  if (live_ && command.state != Node::State::kWaiting) {
    live::add(live_->waiting, 1);
    if (!command.timed()) command.queued.store(now_ns(), std::memory_order_relaxed);
  }
  command.state = Node::State::kWaiting;
  command.unfinished = 1 + static_cast<uint32_t>(edges.size());  // +1: the guard while linking
  for (const Edge& edge : edges) {
    Node& before = *edge.command;
    before.dependents.push_back({Ref<Node>(&command), edge.waits});
    command.held_back |= edge.waits != Waits::kData && before.stream != command.stream;
    if (before.state == Node::State::kDirect && !before.watched && !command.awaited) {
      before.watched = true;
      watch.push_back(edge.command);
    }
  }
}

std::optional<Edges> CommandLog::edges_of_data(const Stream& stream, const Node& command,
                                               std::span<const Edge> edges,
                                               std::span<const BufferUse> uses) {
  using State = Node::State;
  const auto& options = stream.options();
  // With times, the application expects that they do not overlap.
  if (options.out_of_order || options.profiling || !only_buffers(command.work)) return {};
  if (!stream.last || stream.last->state == State::kDone) return {};
  Edges needed;
  for (const Edge& edge : edges) {
    if (edge.waits != Waits::kOrder) needed.push_back(edge);
  }
  const auto started = conflicts(command, uses);
  const HostUse host = host_use_of(command.work);
  size_t seen = 0;
  for (auto it = stream.outstanding.rbegin(); it != stream.outstanding.rend(); ++it) {
    const Ref<Node>& before = *it;
    if (before->state == State::kDone) continue;
    if (++seen > kMostOvertaken || std::holds_alternative<MarkerWork>(before->work)) return {};
    if (before->state == State::kEnded) continue;
    if (meets_in_host_memory(host, *before)) return {};
    bool meets = std::find(started.begin(), started.end(), before) != started.end();
    if (before->state == State::kWaiting) {
      // It holds nothing yet. And what others must allow first may be about its data.
      if (before->held_back) return {};
      for (const BufferUse& other : uses_of(before->work, nullptr)) {
        meets |= std::any_of(uses.begin(), uses.end(), [&](const BufferUse& use) {
          return use.buffer == other.buffer && keep_order(use, other);
        });
      }
    }
    if (!meets) continue;
    if (before == stream.last && !before->after) return {};  // which all others are done before
    needed.push_back({before, Waits::kData});
  }
  return needed;
}

std::optional<Edges> CommandLog::edges_of_queue(const Stream& stream, std::span<const Edge> edges) {
  using State = Node::State;
  const Node* const last = stream.last.get();
  const bool hidden = last && (last->after || last->state == State::kEnded);
  if (stream.options().out_of_order || !hidden) return {};
  Edges needed;
  for (const Edge& edge : edges) {
    if (edge.waits != Waits::kOrder) needed.push_back(edge);
  }
  const Node* newest = nullptr;
  size_t seen = 0;
  for (auto it = stream.outstanding.rbegin(); it != stream.outstanding.rend(); ++it) {
    const Ref<Node>& before = *it;
    if (before->state == State::kDone || before->state == State::kEnded) continue;
    if (++seen > kMostOvertaken || before->state != State::kDirect) return {};
    if (!newest) {
      newest = before.get();
      needed.push_back({before, Waits::kData});
    }
    if (before->backend != newest->backend) return {};
  }
  return needed;
}

bool CommandLog::reads_what_is_written(const Stream& stream, const Work& work) {
  const HostUse host = host_use_of(work);
  if (host.begin == host.end || host.writes) return false;
  return std::any_of(
      stream.host_writers.begin(), stream.host_writers.end(), [&](const auto& before) {
        return before->state != Node::State::kDone && meets_in_host_memory(host, *before);
      });
}

void CommandLog::overtake(Stream& stream, Node& command, Nodes& watch) {
  Ref<Node> last = stream.last;
  last->dependents.push_back({Ref<Node>(&command), Waits::kShow});
  last->open = false;
  if (last->state == Node::State::kDirect && !last->watched) {
    last->watched = true;
    watch.push_back(last);
  }
  command.after = std::move(last);
  command.overtook = true;
}

std::vector<Ref<Node>> CommandLog::overtaken(const Node& command) {
  std::vector<Ref<Node>> before;
  {
    MutexLock lock(mutex_);
    for (auto next = command.after; next; next = next->after) before.push_back(next);
  }
  std::reverse(before.begin(), before.end());
  return before;
}

Ref<Node> CommandLog::next_command(const Node& command) {
  // Behind one that has overtaken others it waits for those, too.
  if (!command.stream || command.after) return {};
  for (const auto& dependent : command.dependents) {
    const Node& next = *dependent.command;
    if (dependent.waits == Waits::kOrder && next.state == Node::State::kWaiting &&
        next.unfinished == 1 && next.dependency_error == CL_SUCCESS && !next.after &&
        !next.held_back && !next.stream->options().out_of_order && !next.chained && !next.early) {
      return dependent.command;
    }
  }
  return {};
}

Ref<Node> CommandLog::next_kernel(const Node& command) {
  Ref<Node> next = next_command(command);
  const bool kernel = next && !next->awaited && std::holds_alternative<KernelWork>(next->work);
  return kernel && !command.stream->options().profiling ? next : Ref<Node>();
}

Ref<Node> CommandLog::next_waiting(const Node& before) {
  if (before.state != Node::State::kDirect || before.after || !before.stream ||
      before.stream->options().out_of_order) {
    return {};
  }
  for (const auto& dependent : before.dependents) {
    const Node& next = *dependent.command;
    if (dependent.waits != Waits::kOrder || next.stream != before.stream) continue;
    const auto edges =
        std::count_if(before.dependents.begin(), before.dependents.end(),
                      [&](const auto& other) { return other.command.get() == &next; });
    const bool may = next.state == Node::State::kWaiting &&
                     next.unfinished == static_cast<uint32_t>(edges) &&
                     next.dependency_error == CL_SUCCESS && !next.overtook && !next.awaited &&
                     !next.chained && !next.early;
    return may ? dependent.command : Ref<Node>();
  }
  return {};
}

bool CommandLog::detach(Node& before, Node& next) {
  std::erase_if(before.dependents, [&](Node::Dependent& dependent) TUTTI_REQUIRES(mutex_) {
    if (dependent.command.get() != &next) return false;
    mutex_.retire(std::move(dependent.command));
    return true;
  });
  next.unfinished = 0;
  const bool awaited = !before.dependents.empty() || !before.callbacks.empty();
  before.watched = awaited;
  return awaited;
}

void CommandLog::set_submitting(Node& command, uint32_t backend) {
  if (live_ && command.state == Node::State::kWaiting) count_wait(command, now_ns());
  command.state = Node::State::kSubmitting;
  command.backend = backend;
  // Who observes it has this very command, and others come after it already.
  command.is_batch = command.open = false;
  if (command.batch) mutex_.retire(std::exchange(command.batch, nullptr));
}

bool CommandLog::unguard(Node& command) { return --command.unfinished == 0; }

void CommandLog::hold(Node& command, std::span<const BufferUse> uses) {
  for (const BufferUse& use : uses) {
    use.buffer->last_use = ++last_use_;
    auto& held = use.buffer->uses;
    for (const RangeUse& other : held) {
      // A read behind a batch changes nothing for launches that repeat.
      const bool behind = !use.writes && other.command->stream == command.stream;
      const bool in_order = command.state == Node::State::kSubmitting &&
                            ordered_by_application(use, other, command.backend);
      if (other.command == &command || behind || in_order) continue;
      other.command->touched = true;
    }
    RangeUse entry{&command,    use.begin,  use.end,    use.writes,
                   use.changes, use.needed, use.partly, use.hidden};
    if (command.state == Node::State::kSubmitting) {
      std::erase_if(held, [&](const RangeUse& earlier) {
        const Node& other = *earlier.command;
        // Another one that is still submitting may come to the queue after this one.
        if (other.stream != command.stream || other.backend != command.backend ||
            (other.state != Node::State::kDirect && &other != &command)) {
          return false;
        }
        // Only what it writes itself is new, whatever became of the earlier one.
        const bool within = entry.begin <= earlier.begin && earlier.end <= entry.end;
        const bool joins = &other == &command && !earlier.partly && earlier.begin <= entry.end &&
                           entry.begin <= earlier.end;
        entry.partly |= !within && !joins;
        entry.begin = std::min(entry.begin, earlier.begin);
        entry.end = std::max(entry.end, earlier.end);
        entry.writes |= earlier.writes;
        entry.changes |= earlier.changes;
        entry.needed |= earlier.needed;
        entry.hidden |= earlier.hidden;
        return true;
      });
    }
    held.push_back(entry);
    if (std::none_of(command.used_buffers.begin(), command.used_buffers.end(),
                     [&](const auto& buffer) { return buffer.get() == use.buffer; })) {
      command.used_buffers.emplace_back(use.buffer);
    }
  }
}

Ref<Node> CommandLog::newest_direct(Stream& stream) {
  if (stream.options().out_of_order) return {};  // what precedes it may be unfinished
  const Node* last = stream.last.get();
  const bool direct = last && last->state == Node::State::kDirect && !last->after;
  return direct ? stream.last : Ref<Node>();
}

bool CommandLog::ahead_of(const Node& command, const Node& other) {
  return other.stream == command.stream && other.backend == command.backend &&
         other.state == Node::State::kDirect && !other.after;
}

bool CommandLog::all_ahead_of(const Stream& stream, const Node& newest) {
  return std::all_of(stream.outstanding.begin(), stream.outstanding.end(), [&](const auto& node) {
    return node.get() == &newest || ahead_of(newest, *node);
  });
}

bool CommandLog::is_idle(Stream& stream) {
  drop_done(stream);
  return stream.outstanding.empty();
}

bool CommandLog::are_ahead(const Stream& stream, std::span<Command* const> commands) {
  return std::all_of(commands.begin(), commands.end(), [&](Command* named) {
    const Node& command = node_of(*named);
    if (command.state == Node::State::kDone) {
      return command.shown_status.load(std::memory_order_relaxed) == CL_COMPLETE;
    }
    return command.state == Node::State::kDirect && !command.after &&
           command.stream.get() == &stream && !stream.options().out_of_order;
  });
}

bool CommandLog::hold_behind(Stream& stream, const Node* before, const Ref<Node>& read,
                             std::span<const BufferUse> uses) {
  for (const auto& other : conflicts(*read, uses)) {
    if (!before || !ahead_of(*before, *other)) return false;
  }
  read->stream = Ref<Stream>(&stream);
  hold(*read, uses);
  return true;
}

void CommandLog::release_uses(Node& command) {
  for (const auto& buffer : command.used_buffers) {
    std::erase_if(buffer->uses, [&](const RangeUse& use) { return use.command == &command; });
  }
}

bool CommandLog::set_direct(Node& command, uint32_t backend, backends::CompletionPtr completion) {
  command.backend = backend;
  if (completion != command.completion) {
    command.completion.swap(completion);
    if (completion) mutex_.retire(std::move(completion));
  }
  command.state = Node::State::kDirect;
  command.direct.store(true, std::memory_order_release);
  command.shown_status.store(CL_SUBMITTED, std::memory_order_release);
  command.shown_status.notify_all();
  command.data.store(Node::Data::kVendorKnows, std::memory_order_release);
  command.data.notify_all();
  const bool watch =
      !command.watched && (!command.dependents.empty() || !command.callbacks.empty());
  command.watched |= watch;
  return watch;
}

backends::CompletionPtr CommandLog::completion_of(Node& command) {
  if (!command.is_batch) return command.completion;
  MutexLock lock(mutex_);
  if (command.state == Node::State::kSubmitting) return nullptr;
  command.open = false;
  return command.completion;
}

backends::CompletionPtr CommandLog::completion_so_far(const Node& command) {
  MutexLock lock(mutex_);
  return command.state == Node::State::kDirect ? command.completion : nullptr;
}

void CommandLog::set_running(const Ref<Node>& command) {
  std::vector<Node::PendingCallback> due;
  {
    MutexLock lock(mutex_);
    if (command->state == Node::State::kDone) return;  // a chained one, meanwhile
    const uint64_t now = command->timed() ? now_ns() : 0;
    if (live_ && command->state == Node::State::kWaiting) count_wait(*command, now);
    command->state = Node::State::kRunning;
    command->submitted.store(now, std::memory_order_relaxed);
    command->started.store(now, std::memory_order_relaxed);
    // What overtook others has not begun as far as one can see.
    const cl_int shown = command->overtook ? CL_SUBMITTED : CL_RUNNING;
    command->shown_status.store(shown, std::memory_order_release);
    due = take_due(*command, shown);
  }
  command->shown_status.notify_all();
  for (auto& pending : due) sink_.call_back(std::move(pending.callback), pending.type);
}

std::vector<Node::PendingCallback> CommandLog::take_due(Node& command, cl_int shown) {
  std::vector<Node::PendingCallback> due;
  std::erase_if(command.callbacks, [&](Node::PendingCallback& pending) {
    if (pending.type < shown) return false;
    due.push_back(std::move(pending));
    return true;
  });
  std::stable_sort(due.begin(), due.end(),
                   [](const auto& a, const auto& b) { return a.type > b.type; });
  return due;
}

void CommandLog::call_back_submitted(const Ref<Node>& command) {
  std::vector<Node::PendingCallback> due;
  {
    MutexLock lock(mutex_);
    if (command->callbacks.empty()) return;
    due = take_due(*command, CL_SUBMITTED);
  }
  for (auto& pending : due) sink_.call_back(std::move(pending.callback), pending.type);
}

void CommandLog::count_wait(const Node& command, uint64_t now) {
  live::add(live_->waiting, UINT64_MAX);  // one less
  live::add(live_->waited, 1);
  const uint64_t queued = command.queued.load(std::memory_order_relaxed);
  live::add(live_->waited_ns, now - std::min(now, queued));
}

void CommandLog::note_end(Node& command) {
  release_uses(command);
  command.open = false;
  command.data.store(Node::Data::kInPlace, std::memory_order_release);
  if (command.direct.load(std::memory_order_relaxed)) return;  // the vendor knows
  if (!command.timed()) return;
  const uint64_t now = now_ns();
  uint64_t never = 0;
  command.submitted.compare_exchange_strong(never, now);
  never = 0;
  command.started.compare_exchange_strong(never, now);
  command.ended.store(now, std::memory_order_relaxed);
}

void CommandLog::finish(const Ref<Node>& first, cl_int first_status) {
  const MemoryReserved reserved;  // or those who wait would do so for ever
  SmallVector<std::pair<Ref<Node>, cl_int>, 2> ended;
  ended.emplace_back(first, first_status);
  while (!ended.empty()) {
    auto [command, status] = std::move(ended.back());
    ended.pop_back();
    std::vector<Node::PendingCallback> callbacks;
    std::vector<Node::Dependent> dependents;
    decltype(Node::used_buffers) buffers;  // the last references go when no lock is held
    Nodes ready, behind;
    Work work{MarkerWork{}};
    std::shared_ptr<LaunchBatch> batch;
    Ref<Stream> stream;
    {
      MutexLock lock(mutex_);
      if (command->state == Node::State::kDone) continue;
      if (command->idle) wake(*command);
      if (live_ && command->state == Node::State::kWaiting && command->stream) {
        count_wait(*command, now_ns());
      }
      if (command->state != Node::State::kEnded) {
        note_failure(*command, status);
        note_end(*command);
      }
      buffers.swap(command->used_buffers);
      const bool shown = !command->after;
      if (shown && status == CL_COMPLETE && command->ends_group) {
        status = command->groups.front()->error();
      }
      if (shown) {
        command->state = Node::State::kDone;
        command->shown_status.store(status, std::memory_order_release);
        callbacks.swap(command->callbacks);
        dependents.swap(command->dependents);
        work = std::exchange(command->work, MarkerWork{});
        batch.swap(command->batch);
        behind.swap(command->behind);
        if (command->event_of) {
          command->event_of->told_well |= status == CL_COMPLETE;
          behind.push_back(std::move(command->event_of));
        }
        stream = std::move(command->stream);
      } else {
        command->state = Node::State::kEnded;
        command->ended_status = status;
        const auto rest = std::stable_partition(
            command->dependents.begin(), command->dependents.end(),
            [](const auto& dependent) { return dependent.waits != Waits::kData; });
        dependents.assign(std::make_move_iterator(rest),
                          std::make_move_iterator(command->dependents.end()));
        command->dependents.erase(rest, command->dependents.end());
      }
      if (stream) {
        // Who named a dependency that failed is told of that one.
        if (status < 0 && command->dependency_error == CL_SUCCESS && !command->observed) {
          stream->unseen_error = status;
        }
        drop_done(*stream);
        if (stream->last == command) stream->last = nullptr;
        if (stream->barrier == command) stream->barrier = nullptr;
        if (stream->sampled == command) stream->sampled = nullptr;
      }
      for (auto& dependent : dependents) {
        Node& next = *dependent.command;
        if (dependent.waits == Waits::kShow) {
          next.after = nullptr;
          if (next.state == Node::State::kEnded) {
            ended.emplace_back(dependent.command, next.ended_status);
          }
          continue;
        }
        if (status < 0 && dependent.waits == Waits::kNamed) fail_with(next, *command);
        if (--next.unfinished > 0) continue;
        if (next.dependency_error < 0) {
          ended.emplace_back(dependent.command, next.dependency_error);
        } else if (next.awaited) {
          // Notifying looks for waiters, and they must not look before this is seen.
          next.shown_status.store(CL_SUBMITTED, std::memory_order_seq_cst);
          next.shown_status.notify_all();
        } else {
          ready.push_back(dependent.command);
        }
      }
    }
    command->data.notify_all();
    command->shown_status.notify_all();
    std::stable_sort(callbacks.begin(), callbacks.end(),
                     [](const auto& a, const auto& b) { return a.type > b.type; });
    for (auto& pending : callbacks) {
      // On success each callback hears the status it asked for; a failure is what all hear.
      sink_.call_back(std::move(pending.callback), status < 0 ? status : pending.type);
    }
    for (auto& next : ready) sink_.ready(std::move(next));
  }
}

std::optional<cl_int> CommandLog::add_callback(const Ref<Node>& command, cl_int type,
                                               Command::Callback& callback) {
  bool watch = false;
  {
    MutexLock lock(mutex_);
    const cl_int status = command->shown_status.load(std::memory_order_relaxed);
    const bool done = command->state == Node::State::kDone;
    if (done || status <= type) return done && status < 0 ? status : type;
    command->callbacks.push_back({type, std::move(callback)});
    watch = command->state == Node::State::kDirect && !command->watched;
    command->watched |= watch;
  }
  if (watch) sink_.watch(command);
  return std::nullopt;
}

Ref<Node> CommandLog::oldest_direct(Stream& stream) {
  drop_done(stream);
  const auto& outstanding = stream.outstanding;
  if (outstanding.empty() || outstanding.front()->state != Node::State::kDirect) return {};
  return outstanding.front();
}

Ref<Node> CommandLog::in_a_crowd(Stream& stream) {
  constexpr size_t kMany = 64, kEach = 32;
  if (stream.outstanding.size() < kMany || stream.outstanding.size() % kEach != 0) return {};
  return oldest_direct(stream);
}

Ref<Node> CommandLog::exchange_sampled(Stream& stream, Ref<Node> command) {
  std::swap(stream.sampled, command);
  return command;
}

std::vector<Ref<Node>> CommandLog::outstanding(Stream& stream) {
  MutexLock lock(mutex_);
  std::vector<Ref<Node>> result;
  result.reserve(stream.outstanding.size());
  for (const auto& command : stream.outstanding) {
    if (command->state != Node::State::kDone) result.push_back(command);
  }
  return result;
}

}  // namespace tutti::scheduler
