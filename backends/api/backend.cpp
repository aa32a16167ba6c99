// SPDX-License-Identifier: Apache-2.0
// What a device without images, pipes, markers, shared memory, semaphores, memory of
// others, OpenGL, SPIR-V or queues of its own answers, and rows for one that only knows ranges.
#include "backends/api/backend.h"

namespace tutti::backends {
namespace {
tl::unexpected<Error> no_images() { return fail(CL_INVALID_OPERATION, "a device without images"); }
tl::unexpected<Error> no_shared_memory() {
  return fail(CL_INVALID_OPERATION, "a device without shared virtual memory");
}
tl::unexpected<Error> no_gl() {
  return fail(CL_INVALID_OPERATION, "a device that shares nothing with OpenGL");
}
}  // namespace

Status Queue::launch_again(const Launch& launch, CompletionPtr& run) {
  TUTTI_ASSIGN(run, this->launch(launch, {}));
  return {};
}

Result<CompletionPtr> Queue::mark(WaitList, bool) {
  return fail(CL_INVALID_OPERATION, "a device without markers");
}

Status Queue::map_shared(SharedMemory&, uint64_t, uint64_t, cl_map_flags) {
  return no_shared_memory();
}
Status Queue::unmap_shared(SharedMemory&, uint64_t) { return no_shared_memory(); }
Result<std::unique_ptr<SharedMemory>> Backend::allocate_shared(const SharedRequest&) {
  return no_shared_memory();
}
Result<std::unique_ptr<Memory>> Backend::memory_over(SharedMemory&) { return no_shared_memory(); }
Result<ExternalMemory> Backend::import_memory(const ExternalRequest&) {
  return fail(CL_INVALID_OPERATION, "a device that imports no memory");
}
Status Backend::hand_over(std::span<const std::shared_ptr<Memory>>, HandOver, ExternalKind) {
  return fail(CL_INVALID_OPERATION, "a device that imports no memory");
}
Result<std::unique_ptr<Backend>> Backend::in_context(const ContextProperties&, uint32_t) {
  return no_gl();
}
Status Backend::change_context(const ContextProperties&) { return no_gl(); }
Result<bool> Backend::is_of_gl_context(const ContextProperties&, bool) { return no_gl(); }
Result<std::unique_ptr<Semaphore>> Backend::create_semaphore(std::span<const cl_ulong>) {
  return fail(CL_INVALID_OPERATION, "a device without semaphores");
}

Status Queue::write_rows(Memory& to, const BufferRows& rows, const void* from) {
  for (uint64_t i = 0; i < rows.count; ++i) {
    const uint64_t step = i * rows.pitch;
    TUTTI_TRY(write_blocking(to, rows.offset + step, rows.length,
                             static_cast<const std::byte*>(from) + step));
  }
  return {};
}
Status Queue::read_rows(Memory& from, const BufferRows& rows, void* to) {
  for (uint64_t i = 0; i < rows.count; ++i) {
    const uint64_t step = i * rows.pitch;
    TUTTI_TRY(
        read_blocking(from, rows.offset + step, rows.length, static_cast<std::byte*>(to) + step));
  }
  return {};
}

Result<CompletionPtr> Queue::read_image(Memory&, const ImageBox&, void*, size_t, size_t, WaitList) {
  return no_images();
}
Result<CompletionPtr> Queue::write_image(Memory&, const ImageBox&, const void*, size_t, size_t,
                                         WaitList) {
  return no_images();
}
Result<CompletionPtr> Queue::copy_image(Memory&, const ImageBox&, Memory&,
                                        const std::array<size_t, 3>&, WaitList) {
  return no_images();
}
Result<CompletionPtr> Queue::fill_image(Memory&, const ImageBox&, std::span<const std::byte, 16>,
                                        WaitList) {
  return no_images();
}
Result<std::shared_ptr<DeviceQueue>> Backend::create_device_queue(const DeviceQueueOptions&) {
  return fail(CL_INVALID_OPERATION, "a device whose kernels enqueue none");
}
BuildResult Backend::build_il(const std::string&, const std::string&) {
  return {nullptr, CL_INVALID_OPERATION, "a device that takes no SPIR-V"};
}
BuildResult Backend::take_built_in(const std::string&) {
  return {nullptr, CL_INVALID_VALUE, "a device without built-in kernels"};
}
ObjectResult Backend::compile_il(const std::string&, const std::string&) {
  return {nullptr, CL_INVALID_OPERATION, "a device that takes no SPIR-V"};
}
Result<std::unique_ptr<Memory>> Backend::allocate_pipe(const PipeShape&) {
  return fail(CL_INVALID_OPERATION, "a device without pipes");
}
Result<std::unique_ptr<Memory>> Backend::allocate_image(const ImageShape&) { return no_images(); }
Result<std::unique_ptr<Memory>> Backend::image_over(Memory&, uint64_t, uint64_t,
                                                    const ImageShape&) {
  return no_images();
}
bool takes_extent(const DeviceTraits& device, const ImageShape& shape) {
  const DeviceTraits::ImageSizes& most = device.image_sizes;
  const auto& [width, second, third] = shape.extent;
  switch (shape.type) {
    case CL_MEM_OBJECT_IMAGE1D_BUFFER:
      return width <= most.buffer;
    case CL_MEM_OBJECT_IMAGE3D:
      return width <= most.width_3d && second <= most.height_3d && third <= most.depth_3d;
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
      return width <= most.width && second <= most.layers;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
      return width <= most.width && second <= most.height && third <= most.layers;
    default:
      return width <= most.width && second <= most.height;
  }
}

Result<std::vector<cl_image_format>> Backend::image_formats(cl_mem_flags, cl_mem_object_type) {
  return std::vector<cl_image_format>{};
}

}  // namespace tutti::backends
