// SPDX-License-Identifier: Apache-2.0
// Large transfers between a device and the host's pageable memory, of whoever waits for them. A
// driver copies such memory to and from blocks of its own, in one thread; where that is slower,
// several threads do so through blocks of the pinned pool, while the device moves the blocks before
// (docs/design/residency.md). Devices that pin no memory, pinned memory, images and rows that lie
// apart go the driver's way; what is packed on its way always passes through blocks. Thread-safe;
// no lock of it is held while a vendor is called.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backends/api/backend.h"
#include "base/result.h"
#include "base/thread_annotations.h"
#include "scheduler/devices/per_backend.h"
#include "scheduler/devices/transfer_choice.h"
#include "scheduler/devices/workers.h"

namespace tutti::scheduler {

class BackendSet;
class Stage;

class StagedTransfers {
 public:
  /// `threads` copy at a time, those that wait for their transfers not counted but for one.
  explicit StagedTransfers(BackendSet& backends, uint32_t threads = default_threads());
  ~StagedTransfers();

  /// As Queue::write_rows() and read_rows() of `queue`, which is one of that backend's. Returns
  /// when all has ended, also after a failure.
  Status write_rows(uint32_t backend, backends::Queue& queue, backends::Memory& to,
                    const backends::BufferRows& rows, const void* from);
  Status read_rows(uint32_t backend, backends::Queue& queue, backends::Memory& from,
                   const backends::BufferRows& rows, void* to);

  /// Puts bytes [from, to) of what is sent at `block`; by several threads at a time.
  using Pack = std::function<void(uint64_t from, uint64_t to, std::byte* block)>;
  /// Writes `size` bytes at `offset` that are packed block by block. Likewise.
  Status write_packed(uint32_t backend, backends::Queue& queue, backends::Memory& to,
                      uint64_t offset, uint64_t size, const Pack& pack);

  /// Bytes that have come to and from the device through pinned blocks.
  backends::Traffic staged(uint32_t backend) const;

  /// Half of the processors, since they may be halves of cores, and the application needs some.
  static uint32_t default_threads();

 private:
  struct Transfer;  // what is to be moved
  struct Job;       // one of those while threads copy for it

  Status run(const Transfer& transfer);
  static Status direct(const Transfer& transfer);
  /// Through pinned blocks, all of it. CL_OUT_OF_RESOURCES, with nothing done, where there are
  /// none, but for what is packed, which passes through other memory then.
  Status staged(const Transfer& transfer);
  void note_rate(const Transfer& transfer, TransferChoice::Way way, uint64_t bytes, double seconds);
  /// Copies blocks until there are none left, or something has failed.
  void copy_blocks(Job& job, std::array<Stage, 2>& stages, bool helps);
  static Status begin_block(const Transfer& transfer, uint64_t at, uint64_t size, Stage& stage);
  /// The next block's begin; job.size: none for this thread.
  uint64_t next_block(Job& job, bool helps) TUTTI_EXCLUDES(mutex_);
  void note_failure(Job& job, Status status) TUTTI_EXCLUDES(mutex_);
  /// What helpers do as long as some job has use of them.
  void help(size_t helper) TUTTI_EXCLUDES(mutex_);
  /// The job with the fewest threads that may have one more; null: none.
  Job* neediest() const TUTTI_REQUIRES(mutex_);
  /// So many threads a job may have where others go on, too.
  uint64_t share() const TUTTI_REQUIRES(mutex_);
  void call_helpers(const Job& job) TUTTI_EXCLUDES(mutex_);

  struct Helper {
    std::unique_ptr<Worker> worker;  // made when first needed
    bool busy = false;
  };
  struct Device {
    Mutex mutex;
    std::array<TransferChoice, 2> choices TUTTI_GUARDED_BY(mutex);  // to it, from it
    std::array<std::atomic<uint64_t>, 2> bytes{};
  };

  BackendSet& backends_;
  PerBackend<Device> devices_;
  mutable Mutex mutex_;
  ConditionVariable helper_left_;
  std::vector<Job*> jobs_ TUTTI_GUARDED_BY(mutex_);  // those that wait live in their threads
  const size_t helpers_count_;
  std::vector<Helper> helpers_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
