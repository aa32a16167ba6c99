// SPDX-License-Identifier: Apache-2.0
// The composition root: the one place that names concrete backends. Makes, at the first call, the
// real devices, the virtual platform and its device; nothing of it is ever destroyed, since
// vendors' libraries do not survive being called during process exit. Thread-safe.
#pragma once

#include <atomic>

#include "scheduler/engine/engine.h"

namespace tutti::device_virtual {
class Device;
}

namespace tutti::platform {

class Platform;

struct Composition {
  scheduler::BackendSet* backends = nullptr;
  scheduler::Engine* engine = nullptr;
  Platform* platform = nullptr;
  device_virtual::Device* device = nullptr;
};

/// Null when there is no real device to stand behind the platform (the log says why).
const Composition* composition();

namespace composition_detail {
extern std::atomic<bool> forked_child;
}

/// True in a child process forked after composition() was first called: the vendors' threads and
/// locks did not come along, so every entry point answers with an error there.
inline bool is_forked_child() noexcept {
  return composition_detail::forked_child.load(std::memory_order_relaxed);
}

}  // namespace tutti::platform
