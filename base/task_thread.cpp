// SPDX-License-Identifier: Apache-2.0
#include "base/task_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace tutti {
namespace {

size_t default_stack_bytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  pthread_getattr_default_np(&attributes);
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

void check(int code) {
  if (code != 0) throw std::system_error(code, std::generic_category(), "starting a thread");
}

// The application's signals are the application's threads' affair. But what a thread does itself
// is: PoCL handles a kernel's integer division by zero, in the thread that computes it, and a
// signal of that kind that is blocked ends the process.
sigset_t signals_of_others() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGSYS}) {
    sigdelset(&signals, own);
  }
  return signals;
}

}  // namespace

// The stack is ours, not glibc's: a forked child counts the stacks of all threads as free, and
// unmaps what exceeds 40 MB of them. A vendor's exit handler that then joins its own thread in the
// child (Mesa's does) would crash, because of our threads.
TaskThread::Thread TaskThread::start() {
  const auto guard = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  Thread thread;
  thread.stack_bytes = default_stack_bytes() + guard;
  thread.stack = mmap(nullptr, thread.stack_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (thread.stack == MAP_FAILED) check(errno);
  mprotect(thread.stack, guard, PROT_NONE);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, static_cast<char*>(thread.stack) + guard,
                        thread.stack_bytes - guard);
  const auto main = [](void* self) -> void* {
    static_cast<TaskThread*>(self)->run();
    return nullptr;
  };
  const int code = pthread_create(&thread.id, &attributes, main, this);
  pthread_attr_destroy(&attributes);
  if (code != 0) munmap(thread.stack, thread.stack_bytes);
  check(code);
  return thread;
}

void TaskThread::post(std::function<void()> task) {
  MutexLock lock(mutex_);
  if (stopping_) return;
  tasks_.push_back(std::move(task));
  if (!thread_) {
    const sigset_t blocked = signals_of_others();
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    try {
      thread_ = start();
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      tasks_.pop_back();
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  wake_.notify_one();
}

void TaskThread::run() {
  pthread_setname_np(pthread_self(), name_.c_str());
  MutexLock lock(mutex_);
  for (;;) {
    wake_.wait(mutex_, [&]() TUTTI_REQUIRES(mutex_) { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it held goes before the lock is taken again
    lock.lock();
  }
}

void TaskThread::stop() {
  std::optional<Thread> thread;
  std::deque<std::function<void()>> dropped;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
    thread.swap(thread_);
    wake_.notify_all();
  }
  if (!thread) return;
  if (pthread_equal(thread->id, pthread_self()) != 0) {
    pthread_detach(thread->id);  // it still runs on its stack, which therefore stays
  } else {
    pthread_join(thread->id, nullptr);
    munmap(thread->stack, thread->stack_bytes);
  }
}

}  // namespace tutti
