// SPDX-License-Identifier: Apache-2.0
// Allocations and thread creations of libtutti.so that fail: LD_PRELOAD this library. Those of the
// application, the vendors, LLVM and libc never do; what libstdc++ allocates on behalf of libtutti
// (the text of a string) is libtutti's.
//
// TUTTI_TEST_FAILING: `allocation:NUMBER[:COUNT]`, `thread:NUMBER[:COUNT]`: so many from that one
// on, counted from 1 over the process. `way:HASH[:COUNT]`: those that are reached by that way,
// which is the chain of calls within libtutti.so; `count` notes the ways.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* before, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

struct Text {
  std::atomic<uintptr_t> begin{0}, end{0};
  bool holds(uintptr_t address) const {
    return address >= begin.load(std::memory_order_relaxed) &&
           address < end.load(std::memory_order_relaxed);
  }
};
Text tutti_text, library_text;  // libtutti.so, libstdc++.so
uintptr_t tutti_base = 0;

enum class Kind { kAllocation, kThread, kWay, kCount, kNothing };
Kind planned = Kind::kNothing;
long first_number = 0, last_number = 0;
unsigned long planned_way = 0;
bool shows = false;

std::atomic<long> allocations{0}, threads{0}, on_way{0}, happened{0};
constexpr size_t kMostNoted = 1 << 20;
std::atomic<uint64_t>* ways = nullptr;  // of each allocation, by its number

__attribute__((constructor)) void read_plan() {
  const char* text = std::getenv("TUTTI_TEST_FAILING");
  if (text == nullptr) return;
  shows = std::getenv("TUTTI_TEST_FAILING_SHOWN") != nullptr;
  if (std::strcmp(text, "count") == 0) {
    void* memory = mmap64(nullptr, kMostNoted * sizeof *ways, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) ways = static_cast<std::atomic<uint64_t>*>(memory);
    planned = Kind::kCount;
    return;
  }
  if (std::strncmp(text, "way:", 4) == 0) {
    first_number = last_number = 1;
    if (std::sscanf(text, "way:%lx:%ld", &planned_way, &last_number) < 1) std::abort();
    planned = Kind::kWay;
    return;
  }
  char kind[16] = {};
  long count = 1;
  if (std::sscanf(text, "%15[a-z]:%ld:%ld", kind, &first_number, &count) < 2) std::abort();
  planned = std::strcmp(kind, "thread") == 0 ? Kind::kThread : Kind::kAllocation;
  last_number = first_number + count - 1;
}

int look_at_object(dl_phdr_info* info, size_t, void*) {
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* name = slash != nullptr ? slash + 1 : info->dlpi_name;
  const bool tutti = std::strcmp(name, "libtutti.so") == 0;
  if (!tutti && std::strncmp(name, "libstdc++.so", 12) != 0) return 0;
  Text& text = tutti ? tutti_text : library_text;
  if (tutti) tutti_base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    text.end.store(info->dlpi_addr + header.p_vaddr + header.p_memsz, std::memory_order_relaxed);
    text.begin.store(info->dlpi_addr + header.p_vaddr, std::memory_order_relaxed);
  }
  return 0;
}

thread_local bool inside = false;

/// The innermost frame outside of this library and libstdc++.
uintptr_t caller_behind_library(uintptr_t direct) {
  if (!library_text.holds(direct)) return direct;
  struct Found {
    uintptr_t direct, caller;
    bool reached;
  } found{direct, 0, false};
  const auto look = [](_Unwind_Context* context, void* data) -> _Unwind_Reason_Code {
    auto& seen = *static_cast<Found*>(data);
    const uintptr_t address = _Unwind_GetIP(context);
    seen.reached |= address == seen.direct;
    if (!seen.reached || library_text.holds(address)) return _URC_NO_REASON;
    seen.caller = address;
    return _URC_END_OF_STACK;
  };
  _Unwind_Backtrace(look, &found);
  return found.caller;
}

/// A number for the way by which the call was reached, as far as it lies in libtutti.so.
uint64_t way_here() {
  struct Seen {
    uint64_t hash = 14695981039346656037ULL;
    int frames = 0;
  } seen;
  const auto look = [](_Unwind_Context* context, void* data) -> _Unwind_Reason_Code {
    auto& all = *static_cast<Seen*>(data);
    const uintptr_t address = _Unwind_GetIP(context);
    if (tutti_text.holds(address)) {
      all.hash = (all.hash ^ (address - tutti_base)) * 1099511628211ULL;
      if (++all.frames == 24) return _URC_END_OF_STACK;
    }
    return _URC_NO_REASON;
  };
  _Unwind_Backtrace(look, &seen);
  return seen.hash;
}

