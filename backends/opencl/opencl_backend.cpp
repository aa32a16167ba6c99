// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/opencl_backend.h"

#include "backends/opencl/device_traits.h"
#include "backends/opencl/device_trial.h"
#include "backends/opencl/first_launches.h"
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
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(device_.platform), 0};
  cl_int code = CL_SUCCESS;
  const ExitHold hold;
  if (vendors_gone()) return device_.gone("clCreateContext");
  const ApplicationSignals signals;
  // The name stays: a driver may call from a thread of its own.
  if (!context_name_) context_name_ = keep_forever(std::make_unique<std::string>(device_.name));
  OwnedContext made(device_.cl->clCreateContext(properties, 1, &device_.device, &note_context_error,
                                                context_name_, &code),
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
  if (!traits_.pins_host_memory || !device_.cl->clEnqueueMapBuffer ||
      !device_.cl->clEnqueueUnmapMemObject) {
    return Backend::allocate_pinned(size);
  }
  TUTTI_ASSIGN(const ContextPtr made, context());
  return OpenClPinnedMemory::create(device_, made->get(), size);
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

Result<OpenClProgram::Made> OpenClBackend::create_program(const std::string& source) {
  TUTTI_ASSIGN(const ContextPtr made, context());
  const char* text = source.data();
  const size_t length = source.size();
  cl_int code = CL_SUCCESS;
  OwnedProgram program(device_.cl->clCreateProgramWithSource(made->get(), 1, &text, &length, &code),
                       device_.cl->clReleaseProgram);
  if (code != CL_SUCCESS || !program.get()) {
    return device_.failure("clCreateProgramWithSource", code ? code : CL_OUT_OF_RESOURCES);
  }
  return Program{std::move(program), made->generation};
}

Result<OpenClProgram::Made> OpenClBackend::create_program(std::span<const std::byte> binary) {
  TUTTI_ASSIGN(const ContextPtr made, context());
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const size_t size = binary.size();
  cl_int status = CL_SUCCESS, code = CL_SUCCESS;
  OwnedProgram program(device_.cl->clCreateProgramWithBinary(made->get(), 1, &device_.device, &size,
                                                             &bytes, &status, &code),
                       device_.cl->clReleaseProgram);
  if (code == CL_SUCCESS) code = status;
  if (code != CL_SUCCESS || !program.get()) {
    return device_.failure("clCreateProgramWithBinary", code ? code : CL_INVALID_BINARY);
  }
  return Program{std::move(program), made->generation};
}

Result<OpenClProgram::Made> OpenClBackend::create_il_program(const std::string& il) {
  TUTTI_ASSIGN(const ContextPtr made, context());
  cl_int code = CL_SUCCESS;
  OwnedProgram program(device_.cl->clCreateProgramWithIL(made->get(), il.data(), il.size(), &code),
                       device_.cl->clReleaseProgram);
  if (code != CL_SUCCESS || !program.get()) {
    return device_.failure("clCreateProgramWithIL", code ? code : CL_OUT_OF_RESOURCES);
  }
  return Program{std::move(program), made->generation};
}

std::string OpenClBackend::build_log(cl_program program) {
  auto log = query_bytes("clGetProgramBuildInfo", [&](size_t size, void* value, size_t* size_ret) {
    return device_.cl->clGetProgramBuildInfo(program, device_.device, CL_PROGRAM_BUILD_LOG, size,
                                             value, size_ret);
  });
  if (!log) {
    device_.note("clGetProgramBuildInfo(CL_PROGRAM_BUILD_LOG)", log.error().code);
    return {};
  }
  return text_of(*log);
}

void OpenClBackend::compiler_used() {
  if (!built_.exchange(true, std::memory_order_relaxed)) watch_process_exit();
}

cl_int OpenClBackend::build_program(const Program& program, const std::string& options) {
  const ExitHold hold;
  const cl_int code = device_.cl->clBuildProgram(program.program.get(), 1, &device_.device,
                                                 options.c_str(), nullptr, nullptr);
  compiler_used();
  return code;
}

BuildResult OpenClBackend::build_with(std::function<Result<Program>()> create,
                                      const std::string& options, MakeAhead ahead) {
  auto program = create();
  if (!program) return {nullptr, program.error().code, program.error().message};
  const cl_int code = build_program(*program, options);
  std::string log = build_log(program->program.get());
  if (code != CL_SUCCESS) {
    return device_.build_failure<BuildResult>("clBuildProgram", code, std::move(log));
  }
  const auto again = [this, create = std::move(create), options]() -> Result<Program> {
    TUTTI_ASSIGN(Program made, create());
    const cl_int failed = build_program(made, options);
    if (failed != CL_SUCCESS) return device_.failure("clBuildProgram", failed);
    return made;
  };
  auto module = std::make_unique<OpenClModule>(
      device_, std::make_shared<OpenClProgram>(device_, std::move(*program), again), log,
      std::move(ahead));
  return {std::move(module), CL_SUCCESS, std::move(log)};
}

BuildResult OpenClBackend::build(const std::string& source, const std::string& options) {
  const std::string all_options = vendor_build_options(device_.quirks, options, number_);
  if (const Status ahead = builder_.build_ahead(source, all_options); !ahead) {
    return device_.build_failure<BuildResult>("clBuildProgram", ahead.error().code,
                                              ahead.error().message + "\n");
  }
  const VendorBuilder::Turn turn = builder_.turn(source, all_options);
  return build_with(
      [this, source] { return create_program(source); }, all_options,
      builder_.in_helpers() ? first_launches(builder_, {source, all_options}) : MakeAhead());
}

BuildResult OpenClBackend::build_il(const std::string& il, const std::string& options) {
  if (!device_.cl->clCreateProgramWithIL) return Backend::build_il(il, options);
  return build_with([this, il] { return create_il_program(il); },
                    vendor_build_options(device_.quirks, options, number_));
}

std::optional<bool> OpenClBackend::build_is_kept(const std::string& source,
                                                 const std::string& options) const {
  return builder_.is_kept(source, vendor_build_options(device_.quirks, options, number_));
}

BuildResult OpenClBackend::load(std::span<const std::byte> binary) {
  if (!device_.cl->clCreateProgramWithBinary) return Backend::load(binary);
  return build_with(
      [this, kept = std::vector<std::byte>(binary.begin(), binary.end())] {
        return create_program(std::span<const std::byte>(kept));
      },
      {});
}

cl_int OpenClBackend::compile_program(const Program& program, const std::string& options) {
  const ExitHold hold;
  const cl_int code =
      device_.cl->clCompileProgram(program.program.get(), 1, &device_.device, options.c_str(), 0,
                                   nullptr, nullptr, nullptr, nullptr);
  compiler_used();
  return code;
}

ObjectResult OpenClBackend::compile(const std::string& source, const std::string& options) {
  static std::atomic<uint64_t> units{0};
  return compile_with(
      [this, unit = vendor_unit(device_.quirks, source, ++units)] { return create_program(unit); },
      options);
}

ObjectResult OpenClBackend::compile_il(const std::string& il, const std::string& options) {
  if (!device_.cl->clCreateProgramWithIL) return Backend::compile_il(il, options);
  return compile_with([this, il] { return create_il_program(il); }, options);
}

ObjectResult OpenClBackend::compile_with(std::function<Result<Program>()> create,
                                         const std::string& options) {
  if (!device_.cl->clCompileProgram || !device_.cl->clLinkProgram) {
    return {nullptr, CL_COMPILER_NOT_AVAILABLE, device_.name + ": has no clCompileProgram"};
  }
  auto program = create();
  if (!program) return {nullptr, program.error().code, program.error().message};
  const std::string all_options = vendor_build_options(device_.quirks, options, number_);
  const cl_int code = compile_program(*program, all_options);
  std::string log = build_log(program->program.get());
  if (code != CL_SUCCESS) {
    return device_.build_failure<ObjectResult>("clCompileProgram", code, std::move(log));
  }
  const auto again = [this, create = std::move(create), all_options]() -> Result<Program> {
    TUTTI_ASSIGN(Program made, create());
    const cl_int failed = compile_program(made, all_options);
    if (failed != CL_SUCCESS) return device_.failure("clCompileProgram", failed);
    return made;
  };
  return {std::make_unique<OpenClObject>(
              std::make_shared<OpenClProgram>(device_, std::move(*program), again)),
          CL_SUCCESS, std::move(log)};
}

Result<OpenClProgram::Made> OpenClBackend::link_program(
    std::span<const std::shared_ptr<OpenClProgram>> objects, const std::string& options,
    std::string& text) {
  TUTTI_ASSIGN(const ContextPtr made, context());
  std::vector<cl_program> inputs;
  inputs.reserve(objects.size());
  for (const auto& object : objects) {
    TUTTI_ASSIGN(const OpenClProgram::Present input, object->present());
    inputs.push_back(input.handle);
  }
  cl_int code = CL_SUCCESS;
  const ExitHold hold;
  const auto link_with = [&](const std::string& chosen) {
    return OwnedProgram(device_.cl->clLinkProgram(made->get(), 1, &device_.device, chosen.c_str(),
                                                  static_cast<cl_uint>(inputs.size()),
                                                  inputs.data(), nullptr, nullptr, &code),
                        device_.cl->clReleaseProgram);
  };
  OwnedProgram program = link_with(options);
  // PoCL 3.1 refuses all of a linker's options. They only allow optimisations.
  if (code == CL_INVALID_LINKER_OPTIONS && !options.empty()) {
    log(LogLevel::kInfo, "{}: clLinkProgram refuses {}: linked without", device_.name, options);
    program = link_with({});
  }
  if (program.get()) text = build_log(program.get());
  if (code != CL_SUCCESS || !program.get()) {
    return device_.failure("clLinkProgram", code ? code : CL_LINK_PROGRAM_FAILURE);
  }
  return Program{std::move(program), made->generation};
}

BuildResult OpenClBackend::link(std::span<Object* const> objects, const std::string& options) {
  std::vector<std::shared_ptr<OpenClProgram>> inputs;
  for (Object* object : objects) inputs.push_back(static_cast<OpenClObject*>(object)->program());
  if (device_.quirks.distinct_builds) {
    // Options of the linker make no difference to the vendor's cache: another unit does.
    ObjectResult marked = compile(distinct_unit(number_), {});
    if (!marked.object) return {nullptr, marked.code, std::move(marked.log)};
    inputs.push_back(static_cast<OpenClObject&>(*marked.object).program());
  }
  std::string text;
  auto program = link_program(inputs, options, text);
  if (!program) {
    return device_.build_failure<BuildResult>("clLinkProgram", program.error().code,
                                              std::move(text));
  }
  const auto again = [this, inputs = std::move(inputs), options] {
    std::string unread;
    return link_program(inputs, options, unread);
  };
  auto module = std::make_unique<OpenClModule>(
      device_, std::make_shared<OpenClProgram>(device_, std::move(*program), again), text);
  return {std::move(module), CL_SUCCESS, std::move(text)};
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
