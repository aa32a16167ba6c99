// SPDX-License-Identifier: Apache-2.0
// A real device behind a vendor's OpenCL driver. It has one vendor context of its own, made at
// first use (a context over several devices is slow, docs/platform-notes.md), and another one where
// that was lost (Backend::renew). Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backends/opencl/device_queue.h"
#include "backends/opencl/opencl_objects.h"
#include "backends/opencl/opencl_queue.h"
#include "backends/opencl/vendor_builder.h"

namespace tutti::backends {

class OpenClBackend final : public Backend {
 public:
  /// `number` is distinct for each device of the process. Tries out what the device does, where
  /// that can be (device_trial.h). `part`: the device, where it is a vendor's sub-device that
  /// is given back in the end.
  OpenClBackend(const VendorDevice& device, DeviceTraits traits, uint32_t number,
                OwnedDevice part = {});
  /// What `whole` is, with a context that has these properties.
  OpenClBackend(const OpenClBackend& whole, ContextProperties properties, uint32_t number);
  /// The context is kept when the process is exiting.
  ~OpenClBackend() override;

  const DeviceTraits& traits() const override { return traits_; }
  Traffic traffic() const override { return traffic_.sums(); }
  Status renew() override;
  uint32_t renewals() const override { return device_.generation(); }
  Result<std::vector<std::byte>> device_info(cl_device_info what) const override;
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;
  Result<std::shared_ptr<DeviceQueue>> create_device_queue(
      const DeviceQueueOptions& options) override;
  Result<std::unique_ptr<Memory>> allocate(uint64_t size, void* host) override;
  Result<std::unique_ptr<PinnedMemory>> allocate_pinned(uint64_t size) override;
  Result<std::unique_ptr<PinnedMemory>> pin(std::byte* data, uint64_t size) override;
  Result<std::unique_ptr<SharedMemory>> allocate_shared(const SharedRequest& request) override;
  Result<std::unique_ptr<Memory>> memory_over(SharedMemory& shared) override;
  Result<ExternalMemory> import_memory(const ExternalRequest& request) override;
  Status hand_over(std::span<const std::shared_ptr<Memory>> memory, HandOver what,
                   ExternalKind kind) override;
  Result<std::unique_ptr<Backend>> in_context(const ContextProperties& properties,
                                              uint32_t number) override;
  Status change_context(const ContextProperties& properties) override;
  Result<bool> is_of_gl_context(const ContextProperties& properties, bool current) override;
  Result<std::unique_ptr<Semaphore>> create_semaphore(
      std::span<const cl_ulong> properties) override;
  Result<std::unique_ptr<Memory>> allocate_image(const ImageShape& shape) override;
  Result<std::unique_ptr<Memory>> image_over(Memory& buffer, uint64_t origin, uint64_t size,
                                             const ImageShape& shape) override;
  Result<std::unique_ptr<Memory>> allocate_pipe(const PipeShape& shape) override;
  Result<std::vector<cl_image_format>> image_formats(cl_mem_flags flags,
                                                     cl_mem_object_type type) override;
  BuildResult build(const std::string& source, const std::string& options) override;
  BuildResult build_il(const std::string& il, const std::string& options) override;
  BuildResult take_built_in(const std::string& names) override;
  std::optional<bool> build_is_kept(const std::string& source,
                                    const std::string& options) const override;
  BuildResult load(std::span<const std::byte> binary) override;
  Result<std::vector<std::unique_ptr<Backend>>> divide(std::span<const uint32_t> units,
                                                       uint32_t first_number) override;
  ObjectResult compile(const std::string& source, const std::string& options) override;
  ObjectResult compile_il(const std::string& il, const std::string& options) override;
  BuildResult link(std::span<Object* const> objects, const std::string& options) override;

 private:
  /// Completes quirks and traits by what the device does.
  void try_out();
  /// The present one: it lives as long as somebody has it, and what was made in it.
  struct Context {
    OwnedContext owned;
    uint32_t generation = 0;
    cl_context get() const { return owned.get(); }
  };
  using ContextPtr = std::shared_ptr<const Context>;
  Result<ContextPtr> context() TUTTI_EXCLUDES(mutex_);
  Result<ExternalMemory> import_gl(const ExternalRequest& request);
  /// Where memory of other interfaces is acquired and released, in the present context.
  Result<std::shared_ptr<OpenClQueue>> hand_over_queue() TUTTI_EXCLUDES(hand_over_mutex_);
  /// The default one of the present context, made at first use.
  Result<std::shared_ptr<DeviceQueue>> default_queue() TUTTI_EXCLUDES(default_queue_mutex_);
  ContextProperties with_platform(const ContextProperties& properties) const;
  Result<ContextPtr> make_context(uint32_t generation) TUTTI_REQUIRES(mutex_);
  Result<std::unique_ptr<OpenClQueue>> make_queue(QueueOptions options);
  Result<OpenClMemory::Made> make_buffer(uint64_t size, void* host);
  /// `buffer` may be null: an image of its own.
  Result<OpenClMemory::Made> make_image(OpenClMemory* buffer, uint64_t origin, uint64_t size,
                                        const ImageShape& shape);
  using Program = OpenClProgram::Made;
  Result<Program> create_program(const std::string& source);
  Result<Program> create_program(std::span<const std::byte> binary);
  Result<Program> create_il_program(const std::string& il);
  Result<Program> create_built_in_program(const std::string& names);
  std::string build_log(cl_program program);
  cl_int build_program(const Program& program, const std::string& options);
  /// Builds or compiles the program that `create` makes, now and in later contexts.
  ObjectResult compile_with(std::function<Result<Program>()> create, const std::string& options);
  BuildResult build_with(std::function<Result<Program>()> create, const std::string& options,
                         MakeAhead ahead = {});
  cl_int compile_program(const Program& program, const std::string& options);
  /// `log` gets the vendor's, of failures, too.
  Result<Program> link_program(std::span<const std::shared_ptr<OpenClProgram>> objects,
                               const std::string& options, std::string& log);
  /// Compilers are often initialised at the first use.
  void compiler_used();

  const OwnedDevice part_;  // first, so that it outlives the context
  VendorDevice device_;     // constant once constructed, as the traits
  DeviceTraits traits_;
  const uint32_t number_;
  VendorBuilder builder_;
  TrafficCount traffic_;
  Mutex mutex_;
  ContextPtr context_ TUTTI_GUARDED_BY(mutex_);
  Mutex default_queue_mutex_;  // outside of mutex_
  std::shared_ptr<OpenClDeviceQueue> default_queue_ TUTTI_GUARDED_BY(default_queue_mutex_);
  Mutex hand_over_mutex_;  // outside of mutex_
  std::shared_ptr<OpenClQueue> hand_over_queue_ TUTTI_GUARDED_BY(hand_over_mutex_);
  const bool shares_gl_ = false;  // made by in_context()
  // Of the contexts to come; where it shares with OpenGL and has none, there are none to come.
  ContextProperties properties_ TUTTI_GUARDED_BY(mutex_);
  std::string* context_name_ TUTTI_GUARDED_BY(mutex_) = nullptr;  // never freed
  std::atomic<bool> built_{false};
};

}  // namespace tutti::backends
