// SPDX-License-Identifier: Apache-2.0
// A device whose calls are waited for no longer than is said. After the first that exceeds it the
// device hangs (Backend::hangs), for as long as the process lives: whatever it was given may still
// be carried out at any time. Its calls fail with CL_DEVICE_NOT_AVAILABLE, and its commands, too.
// Calls are made in threads of ours, which costs some microseconds each; blocking transfers go by
// way of memory that may be kept for ever. What links objects is not bounded. Thread-safe as the
// device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backends/api/backend.h"

namespace tutti::backends {

/// Nanoseconds.
struct Deadlines {
  uint64_t calls = 0;
  uint64_t builds = 0;  // of a program; 0: none
};
/// `make`, which tries the device out, is such a call, too.
Result<std::unique_ptr<Backend>> with_deadline(const std::string& name, const Deadlines& deadlines,
                                               std::function<std::unique_ptr<Backend>()> make);

}  // namespace tutti::backends
