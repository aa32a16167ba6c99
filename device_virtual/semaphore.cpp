// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/semaphore.h"

#include <algorithm>
#include <utility>

#include "backends/api/sharing_api.h"

namespace tutti::device_virtual {

Semaphore::Semaphore(Context& context, Options options, std::unique_ptr<backends::Semaphore> vendor)
    : context_(&context),
      options_(std::move(options)),
      vendor_(std::move(vendor)),
      order_(options_.import != 0) {}

Result<Semaphore*> Semaphore::create(Context& context, Options options) {
  TUTTI_ASSIGN(auto vendor,
               context.backends().at(context.home()).create_semaphore(options.of_vendor));
  return new Semaphore(context, std::move(options), std::move(vendor));
}

Status Semaphore::info(cl_semaphore_info_khr what, const InfoAnswer& answer) const {
  switch (what) {
    case CL_SEMAPHORE_CONTEXT_KHR:
      return answer.value<cl_context>(context_->handle());
    case CL_SEMAPHORE_REFERENCE_COUNT_KHR:
      return answer.value(public_references());
    case CL_SEMAPHORE_PROPERTIES_KHR:
      return answer.list(std::span<const cl_semaphore_properties_khr>(options_.properties));
    case CL_SEMAPHORE_TYPE_KHR:
      return answer.value<cl_semaphore_type_khr>(CL_SEMAPHORE_TYPE_BINARY_KHR);
    case CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR:
      return answer.list(std::span<const cl_uint>(options_.exports));
    case backends::kSemaphoreDevices:
      return answer.list(std::span<const cl_device_id>(options_.devices));
    case backends::kSemaphoreExportable:
      return answer.boolean(!options_.exports.empty());
    case CL_SEMAPHORE_PAYLOAD_KHR: {
      TUTTI_ASSIGN(const auto payload, vendor_->info(what));
      return answer.bytes(payload.data(), payload.size());
    }
    default:
      return unknown_query();
  }
}

bool Semaphore::has_device(cl_device_id device) const {
  return std::find(options_.devices.begin(), options_.devices.end(), device) !=
         options_.devices.end();
}

Semaphore::CommandRef Semaphore::before_wait() const {
  const MutexLock lock(mutex_);
  return order_.before_wait();
}
Semaphore::CommandRef Semaphore::before_signal() const {
  const MutexLock lock(mutex_);
  return order_.before_signal();
}
void Semaphore::note_wait(CommandRef command) {
  const MutexLock lock(mutex_);
  order_.note_wait(std::move(command));
}
void Semaphore::note_signal(CommandRef command) {
  const MutexLock lock(mutex_);
  order_.note_signal(std::move(command));
}

Status Semaphore::export_handle(cl_uint type, const InfoAnswer& answer) {
  // "CL_INVALID_VALUE if the requested external semaphore handle type was not specified when
  // sema_object was created."
  if (std::find(options_.exports.begin(), options_.exports.end(), type) == options_.exports.end()) {
    return fail(CL_INVALID_VALUE, "the semaphore is not exported as a handle of this type");
  }
  // Each handle that is given is the application's, so none is where it has no room for it.
  const int none = -1;
  if (answer.data() == nullptr || answer.size() < sizeof none) return answer.value(none);
  const bool copies = type == CL_SEMAPHORE_HANDLE_SYNC_FD_KHR;
  if (copies) {
    // The copy is of a signal that the vendor has been given.
    CommandRef signal;
    {
      const MutexLock lock(mutex_);
      signal = order_.last_signal();
    }
    scheduler::Command* const last = signal.get();
    if (last != nullptr) TUTTI_TRY(context_->engine().wait({&last, 1}));
  }
  TUTTI_ASSIGN(const auto handle, vendor_->export_handle(type));
  if (copies) {
    // "exporting a semaphore payload to a handle with copy transference has the same side effects
    // on the source semaphore's payload as executing a semaphore wait operation."
    const MutexLock lock(mutex_);
    order_.note_taken();
  }
  return answer.bytes(handle.data(), handle.size());
}

Status Semaphore::import_again(int descriptor) {
  // "CL_INVALID_SEMAPHORE_KHR if a CL_SEMAPHORE_HANDLE_SYNC_FD_KHR handle was not imported when
  // sema_object was created."
  if (options_.import != CL_SEMAPHORE_HANDLE_SYNC_FD_KHR) {
    return fail(CL_INVALID_SEMAPHORE_KHR, "the semaphore was not imported from such a handle");
  }
  return vendor_->import_again(descriptor);
}

}  // namespace tutti::device_virtual
