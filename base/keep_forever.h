// SPDX-License-Identifier: Apache-2.0
// For what must outlive every destructor, since threads and vendors' libraries still use it while
// the process ends.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"

namespace tutti {

/// An object of static storage duration that is never destroyed, and needs no memory of its own.
template <class T>
class NeverDestroyed {
 public:
  NeverDestroyed() : object_(::new (memory_) T()) {}
  NeverDestroyed(const NeverDestroyed&) = delete;
  NeverDestroyed& operator=(const NeverDestroyed&) = delete;

  T& operator*() { return *object_; }
  T* operator->() { return object_; }

 private:
  alignas(T) std::byte memory_[sizeof(T)];
  T* const object_;
};

/// Never destroyed, but reachable: leak checkers see that it is meant. Thread-safe.
template <class T>
T* keep_forever(std::unique_ptr<T> object) {
  static auto* mutex = new Mutex;
  static auto* kept = new std::vector<std::unique_ptr<T>>;
  MutexLock lock(*mutex);
  kept->push_back(std::move(object));
  return kept->back().get();
}

}  // namespace tutti
