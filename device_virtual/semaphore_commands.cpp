// SPDX-License-Identifier: Apache-2.0
// Commands on semaphores. The vendor is called when all has ended that the command comes after, in
// queues that hold nothing else; and nothing that comes after a wait begins before its end is seen,
// so that no command of ours is held up in a vendor's queue by what may still have to be enqueued.
#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "base/memory_reserve.h"
#include "device_virtual/background.h"
#include "device_virtual/command_queue.h"
#include "device_virtual/event.h"
#include "device_virtual/semaphore.h"

namespace tutti::device_virtual {
namespace {

using Semaphores = std::vector<Ref<Semaphore>>;

/// What the application names, and what the semaphores add to that.
class WaitsFor {
 public:
  explicit WaitsFor(const Submission& submission)
      : list_(submission.wait_list.begin(), submission.wait_list.end()) {}
  void add(Ref<scheduler::Command> command) {
    if (!command) return;
    list_.push_back(command.get());
    kept_.push_back(std::move(command));
  }
  std::span<scheduler::Command* const> commands() const { return list_; }

 private:
  std::vector<scheduler::Command*> list_;
  std::vector<Ref<scheduler::Command>> kept_;
};

Status signal_all(const Semaphores& semaphores) {
  std::vector<backends::CompletionPtr> ends;
  for (const Ref<Semaphore>& semaphore : semaphores) {
    TUTTI_ASSIGN(auto end, semaphore->vendor().signal());
    ends.push_back(std::move(end));
  }
  for (const auto& end : ends) TUTTI_TRY(end->wait());
  return {};
}

/// Asks again and again, ever less often: what blocked in the vendor for as long as nobody signals
/// would hold up the exit of the process.
cl_int end_of(backends::Completion& wait) {
  using std::chrono::microseconds;
  constexpr microseconds kLongest{1000};
  for (microseconds pause{4};; pause = std::min(pause + pause / 4, kLongest)) {
    const cl_int status = wait.poll();
    if (status <= CL_COMPLETE) return status;
    std::this_thread::sleep_for(pause);
  }
}

cl_int wait_for_all(const Semaphores& semaphores) {
  std::vector<backends::CompletionPtr> ends;
  for (const Ref<Semaphore>& semaphore : semaphores) {
    auto end = semaphore->vendor().wait();
    if (!end) return end.error().code;
    ends.push_back(std::move(*end));
  }
  for (const auto& end : ends) {
    if (const cl_int status = end_of(*end); status != CL_COMPLETE) return status;
  }
  return CL_COMPLETE;
}

/// Waits in a thread for that alone: who signals may come later. Then the user event `seen` ends.
Status begin_wait(const Ref<Context>& context, const Semaphores& semaphores,
                  const Ref<scheduler::Command>& seen) {
  const auto status = std::make_shared<cl_int>(CL_OUT_OF_HOST_MEMORY);
  return run_in_background([semaphores, status] { *status = wait_for_all(semaphores); },
                           [context, seen, status] {
                             static_cast<void>(context->engine().set_user_status(*seen, *status));
                           });
}

}  // namespace

Status CommandQueue::signal(const Semaphores& semaphores, const Submission& submission) {
  WaitsFor waits(submission);
  for (const auto& semaphore : semaphores) waits.add(semaphore->before_signal());
  scheduler::EnqueueOptions options;
  options.type = submission.type;
  options.wait_list = waits.commands();
  TUTTI_ASSIGN(auto command,
               context_->engine().enqueue(
                   stream(),
                   scheduler::HostWork{.function = [semaphores] { return signal_all(semaphores); },
                                       .name = "a signal of semaphores"},
                   options));
  const MemoryReserved memory;  // it is enqueued
  for (const auto& semaphore : semaphores) semaphore->note_signal(command);
  if (submission.event != nullptr) {
    *submission.event = (new Event(*this, std::move(command)))->handle();
  }
  return {};
}

Status CommandQueue::wait_for(const Semaphores& semaphores, const Submission& submission) {
  scheduler::Engine& engine = context_->engine();
  WaitsFor waits(submission);
  for (const auto& semaphore : semaphores) waits.add(semaphore->before_wait());
  const Ref<scheduler::Command> seen = engine.create_user_command();
  scheduler::EnqueueOptions options;
  options.type = submission.type;
  options.wait_list = waits.commands();
  TUTTI_ASSIGN(
      const auto begin,
      engine.enqueue(
          stream(),
          scheduler::HostWork{.function = [context = context_, semaphores,
                                           seen] { return begin_wait(context, semaphores, seen); },
                              .name = "a wait for semaphores"},
          options));
  // Where it has not begun, nobody else ends what it should have.
  begin->add_callback(CL_COMPLETE, [context = context_, seen](cl_int status) {
    if (status < 0) static_cast<void>(context->engine().set_user_status(*seen, status));
  });
  scheduler::Command* const last = seen.get();
  options.wait_list = {&last, 1};
  TUTTI_ASSIGN(auto end, engine.enqueue(stream(), scheduler::MarkerWork{}, options));
  const MemoryReserved memory;
  for (const auto& semaphore : semaphores) semaphore->note_wait(end);
  if (submission.event != nullptr) {
    *submission.event = (new Event(*this, std::move(end), begin))->handle();
  }
  return {};
}

}  // namespace tutti::device_virtual
