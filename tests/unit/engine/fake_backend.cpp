// SPDX-License-Identifier: Apache-2.0
#include "fake_backend.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <ostream>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/task_thread.h"

namespace tutti::testing {
namespace {

using namespace backends;

/// What memory holds: commands in flight keep it.
struct Content {
  std::vector<std::byte> own;
  std::byte* data = nullptr;
};
using ContentPtr = std::shared_ptr<Content>;

class FakeMemory : public Memory {
 public:
  FakeMemory(FakeBackend& backend, uint64_t size, void* host)
      : backend_(backend),
        left_(backend.memory_left),
        generation_(backend.generation),
        size_(size) {
    if (!host) content_->own.assign(size, backend.unwritten());
    content_->data = host ? static_cast<std::byte*>(host) : content_->own.data();
  }
  ~FakeMemory() override {
    if (!content_->own.empty()) left_ += static_cast<int64_t>(size_);
  }
  uint64_t size() const override { return size_; }
  const ContentPtr& content() const {
    if (!content_->own.empty() && generation_ != backend_.generation) ++backend_.stale_uses;
    return content_;
  }

 private:
  FakeBackend& backend_;
  std::atomic<int64_t>& left_;
  const uint32_t generation_;
  uint64_t size_;
  const ContentPtr content_ = std::make_shared<Content>();
};

/// An image's pixels lie one after the other.
class FakeImage : public FakeMemory {
 public:
  FakeImage(FakeBackend& backend, const ImageShape& shape)
      : FakeMemory(backend, packed_size(shape), nullptr), shape_(shape) {}
  uint64_t pixel_size() const override { return shape_.pixel_size; }
  static uint64_t packed_size(const ImageShape& shape) {
    return shape.pixel_size * shape.extent[0] * shape.extent[1] * shape.extent[2];
  }
  uint64_t bytes_in(const ImageBox& box) const {
    return shape_.pixel_size * box.extent[0] * box.extent[1] * box.extent[2];
  }
  const ImageShape& shape() const { return shape_; }
  /// Copies a box from or to the host.
  static void move(const Content& content, const ImageShape& shape, const ImageBox& box,
                   std::byte* host, size_t second, size_t third, bool to_host) {
    const size_t row = shape.pixel_size * shape.extent[0];
    for (size_t z = 0; z < box.extent[2]; ++z) {
      for (size_t y = 0; y < box.extent[1]; ++y) {
        std::byte* here = content.data +
                          ((box.origin[2] + z) * shape.extent[1] + box.origin[1] + y) * row +
                          box.origin[0] * shape.pixel_size;
        std::byte* there = host + z * third + y * second;
        const size_t length = box.extent[0] * shape.pixel_size;
        std::memcpy(to_host ? there : here, to_host ? here : there, length);
      }
    }
  }

