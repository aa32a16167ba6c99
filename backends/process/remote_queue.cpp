// SPDX-License-Identifier: Apache-2.0
#include "backends/process/remote_queue.h"

#include <cstring>

#include "backends/process/remote_objects.h"

namespace tutti::backends::process {

RemoteQueue::~RemoteQueue() {
  MutexLock lock(mutex_);
  if (present_.progress == nullptr) return;
  const Present last = std::exchange(present_, {});
  lock.unlock();
  // What its commands use goes with it.
  if (last.progress->waiting() > 0 && last.channel->alive()) {
    Writer request;
    request.put(last.number);
    static_cast<void>(last.channel->call("finishing", Op::kFinish, request));
  }
  last.channel->drop(ObjectKind::kQueue, last.number);
}

Result<RemoteQueue::Present> RemoteQueue::present() {
  Channel& channel = device_.present();
  const MutexLock lock(mutex_);
  if (present_.channel == &channel) return present_;
  Writer request;
  request.put(options_);
  TUTTI_ASSIGN(const auto answer, channel.call("making a queue", Op::kCreateQueue, request));
  present_ = {&channel, answer.reader().get<uint64_t>(),
              std::make_shared<QueueProgress>(channel, device_.counters)};
  return present_;
}

Result<RemoteQueue::Wait> RemoteQueue::in_helper(WaitList wait, Channel& channel) {
  Wait result;
  for (const CompletionPtr& one : wait) {
    auto completion = std::static_pointer_cast<RemoteCompletion>(one);
    if (completion->known_complete()) continue;
    if (&completion->channel() != &channel) {
      return fail(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                  "what a command waits for was lost");
    }
    result.numbers.push_back(completion->completion());
    if (completion->has_content()) result.after.push_back(std::move(completion));
  }
  return result;
}

Result<Writer> RemoteQueue::request(const Present& queue, Memory& memory) const {
  TUTTI_ASSIGN(const uint64_t number, number_of(memory, *queue.channel));
  Writer request;
  request.put(queue.number).put(number);
  return request;
}

Result<CompletionPtr> RemoteQueue::enqueue(const char* name, Op op, const Present& queue,
                                           Writer& request, const Ordering& ordering,
                                           bool with_observed, StagedPtr staged) {
  TUTTI_ASSIGN(Wait wait, in_helper(ordering.wait, *queue.channel));
  request.list(std::span<const uint64_t>(wait.numbers));
  if (with_observed) request.put<uint32_t>(ordering.observed ? 1 : 0);
  TUTTI_ASSIGN(const auto answer, queue.channel->call(name, op, request));
  const auto known = answer.reader().get<Enqueued>();
  auto completion = std::make_shared<RemoteCompletion>(queue.progress, known, ordering.observed,
                                                       staged, std::move(wait.after));
  queue.progress->note_enqueued(known.number, std::move(staged));
  return completion;
}

Status RemoteQueue::put_launch(Writer& request, const Launch& launch, Channel& channel) const {
  TUTTI_ASSIGN(const uint64_t kernel,
               static_cast<RemoteKernel*>(launch.kernel)->remote().in(channel));
  LaunchShape shape;
  shape.dims = launch.dims;
  shape.has_local = launch.local ? 1 : 0;
  shape.offset = launch.offset;
  shape.global = launch.global;
  if (launch.local) shape.local = *launch.local;
  shape.observed = launch.observed ? 1 : 0;
  shape.arguments = static_cast<uint32_t>(launch.arguments.size());
  request.put(kernel).put(shape);
  for (const Argument& argument : launch.arguments) {
    if (argument.kind == Argument::Kind::kQueue || argument.kind == Argument::Kind::kReached) {
      return fail(CL_INVALID_ARG_VALUE, "a device in a process of its own has no such memory");
    }
    ArgumentShape described;
    described.kind = argument.kind;
    described.local_size = argument.local_size;
    described.origin = argument.origin;
    described.size = argument.size;
    described.sampler = argument.sampler;
    if (argument.memory != nullptr) {
      TUTTI_ASSIGN(described.memory, number_of(*argument.memory, channel));
    }
    request.put(described).block(argument.bytes);
  }
  return {};
}

Result<CompletionPtr> RemoteQueue::launch(const Launch& launch, WaitList wait) {
  TUTTI_ASSIGN(const Present queue, present());
  Writer request;
  request.put(queue.number);
  TUTTI_TRY(put_launch(request, launch, *queue.channel));
  return enqueue("launching a kernel", Op::kLaunch, queue, request, {wait, launch.observed}, false,
                 nullptr);
}

Status RemoteQueue::launch_again(const Launch& launch, CompletionPtr& run) {
  TUTTI_ASSIGN(const Present queue, present());
  auto& before = static_cast<RemoteCompletion&>(*run);
  // The launches that it stands for were in another helper: their end is to be asked for first.
  if (&before.channel() != queue.channel) return before.channel().gone("launching a kernel");
  Writer request;
  request.put(queue.number);
  TUTTI_TRY(put_launch(request, launch, *queue.channel));
  request.put(before.completion());
  TUTTI_ASSIGN(const auto answer,
               queue.channel->call("launching a kernel", Op::kLaunchAgain, request));
  const auto known = answer.reader().get<Enqueued>();
  if (known.completion == before.completion()) {
    before.stand_for(known.number);
  } else {
    run = std::make_shared<RemoteCompletion>(queue.progress, known, false, nullptr,
                                             std::vector<std::shared_ptr<RemoteCompletion>>());
  }
  queue.progress->note_enqueued(known.number, nullptr);
  return {};
}

Result<CompletionPtr> RemoteQueue::copy(Memory& from, uint64_t from_offset, Memory& to,
                                        uint64_t to_offset, uint64_t size, Ordering ordering) {
  TUTTI_ASSIGN(const Present queue, present());
  TUTTI_ASSIGN(Writer request, this->request(queue, from));
  TUTTI_ASSIGN(const uint64_t target, number_of(to, *queue.channel));
  request.put(from_offset).put(target).put(to_offset).put(size);
  return enqueue("copying", Op::kCopy, queue, request, ordering, true, nullptr);
}

Result<CompletionPtr> RemoteQueue::fill(Memory& to, uint64_t offset, uint64_t size,
                                        std::span<const std::byte> pattern, Ordering ordering) {
  TUTTI_ASSIGN(const Present queue, present());
  TUTTI_ASSIGN(Writer request, this->request(queue, to));
  request.put(offset).put(size).block(pattern);
  return enqueue("filling", Op::kFill, queue, request, ordering, true, nullptr);
}

Result<CompletionPtr> RemoteQueue::copy_image(Memory& from, const ImageBox& box, Memory& to,
                                              const std::array<size_t, 3>& origin, WaitList wait) {
  TUTTI_ASSIGN(const Present queue, present());
  TUTTI_ASSIGN(Writer request, this->request(queue, from));
  TUTTI_ASSIGN(const uint64_t target, number_of(to, *queue.channel));
  request.put(box).put(target).put(origin);
  return enqueue("copying an image", Op::kCopyImage, queue, request, wait, false, nullptr);
}

Result<CompletionPtr> RemoteQueue::fill_image(Memory& to, const ImageBox& box,
                                              std::span<const std::byte, 16> color, WaitList wait) {
  TUTTI_ASSIGN(const Present queue, present());
  TUTTI_ASSIGN(Writer request, this->request(queue, to));
  std::array<std::byte, 16> bytes{};
  std::memcpy(bytes.data(), color.data(), bytes.size());
  request.put(box).put(bytes);
  return enqueue("filling an image", Op::kFillImage, queue, request, wait, false, nullptr);
}

Result<CompletionPtr> RemoteQueue::mark(WaitList wait, bool observed) {
  TUTTI_ASSIGN(const Present queue, present());
  Writer request;
  request.put(queue.number);
  return enqueue("marking", Op::kMark, queue, request, {wait, observed}, true, nullptr);
}

Status RemoteQueue::flush() {
  TUTTI_ASSIGN(const Present queue, present());
  Writer request;
  request.put(queue.number);
  return queue.channel->call("flushing", Op::kFlush, request).map([](const auto&) {});
}

Status RemoteQueue::ended(const Present& queue, Result<Channel::Answer> answer) const {
  if (!answer) return tl::unexpected(std::move(answer).error());
  queue.progress->note_ended(answer->reader().get<uint64_t>());
  return {};
}

Status RemoteQueue::finish() {
  TUTTI_ASSIGN(const Present queue, present());
  Writer request;
  request.put(queue.number);
  const Status finished = ended(queue, queue.channel->call("finishing", Op::kFinish, request));
  const MutexLock lock(mutex_);
  const Status untold = std::exchange(untold_, Status());
  return finished ? untold : finished;
}

}  // namespace tutti::backends::process
