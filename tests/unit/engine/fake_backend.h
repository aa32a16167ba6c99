// SPDX-License-Identifier: Apache-2.0
// A real device's stand-in for tests of the engine: its own memory (or the host's), queues that run
// on threads of their own, kernels that are host functions, failures on demand.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "backends/api/backend.h"
#include "base/task_thread.h"
#include "scheduler/engine/engine.h"

namespace tutti::testing {

/// One work-item of a fake kernel: its global ids, and the arguments as bytes or memory.
struct FakeItem {
  std::array<size_t, 3> global_id{};
  const backends::Launch* launch = nullptr;
  std::span<std::byte* const> windows;
  /// Start of the window that argument `index` sees.
  std::byte* memory(size_t index) const { return windows[index]; }
  template <typename T>
  T scalar(size_t index) const {
    T value;
    std::memcpy(&value, launch->arguments[index].bytes.data(), sizeof value);
    return value;
  }
};
/// Of a launch of the shard variant: how much of what the argument shows lies before its memory.
inline uint64_t bytes_before(const backends::Launch& launch, size_t argument) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, launch.arguments.back().bytes.data() + sizeof bytes * argument, sizeof bytes);
  return bytes;
}
using FakeFunction = std::function<void(const FakeItem&)>;

/// What a fake device is like.
enum class FakeKind : uint8_t {
  /// It shares the host's memory.
  kSharesHost,
  /// It shares the host's memory, and is said to compute in the thread that enqueues.
  kSynchronous,
  /// It shares the host's memory, and its atomics are the host's.
  kHostAtomics,
  /// It has memory of its own.
  kOwnMemory,
  /// It has memory of its own, measuring times is costly on it, and launches overlap.
  kCostlyTimes,
  /// It has memory of its own, and takes offsets up to 1000.
  kNarrowOffsets,
  /// It has memory of its own, and the last groups of a launch may be smaller than the others.
  kSmallerGroups,
  /// It has memory of its own, and pins host memory.
  kPins,
  /// It has memory of its own, and reads the source of a write when that is enqueued.
  kReadsAhead,
  /// It has memory of its own, and launches on all of a buffer only.
  kWholeBuffers,
  /// It has memory of its own, and its images are for reading only.
  kReadOnlyImages,
  /// It has memory of its own, and does one command at a time, whatever the queue.
  kSerial,
  /// It is on another host: 20 ms away, over a link of 12.5 MB/s.
  kFar
};
using enum FakeKind;

/// Of the devices of one engine, in the order of their numbers.
using FakeKinds = std::vector<FakeKind>;
bool contains(const FakeKinds& kinds, FakeKind kind);
/// Such as "own-memory+shares-host".
std::string to_string(const FakeKinds& kinds);
std::ostream& operator<<(std::ostream& stream, const FakeKinds& kinds);

/// What a fake device is asked to do.
enum class FakeCall : uint8_t {
  kLaunch,
  kRead,
  kWrite,
  kCopy,
  kFill,
  kMark,
  kFlush,
  kFinish,
  kAllocate,
  kCreateQueue
};

/// What becomes of one call, and of its command.
struct FakeFate {
  cl_int refused = CL_SUCCESS;        // the call's error: the command is not enqueued
  cl_int result = CL_COMPLETE;        // what the command ends with
  double done = 1;                    // how much of it is done, from its begin
  std::function<void()> before = {};  // in the device's thread, before it is carried out
};

class FakeBackend : public backends::Backend {
 public:
  FakeBackend(uint32_t index, FakeKind kind, uint64_t max_allocation = UINT64_MAX);

  const backends::DeviceTraits& traits() const override { return traits_; }
  backends::DeviceTraits& changed_traits() { return traits_; }
  Result<std::vector<std::byte>> device_info(cl_device_info what) const override;
  Result<std::unique_ptr<backends::Queue>> create_queue(backends::QueueOptions options) override;
  Result<std::unique_ptr<backends::Memory>> allocate(uint64_t size, void* host) override;
  /// To kernels an image is its pixels, one after the other.
  Result<std::unique_ptr<backends::Memory>> allocate_image(
      const backends::ImageShape& shape) override;
  Result<std::shared_ptr<backends::DeviceQueue>> create_device_queue(
      const backends::DeviceQueueOptions&) override {
    return std::make_shared<backends::DeviceQueue>();
  }
  /// Bytes as any; not on one with narrow offsets.
  Result<std::unique_ptr<backends::Memory>> allocate_pipe(
      const backends::PipeShape& shape) override;
  Result<std::unique_ptr<backends::PinnedMemory>> allocate_pinned(uint64_t size) override;
  /// What memory holds that was not written: not zero, so that unsent data show, and on each device
  /// something else.
  std::byte unwritten() const { return std::byte(0xEE - traits_.index); }
  backends::BuildResult build(const std::string& source, const std::string& options) override;
  /// Parts of the same kind.
  Result<std::vector<std::unique_ptr<backends::Backend>>> divide(std::span<const uint32_t> units,
                                                                 uint32_t first_number) override;

