// SPDX-License-Identifier: Apache-2.0
// The engine: command log, direct path and conducted path behind one class; what device_virtual
// calls. Thread-safe. One per process in the driver, never destroyed there (worker threads and
// forgotten commands may outlive every context); tests make and destroy their own.
#pragma once

#include <CL/cl.h>

#include <memory>
#include <optional>
#include <span>

#include "base/ref_counted.h"
#include "base/result.h"
#include "scheduler/command/command.h"
#include "scheduler/command/enqueue_options.h"
#include "scheduler/command/launched_arguments.h"
#include "scheduler/command/work.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/order/stream.h"
#include "scheduler/plan/planner.h"

namespace tutti::scheduler {

class Engine {
 public:
  Engine(BackendSet& backends, EngineSettings settings);
  ~Engine();

  BackendSet& backends() { return backends_; }

  /// With that content (CL_MEM_COPY_HOST_PTR), in the layout of the host's copy; null: none.
  /// CL_MEM_OBJECT_ALLOCATION_FAILURE / CL_OUT_OF_HOST_MEMORY when memory is lacking.
  Result<Ref<LogicalBuffer>> create_buffer(const LogicalBuffer::Options& options,
                                           const void* content = nullptr);
  /// Before such memory is asked for: what buffers have on its home goes for it, as far as there is
  /// no room and nobody uses them.
  void make_room(const backends::SharedRequest& wanted, uint32_t home);
  Ref<Stream> create_stream(StreamOptions options);
  /// The application has given the stream up: its commands still run, and are finished by the
  /// engine's own threads.
  void abandon(Stream& stream);

  /// The application has released a kernel or memory: what was kept for launches like those before
  /// lets go of it.
  void released();

  /// Appends a command. On error nothing was enqueued, except for blocking commands, whose own
  /// failure is returned (CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST when a dependency failed).
  Result<Ref<Command>> enqueue(Stream& stream, Work&& work, const EnqueueOptions& options);
  Result<Ref<Command>> enqueue(Stream& stream, KernelWork&& work, const EnqueueOptions& options);

  /// A launch, if it waits for nothing but its turn, and differs from one that the in-order stream
  /// has had of late in numbers among its arguments only, and nobody has touched its buffers since.
  /// Absent: it is none, and was not enqueued. Nothing of it need be checked: that was found valid
  /// then. `observer`: null when nobody observes it.
  std::optional<Status> launch_again(Stream& stream, const LaunchAgain& launch,
                                     LaunchObserver* observer = nullptr);

  Ref<Command> create_user_command();
  /// status: CL_COMPLETE or negative. CL_INVALID_OPERATION when it was set already.
  Status set_user_status(Command& command, cl_int status);

  /// Waits for all. CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST when any failed.
  Status wait(std::span<Command* const> commands);
  Status flush(Stream& stream);
  /// CL_OUT_OF_RESOURCES, once, when a command failed that nobody could have asked.
  Status finish(Stream& stream);

  /// Takes the last readings, and writes what is kept and the summary. For process exit.
  void write_out();

 private:
  struct Parts;  // which engine.cpp alone knows

  BackendSet& backends_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tutti::scheduler
