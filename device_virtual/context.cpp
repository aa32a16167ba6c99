// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/context.h"

#include <algorithm>
#include <utility>

#include "base/process_exit.h"
#include "device_virtual/command_queue.h"
#include "device_virtual/image_format.h"

namespace tutti::device_virtual {

namespace {

scheduler::BackendMask behind(const std::vector<Ref<Device>>& devices) {
  scheduler::BackendMask mask = 0;
  for (const Ref<Device>& device : devices) mask |= device->backends();
  return mask;
}

std::shared_ptr<const Capabilities> capabilities_of_all(const std::vector<Ref<Device>>& devices) {
  const scheduler::BackendMask mask = behind(devices);
  for (const Ref<Device>& device : devices) {
    if (device->backends() == mask) return device->shared_capabilities();
  }
  return devices.front()->platform().capabilities_of(mask);
}

}  // namespace

Context::Context(std::vector<Ref<Device>> devices, scheduler::Engine& engine, Options options)
    : options_(std::move(options)),
      devices_(std::move(devices)),
      behind_(options_.lease ? scheduler::backend_bit(options_.lease->backend())
                             : behind(devices_)),
      capabilities_(capabilities_of_all(devices_)),
      engine_(engine) {}

bool Context::has(const Device* device) const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [device](const Ref<Device>& one) { return one.get() == device; });
}

Context::~Context() {
  // "The callbacks are called in the reverse order in which they were registered."
  for (auto entry = destructors_.rbegin(); entry != destructors_.rend(); ++entry) {
    const ApplicationCode code;
    entry->first(handle(), entry->second);
  }
}

Result<std::vector<cl_image_format>> Context::image_formats(cl_mem_flags access,
                                                            cl_mem_object_type type) {
  // "CL_MEM_KERNEL_READ_AND_WRITE: […] image formats that may be both read from and written to by
  // the same kernel instance."
  if ((access & CL_MEM_KERNEL_READ_AND_WRITE) != 0 &&
      !capabilities().has_language_feature("__opencl_c_read_write_images")) {
    return std::vector<cl_image_format>{};
  }
  std::vector<cl_image_format> formats;
  std::optional<Error> failure;
  for (scheduler::BackendMask open = capabilities().images ? behind_ : 0; open != 0;) {
    const uint32_t primary = backends().primary(open);
    auto answer = backends().image_formats(primary, access, type);
    if (answer) {
      formats = std::move(*answer);
      // What cannot be addressed as linear memory cannot be moved.
      std::erase_if(formats, [](const cl_image_format& format) { return pixel_size(format) == 0; });
      return formats;
    }
    // The others have images nevertheless.
    backends().health().note_failure(primary, answer.error());
    if (!failure) failure = std::move(answer).error();
    open &= ~scheduler::backend_bit(primary);
  }
  if (failure) return tl::unexpected<Error>(std::move(*failure));
  return formats;
}

Result<void*> Context::allocate_shared(backends::SharedRequest request,
                                       const SharedOrigin& origin) {
  // What 0 stands for, and what fills rely on.
  const uint32_t alignment = std::max(request.alignment, kLargestType);
  request.alignment =
      backends::is_unified(request.kind) || request.alignment > kLargestType ? alignment : 0;
  TUTTI_ASSIGN(auto memory, take_shared(request, home()));
  if (reinterpret_cast<uintptr_t>(memory->data()) % alignment != 0) {
    return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "shared memory is not aligned as asked");
  }
  scheduler::LogicalBuffer::Options options;
  options.size = request.size;
  options.shared = std::move(memory);
  options.home = home();
  TUTTI_ASSIGN(auto buffer, engine_.create_buffer(options, nullptr));
  buffer->owner = options_.lease;
  return shared_.add(std::move(buffer), origin);
}

Result<std::shared_ptr<backends::SharedMemory>> Context::take_shared(
    const backends::SharedRequest& request, uint32_t home) {
  engine_.make_room(request, home);
  auto memory = backends().at(home).allocate_shared(request);
  if (!memory) {  // what is kept for buffers to come may be what lacks
    backends().memory(home).drop_kept();
    memory = backends().at(home).allocate_shared(request);
  }
  if (!memory) return tl::unexpected<Error>(std::move(memory).error());
  return std::shared_ptr<backends::SharedMemory>(std::move(*memory));
}

