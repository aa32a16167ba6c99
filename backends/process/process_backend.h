// SPDX-License-Identifier: Apache-2.0
// A real device that a helper process drives: a driver that crashes, hangs or brings libraries that
// the application cannot have beside its own costs the device, and not the application. What is the
// address or the handle of something in a process (shared virtual memory, semaphores, queues on the
// device) the device does not offer. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "backends/api/backend.h"
#include "backends/process/channel.h"

namespace tutti::backends::process {

/// Where a helper finds the device, and how it is to be driven.
struct ProcessDevice {
  HelperSubject subject;
  std::string name;  // the device's; another device in its place is refused
  Service service;
  CallBounds bounds;
};

/// One that is away: all calls of it fail until renew() finds it, by what was known of it before.
/// `reason`: why.
Result<std::unique_ptr<Backend>> drive_when_there(ProcessDevice device, DeviceTraits traits,
                                                  const std::string& reason);

/// `helper` may have loaded the driver already; else one is started. Tries the device out.
Result<std::unique_ptr<Backend>> drive_in_process(ProcessDevice device, StartedHelper helper);

}  // namespace tutti::backends::process
