// SPDX-License-Identifier: Apache-2.0
// A queue of a device in a process of its own. Transfers from and to memory that is shared with the
// helper (backends/process/shared_arena.h) are the helper's alone; all others go through a piece of
// such memory: what is written is copied when it is enqueued, what is read when it has ended.
// Thread-safe.
#pragma once

#include <memory>

#include "backends/process/remote_completion.h"

namespace tutti::backends::process {

class RemoteQueue final : public Queue {
 public:
  RemoteQueue(RemoteDevice& device, QueueOptions options) : device_(device), options_(options) {}
  /// Where content is still to be copied it waits for that.
  ~RemoteQueue() override;
  /// Makes it in the present helper, where it is not.
  Status open() {
    return present().map([](const Present&) {});
  }

  Result<CompletionPtr> launch(const Launch& launch, WaitList wait) override;
  Status launch_again(const Launch& launch, CompletionPtr& run) override;
  Result<CompletionPtr> read(Memory& from, uint64_t offset, uint64_t size, void* to,
                             Ordering ordering) override;
  Result<CompletionPtr> write(Memory& to, uint64_t offset, uint64_t size, const void* from,
                              Ordering ordering) override;
  Status write_blocking(Memory& to, uint64_t offset, uint64_t size, const void* from) override;
  Status read_blocking(Memory& from, uint64_t offset, uint64_t size, void* to) override;
  Status write_rows(Memory& to, const BufferRows& rows, const void* from) override;
  Status read_rows(Memory& from, const BufferRows& rows, void* to) override;
  Result<CompletionPtr> copy(Memory& from, uint64_t from_offset, Memory& to, uint64_t to_offset,
                             uint64_t size, Ordering ordering) override;
  Result<CompletionPtr> fill(Memory& to, uint64_t offset, uint64_t size,
                             std::span<const std::byte> pattern, Ordering ordering) override;
  Result<CompletionPtr> read_image(Memory& from, const ImageBox& box, void* to, size_t second_pitch,
                                   size_t third_pitch, WaitList wait) override;
  Result<CompletionPtr> write_image(Memory& to, const ImageBox& box, const void* from,
                                    size_t second_pitch, size_t third_pitch,
                                    WaitList wait) override;
  Result<CompletionPtr> copy_image(Memory& from, const ImageBox& box, Memory& to,
                                   const std::array<size_t, 3>& origin, WaitList wait) override;
  Result<CompletionPtr> fill_image(Memory& to, const ImageBox& box,
                                   std::span<const std::byte, 16> color, WaitList wait) override;
  Result<CompletionPtr> mark(WaitList wait, bool observed) override;
  Status flush() override;
  Status finish() override;

 private:
  using Staged = QueueProgress::Staged;
  using StagedPtr = QueueProgress::StagedPtr;
  struct Present {
    Channel* channel = nullptr;
    uint64_t number = 0;
    std::shared_ptr<QueueProgress> progress;
  };
  Result<Present> present() TUTTI_EXCLUDES(mutex_);

  /// What a command waits for, as the helper knows it.
  struct Wait {
    std::vector<uint64_t> numbers;
    std::vector<std::shared_ptr<RemoteCompletion>> after;
  };
  static Result<Wait> in_helper(WaitList wait, Channel& channel);
  /// Asks for a command. `request` has all but what it waits for, which `with_observed` puts
  /// behind.
  Result<CompletionPtr> enqueue(const char* name, Op op, const Present& queue, Writer& request,
                                const Ordering& ordering, bool with_observed, StagedPtr staged);
  /// A request of the queue and of memory.
  Result<Writer> request(const Present& queue, Memory& memory) const;
  Status put_launch(Writer& request, const Launch& launch, Channel& channel) const;
  /// Commands of the queue shall not use more shared memory than is good: with `size` bytes more it
  /// waits for them.
  void make_room(const Present& queue, uint64_t size) TUTTI_EXCLUDES(mutex_);
  /// The place of `size` bytes at `data`, or else of a copy of them, or of room for them.
  Result<Place> place(const Present& queue, const void* data, uint64_t size,
                      const Staged::Target& target, bool write, StagedPtr& staged);
  /// A blocking call, which tells how far the queue has come.
  Status ended(const Present& queue, Result<Channel::Answer> answer) const;

  RemoteDevice& device_;
  const QueueOptions options_;
  Mutex mutex_;  // held while it is made
  Present present_ TUTTI_GUARDED_BY(mutex_);
  // What a queue's end has told that nobody has asked for yet.
  Status untold_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::backends::process
