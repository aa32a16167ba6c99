// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/conductor.h"

#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "scheduler/devices/transfer_trace.h"
#include "scheduler/order/failed_content.h"
#include "scheduler/run/awaited.h"
#include "scheduler/run/expected_launch.h"
#include "scheduler/run/given_up.h"

namespace tutti::scheduler {

void Conductor::ready(const Ref<Node>& command, std::optional<KernelPlan> plan) {
  parts_.tasks.post(
      parts_.workers.conductor(), command,
      [this, command, plan = std::move(plan)]() mutable { start(command, std::move(plan)); });
}

std::optional<KernelPlan> Conductor::plan_now(const Ref<Node>& command, Content content) {
  const auto& work = std::get<KernelWork>(command->work);
  const uint64_t begun_ns = command->trace ? now_ns() : 0;
  auto plan = plan_next(parts_.planner, *command->stream, work, 0, content);
  if (!plan) {
    log(LogLevel::kInfo, "a launch of {} fails: {}", kernel_name(work), plan.error().message);
    log_.finish(command, plan.error().code);
    return std::nullopt;
  }
  if (command->trace && !plan->guessed) {
    parts_.trace.decided(*command->trace, work, *plan, begun_ns, now_ns());
  }
  return *std::move(plan);
}

void Conductor::start(const Ref<Node>& command, std::optional<KernelPlan> plan) {
  if (command->chained) return log_.set_running(command);
  if (!std::holds_alternative<KernelWork>(command->work)) return begin(command, {});
  if (!plan) plan = plan_now(command, Content::kGuessed);
  if (!plan) return;
  if (!plan->guessed) return begin(command, std::move(plan));
  // In a thread in which waiting for it holds up nobody.
  parts_.tasks.post(parts_.workers.memory(), command, [this, command, access = plan->access] {
    // What cannot be had says nothing.
    static_cast<void>(bring_content(std::get<KernelWork>(command->work), *access));
    if (auto known = plan_now(command, Content::kThere)) begin(command, std::move(known));
  });
}

void Conductor::begin(const Ref<Node>& command, std::optional<KernelPlan> plan) {
  if (plan) {
    const auto& work = std::get<KernelWork>(command->work);
    // What it overwrites wholly it may find as it is.
    if (!plan->exact && log_.any_failed() && uses_failed(work)) {
      parts_.planner.evaluate(work, *plan);
    }
  }
  if (parts_.direct.start(command, plan)) return;
  if (!hold(command, plan ? &*plan : nullptr)) return;
  log_.set_running(command);
  if (plan) {
    expect(parts_.planner, *command, *command->stream, *plan);
    return start_kernel(command, std::move(*plan));
  }
  if (!command->allocating) return execute(command);
  // In a thread for that, as of kernels: others may wait for what the host's does.
  parts_.tasks.post(parts_.workers.memory(), command, [this, command] {
    // Where there is none to be had, another device may do it.
    static_cast<void>(parts_.room.allocate(*command, parts_.executor.needs_of(command->work)));
    execute(command);
  });
}

void Conductor::execute(const Ref<Node>& command) {
  Worker& worker = std::holds_alternative<HostWork>(command->work) ? parts_.workers.native()
                                                                   : parts_.workers.host();
  parts_.tasks.post(worker, command, [this, command] {
    const Status status = parts_.host.execute(*command);
    if (!status) tell_given_up(command->work, NotAnew::kTransfer, status.error());
    log_.finish(command, code_of(status));
  });
}

bool Conductor::uses_failed(const KernelWork& work) {
  const auto uses = uses_of(work, nullptr);
  MutexLock lock(log_.mutex());
  return touches_failed(uses);
}

bool Conductor::hold(const Ref<Node>& command, const KernelPlan* plan) {
  const auto uses = uses_of(command->work, plan);
  Nodes to_watch;
  Awaited waits;
  bool again = false;
  cl_int failed = CL_SUCCESS;
  {
    MutexLock lock(log_.mutex());
    Edges edges;
    for (auto& other : log_.conflicts(*command, uses, plan ? mask_of(plan->devices()) : 0)) {
      edges.push_back({std::move(other), Waits::kData});
    }
    if (edges.empty()) {
      if (plan) {
        const auto& work = std::get<KernelWork>(command->work);
        command->allocating = plan->streamed() || !allocated(needs_of(work, *plan));
      } else {
        command->allocating = !allocated(parts_.executor.needs_of(command->work));
      }
      log_.hold(*command, uses);
      failed = failed_input(uses);
      if (failed == CL_SUCCESS) return true;
    } else {
      // Unordered commands whose ranges meet: one after the other. Those ahead have started, so
      // they end without us.
      log_.link(*command, edges, to_watch);
      again = log_.unguard(*command);
      if (command->trace) waits = awaited(edges);
    }
  }
  if (failed != CL_SUCCESS) {
    parts_.host.stop_early(*command);
    log_.finish(command, failed);
    return false;
  }
  for (const auto& other : to_watch) parts_.ends.watch(other);
  if (command->trace) parts_.trace.held_up(*command->trace, waits);
  if (again) ready(command);  // others have run meanwhile: it is planned anew
  return false;
}

void Conductor::start_kernel(const Ref<Node>& command, KernelPlan plan) {
  if (command->allocating) {
    // Not in a device's thread, for which others may wait whose memory this needs.
    parts_.tasks.post(parts_.workers.memory(), command,
                      [this, command, plan = std::move(plan)]() mutable {
                        const auto& work = std::get<KernelWork>(command->work);
                        // Where one of them has no memory, whole on another one.
                        KernelPlan whole = plan;
                        whole.split = false;
                        const bool other = plan.split && plan.sharded();
                        if (!parts_.room.allocate(*command, needs_of(work, plan),
                                                  other ? needs_of(work, whole) : MemoryNeeds()) ||
                            !bring_to_host(plan)) {
                          plan.split = false;
                        }
                        start_kernel(command, std::move(plan));
                      });
    return;
  }
  // What verification copies takes its time.
  const bool at_once = plan.split && !parts_.settings.verify.on;
  if (at_once) return start_split(command, std::move(plan));
  Worker& worker = parts_.workers.device(plan.backend);
  parts_.tasks.post(worker, command, [this, command, plan = std::move(plan)]() mutable {
    if (parts_.settings.verify.vote) return parts_.runs.run_voted(command, std::move(plan));
    plan.split ? start_split(command, std::move(plan)) : parts_.runs.run_whole(command, plan);
  });
}

Status Conductor::bring_to_host(const KernelPlan& plan) {
  if (!plan.streamed()) return {};
  const TransferCause cause("the device is to have other parts of the buffer", 0);
  for (size_t i = 0; i < plan.participants.size(); ++i) {
    for (const BufferShard& shard : plan.shards[i]) {
      TUTTI_TRY(shard.buffer->bring_to_host(plan.participants[i]));
    }
  }
  return {};
}

void Conductor::start_split(const Ref<Node>& command, KernelPlan plan) {
  const auto& work = std::get<KernelWork>(command->work);
  parts_.chains.begin(command, parts_.runs.prepare(command, work, std::move(plan)));
}

}  // namespace tutti::scheduler
