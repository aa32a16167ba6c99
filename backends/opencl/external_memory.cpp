// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/external_memory.h"

#include <vector>

#include "backends/opencl/opencl_backend.h"

namespace tutti::backends {

bool has_external_memory(const VendorFunctions& cl) {
  return cl.clCreateBufferWithProperties && cl.clCreateImageWithProperties &&
         cl.clEnqueueAcquireExternalMemObjectsKHR && cl.clEnqueueReleaseExternalMemObjectsKHR;
}

Result<std::unique_ptr<Memory>> OpenClBackend::import_memory(const ExternalRequest& request) {
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
  return std::make_unique<OpenClMemory>(
      device_, OpenClMemory::Made{std::move(memory), made->generation}, shape, nullptr);
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

Status OpenClBackend::hand_over(std::span<const std::shared_ptr<Memory>> memory, HandOver what) {
  if (!traits_.external_memory) return Backend::hand_over(memory, what);
  std::vector<cl_mem> handles;
  for (const auto& one : memory) {
    auto& own = static_cast<OpenClMemory&>(*one);
    TUTTI_ASSIGN(const auto view, own.view(0, own.size()));
    handles.push_back(view.handle);
  }
  TUTTI_ASSIGN(const auto queue, hand_over_queue());
  TUTTI_ASSIGN(const CompletionPtr end, queue->hand_over(handles, what));
  return end->wait();
}

Result<CompletionPtr> OpenClQueue::hand_over(std::span<const cl_mem> memory, HandOver what) {
  const auto count = static_cast<cl_uint>(memory.size());
  if (what == HandOver::kAcquire) {
    return enqueued("clEnqueueAcquireExternalMemObjectsKHR", Ordering(),
                    [&](const EventList&, cl_event* event) {
                      return cl_.clEnqueueAcquireExternalMemObjectsKHR(
                          queue_.get(), count, memory.data(), 0, nullptr, event);
                    });
  }
  return enqueued("clEnqueueReleaseExternalMemObjectsKHR", Ordering(),
                  [&](const EventList&, cl_event* event) {
                    return cl_.clEnqueueReleaseExternalMemObjectsKHR(
                        queue_.get(), count, memory.data(), 0, nullptr, event);
                  });
}

}  // namespace tutti::backends
