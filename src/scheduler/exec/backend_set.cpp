// SPDX-License-Identifier: Apache-2.0
#include "scheduler/exec/backend_set.h"

namespace tutti::scheduler {

BackendSet::BackendSet(std::vector<std::unique_ptr<backends::Backend>> backends)
    : backends_(std::move(backends)), transfer_queues_(backends_.size()) {}

Result<backends::Queue*> BackendSet::transfer_queue(uint32_t backend) {
  MutexLock lock(mutex_);
  if (!transfer_queues_[backend]) {
    // Made once per device and process; a second thread would need the very same queue.
    TUTTI_ASSIGN(transfer_queues_[backend], backends_[backend]->create_queue({}));
  }
  return transfer_queues_[backend].get();
}

}  // namespace tutti::scheduler
