// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/direct_submission.h"

#include <utility>

#include "base/clock.h"
#include "scheduler/order/failed_content.h"
#include "scheduler/run/expected_launch.h"

namespace tutti::scheduler {

Result<backends::CompletionPtr> DirectSubmission::hand_over(Node& command, Stream& stream,
                                                            const Submission& submission,
                                                            const KernelPlan* plan) {
  if (plan && !command.is_batch && !command.sampled) {
    const uint64_t key = model_key(std::get<KernelWork>(command.work));
    command.sampled = parts_.model.wants_sample(key, submission.backend);
  }
  if (plan) expect(parts_.planner, command, stream, *plan);
  // A trace wants the times of all, and so does the account of energy.
  const bool traced = command.trace != nullptr;
  static const auto& kMark = *new Work(MarkerWork{});
  return parts_.direct.submit(submission.marks ? kMark : command.work, stream, submission.backend,
                              submission.wait,
                              {.times = command.sampled || traced,
                               .own_end = command.observed || traced,
                               .uses = submission.uses,
                               .sent = &command.sent,
                               .trace = command.trace.get()});
}

Result<DirectSubmission::Sent> DirectSubmission::send_one(const Ref<Node>& command, Stream& stream,
                                                          const Submission& submission,
                                                          const KernelPlan* plan) {
  if (command->timed()) command->submitted.store(now_ns(), std::memory_order_relaxed);
  backends::CompletionPtr completion = submission.completion;
  if (!completion) {
    TUTTI_ASSIGN(completion, hand_over(*command, stream, submission, plan));
  }
  if (plan && parts_.summary.enabled()) {
    const auto& work = std::get<KernelWork>(command->work);
    parts_.summary.launched_whole(work, *plan, submission.backend);
  }
  Sent sent;
  sent.observed = command;
  // What has overtaken others shows its end with theirs, which an event knows nothing of.
  const bool apart = command->is_batch && command->observed && !command->overtook;
  if (apart) {
    CommandGroup* const group = command->groups.empty() ? nullptr : command->groups.back().get();
    sent.observed = LaunchBatches::new_event(parts_.ends, command->type(),
                                             {command->queued.load(std::memory_order_relaxed),
                                              command->submitted.load(std::memory_order_relaxed)},
                                             group, std::exchange(command->ends_group, false));
    // It has ended already: known so, it need not be kept until somebody asks.
    if (parts_.backends.traits(submission.backend).synchronous) completion->poll();
  }
  // An application that launches and launches would otherwise let the log grow until it waits.
  Ref<Node> before;
  {
    MutexLock lock(log_.mutex());
    if (apart) {
      LaunchBatches::take_event(log_, stream, *command, *sent.observed, submission.backend,
                                completion);
      command->observed = false;
    } else if (command->observed) {
      command->open = false;  // its end is asked for
    }
    sent.awaited = log_.set_direct(*command, submission.backend, std::move(completion));
    before = command->sampled ? log_.exchange_sampled(stream, command) : log_.in_a_crowd(stream);
  }
  if (before) parts_.ends.finish_if_ended(before);
  return sent;
}

void DirectSubmission::clear_up(Node& command, Stream& stream, const Submission& refused) {
  {
    MutexLock lock(log_.mutex());
    command.handed_back = true;
  }
  log_.drain(stream, refused.backend);
  // What comes next may not wait for more than this command, which ends before its turn.
  parts_.ends.note_failures(stream, &command, true);
  drop_sent(refused.uses, refused.backend);
}

bool DirectSubmission::others_may(const Submission& refused) const {
  return parts_.backends.real_count() > 1 && !parts_.backends.may_write_late(refused.backend);
}

Result<Ref<Node>> DirectSubmission::submit(const Ref<Node>& command, Stream& stream,
                                           const Submission& submission, const KernelPlan* plan) {
  auto sent = send_one(command, stream, submission, plan);
  if (!sent) clear_up(*command, stream, submission);
  if (!sent && others_may(submission) && !submission.marks) {
    parts_.backends.health().note_failure(submission.backend, sent.error());
    log_.set_running(command);
    parts_.tasks.post(
        parts_.workers.device(submission.backend), command,
        [this, waited = Waited{command, Ref<Stream>(&stream), submission,
                               plan ? std::optional(*plan) : std::nullopt}] { carry_out(waited); });
    return command;
  }
  if (!sent) {
    command->observed = true;  // by the caller
    // Unless the device may do it yet nothing is new.
    command->refused = !parts_.backends.may_write_late(submission.backend);
    log_.finish(command, sent.error().code);
    return tl::unexpected<Error>(std::move(sent).error());
  }
  if (sent->awaited) parts_.ends.watch(command);
  return std::move(sent->observed);
}

void DirectSubmission::carry_out(const Waited& refused) {
  const Ref<Node>& command = refused.command;
  // All that is in vendors' hands, and ends without us. What has failed of that fails who uses it.
  for (const auto& before : log_.outstanding(*refused.stream)) {
    if (before == command) break;
    bool goes_on = before->direct.load(std::memory_order_acquire);
    if (!goes_on) {
      MutexLock lock(log_.mutex());
      goes_on = before->runs_again;
    }
    if (goes_on) parts_.ends.wait_for_data(before);
  }
  for (const auto& before : refused.submission.wait) static_cast<void>(before->wait());
  cl_int input = CL_SUCCESS;
  Nodes behind;
  {
    MutexLock lock(log_.mutex());
    behind = command->behind;
  }
  for (const auto& before : behind) {
    parts_.ends.wait_for_data(before);
    // The vendor would have called it off.
    if (before->shown_status.load(std::memory_order_acquire) < 0 && command->names) {
      return log_.finish(command, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    }
  }
  {
    MutexLock lock(log_.mutex());
    input = failed_input(refused.submission.uses);
    command->handed_back = false;
  }
  if (input != CL_SUCCESS) return log_.finish(command, input);
  parts_.again.carry_out(command, refused.plan);
}

Assessment DirectSubmission::assess(const Waited& waited, std::span<const Edge> edges) {
  const KernelPlan* const plan = waited.plan ? &*waited.plan : nullptr;
  return parts_.assessor.assess(log_, *waited.command, *waited.stream, edges, plan);
}

void DirectSubmission::admit(Waited& waited, std::span<const Edge> edges, Assessment&& assessed) {
  Assessor::admit(log_, *waited.stream, edges, std::move(assessed), waited.submission);
  waited.command->behind = std::move(waited.submission.waited_for);
  log_.set_submitting(*waited.command, waited.submission.backend);
  log_.hold(*waited.command, waited.submission.uses);
}

bool DirectSubmission::start(const Ref<Node>& command, const std::optional<KernelPlan>& plan) {
  if (command->trace || command->overtook) return false;
  Waited waited{command, {}, {}, plan};
  {
    MutexLock lock(log_.mutex());
    // A part of what has begun to read is there already, and the rest goes on.
    if (command->state != Node::State::kWaiting || command->early) return false;
    waited.stream = command->stream;
    auto assessed = assess(waited, {});
    // The vendor would not know that what it reads has failed, nor would who comes behind it.
    if (assessed.decided.path != Admission::Path::kDirect || failed_input(assessed.uses)) {
      return false;
    }
    admit(waited, {}, std::move(assessed));
  }
  post(std::move(waited));
  return true;
}

void DirectSubmission::post(Waited waited) {
  const Ref<Node> command = waited.command;
  Worker& worker = parts_.workers.device(waited.submission.backend);
  parts_.tasks.post(worker, command,
                    [this, waited = std::move(waited)]() mutable { send(std::move(waited)); });
}

void DirectSubmission::send(Waited now) {
  constexpr size_t kMost = 64;  // then others have a turn
  Ref<Node> before;
  for (size_t count = 1;; ++count) {
    Result<Sent> sent = Sent();
    const bool passed = parts_.tasks.run(now.command, [&] {
      sent = send_one(now.command, *now.stream, now.submission, now.plan ? &*now.plan : nullptr);
    });
    if (passed && !sent) clear_up(*now.command, *now.stream, now.submission);
    if (passed && !sent && !others_may(now.submission)) {
      parts_.backends.health().note_failure(now.submission.backend, sent.error());
      log_.finish(now.command, sent.error().code);
    } else if (passed && !sent) {
      parts_.backends.health().note_failure(now.submission.backend, sent.error());
      log_.set_running(now.command);
      parts_.tasks.run(now.command, [&] { carry_out(now); });
    }
    if (!passed || !sent) {
      if (before) parts_.ends.watch_once(before);
      return;
    }
    log_.call_back_submitted(now.command);
    std::optional<Waited> next;
    static_cast<void>(guarded([&] { next = next_waited(now.command); }));
    if (!next) {
      return sent->awaited ? parts_.ends.watch(now.command) : parts_.ends.watch_once(now.command);
    }
    if (count == kMost) return post(std::move(*next));
    before = std::move(now.command);
    now = std::move(*next);
  }
}

std::optional<DirectSubmission::Waited> DirectSubmission::next_waited(const Ref<Node>& before) {
  Waited waited;
  std::optional<KernelWork> kernel;
  {
    MutexLock lock(log_.mutex());
    waited.command = CommandLog::next_waiting(*before);
    if (!waited.command || waited.command->trace) return {};
    waited.stream = before->stream;
    // A copy: another thread may find that the one before has ended.
    if (const auto* work = std::get_if<KernelWork>(&waited.command->work)) kernel = *work;
  }
  if (kernel) {
    auto plan = plan_next(parts_.planner, *waited.stream, *kernel);
    if (!plan) return {};  // it hears of that when its turn comes
    waited.plan = std::move(*plan);
  }
  bool others_wait = false;
  {
    MutexLock lock(log_.mutex());
    if (CommandLog::next_waiting(*before) != waited.command) return {};
    const Edge edge{before, Waits::kOrder};
    auto assessed = assess(waited, {&edge, 1});
    if (assessed.decided.path != Admission::Path::kDirect ||
        assessed.decided.backend != before->backend || touches_failed(assessed.uses)) {
      return {};
    }
    others_wait = log_.detach(*before, *waited.command);
    admit(waited, {&edge, 1}, std::move(assessed));
  }
  if (others_wait) parts_.ends.watch(before);
  return waited;
}

}  // namespace tutti::scheduler
