// SPDX-License-Identifier: Apache-2.0
#include "scheduler/engine/engine.h"

#include <bit>
#include <cstdio>

#include "base/clock.h"
#include "scheduler/engine/engine_impl.h"

namespace tutti::scheduler {

Engine::Impl::Impl(BackendSet& set, EngineSettings chosen)
    : backends(set),
      settings(std::move(chosen)),
      model(set.model()),
      planner(set, settings),
      executor(set),
      direct(set),
      log(*this),
      energy(set, settings.energy, settings.objective),
      summary(set, settings.summary, energy),
      trace(set, energy),
      compare(set) {
  if (!settings.model_file.empty()) model.remember_in(settings.model_file);
  if (settings.batches) {
    batches = std::make_unique<LaunchBatches>(LaunchBatches::Parts{
        backends, log, *this, *this, planner, model, summary, direct, executor});
  }
  energy.start();
  // For parts of devices to come, too: a thread is started by its first task.
  for (uint32_t i = 0; i < kMostBackends; ++i) {
    workers.push_back(std::make_unique<TaskThread>("tutti-dev" + std::to_string(i)));
  }
}

void Engine::Impl::ready(Ref<Node> command) {
  post_for(conductor, command, [this, command] { start(command); });
}

void Engine::Impl::watch(Ref<Node> command) {
  TaskThread& worker = *workers[command->backend];
  // Watched, so it is no open batch any more.
  post_for(worker, command, [this, command] {
    const Status status = command->completion->wait();
    finish_direct(command, code_of(status));
  });
}

void Engine::Impl::fail_if_thrown(const Ref<Node>& command, const Status& thrown) {
  if (thrown) return;
  tutti::log(LogLevel::kError, "a command fails: {}",
             thrown.error().message.empty() ? "out of memory" : thrown.error().message);
  log.finish(command, thrown.error().code);
}

void Engine::Impl::call_back(Command::Callback callback, cl_int status) {
  callback_thread.post([callback = std::move(callback), status] { callback(status); });
}

void Engine::Impl::learned() {
  if (model.wants_flush()) host_worker.post([this] { model.flush(); });
}

void Engine::Impl::finish_direct(const Ref<Node>& command, cl_int status) {
  Ref<Stream> stream;
  {
    MutexLock lock(log.mutex());
    stream = command->stream;
  }
  if (!finish_one(command, status) || !stream) return;
  for (;;) {
    if (batches && batches->make_idle(*stream)) return;
    const Ref<Node> oldest = log.oldest_direct(*stream);
    const auto end = oldest ? ended(*oldest) : std::nullopt;
    if (!end || !finish_one(oldest, *end)) return;
  }
}

std::optional<cl_int> Engine::Impl::ended(Node& command) {
  const auto status = [](const backends::CompletionPtr& completion) -> std::optional<cl_int> {
    const cl_int polled = completion ? completion->poll() : CL_QUEUED;
    return polled > CL_COMPLETE ? std::nullopt : std::optional(polled);
  };
  if (command.is_batch && !status(log.completion_so_far(command))) return std::nullopt;
  return status(log.completion_of(command));
}

void Engine::Impl::finish_if_ended(const Ref<Node>& command) {
  if (const auto status = ended(*command)) finish_direct(command, *status);
}

bool Engine::Impl::finish_one(const Ref<Node>& command, cl_int status) {
  bool timed = command->trace != nullptr;
  {
    MutexLock lock(log.mutex());
    if (command->state == Node::State::kDone) return false;
    timed |= command->stream && command->stream->options().profiling;
    const bool again = command->state == Node::State::kEnded;
    planner.ended(std::exchange(command->expected, {}));
    // The sample is taken while the work is still there; a second thread may do the same.
    const auto* kernel = std::get_if<KernelWork>(&command->work);
    const bool told = command->sampled || (command->trace && summary.enabled());
    if (status == CL_COMPLETE && kernel && told && !again) {
      const KernelWork& work = *kernel;
      const bool sampled = command->sampled;
      const uint64_t key = model_key(work);
      const std::string name = work.kernel->summary().name;
      const uint64_t items = work.shape.items();
      lock.unlock();
      if (const auto times = command->completion->times()) {
        const double seconds = static_cast<double>(times->ended - times->started) * 1e-9;
        summary.measured_whole(name, key, items, command->backend, seconds);
        if (sampled) {
          model.add(key, command->backend, items, seconds, name);
          learned();
        }
      }
      lock.lock();
    }
  }
  if (timed) command->read_vendor_times();
  if (command->trace && status == CL_COMPLETE) {
    trace.ended_direct(*command->trace, command->backend,
                       {command->queued.load(std::memory_order_relaxed),
                        command->submitted.load(std::memory_order_relaxed),
                        command->started.load(std::memory_order_relaxed),
                        command->ended.load(std::memory_order_acquire)},
                       clocks[command->backend]);
  }
  log.finish(command, status);
  return true;
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

cl_int Engine::Impl::wait(const Ref<Node>& command) {
  if (command->overtook) {
    for (const auto& before : log.overtaken(*command)) wait_alone(before);
  }
  return wait_alone(command);
}

cl_int Engine::Impl::wait_alone(const Ref<Node>& command) {
  for (;;) {
    const cl_int status = command->shown_status.load(std::memory_order_acquire);
    if (status <= CL_COMPLETE) return status;
    if (!wait_for_vendor(command)) command->shown_status.wait(status, std::memory_order_acquire);
  }
}

void Engine::Impl::wait_for_data(const Ref<Node>& command) {
  for (;;) {
    const auto data = command->data.load(std::memory_order_acquire);
    if (data == Node::Data::kInPlace) return;
    if (!wait_for_vendor(command)) command->data.wait(data, std::memory_order_acquire);
  }
}

bool Engine::Impl::wait_for_vendor(const Ref<Node>& command) {
  if (!command->direct.load(std::memory_order_acquire)) return false;
  const auto completion = log.completion_of(*command);
  if (completion) finish_direct(command, code_of(completion->wait()));
  return true;
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
    splitting = split_before(command->work, edges);
  }
  if (splitting) conductor.post([this, splitting] { read_early(splitting); });
  if (command->trace) trace.enqueued(*command->trace, awaited(edges, options.wait_list));
  for (const Edge& edge : edges) {
    if (edge.command->direct.load(std::memory_order_acquire)) wait(edge.command);
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
    for (const auto& other : conflicts) wait_for_data(other);
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
  if (start_direct(command, plan)) return;
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
  for (auto& other : to_watch) watch(std::move(other));
  if (wait_for_others) {
    if (command->trace) trace.held_up(*command->trace, awaited(edges));
    if (again) ready(command);
    return;
  }
  log.set_running(command);
  if (plan) {
    expect(*command, *command->stream, *plan);
    start_kernel(command, std::get<KernelWork>(command->work), std::move(*plan));
    return;
  }
  TaskThread& worker =
      std::holds_alternative<HostWork>(command->work) ? native_worker : host_worker;
  post_for(worker, command, [this, command] { log.finish(command, code_of(execute(*command))); });
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
    if (nobody_waits) impl_->watch(std::move(command));
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
  auto command = make_ref<Node>(*impl_, options.type, std::move(work));
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
  auto command = make_ref<Node>(*impl_, CL_COMMAND_USER, MarkerWork{});
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
  for (Command* command : commands) failed |= impl_->wait(Ref<Node>(&node_of(*command))) < 0;
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
    Impl::wait_until_direct(command);
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
  for (const auto& command : commands) impl_->wait(command);
  MutexLock lock(impl_->log.mutex());
  if (std::exchange(stream.unseen_error, CL_SUCCESS) == CL_SUCCESS) return {};
  return fail(CL_OUT_OF_RESOURCES, "a command of the queue failed");
}

void Engine::shut_down() {
  impl_->conductor.stop();
  for (auto& worker : impl_->workers) worker->stop();
  impl_->host_worker.stop();
  impl_->native_worker.stop();
  impl_->room_worker.stop();
  impl_->callback_thread.stop();
  impl_->energy.stop();
  impl_->model.flush();
  impl_->summary.write();
  const std::string verified = impl_->verified.text();
  if (!verified.empty()) std::fputs(verified.c_str(), stderr);
}

}  // namespace tutti::scheduler
