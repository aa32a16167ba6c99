// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/re_execution.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/cl_error_name.h"
#include "scheduler/order/failed_content.h"
#include "scheduler/run/package_use.h"

namespace tutti::scheduler {

bool ReExecution::may_be_anew(const Node& command, bool called_off, std::optional<NotAnew>& why) {
  why.reset();
  if (command.state != Node::State::kDirect || (called_off && command.names) ||
      command.dependency_error != CL_SUCCESS || failed_input(command) != CL_SUCCESS) {
    return false;  // others have failed, or see to it
  }
  const bool known =
      Executor::repeatable(command.work) || std::holds_alternative<KernelWork>(command.work);
  if (command.is_batch && command.number != command.newest_number) {
    why = NotAnew::kJoined;
  } else if (command.joined_error != CL_SUCCESS) {
    why = NotAnew::kUnseen;
  } else if (!known) {
    why = NotAnew::kUnknown;
  } else if (command.after || relied_on(command)) {
    why = NotAnew::kReliedOn;
  }
  return !why;
}

bool ReExecution::relied_on(const Node& command) {
  // What came behind it on its device, and has ended before this was known.
  bool behind = false;
  for (const auto& other : command.stream->outstanding) {
    const bool ended = other->state == Node::State::kEnded || other->done();
    const bool there = other->backend == command.backend && other->type() != CL_COMMAND_MARKER;
    if (behind && ended && there) return true;
    behind |= other.get() == &command;
  }
  const auto conflicts = log_.conflicts(command, uses_of(command.work, nullptr));
  return std::any_of(conflicts.begin(), conflicts.end(), [](const auto& other) {
    return other->reads_again.load() == Node::ReadsAgain::kNo;
  });
}

bool ReExecution::has_sent(const Node& command) {
  MutexLock lock(log_.mutex());
  return !command.sent.empty();
}

bool ReExecution::run(const Ref<Node>& command, cl_int status, bool elsewhere) {
  std::optional<NotAnew> why;
  std::optional<Work> work;
  const bool anew = run(command, status, elsewhere, work, why);
  if (work && why && !elsewhere) tell_given_up(*work, *why, Error{status, cl_error_name(status)});
  return anew;
}

bool ReExecution::run(const Ref<Node>& command, cl_int status, bool elsewhere,
                      std::optional<Work>& work, std::optional<NotAnew>& why) {
  // What comes after a failed command in a vendor's queue, by our order alone, may be called off.
  const bool called_off = status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  const bool may_go_on = parts_.backends.may_write_late(command->backend);
  BackendMask allowed = 0;
  std::vector<SentRange> sent;
  {
    MutexLock lock(log_.mutex());
    if (command->state == Node::State::kDirect) work = command->work;
    if (!may_be_anew(*command, called_off, why)) return false;
    if (may_go_on) {
      why = NotAnew::kMayGoOn;
      return false;
    }
    drop_sent(*command);
    sent = command->sent;
    allowed = command->stream->options().backends;
    const BackendMask others = allowed & ~backend_bit(command->backend);
    elsewhere |= parts_.backends.at(command->backend).hangs();
    if (elsewhere && others != 0) allowed = others;
  }
  std::optional<KernelPlan> plan;
  if (const auto* kernel = std::get_if<KernelWork>(&*work)) {
    auto planned = parts_.planner.plan(*kernel, allowed);
    if (!planned) {
      why = NotAnew::kRefused;
      return false;
    }
    plan = std::move(*planned);
    plan->split = false;
    parts_.planner.evaluate(*kernel, *plan);
    const auto uses = uses_of_package(*kernel, *plan, command->backend, 0, 1);
    // What was sent ahead of it may not have come; but from where it was sent it is as it was.
    const bool again = (called_off && sent.empty()) ||
                       (plan->exact && (sent.empty() ? writes_anew(uses) : was_sent(uses, sent)));
    if (!again) {
      const NotAnew known = plan->exact ? NotAnew::kOverwritten : NotAnew::kUnknown;
      if (!elsewhere) tell_given_up(*kernel, known, Error{status, cl_error_name(status)}, uses);
      return false;
    }
  }
  {
    MutexLock lock(log_.mutex());
    if (!may_be_anew(*command, called_off, why)) return false;  // another thread may see to it
    for (const auto& read : log_.conflicts(*command, uses_of(command->work, nullptr))) {
      // It may just have ended.
      auto seen = Node::ReadsAgain::kMay;
      const bool will = read->reads_again.compare_exchange_strong(seen, Node::ReadsAgain::kWill) ||
                        seen == Node::ReadsAgain::kWill;
      if (!will) {
        why = NotAnew::kReliedOn;
        return false;
      }
      read->behind.push_back(command);
    }
    command->open = false;
    command->state = Node::State::kRunning;
    command->direct.store(false, std::memory_order_release);
    parts_.planner.ended(std::exchange(command->expected, {}));
  }
  for (const SentRange& one : sent) {
    one.buffer->set_exclusive(kHostPlace, one.begin, one.end);
  }
  parts_.tasks.run(command, [&] { carry_out(command, plan); });
  return true;
}

void ReExecution::carry_out(const Ref<Node>& command, const std::optional<KernelPlan>& plan) {
  if (plan) return parts_.runs.run_whole(command, *plan);
  const Status status = parts_.host.execute(*command);
  if (!status) tell_given_up(command->work, NotAnew::kTransfer, status.error());
  log_.finish(command, code_of(status));
}

}  // namespace tutti::scheduler
