// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/command_ends.h"

#include <algorithm>
#include <bit>
#include <set>
#include <string>
#include <utility>

#include "base/cl_error_name.h"
#include "base/process_exit.h"
#include "scheduler/order/failed_content.h"
#include "scheduler/run/model_keeping.h"

namespace tutti::scheduler {
namespace {

/// What `command` itself has come behind, as far as it is in a vendor's hands.
void add_direct_behind(const Node& command, Nodes& found) {
  for (const auto& before : command.behind) {
    if (before->state == Node::State::kDirect) found.push_back(before);
  }
}

}  // namespace

void CommandEnds::add_behind(const Stream& stream, const Node* until, Nodes& found) {
  for (const auto& command : stream.outstanding) {
    if (command.get() == until) return;
    add_direct_behind(*command, found);
  }
}

void CommandEnds::finish_behind(Nodes open) {
  // Chains are long: a list, and no recursion.
  Nodes path;
  std::set<const Node*> seen;
  while (!open.empty()) {
    const Ref<Node> next = open.back();
    if (!path.empty() && path.back() == next) {
      open.pop_back();
      path.pop_back();
      if (const auto status = ended(*next)) finish_in_turn(next, *status);
      continue;
    }
    if (!seen.insert(next.get()).second) {
      open.pop_back();
      continue;
    }
    path.push_back(next);
    MutexLock lock(log_.mutex());
    add_all_behind(*next, open);
  }
}

void CommandEnds::add_all_behind(const Node& command, Nodes& found) {
  if (command.stream) {
    const Ref<Node> batch = batch_of(command);
    const Node* const until = batch ? batch.get() : &command;
    if (batch || !command.of_batch) add_behind(*command.stream, until, found);
  }
  add_direct_behind(command, found);
}

void CommandEnds::let_go_ended(Node& command) {
  Nodes events;
  {
    MutexLock lock(log_.mutex());
    // Times are read in the order of the commands: the estimate of the vendor's clock moves.
    if (command.stream && command.stream->options().profiling) return;
    for (Node* next = &command; !next->behind.empty();) {
      const Ref<Node>& before = next->behind.front();
      // What is of another stream tells of that one, too.
      const bool own = before->of_batch && before->stream == command.stream;
      if (next->behind.size() != 1 || !own) return;
      events.push_back(before);
      next = before.get();
    }
  }
  const auto well = [](const Ref<Node>& event) {
    return event->shown_status.load(std::memory_order_acquire) == CL_COMPLETE ||
           (event->completion && event->completion->poll() == CL_COMPLETE);
  };
  if (events.empty() || log_.any_failed() || !std::all_of(events.begin(), events.end(), well)) {
    return;
  }
  MutexLock lock(log_.mutex());
  if (log_.any_failed()) return;
  log_.let_go_behind(command);
  // None is the last owner of the next: a chain of them may be longer than a stack.
  for (const auto& event : events) log_.let_go_behind(*event);
}

void CommandEnds::finish_direct(const Ref<Node>& command, cl_int status) {
  Nodes behind;
  Turn turn;
  {
    MutexLock lock(log_.mutex());
    add_all_behind(*command, behind);
    if (behind.empty()) turn = turn_of(command, status);
  }
  if (behind.empty()) return finish_in_turn(command, status, turn);
  let_go_ended(*command);
  behind.clear();
  {
    MutexLock lock(log_.mutex());
    add_all_behind(*command, behind);
  }
  if (!behind.empty()) finish_behind(std::move(behind));
  finish_in_turn(command, status);
}

CommandEnds::Turn CommandEnds::turn_of(const Ref<Node>& command, cl_int status) {
  Turn turn{command->stream, command};
  if (!turn.stream || turn.stream->outstanding.empty()) return turn;
  const Stream& stream = *turn.stream;
  if (command->of_batch) turn.until = batch_of(*command);
  // All before a batch that has ended has, too.
  turn.first = !turn.until || turn.until == stream.outstanding.front();
  if (status < 0) spoil_batch(*command, status);
  turn.failed = status < 0 || command->joined_error < 0;
  return turn;
}

void CommandEnds::finish_in_turn(const Ref<Node>& command, cl_int status) {
  Turn turn;
  {
    MutexLock lock(log_.mutex());
    turn = turn_of(command, status);
  }
  finish_in_turn(command, status, turn);
}

void CommandEnds::finish_in_turn(const Ref<Node>& command, cl_int status, const Turn& turn) {
  const Ref<Stream>& stream = turn.stream;
  if (!turn.first) note_failures_of(*stream, turn.until.get(), turn.failed);
  if (status == CL_COMPLETE && stream && log_.any_failed()) {
    MutexLock lock(log_.mutex());
    status = error_of_batch(*command);
  }
  if (!finish_one(command, status) || !stream) return;
  for (;;) {
    Ref<Node> oldest;
    {
      MutexLock lock(log_.mutex());
      if (parts_.batches && parts_.batches->make_idle(log_, *stream)) return;
      oldest = log_.oldest_direct(*stream);
      if (!oldest || CommandLog::waits_behind(*oldest)) return;
    }
    const auto end = ended(*oldest);
    if (!end || !finish_one(oldest, *end)) return;
  }
}

Ref<Node> CommandEnds::batch_of(const Node& event) {
  const Ref<Node>& batch = event.event_of;
  return batch && batch->state != Node::State::kDone ? batch : Ref<Node>();
}

void CommandEnds::spoil_batch(const Node& event, cl_int status) {
  if (const auto batch = batch_of(event)) log_.note_unseen(*batch, status);
}

cl_int CommandEnds::error_of_batch(const Node& event) {
  if (!event.event_of) return CL_COMPLETE;
  const Node& batch = *event.event_of;
  if (batch.joined_error < 0) return batch.joined_error;
  // One that has ended holds no uses any more, and has been told what its content was.
  return batch.state == Node::State::kDone ? batch.shown_status.load(std::memory_order_relaxed)
                                           : failed_input(batch);
}

void CommandEnds::note_failures(Stream& stream, const Node* until, bool all) {
  Nodes behind;
  {
    MutexLock lock(log_.mutex());
    add_behind(stream, until, behind);
  }
  if (!behind.empty()) finish_behind(std::move(behind));
  note_failures_of(stream, until, all);
}

void CommandEnds::note_failures_of(Stream& stream, const Node* until, bool all) {
  // Of what another thread has found to have failed already, those behind it have still to hear.
  const bool any = log_.any_failed();
  std::vector<std::pair<Ref<Node>, backends::CompletionPtr>> before;
  {
    MutexLock lock(log_.mutex());
    for (const auto& command : stream.outstanding) {
      if (command.get() == until) break;
      all |= command->state == Node::State::kDirect &&
             (command->joined_error < 0 || (any && touches_failed(*command)));
    }
    for (const auto& command : stream.outstanding) {
      if (command.get() == until) break;
      // The others' completions know no more than that what is behind them has ended.
      if (command->state == Node::State::kDirect && !command->idle &&
          (command->observed || command->sampled || all ||
           std::holds_alternative<RectWork>(command->work))) {  // of an image: it has an event
        before.emplace_back(command, command->completion);
      }
    }
  }
  const auto failed = [](const auto& one) { return one.second && one.second->poll() < 0; };
  if (!all) {
    return std::any_of(before.begin(), before.end(), failed) ? note_failures_of(stream, until, true)
                                                             : void();
  }
  for (const auto& [command, completion] : before) {
    if (const auto status = ended(*command)) finish_one(command, *status);
  }
}

std::optional<cl_int> CommandEnds::ended(Node& command) {
  const auto status = [](const backends::CompletionPtr& completion) -> std::optional<cl_int> {
    const cl_int polled = completion ? completion->poll() : CL_QUEUED;
    return polled > CL_COMPLETE ? std::nullopt : std::optional(polled);
  };
  if (command.is_batch && !status(log_.completion_so_far(command))) return std::nullopt;
  return status(log_.completion_of(command));
}

void CommandEnds::finish_if_ended(const Ref<Node>& command) {
  if (const auto status = ended(*command)) finish_direct(command, *status);
}

cl_int CommandEnds::unseen_error(const Node& command) {
  if (!log_.any_failed()) return CL_COMPLETE;
  MutexLock lock(log_.mutex());
  return command.state == Node::State::kDirect ? command.joined_error : CL_COMPLETE;
}

void CommandEnds::wait_for_those_anew(const Node& command) {
  Nodes anew;
  {
    MutexLock lock(log_.mutex());
    const Stream* const stream = command.stream.get();
    if (!stream || stream->options().out_of_order) return;
    const Ref<Node> batch = batch_of(command);
    if (command.of_batch && !batch) return;  // all before a batch that has ended has, too
    const Node* const until = batch ? batch.get() : &command;
    for (const auto& other : stream->outstanding) {
      if (other.get() == until) break;
      if (other->state == Node::State::kRunning && other->runs_again) anew.push_back(other);
    }
  }
  for (const auto& other : anew) wait_for_data(other);
}

bool CommandEnds::finish_one(const Ref<Node>& command, cl_int own_status) {
  if (parts_.again.under_way()) wait_for_those_anew(*command);
  const cl_int status = own_status == CL_COMPLETE ? unseen_error(*command) : own_status;
  // Before the device is lost, and with it the content that this should have written there.
  const bool anew =
      status < 0 && command->direct.load(std::memory_order_acquire) &&
      (parts_.backends.at(command->backend).hangs() || parts_.again.has_sent(*command)) &&
      carry_out_anew(command, status, true);
  if (own_status < 0 && own_status != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) {
    parts_.backends.health().note_failure(command->backend, Error{status, cl_error_name(status)});
  } else if (status == CL_COMPLETE) {
    parts_.backends.health().note_success(command->backend);
  }
  if (anew || (status < 0 && carry_out_anew(command, status, false))) return true;
  bool timed = command->trace != nullptr;
  {
    MutexLock lock(log_.mutex());
    // Running: another thread carries it out anew.
    if (command->state == Node::State::kDone || command->state == Node::State::kRunning) {
      return false;
    }
    command->ending = true;
    timed |= command->stream && command->stream->options().profiling;
    const bool again = command->state == Node::State::kEnded;
    parts_.planner.ended(std::exchange(command->expected, {}));
    // The sample is taken while the work is still there; a second thread may do the same.
    const auto* kernel = std::get_if<KernelWork>(&command->work);
    const bool told = command->sampled || (command->trace && parts_.summary.enabled());
    if (status == CL_COMPLETE && kernel && told && !again) {
      const KernelWork& work = *kernel;
      const bool sampled = command->sampled;
      const uint64_t key = model_key(work);
      const std::string name = work.kernel->summary().name;
      const uint64_t items = work.shape.items();
      lock.unlock();
      if (const auto times = command->completion->times()) {
        const double seconds = static_cast<double>(times->ended - times->started) * 1e-9;
        parts_.summary.measured_whole(name, key, items, command->backend, seconds);
        if (sampled) {
          parts_.backends.note_whole(key, command->backend, items, seconds, name);
          keep_if_due(parts_.model, parts_.workers);
        }
      }
      lock.lock();
    }
  }
  if (status == CL_COMPLETE && log_.any_failed()) look_closely(command);
  if (timed) command->read_vendor_times();
  if (command->trace && status == CL_COMPLETE) {
    parts_.trace.ended_direct(*command->trace, command->backend,
                              {command->queued.load(std::memory_order_relaxed),
                               command->submitted.load(std::memory_order_relaxed),
                               command->started.load(std::memory_order_relaxed),
                               command->ended.load(std::memory_order_acquire)},
                              clocks_[command->backend]);
  }
  log_.finish(command, status);
  return true;
}

void CommandEnds::finish_all_before(const Node& command, bool called_off) {
  std::vector<std::pair<Ref<Node>, backends::CompletionPtr>> before;
  Ref<Stream> stream;
  bool unseen = false;  // only the queue can tell whether one has failed
  {
    MutexLock lock(log_.mutex());
    if (command.state != Node::State::kDirect) return;
    stream = command.stream;
    for (const auto& other : stream->outstanding) {
      if (other.get() == &command) break;
      if (other->state == Node::State::kDirect && other->completion && !other->idle) {
        before.emplace_back(other, other->completion);
        unseen |= !other->observed || other->is_batch;
      }
    }
  }
  if (!called_off && !unseen) return;
  if (unseen) log_.drain(*stream, command.backend);
  // The oldest first: of each the others before it have ended.
  for (const auto& [other, completion] : before) finish_one(other, code_of(completion->wait()));
}

bool CommandEnds::carry_out_anew(const Ref<Node>& command, cl_int status, bool elsewhere) {
  // Of a batch's event the batch sees to that, which others may be joining.
  if (parts_.backends.real_count() < 2 || vendors_gone() || command->of_batch) return false;
  // What it has relied on has ended well, has failed, or is carried out anew first.
  finish_all_before(*command, ReExecution::was_called_off(*command, status));
  return parts_.again.run(command, status, elsewhere);
}

void CommandEnds::look_closely(const Ref<Node>& command) {
  std::optional<KernelWork> work;
  Ref<Stream> stream;
  {
    MutexLock lock(log_.mutex());
    const auto* kernel = std::get_if<KernelWork>(&command->work);
    if (!kernel || command->is_batch || !touches_failed(*command)) return;
    work = *kernel;
    stream = command->stream;
  }
  auto plan = parts_.planner.plan(*work, stream->options().backends);
  if (!plan) return;
  parts_.planner.evaluate(*work, *plan);
  if (!plan->exact) return;
  MutexLock lock(log_.mutex());
  command->exact_uses = uses_of(*work, &*plan);
}

void CommandEnds::add_callback(const Ref<Node>& command, cl_int type, Command::Callback callback) {
  const auto status = log_.add_callback(command, type, callback);
  if (!status) return;
  const bool here = command->direct.load(std::memory_order_acquire) &&
                    parts_.backends.traits(command->backend).synchronous &&
                    !ApplicationCode::runs_in_this_thread();
  if (here) return Workers::call_back_here(callback, *status);
  parts_.workers.call_back(std::move(callback), *status);
}

void CommandEnds::watch(const Ref<Node>& command) {
  // Watched, so it is no open batch any more.
  // It is in the vendor's hands, and ends only with what is there.
  parts_.tasks.post_or_run(parts_.workers.device(command->backend), command, [this, command] {
    const Status status = command->completion->wait();
    finish_direct(command, code_of(status));
  });
}

void CommandEnds::watch_once(const Ref<Node>& command) {
  {
    MutexLock lock(log_.mutex());
    if (command->state != Node::State::kDirect || command->watched) return;
    command->watched = true;
  }
  watch(command);
}

cl_int CommandEnds::wait(const Ref<Node>& command) {
  if (command->overtook) {
    for (const auto& before : log_.overtaken(*command)) wait_alone(before);
  }
  return wait_alone(command);
}

cl_int CommandEnds::wait_alone(const Ref<Node>& command) {
  for (;;) {
    const cl_int status = command->shown_status.load(std::memory_order_acquire);
    if (status <= CL_COMPLETE) return status;
    if (!wait_for_vendor(command)) command->shown_status.wait(status, std::memory_order_acquire);
  }
}

void CommandEnds::wait_for_data(const Ref<Node>& command) {
  for (;;) {
    const auto data = command->data.load(std::memory_order_acquire);
    if (data == Node::Data::kInPlace) return;
    if (!wait_for_vendor(command)) command->data.wait(data, std::memory_order_acquire);
  }
}

bool CommandEnds::wait_for_vendor(const Ref<Node>& command) {
  if (!command->direct.load(std::memory_order_acquire)) return false;
  const auto completion = log_.completion_of(*command);
  if (completion) finish_direct(command, code_of(completion->wait()));
  return true;
}

void CommandEnds::wait_until_direct(const Node& command) {
  for (;;) {
    const cl_int status = command.shown_status.load(std::memory_order_acquire);
    if (status <= CL_COMPLETE || command.direct.load(std::memory_order_acquire)) return;
    command.shown_status.wait(status, std::memory_order_acquire);
  }
}

Status CommandEnds::wait_for(std::span<Command* const> commands) {
  bool failed = false;
  for (Command* command : commands) failed |= wait(Ref<Node>(&node_of(*command))) < 0;
  if (failed) {
    return fail(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                "a command that was waited for failed");
  }
  return {};
}

void CommandEnds::lost(uint32_t backend, const Error& why) {
  for (const auto& owner : parts_.backends.memory(backend).owners()) {
    auto& buffer = static_cast<LogicalBuffer&>(*owner);
    lose_content(log_, parts_.backends, buffer, backend, why.code);
  }
}

Status CommandEnds::finish(Stream& stream) {
  if (parts_.batches && parts_.batches->finish(stream)) return {};
  const auto commands = log_.outstanding(stream);
  // What waits for others is not asked for one by one while it is given to vendors. The newest
  // first: the others go before it.
  bool flushed = false;
  for (auto it = commands.rbegin(); it != commands.rend(); ++it) {
    const Node& command = **it;
    if (command.overtook || command.direct.load(std::memory_order_acquire)) continue;
    if (!std::exchange(flushed, true)) {
      // What fails shows in the commands themselves.
      stream.queues.visit([](backends::Queue& queue) { static_cast<void>(queue.flush()); });
    }
    wait_until_direct(command);
  }
  // One vendor call per queue for all direct commands; their own events then answer at once. Of
  // those without, the call says that one has failed.
  BackendMask direct = 0;
  for (const auto& command : commands) {
    if (command->direct.load(std::memory_order_acquire)) direct |= backend_bit(command->backend);
  }
  for (; direct != 0; direct &= direct - 1) {
    const auto backend = static_cast<uint32_t>(std::countr_zero(direct));
    log_.drain(stream, backend);
  }
  for (const auto& command : commands) wait(command);
  MutexLock lock(log_.mutex());
  if (std::exchange(stream.unseen_error, CL_SUCCESS) == CL_SUCCESS) return {};
  return fail(CL_OUT_OF_RESOURCES, "a command of the queue failed");
}

void CommandEnds::abandon(Stream& stream) {
  if (parts_.batches) parts_.batches->close(&stream);
  for (const auto& command : log_.outstanding(stream)) watch_once(command);
}

}  // namespace tutti::scheduler
