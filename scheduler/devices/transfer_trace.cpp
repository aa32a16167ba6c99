// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/transfer_trace.h"

#include <fmt/format.h>

#include <array>
#include <atomic>

#include "scheduler/devices/per_backend.h"

namespace tutti::scheduler {
namespace {

thread_local const TransferCause* current_cause = nullptr;

// Queues have rows of their own, since they work at the same time; streams take those from 2 on.
constexpr uint32_t kTransferRow = 1, kEarlyReadRow = 1000000;

class TracedQueue final : public backends::Queue {
 public:
  TracedQueue(std::unique_ptr<backends::Queue> queue, trace::Row row, uint32_t device)
      : queue_(std::move(queue)), lane_(row), device_(device) {}

  Result<backends::CompletionPtr> launch(const backends::Launch& launch,
                                         backends::WaitList wait) override {
    return queue_->launch(launch, wait);
  }
  Result<backends::CompletionPtr> read(backends::Memory& from, uint64_t offset, uint64_t size,
                                       void* to, backends::Ordering ordering) override {
    return traced(Direction::kDownload, size,
                  [&] { return queue_->read(from, offset, size, to, ordering); });
  }
  Result<backends::CompletionPtr> write(backends::Memory& to, uint64_t offset, uint64_t size,
                                        const void* from, backends::Ordering ordering) override {
    return traced(Direction::kUpload, size,
                  [&] { return queue_->write(to, offset, size, from, ordering); });
  }
  Status write_blocking(backends::Memory& to, uint64_t offset, uint64_t size,
                        const void* from) override {
    return traced(Direction::kUpload, size,
                  [&] { return queue_->write_blocking(to, offset, size, from); });
  }
  Status read_blocking(backends::Memory& from, uint64_t offset, uint64_t size, void* to) override {
    return traced(Direction::kDownload, size,
                  [&] { return queue_->read_blocking(from, offset, size, to); });
  }
  Status write_rows(backends::Memory& to, const backends::BufferRows& rows,
                    const void* from) override {
    return traced(Direction::kUpload, rows.length * rows.count,
                  [&] { return queue_->write_rows(to, rows, from); });
  }
  Status read_rows(backends::Memory& from, const backends::BufferRows& rows, void* to) override {
    return traced(Direction::kDownload, rows.length * rows.count,
                  [&] { return queue_->read_rows(from, rows, to); });
  }
  Result<backends::CompletionPtr> copy(backends::Memory& from, uint64_t from_offset,
                                       backends::Memory& to, uint64_t to_offset, uint64_t size,
                                       backends::Ordering ordering) override {
    return traced(Direction::kOnDevice, size,
                  [&] { return queue_->copy(from, from_offset, to, to_offset, size, ordering); });
  }
  Result<backends::CompletionPtr> fill(backends::Memory& to, uint64_t offset, uint64_t size,
                                       std::span<const std::byte> pattern,
                                       backends::Ordering ordering) override {
    return queue_->fill(to, offset, size, pattern, ordering);
  }
  Result<backends::CompletionPtr> read_image(backends::Memory& from, const backends::ImageBox& box,
                                             void* to, size_t second_pitch, size_t third_pitch,
                                             backends::WaitList wait) override {
    return traced(Direction::kDownload, bytes_of(from, box), [&] {
      return queue_->read_image(from, box, to, second_pitch, third_pitch, wait);
    });
  }
  Result<backends::CompletionPtr> write_image(backends::Memory& to, const backends::ImageBox& box,
                                              const void* from, size_t second_pitch,
                                              size_t third_pitch,
                                              backends::WaitList wait) override {
    return traced(Direction::kUpload, bytes_of(to, box), [&] {
      return queue_->write_image(to, box, from, second_pitch, third_pitch, wait);
    });
  }
  Result<backends::CompletionPtr> copy_image(backends::Memory& from, const backends::ImageBox& box,
                                             backends::Memory& to,
                                             const std::array<size_t, 3>& origin,
                                             backends::WaitList wait) override {
    return queue_->copy_image(from, box, to, origin, wait);
  }
  Result<backends::CompletionPtr> fill_image(backends::Memory& to, const backends::ImageBox& box,
                                             std::span<const std::byte, 16> color,
                                             backends::WaitList wait) override {
    return queue_->fill_image(to, box, color, wait);
  }
  Status map_shared(backends::SharedMemory& memory, uint64_t offset, uint64_t size,
                    cl_map_flags flags) override {
    return queue_->map_shared(memory, offset, size, flags);
  }
  Status unmap_shared(backends::SharedMemory& memory, uint64_t offset) override {
    return queue_->unmap_shared(memory, offset);
  }
  Result<backends::CompletionPtr> mark(backends::WaitList wait, bool observed) override {
    return queue_->mark(wait, observed);
  }
  Status flush() override { return queue_->flush(); }
  Status finish() override { return queue_->finish(); }

