// SPDX-License-Identifier: Apache-2.0
// A semaphore (cl_khr_semaphore): the vendor's, of the only device behind its context. Commands in
// flight keep it. Thread-safe.
#pragma once

#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <memory>
#include <vector>

#include "backends/api/backend.h"
#include "base/thread_annotations.h"
#include "device_virtual/context.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"
#include "device_virtual/semaphore_order.h"

namespace tutti::device_virtual {

class Semaphore : public Handle<Semaphore, _cl_semaphore_khr, Kind::kSemaphore> {
 public:
  struct Options {
    std::vector<cl_semaphore_properties_khr> properties;  // as given, with the closing 0
    std::vector<cl_device_id> devices;
    std::vector<cl_uint> exports;  // kinds of handles
    cl_uint import = 0;            // likewise; 0: it is none from outside
    /// What the vendor is to know of the properties: without devices, which are ours.
    std::vector<cl_semaphore_properties_khr> of_vendor;
  };
  /// The vendor's error.
  static Result<Semaphore*> create(Context& context, Options options);

  Context& context() const { return *context_; }
  backends::Semaphore& vendor() const { return *vendor_; }
  Status info(cl_semaphore_info_khr what, const InfoAnswer& answer) const;
  bool has_device(cl_device_id device) const;

  using CommandRef = Ref<scheduler::Command>;
  /// What a command on it comes after, and that it was enqueued.
  CommandRef before_wait() const;
  CommandRef before_signal() const;
  void note_wait(CommandRef command);
  void note_signal(CommandRef command);

  /// clGetSemaphoreHandleForTypeKHR. CL_INVALID_VALUE, or the vendor's error.
  Status export_handle(cl_uint type, const InfoAnswer& answer);
  /// clReImportSemaphoreSyncFdKHR. CL_INVALID_SEMAPHORE_KHR, or the vendor's error.
  Status import_again(int descriptor);

 private:
  Semaphore(Context& context, Options options, std::unique_ptr<backends::Semaphore> vendor);

  const Ref<Context> context_;
  const Options options_;
  const std::unique_ptr<backends::Semaphore> vendor_;
  mutable Mutex mutex_;
  SemaphoreOrder<CommandRef> order_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::device_virtual
