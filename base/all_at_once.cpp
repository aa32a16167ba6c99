// SPDX-License-Identifier: Apache-2.0
#include "base/all_at_once.h"

#include <latch>
#include <memory>

#include "base/guarded.h"
#include "base/task_thread.h"

namespace tutti {

Status all_at_once(const std::string& name, const std::vector<std::function<Status()>>& tasks) {
  if (tasks.empty()) return {};
  std::vector<Status> results(tasks.size());
  const auto run = [&](size_t i) {
    Status thrown = guarded([&] { results[i] = tasks[i](); });
    if (!thrown) results[i] = std::move(thrown);
  };
  std::latch ended(static_cast<std::ptrdiff_t>(tasks.size()) - 1);
  // Ended before what their tasks use is gone.
  std::vector<std::unique_ptr<TaskThread>> threads(tasks.size() - 1);
  const auto post = [&](size_t i) {
    auto thread = std::make_unique<TaskThread>(name);
    thread->post([&run, &ended, i] {
      run(i);
      ended.count_down();
    });
    threads[i - 1] = std::move(thread);
  };
  for (size_t i = 1; i < tasks.size(); ++i) static_cast<void>(guarded([&] { post(i); }));
  run(0);
  for (size_t i = 1; i < tasks.size(); ++i) {
    if (threads[i - 1]) continue;
    run(i);
    ended.count_down();
  }
  ended.wait();
  for (Status& result : results) TUTTI_TRY(result);
  return {};
}

}  // namespace tutti