void Context::finish_queues() {
  std::vector<Ref<scheduler::Stream>> streams;
  {
    const MutexLock lock(mutex_);
    streams = streams_;
  }
  // "Wait for previously enqueued commands": whether they fail is for their events to tell.
  for (const Ref<scheduler::Stream>& stream : streams) static_cast<void>(engine_.finish(*stream));
}

void Context::note_stream(Ref<scheduler::Stream> stream) {
  const MutexLock lock(mutex_);
  streams_.push_back(std::move(stream));
}

void Context::forget_stream(const scheduler::Stream& stream) {
  Ref<scheduler::Stream> forgotten;  // let go of with no lock held
  const MutexLock lock(mutex_);
  const auto found =
      std::find_if(streams_.begin(), streams_.end(),
                   [&](const Ref<scheduler::Stream>& one) { return one.get() == &stream; });
  if (found == streams_.end()) return;
  forgotten = std::move(*found);
  streams_.erase(found);
}

Result<CommandQueue*> Context::create_queue_on(Device& device,
                                               cl_command_queue_properties properties,
                                               std::vector<cl_queue_properties> property_list,
                                               cl_uint size) {
  const bool as_default = (properties & CL_QUEUE_ON_DEVICE_DEFAULT) != 0;
  const auto present = [&]() TUTTI_REQUIRES(mutex_) -> CommandQueue* {
    const auto found = as_default ? default_queues_.find(&device) : default_queues_.end();
    if (found == default_queues_.end()) return nullptr;
    found->second->retain_public();
    return found->second;
  };
  {
    // "If … the default device queue has already been created, … clCreateCommandQueueWithProperties
    // will return the default device queue that has already been created and increment its retain
    // count by 1."
    const MutexLock lock(mutex_);
    if (CommandQueue* queue = present()) return queue;
  }
  CommandQueue::OnDevice made{nullptr, backends().primary(backends_of(device)), size};
  TUTTI_ASSIGN(made.queue, backends().at(made.home).create_device_queue(
                               {size, (properties & CL_QUEUE_PROFILING_ENABLE) != 0, as_default}));
  auto queue = Ref<CommandQueue>::adopt(
      new CommandQueue(*this, device, properties, std::move(property_list), std::move(made)));
  const MutexLock lock(mutex_);
  if (CommandQueue* other = present()) return other;  // another thread's
  if (as_default) default_queues_[&device] = queue.get();
  return queue.detach();
}

Status Context::set_default_queue(Device& device, CommandQueue& queue) {
  // Kernels get one that is as good: what is enqueued there runs on the same device, in any order.
  TUTTI_TRY(backends()
                .at(queue.on_device()->home)
                .create_device_queue({.size = 0, .profiling = true, .as_default = true})
                .map([](const auto&) {}));
  const MutexLock lock(mutex_);
  default_queues_[&device] = &queue;
  return {};
}

cl_command_queue Context::default_queue(const Device& device) {
  const MutexLock lock(mutex_);
  const auto found = default_queues_.find(&device);
  return found == default_queues_.end() ? nullptr : found->second->handle();
}

void Context::forget_default_queue(const CommandQueue& queue) {
  const MutexLock lock(mutex_);
  std::erase_if(default_queues_, [&queue](const auto& entry) { return entry.second == &queue; });
}

Status Context::info(cl_context_info what, const InfoAnswer& answer) const {
  switch (what) {
    case CL_CONTEXT_REFERENCE_COUNT:
      return answer.value(public_references());
    case CL_CONTEXT_NUM_DEVICES:
      return answer.value(static_cast<cl_uint>(devices_.size()));
    case CL_CONTEXT_DEVICES: {
      std::vector<cl_device_id> handles;
      for (const Ref<Device>& device : devices_) handles.push_back(device->handle());
      return answer.list(std::span<const cl_device_id>(handles));
    }
    case CL_CONTEXT_PROPERTIES:
      return answer.list(std::span<const cl_context_properties>(options_.properties));
    default:
      return unknown_query();
  }
}

void Context::add_destructor(Destructor function, void* user_data) {
  const MutexLock lock(mutex_);
  destructors_.emplace_back(function, user_data);
}

void Context::notify(const std::string& message) const {
  if (options_.notify != nullptr) {
    const ApplicationCode code;
    options_.notify(message.c_str(), nullptr, 0, options_.user_data);
  }
}

}  // namespace tutti::device_virtual
