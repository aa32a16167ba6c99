// SPDX-License-Identifier: Apache-2.0
// Whether kernels on a device compute rightly with pointers that are shifted before the memory that
// they lead into (scheduler/access/shard_argument.h): tried once per device, when that is first
// asked. Thread-safe; who asks meanwhile waits.
#pragma once

#include "base/thread_annotations.h"
#include "scheduler/devices/per_backend.h"

namespace tutti::scheduler {

class BackendSet;

class ShardProbe {
 public:
  explicit ShardProbe(uint32_t real_devices) : answers_(real_devices) {}
  /// Takes the device's compiler's time at the first call.
  bool passed(BackendSet& backends, uint32_t backend) TUTTI_EXCLUDES(mutex_);

 private:
  enum class Answer : uint8_t { kNotAsked, kYes, kNo };
  Mutex mutex_;  // held while a device is tried: it guards nothing that a vendor could need
  PerBackend<Answer> answers_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::scheduler
