// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/re_execution.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/cl_error_name.h"
#include "base/memory_reserve.h"
#include "scheduler/order/failed_content.h"

namespace tutti::scheduler {
namespace {

constexpr size_t kMostUsers = 64;  // of what a command has written

bool is_known(const Work& work) {
  return Executor::repeatable(work) || std::holds_alternative<KernelWork>(work);
}

bool contains(const Nodes& nodes, const Ref<Node>& node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

bool has(std::span<const std::pair<Ref<Node>, cl_int>> statuses, const Ref<Node>& command,
         cl_int status) {
  return std::find(statuses.begin(), statuses.end(), std::pair(command, status)) != statuses.end();
}

/// Whether order matters between commands with these uses.
bool meet(std::span<const BufferUse> uses, std::span<const BufferUse> others) {
  return std::any_of(uses.begin(), uses.end(), [&](const BufferUse& use) {
    return std::any_of(others.begin(), others.end(), [&](const BufferUse& other) {
      return use.buffer == other.buffer && keep_order(use, other);
    });
  });
}

/// Whether something that `read` reads is written by these uses of a command that has run; or was
/// to be overwritten by one that has not: then nobody knows whether it was there before.
bool changes(std::span<const PackageUse> uses, const PackageUse& read, bool ran) {
  return std::any_of(uses.begin(), uses.end(), [&](const PackageUse& use) {
    return (ran || use.overwrites) && reads_what_it_writes(use, {&read, 1});
  });
}

/// Whether a command writes all bytes of what it may write, whatever it has read: what it has
/// written of what had failed is gone when it has been carried out anew.
bool overwrites_all(std::span<const PackageUse> uses) {
  return std::all_of(uses.begin(), uses.end(),
                     [](const PackageUse& use) { return use.write.empty() || use.overwrites; });
}

/// What a direct command may use. Of launches that have joined a batch it knows the buffers alone.
BufferUses possible_uses(const Node& command) {
  if (!command.several()) return uses_of(command.work, nullptr);
  BufferUses uses;
  for (const auto& buffer : command.used_buffers) {
    uses.push_back({buffer.get(), 0, buffer->size(), true, true});
  }
  return uses;
}

/// Whether a command that has used what `failed` should have written may be carried out behind
/// that: it is in the same vendor's queue.
bool may_follow(const Node& failed, const Node& user) {
  return user.backend == failed.backend && !user.several() && !user.idle && !user.after &&
         !user.overtook && user.dependency_error == CL_SUCCESS && user.completion &&
         is_known(user.work);
}

}  // namespace

bool ReExecution::may_be_anew(const Node& command, bool called_off, std::optional<NotAnew>& why) {
  why.reset();
  if (command.state != Node::State::kDirect || command.ending || (called_off && command.names) ||
      command.dependency_error != CL_SUCCESS || failed_input(command) != CL_SUCCESS) {
    return false;  // others have failed, or see to it
  }
  if (command.several()) {
    why = NotAnew::kJoined;
  } else if (!is_known(command.work)) {
    why = NotAnew::kUnknown;
  } else if (command.after || command.told_well) {
    why = NotAnew::kReliedOn;
  }
  return !why;
}

bool ReExecution::is_there(const PackageUse& read, std::span<const SentRange> sent) {
  PackageUse as_before = read;
  as_before.write = read.read;
  return !sent.empty() && was_sent({&as_before, 1}, sent);
}

bool ReExecution::is_restored(const PackageUse& read, std::span<const Step> before) {
  return std::any_of(before.begin(), before.end(), [&](const Step& step) {
    return std::any_of(step.uses.begin(), step.uses.end(), [&](const PackageUse& use) {
      const bool covers = !use.write.strided() && use.write.range.begin <= read.read.range.begin &&
                          read.read.range.end <= use.write.range.end;
      return step.exact() && use.overwrites && use.buffer == read.buffer &&
             (covers || use.write == read.read);
    });
  });
}

ReExecution::Statuses ReExecution::statuses_behind(const Node& command) {
  std::vector<std::pair<Ref<Node>, backends::CompletionPtr>> behind;
  {
    MutexLock lock(log_.mutex());
    if (!command.stream) return {};
    for (const auto& other : command.stream->outstanding) {
      const bool later = other->number > command.number;
      if (!later || other->state != Node::State::kDirect) continue;
      behind.emplace_back(other, other->completion);
    }
  }
  Statuses statuses;
  for (const auto& [other, completion] : behind) {
    statuses.emplace_back(other, completion ? completion->poll() : CL_QUEUED);
  }
  return statuses;
}

std::optional<Nodes> ReExecution::users_of(const Node& command, const Statuses& statuses) {
  struct Candidate {
    Ref<Node> node;
    BufferUses uses;
    bool well;  // and all that it has used of those before
    bool taken = false;
  };
  std::vector<Candidate> candidates;
  for (const auto& other : command.stream->outstanding) {
    if (other->number <= command.number) continue;
    // It has ended before this was known.
    const bool ended = other->state == Node::State::kEnded || other->done() || other->ending;
    if (ended && other->backend == command.backend && other->type() != CL_COMMAND_MARKER) return {};
    const bool marker = std::holds_alternative<MarkerWork>(other->work);
    if (other->state != Node::State::kDirect || marker) continue;
    const bool ended_well = has(statuses, other, CL_COMPLETE) && other->observed &&
                            other->joined_error == CL_SUCCESS && !other->several();
    BufferUses uses = possible_uses(*other);
    const bool well = ended_well && std::none_of(candidates.begin(), candidates.end(),
                                                 [&](const Candidate& before) {
                                                   return !before.well && meet(before.uses, uses);
                                                 });
    candidates.push_back({other, std::move(uses), well});
  }
  // Also what has not ended well, and those use: it is not known to have failed yet.
  BufferUses first = uses_of(command.work, nullptr);
  Nodes users;
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < candidates.size(); ++i) {
      Candidate& one = candidates[i];
      if (one.taken) continue;
      bool takes = meet(first, one.uses);
      for (size_t j = 0; j < candidates.size() && !takes; ++j) {
        takes = candidates[j].taken && (j < i || !one.well) && meet(candidates[j].uses, one.uses);
      }
      if (!takes) continue;
      if (!may_follow(command, *one.node) || users.size() == kMostUsers) return {};
      users.push_back(one.node);
      one.taken = more = true;
    }
  }
  const auto meet_in_host_memory = [](const Node& one, const Node& other) {
    return CommandLog::meets_in_host_memory(host_use_of(one.work), other);
  };
  for (const Candidate& one : candidates) {
    if (meet_in_host_memory(command, *one.node)) return {};
    for (const auto& user : users) {
      if (user != one.node && meet_in_host_memory(*user, *one.node)) return {};
    }
  }
  std::sort(users.begin(), users.end(),
            [](const auto& a, const auto& b) { return a->number < b->number; });
  return users;
}