  /// Asked at each call, where there is one; set before the device is used.
  std::function<FakeFate(FakeCall)> fate;
  /// Likewise, in the device's thread before it reads or writes so many bytes of the host's memory.
  std::function<void(const void* host, uint64_t bytes)> transferring;
  std::atomic<int> refuse_launches{0};    // that many launches fail before they start
  std::atomic<int> fail_launches{0};      // that many are enqueued, compute nothing and fail
  std::atomic<bool> spoil_failed{false};  // these compute, and fail all the same
  std::atomic<bool> lost{false};          // every command is refused
  std::atomic<bool> context_lost{false};  // likewise, until it begins anew
  std::atomic<uint32_t> generation{0};    // how often it has
  std::atomic<uint32_t> stale_uses{0};    // of memory of an earlier context
  Status renew() override;
  /// Whether commands are refused.
  bool refuses() const { return lost || context_lost; }
  std::atomic<uint32_t> wrong_every{0};  // of so many launches one changes a byte of argument 1
  std::atomic<bool> noisy{false};        // the last bit of the first number there is another one
  std::atomic<int> hang_launches{0};     // that many begin only when it is `awake`
  std::atomic<bool> awake{false};
  void wake_up() {
    awake = true;
    awake.notify_all();
  }
  std::atomic<uint64_t> measured_ns{0};         // so long took each command; 0: as long as it did
  std::atomic<bool> launches_at_once{false};    // a launch has ended when its call returns
  std::atomic<uint32_t> clock_divisor{1};       // its clock is so much slower than ours
  std::atomic<int> throw_launches{0};           // that many launches throw std::bad_alloc
  std::atomic<int64_t> memory_left{INT64_MAX};  // bytes
  std::atomic<uint32_t> allocations{0};
  std::atomic<uint64_t> pins{0}, unpins{0};
  backends::Traffic traffic() const override { return {bytes_in, bytes_out}; }
  std::atomic<uint64_t> bytes_in{0}, bytes_out{0}, launches{0};
  std::atomic<uint32_t> launching_queues{0};  // queues that got a launch
  std::atomic<uint32_t> unfinished{0};        // launches
  std::atomic<uint32_t> reads_behind{0};      // reads that were enqueued while there were such
  TaskThread& only_thread() { return only_thread_; }

  /// The call's error, where its fate says one.
  Status refused(FakeCall call) const;

 private:
  const FakeKind kind_;
  backends::DeviceTraits traits_;
  TaskThread only_thread_{"fake-device"};  // of a serial one
};

/// A kernel with a host function for each device and a summary written by hand.
class FakeKernel : public scheduler::LaunchableKernel {
 public:
  FakeKernel(scheduler::KernelSummary summary, FakeFunction function, uint32_t backends);

  const scheduler::KernelSummary& summary() const override { return summary_; }
  uint64_t built_on() const override { return built_on_; }
  Result<backends::Kernel*> vendor_kernel(uint32_t backend,
                                          scheduler::KernelVariant variant) override;
  uint32_t shard_arguments() override { return summary_.shard_arguments; }
  uint32_t panel_arguments() override { return summary_.panel_arguments; }
  uint64_t model_key() const override { return reinterpret_cast<uintptr_t>(this); }

 private:
  scheduler::KernelSummary summary_;
  uint64_t built_on_;
  std::unique_ptr<backends::Kernel> kernel_, shards_;
};

/// As the application's kernel object launches what repeats an earlier launch; false: it does not.
inline bool launch_again(scheduler::Engine& engine, scheduler::Stream& stream,
                         const scheduler::KernelWork& work,
                         scheduler::LaunchObserver* observer = nullptr,
                         std::span<scheduler::Command* const> wait_list = {}) {
  struct Arguments final : scheduler::ArgumentSource {
    explicit Arguments(const scheduler::ArgumentSet& now) : set(now) {}
    bool give_numbers(scheduler::LaunchedArguments& launched) override {
      return launched.take_numbers(set);
    }
    const scheduler::ArgumentSet& set;
  } arguments(*work.arguments);
  const auto again = engine.launch_again(
      stream, {*work.kernel, work.shape, work.local_given, arguments, wait_list}, observer);
  return again && *again;
}

}  // namespace tutti::testing
