// SPDX-License-Identifier: Apache-2.0
// Whether a device of another host is good enough: servers and clients of different versions
// understand each other by luck. Stateless.
#pragma once

#include "backends/api/backend.h"

namespace tutti::backends::process {

/// Builds a kernel, gives it rows of a buffer, launches it with an offset, and compares every byte
/// of what comes back. An error says what is wrong.
Status try_node(Backend& device);

/// What the way to the device and back takes: the least of a few short reads, and writes and reads
/// that grow until they take several times as long, or a tenth of a second, or have 4 MiB.
Result<DeviceLink> measure_link(Backend& device);

}  // namespace tutti::backends::process
