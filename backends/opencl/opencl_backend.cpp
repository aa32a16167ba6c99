// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/opencl_backend.h"

#include "backends/opencl/device_traits.h"
#include "backends/opencl/device_trial.h"
#include "backends/opencl/opencl_queue.h"
#include "backends/opencl/pinned_memory.h"
#include "backends/opencl/quirks.h"
#include "backends/opencl/renewed_queue.h"
#include "backends/opencl/shared_memory.h"
#include "base/calling_threads.h"
#include "base/cl_error_name.h"
#include "base/keep_forever.h"
#include "base/log.h"
#include "base/process_exit.h"

namespace tutti::backends {
namespace {

/// What drivers tell beside their codes: NVIDIA's why a context was lost, for example.
void CL_CALLBACK note_context_error(const char* text, const void*, size_t, void* name) {
  // Oclgrind 21.10 gives no user data back.
  log(LogLevel::kInfo, "{}: {}",
      name != nullptr ? *static_cast<const std::string*>(name) : "a vendor",
      text != nullptr ? text : "an error without words");
}

/// In place of a release, of what another object owns.
cl_int CL_API_CALL keep(cl_mem) { return CL_SUCCESS; }

VendorDevice with_counters(VendorDevice device, const DeviceTraits& traits) {
  device.renewals = std::make_shared<std::atomic<uint32_t>>(0);  // the backend's own
  device.live = live::device({traits.index, static_cast<uint32_t>(traits.type), traits.device_name,
                              traits.platform_name, traits.vendor, traits.pci_address});
  return device;
}

}  // namespace

OpenClBackend::OpenClBackend(const VendorDevice& device, DeviceTraits traits, uint32_t number,
                             OwnedDevice part)
    : part_(std::move(part)),
      device_(with_counters(device, traits)),
      traits_(std::move(traits)),
      number_(number),
      builder_(device_, traits_) {
  try_out();
  traits_.markers = device_.cl->clEnqueueMarkerWithWaitList != nullptr;
  // Who waited for a semaphore would hold up who signals it.
  traits_.semaphores = traits_.semaphores && !device_.quirks.one_at_a_time;
  traits_.pins_host_memory = (traits_.type & CL_DEVICE_TYPE_GPU) != 0;
  log(LogLevel::kDebug, "{}: {} units, host memory {}", device_.name, traits_.compute_units,
      traits_.shares_host_memory ? "shared" : "apart");
}

void OpenClBackend::try_out() {
  const bool native = !device_.quirks.synchronous && runs_native_kernels(device_);
  // Only CPU devices: an integrated GPU may pass the trial and still read through a cache.
  const bool host = traits_.type == CL_DEVICE_TYPE_CPU;
  if (native || host) {
    const auto made = context();
    if (native) {
      // What cannot be tried is taken for what is safe.
      const auto known = made ? runs_in_enqueuing_thread(device_, (*made)->get()) : std::nullopt;
      device_.quirks = quirks_of(traits_, known);
      describe_quirks(device_.quirks, traits_);
    }
    if (made) traits_.shares_host_memory = host && shares_host_memory(device_, (*made)->get());
  }
  if (device_.quirks.one_at_a_time) device_.enqueuing = std::make_shared<FairMutex>();
  if (device_.quirks.traps_divisions) guard_divisions();
}

OpenClBackend::~OpenClBackend() = default;

Result<OpenClBackend::ContextPtr> OpenClBackend::context() {
  if (vendors_gone()) return device_.gone("clCreateContext");
  // Held over the vendor's call: there must be one context, and this is the device's first use.
  MutexLock lock(mutex_);
  if (!context_) {
    TUTTI_ASSIGN(context_, make_context(device_.generation()));
  }
  return context_;
}

Result<OpenClBackend::ContextPtr> OpenClBackend::make_context(uint32_t generation) {
  if (shares_gl_ && properties_.empty()) return device_.of_lost_context("clCreateContext");
  const ContextProperties properties = with_platform(properties_);
  cl_int code = CL_SUCCESS;
  const ExitHold hold;
  if (vendors_gone()) return device_.gone("clCreateContext");
  const ApplicationSignals signals;
  const DivisionHandlerHold divisions(device_.quirks.handles_crashes);
  // The name stays: a driver may call from a thread of its own.
  if (!context_name_) context_name_ = keep_forever(std::make_unique<std::string>(device_.name));
  OwnedContext made(device_.cl->clCreateContext(properties.data(), 1, &device_.device,
                                                &note_context_error, context_name_, &code),
                    device_.cl->clReleaseContext);
  if (code != CL_SUCCESS || !made.get()) {
    return device_.failure("clCreateContext", code ? code : CL_OUT_OF_RESOURCES);
  }
  watch_process_exit();
  return std::make_shared<const Context>(Context{std::move(made), generation});
}

Status OpenClBackend::renew() {
  ContextPtr before;  // let go of last, with no lock held
  MutexLock lock(mutex_);
  const uint32_t generation = device_.generation() + 1;
  TUTTI_ASSIGN(ContextPtr made, make_context(generation));
  before = std::exchange(context_, std::move(made));
  device_.renewals->store(generation, std::memory_order_release);
  lock.unlock();
  // Kernels that are built already may want it.
  MutexLock of_queue(default_queue_mutex_);
  const bool there = default_queue_ != nullptr;
  of_queue.unlock();
  if (there) TUTTI_TRY(default_queue().map([](const auto&) {}));
  return {};
}

Result<std::vector<std::byte>> OpenClBackend::device_info(cl_device_info what) const {
  if (vendors_gone()) return device_.gone("clGetDeviceInfo");
  auto info = query_bytes("clGetDeviceInfo", [&](size_t size, void* value, size_t* size_ret) {
    return device_.cl->clGetDeviceInfo(device_.device, what, size, value, size_ret);
  });
  if (!info) return device_.failure("clGetDeviceInfo", info.error().code);
  return info;
}

Result<std::unique_ptr<OpenClQueue>> OpenClBackend::make_queue(QueueOptions options) {
  TUTTI_ASSIGN(const ContextPtr made, context());
  cl_command_queue_properties properties = 0;
  if (options.profiling) properties |= CL_QUEUE_PROFILING_ENABLE;
  QueueHints hints;
  if (has_feature(traits_, kPriorityHints)) hints.priority = options.hints.priority;
  if (has_feature(traits_, kThrottleHints)) hints.throttle = options.hints.throttle;
  auto queue = create_vendor_queue(*device_.cl, made->get(), device_.device, properties, hints);
  if (!queue) return device_.failure(queue.error().message.c_str(), queue.error().code);
  return std::make_unique<OpenClQueue>(
      device_, OwnedQueue(*queue, device_.cl->clReleaseCommandQueue), made->generation, traffic_);
}

Result<std::unique_ptr<Queue>> OpenClBackend::create_queue(QueueOptions options) {
  TUTTI_ASSIGN(auto first, make_queue(options));
  return std::make_unique<RenewedQueue>(device_, std::move(first),
                                        [this, options] { return make_queue(options); });
}

Result<std::shared_ptr<DeviceQueue>> OpenClBackend::default_queue() {
  // Held over the vendor's call: there must be one, and this is its first use.
  const MutexLock lock(default_queue_mutex_);
  if (!default_queue_ || !default_queue_->handle()) {
    TUTTI_ASSIGN(const ContextPtr made, context());
    DeviceQueueOptions options{.size = 0, .profiling = true, .as_default = true};
    cl_uint most = 0;
    const cl_int code = device_.cl->clGetDeviceInfo(
        device_.device, CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE, sizeof most, &most, nullptr);
    if (code == CL_SUCCESS) options.size = most;
    TUTTI_ASSIGN(default_queue_,
                 OpenClDeviceQueue::create(device_, made->get(), made->generation, options));
  }
  return default_queue_;
}

Result<std::shared_ptr<DeviceQueue>> OpenClBackend::create_device_queue(
    const DeviceQueueOptions& options) {
  if (options.as_default) return default_queue();
  TUTTI_ASSIGN(const ContextPtr made, context());
  return OpenClDeviceQueue::create(device_, made->get(), made->generation, options);
}

Result<OpenClMemory::Made> OpenClBackend::make_buffer(uint64_t size, void* host) {
  TUTTI_ASSIGN(const ContextPtr made, context());
  cl_int code = CL_SUCCESS;
  OwnedMemory memory(
      device_.cl->clCreateBuffer(made->get(), CL_MEM_READ_WRITE | (host ? CL_MEM_USE_HOST_PTR : 0),
                                 size, host, &code),
      device_.cl->clReleaseMemObject);
  if (code != CL_SUCCESS || !memory.get()) {
    return device_.failure("clCreateBuffer", code ? code : CL_OUT_OF_RESOURCES);
  }
  return OpenClMemory::Made{std::move(memory), made->generation};
}

Result<std::unique_ptr<Memory>> OpenClBackend::allocate(uint64_t size, void* host) {
  if (host && !traits_.shares_host_memory) {
    return device_.failure("clCreateBuffer on host memory", CL_INVALID_HOST_PTR);
  }
  // Who makes it anew has the turn.
  std::function<Result<OpenClMemory::Made>()> again;
  if (host) again = [this, size, host] { return make_buffer(size, host); };
  auto turn = device_.turn();
  TUTTI_ASSIGN(auto made, make_buffer(size, host));
  turn.unlock();
  return std::make_unique<OpenClMemory>(device_, std::move(made), OpenClMemory::Shape{size},
                                        std::move(again));
}

Result<std::unique_ptr<PinnedMemory>> OpenClBackend::allocate_pinned(uint64_t size) {
  if (!traits_.pins_host_memory) return Backend::allocate_pinned(size);
  TUTTI_ASSIGN(HostPages pages, HostPages::allocate(size));
  pages.touch();
  TUTTI_ASSIGN(auto made, pin(pages.data(), size));
  return std::make_unique<PinnedPages>(std::move(pages), std::move(made));
}

Result<std::unique_ptr<PinnedMemory>> OpenClBackend::pin(std::byte* data, uint64_t size) {
  if (!traits_.pins_host_memory || !device_.cl->clEnqueueMapBuffer ||
      !device_.cl->clEnqueueUnmapMemObject) {
    return Backend::pin(data, size);
  }
  TUTTI_ASSIGN(const ContextPtr made, context());
  return OpenClPinnedMemory::create(device_, made->get(), data, size);
}

Result<std::unique_ptr<SharedMemory>> OpenClBackend::allocate_shared(const SharedRequest& request) {
  const bool buffer = request.kind == SharedKind::kBuffer;
  const bool offered = buffer                     ? traits_.buffer_addresses
                       : is_unified(request.kind) ? traits_.unified.any()
                                                  : traits_.svm != 0;
  if (!offered) return Backend::allocate_shared(request);
  TUTTI_ASSIGN(const ContextPtr made, context());
  // Where the device computes in the host's memory its own memory is taken for that, too.
  const bool seen = request.kind != SharedKind::kDevice || traits_.shares_host_memory;
  if (!buffer && !shared_memory_is_buffers(device_, made->get(), request.kind, seen)) {
    return fail(CL_INVALID_OPERATION,
                device_.name + ": buffers over its shared memory are none of it");
  }
  return OpenClSharedMemory::create(device_, made, made->get(), made->generation, request);
}

Result<std::unique_ptr<Memory>> OpenClBackend::memory_over(SharedMemory& shared) {
  const auto& memory = static_cast<OpenClSharedMemory&>(shared);
  const auto make = [this, size = memory.size(), data = memory.data()] {
    return make_buffer(size, data);
  };
  // The address stays what it is when the context is lost, but only memory that is the host's keeps
  // what is there.
  std::function<Result<OpenClMemory::Made>()> again;
  if (traits_.shares_host_memory) again = make;
  OpenClMemory::Made made;
  if (memory.buffer()) {
    again = nullptr;
    made = {OwnedMemory(memory.buffer(), &keep), memory.generation()};
  } else {
    auto turn = device_.turn();
    TUTTI_ASSIGN(made, make());
    turn.unlock();
  }
  const OpenClMemory::Shape shape{memory.size(), CL_MEM_OBJECT_BUFFER, 0,
                                  memory.data(), memory.generation(),  memory.kind()};
  return std::make_unique<OpenClMemory>(device_, std::move(made), shape, std::move(again));
}

cl_image_desc description_of(const ImageShape& shape) {
  cl_image_desc description{};
  description.image_type = shape.type;
  description.image_width = shape.extent[0];
  switch (shape.type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
      description.image_array_size = shape.extent[1];
      break;
    case CL_MEM_OBJECT_IMAGE2D:
      description.image_height = shape.extent[1];
      break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
      description.image_height = shape.extent[1];
      description.image_array_size = shape.extent[2];
      break;
    case CL_MEM_OBJECT_IMAGE3D:
      description.image_height = shape.extent[1];
      description.image_depth = shape.extent[2];
      break;
    default:
      break;
  }
  return description;
}

Result<OpenClMemory::Made> OpenClBackend::make_image(OpenClMemory* buffer, uint64_t origin,
                                                     uint64_t size, const ImageShape& shape) {
  if (!device_.cl->clCreateImage) return device_.failure("clCreateImage", CL_INVALID_OPERATION);
  TUTTI_ASSIGN(const ContextPtr made, context());
  cl_image_desc description = description_of(shape);
  if (buffer) {
    TUTTI_ASSIGN(const auto view, buffer->view(origin, size));
    description.mem_object = view.handle;
    if (shape.type == CL_MEM_OBJECT_IMAGE2D) description.image_row_pitch = shape.row_pitch;
  }
  cl_int code = CL_SUCCESS;
  OwnedMemory memory(device_.cl->clCreateImage(made->get(), shape.access, &shape.format,
                                               &description, nullptr, &code),
                     device_.cl->clReleaseMemObject);
  if (code != CL_SUCCESS || !memory.get()) {
    return device_.failure("clCreateImage", code ? code : CL_OUT_OF_RESOURCES);
  }
  return OpenClMemory::Made{std::move(memory), made->generation};
}

Result<std::unique_ptr<Memory>> OpenClBackend::allocate_image(const ImageShape& shape) {
  TUTTI_ASSIGN(auto made, make_image(nullptr, 0, 0, shape));
  return std::make_unique<OpenClMemory>(
      device_, std::move(made), OpenClMemory::Shape{shape.span(), shape.type, shape.pixel_size},
      nullptr);
}

Result<std::unique_ptr<Memory>> OpenClBackend::image_over(Memory& buffer, uint64_t origin,
                                                          uint64_t size, const ImageShape& shape) {
  auto& under = static_cast<OpenClMemory&>(buffer);  // which outlives the image
  const auto make = [this, &under, origin, size, shape] {
    return make_image(&under, origin, size, shape);
  };
  TUTTI_ASSIGN(auto made, make());
  std::function<Result<OpenClMemory::Made>()> again;
  if (under.can_be_renewed()) again = make;
  return std::make_unique<OpenClMemory>(
      device_, std::move(made), OpenClMemory::Shape{shape.span(), shape.type, shape.pixel_size},
      std::move(again));
}

Result<std::unique_ptr<Memory>> OpenClBackend::allocate_pipe(const PipeShape& shape) {
  if (!device_.cl->clCreatePipe) return Backend::allocate_pipe(shape);
  TUTTI_ASSIGN(const ContextPtr made, context());
  cl_int code = CL_SUCCESS;
  // "CL_MEM_READ_WRITE and CL_MEM_HOST_NO_ACCESS are the only valid flags", and the default.
  OwnedMemory memory(device_.cl->clCreatePipe(made->get(), 0, shape.packet_size, shape.max_packets,
                                              nullptr, &code),
                     device_.cl->clReleaseMemObject);
  if (code != CL_SUCCESS || !memory.get()) {
    return device_.failure("clCreatePipe", code ? code : CL_OUT_OF_RESOURCES);
  }
  return std::make_unique<OpenClMemory>(
      device_, OpenClMemory::Made{std::move(memory), made->generation},
      OpenClMemory::Shape{shape.span(), CL_MEM_OBJECT_PIPE}, nullptr);
}

Result<std::vector<cl_image_format>> OpenClBackend::image_formats(cl_mem_flags flags,
                                                                  cl_mem_object_type type) {
  if (!device_.cl->clGetSupportedImageFormats) return std::vector<cl_image_format>{};
  TUTTI_ASSIGN(const ContextPtr present, context());
  const cl_context made = present->get();
  cl_uint count = 0;
  cl_int code = device_.cl->clGetSupportedImageFormats(made, flags, type, 0, nullptr, &count);
  std::vector<cl_image_format> formats(code == CL_SUCCESS ? count : 0);
  if (code == CL_SUCCESS && count > 0) {
    code =
        device_.cl->clGetSupportedImageFormats(made, flags, type, count, formats.data(), nullptr);
  }
  if (code != CL_SUCCESS) return device_.failure("clGetSupportedImageFormats", code);
  return formats;
}

Result<std::vector<std::unique_ptr<Backend>>> OpenClBackend::divide(std::span<const uint32_t> units,
                                                                    uint32_t first_number) {
  const VendorFunctions& cl = *device_.cl;
  if (vendors_gone()) return device_.gone("clCreateSubDevices");
  if (!cl.clCreateSubDevices || traits_.max_parts < 2) {
    return device_.failure("clCreateSubDevices", CL_DEVICE_PARTITION_FAILED);
  }
  std::vector<cl_device_partition_property> properties{CL_DEVICE_PARTITION_BY_COUNTS};
  properties.insert(properties.end(), units.begin(), units.end());
  properties.insert(properties.end(), {CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0});
  std::vector<cl_device_id> devices(units.size());
  cl_uint count = 0;
  const cl_int code =
      cl.clCreateSubDevices(device_.device, properties.data(), static_cast<cl_uint>(units.size()),
                            devices.data(), &count);
  if (code != CL_SUCCESS) return device_.failure("clCreateSubDevices", code);
  std::vector<OwnedDevice> owned;
  for (cl_uint i = 0; i < count && i < units.size(); ++i) {
    if (cl.clReleaseDevice) owned.emplace_back(devices[i], cl.clReleaseDevice);
  }
  if (count != units.size()) {
    return device_.failure("clCreateSubDevices", CL_DEVICE_PARTITION_FAILED);
  }
  std::vector<std::unique_ptr<Backend>> parts;
  for (uint32_t i = 0; i < count; ++i) {
    TUTTI_ASSIGN(DeviceTraits traits, read_traits(cl, device_.platform, devices[i]));
    traits.index = traits_.index;
    VendorDevice part{&cl, device_.platform, devices[i], device_.name, quirks_of(traits)};
    parts.push_back(
        std::make_unique<OpenClBackend>(part, std::move(traits), first_number + i,
                                        cl.clReleaseDevice ? std::move(owned[i]) : OwnedDevice()));
  }
  return parts;
}

}  // namespace tutti::backends
