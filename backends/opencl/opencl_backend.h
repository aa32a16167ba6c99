// SPDX-License-Identifier: Apache-2.0
// A real device behind a vendor's OpenCL driver. It has one vendor context of its own, made at
// first use (a context over several devices is slow, docs/platform-notes.md). Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "backends/opencl/opencl_objects.h"
#include "backends/opencl/vendor_builder.h"

namespace tutti::backends {

class OpenClBackend final : public Backend {
 public:
  /// `number` is distinct for each device of the process. Tries out what the device does, where
  /// that can be (device_trial.h). `part`: the device, where it is a vendor's sub-device that
  /// is given back in the end.
  OpenClBackend(const VendorDevice& device, DeviceTraits traits, uint32_t number,
                OwnedDevice part = {});
  /// The context is kept when the process is exiting.
  ~OpenClBackend() override;

  const DeviceTraits& traits() const override { return traits_; }
  Traffic traffic() const override { return traffic_.sums(); }
  Result<std::vector<std::byte>> device_info(cl_device_info what) const override;
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;
  Result<std::unique_ptr<Memory>> allocate(uint64_t size, void* host) override;
  Result<std::unique_ptr<PinnedMemory>> allocate_pinned(uint64_t size) override;
  Result<std::unique_ptr<Memory>> allocate_image(const ImageShape& shape) override;
  Result<std::unique_ptr<Memory>> image_over(Memory& buffer, uint64_t origin, uint64_t size,
                                             const ImageShape& shape) override;
  Result<std::vector<cl_image_format>> image_formats(cl_mem_flags flags,
                                                     cl_mem_object_type type) override;
  BuildResult build(const std::string& source, const std::string& options) override;
  BuildResult load(std::span<const std::byte> binary) override;
  Result<std::vector<std::unique_ptr<Backend>>> divide(std::span<const uint32_t> units,
                                                       uint32_t first_number) override;
  ObjectResult compile(const std::string& source, const std::string& options) override;
  BuildResult link(std::span<Object* const> objects, const std::string& options) override;

 private:
  /// Completes quirks and traits by what the device does.
  void try_out();
  Result<cl_context> context();
  /// `buffer` may be null: an image of its own.
  Result<std::unique_ptr<Memory>> create_image(cl_mem buffer, const ImageShape& shape);
  Result<OwnedProgram> create_program(const std::string& source);
  std::string build_log(cl_program program);
  BuildResult build_program(OwnedProgram program, const std::string& options);
  /// Compilers are often initialised at the first use.
  void compiler_used();

  const OwnedDevice part_;  // first, so that it outlives the context
  VendorDevice device_;     // constant once constructed, as the traits
  DeviceTraits traits_;
  const uint32_t number_;
  VendorBuilder builder_;
  TrafficCount traffic_;
  Mutex mutex_;
  std::atomic<cl_context> context_{nullptr};                      // written under mutex_, once
  std::string* context_name_ TUTTI_GUARDED_BY(mutex_) = nullptr;  // never freed
  std::atomic<bool> built_{false};
};

}  // namespace tutti::backends