 private:
  const ImageShape shape_;
};

const ContentPtr& content_of(Memory& memory) { return static_cast<FakeMemory&>(memory).content(); }

class FakeCompletion : public Completion {
 public:
  cl_int poll() override {
    const std::lock_guard lock(mutex_);
    if (newest_) return newest_->poll();
    seen_ |= status_ == CL_COMPLETE;
    return status_;
  }
  bool known_complete() const override {
    const std::lock_guard lock(mutex_);
    if (newest_) return newest_->known_complete();
    return observed_ ? seen_ : status_ == CL_COMPLETE;
  }
  Status wait() override {
    std::unique_lock lock(mutex_);
    if (newest_) {
      const CompletionPtr newest = newest_;
      lock.unlock();
      return newest->wait();
    }
    ended_.wait(lock, [&] { return status_ <= CL_COMPLETE; });
    seen_ |= status_ == CL_COMPLETE;
    if (status_ < 0) return fail(status_, "the fake device failed");
    return {};
  }
  /// It ends, and nobody has asked for that yet.
  void wait_unseen() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return status_ <= CL_COMPLETE; });
  }
  std::optional<VendorTimes> times() override {
    const std::lock_guard lock(mutex_);
    if (status_ > CL_COMPLETE || !measures_) return std::nullopt;
    VendorTimes times = times_;
    if (fixed_ns_ != 0) times.ended = times.started + fixed_ns_;
    for (uint64_t* time : {&times.queued, &times.submitted, &times.started, &times.ended}) {
      *time /= clock_divisor_;
    }
    return times;
  }
  /// `work`: so much of it, from its begin.
  void run(const std::function<void(double)>& work) {
    {
      const std::lock_guard lock(mutex_);
      status_ = CL_RUNNING;
      times_.started = now_ns();
    }
    work(result_ == CL_COMPLETE ? 1 : done_);
    const std::lock_guard lock(mutex_);
    times_.ended = now_ns();
    status_ = result_;
    ended_.notify_all();
  }
  /// It ends with this, and so much of it is done. Before run().
  void fail_with(cl_int result, double done) {
    result_ = result;
    done_ = done;
  }
  /// It ends with one that is behind it in its queue.
  void end_with(CompletionPtr newest) {
    const std::lock_guard lock(mutex_);
    newest_ = std::move(newest);
  }
  /// Somebody asks for the end of this very command.
  bool observed() const { return observed_; }
  /// What it ends with.
  cl_int result() const { return result_; }
  /// `fixed_ns`: how long it took, whatever it did; 0: as it did. `clock_divisor`: by how much the
  /// device's clock is slower than ours.
  FakeCompletion(bool measures, bool observed, uint64_t fixed_ns, uint32_t clock_divisor)
      : measures_(measures),
        observed_(observed),
        fixed_ns_(fixed_ns),
        clock_divisor_(clock_divisor) {
    times_.queued = times_.submitted = now_ns();
  }

 private:
  const bool measures_, observed_;
  const uint64_t fixed_ns_;
  const uint32_t clock_divisor_;
  cl_int result_ = CL_COMPLETE;
  double done_ = 1;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  cl_int status_ = CL_SUBMITTED;
  bool seen_ = false;  // somebody has asked since it is complete
  CompletionPtr newest_;
  VendorTimes times_;
};

class FakeVendorKernel : public Kernel {
 public:
  FakeVendorKernel(FakeFunction chosen, bool s) : function(std::move(chosen)), shifted(s) {}
  Result<std::vector<std::byte>> work_group_info(cl_kernel_work_group_info) override {
    return fail(CL_INVALID_VALUE);
  }
  FakeFunction function;
  const bool shifted;  // its last argument is that of scheduler/access/shard_argument.h
};

class FakeQueue : public Queue {
 public:
  FakeQueue(FakeBackend& backend, bool measures) : backend_(backend), measures_(measures) {}

