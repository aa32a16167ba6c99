// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/engine.h"

#include <cstdio>

#include "base/live_counters.h"
#include "base/memory_reserve.h"
#include "base/printable.h"
#include "scheduler/engine/intake.h"
#include "scheduler/observe/energy_monitor.h"

namespace tutti::scheduler {

// What an engine is made of, from the ground up, and the few places where something below must
// reach what stands above it.
struct Engine::Parts final : LogSink, MemoryRoom::Others {
  Parts(BackendSet& set, EngineSettings chosen) : backends(set), settings(std::move(chosen)) {
    if (!settings.model_file.empty()) model.remember_in(settings.model_file);
    energy.start();
    backends.health().set_hooks(
        {.lost =
             [this](uint32_t backend, const Error& why) {
               ends.lost(backend, why);
               trace.lost(backend, why);
               live::set_lost(backends.traits(backend).index, true);
             },
         .due =
             [this](uint32_t backend) {
               workers.device(backend).post([this, backend] { backends.health().retry(backend); },
                                            not_ready(backend));
             },
         .renewed =
             [this](uint32_t backend) {
               workers.memory().post(
                   [this, backend] { backends.health().ready(backend, room.let_go(backend)); },
                   not_ready(backend));
             },
         .back =
             [this](uint32_t backend, uint64_t lost_ns, uint64_t now_ns) {
               trace.was_lost(backend, lost_ns, now_ns);
               live::set_lost(backends.traits(backend).index, false);
             }});
    for (uint32_t i = 0; i < backends.count(); ++i) {
      if (backends.traits(i).came_later) live::set_lost(backends.traits(i).index, true);
    }
  }
  ~Parts() = default;
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  /// There was no memory or thread to see to it: later.
  std::function<void(const Error&)> not_ready(uint32_t backend) {
    return [this, backend](const Error&) { backends.health().ready(backend, false); };
  }

  // LogSink
  void ready(Ref<Node> command) override { conductor.ready(command); }
  void watch(Ref<Node> command) override { ends.watch(command); }
  void call_back(Command::Callback callback, cl_int status) override {
    workers.call_back(std::move(callback), status);
  }

  // MemoryRoom::Others
  void end_idle() override { batches->close(nullptr); }
  std::vector<Ref<Node>> with_own_memory() override {
    log.mutex().assert_held();
    return splits.commands(log);
  }
  void wait_for_data(const Ref<Node>& command) override { ends.wait_for_data(command); }

  BackendSet& backends;
  const EngineSettings settings;
  PerformanceModel& model = backends.model();
  Planner planner{backends, settings};
  Executor executor{backends, settings.always_shards() ? settings.shard_unit : UINT64_MAX};
  DirectPath direct{backends};
  EnergyMonitor energy{backends, settings.energy, settings.objective};
  RunSummary summary{backends, settings.summary, energy};
  RunTrace trace{backends, energy};
  BlockCompare compare{backends};
  VerificationReport verified{settings.verify.vote};

  CommandLog log{*this};
  CommandTasks tasks{log};
  RunningSplits splits{backends, log, settings.split == SplitMode::kForce};
  HostExecution host{backends, log, executor};
  MemoryRoom room{backends, log, ends, *this};
  OverduePackages overdue{{backends, log, ends, trace}, settings.overdue_ns};
  KernelRuns runs{{backends, settings, log, planner, model, executor, summary, trace, compare,
                   verified, splits, overdue, room, workers, tasks}};
  Chains chains{{backends, settings, log, planner, trace, splits, room, runs, workers, tasks}};
  const std::unique_ptr<LaunchBatches> batches =  // null: each launch is a command of its own
      settings.batches && !settings.verify.vote
          ? std::make_unique<LaunchBatches>(LaunchBatches::Parts{
                backends, log, *this, ends, planner, model, summary, direct, executor})
          : nullptr;

  ReExecution again{{backends, log, planner, host, runs, tasks}};
  CommandEnds ends{
      {backends, log, planner, model, summary, trace, again, batches.get(), workers, tasks}};
  Assessor assessor{backends, planner, direct, executor, settings.verify.vote};
  DirectSubmission submission{
      {backends, log, assessor, direct, planner, model, summary, ends, again, workers, tasks}};
  Conductor conductor{{log, planner, trace, settings, submission, ends, room, executor, runs,
                       chains, host, workers, tasks}};
  BlockingCommands blocking{
      {backends, log, trace, executor, direct, host, splits, batches.get(), ends, chains}};
  Intake intake{{backends, log, planner, trace, splits, room, batches.get(), ends, assessor,
                 submission, host, chains, conductor, blocking}};

