// SPDX-License-Identifier: Apache-2.0
// The objects of a bounded device: each holds the device's own one, which outlives it where a call
// that hangs may still use it. Thread-safe as those.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/api/backend.h"
#include "backends/bounded/bounded_calls.h"

namespace tutti::backends::bounded {

/// What they have in common. `Interface`: Memory, Kernel …
template <typename Interface>
class Holder : public Interface {
 public:
  Holder(BoundedCalls& calls, std::shared_ptr<Interface> object)
      : calls_(calls), object_(std::move(object)) {}
  ~Holder() override { calls_.drop(std::move(object_)); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  const std::shared_ptr<Interface>& object() const { return object_; }

 protected:
  BoundedCalls& calls_;
  std::shared_ptr<Interface> object_;
};

/// The device's own object.
template <typename Interface>
std::shared_ptr<Interface> own(Interface& holder) {
  return static_cast<Holder<Interface>&>(holder).object();
}

class BoundedMemory final : public Holder<Memory> {
 public:
  using Holder::Holder;
  uint64_t size() const override { return object_->size(); }
  uint64_t pixel_size() const override { return object_->pixel_size(); }
  bool is_buffer() const override { return object_->is_buffer(); }
};

class BoundedDeviceQueue final : public Holder<DeviceQueue> {
 public:
  using Holder::Holder;
};

class BoundedPinnedMemory final : public Holder<PinnedMemory> {
 public:
  using Holder::Holder;
  std::byte* data() const override { return object_->data(); }
  uint64_t size() const override { return object_->size(); }
};

class BoundedSharedMemory final : public Holder<SharedMemory> {
 public:
  using Holder::Holder;
  std::byte* data() const override { return object_->data(); }
  uint64_t size() const override { return object_->size(); }
  SharedKind kind() const override { return object_->kind(); }
};

class BoundedKernel final : public Holder<Kernel> {
 public:
  using Holder::Holder;
  Result<std::vector<std::byte>> work_group_info(cl_kernel_work_group_info what) override {
    return object_->work_group_info(what);
  }
  Result<std::vector<std::byte>> sub_group_info(cl_kernel_sub_group_info what,
                                                std::span<const size_t> input,
                                                size_t size) override {
    return object_->sub_group_info(what, input, size);
  }
  Result<std::vector<std::byte>> argument_info(uint32_t index, cl_kernel_arg_info what) override {
    return object_->argument_info(index, what);
  }
  size_t argument_count() override { return object_->argument_count(); }
};

class BoundedModule final : public Holder<Module> {
 public:
  using Holder::Holder;
  Result<std::unique_ptr<Kernel>> create_kernel(const std::string& name) override {
    TUTTI_ASSIGN(auto made, object_->create_kernel(name));
    return std::make_unique<BoundedKernel>(calls_, std::move(made));
  }
  const std::string& build_log() const override { return object_->build_log(); }
  Result<std::vector<std::byte>> binary() override { return object_->binary(); }
  Result<size_t> variable_bytes() override { return object_->variable_bytes(); }
};

class BoundedCompletion final : public Holder<Completion> {
 public:
  using Holder::Holder;
  cl_int poll() override;
  bool known_complete() const override { return object_->known_complete(); }
  Status wait() override;
  std::optional<VendorTimes> times() override;
};

class BoundedSemaphore final : public Holder<Semaphore> {
 public:
  using Holder::Holder;
  Result<CompletionPtr> wait() override;
  Result<CompletionPtr> signal() override;
  Result<std::vector<std::byte>> info(cl_uint what) override { return object_->info(what); }
  Result<std::vector<std::byte>> export_handle(cl_uint type) override {
    return object_->export_handle(type);
  }
  Status import_again(int descriptor) override { return object_->import_again(descriptor); }
};

class BoundedQueue final : public Holder<Queue> {
 public:
  using Holder::Holder;
  Result<CompletionPtr> launch(const Launch& launch, WaitList wait) override;
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
  Status map_shared(SharedMemory& memory, uint64_t offset, uint64_t size,
                    cl_map_flags flags) override;
  Status unmap_shared(SharedMemory& memory, uint64_t offset) override;
  Result<CompletionPtr> mark(WaitList wait, bool observed) override;
  Status flush() override;
  Status finish() override;

 private:
  /// `call(queue, ordering)` of the device's own queue, with its own completions.
  template <typename Call>
  Result<CompletionPtr> enqueue(const char* name, Ordering ordering, Call call);
};

}  // namespace tutti::backends::bounded