  Result<CompletionPtr> launch(const Launch& launch, WaitList wait) override {
    if (backend_.throw_launches.load() > 0) {
      --backend_.throw_launches;
      throw std::bad_alloc();
    }
    if (backend_.refuses()) return fail(CL_DEVICE_NOT_AVAILABLE, "the fake device is lost");
    if (backend_.refuse_launches.load() > 0) {
      --backend_.refuse_launches;
      return fail(CL_OUT_OF_RESOURCES, "the fake device refuses");
    }
    for (const Argument& argument : launch.arguments) {
      const bool part = argument.memory && argument.kind == Argument::Kind::kMemory &&
                        (argument.origin != 0 || argument.size != argument.memory->size());
      if (part && !backend_.traits().sub_buffers) {
        return fail(CL_INVALID_OPERATION, "the fake device launches on all of a buffer only");
      }
    }
    ++backend_.launches;
    if (!launches_.exchange(true)) ++backend_.launching_queues;
    // A vendor copies the arguments at enqueue; so does this one.
    struct Copy {
      Launch launch;
      std::vector<Argument> arguments;
      std::vector<std::vector<std::byte>> bytes;
      std::vector<ContentPtr> contents;
      std::vector<std::byte*> windows;
    };
    auto copy = std::make_shared<Copy>();
    copy->launch = launch;
    copy->arguments.assign(launch.arguments.begin(), launch.arguments.end());
    copy->bytes.resize(copy->arguments.size());
    const bool shifted = static_cast<FakeVendorKernel*>(launch.kernel)->shifted;
    for (size_t i = 0; i < copy->arguments.size(); ++i) {
      copy->bytes[i].assign(copy->arguments[i].bytes.begin(), copy->arguments[i].bytes.end());
      Argument& argument = copy->arguments[i];
      argument.bytes = copy->bytes[i];
      const bool memory = argument.memory != nullptr;
      copy->contents.push_back(memory ? content_of(*argument.memory) : nullptr);
      std::byte* window = memory ? copy->contents.back()->data + argument.origin : nullptr;
      copy->windows.push_back(shifted && window ? window - bytes_before(launch, i) : window);
    }
    copy->launch.arguments = copy->arguments;
    const uint32_t wrong_every = backend_.wrong_every;
    const bool wrong = wrong_every != 0 && backend_.launches % wrong_every == 0;
    const bool noisy = backend_.noisy;
    const auto run = [copy, wrong, noisy](double part) {
      const Launch& call = copy->launch;
      auto* kernel = static_cast<FakeVendorKernel*>(call.kernel);
      FakeItem item;
      item.launch = &call;
      item.windows = copy->windows;
      auto left = static_cast<size_t>(
          part * static_cast<double>(call.global[0] * call.global[1] * call.global[2]));
      for (size_t z = 0; z < call.global[2]; ++z) {
        for (size_t y = 0; y < call.global[1]; ++y) {
          for (size_t x = 0; x < call.global[0]; ++x) {
            if (left-- == 0) return;
            item.global_id = {call.offset[0] + x, call.offset[1] + y, call.offset[2] + z};
            kernel->function(item);
          }
        }
      }
      if (wrong) item.memory(1)[call.offset[0]] ^= std::byte{0x55};
      if (noisy) item.memory(1)[call.offset[0]] ^= std::byte{1};
    };
    if (backend_.hang_launches.load() > 0) {
      --backend_.hang_launches;
      return post(
          FakeCall::kLaunch, wait,
          [this, run](double part) {
            backend_.awake.wait(false);
            run(part);
          },
          launch.observed);
    }
    FakeFate fate;
    if (backend_.fail_launches.load() > 0) {
      --backend_.fail_launches;
      failed_ = true;
      fate = {.result = CL_OUT_OF_RESOURCES, .done = backend_.spoil_failed ? 1.0 : 0.0};
    }
    ++backend_.unfinished;
    auto made = post(
        FakeCall::kLaunch, wait,
        [this, run](double part) {
          run(part);
          --backend_.unfinished;
        },
        launch.observed, fate);
    if (!made) --backend_.unfinished;
    if (made && backend_.launches_at_once) static_cast<FakeCompletion&>(**made).wait_unseen();
    return made;
  }
  Status launch_again(const Launch& launch, CompletionPtr& run) override {
    auto& completion = static_cast<FakeCompletion&>(*run);
    if (completion.observed()) return Queue::launch_again(launch, run);
    TUTTI_ASSIGN(auto newest, this->launch(launch, {}));
    completion.end_with(std::move(newest));
    return {};
  }
  Result<CompletionPtr> read(Memory& from, uint64_t offset, uint64_t size, void* to,
                             Ordering ordering) override {
    backend_.bytes_out += size;
    if (backend_.unfinished > 0) ++backend_.reads_behind;
    return post(
        FakeCall::kRead, ordering.wait,
        [this, from = content_of(from), offset, size, to](double part) {
          if (backend_.transferring) backend_.transferring(to, size);
          std::memcpy(to, from->data + offset, some(size, part));
        },
        ordering.observed);
  }
  Result<CompletionPtr> write(Memory& to, uint64_t offset, uint64_t size, const void* from,
                              Ordering ordering) override {
    backend_.bytes_in += size;
    if (backend_.traits().reads_ahead) {
      const auto* bytes = static_cast<const std::byte*>(from);
      return post(
          FakeCall::kWrite, ordering.wait,
          [to = content_of(to), offset,
           taken = std::vector<std::byte>(bytes, bytes + size)](double part) {
            std::memcpy(to->data + offset, taken.data(), some(taken.size(), part));
          },
          ordering.observed);
    }
    return post(
        FakeCall::kWrite, ordering.wait,
        [this, to = content_of(to), offset, size, from](double part) {
          if (backend_.transferring) backend_.transferring(from, size);
          std::memmove(to->data + offset, from, some(size, part));
        },
        ordering.observed);
  }
  Status write_blocking(Memory& to, uint64_t offset, uint64_t size, const void* from) override {
    TUTTI_ASSIGN(auto completion, write(to, offset, size, from, {}));
    return completion->wait();
  }
  Status read_blocking(Memory& from, uint64_t offset, uint64_t size, void* to) override {
    TUTTI_ASSIGN(auto completion, read(from, offset, size, to, {}));
    return completion->wait();
  }
  Result<CompletionPtr> copy(Memory& from, uint64_t from_offset, Memory& to, uint64_t to_offset,
                             uint64_t size, Ordering ordering) override {
    return post(
        FakeCall::kCopy, ordering.wait,
        [from = content_of(from), from_offset, to = content_of(to), to_offset, size](double part) {
          std::memmove(to->data + to_offset, from->data + from_offset, some(size, part));
        },
        ordering.observed);
  }
  Result<CompletionPtr> fill(Memory& to, uint64_t offset, uint64_t size,
                             std::span<const std::byte> pattern, Ordering ordering) override {
    std::vector<std::byte> copy(pattern.begin(), pattern.end());
    return post(
        FakeCall::kFill, ordering.wait,
        [to = content_of(to), offset, size, copy](double part) {
          for (uint64_t at = 0; at < some(size, part); at += copy.size()) {
            std::memcpy(to->data + offset + at, copy.data(), copy.size());
          }
        },
        ordering.observed);
  }
  Result<CompletionPtr> read_image(Memory& from, const ImageBox& box, void* to, size_t second,
                                   size_t third, WaitList wait) override {
    auto& image = static_cast<FakeImage&>(from);
    backend_.bytes_out += image.bytes_in(box);
    return post(
        FakeCall::kRead, wait,
        [content = image.content(), shape = image.shape(), box, to, second, third](double part) {
          if (part < 1) return;
          FakeImage::move(*content, shape, box, static_cast<std::byte*>(to), second, third, true);
        });
  }
  Result<CompletionPtr> write_image(Memory& to, const ImageBox& box, const void* from,
                                    size_t second, size_t third, WaitList wait) override {
    auto& image = static_cast<FakeImage&>(to);
    backend_.bytes_in += image.bytes_in(box);
    return post(
        FakeCall::kWrite, wait,
        [content = image.content(), shape = image.shape(), box, from, second, third](double part) {
          if (part < 1) return;
          FakeImage::move(*content, shape, box, static_cast<std::byte*>(const_cast<void*>(from)),
                          second, third, false);
        });
  }
  /// The first bytes of the colour are the pixel.
  Result<CompletionPtr> fill_image(Memory& to, const ImageBox& box,
                                   std::span<const std::byte, 16> color, WaitList wait) override {
    auto& image = static_cast<FakeImage&>(to);
    std::vector<std::byte> row;
    for (size_t x = 0; x < box.extent[0]; ++x) {
      row.insert(row.end(), color.begin(),
                 color.begin() + static_cast<ptrdiff_t>(image.pixel_size()));
    }
    return post(FakeCall::kFill, wait,
                [content = image.content(), shape = image.shape(), box, row](double part) mutable {
                  if (part == 1) FakeImage::move(*content, shape, box, row.data(), 0, 0, false);
                });
  }
  Result<CompletionPtr> mark(WaitList wait, bool observed) override {
    return post(
        FakeCall::kMark, wait, [](double) {}, observed);
  }
  Status flush() override { return backend_.refused(FakeCall::kFlush); }
  Status finish() override {
    TUTTI_ASSIGN(auto completion, post(FakeCall::kFinish, {}, [](double) {}));
    TUTTI_TRY(completion->wait());
    const cl_int untold = untold_.exchange(CL_SUCCESS);
    if (failed_.exchange(false)) return fail(CL_OUT_OF_RESOURCES, "a launch of the queue failed");
    if (untold != CL_SUCCESS) return fail(untold, "a command of the queue failed");
    return {};
  }

