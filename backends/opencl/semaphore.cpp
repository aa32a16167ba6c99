// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/semaphore.h"

#include <utility>

#include "backends/opencl/opencl_backend.h"

namespace tutti::backends {

bool has_semaphores(const VendorFunctions& cl) {
  return cl.clCreateSemaphoreWithPropertiesKHR && cl.clReleaseSemaphoreKHR &&
         cl.clGetSemaphoreInfoKHR && cl.clEnqueueWaitSemaphoresKHR &&
         cl.clEnqueueSignalSemaphoresKHR;
}

Result<std::unique_ptr<Semaphore>> OpenClSemaphore::create(const VendorDevice& device,
                                                           std::shared_ptr<const void> context,
                                                           cl_context handle, uint32_t generation,
                                                           std::span<const cl_ulong> properties,
                                                           MakeQueue make_queue) {
  const VendorFunctions& cl = *device.cl;
  cl_int code = CL_SUCCESS;
  OwnedSemaphore made(cl.clCreateSemaphoreWithPropertiesKHR(handle, properties.data(), &code),
                      cl.clReleaseSemaphoreKHR);
  if (code != CL_SUCCESS || !made.get()) {
    return device.failure("clCreateSemaphoreWithPropertiesKHR", code ? code : CL_OUT_OF_RESOURCES);
  }
  return std::unique_ptr<Semaphore>(new OpenClSemaphore(device, std::move(context), generation,
                                                        std::move(made), std::move(make_queue)));
}

Result<std::unique_ptr<Semaphore>> OpenClBackend::create_semaphore(
    std::span<const cl_ulong> properties) {
  if (!traits_.semaphores) return Backend::create_semaphore(properties);
  TUTTI_ASSIGN(const ContextPtr made, context());
  return OpenClSemaphore::create(device_, made, made->get(), made->generation, properties,
                                 [this] { return make_queue({}); });
}

Status OpenClSemaphore::usable(const char* call) const {
  if (vendors_gone()) return device_.gone(call);
  if (device_.generation() != generation_) return device_.of_lost_context(call);
  return {};
}

Result<OpenClQueue*> OpenClSemaphore::queue_of(Command command) {
  const MutexLock lock(mutex_);
  auto& queue = command == &OpenClQueue::wait_for ? waits_ : signals_;
  if (!queue) {
    TUTTI_ASSIGN(queue, make_queue_());
  }
  return queue.get();
}

Result<CompletionPtr> OpenClSemaphore::enqueue(Command command) {
  TUTTI_TRY(usable("command on a semaphore"));
  TUTTI_ASSIGN(OpenClQueue* const queue, queue_of(command));
  TUTTI_ASSIGN(CompletionPtr completion, (queue->*command)(semaphore_.get()));
  TUTTI_TRY(queue->flush());
  return completion;
}

Result<CompletionPtr> OpenClSemaphore::wait() { return enqueue(&OpenClQueue::wait_for); }

Result<CompletionPtr> OpenClSemaphore::signal() { return enqueue(&OpenClQueue::signal); }

Result<std::vector<std::byte>> OpenClSemaphore::info(cl_uint what) {
  TUTTI_TRY(usable("clGetSemaphoreInfoKHR"));
  auto answer = query_bytes("clGetSemaphoreInfoKHR", [&](size_t size, void* value, size_t* needed) {
    return device_.cl->clGetSemaphoreInfoKHR(semaphore_.get(), what, size, value, needed);
  });
  if (!answer) return device_.failure("clGetSemaphoreInfoKHR", answer.error().code);
  return answer;
}

Result<std::vector<std::byte>> OpenClSemaphore::export_handle(cl_uint type) {
  TUTTI_TRY(usable("clGetSemaphoreHandleForTypeKHR"));
  if (!device_.cl->clGetSemaphoreHandleForTypeKHR) {
    return device_.failure("clGetSemaphoreHandleForTypeKHR", CL_INVALID_OPERATION);
  }
  // Asked once: each handle that is given is the caller's.
  std::vector<std::byte> handle(sizeof(int));
  const cl_int code = device_.cl->clGetSemaphoreHandleForTypeKHR(
      semaphore_.get(), device_.device, type, handle.size(), handle.data(), nullptr);
  if (code != CL_SUCCESS) return device_.failure("clGetSemaphoreHandleForTypeKHR", code);
  return handle;
}

Status OpenClSemaphore::import_again(int descriptor) {
  TUTTI_TRY(usable("clReImportSemaphoreSyncFdKHR"));
  if (!device_.cl->clReImportSemaphoreSyncFdKHR) {
    return device_.failure("clReImportSemaphoreSyncFdKHR", CL_INVALID_OPERATION);
  }
  const cl_int code =
      device_.cl->clReImportSemaphoreSyncFdKHR(semaphore_.get(), nullptr, descriptor);
  if (code != CL_SUCCESS) return device_.failure("clReImportSemaphoreSyncFdKHR", code);
  return {};
}

Result<CompletionPtr> OpenClQueue::wait_for(cl_semaphore_khr semaphore) {
  return enqueued("clEnqueueWaitSemaphoresKHR", {}, [&](const EventList&, cl_event* event) {
    return cl_.clEnqueueWaitSemaphoresKHR(queue_.get(), 1, &semaphore, nullptr, 0, nullptr, event);
  });
}

Result<CompletionPtr> OpenClQueue::signal(cl_semaphore_khr semaphore) {
  return enqueued("clEnqueueSignalSemaphoresKHR", {}, [&](const EventList&, cl_event* event) {
    return cl_.clEnqueueSignalSemaphoresKHR(queue_.get(), 1, &semaphore, nullptr, 0, nullptr,
                                            event);
  });
}

}  // namespace tutti::backends
