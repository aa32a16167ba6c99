// SPDX-License-Identifier: Apache-2.0
#include "fake_backend.h"

#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "base/task_thread.h"

namespace tutti::testing {
namespace {

using namespace backends;

class FakeMemory : public Memory {
 public:
  FakeMemory(FakeBackend& backend, uint64_t size, void* host)
      : backend_(backend),
        left_(backend.memory_left),
        generation_(backend.generation),
        size_(size) {
    if (host) {
      data_ = static_cast<std::byte*>(host);
    } else {
      own_.assign(size, backend.unwritten());
      data_ = own_.data();
    }
  }
  ~FakeMemory() override {
    if (!own_.empty()) left_ += static_cast<int64_t>(size_);
  }
  uint64_t size() const override { return size_; }
  std::byte* data() {
    if (!own_.empty() && generation_ != backend_.generation) ++backend_.stale_uses;
    return data_;
  }

 private:
  FakeBackend& backend_;
  std::atomic<int64_t>& left_;
  const uint32_t generation_;
  uint64_t size_;
  std::vector<std::byte> own_;
  std::byte* data_;
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
  /// Copies a box from or to the host.
  void move(const ImageBox& box, std::byte* host, size_t second, size_t third, bool to_host) {
    const size_t row = shape_.pixel_size * shape_.extent[0];
    for (size_t z = 0; z < box.extent[2]; ++z) {
      for (size_t y = 0; y < box.extent[1]; ++y) {
        std::byte* here = data() +
                          ((box.origin[2] + z) * shape_.extent[1] + box.origin[1] + y) * row +
                          box.origin[0] * shape_.pixel_size;
        std::byte* there = host + z * third + y * second;
        const size_t length = box.extent[0] * shape_.pixel_size;
        std::memcpy(to_host ? there : here, to_host ? here : there, length);
      }
    }
  }

 private:
  const ImageShape shape_;
};

std::byte* bytes_of(Memory& memory) { return static_cast<FakeMemory&>(memory).data(); }

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
  std::optional<VendorTimes> times() override {
    const std::lock_guard lock(mutex_);
    if (status_ > CL_COMPLETE || !measures_) return std::nullopt;
    VendorTimes times = times_;
    if (fixed_ns_ != 0) times.ended = times.started + fixed_ns_;
    return times;
  }
  void run(const std::function<void()>& work) {
    {
      const std::lock_guard lock(mutex_);
      status_ = CL_RUNNING;
      times_.started = now_ns();
    }
    if (result_ == CL_COMPLETE || spoils_) work();
    const std::lock_guard lock(mutex_);
    times_.ended = now_ns();
    status_ = result_;
    ended_.notify_all();
  }
  /// It is carried out also where it fails.
  void spoil() { spoils_ = true; }
  /// It will not be run, and end with this. Before run().
  void fail_with(cl_int result) { result_ = result; }
  /// It ends with one that is behind it in its queue.
  void end_with(CompletionPtr newest) {
    const std::lock_guard lock(mutex_);
    newest_ = std::move(newest);
  }
  /// Somebody asks for the end of this very command.
  bool observed() const { return observed_; }
  /// `fixed_ns`: how long it took, whatever it did; 0: as it did. `result`: what it ends with.
  FakeCompletion(bool measures, bool observed, uint64_t fixed_ns, cl_int result)
      : measures_(measures), observed_(observed), fixed_ns_(fixed_ns), result_(result) {
    times_.queued = times_.submitted = now_ns();
  }