 private:
  static size_t some(uint64_t size, double part) {
    return static_cast<size_t>(part * static_cast<double>(size));
  }

  Result<CompletionPtr> post(FakeCall call, WaitList wait, std::function<void(double)> work,
                             bool observed = true, FakeFate fate = {}) {
    if (backend_.refuses()) return fail(CL_DEVICE_NOT_AVAILABLE, "the fake device is lost");
    if (backend_.fate && fate.result == CL_COMPLETE) fate = backend_.fate(call);
    if (fate.refused != CL_SUCCESS) return fail(fate.refused, "the fake device refuses");
    auto completion = std::make_shared<FakeCompletion>(measures_, observed, backend_.measured_ns,
                                                       backend_.clock_divisor);
    if (fate.result != CL_COMPLETE) completion->fail_with(fate.result, fate.done);
    std::vector<CompletionPtr> before(wait.begin(), wait.end());
    TaskThread& thread = backend_.traits().serial ? backend_.only_thread() : thread_;
    const bool told = observed || !backend_.fate;
    TUTTI_TRY(guarded([&] {
      thread.post([this, completion, before, work, told, finish = call == FakeCall::kFinish,
                   at_first = std::move(fate.before)] {
        if (at_first) at_first();
        bool well = true;
        for (const auto& other : before) well &= other->wait().has_value();
        if (!well) completion->fail_with(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, 0);
        if (const cl_int untold = untold_; untold != CL_SUCCESS && !finish) {
          completion->fail_with(untold, 0);
        }
        if (const cl_int result = completion->result(); result < 0 && !told) untold_ = result;
        completion->run(work);
      });
    }));
    return CompletionPtr(completion);
  }

