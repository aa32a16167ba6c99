// SPDX-License-Identifier: Apache-2.0
// Checks of the events' entry points. Pure functions, thread-safe.
#pragma once

#include "icd/validate/common.h"

namespace tutti::icd::validate {

Result<device_virtual::Event*> set_user_event_status(cl_event event, cl_int status);
Result<device_virtual::Event*> set_event_callback(cl_event event, cl_int type, const void* notify);

/// The events' common context; their commands go to `list`.
Result<device_virtual::Context*> wait_for_events(cl_uint count, const cl_event* events,
                                                 WaitList& list);

}  // namespace tutti::icd::validate