 private:
  static uint64_t bytes_of(const backends::Memory& image, const backends::ImageBox& box) {
    return image.pixel_size() * box.extent[0] * box.extent[1] * box.extent[2];
  }

  template <typename Transfer>
  auto traced(Direction direction, uint64_t bytes, Transfer transfer) -> decltype(transfer()) {
    if (!trace::on()) return transfer();
    const uint64_t begin = now_ns();
    auto result = transfer();
    if constexpr (std::is_same_v<decltype(result), Result<backends::CompletionPtr>>) {
      // Whoever transfers on this queue waits next anyway.
      if (result) static_cast<void>((*result)->wait());
    }
    trace::Args args;
    args.add("device", device_).add("direction", direction_name(direction)).add("bytes", bytes);
    if (const TransferCause* cause = TransferCause::current()) cause->describe(args);
    lane_.slice("transfer", direction_name(direction), begin, now_ns(), args);
    return result;
  }

  const std::unique_ptr<backends::Queue> queue_;
  trace::Lane lane_;
  const uint32_t device_;
};

}  // namespace

const char* direction_name(Direction direction) {
  switch (direction) {
    case Direction::kUpload:
      return "to_device";
    case Direction::kDownload:
      return "to_host";
    case Direction::kOnDevice:
      break;
  }
  return "on_device";
}

uint32_t device_process(uint32_t backend, const backends::DeviceTraits& traits) {
  static std::array<std::atomic<bool>, kMostBackends> named{};
  const uint32_t process = trace::kDevices + backend;
  if (trace::on() && !named[backend].exchange(true, std::memory_order_relaxed)) {
    trace::name_process(process, fmt::format("device {}: {}", traits.index, traits.device_name));
    trace::name_row({process, kTransferRow}, "transfers");
    trace::note("tutti_device", trace::Args()
                                    .add("device", traits.index)
                                    .add("row", process)
                                    .add("name", traits.device_name)
                                    .add("platform", traits.platform_name)
                                    .add("shares_host_memory", traits.shares_host_memory));
  }
  return process;
}

std::unique_ptr<backends::Queue> traced_transfers(std::unique_ptr<backends::Queue> queue,
                                                  uint32_t backend,
                                                  const backends::DeviceTraits& traits,
                                                  TransferKind kind) {
  if (!trace::on()) return queue;
  const trace::Row row{device_process(backend, traits),
                       kind == TransferKind::kUsual ? kTransferRow : kEarlyReadRow};
  if (kind == TransferKind::kEarlyRead) trace::name_row(row, "early reads");
  return std::make_unique<TracedQueue>(std::move(queue), row, traits.index);
}

TransferCause::TransferCause(const char* why, uint64_t command, std::string_view kernel,
                             std::string_view argument) {
  if (!trace::on()) return;
  why_ = why;
  command_ = command;
  kernel_ = kernel;
  argument_ = argument;
  enter();
}

TransferCause::TransferCause(const TransferCause* other) {
  if (!other) return;
  why_ = other->why_;
  command_ = other->command_;
  kernel_ = other->kernel_;
  argument_ = other->argument_;
  enter();
}

void TransferCause::enter() {
  outer_ = current_cause;
  current_cause = this;
  entered_ = true;
}

TransferCause::~TransferCause() {
  if (entered_) current_cause = outer_;
}

const TransferCause* TransferCause::current() { return current_cause; }

void TransferCause::describe(trace::Args& args) const {
  args.add("why", why_);
  if (command_ != 0) args.add("command", command_);
  if (!kernel_.empty()) args.add("kernel", kernel_);
  if (!argument_.empty()) args.add("argument", argument_);
}

}  // namespace tutti::scheduler
