// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/buffer.h"

#include <algorithm>
#include <utility>

#include "backends/api/buffer_address_api.h"
#include "base/process_exit.h"
#include "base/thread_annotations.h"
#include "device_virtual/image_format.h"

namespace tutti::device_virtual {

struct Buffer::Afterlife {
  scheduler::BackendLeasePtr lease;  // first, for what the callbacks may do
  cl_mem handle = nullptr;
  Mutex mutex;
  std::vector<std::pair<Destructor, void*>> destructors TUTTI_GUARDED_BY(mutex);

  ~Afterlife() {
    // "The callbacks … are called in the reverse order in which they were registered." Possibly on
    // a thread of the engine, which let go of the memory last.
    for (auto entry = destructors.rbegin(); entry != destructors.rend(); ++entry) {
      const ApplicationCode code;
      entry->first(handle, entry->second);
    }
  }
};

Buffer::Buffer(Context& context, Ref<Buffer> parent, Options options, scheduler::BufferView view)
    : context_(&context),
      parent_(std::move(parent)),
      flags_(options.flags),
      host_ptr_(options.host_ptr),
      shape_(options.image),
      pipe_(options.pipe),
      device_address_(!shape_ && (parent_ ? parent_->device_address_ : options.device_address)),
      gl_(options.gl),
      properties_(std::move(options.properties)),
      afterlife_(std::make_shared<Afterlife>()),
      view_(std::move(view)),
      buffer_image_(parent_ && shape_
                        ? make_ref<scheduler::BufferImage>(context.backends(), view_, *shape_)
                        : nullptr) {
  afterlife_->lease = context.lease();
  afterlife_->handle = handle();
}

Buffer::~Buffer() {
  if (!parent_ && view_.buffer->has_device_address()) {
    context_->addressed_buffers().free(view_.buffer->shared()->data(), false);
  }
  context_->engine().released();
}

namespace {

/// Of the context's home; `options` take what an object of OpenGL says itself.
Result<std::shared_ptr<backends::Memory>> import(Context& context, Buffer::Options& options) {
  // What the host may do with it is no matter there: Tutti copies it.
  constexpr cl_mem_flags kKernels = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
  TUTTI_ASSIGN(auto made, context.backends()
                              .at(context.home())
                              .import_memory({options.flags & kKernels, options.size, options.image,
                                              std::move(options.external), options.gl}));
  // What cannot be addressed as linear memory cannot be moved.
  if (made.image && pixel_size(made.image->format) != made.image->pixel_size) {
    return fail(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, "an image format that OpenCL does not have");
  }
  options.size = made.size;
  options.image = made.image;
  return std::shared_ptr<backends::Memory>(std::move(made.memory));
}

}  // namespace

Result<Buffer*> Buffer::create(Context& context, Options options) {
  if ((options.flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0) {
    const auto place = context.shared_memory().find(options.host_ptr);
    if (place && place->allocation->kind() == backends::SharedKind::kDevice) {
      return fail(CL_INVALID_HOST_PTR, "the memory is a device's alone");
    }
    const bool over = place && (options.flags & CL_MEM_USE_HOST_PTR) != 0;
    // Such an image's pixels are the host's memory whenever it is mapped, no matter whose that is;
    // where that is not all that there is of the allocation, neither would hear of the other.
    if (over && options.image && !place->allocation->buffer()->in_one_memory()) {
      return fail(CL_INVALID_HOST_PTR, "an image over shared memory of several devices");
    }
    if (over && !options.image) {
      scheduler::BufferView view = place->allocation->view_from(place->offset);
      if (options.size > view.size) {
        return fail(CL_INVALID_BUFFER_SIZE, "more than there is of the shared memory");
      }
      view.size = options.size;
      return new Buffer(context, nullptr, std::move(options), std::move(view));
    }
  }
  scheduler::LogicalBuffer::Options memory;
  if (!options.external.empty() || options.gl) {
    memory.home = context.home();
    TUTTI_ASSIGN(memory.external, import(context, options));
  }
  if (context.shares_gl()) memory.users = context.backends_behind();
  memory.size = options.size;
  if ((options.flags & CL_MEM_USE_HOST_PTR) != 0) memory.user_memory = options.host_ptr;
  memory.image = options.image;
  memory.pipe = options.pipe;
  if (options.pipe) memory.home = context.home();
  memory.host_now = (options.flags & CL_MEM_ALLOC_HOST_PTR) != 0;
  if (options.device_address) {
    memory.home = context.home();
    TUTTI_ASSIGN(memory.shared,
                 context.take_shared({.kind = backends::SharedKind::kBuffer, .size = options.size},
                                     memory.home));
  }
  const bool copied = (options.flags & CL_MEM_COPY_HOST_PTR) != 0;
  TUTTI_ASSIGN(const Ref<scheduler::LogicalBuffer> logical,
               context.engine().create_buffer(memory, copied ? options.host_ptr : nullptr));
  if ((options.flags & CL_MEM_USE_HOST_PTR) == 0) options.host_ptr = nullptr;
  const uint64_t size = options.size;
  auto* buffer = new Buffer(context, nullptr, std::move(options), {logical, 0, size});
  logical->owner = buffer->afterlife_;
  if (logical->has_device_address()) {
    context.addressed_buffers().add(logical, {.buffer = buffer->handle()});
  }
  return buffer;
}

Result<Buffer*> Buffer::create_sub_buffer(cl_mem_flags flags, uint64_t origin, uint64_t size) {
  Options options;
  options.flags = flags;
  options.size = size;
  if (host_ptr_ != nullptr) options.host_ptr = static_cast<std::byte*>(host_ptr_) + origin;
  return new Buffer(*context_, Ref<Buffer>(this), std::move(options),
                    {view_.buffer, view_.origin + origin, size});
}

Result<Buffer*> Buffer::create_image(cl_mem_flags flags, const backends::ImageShape& shape,
                                     std::vector<cl_mem_properties> properties) {
  Options options;
  options.flags = flags;
  options.size = shape.span();
  options.host_ptr = host_ptr_;
  options.image = shape;
  options.properties = std::move(properties);
  const scheduler::BufferView view{view_.buffer, view_.origin, options.size};
  return new Buffer(*context_, Ref<Buffer>(this), std::move(options), view);
}

bool Buffer::Mapping::overlaps(const Mapping& other) const { return boxes_overlap(box, other.box); }

Result<void*> Buffer::pointer_at(uint64_t offset) {
  if (view_.buffer->is_shared() && !view_.buffer->has_device_address())
    return view_.buffer->shared()->data() + view_.origin + offset;
  TUTTI_ASSIGN(std::byte* const host, view_.buffer->host_memory());
  return host + view_.origin + offset;
}

Result<void*> Buffer::in_host_copy() {
  TUTTI_ASSIGN(std::byte* const host, view_.buffer->host_memory());
  return host + view_.origin;
}

Status Buffer::add_mapping(const Mapping& mapping) {
  const MutexLock lock(mutex_);
  // "CL_INVALID_OPERATION if mapping would lead to overlapping regions being mapped for writing."
  if ((mapping.flags & kMapForWriting) != 0) {
    for (const Mapping& other : mappings_) {
      if ((other.flags & kMapForWriting) != 0 && mapping.overlaps(other)) {
        return fail(CL_INVALID_OPERATION, "overlapping regions would be mapped for writing");
      }
    }
  }
  mappings_.push_back(mapping);
  return {};
}

void Buffer::restore_mapping(const Mapping& mapping) {
  const MutexLock lock(mutex_);
  mappings_.push_back(mapping);
}

std::optional<Buffer::Mapping> Buffer::take_mapping(const void* pointer) {
  const MutexLock lock(mutex_);
  const auto found = std::find_if(mappings_.rbegin(), mappings_.rend(),
                                  [&](const Mapping& m) { return m.pointer == pointer; });
  if (found == mappings_.rend()) return std::nullopt;
  const Mapping mapping = *found;
  mappings_.erase(std::next(found).base());
  return mapping;
}

void Buffer::add_destructor(Destructor function, void* user_data) {
  const MutexLock lock(afterlife_->mutex);
  afterlife_->destructors.emplace_back(function, user_data);
}

Status Buffer::info(cl_mem_info what, const InfoAnswer& answer) {
  switch (what) {
    case CL_MEM_TYPE:
      return answer.value<cl_mem_object_type>(type());
    case CL_MEM_FLAGS:
      return answer.value(flags_);
    case CL_MEM_SIZE:
      return answer.value<size_t>(size());
    case CL_MEM_HOST_PTR:
      return answer.value(host_ptr_);
    case CL_MEM_MAP_COUNT: {
      const MutexLock lock(mutex_);
      return answer.value(static_cast<cl_uint>(mappings_.size()));
    }
    case CL_MEM_REFERENCE_COUNT:
      return answer.value(public_references());
    case CL_MEM_CONTEXT:
      return answer.value<cl_context>(context_->handle());
    case CL_MEM_ASSOCIATED_MEMOBJECT:
      return answer.value<cl_mem>(parent_ ? parent_->handle() : nullptr);
    case CL_MEM_OFFSET:
      return answer.value<size_t>(is_sub_buffer() ? origin() - parent_->origin() : 0);
    case CL_MEM_USES_SVM_POINTER:
      return answer.boolean(view_.buffer->is_shared() &&
                            view_.buffer->shared()->kind() == backends::SharedKind::kVirtual);
    case backends::kAddressOfMemory: {
      if (!context_->capabilities().buffer_addresses) return unknown_query();
      if (!device_address_) {
        return fail(CL_INVALID_OPERATION, "the buffer has no address on the device");
      }
      // "One for each device in the context": all have the same home.
      const auto address = reinterpret_cast<uintptr_t>(view_.buffer->shared()->data());
      const std::vector<backends::DeviceAddress> all(context_->devices().size(),
                                                     address + view_.origin);
      return answer.list(std::span<const backends::DeviceAddress>(all));
    }
    case CL_MEM_PROPERTIES:
      return answer.list(std::span<const cl_mem_properties>(properties_));
    default:
      return unknown_query();
  }
}

Status Buffer::image_info(cl_image_info what, const InfoAnswer& answer) const {
  const backends::ImageShape& shape = *shape_;
  const unsigned dimensions = image_dimensions(shape.type);
  const bool array = is_image_array(shape.type);
  switch (what) {
    case CL_IMAGE_FORMAT:
      return answer.value(shape.format);
    case CL_IMAGE_ELEMENT_SIZE:
      return answer.value<size_t>(shape.pixel_size);
    case CL_IMAGE_ROW_PITCH:
      return answer.value<size_t>(shape.row_pitch);
    case CL_IMAGE_SLICE_PITCH:
      return answer.value<size_t>(shape.slice_pitch);
    case CL_IMAGE_WIDTH:
      return answer.value<size_t>(shape.extent[0]);
    case CL_IMAGE_HEIGHT:
      return answer.value<size_t>(dimensions >= 2 ? shape.extent[1] : 0);
    case CL_IMAGE_DEPTH:
      return answer.value<size_t>(dimensions == 3 ? shape.extent[2] : 0);
    case CL_IMAGE_ARRAY_SIZE:
      return answer.value<size_t>(array ? shape.extent[dimensions] : 0);
    case CL_IMAGE_BUFFER:
      return answer.value<cl_mem>(parent_ ? parent_->handle() : nullptr);
    case CL_IMAGE_NUM_MIP_LEVELS:
    case CL_IMAGE_NUM_SAMPLES:
      return answer.value<cl_uint>(0);
    default:
      return unknown_query();
  }
}

Status Buffer::pipe_info(cl_pipe_info what, const InfoAnswer& answer) const {
  switch (what) {
    case CL_PIPE_PACKET_SIZE:
      return answer.value<cl_uint>(pipe_->packet_size);
    case CL_PIPE_MAX_PACKETS:
      return answer.value<cl_uint>(pipe_->max_packets);
    case CL_PIPE_PROPERTIES:
      // "If the properties argument specified in clCreatePipe … is NULL, the implementation must
      // return param_value_size_ret equal to 0": it has to be.
      return answer.list(std::span<const cl_pipe_properties>());
    default:
      return unknown_query();
  }
}

}  // namespace tutti::device_virtual
