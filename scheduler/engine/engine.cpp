// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/engine.h"

#include <bit>
#include <cstdio>

#include "base/clock.h"
#include "scheduler/engine/engine_impl.h"
#include "scheduler/run/expected_launch.h"

namespace tutti::scheduler {

Engine::Impl::Impl(BackendSet& set, EngineSettings chosen)
    : backends(set),
      settings(std::move(chosen)),
      model(set.model()),
      planner(set, settings),
      executor(set),
      direct(set),
      log(*this),
      tasks(log),
      energy(set, settings.energy, settings.objective),
      summary(set, settings.summary, energy),
      trace(set, energy),
      compare(set),
      splits(set, log, settings.split == SplitMode::kForce),
      room(set, log, ends, *this),
      batches(settings.batches
                  ? std::make_unique<LaunchBatches>(LaunchBatches::Parts{
                        set, log, *this, ends, planner, model, summary, direct, executor})
                  : nullptr),
      ends({log, planner, model, summary, trace, batches.get(), workers, tasks}),
      assessor(set, planner, direct, executor),
      submitter({log, assessor, direct, planner, model, summary, ends, workers, tasks}) {
  if (!settings.model_file.empty()) model.remember_in(settings.model_file);
  energy.start();
}

void Engine::Impl::ready(Ref<Node> command) {
  tasks.post(workers.conductor(), command, [this, command] { start(command); });
}

void Engine::Impl::call_back(Command::Callback callback, cl_int status) {
  workers.callbacks().post([callback = std::move(callback), status] { callback(status); },
                           [](const Error& why) {
                             tutti::log(LogLevel::kError,
                                        "a callback is not called, or has failed: {}", why.message);
                           });
}

Status Engine::Impl::execute(Node& command) {
  const HostScope scope(command.trace.get());
  const auto* read = std::get_if<ReadWork>(&command.work);
  const auto* map = std::get_if<MapWork>(&command.work);
  const auto* rect = std::get_if<RectWork>(&command.work);
  if ((read || map || rect) && backends.count() > 1) {
    std::shared_ptr<EarlyRead> early;
    {
      MutexLock lock(log.mutex());
      early.swap(command.early);
    }
    if (early && read) return executor.read_rest(*read, early->finish());
    if (early && rect) return executor.read_rest(*rect, early->finish());
    if (early) return executor.map_rest(*map, early->finish());
  }
  return executor.execute(command.work);
}

Awaited Engine::Impl::awaited(std::span<const Edge> edges, std::span<Command* const> wait_list) {
  Awaited found;
  for (Command* before : wait_list) found.add(node_of(*before).trace.get(), Waits::kNamed);
  for (const Edge& edge : edges) found.add(edge.command->trace.get(), edge.waits);
  return found;
}

Result<Ref<Node>> Engine::Impl::run_blocking(Stream& stream, Ref<Node> command,
                                             const EnqueueOptions& options) {
  std::vector<Edge> edges;
  std::vector<Ref<Node>> nobody;
  Ref<Node> splitting;
  bool ready_now = false;
  if (batches) batches->close(&stream);
  {
    MutexLock lock(log.mutex());
    cl_int error = CL_SUCCESS;
    edges = log.prerequisites(stream, options.wait_list, options.waits_for_all, &error);
    log.append(stream, command, options.barrier);
    if (error != CL_SUCCESS) {
      lock.unlock();
      log.finish(command, error);
      return fail(error, "an event in the wait list failed");
    }
    command->awaited = true;
    log.link(*command, edges, nobody);
    ready_now = log.unguard(*command);
    splitting = splits.before(log, command->work, edges);
  }
  if (splitting) workers.conductor().post_hint([this, splitting] { read_early(splitting); });
  if (command->trace) trace.enqueued(*command->trace, awaited(edges, options.wait_list));
  for (const Edge& edge : edges) {
    if (edge.command->direct.load(std::memory_order_acquire)) ends.wait(edge.command);
  }
  if (!ready_now) command->shown_status.wait(CL_QUEUED, std::memory_order_acquire);
  if (const cl_int failed = command->shown_status.load(std::memory_order_acquire); failed < 0) {
    return fail(failed, "an event in the wait list failed");
  }
  const auto uses = uses_of(command->work, nullptr);
  for (;;) {
    std::vector<Ref<Node>> conflicts;
    {
      MutexLock lock(log.mutex());
      conflicts = log.conflicts(*command, uses);
      if (conflicts.empty()) {
        log.hold(*command, uses);
        break;
      }
    }
    if (command->trace) {
      Awaited found;
      for (const auto& other : conflicts) found.add(other->trace.get(), Waits::kData);
      trace.held_up(*command->trace, found);
    }
    for (const auto& other : conflicts) ends.wait_for_data(other);
  }
  log.set_running(command);
  const Status status = execute(*command);
  log.finish(command, code_of(status));
  if (!status) return tl::unexpected<Error>(status.error());
  return command;
}

void Engine::Impl::start(const Ref<Node>& command) {
  if (command->chained) return log.set_running(command);
  std::optional<KernelPlan> plan;
  if (const auto* work = std::get_if<KernelWork>(&command->work)) {
    const uint64_t begun_ns = command->trace ? now_ns() : 0;
    auto planned = planner.plan(*work, command->stream->options().backends);
    if (!planned) {
      log.finish(command, planned.error().code);
      return;
    }
    plan = std::move(*planned);
    if (command->trace) trace.decided(*command->trace, *work, *plan, begun_ns, now_ns());
  }
  if (submitter.start(command, plan)) return;
  const auto uses = uses_of(command->work, plan ? &*plan : nullptr);
  std::vector<Ref<Node>> to_watch;
  std::vector<Edge> edges;
  bool again = false, wait_for_others = false;
  {
    MutexLock lock(log.mutex());
    for (auto& other : log.conflicts(*command, uses))
      edges.push_back({std::move(other), Waits::kData});
    if (edges.empty()) {
      if (plan) {
        command->allocating = !allocated(uses_of(command->work, nullptr), plan->devices());
      }
      log.hold(*command, uses);
    } else {
      // Unordered commands whose ranges meet: one after the other. Those ahead have started, so
      // they end without us.
      wait_for_others = true;
      log.link(*command, edges, to_watch);
      again = log.unguard(*command);
    }
  }
  for (const auto& other : to_watch) ends.watch(other);
  if (wait_for_others) {
    if (command->trace) trace.held_up(*command->trace, awaited(edges));
    if (again) ready(command);
    return;
  }
  log.set_running(command);
  if (plan) {
    expect(planner, *command, *command->stream, *plan);
    start_kernel(command, std::get<KernelWork>(command->work), std::move(*plan));
    return;
  }
  Worker& worker =
      std::holds_alternative<HostWork>(command->work) ? workers.native() : workers.host();
  tasks.post(worker, command, [this, command] { log.finish(command, code_of(execute(*command))); });
}

Engine::Engine(BackendSet& backends, EngineSettings settings)
    : backends_(backends), impl_(std::make_unique<Impl>(backends, std::move(settings))) {}

Engine::~Engine() { released(); }

void Engine::released() {
  if (impl_->batches) impl_->batches->close(nullptr);
}

std::optional<Status> Engine::launch_again(Stream& stream, const LaunchableKernel& kernel,
                                           const LaunchShape& shape, bool local_given,
                                           ArgumentSource& arguments, LaunchObserver* observer) {
  LaunchBatches* const batches = impl_->batches.get();
  if (batches == nullptr) return std::nullopt;
  return batches->repeat(stream, kernel, shape, local_given, arguments, observer);
}

Result<Ref<LogicalBuffer>> Engine::create_buffer(const LogicalBuffer::Options& options,
                                                 const void* content) {
  TUTTI_ASSIGN(auto buffer, LogicalBuffer::create(backends_, options));
  if (!content) return buffer;
  const auto at_host = [&] { buffer->set_exclusive(kHostPlace, 0, buffer->size()); };
  if (options.host_now) at_host();
  if (!impl_->executor.begin_with(buffer, content)) {
    // The device failed, not the host.
    at_host();
    TUTTI_TRY(impl_->executor.begin_with(buffer, content));
  }
  return buffer;
}

Ref<Stream> Engine::create_stream(StreamOptions options) {
  return make_ref<Stream>(backends_, options);
}

void Engine::abandon(Stream& stream) {
  if (impl_->batches) impl_->batches->close(&stream);
  for (auto& command : impl_->log.outstanding(stream)) {
    bool nobody_waits = false;
    {
      MutexLock lock(impl_->log.mutex());
      nobody_waits = command->state == Node::State::kDirect && !command->watched;
      command->watched |= nobody_waits;
    }
    if (nobody_waits) impl_->ends.watch(command);
  }
}

Result<Ref<Command>> Engine::enqueue(Stream& stream, Work&& work, const EnqueueOptions& options) {
  if (auto* kernel = std::get_if<KernelWork>(&work)) {
    return enqueue(stream, std::move(*kernel), options);
  }
  return append(stream, std::move(work), options);
}

bool Engine::waits_for_turn_only(const Stream& stream, const EnqueueOptions& options) {
  return options.wait_list.empty() || impl_->log.are_ahead(stream, options.wait_list);
}

bool Engine::joins_batches(const Stream& stream, const EnqueueOptions& options) {
  const StreamOptions& how = stream.options();
  return impl_->batches && !how.out_of_order && !(options.observed && how.profiling) &&
         !impl_->trace.wants_all() && waits_for_turn_only(stream, options);
}

Result<Ref<Command>> Engine::enqueue(Stream& stream, KernelWork&& work,
                                     const EnqueueOptions& options) {
  if (joins_batches(stream, options)) {
    return impl_->enqueue_launch(stream, std::move(work), options);
  }
  return append(stream, std::move(work), options);
}

Result<Ref<Command>> Engine::append(Stream& stream, Work&& work, const EnqueueOptions& options) {
  if (LaunchBatches::may_join(work) && joins_batches(stream, options)) {
    if (auto joined = impl_->batches->join(stream, work, options)) return *std::move(joined);
  }
  auto command = make_ref<Node>(impl_->ends, options.type, std::move(work));
  if (impl_->trace.wants_all()) {
    command->trace = impl_->trace.begin(command->work, stream.number(),
                                        command->queued.load(std::memory_order_relaxed));
  }
  command->observed = options.observed || options.blocking;
  if (options.blocking) {
    const bool alone = !options.barrier && !command->trace && waits_for_turn_only(stream, options);
    if (const auto done = alone ? impl_->read_behind(stream, command) : std::nullopt) {
      if (!*done) return tl::unexpected<Error>(done->error());
      TUTTI_TRY(wait(options.wait_list));  // they have ended: well?
      return command;
    }
    return impl_->run_blocking(stream, std::move(command), options);
  }
  return impl_->enqueue(stream, std::move(command), options);
}

Ref<Command> Engine::create_user_command() {
  auto command = make_ref<Node>(impl_->ends, CL_COMMAND_USER, MarkerWork{});
  command->shown_status.store(CL_SUBMITTED, std::memory_order_release);
  command->trace = impl_->trace.user_event();
  MutexLock lock(impl_->log.mutex());
  command->state = Node::State::kWaiting;
  command->unfinished = 1;
  return command;
}

Status Engine::set_user_status(Command& user, cl_int status) {
  auto& command = node_of(user);
  {
    MutexLock lock(impl_->log.mutex());
    if (command.unfinished == 0) {
      return fail(CL_INVALID_OPERATION, "the status of the user event was set before");
    }
    command.unfinished = 0;
  }
  impl_->log.finish(Ref<Node>(&command), status);
  return {};
}

Status Engine::wait(std::span<Command* const> commands) {
  bool failed = false;
  for (Command* command : commands) failed |= impl_->ends.wait(Ref<Node>(&node_of(*command))) < 0;
  if (failed) {
    return fail(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                "a command that was waited for failed");
  }
  return {};
}

Status Engine::flush(Stream& stream) {
  for (auto* queue : stream.queues.existing()) TUTTI_TRY(queue->flush());
  return {};
}

Status Engine::finish(Stream& stream) {
  if (impl_->batches && impl_->batches->finish(stream)) return {};
  const auto commands = impl_->log.outstanding(stream);
  // What waits for others is not asked for one by one while it is given to vendors. The newest
  // first: the others go before it.
  bool flushed = false;
  for (auto it = commands.rbegin(); it != commands.rend(); ++it) {
    const Node& command = **it;
    if (command.overtook || command.direct.load(std::memory_order_acquire)) continue;
    if (!std::exchange(flushed, true)) static_cast<void>(flush(stream));
    CommandEnds::wait_until_direct(command);
  }
  // One vendor call per queue for all direct commands; their own events then answer at once.
  BackendMask direct = 0;
  for (const auto& command : commands) {
    if (command->direct.load(std::memory_order_acquire)) direct |= backend_bit(command->backend);
  }
  // What failed shows in each command's own event.
  for (; direct != 0; direct &= direct - 1) {
    const auto backend = static_cast<uint32_t>(std::countr_zero(direct));
    for (auto* queue : stream.queues.existing(backend)) static_cast<void>(queue->finish());
  }
  for (const auto& command : commands) impl_->ends.wait(command);
  MutexLock lock(impl_->log.mutex());
  if (std::exchange(stream.unseen_error, CL_SUCCESS) == CL_SUCCESS) return {};
  return fail(CL_OUT_OF_RESOURCES, "a command of the queue failed");
}

void Engine::shut_down() {
  impl_->workers.stop();
  impl_->energy.stop();
  impl_->model.flush();
  impl_->summary.write();
  const std::string verified = impl_->verified.text();
  if (!verified.empty()) std::fputs(verified.c_str(), stderr);
}

}  // namespace tutti::scheduler
