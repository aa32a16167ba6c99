// SPDX-License-Identifier: Apache-2.0
#include "backends/bounded/bounded_backend.h"

#include <utility>

#include "backends/bounded/bounded_objects.h"
#include "base/keep_forever.h"

namespace tutti::backends {
namespace {

using namespace bounded;

class BoundedBackend final : public Backend {
 public:
  BoundedBackend(BoundedCalls& calls, std::shared_ptr<Backend> device, uint64_t builds_ns)
      : calls_(calls), device_(std::move(device)), builds_ns_(builds_ns) {}
  ~BoundedBackend() override { calls_.drop(std::move(device_)); }
  BoundedBackend(const BoundedBackend&) = delete;
  BoundedBackend& operator=(const BoundedBackend&) = delete;

  const DeviceTraits& traits() const override { return device_->traits(); }
  Traffic traffic() const override { return device_->traffic(); }
  bool hangs() const override { return calls_.hangs(); }
  uint32_t renewals() const override { return device_->renewals(); }
  Status renew() override {
    return calls_.run("making a context", [device = device_] { return device->renew(); });
  }
  Result<std::vector<std::byte>> device_info(cl_device_info what) const override {
    return device_->device_info(what);
  }
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override {
    TUTTI_ASSIGN(auto made, calls_.run("making a queue", [device = device_, options] {
      return device->create_queue(options);
    }));
    return std::make_unique<BoundedQueue>(calls_, std::move(made));
  }
  Result<std::shared_ptr<DeviceQueue>> create_device_queue(
      const DeviceQueueOptions& options) override {
    TUTTI_ASSIGN(auto made, calls_.run("making a queue", [device = device_, options] {
      return device->create_device_queue(options);
    }));
    return std::make_shared<BoundedDeviceQueue>(calls_, std::move(made));
  }
  Result<std::unique_ptr<Memory>> allocate(uint64_t size, void* host) override {
    return memory([device = device_, size, host] { return device->allocate(size, host); });
  }
  Result<std::unique_ptr<PinnedMemory>> allocate_pinned(uint64_t size) override {
    TUTTI_ASSIGN(auto made, calls_.run("allocating", [device = device_, size] {
      return device->allocate_pinned(size);
    }));
    return std::make_unique<BoundedPinnedMemory>(calls_, std::move(made));
  }
  Result<std::unique_ptr<SharedMemory>> allocate_shared(const SharedRequest& request) override {
    TUTTI_ASSIGN(auto made, calls_.run("allocating", [device = device_, request] {
      return device->allocate_shared(request);
    }));
    return std::make_unique<BoundedSharedMemory>(calls_, std::move(made));
  }
  Result<std::unique_ptr<Memory>> memory_over(SharedMemory& shared) override {
    return memory([device = device_, under = own(shared)] { return device->memory_over(*under); });
  }
  Result<ExternalMemory> import_memory(const ExternalRequest& request) override {
    // What concerns OpenGL is done in the calling thread, here and below: vendors may ask which
    // context of it that has.
    auto made = request.gl ? device_->import_memory(request)
                           : calls_.run("importing memory", [device = device_, request] {
                               return device->import_memory(request);
                             });
    if (made) made->memory = std::make_unique<BoundedMemory>(calls_, std::move(made->memory));
    return made;
  }
  Status hand_over(std::span<const std::shared_ptr<Memory>> list, HandOver what,
                   ExternalKind kind) override {
    std::vector<std::shared_ptr<Memory>> owned;
    for (const auto& one : list) owned.push_back(own(*one));
    if (kind == ExternalKind::kGl) return device_->hand_over(owned, what, kind);
    return calls_.run("handing memory over",
                      [device = device_, owned = std::move(owned), what, kind] {
                        return device->hand_over(owned, what, kind);
                      });
  }
  Result<std::unique_ptr<Backend>> in_context(const ContextProperties& properties,
                                              uint32_t number) override {
    TUTTI_ASSIGN(auto made, device_->in_context(properties, number));
    return std::make_unique<BoundedBackend>(calls_, std::shared_ptr<Backend>(std::move(made)),
                                            builds_ns_);
  }
  Status change_context(const ContextProperties& properties) override {
    return device_->change_context(properties);
  }
  Result<bool> is_of_gl_context(const ContextProperties& properties, bool current) override {
    return device_->is_of_gl_context(properties, current);
  }
  Result<std::unique_ptr<Semaphore>> create_semaphore(
      std::span<const cl_ulong> properties) override {
    TUTTI_ASSIGN(auto made,
                 calls_.run("making a semaphore",
                            [device = device_,
                             own = std::vector<cl_ulong>(properties.begin(), properties.end())] {
                              return device->create_semaphore(own);
                            }));
    return std::make_unique<BoundedSemaphore>(calls_, std::move(made));
  }
  Result<std::unique_ptr<Memory>> allocate_image(const ImageShape& shape) override {
    return memory([device = device_, shape] { return device->allocate_image(shape); });
  }
  Result<std::unique_ptr<Memory>> image_over(Memory& buffer, uint64_t origin, uint64_t size,
                                             const ImageShape& shape) override {
    return memory([device = device_, under = own(buffer), origin, size, shape] {
      return device->image_over(*under, origin, size, shape);
    });
  }
  Result<std::unique_ptr<Memory>> allocate_pipe(const PipeShape& shape) override {
    return memory([device = device_, shape] { return device->allocate_pipe(shape); });
  }
  Result<std::vector<cl_image_format>> image_formats(cl_mem_flags flags,
                                                     cl_mem_object_type type) override {
    return device_->image_formats(flags, type);
  }
  BuildResult build(const std::string& source, const std::string& options) override {
    return built(in_time<BuildResult>(
        [device = device_, source, options] { return device->build(source, options); }));
  }
  BuildResult build_il(const std::string& il, const std::string& options) override {
    return built(in_time<BuildResult>(
        [device = device_, il, options] { return device->build_il(il, options); }));
  }
  BuildResult take_built_in(const std::string& names) override {
    return built(
        in_time<BuildResult>([device = device_, names] { return device->take_built_in(names); }));
  }
  std::optional<bool> build_is_kept(const std::string& source,
                                    const std::string& options) const override {
    return device_->build_is_kept(source, options);
  }
  BuildResult load(std::span<const std::byte> binary) override {
    return built(in_time<BuildResult>(
        [device = device_, kept = std::vector<std::byte>(binary.begin(), binary.end())] {
          return device->load(kept);
        }));
  }
  Result<std::vector<std::unique_ptr<Backend>>> divide(std::span<const uint32_t> units,
                                                       uint32_t first_number) override {
    TUTTI_ASSIGN(auto parts, device_->divide(units, first_number));
    // They are the same device, which hangs as a whole.
    for (auto& part : parts) {
      part = std::make_unique<BoundedBackend>(calls_, std::shared_ptr<Backend>(std::move(part)),
                                              builds_ns_);
    }
    return parts;
  }
  ObjectResult compile(const std::string& source, const std::string& options) override {
    return in_time<ObjectResult>(
        [device = device_, source, options] { return device->compile(source, options); });
  }
  ObjectResult compile_il(const std::string& il, const std::string& options) override {
    return in_time<ObjectResult>(
        [device = device_, il, options] { return device->compile_il(il, options); });
  }
  BuildResult link(std::span<Object* const> objects, const std::string& options) override {
    return built(device_->link(objects, options));
  }

