// SPDX-License-Identifier: Apache-2.0
// What this library's code calls as operator new (the linker's --wrap): the process's own, and
// where that has no memory, the reserve, whose blocks are of that very kind.
#include <cstddef>
#include <new>

#include "base/memory_reserve.h"

extern "C" {

// operator new and operator new[], by their names in the object files.
void* __real__Znwm(size_t bytes);
void* __real__Znam(size_t bytes);
void* __wrap__Znwm(size_t bytes);
void* __wrap__Znam(size_t bytes);

void* __wrap__Znwm(size_t bytes) {
  try {
    return __real__Znwm(bytes);
  } catch (const std::bad_alloc&) {
    if (void* reserved = tutti::take_from_reserve(bytes)) return reserved;
    throw;
  }
}

void* __wrap__Znam(size_t bytes) {
  try {
    return __real__Znam(bytes);
  } catch (const std::bad_alloc&) {
    // Nobody replaces one form of operator delete and not the other.
    if (void* reserved = tutti::take_from_reserve(bytes)) return reserved;
    throw;
  }
}

}  // extern "C"