 private:
  const bool measures_, observed_;
  const uint64_t fixed_ns_;
  cl_int result_;
  bool spoils_ = false;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  cl_int status_ = CL_SUBMITTED;
  bool seen_ = false;  // somebody has asked since it is complete
  CompletionPtr newest_;
  VendorTimes times_;
};

class FakeVendorKernel : public Kernel {
 public:
  explicit FakeVendorKernel(FakeFunction chosen) : function(std::move(chosen)) {}
  Result<std::vector<std::byte>> work_group_info(cl_kernel_work_group_info) override {
    return fail(CL_INVALID_VALUE);
  }
  FakeFunction function;
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
    ++backend_.launches;
    if (!launches_.exchange(true)) ++backend_.launching_queues;
    // A vendor copies the arguments at enqueue; so does this one.
    struct Copy {
      Launch launch;
      std::vector<Argument> arguments;
      std::vector<std::vector<std::byte>> bytes;
    };
    auto copy = std::make_shared<Copy>();
    copy->launch = launch;
    copy->arguments.assign(launch.arguments.begin(), launch.arguments.end());
    copy->bytes.resize(copy->arguments.size());
    for (size_t i = 0; i < copy->arguments.size(); ++i) {
      copy->bytes[i].assign(copy->arguments[i].bytes.begin(), copy->arguments[i].bytes.end());
      copy->arguments[i].bytes = copy->bytes[i];
    }
    copy->launch.arguments = copy->arguments;
    const auto run = [copy] {
      const Launch& call = copy->launch;
      auto* kernel = static_cast<FakeVendorKernel*>(call.kernel);
      FakeItem item;
      item.launch = &call;
      for (size_t z = 0; z < call.global[2]; ++z) {
        for (size_t y = 0; y < call.global[1]; ++y) {
          for (size_t x = 0; x < call.global[0]; ++x) {
            item.global_id = {call.offset[0] + x, call.offset[1] + y, call.offset[2] + z};
            kernel->function(item);
          }
        }
      }
    };
    if (backend_.hang_launches.load() > 0) {
      --backend_.hang_launches;
      return post(
          wait,
          [this, run] {
            backend_.awake.wait(false);
            run();
          },
          launch.observed);
    }
    if (backend_.fail_launches.load() > 0) {
      --backend_.fail_launches;
      failed_ = true;
      return post(wait, run, launch.observed, CL_OUT_OF_RESOURCES);
    }
    ++backend_.unfinished;
    return post(
        wait,
        [this, run] {
          run();
          --backend_.unfinished;
        },
        launch.observed);
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
    return post(ordering.wait,
                [&from, offset, size, to] { std::memcpy(to, bytes_of(from) + offset, size); });
  }
  Result<CompletionPtr> write(Memory& to, uint64_t offset, uint64_t size, const void* from,
                              Ordering ordering) override {
    backend_.bytes_in += size;
    if (backend_.traits().reads_ahead) {
      const auto* bytes = static_cast<const std::byte*>(from);
      return post(ordering.wait,
                  [&to, offset, taken = std::vector<std::byte>(bytes, bytes + size)] {
                    std::memcpy(bytes_of(to) + offset, taken.data(), taken.size());
                  });
    }
    return post(ordering.wait,
                [&to, offset, size, from] { std::memmove(bytes_of(to) + offset, from, size); });
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
    return post(ordering.wait, [&from, from_offset, &to, to_offset, size] {
      std::memmove(bytes_of(to) + to_offset, bytes_of(from) + from_offset, size);
    });
  }
  Result<CompletionPtr> fill(Memory& to, uint64_t offset, uint64_t size,
                             std::span<const std::byte> pattern, Ordering ordering) override {
    std::vector<std::byte> copy(pattern.begin(), pattern.end());
    return post(ordering.wait, [&to, offset, size, copy] {
      for (uint64_t at = 0; at < size; at += copy.size()) {
        std::memcpy(bytes_of(to) + offset + at, copy.data(), copy.size());
      }
    });
  }
  Result<CompletionPtr> read_image(Memory& from, const ImageBox& box, void* to, size_t second,
                                   size_t third, WaitList wait) override {
    auto& image = static_cast<FakeImage&>(from);
    backend_.bytes_out += image.bytes_in(box);
    return post(wait, [&image, box, to, second, third] {
      image.move(box, static_cast<std::byte*>(to), second, third, true);
    });
  }
  Result<CompletionPtr> write_image(Memory& to, const ImageBox& box, const void* from,
                                    size_t second, size_t third, WaitList wait) override {
    auto& image = static_cast<FakeImage&>(to);
    backend_.bytes_in += image.bytes_in(box);
    return post(wait, [&image, box, from, second, third] {
      image.move(box, static_cast<std::byte*>(const_cast<void*>(from)), second, third, false);
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
    return post(wait, [&image, box, row]() mutable { image.move(box, row.data(), 0, 0, false); });
  }
  Result<CompletionPtr> mark(WaitList wait, bool observed) override {
    return post(
        wait, [] {}, observed);
  }
  Status flush() override { return {}; }
  Status finish() override {
    TUTTI_ASSIGN(auto completion, post({}, [] {}));
    TUTTI_TRY(completion->wait());
    if (failed_.exchange(false)) return fail(CL_OUT_OF_RESOURCES, "a launch of the queue failed");
    return {};
  }

 private:
  Result<CompletionPtr> post(WaitList wait, std::function<void()> work, bool observed = true,
                             cl_int result = CL_COMPLETE) {
    if (backend_.refuses()) return fail(CL_DEVICE_NOT_AVAILABLE, "the fake device is lost");
    auto completion =
        std::make_shared<FakeCompletion>(measures_, observed, backend_.measured_ns, result);
    if (backend_.spoil_failed) completion->spoil();
    std::vector<CompletionPtr> before(wait.begin(), wait.end());
    TaskThread& thread = backend_.traits().serial ? backend_.only_thread() : thread_;
    thread.post([completion, before, work] {
      bool well = true;
      for (const auto& other : before) well &= other->wait().has_value();
      if (!well) completion->fail_with(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
      completion->run(work);
    });
    return CompletionPtr(completion);
  }

  FakeBackend& backend_;
  const bool measures_;
  std::atomic<bool> launches_{false}, failed_{false};
  TaskThread thread_{"fake-queue"};
};

}  // namespace

std::byte* FakeItem::memory(size_t index) const {
  const auto& argument = launch->arguments[index];
  return bytes_of(*argument.memory) + argument.origin;
}

FakeBackend::FakeBackend(uint32_t index, char kind, uint64_t max_allocation) : kind_(kind) {
  traits_.index = index;
  traits_.platform_name = "Fake";
  traits_.device_name = "fake " + std::to_string(index);
  const bool shares_host_memory = kind == 'h' || kind == 'a' || kind == 'c';
  traits_.synchronous = kind == 'c';
  traits_.host_atomics = kind == 'a';
  traits_.costly_profiling = traits_.overlaps_launches = kind == 'g';
  if (kind == 'n') traits_.max_offset = 1000;
  traits_.pins_host_memory = kind == 'p';
  traits_.reads_ahead = kind == 'e';
  traits_.serial = kind == 's';
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
  return std::make_unique<FakeQueue>(*this, options.profiling);
}
Result<std::unique_ptr<Memory>> FakeBackend::allocate(uint64_t size, void* host) {
  if (!host && (memory_left -= static_cast<int64_t>(size)) < 0) {
    memory_left += static_cast<int64_t>(size);
    return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "the fake device is full");
  }
  ++allocations;
  return std::make_unique<FakeMemory>(*this, size, host);
}

Result<std::unique_ptr<Memory>> FakeBackend::allocate_image(const ImageShape& shape) {
  if (kind_ == 'r' && shape.access != CL_MEM_READ_ONLY) {
    return fail(CL_IMAGE_FORMAT_NOT_SUPPORTED, "the fake device's images are for reading only");
  }
  memory_left -= static_cast<int64_t>(FakeImage::packed_size(shape));
  return std::make_unique<FakeImage>(*this, shape);
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
      kernel_(std::make_unique<FakeVendorKernel>(std::move(function))) {}

Result<Kernel*> FakeKernel::vendor_kernel(uint32_t, scheduler::KernelVariant) {
  return kernel_.get();
}

}  // namespace tutti::testing
