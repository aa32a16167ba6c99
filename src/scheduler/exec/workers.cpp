// SPDX-License-Identifier: Apache-2.0
#include "scheduler/exec/workers.h"

#include <pthread.h>
#include <signal.h>

namespace tutti::scheduler {

void TaskThread::post(std::function<void()> task) {
  MutexLock lock(mutex_);
  if (stopping_) return;
  tasks_.push_back(std::move(task));
  if (!thread_.joinable()) {
    // The application's signals are the application's threads' affair.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
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
  std::thread thread;
  std::deque<std::function<void()>> dropped;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    dropped.swap(tasks_);
    thread.swap(thread_);
    wake_.notify_all();
  }
  if (!thread.joinable()) return;
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();
  } else {
    thread.join();
  }
}

}  // namespace tutti::scheduler
