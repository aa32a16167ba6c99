// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/staged_transfers.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/log.h"
#include "base/process_exit.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/devices/stage.h"
#include "scheduler/devices/transfer_trace.h"

namespace tutti::scheduler {
namespace {

using Way = TransferChoice::Way;

constexpr uint32_t kMostCopying = 8;  // threads: the application needs some, too
constexpr uint64_t kStageSize = 4 << 20;
// Less takes the link little longer than its start.
constexpr uint64_t kLeastBlock = 1 << 20;

}  // namespace

struct StagedTransfers::Transfer {
  uint32_t backend;
  bool write;
  backends::Queue& queue;
  backends::Memory& memory;
  uint64_t offset, size;
  std::byte* host;             // of a write, only read
  const Pack* pack = nullptr;  // not null: in place of that

  Transfer part(uint64_t begin, uint64_t end) const {
    return {backend, write, queue, memory, offset + begin, end - begin, host + begin};
  }
};

struct StagedTransfers::Job {
  const Transfer& transfer;
  const uint64_t block;              // bytes
  const TransferCause* const cause;  // of who waits
  // Guarded by mutex_ of the transfers.
  uint64_t next = 0;
  uint64_t threads = 1;   // with the one that waits
  bool helpless = false;  // there is no memory for helpers
  Status status{};

