// SPDX-License-Identifier: Apache-2.0
// The performance model has new samples: has them written once enough time has passed.
#pragma once

#include "scheduler/devices/workers.h"
#include "scheduler/model/performance_model.h"

namespace tutti::scheduler {

inline void keep_if_due(PerformanceModel& model, Workers& workers) {
  if (model.wants_flush()) workers.host().post_hint([&model] { model.flush(); });
}

}  // namespace tutti::scheduler
