// SPDX-License-Identifier: Apache-2.0
// Tells whether a signal handler has interrupted the allocator: glibc's locks are not recursive, so
// whatever frees memory in an exit handler then waits for ever, natively, too.
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>

#include "work.h"

namespace tutti::endings {
namespace {

thread_local volatile sig_atomic_t calls = 0;

struct Call {
  Call() { calls = calls + 1; }
  ~Call() { calls = calls - 1; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

}  // namespace

bool allocator_is_interrupted() { return calls > 0; }

}  // namespace tutti::endings

// A sanitizer has an allocator of its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* pointer, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* pointer);

void* malloc(size_t size) noexcept {
  const tutti::endings::Call call;
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) noexcept {
  const tutti::endings::Call call;
  return __libc_calloc(count, size);
}

void* realloc(void* pointer, size_t size) noexcept {
  const tutti::endings::Call call;
  return __libc_realloc(pointer, size);
}

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  const tutti::endings::Call call;
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** pointer, size_t alignment, size_t size) noexcept {
  const tutti::endings::Call call;
  void* const memory = __libc_memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *pointer = memory;
  return 0;
}

void free(void* pointer) noexcept {
  const tutti::endings::Call call;
  __libc_free(pointer);
}

}  // extern "C"

#endif
