// SPDX-License-Identifier: Apache-2.0
#include "scheduler/command/launched_arguments.h"

#include <algorithm>
#include <utility>

#include "base/small_bytes.h"

namespace tutti::scheduler {
namespace {

using Kind = ArgumentSlot::Kind;

bool same_object(const ArgumentSlot& a, const ArgumentSlot& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::kUnset:
      return false;
    case Kind::kBytes:
      return a.bytes.size() == b.bytes.size();
    case Kind::kLocal:
      return a.local_size == b.local_size;
    case Kind::kBuffer:
    case Kind::kReached:
      return a.view.buffer == b.view.buffer && a.view.origin == b.view.origin &&
             a.view.size == b.view.size && a.image == b.image;
    case Kind::kSampler:
      return a.sampler == b.sampler;
    case Kind::kQueue:
      return a.queue == b.queue;
  }
  return false;
}

}  // namespace

void LaunchedArguments::remember(std::shared_ptr<const ArgumentSet> set) {
  set_ = std::move(set);
  version_ = set_->version;
  numbers_.resize(set_->size());
  for (size_t i = 0; i < set_->size(); ++i) numbers_[i] = (*set_)[i].bytes;
}

bool LaunchedArguments::same_objects(const ArgumentSet& set) const {
  return set_ && std::equal(set_->begin(), set_->end(), set.begin(), set.end(), &same_object);
}

bool LaunchedArguments::take_numbers(const ArgumentSet& set) {
  if (set.size() != set_->size()) return false;
  version_ = kNone;
  for (size_t i = 0; i < set.size(); ++i) {
    const ArgumentSlot& slot = set[i];
    if (!same_object((*set_)[i], slot)) return false;
    if (slot.kind != Kind::kBytes) continue;
    copy_bytes({numbers_[i].data(), numbers_[i].size()}, {slot.bytes.data(), slot.bytes.size()});
  }
  version_ = set.version;
  return true;
}

}  // namespace tutti::scheduler
