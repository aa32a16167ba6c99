// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/handle.h"

#include <algorithm>
#include <cassert>

namespace tutti::device_virtual {

const void* g_dispatch = nullptr;

namespace {
constexpr size_t kHandlesPerChunk = 64;
}

HandlePool::HandlePool(size_t object_size, size_t alignment)
    : stride_((object_size + alignment - 1) / alignment * alignment),
      alignment_(std::max(alignment, alignof(std::max_align_t))) {
  assert(alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}

void* HandlePool::take() {
  const MutexLock lock(mutex_);
  if (free_ == nullptr) {
    // The first `alignment_` bytes link the chunks.
    auto* chunk = static_cast<std::byte*>(::operator new(alignment_ + stride_ * kHandlesPerChunk));
    *reinterpret_cast<void**>(chunk) = newest_chunk_;
    newest_chunk_ = chunk;
    for (size_t i = kHandlesPerChunk; i-- > 0;) {
      auto* head = new (chunk + alignment_ + i * stride_) HandleHead;
      head->reserved = free_;
      free_ = head;
    }
  }
  HandleHead* head = free_;
  free_ = static_cast<HandleHead*>(head->reserved);
  return head;
}

void HandlePool::give(void* memory) noexcept {
  auto* head = new (memory) HandleHead;  // tag 0: dead
  head->dispatch = g_dispatch;           // loaders jump through dead handles too
  const MutexLock lock(mutex_);
  head->reserved = free_;
  free_ = head;
}

}  // namespace tutti::device_virtual
