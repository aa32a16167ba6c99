// SPDX-License-Identifier: Apache-2.0
#include "base/task_thread.h"

#include <pthread.h>

#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "base/calling_threads.h"
#include "base/clock.h"
#include "base/keep_forever.h"
#include "base/process_exit.h"

namespace tutti {
namespace {

constexpr uint64_t kSoonNs = 20'000;

struct Living {
  Mutex mutex;  // held while one of them is told something
  std::vector<TaskThread*> threads TUTTI_GUARDED_BY(mutex);
};

// Never destroyed: they may live as long as the process.
Living& living() {
  static NeverDestroyed<Living> all;
  return *all;
}

}  // namespace

TaskThread::TaskThread(std::string name, AtExit at_exit)
    : name_(std::move(name)), at_exit_(at_exit) {
  set_calling_threads_hook(look_at_application);
  Living& all = living();
  const MutexLock lock(all.mutex);
  all.threads.push_back(this);
}

TaskThread::~TaskThread() {
  stop();
  Living& all = living();
  const MutexLock lock(all.mutex);
  std::erase(all.threads, this);
}

void TaskThread::look_at_application() {
  const bool gone = application_gone();
  Living& all = living();
  {
    const MutexLock lock(all.mutex);
    for (TaskThread* thread : all.threads) thread->application_changed(gone);
  }
  gone ? stand_in_for_application() : end_stand_in();
}

void TaskThread::application_changed(bool gone) {
  const MutexLock lock(mutex_);
  if (gone) return wake_.notify_all();
  try {
    while (!for_application_.empty()) {
      add(std::move(for_application_.front()));
      for_application_.pop_front();
    }
  } catch (const std::exception&) {
    // There is no thread for it: the next time that the application comes tries again.
  }
}

void TaskThread::add(std::function<void()>&& task) {
  tasks_.push_back(std::move(task));
  wanted_.store(true, std::memory_order_relaxed);
  if (!thread_) {
    try {
      const auto main = [](void* self) -> void* {
        static_cast<TaskThread*>(self)->run();
        return nullptr;
      };
      thread_ = start_own_thread(main, this);
    } catch (...) {
      task = std::move(tasks_.back());
      tasks_.pop_back();
      throw;
    }
  }
  wake_.notify_one();
}

void TaskThread::post(std::function<void()>&& task) {
  const MutexLock lock(mutex_);
  if (!stopping_) add(std::move(task));
}

void TaskThread::post_for_application(std::function<void()> task) {
  const MutexLock lock(mutex_);
  if (stopping_) return;
  if (application_gone()) {
    for_application_.push_back(std::move(task));
  } else {
    add(std::move(task));
  }
}

bool TaskThread::idle() {
  const MutexLock lock(mutex_);
  return tasks_.empty() && !running_;
}

// Others that want the processor get it.
void TaskThread::await_next() {
  const uint64_t until = now_ns() + kSoonNs;
  while (!wanted_.load(std::memory_order_relaxed) && now_ns() < until) std::this_thread::yield();
}

void TaskThread::run() {
  note_own_thread();
  pthread_setname_np(pthread_self(), name_.c_str());
  bool soon = false;  // a task came shortly after the one before
  MutexLock lock(mutex_);
  for (;;) {
    wanted_.store(!tasks_.empty() || stopping_, std::memory_order_relaxed);
    if (soon && tasks_.empty() && !stopping_) {
      lock.unlock();
      await_next();
      lock.lock();
    }
    const uint64_t idle_ns = tasks_.empty() ? now_ns() : 0;
    wake_.wait(mutex_, [&]() TUTTI_REQUIRES(mutex_) {
      return stopping_ || !tasks_.empty() || application_gone();
    });
    if (idle_ns != 0) soon = now_ns() - idle_ns < kSoonNs;
    if (stopping_) return;
    if (tasks_.empty()) {
      end_own_thread(*thread_);
      thread_.reset();
      return;
    }
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    running_ = true;
    lock.unlock();
    {
      std::optional<ExitHold> hold;
      if (at_exit_ == AtExit::kWaitedFor) hold.emplace();
      task();
      task = nullptr;  // what it held goes before the lock is taken again
    }
    lock.lock();
    running_ = false;
  }
}

void TaskThread::stop() {
  std::optional<OwnThread> thread;
  std::deque<std::function<void()>> dropped, dropped_too;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    wanted_.store(true, std::memory_order_relaxed);
    dropped.swap(tasks_);
    dropped_too.swap(for_application_);
    thread.swap(thread_);
    wake_.notify_all();
  }
  if (thread) join_own_thread(*thread);
}

}  // namespace tutti