 private:
  template <typename Call>
  Result<std::unique_ptr<Memory>> memory(Call call) {
    TUTTI_ASSIGN(auto made, calls_.run("allocating", std::move(call)));
    return std::make_unique<BoundedMemory>(calls_, std::move(made));
  }
  template <typename Made, typename Call>
  Made in_time(Call call) {
    if (builds_ns_ == 0) return call();
    auto made = calls_.run(
        "building a program", [call = std::move(call)]() -> Result<Made> { return call(); },
        builds_ns_);
    if (made) return *std::move(made);
    return {nullptr, made.error().code, made.error().message};
  }
  BuildResult built(BuildResult result) {
    if (result.module) {
      result.module = std::make_unique<BoundedModule>(calls_, std::move(result.module));
    }
    return result;
  }

  BoundedCalls& calls_;
  std::shared_ptr<Backend> device_;
  const uint64_t builds_ns_;
};

}  // namespace

Result<std::unique_ptr<Backend>> with_deadline(const std::string& name, const Deadlines& deadlines,
                                               std::function<std::unique_ptr<Backend>()> make) {
  BoundedCalls& calls = *keep_forever(std::make_unique<BoundedCalls>(name, deadlines.calls));
  TUTTI_ASSIGN(
      auto device,
      calls.run("trying it out",
                [make = std::move(make)]() -> Result<std::unique_ptr<Backend>> { return make(); }));
  return std::make_unique<BoundedBackend>(calls, std::move(device), deadlines.builds);
}

}  // namespace tutti::backends
