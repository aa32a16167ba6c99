// SPDX-License-Identifier: Apache-2.0
// Memory, programs and kernels of a device in a process of its own. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/process/remote.h"

namespace tutti::backends::process {

class RemoteMemory final : public Memory {
 public:
  RemoteMemory(Channel& channel, uint64_t number, uint64_t size, uint64_t pixel_size = 0)
      : remote_(ObjectKind::kMemory, channel, number), size_(size), pixel_size_(pixel_size) {}
  uint64_t size() const override { return size_; }
  uint64_t pixel_size() const override { return pixel_size_; }
  Remote& remote() { return remote_; }

 private:
  Remote remote_;
  const uint64_t size_, pixel_size_;
};
/// The number of memory of this kind of device.
inline Result<uint64_t> number_of(Memory& memory, Channel& channel) {
  return static_cast<RemoteMemory&>(memory).remote().in(channel);
}

/// Shared with all helpers, and pinned by the device where that has use of it.
class SharedPinnedMemory final : public PinnedMemory {
 public:
  SharedPinnedMemory(SharedRange range, uint64_t size, Channel& channel, uint64_t pinned)
      : range_(std::move(range)), size_(size), pinned_(ObjectKind::kPinned, channel, pinned) {}
  std::byte* data() const override { return range_.data(); }
  uint64_t size() const override { return size_; }

 private:
  const SharedRange range_;  // goes after what refers to it
  const uint64_t size_;
  Remote pinned_;
};

class RemoteObject final : public Object {
 public:
  explicit RemoteObject(RemotePtr remote) : remote_(std::move(remote)) {}
  const RemotePtr& remote() const { return remote_; }

 private:
  const RemotePtr remote_;
};

class RemoteKernel final : public Kernel {
 public:
  RemoteKernel(RemoteDevice& device, Remote::Make make, Channel& channel, uint64_t number,
               uint64_t arguments)
      : device_(device),
        remote_(ObjectKind::kKernel, channel, number, std::move(make)),
        arguments_(arguments) {}
  Result<std::vector<std::byte>> work_group_info(cl_kernel_work_group_info what) override;
  Result<std::vector<std::byte>> sub_group_info(cl_kernel_sub_group_info what,
                                                std::span<const size_t> input,
                                                size_t size) override;
  Result<std::vector<std::byte>> argument_info(uint32_t index, cl_kernel_arg_info what) override;
  size_t argument_count() override { return arguments_; }
  Remote& remote() { return remote_; }

 private:
  Result<std::vector<std::byte>> ask(KernelQuestion question, cl_uint what, uint32_t index,
                                     std::span<const size_t> input, uint64_t size);
  RemoteDevice& device_;
  Remote remote_;
  const uint64_t arguments_;
};

class RemoteModule final : public Module {
 public:
  RemoteModule(RemoteDevice& device, RemotePtr remote, std::string log)
      : device_(device), remote_(std::move(remote)), log_(std::move(log)) {}
  Result<std::unique_ptr<Kernel>> create_kernel(const std::string& name) override;
  const std::string& build_log() const override { return log_; }
  Result<std::vector<std::byte>> binary() override;
  Result<size_t> variable_bytes() override;

 private:
  Result<Channel::Answer> ask(const char* what, Op op);
  RemoteDevice& device_;
  const RemotePtr remote_;
  const std::string log_;
};

}  // namespace tutti::backends::process
