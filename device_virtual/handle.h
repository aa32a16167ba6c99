// SPDX-License-Identifier: Apache-2.0
// What every object of the application begins with: the ICD dispatch pointer (read by the loader),
// a word kept for newer loaders, a tag that tells the kind; then two reference counts:
//   public   what clRetain…/clRelease… and the *_REFERENCE_COUNT queries see;
//   internal ownership (Ref<T>): all public references together hold one, everything inside that
//            needs the object holds its own. The object ends with the last internal reference.
// A handle whose public count is zero but which is still owned inside stays valid: queries hand
// such handles out again (CL_QUEUE_CONTEXT), and retaining makes them public once more. The memory
// of ended objects goes back to a pool of its kind and keeps its dispatch pointer, so that a dead
// handle is recognised by its cleared tag, and gives an error code in place of a crash.
// Thread-safe, as far as the counts and from_handle() go.
#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "base/ref_counted.h"
#include "base/thread_annotations.h"

namespace tutti::device_virtual {

enum class Kind : uint32_t {
  kPlatform,
  kDevice,
  kContext,
  kQueue,
  kMemory,
  kProgram,
  kKernel,
  kEvent,
  kSampler,
  kCommandBuffer,
  kMutableCommand,
  kSemaphore
};

/// The dispatch table that new handles get; icd/ sets it when the library is loaded.
extern const void* g_dispatch;

struct HandleHead {
  const void* dispatch = nullptr;
  void* reserved = nullptr;
  std::atomic<uint64_t> tag{0};
};
static_assert(std::is_standard_layout_v<HandleHead>);
static_assert(offsetof(HandleHead, dispatch) == 0);

constexpr uint64_t tag_of(Kind kind) {
  return 0x5475'7474'6921'0000u | static_cast<uint64_t>(kind);  // "Tutti!"
}

/// Memory for the handles of one kind; never given back to the system (see above). Thread-safe.
class HandlePool {
 public:
  HandlePool(size_t object_size, size_t alignment);
  void* take();
  void give(void* memory) noexcept;

 private:
  const size_t stride_;
  const size_t alignment_;
  Mutex mutex_;
  HandleHead* free_ TUTTI_GUARDED_BY(mutex_) = nullptr;  // linked through HandleHead::reserved
  void* newest_chunk_ TUTTI_GUARDED_BY(mutex_) =
      nullptr;  // chunks stay linked, so they are not leaks
};

}  // namespace tutti::device_virtual

// The types that CL/cl.h declares and leaves to the implementation.
struct _cl_platform_id : tutti::device_virtual::HandleHead {};
struct _cl_device_id : tutti::device_virtual::HandleHead {};
struct _cl_context : tutti::device_virtual::HandleHead {};
struct _cl_command_queue : tutti::device_virtual::HandleHead {};
struct _cl_mem : tutti::device_virtual::HandleHead {};
struct _cl_program : tutti::device_virtual::HandleHead {};
struct _cl_kernel : tutti::device_virtual::HandleHead {};
struct _cl_event : tutti::device_virtual::HandleHead {};
struct _cl_sampler : tutti::device_virtual::HandleHead {};
struct _cl_command_buffer_khr : tutti::device_virtual::HandleHead {};
struct _cl_mutable_command_khr : tutti::device_virtual::HandleHead {};
struct _cl_semaphore_khr : tutti::device_virtual::HandleHead {};
static_assert(std::is_standard_layout_v<_cl_context>);

namespace tutti::device_virtual {

/// First base of every API object: `class Context : public Handle<Context, _cl_context,
/// Kind::kContext>`. T must not be polymorphic (a vtable pointer would come first). A new object
/// has one public reference, meant for the application. T may have a member function
/// `last_public_release()`, called when the public count reaches zero, before ownership is given
/// up.
template <class T, class CType, Kind kKindOfHandle>
class Handle : public CType {
 public:
  using CApi = CType;
  static constexpr Kind kKind = kKindOfHandle;

  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  CApi* handle() { return this; }

  cl_uint public_references() const { return public_.load(std::memory_order_relaxed); }
  void retain_public() {
    if (public_.fetch_add(1, std::memory_order_relaxed) == 0) retain();
  }
  /// False when the application has no reference left to release.
  bool release_public() {
    uint32_t count = public_.load(std::memory_order_relaxed);
    do {
      if (count == 0) return false;
    } while (!public_.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel));
    if (count == 1) {
      T& self = static_cast<T&>(*this);
      if constexpr (requires { self.last_public_release(); }) self.last_public_release();
      release();
    }
    return true;
  }

  // Internal ownership, used through Ref<T>.
  void retain() const noexcept { internal_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (internal_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      static_assert(!std::is_polymorphic_v<T>);
      // Dead from here on, also to callbacks that its destructor makes.
      const_cast<Handle*>(this)->tag.store(0, std::memory_order_release);
      delete static_cast<const T*>(this);
    }
  }

  static void* operator new(size_t) { return pool().take(); }
  static void operator delete(void* memory) noexcept { pool().give(memory); }

 protected:
  Handle() {
    this->dispatch = g_dispatch;
    this->tag.store(tag_of(kKind), std::memory_order_release);
  }
  ~Handle() = default;

 private:
  static HandlePool& pool() {
    static HandlePool& pool = *new HandlePool(sizeof(T), alignof(T));  // outlives exit handlers
    return pool;
  }

  std::atomic<uint32_t> public_{1};
  mutable std::atomic<uint32_t> internal_{1};
};

/// The object of a handle; null when the handle is null, dead, or of another kind.
template <class T>
T* from_handle(typename T::CApi* handle) noexcept {
  if (handle == nullptr || reinterpret_cast<uintptr_t>(handle) % alignof(HandleHead) != 0) {
    return nullptr;
  }
  if (handle->tag.load(std::memory_order_acquire) != tag_of(T::kKind)) return nullptr;
  return static_cast<T*>(handle);
}

/// A reference that counts as one of the application's, for objects that the specification says
/// retain others.
template <class T>
class PublicRef {
 public:
  PublicRef() = default;
  explicit PublicRef(T& object) : object_(&object) { object.retain_public(); }
  PublicRef(PublicRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  PublicRef& operator=(PublicRef&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~PublicRef() {
    if (object_ != nullptr) object_->release_public();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace tutti::device_virtual