  // The set may outlive the engine. Threads that follow a device's health have ended by then.
  struct HooksEnd {
    DeviceHealth& health;
    ~HooksEnd() { health.set_hooks({}); }
  } hooks_end{backends.health()};
  Workers workers;  // last, so that they end first
};

Engine::Engine(BackendSet& backends, EngineSettings settings)
    : backends_(backends), parts_(std::make_unique<Parts>(backends, std::move(settings))) {}

Engine::~Engine() { released(); }

void Engine::released() {
  const MemoryReserved reserved;
  if (parts_->batches) parts_->batches->close(nullptr);
}

std::optional<Status> Engine::launch_again(Stream& stream, const LaunchAgain& launch,
                                           LaunchObserver* observer) {
  LaunchBatches* const batches = parts_->batches.get();
  if (batches == nullptr || backends_.health().any_suspect()) return std::nullopt;
  if (Status filled = fill_memory_reserve(); !filled) return filled;
  const MemoryReserved reserved;
  return batches->repeat(stream, launch, observer);
}

Result<Ref<LogicalBuffer>> Engine::create_buffer(const LogicalBuffer::Options& options,
                                                 const void* content) {
  TUTTI_ASSIGN(auto buffer, LogicalBuffer::create(backends_, options));
  if (!content) return buffer;
  if (options.host_now) buffer->set_exclusive(kHostPlace, 0, buffer->size());
  TUTTI_TRY(parts_->executor.begin_with(buffer, content));
  return buffer;
}

void Engine::make_room(const backends::SharedRequest& wanted, uint32_t home) {
  const bool takes = LogicalBuffer::takes_memory(backends_, wanted.kind, home);
  if (takes) parts_->room.free_at_once(home, wanted.size);
}

Ref<Stream> Engine::create_stream(StreamOptions options) {
  return make_ref<Stream>(backends_, options);
}

void Engine::abandon(Stream& stream) {
  const MemoryReserved reserved;
  parts_->ends.abandon(stream);
}

Result<Ref<Command>> Engine::enqueue(Stream& stream, Work&& work, const EnqueueOptions& options) {
  TUTTI_TRY(fill_memory_reserve());
  const MemoryReserved reserved;
  return parts_->intake.enqueue(stream, std::move(work), options);
}

Result<Ref<Command>> Engine::enqueue(Stream& stream, KernelWork&& work,
                                     const EnqueueOptions& options) {
  TUTTI_TRY(fill_memory_reserve());
  const MemoryReserved reserved;
  return parts_->intake.enqueue(stream, std::move(work), options);
}

Ref<Command> Engine::create_user_command() {
  auto command = make_ref<Node>(parts_->ends, CL_COMMAND_USER, MarkerWork{});
  command->shown_status.store(CL_SUBMITTED, std::memory_order_release);
  command->trace = parts_->trace.user_event();
  MutexLock lock(parts_->log.mutex());
  command->state = Node::State::kWaiting;
  command->unfinished = 1;
  return command;
}

Status Engine::set_user_status(Command& user, cl_int status) {
  auto& command = node_of(user);
  {
    MutexLock lock(parts_->log.mutex());
    if (command.unfinished == 0) {
      return fail(CL_INVALID_OPERATION, "the status of the user event was set before");
    }
    command.unfinished = 0;
  }
  parts_->log.finish(Ref<Node>(&command), status);
  return {};
}

Status Engine::wait(std::span<Command* const> commands) {
  const MemoryReserved reserved;
  return parts_->ends.wait_for(commands);
}

Status Engine::flush(Stream& stream) {
  const MemoryReserved reserved;
  Status flushed;
  stream.queues.visit([&](backends::Queue& queue) {
    if (Status one = queue.flush(); !one) flushed = std::move(one);
  });
  // With several devices what fails shows in the commands themselves: others may carry them out.
  return backends_.real_count() > 1 ? Status() : flushed;
}

Status Engine::finish(Stream& stream) {
  const MemoryReserved reserved;
  return parts_->ends.finish(stream);
}

void Engine::write_out() {
  parts_->energy.stop();
  parts_->trace.end();
  parts_->model.flush();
  parts_->summary.write();
  const std::string verified =
      printable(parts_->verified.text() +
                    (parts_->summary.enabled() ? std::string() : parts_->summary.votes_text()),
                "\n");
  if (!verified.empty()) std::fputs(verified.c_str(), stderr);
}

}  // namespace tutti::scheduler
