// SPDX-License-Identifier: Apache-2.0
// A helper's side of backends/process: drives a device as the application asks for it. Thread-safe:
// each lane has a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "backends/api/backend.h"
#include "backends/process/lane.h"
#include "backends/process/protocol.h"
#include "backends/process/shared_arena.h"
#include "base/thread_annotations.h"

namespace tutti::backends::process {

/// Objects by the numbers that the application knows them by.
template <typename T>
class ObjectTable {
 public:
  uint64_t add(std::shared_ptr<T> object) {
    const MutexLock lock(mutex_);
    objects_.emplace(++last_, std::move(object));
    return last_;
  }
  /// Null: there is none.
  std::shared_ptr<T> find(uint64_t number) {
    const MutexLock lock(mutex_);
    const auto found = objects_.find(number);
    return found == objects_.end() ? nullptr : found->second;
  }
  /// To be let go of with no lock held.
  std::shared_ptr<T> remove(uint64_t number) {
    const MutexLock lock(mutex_);
    const auto node = objects_.extract(number);
    return node.empty() ? nullptr : std::move(node.mapped());
  }

 private:
  Mutex mutex_;
  uint64_t last_ TUTTI_GUARDED_BY(mutex_) = 0;
  std::unordered_map<uint64_t, std::shared_ptr<T>> objects_ TUTTI_GUARDED_BY(mutex_);
};

class Server {
 public:
  /// Both outlive it.
  Server(Backend& device, const SharedMapping& arena) : device_(device), arena_(arena) {}

  /// Has threads answer what comes on the lanes, which lie one behind the other at `offset` behind
  /// their head, and returns when all are there. They never end, unless a request is none.
  Status start(uint64_t offset);
  /// Answers what comes on a lane, in this thread, until a request is none.
  void serve(Lane& lane);

  /// One request, and its answer.
  std::vector<std::byte> answer(std::span<const std::byte> request);

 private:
  struct ServedQueue {
    std::unique_ptr<Queue> queue;
    std::atomic<uint64_t> returned{0};  // calls that have enqueued something
  };
  using Queues = ObjectTable<ServedQueue>;

  static tl::unexpected<Error> damaged();
  /// A command has ended, with what it has printed.
  void note_output();
  void drop(const Dropped& dropped);
  Status carry_out(Op op, Reader& from, Writer& to);
  Status make(Op op, Reader& from, Writer& to);
  Status build(Op op, Reader& from, Writer& to);
  Status transfer_now(Op op, Reader& from, Writer& to);
  Status transfer(Op op, Reader& from, Writer& to);
  Status enqueue(Op op, Reader& from, Writer& to);
  Status enqueue_image(Op op, Reader& from, Writer& to);
  Status launch(Op op, Reader& from, Writer& to);
  Status ask_kernel(Reader& from, Writer& to);
  Status ask_completion(Op op, Reader& from, Writer& to);

  Result<std::shared_ptr<ServedQueue>> queue(Reader& from);
  Result<std::shared_ptr<Memory>> memory(Reader& from);
  Result<std::byte*> place(Place place, uint64_t size) const;
  /// An error: one of them is none.
  Result<std::vector<CompletionPtr>> wait_list(Reader& from);
  /// Enqueues by `call()`, and writes what the command is known by.
  template <typename Call>
  Status enqueued(ServedQueue& queue, Writer& to, Call call);

  Backend& device_;
  const SharedMapping& arena_;
  LanesHead* head_ = nullptr;
  Queues queues_;
  ObjectTable<Memory> memories_;
  ObjectTable<PinnedMemory> pinned_;
  ObjectTable<Module> modules_;
  ObjectTable<Object> objects_;
  ObjectTable<Kernel> kernels_;
  ObjectTable<Completion> completions_;
};

}  // namespace tutti::backends::process