void show_way() {
  const auto look = [](_Unwind_Context* context, void*) -> _Unwind_Reason_Code {
    const uintptr_t address = _Unwind_GetIP(context);
    if (tutti_text.holds(address)) dprintf(2, " %#lx", address - tutti_base - 1);
    return _URC_NO_REASON;
  };
  dprintf(2, "failing in libtutti.so at");
  _Unwind_Backtrace(look, nullptr);
  dprintf(2, "\n");
}

/// Whether this call, which returns to `address`, is to fail.
bool fails(Kind kind, void* address) {
  if (planned == Kind::kNothing || inside) return false;
  if (tutti_text.begin.load(std::memory_order_relaxed) == 0) {
    inside = true;
    dl_iterate_phdr(look_at_object, nullptr);
    inside = false;
    if (tutti_text.begin.load(std::memory_order_relaxed) == 0) return false;
  }
  inside = true;
  bool result = false;
  if (tutti_text.holds(caller_behind_library(reinterpret_cast<uintptr_t>(address)))) {
    const long number = (kind == Kind::kThread ? threads : allocations).fetch_add(1) + 1;
    result = planned == kind && number >= first_number && number <= last_number;
    if (planned == Kind::kWay && kind == Kind::kAllocation && way_here() == planned_way) {
      result = on_way.fetch_add(1) < last_number;
    }
    if (ways != nullptr && kind == Kind::kAllocation && number < static_cast<long>(kMostNoted)) {
      ways[number].store(way_here(), std::memory_order_relaxed);
    }
    if (result) happened.fetch_add(1);
    if (result && shows) show_way();
  }
  inside = false;
  return result;
}

void* allocated(size_t size, void* address) {
  void* memory = fails(Kind::kAllocation, address) ? nullptr : __libc_malloc(size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int failing_happened() {
  return static_cast<int>(happened.load());
}

/// `allocations threads`, and with `count` a line for each allocation: the way that led there.
__attribute__((visibility("default"))) void failing_counts() {
  const long all = allocations.load();
  std::printf("%ld %ld\n", all, threads.load());
  for (long i = 1; ways != nullptr && i <= all && i < static_cast<long>(kMostNoted); ++i) {
    std::printf("%016lx\n", static_cast<unsigned long>(ways[i].load()));
  }
}

__attribute__((visibility("default"))) void* malloc(size_t size) {
  if (fails(Kind::kAllocation, __builtin_return_address(0))) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t size) {
  if (fails(Kind::kAllocation, __builtin_return_address(0))) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_calloc(count, size);
}
__attribute__((visibility("default"))) void* realloc(void* before, size_t size) {
  if (fails(Kind::kAllocation, __builtin_return_address(0))) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_realloc(before, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t size) {
  if (fails(Kind::kAllocation, __builtin_return_address(0))) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_memalign(alignment, size);
}
// The stacks of threads, and large memory of the host.
__attribute__((visibility("default"))) void* mmap64(void* address, size_t length, int protection,
                                                    int flags, int file, off64_t offset) {
  if (fails(Kind::kAllocation, __builtin_return_address(0))) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  using Call = void*(void*, size_t, int, int, int, off64_t);
  static auto* const real = reinterpret_cast<Call*>(dlsym(RTLD_NEXT, "mmap64"));
  return real(address, length, protection, flags, file, offset);
}
__attribute__((visibility("default"))) void* mmap(void* address, size_t length, int protection,
                                                  int flags, int file, off_t offset) {
  if (fails(Kind::kAllocation, __builtin_return_address(0))) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  using Call = void*(void*, size_t, int, int, int, off_t);
  static auto* const real = reinterpret_cast<Call*>(dlsym(RTLD_NEXT, "mmap"));
  return real(address, length, protection, flags, file, offset);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                          const pthread_attr_t* attributes,
                                                          void* (*main)(void*), void* argument) {
  if (fails(Kind::kThread, __builtin_return_address(0))) return EAGAIN;
  using Call = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const real = reinterpret_cast<Call*>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, main, argument);
}

}  // extern "C"

__attribute__((visibility("default"))) void* operator new(size_t size) {
  return allocated(size, __builtin_return_address(0));
}
__attribute__((visibility("default"))) void* operator new[](size_t size) {
  return allocated(size, __builtin_return_address(0));
}
__attribute__((visibility("default"))) void* operator new(size_t size,
                                                          const std::nothrow_t&) noexcept {
  if (fails(Kind::kAllocation, __builtin_return_address(0))) return nullptr;
  return __libc_malloc(size > 0 ? size : 1);
}
__attribute__((visibility("default"))) void* operator new(size_t size, std::align_val_t alignment) {
  void* memory = fails(Kind::kAllocation, __builtin_return_address(0))
                     ? nullptr
                     : __libc_memalign(static_cast<size_t>(alignment), size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
