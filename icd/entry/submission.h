// SPDX-License-Identifier: Apache-2.0
// How the entry points of commands describe the enqueuing.
#pragma once

#include "device_virtual/command_queue.h"
#include "icd/validate/common.h"

namespace tutti::icd {

inline device_virtual::Submission submission(cl_command_type type, const validate::WaitList& list,
                                             cl_event* event, bool blocking = false) {
  device_virtual::Submission result;
  result.type = type;
  result.wait_list = list.commands();
  result.event = event;
  result.blocking = blocking;
  return result;
}

}  // namespace tutti::icd
