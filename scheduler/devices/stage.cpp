// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/stage.h"

#include <utility>

#include "base/keep_forever.h"
#include "scheduler/devices/backend_set.h"

namespace tutti::scheduler {
namespace {

constexpr uint64_t kWorthPinnedStaging = 1
                                         << 20;  // bytes: less is copied by the driver in that time

}  // namespace

Stage::Stage(BackendSet& backends, uint32_t backend, uint64_t size)
    : backends_(backends), backend_(backend), size_(size) {
  sent_.reserve(1);  // what has been sent must find its place
}

Stage::~Stage() {
  static_cast<void>(wait());
  // A device that hangs may still read or write there, whatever its commands are said to be.
  if (backends_.at(backend_).hangs()) {
    keep_forever(std::move(pinned_.memory));
    keep_forever(std::move(plain_));
  } else if (pinned_) {
    backends_.pinned().give_back(std::move(pinned_));
  }
}

std::byte* Stage::pinned() {
  if (!pinned_) pinned_ = backends_.pinned().take_stage(backends_.at(backend_), size_);
  return pinned_ ? pinned_.memory->data() : nullptr;
}

std::byte* Stage::memory(uint64_t first) {
  if (plain_) return plain_.get();
  if (pinned_ || first >= kWorthPinnedStaging) {
    if (std::byte* const memory = pinned()) return memory;
  }
  plain_ = std::make_unique_for_overwrite<std::byte[]>(first);
  return plain_.get();
}

Status Stage::wait() {
  Status status;
  for (const auto& one : sent_) {
    Status ended = one->wait();
    if (status) status = std::move(ended);
  }
  sent_.clear();
  return status;
}

}  // namespace tutti::scheduler
