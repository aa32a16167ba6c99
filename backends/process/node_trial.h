// SPDX-License-Identifier: Apache-2.0
// Whether a device of another host is good enough: servers and clients of different versions
// understand each other by luck. Stateless.
#pragma once

#include "backends/api/backend.h"

namespace tutti::backends::process {

/// Builds a kernel, gives it rows of a buffer, launches it with an offset, and compares every byte
/// of what comes back. An error says what is wrong.
Status try_node(Backend& device);

/// What is given takes the place of what is measured; with all of it nothing is.
struct LinkHints {
  double round_trip = 0, rate = 0;  // seconds, bytes per second; 0: not given
};

/// What the way to the device and back takes: the least of a few short reads, and the best of
/// writes and reads that grow until they take a tenth of a second, or have 4 MiB.
Result<DeviceLink> measure_link(Backend& device, const LinkHints& hints = {});

}  // namespace tutti::backends::process