  bool over() const { return !status || next >= transfer.size; }
};

uint32_t StagedTransfers::default_threads() {
  return std::clamp(std::thread::hardware_concurrency() / 2, 1U, kMostCopying);
}

StagedTransfers::StagedTransfers(BackendSet& backends, uint32_t threads)
    : backends_(backends),
      devices_(backends.real_count()),
      helpers_count_(std::max(threads, 1U) - 1),
      helpers_(helpers_count_) {}

StagedTransfers::~StagedTransfers() = default;

Status StagedTransfers::write_rows(uint32_t backend, backends::Queue& queue, backends::Memory& to,
                                   const backends::BufferRows& rows, const void* from) {
  if (rows.count != 1) return queue.write_rows(to, rows, from);
  auto* const host = static_cast<std::byte*>(const_cast<void*>(from));
  return run({backend, true, queue, to, rows.offset, rows.length, host});
}

Status StagedTransfers::read_rows(uint32_t backend, backends::Queue& queue, backends::Memory& from,
                                  const backends::BufferRows& rows, void* to) {
  if (rows.count != 1) return queue.read_rows(from, rows, to);
  auto* const host = static_cast<std::byte*>(to);
  return run({backend, false, queue, from, rows.offset, rows.length, host});
}

Status StagedTransfers::write_packed(uint32_t backend, backends::Queue& queue, backends::Memory& to,
                                     uint64_t offset, uint64_t size, const Pack& pack) {
  if (size == 0) return {};
  TUTTI_TRY(staged({backend, true, queue, to, offset, size, nullptr, &pack}));
  if (backends_.traits(backend).pins_host_memory) {
    devices_[backend].bytes[0].fetch_add(size, std::memory_order_relaxed);
  }
  return {};
}

backends::Traffic StagedTransfers::staged(uint32_t backend) const {
  const Device* const device = devices_.find(backend);
  if (!device) return {};
  return {device->bytes[0].load(std::memory_order_relaxed),
          device->bytes[1].load(std::memory_order_relaxed)};
}

Status StagedTransfers::direct(const Transfer& transfer) {
  const auto& [backend, write, queue, memory, offset, size, host, pack] = transfer;
  const backends::BufferRows rows{.offset = offset, .length = size};
  return write ? queue.write_rows(memory, rows, host) : queue.read_rows(memory, rows, host);
}

Status StagedTransfers::run(const Transfer& transfer) {
  const uint64_t size = transfer.size;
  if (size < TransferChoice::kLeast || !backends_.traits(transfer.backend).pins_host_memory ||
      vendors_gone() || backends_.pinned().holds(transfer.host, size)) {
    return direct(transfer);
  }
  Device& device = devices_[transfer.backend];
  const size_t direction = transfer.write ? 0 : 1;
  TransferChoice::Next next;
  {
    const MutexLock lock(device.mutex);
    next = device.choices[direction].next(size);
  }
  // The first bytes wait for what the queue was given before, which is no matter of the way.
  const uint64_t untimed = next.measured ? kLeastBlock : 0;
  if (untimed > 0) TUTTI_TRY(direct(transfer.part(0, untimed)));
  const Transfer rest = transfer.part(untimed, size);
  const uint64_t began = now_ns();
  if (next.way == Way::kDirect) {
    TUTTI_TRY(direct(rest));
  } else if (Status done = staged(rest); done) {
    device.bytes[direction].fetch_add(rest.size, std::memory_order_relaxed);
  } else {
    {
      const MutexLock lock(device.mutex);
      device.choices[direction].failed(size);
    }
    if (vendors_gone() || backends_.at(transfer.backend).hangs()) return done;
    return direct(rest);
  }
  if (next.measured) note_rate(transfer, next.way, rest.size, seconds_between(began, now_ns()));
  return {};
}

void StagedTransfers::note_rate(const Transfer& transfer, Way way, uint64_t bytes, double seconds) {
  Device& device = devices_[transfer.backend];
  double straight = 0, staged = 0;
  {
    const MutexLock lock(device.mutex);
    TransferChoice& choice = device.choices[transfer.write ? 0 : 1];
    if (!choice.ended(transfer.size, way, static_cast<double>(bytes) / std::max(seconds, 1e-9))) {
      return;
    }
    straight = choice.rate(transfer.size, Way::kDirect);
    staged = choice.rate(transfer.size, Way::kStaged);
  }
  log(LogLevel::kInfo, "{}: transfers {} it, such as of {} MiB, at {:.1f} GB/s, staged at {:.1f}",
      backends_.traits(transfer.backend).device_name, transfer.write ? "to" : "from",
      transfer.size >> 20, straight * 1e-9, staged * 1e-9);
}

Status StagedTransfers::staged(const Transfer& transfer) {
  std::array<Stage, 2> stages{Stage(backends_, transfer.backend, kStageSize),
                              Stage(backends_, transfer.backend, kStageSize)};
  if (!transfer.pack && (!stages[0].pinned() || !stages[1].pinned())) {
    return fail(CL_OUT_OF_RESOURCES, "no pinned memory to pass through");
  }
  const uint64_t threads = helpers_count_ + 1;
  const uint64_t even = transfer.size / (2 * threads) / kLeastBlock * kLeastBlock;
  Job job{transfer, std::clamp(even, kLeastBlock, kStageSize), TransferCause::current()};
  MutexLock lock(mutex_);
  jobs_.push_back(&job);
  lock.unlock();
  // Without them all goes on.
  static_cast<void>(guarded([&] { call_helpers(job); }));
  Status thrown = guarded([&] { copy_blocks(job, stages, false); });
  if (!thrown) note_failure(job, std::move(thrown));
  lock.lock();
  std::erase(jobs_, &job);
  helper_left_.wait(mutex_, [&job] { return job.threads == 1; });
  return std::move(job.status);
}

void StagedTransfers::copy_blocks(Job& job, std::array<Stage, 2>& stages, bool helps) {
  const TransferCause cause(helps ? job.cause : nullptr);
  const Transfer& transfer = job.transfer;
  struct Held {
    uint64_t at = 0, size = 0;
  };
  std::array<Held, 2> held;  // what comes to the stages
  const auto finish = [&](size_t i) {
    Status ended = stages[i].wait();
    const Held block = std::exchange(held[i], {});
    if (!ended) return note_failure(job, std::move(ended));
    if (block.size > 0) std::memcpy(transfer.host + block.at, stages[i].pinned(), block.size);
  };
  for (size_t turn = 0;; turn ^= 1) {
    finish(turn);
    const uint64_t at = next_block(job, helps);
    if (at == transfer.size) break;
    const Held block{at, std::min(job.block, transfer.size - at)};
    if (Status begun = begin_block(transfer, block.at, block.size, stages[turn]); !begun) {
      note_failure(job, std::move(begun));
      break;
    }
    if (!transfer.write) held[turn] = block;
  }
  // Also after a failure: the stages are in use until then.
  finish(0);
  finish(1);
}

Status StagedTransfers::begin_block(const Transfer& transfer, uint64_t at, uint64_t size,
                                    Stage& stage) {
  std::byte* const memory = stage.memory(size);
  const uint64_t there = transfer.offset + at;
  if (transfer.write) {
    if (transfer.pack) {
      (*transfer.pack)(at, at + size, memory);
    } else {
      std::memcpy(memory, transfer.host + at, size);
    }
    TUTTI_ASSIGN(auto sent, transfer.queue.write(transfer.memory, there, size, memory, {}));
    stage.sent(std::move(sent));
  } else {
    TUTTI_ASSIGN(auto sent, transfer.queue.read(transfer.memory, there, size, memory, {}));
    stage.sent(std::move(sent));
  }
  return transfer.queue.flush();
}

uint64_t StagedTransfers::next_block(Job& job, bool helps) {
  const MutexLock lock(mutex_);
  if (job.over() || (helps && job.threads > share())) return job.transfer.size;
  const uint64_t at = job.next;
  job.next += std::min(job.block, job.transfer.size - at);
  return at;
}

void StagedTransfers::note_failure(Job& job, Status status) {
  const MutexLock lock(mutex_);
  if (job.status) job.status = std::move(status);
}

uint64_t StagedTransfers::share() const {
  const uint64_t jobs = std::max<uint64_t>(1, jobs_.size());
  return 1 + (helpers_count_ + jobs - 1) / jobs;
}

StagedTransfers::Job* StagedTransfers::neediest() const {
  Job* found = nullptr;
  for (Job* job : jobs_) {
    if (job->over() || job->helpless || job->threads >= share()) continue;
    if (!found || job->threads < found->threads) found = job;
  }
  return found;
}

void StagedTransfers::call_helpers(const Job& job) {
  const uint64_t blocks = (job.transfer.size + job.block - 1) / job.block;
  uint64_t wanted = std::min<uint64_t>(blocks - 1, helpers_count_);
  for (size_t i = 0; i < helpers_count_ && wanted > 0; ++i) {
    MutexLock lock(mutex_);
    Helper& helper = helpers_[i];
    if (helper.busy) continue;
    if (!helper.worker) helper.worker = std::make_unique<Worker>("tutti-copy" + std::to_string(i));
    helper.busy = true;
    Worker& worker = *helper.worker;
    lock.unlock();
    --wanted;
    worker.post([this, i] { help(i); },
                [this, i](const Error&) {
                  const MutexLock again(mutex_);
                  helpers_[i].busy = false;
                });
  }
}

void StagedTransfers::help(size_t helper) {
  MutexLock lock(mutex_);
  for (;;) {
    Job* const job = neediest();
    if (!job) {
      helpers_[helper].busy = false;
      return;
    }
    ++job->threads;
    lock.unlock();
    bool helpless = false;
    Status thrown = guarded([&] {
      const uint32_t backend = job->transfer.backend;
      std::array<Stage, 2> stages{Stage(backends_, backend, kStageSize),
                                  Stage(backends_, backend, kStageSize)};
      helpless = !stages[0].pinned() || !stages[1].pinned();
      if (!helpless) copy_blocks(*job, stages, true);
    });
    lock.lock();
    if (!thrown && job->status) job->status = std::move(thrown);
    job->helpless |= helpless;
    --job->threads;
    helper_left_.notify_all();
  }
}

}  // namespace tutti::scheduler
