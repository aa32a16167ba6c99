// SPDX-License-Identifier: Apache-2.0
// For what must outlive every destructor, since threads and vendors' libraries still use it while
// the process ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

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

/// Never destroyed, but reachable: leak checkers see that it is meant. Thread-safe, and of use to
/// destructors: where memory ends, the object stays all the same.
template <class T>
auto keep_forever(std::unique_ptr<T> object) noexcept {
  struct Kept {
    std::unique_ptr<T> object;
    Kept* before;
  };
  static std::atomic<Kept*> last{nullptr};
  const auto place = object.get();
  Kept* const kept = new (std::nothrow) Kept{std::move(object), last.load()};
  if (!kept) return object.release();
  while (!last.compare_exchange_weak(kept->before, kept)) {
  }
  return place;
}

}  // namespace tutti
