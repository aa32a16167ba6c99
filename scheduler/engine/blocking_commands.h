// SPDX-License-Identifier: Apache-2.0
// Commands that the application waits for where it enqueues them: no kernels. They are executed in
// the calling thread, or by the vendor behind what the stream has there. Thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "scheduler/command/enqueue_options.h"
#include "scheduler/engine/command_ends.h"
#include "scheduler/run/chains.h"
#include "scheduler/run/host_execution.h"

namespace tutti::scheduler {

class BlockingCommands {
 public:
  /// Of the engine, for as long as this lives.
  struct Parts {
    BackendSet& backends;
    CommandLog& log;
    RunTrace& trace;
    const Executor& executor;
    const DirectPath& direct;
    HostExecution& host;
    RunningSplits& splits;
    LaunchBatches* batches;  // null: there are none
    CommandEnds& ends;
    Chains& chains;
  };
  explicit BlockingCommands(const Parts& parts) : parts_(parts), log_(parts.log) {}

  /// In the calling thread, in its turn. CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST when what it
  /// waited for has failed.
  Result<Ref<Node>> run(Stream& stream, Ref<Node> command, const EnqueueOptions& options);
  /// Runs a small read behind what its stream has on the device that holds the data, if it has
  /// anything, outside the log's order: the vendor's queue keeps it, and the application waits once
  /// for both. Likewise a map of what the host's copy has, once the stream's batch is idle. Absent:
  /// it takes the usual way.
  std::optional<Status> run_behind(Stream& stream, const Ref<Node>& command);

 private:
  /// Where run_behind() reads.
  struct Source {
    Ref<Node> before;  // in the vendor's queue; null: there is nothing
    uint32_t backend = 0;
    bool at_host = false;
  };
  /// Holds what is read, if nothing stands in the way but what the queue keeps ahead of it.
  std::optional<Source> hold_source(Stream& stream, const Ref<Node>& command,
                                    LogicalBuffer& buffer);
  /// Where the host's copy has what is mapped, the stream's batch ends and is idle. False: it has
  /// not.
  bool finish_before(Stream& stream, const MapWork& map);
  /// A read has read: whether something of that is computed anew, which has ended then. From now on
  /// nothing is.
  bool made_anew(Node& read) TUTTI_EXCLUDES(log_.mutex());
  Status read_from(Stream& stream, uint32_t backend, const ReadWork& read);
  /// Appends the command; what it waits for. Absent: something that was named has failed.
  std::optional<Edges> append(Stream& stream, const Ref<Node>& command,
                              const EnqueueOptions& options, bool& ready);
  /// Waits until nobody else uses what the command does, which it then holds. The error of content
  /// that it would read; CL_SUCCESS: none has failed.
  cl_int hold(Node& command);

  const Parts parts_;
  CommandLog& log_;
};

}  // namespace tutti::scheduler
