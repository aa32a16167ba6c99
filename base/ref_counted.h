// SPDX-License-Identifier: Apache-2.0
// Intrusive reference counts for internal ownership. (What an application sees of its objects'
// counts is a count of its own, kept by the API objects.) Counting is thread-safe; a single Ref is
// no more so than a plain pointer.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tutti {

/// Base of counted objects. A new object has count 1, which belongs to its maker (make_ref, adopt).
class RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const noexcept { references_.fetch_add(1, std::memory_order_relaxed); }

  /// For who knows the object without owning a reference, and that its memory is there: false when
  /// the last reference is gone.
  [[nodiscard]] bool try_retain() const noexcept {
    uint32_t count = references_.load(std::memory_order_relaxed);
    while (count != 0) {
      if (references_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  /// Gives one reference back; the last one deletes the object.
  void release() const noexcept {
    // acq_rel: the deleting thread must see what every other owner wrote before it let go.
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  /// For diagnostics and tests only: stale as soon as it is read.
  uint32_t references() const noexcept { return references_.load(std::memory_order_relaxed); }

 protected:
  RefCounted() = default;
  virtual ~RefCounted() = default;

 private:
  mutable std::atomic<uint32_t> references_{1};
};

/// Owns one reference to T, a class derived from RefCounted (or with the same two functions).
template <typename T>
class Ref {
 public:
  Ref() noexcept = default;
  Ref(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor): as a pointer
  /// Shares: takes a reference of its own.
  explicit Ref(T* object) noexcept : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) noexcept : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <typename U>
  Ref(const Ref<U>& other) noexcept : Ref(static_cast<T*>(other.get())) {}
  template <typename U>
  Ref(Ref<U>&& other) noexcept : object_(other.detach()) {}
  ~Ref() {
    if (object_) object_->release();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  /// Takes over a reference that the caller owns.
  static Ref adopt(T* object) noexcept {
    Ref result;
    result.object_ = object;
    return result;
  }
  /// Hands the reference to the caller.
  [[nodiscard]] T* detach() noexcept { return std::exchange(object_, nullptr); }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

template <typename T, typename... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace tutti