  FakeBackend& backend_;
  const bool measures_;
  std::atomic<bool> launches_{false}, failed_{false};
  // Of a command that nobody observes: what follows fails, until finish() has told it.
  std::atomic<cl_int> untold_{CL_SUCCESS};
  TaskThread thread_{"fake-queue"};
};

/// In the order of the kinds.
constexpr const char* kNames[] = {
    "shares-host",      "synchronous",    "host-atomics", "own-memory",  "costly-times",
    "narrow-offsets",   "smaller-groups", "pins",         "reads-ahead", "whole-buffers",
    "read-only-images", "serial",         "far"};
static_assert(std::size(kNames) == static_cast<size_t>(kFar) + 1);

}  // namespace

bool contains(const FakeKinds& kinds, FakeKind kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}
std::string to_string(const FakeKinds& kinds) {
  std::string text;
  for (const FakeKind kind : kinds)
    text += (text.empty() ? "" : "+") + std::string(kNames[static_cast<size_t>(kind)]);
  return text;
}
std::ostream& operator<<(std::ostream& stream, const FakeKinds& kinds) {
  return stream << to_string(kinds);
}

FakeBackend::FakeBackend(uint32_t index, FakeKind kind, uint64_t max_allocation) : kind_(kind) {
  traits_.index = index;
  traits_.platform_name = "Fake";
  traits_.device_name = "fake " + std::to_string(index);
  const bool shares_host_memory =
      kind == kSharesHost || kind == kHostAtomics || kind == kSynchronous;
  traits_.synchronous = kind == kSynchronous;
  traits_.host_atomics = kind == kHostAtomics;
  traits_.costly_profiling = traits_.overlaps_launches = kind == kCostlyTimes;
  if (kind == kNarrowOffsets) traits_.max_offset = 1000;
  traits_.smaller_groups = kind == kSmallerGroups;
  traits_.pins_host_memory = kind == kPins;
  traits_.reads_ahead = kind == kReadsAhead;
  traits_.serial = kind == kSerial;
  traits_.sub_buffers = kind != kWholeBuffers;
  if (kind == kFar) traits_.link = {20e-3, 12.5e6, 12.5e6};
  traits_.type = shares_host_memory ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU;
  traits_.shares_host_memory = shares_host_memory;
  traits_.max_allocation = max_allocation;
  traits_.global_memory = max_allocation;
  traits_.max_work_group = 256;
}

