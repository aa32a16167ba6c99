// SPDX-License-Identifier: Apache-2.0
// Nothing of this library is destroyed when the process exits: a compile may be under way in any
// thread then, also for a call that exit() has interrupted, and LLVM's static objects must not go
// under it. Their destructors would be registered here; the library itself is never unloaded.

extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) {
  return 0;
}
