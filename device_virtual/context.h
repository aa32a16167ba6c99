// SPDX-License-Identifier: Apache-2.0
// A context: what all its objects share. Every object made in it holds a reference, so that it
// outlives them. The engine is the process's. Thread-safe.
#pragma once

#include <CL/cl.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "device_virtual/device.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"
#include "device_virtual/shared_memory.h"
#include "scheduler/engine/engine.h"

namespace tutti::device_virtual {

class CommandQueue;

class Context : public Handle<Context, _cl_context, Kind::kContext> {
 public:
  using Notify = void(CL_CALLBACK*)(const char*, const void*, size_t, void*);
  using Destructor = void(CL_CALLBACK*)(cl_context, void*);

  struct Options {
    std::vector<cl_context_properties> properties;  // as given, with the closing 0; empty if NULL
    Notify notify = nullptr;
    void* user_data = nullptr;
    /// Of a context that shares objects with an OpenGL context: all that it has is there.
    scheduler::BackendLeasePtr lease{};
  };
  /// `devices`: not empty, none twice; with a lease, the root alone, which it is a backend of.
  Context(std::vector<Ref<Device>> devices, scheduler::Engine& engine, Options options);
  ~Context();

  /// In the order in which the application gave them.
  std::span<const Ref<Device>> devices() const { return devices_; }
  bool has(const Device* device) const;
  /// Where kernels of queues on this device of the context's may run.
  scheduler::BackendMask backends_of(const Device& device) const {
    return options_.lease ? behind_ : device.backends();
  }
  bool shares_gl() const { return options_.lease != nullptr; }
  /// What keeps it going where it shares; else null. For whatever outlives the context.
  const scheduler::BackendLeasePtr& lease() const { return options_.lease; }
  /// What stands behind all its devices, and what holds on all of that.
  scheduler::BackendMask backends_behind() const { return behind_; }
  const Capabilities& capabilities() const { return *capabilities_; }
  scheduler::Engine& engine() { return engine_; }
  scheduler::BackendSet& backends() { return engine_.backends(); }

  /// The primary's formats, or those of the next best device that answers, for
  /// clGetSupportedImageFormats and clCreateImage. Kernels that use an image run where its format
  /// is known. `access`: the flags that say what kernels do.
  Result<std::vector<cl_image_format>> image_formats(cl_mem_flags access, cl_mem_object_type type);

  /// The primary: what one device alone can keep is kept there.
  uint32_t home() { return backends().primary(behind_); }
  /// A queue on a device of the context's, for the application; where it is to be the device's
  /// default and that has one already, that one, retained.
  Result<CommandQueue*> create_queue_on(Device& device, cl_command_queue_properties properties,
                                        std::vector<cl_queue_properties> property_list,
                                        cl_uint size);
  /// clSetDefaultDeviceCommandQueue; `queue` is on the device.
  Status set_default_queue(Device& device, CommandQueue& queue);
  /// Null where it has none.
  cl_command_queue default_queue(const Device& device);
  void forget_default_queue(const CommandQueue& queue);

  /// clSVMAlloc at home, and the functions of its kind. `request` has been checked.
  Result<void*> allocate_shared(backends::SharedRequest request, const SharedOrigin& origin);
  /// What that takes of a vendor, and what Buffer takes: memory of this kind on the device `home`.
  Result<std::shared_ptr<backends::SharedMemory>> take_shared(
      const backends::SharedRequest& request, uint32_t home);
  SharedAllocations& shared_memory() { return shared_; }
  /// Buffers that have addresses on the primary, by these, which the host's may be like.
  SharedAllocations& addressed_buffers() { return addressed_; }
  /// Cheap: there is memory that kernels may reach through pointers that they find.
  bool any_reachable() const { return shared_.any() || addressed_.any(); }

  /// All that was enqueued to a queue of the context has ended. A queue's streams are those that
  /// are noted here.
  void finish_queues();
  void note_stream(Ref<scheduler::Stream> stream);
  void forget_stream(const scheduler::Stream& stream);

  Status info(cl_context_info what, const InfoAnswer& answer) const;
  void add_destructor(Destructor function, void* user_data);
  /// Tells the application (pfn_notify of clCreateContext), if it asked for that.
  void notify(const std::string& message) const;

 private:
  const Options options_;  // first, for the lease
  const std::vector<Ref<Device>> devices_;
  const scheduler::BackendMask behind_;
  const std::shared_ptr<const Capabilities> capabilities_;
  scheduler::Engine& engine_;
  SharedAllocations shared_;
  SharedAllocations addressed_;
  Mutex mutex_;
  // The application's, which forget themselves here.
  std::map<const Device*, CommandQueue*> default_queues_ TUTTI_GUARDED_BY(mutex_);
  std::vector<Ref<scheduler::Stream>> streams_ TUTTI_GUARDED_BY(mutex_);
  std::vector<std::pair<Destructor, void*>> destructors_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::device_virtual