Result<std::vector<std::byte>> FakeBackend::device_info(cl_device_info) const {
  return fail(CL_INVALID_VALUE);
}
Status FakeBackend::renew() {
  if (lost) return fail(CL_DEVICE_NOT_AVAILABLE, "the fake device is lost");
  ++generation;
  context_lost = false;
  return {};
}
Result<std::unique_ptr<Queue>> FakeBackend::create_queue(QueueOptions options) {
  TUTTI_TRY(refused(FakeCall::kCreateQueue));
  return std::make_unique<FakeQueue>(*this, options.profiling);
}
Status FakeBackend::refused(FakeCall call) const {
  const cl_int error = fate ? fate(call).refused : CL_SUCCESS;
  return error == CL_SUCCESS ? Status() : fail(error, "the fake device refuses");
}

Result<std::unique_ptr<Memory>> FakeBackend::allocate(uint64_t size, void* host) {
  TUTTI_TRY(refused(FakeCall::kAllocate));
  if (!host && (memory_left -= static_cast<int64_t>(size)) < 0) {
    memory_left += static_cast<int64_t>(size);
    return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "the fake device is full");
  }
  ++allocations;
  return std::make_unique<FakeMemory>(*this, size, host);
}

Result<std::unique_ptr<Memory>> FakeBackend::allocate_image(const ImageShape& shape) {
  if (kind_ == kReadOnlyImages && shape.access != CL_MEM_READ_ONLY) {
    return fail(CL_IMAGE_FORMAT_NOT_SUPPORTED, "the fake device's images are for reading only");
  }
  memory_left -= static_cast<int64_t>(FakeImage::packed_size(shape));
  return std::make_unique<FakeImage>(*this, shape);
}

Result<std::unique_ptr<Memory>> FakeBackend::allocate_pipe(const backends::PipeShape& shape) {
  if (kind_ == kNarrowOffsets) return Backend::allocate_pipe(shape);
  return allocate(shape.span(), nullptr);
}

namespace {
class FakePinnedMemory : public PinnedMemory {
 public:
  FakePinnedMemory(FakeBackend& backend, uint64_t size)
      : backend_(backend),
        size_(size),
        data_(static_cast<std::byte*>(std::aligned_alloc(4096, (size + 4095) / 4096 * 4096))) {
    ++backend_.pins;
    backend_.memory_left -= static_cast<int64_t>(size);  // as NVIDIA's driver does
  }
  ~FakePinnedMemory() override {
    ++backend_.unpins;
    backend_.memory_left += static_cast<int64_t>(size_);
    std::free(data_);
  }
  std::byte* data() const override { return data_; }
  uint64_t size() const override { return size_; }

 private:
  FakeBackend& backend_;
  uint64_t size_;
  std::byte* data_;
};
}  // namespace

Result<std::unique_ptr<PinnedMemory>> FakeBackend::allocate_pinned(uint64_t size) {
  if (!traits_.pins_host_memory) return Backend::allocate_pinned(size);
  if (memory_left.load() < static_cast<int64_t>(size)) {
    return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "the fake device is full");
  }
  return std::make_unique<FakePinnedMemory>(*this, size);
}
BuildResult FakeBackend::build(const std::string&, const std::string&) {
  return {nullptr, CL_COMPILER_NOT_AVAILABLE, "the fake device compiles nothing"};
}

Result<std::vector<std::unique_ptr<Backend>>> FakeBackend::divide(std::span<const uint32_t> units,
                                                                  uint32_t first_number) {
  std::vector<std::unique_ptr<Backend>> parts;
  for (uint32_t i = 0; i < units.size(); ++i) {
    parts.push_back(std::make_unique<FakeBackend>(first_number + i, kind_, traits_.max_allocation));
  }
  return parts;
}

FakeKernel::FakeKernel(scheduler::KernelSummary summary, FakeFunction function, uint32_t backends)
    : summary_(std::move(summary)),
      built_on_((uint64_t{1} << backends) - 1),
      kernel_(std::make_unique<FakeVendorKernel>(function, false)),
      shards_(std::make_unique<FakeVendorKernel>(std::move(function), true)) {}

Result<Kernel*> FakeKernel::vendor_kernel(uint32_t, scheduler::KernelVariant variant) {
  return variant == scheduler::KernelVariant::kShards ? shards_.get() : kernel_.get();
}

}  // namespace tutti::testing
