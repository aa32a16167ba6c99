// SPDX-License-Identifier: Apache-2.0
// What the virtual device offers to share objects with other interfaces: what its only device does.
// Pure functions, but for the questions to the vendor.
#pragma once

#include <CL/cl.h>

#include <vector>

#include "platform/device_answers.h"

namespace tutti::platform {

/// Fills `caps.sharing`, and answers what the extensions have to be asked, which it returns.
/// Nothing of it where `device` is not alone.
std::vector<cl_name_version> put_sharing(Answers& answers, Capabilities& caps,
                                         const DeviceFacts& device);

}  // namespace tutti::platform