std::optional<Nodes> ReExecution::reads_behind(const Node& command, const Nodes& users) {
  Nodes reads;
  const auto see = [&](const Node& one) TUTTI_REQUIRES(log_.mutex()) {
    for (const auto& other : log_.conflicts(one, uses_of(one.work, nullptr))) {
      if (other.get() == &command || contains(users, other)) continue;
      if (other->handed_back && other->stream == command.stream) continue;  // it comes later
      // The vendor's queue keeps the order of all that it has, so that one stands for others.
      const bool later = other->state == Node::State::kDirect && other->number > command.number &&
                         CommandLog::ahead_of(command, *other);
      if (later) continue;
      if (other->reads_again.load() == Node::ReadsAgain::kNo) return false;
      if (!contains(reads, other)) reads.push_back(other);
    }
    return true;
  };
  bool well = see(command);
  for (const auto& user : users) well = well && see(*user);
  return well ? std::optional(std::move(reads)) : std::nullopt;
}

bool ReExecution::plan_step(Step& step, BackendMask allowed) {
  if (const auto* kernel = std::get_if<KernelWork>(&step.work)) {
    auto planned = parts_.planner.plan(*kernel, allowed);
    if (!planned) return false;
    step.plan = std::move(*planned);
    step.plan->split = false;
    parts_.planner.evaluate(*kernel, *step.plan);
    step.uses = uses_of_package(*kernel, *step.plan, step.backend, 0, 1);
    return true;
  }
  for (const BufferUse& use : uses_of(step.work, nullptr)) {
    PackageUse& one = step.uses.emplace_back();
    one.buffer = use.buffer;
    (use.writes ? one.write : one.read).range = {use.begin, use.end};
    one.overwrites = use.writes && !use.partly;
  }
  return true;
}

