// SPDX-License-Identifier: Apache-2.0
// How a command is enqueued.
#pragma once

#include <CL/cl.h>

#include <span>

#include "base/ref_counted.h"
#include "scheduler/command/command.h"
#include "scheduler/command/command_group.h"

namespace tutti::scheduler {

struct EnqueueOptions {
  cl_command_type type = 0;
  std::span<Command* const> wait_list;
  bool blocking = false;
  bool observed = true;        // somebody gets the event; false: only what follows needs its end
  bool barrier = false;        // later commands of an out-of-order stream wait for this one
  bool waits_for_all = false;  // with an empty wait list: for everything enqueued before (markers,
                               // barriers)
  CommandGroup* group = nullptr;  // it is one of these
  bool ends_group = false;        // it stands for all of them, and comes after them
};

class LaunchableKernel;
class ArgumentSource;
struct LaunchShape;

/// A launch that may repeat an earlier one. The objects live as long as the call.
struct LaunchAgain {
  const LaunchableKernel& kernel;
  const LaunchShape& shape;
  bool local_given = false;
  ArgumentSource& arguments;
  std::span<Command* const> wait_list{};
  CommandGroup* group = nullptr;  // as EnqueueOptions
};

/// Who observes a launch that repeats an earlier one.
struct LaunchObserver {
  cl_command_type type = 0;
  Ref<Command> command{};   // what is observed
  bool ends_group = false;  // as EnqueueOptions
};

}  // namespace tutti::scheduler
