// SPDX-License-Identifier: Apache-2.0
#include "base/memory_reserve.h"

#include <array>
#include <new>

#include "base/thread_annotations.h"

namespace tutti {

namespace memory_reserve_detail {
thread_local constinit unsigned users [[gnu::tls_model("initial-exec")]] = 0;
std::atomic<bool> full{false};
}  // namespace memory_reserve_detail

namespace {

/// Blocks that operator new has made, which anybody may delete.
template <size_t kBytes, size_t kCount>
struct Blocks {
  std::array<void*, kCount> blocks{};
  size_t left = 0;

  bool fill() {
    while (left < kCount) {
      void* const block = ::operator new(kBytes, std::nothrow);
      if (block == nullptr) return false;
      blocks[left++] = block;
    }
    return true;
  }
  void* take(size_t bytes) { return bytes <= kBytes && left > 0 ? blocks[--left] : nullptr; }
};

struct Reserve {
  Mutex mutex;  // a leaf
  Blocks<64, 256> smallest TUTTI_GUARDED_BY(mutex);
  Blocks<256, 128> small TUTTI_GUARDED_BY(mutex);
  Blocks<1024, 32> middle TUTTI_GUARDED_BY(mutex);
  Blocks<4096, 16> large TUTTI_GUARDED_BY(mutex);
  Blocks<16384, 4> largest TUTTI_GUARDED_BY(mutex);
};

// Constant-initialised, and never destroyed: threads use it while the process ends.
constinit Reserve reserve;

}  // namespace

Status memory_reserve_detail::fill() noexcept {
  const MutexLock lock(reserve.mutex);
  if (!reserve.smallest.fill() || !reserve.small.fill() || !reserve.middle.fill() ||
      !reserve.large.fill() || !reserve.largest.fill()) {
    return fail(CL_OUT_OF_HOST_MEMORY);
  }
  full.store(true, std::memory_order_relaxed);
  return {};
}

void* take_from_reserve(size_t bytes) noexcept {
  if (memory_reserve_detail::users == 0) return nullptr;
  const MutexLock lock(reserve.mutex);
  memory_reserve_detail::full.store(false, std::memory_order_relaxed);
  void* block = reserve.smallest.take(bytes);
  if (block == nullptr) block = reserve.small.take(bytes);
  if (block == nullptr) block = reserve.middle.take(bytes);
  if (block == nullptr) block = reserve.large.take(bytes);
  if (block == nullptr) block = reserve.largest.take(bytes);
  return block;
}

}  // namespace tutti