bool ReExecution::plan_users(std::vector<Step>& steps, BackendMask allowed) {
  for (size_t i = 1; i < steps.size(); ++i) {
    if (!plan_step(steps[i], allowed)) return false;
    const Step& step = steps[i];
    const bool anew =
        overwrites_all(step.uses) || (!step.sent.empty() && was_sent(step.uses, step.sent));
    if (step.ran && !(step.exact() && anew)) return false;
  }
  const std::span<const Step> all = steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    for (const PackageUse& use : steps[i].uses) {
      // The first one has been looked at by itself.
      const auto changers = all.subspan(std::max<size_t>(i, 1));
      const bool changed =
          !use.read.empty() && std::any_of(changers.begin(), changers.end(), [&](const Step& step) {
            return changes(step.uses, use, step.ran);
          });
      if (changed && !is_restored(use, all.first(i)) && !is_there(use, all[i].sent)) return false;
    }
  }
  return true;
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
  const bool called_off = was_called_off(*command, status);
  const uint32_t backend = command->backend;
  const bool may_go_on = parts_.backends.may_write_late(backend);
  const Statuses statuses = statuses_behind(*command);
  BackendMask allowed = 0;
  std::vector<Step> steps;
  {
    MutexLock lock(log_.mutex());
    if (command->state == Node::State::kDirect) work = command->work;
    if (!may_be_anew(*command, called_off, why)) return false;
    if (may_go_on) {
      why = NotAnew::kMayGoOn;
      return false;
    }
    const auto users = users_of(*command, statuses);
    if (!users || !reads_behind(*command, *users)) {
      why = NotAnew::kReliedOn;
      return false;
    }
    drop_sent(*command);
    allowed = command->stream->options().backends;
    const BackendMask others = allowed & ~backend_bit(backend);
    elsewhere |= parts_.backends.at(backend).hangs();
    if (elsewhere && others != 0) allowed = others;
    steps.push_back({command, command->work, backend, !called_off, command->sent, {}, {}});
    for (const auto& user : *users) {
      constexpr cl_int kCalledOff = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
      const bool ran = !has(statuses, user, kCalledOff) || !was_called_off(*user, kCalledOff);
      drop_sent(*user);
      steps.push_back({user, user->work, backend, ran, user->sent, {}, {}});
    }
  }
  Step& first = steps.front();
  if (!plan_step(first, allowed)) {
    why = NotAnew::kRefused;
    return false;
  }
  if (const auto* kernel = std::get_if<KernelWork>(&first.work)) {
    // What was sent ahead of it may not have come; but from where it was sent it is as it was.
    const bool sent = !first.sent.empty();
    const bool again =
        (called_off && !sent) ||
        (first.exact() && (sent ? was_sent(first.uses, first.sent) : writes_anew(first.uses)));
    if (!again) {
      const NotAnew known = first.exact() ? NotAnew::kOverwritten : NotAnew::kUnknown;
      const Error error{status, cl_error_name(status)};
      if (!elsewhere) tell_given_up(*kernel, known, error, first.uses);
      return false;
    }
  }
  if (!plan_users(steps, allowed)) {
    why = NotAnew::kReliedOn;
    return false;
  }
  ++under_way_;
  const bool taken = take_over(steps, called_off, statuses, why);
  if (taken) carry_out(steps);
  --under_way_;
  return taken;
}

void ReExecution::carry_out(const std::vector<Step>& steps) {
  const uint32_t backend = steps.front().backend;
  // What they do of what has failed they do before what they do anew.
  for (auto step = steps.begin() + 1; step != steps.end(); ++step) {
    static_cast<void>(step->command->completion->wait());
  }
  if (parts_.backends.may_write_late(backend)) {  // by now
    for (const Step& step : steps) log_.finish(step.command, CL_OUT_OF_RESOURCES);
    return;
  }
  for (const Step& step : steps) {
    for (const SentRange& one : step.sent) {
      one.buffer->set_exclusive(kHostPlace, one.begin, one.end);
    }
  }
  for (const Step& step : steps) {
    parts_.tasks.run(step.command, [&] { carry_out(step.command, step.plan); });
  }
}

bool ReExecution::take_over(const std::vector<Step>& steps, bool called_off,
                            const Statuses& statuses, std::optional<NotAnew>& why) {
  const Ref<Node>& command = steps.front().command;
  const MemoryReserved reserved;  // or those who wait would do so for ever
  MutexLock lock(log_.mutex());
  if (!may_be_anew(*command, called_off, why)) return false;  // another thread may see to it
  why = NotAnew::kReliedOn;
  const auto users = users_of(*command, statuses);
  const bool same =
      users && std::equal(users->begin(), users->end(), steps.begin() + 1, steps.end(),
                          [](const auto& user, const Step& step) { return user == step.command; });
  if (!same) return false;
  const auto reads = reads_behind(*command, *users);
  if (!reads) return false;
  for (const auto& read : *reads) {
    // It may just have ended.
    auto seen = Node::ReadsAgain::kMay;
    const bool will = read->reads_again.compare_exchange_strong(seen, Node::ReadsAgain::kWill) ||
                      seen == Node::ReadsAgain::kWill;
    if (!will) return false;
    for (const Step& step : steps) read->behind.push_back(step.command);
  }
  why.reset();
  for (const Step& step : steps) {
    Node& one = *step.command;
    one.open = false;
    one.state = Node::State::kRunning;
    one.direct.store(false, std::memory_order_release);
    one.joined_error = CL_SUCCESS;  // whatever has become of it
    one.runs_again = true;
    // What came behind it on its device has taken its uses over, and may end before.
    log_.hold(one, uses_of(one.work, step.plan ? &*step.plan : nullptr));
    parts_.planner.ended(std::exchange(one.expected, {}));
  }
  return true;
}

void ReExecution::carry_out(const Ref<Node>& command, const std::optional<KernelPlan>& plan) {
  if (plan) return parts_.runs.run_whole(command, *plan);
  const Status status = parts_.host.execute(*command);
  if (!status) tell_given_up(command->work, NotAnew::kTransfer, status.error());
  log_.finish(command, code_of(status));
}

}  // namespace tutti::scheduler
