// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/workers.h"

#include "scheduler/devices/place.h"

namespace tutti::scheduler {

Workers::Workers() {
  // For parts of devices to come, too.
  for (uint32_t i = 0; i < kMostBackends; ++i) {
    devices_.push_back(std::make_unique<Worker>("tutti-dev" + std::to_string(i)));
  }
}

}  // namespace tutti::scheduler
