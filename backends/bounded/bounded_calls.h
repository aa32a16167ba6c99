// SPDX-License-Identifier: Apache-2.0
// Calls that may wait for a device, with a bound: each is made by a thread of ours, and who waits
// for it gives up when its time is over. From then on the device hangs: no call is made any more,
// and what it may still use is kept for ever. Thread-safe; never destroyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/task_thread.h"
#include "base/thread_annotations.h"

namespace tutti::backends {

class BoundedCalls {
 public:
  BoundedCalls(std::string device, uint64_t deadline_ns)
      : device_(std::move(device)), deadline_ns_(deadline_ns) {}

  bool hangs() const { return hangs_.load(std::memory_order_acquire); }
  /// What `call` returns, a Status or Result, or that the device hangs. `call` may outlive this
  /// function: it owns what it uses. Where there is no thread for it, it is made here, without a
  /// bound: what has not ended must not be taken for ended.
  template <typename Call>
  std::invoke_result_t<Call> run(const char* name, Call call) {
    return run(name, std::move(call), deadline_ns_);
  }
  /// The same within another time.
  template <typename Call>
  std::invoke_result_t<Call> run(const char* name, Call call, uint64_t deadline_ns) {
    auto answer = std::make_shared<std::optional<std::invoke_result_t<Call>>>();
    auto made = [answer, call = std::move(call)]() mutable { answer->emplace(call()); };
    if (!await(name, std::move(made), deadline_ns)) return gone(name);
    if (!*answer) return fail(CL_OUT_OF_HOST_MEMORY);  // it has thrown
    return *std::move(*answer);
  }
  /// What calls answer when the device hangs.
  tl::unexpected<Error> gone(const char* name) const;
  /// Lets go of what the device uses, or keeps it where that hangs.
  void drop(std::shared_ptr<void> object);

 private:
  // One thread, as a node that moves between lists without memory of its own.
  using Thread = std::list<std::unique_ptr<TaskThread>>;

  /// False: the device hangs.
  bool await(const char* name, std::function<void()> call, uint64_t deadline_ns)
      TUTTI_EXCLUDES(mutex_);
  Thread take_thread() TUTTI_EXCLUDES(mutex_);

  const std::string device_;
  const uint64_t deadline_ns_;
  std::atomic<bool> hangs_{false};
  Mutex mutex_;
  ConditionVariable changed_;
  Thread idle_ TUTTI_GUARDED_BY(mutex_);
  Thread hanging_ TUTTI_GUARDED_BY(mutex_);  // these never end
  std::vector<std::shared_ptr<void>> kept_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::backends
