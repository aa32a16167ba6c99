// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/external_memory.h"

#include <vector>

#include "backends/opencl/opencl_backend.h"

namespace tutti::backends {

bool has_external_memory(const VendorFunctions& cl) {
  return cl.clCreateBufferWithProperties && cl.clCreateImageWithProperties &&
         cl.clEnqueueAcquireExternalMemObjectsKHR && cl.clEnqueueReleaseExternalMemObjectsKHR;
}

Result<ExternalMemory> OpenClBackend::import_memory(const ExternalRequest& request) {
  if (request.gl) return import_gl(request);
  if (!traits_.external_memory) return Backend::import_memory(request);
  const VendorFunctions& cl = *device_.cl;
  TUTTI_ASSIGN(const ContextPtr made, context());
  cl_int code = CL_SUCCESS;
  cl_mem handle = nullptr;
  OpenClMemory::Shape shape{request.size};
  const char* call = "clCreateBufferWithProperties";
  auto turn = device_.turn();
  if (request.image) {
    const ImageShape& image = *request.image;
    const cl_image_desc description = description_of(image);
    call = "clCreateImageWithProperties";
    handle = cl.clCreateImageWithProperties(made->get(), request.properties.data(), request.flags,
                                            &image.format, &description, nullptr, &code);
    shape = {image.span(), image.type, image.pixel_size};
  } else {
    handle = cl.clCreateBufferWithProperties(made->get(), request.properties.data(), request.flags,
                                             request.size, nullptr, &code);
  }
  OwnedMemory memory(handle, cl.clReleaseMemObject);
  if (code != CL_SUCCESS || !memory.get()) {
    return device_.failure(call, code ? code : CL_OUT_OF_RESOURCES);
  }
  turn.unlock();
  // Its content is the other interface's: in another context it cannot be made anew.
  return ExternalMemory{
      std::make_unique<OpenClMemory>(
          device_, OpenClMemory::Made{std::move(memory), made->generation}, shape, nullptr),
      shape.size, request.image};
}

Result<std::shared_ptr<OpenClQueue>> OpenClBackend::hand_over_queue() {
  // Held over the vendor's call: this is the first use.
  const MutexLock lock(hand_over_mutex_);
  if (!hand_over_queue_ || hand_over_queue_->generation() != device_.generation()) {
    TUTTI_ASSIGN(auto made, make_queue({}));
    hand_over_queue_ = std::move(made);
  }
  return hand_over_queue_;
}

Status OpenClBackend::hand_over(std::span<const std::shared_ptr<Memory>> memory, HandOver what,
                                ExternalKind kind) {
  const bool offered = kind == ExternalKind::kGl ? traits_.gl_sharing : traits_.external_memory;
  if (!offered) return Backend::hand_over(memory, what, kind);
  std::vector<cl_mem> handles;
  for (const auto& one : memory) {
    auto& own = static_cast<OpenClMemory&>(*one);
    TUTTI_ASSIGN(const auto view, own.view(0, own.size()));
    handles.push_back(view.handle);
  }
  TUTTI_ASSIGN(const auto queue, hand_over_queue());
  TUTTI_ASSIGN(const CompletionPtr end, queue->hand_over(handles, what, kind));
  return end->wait();
}

Result<CompletionPtr> OpenClQueue::hand_over(std::span<const cl_mem> memory, HandOver what,
                                             ExternalKind kind) {
  const auto with = [&](const char* name, auto function) {
    return enqueued(name, Ordering(), [&](const EventList&, cl_event* event) {
      return function(queue_.get(), static_cast<cl_uint>(memory.size()), memory.data(), 0, nullptr,
                      event);
    });
  };
  const bool acquires = what == HandOver::kAcquire;
  if (kind == ExternalKind::kGl) {
    return acquires ? with("clEnqueueAcquireGLObjects", cl_.clEnqueueAcquireGLObjects)
                    : with("clEnqueueReleaseGLObjects", cl_.clEnqueueReleaseGLObjects);
  }
  return acquires ? with("clEnqueueAcquireExternalMemObjectsKHR",
                         cl_.clEnqueueAcquireExternalMemObjectsKHR)
                  : with("clEnqueueReleaseExternalMemObjectsKHR",
                         cl_.clEnqueueReleaseExternalMemObjectsKHR);
}

}  // namespace tutti::backends
