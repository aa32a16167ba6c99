// SPDX-License-Identifier: Apache-2.0
// Memory for what has begun, and must come to an end. Who begins something first sees to it that
// the reserve is full, and fails where it cannot be filled; from then on small allocations do not
// fail. In libtutti.so alone, whose operator new asks here (icd/reserved_new.cpp): elsewhere there
// is no reserve, and an allocation that fails does so. Thread-safe; where it is full, that costs a
// load.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>

#include "base/result.h"

namespace tutti {

namespace memory_reserve_detail {
extern thread_local constinit unsigned users [[gnu::tls_model("initial-exec")]];
extern std::atomic<bool> full;
Status fill() noexcept;
}  // namespace memory_reserve_detail

/// CL_OUT_OF_HOST_MEMORY where there is no memory for it.
inline Status fill_memory_reserve() noexcept {
  if (memory_reserve_detail::full.load(std::memory_order_relaxed)) [[likely]]
    return {};
  return memory_reserve_detail::fill();
}

/// While one lives, what the calling thread allocates comes from the reserve where there is no
/// memory otherwise: up to some kilobytes at a time, as long as it lasts.
class MemoryReserved {
 public:
  MemoryReserved() noexcept { ++memory_reserve_detail::users; }
  ~MemoryReserved() { --memory_reserve_detail::users; }
  MemoryReserved(const MemoryReserved&) = delete;
  MemoryReserved& operator=(const MemoryReserved&) = delete;
};

/// The same for code that may not fail for want of memory: destructors, and libraries whose
/// functions are noexcept. Throws std::bad_alloc first, where the reserve is not full.
class MemoryEnsured {
 public:
  MemoryEnsured() {
    if (!fill_memory_reserve()) throw std::bad_alloc();
  }

 private:
  const MemoryReserved reserved_;
};

/// For operator new, where it has no memory: a block of its own kind, or null.
void* take_from_reserve(size_t bytes) noexcept;

}  // namespace tutti
