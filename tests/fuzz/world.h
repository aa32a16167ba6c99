// SPDX-License-Identifier: Apache-2.0
// What the fuzzer knows of the driver under test: the objects that it holds, how many references to
// each, what is mapped, and which commands wait for which user events, so that it never waits for
// itself and can tell the right error where the case is clear. One World per thread.
#pragma once

#include <CL/cl.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tutti::api_fuzz {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  /// 0 … end - 1.
  uint64_t below(uint64_t end) { return end == 0 ? 0 : engine_() % end; }
  bool one_in(uint64_t chances) { return below(chances) == 0; }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(from.size())];
  }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  uint64_t bits() { return engine_(); }
  /// A size that programs get wrong: near 0, near a power of two, near the end.
  size_t odd_size();

 private:
  std::mt19937_64 engine_;
};

enum class Kind { kDevice, kContext, kQueue, kMemory, kProgram, kKernel, kEvent, kImage, kSampler };
inline constexpr size_t kKinds = 9;
/// What a call answers to a handle that is none of this kind: CL_INVALID_DEVICE …
cl_int invalid_code(Kind kind);

using UserEvents = std::set<uint64_t>;  // by their numbers

struct Mapping {
  void* pointer = nullptr;
  size_t offset = 0, size = 0;  // in the object's own bytes
  bool writes = false;
};

/// An object that the application (this program) holds.
struct Object {
  Kind kind = Kind::kContext;
  void* handle = nullptr;
  int references = 1;
  std::shared_ptr<Object> context;

  // Devices.
  bool root = false;
  // Contexts.
  std::vector<std::shared_ptr<Object>> devices;
  // Queues: what their commands so far wait for.
  bool out_of_order = false;
  bool lent = false;  // a callback has a reference, too
  UserEvents needs, barrier;
  // Memory objects.
  size_t size = 0;
  cl_mem_flags flags = 0;
  std::shared_ptr<Object> parent;
  std::vector<Mapping> mappings;
  // Images: pixels of four bytes, as regions have them.
  cl_mem_object_type image_type = 0;
  std::array<size_t, 3> extent{};
  // Programs and kernels.
  bool built = false;
  std::shared_ptr<Object> program;
  uint64_t arguments_set = 0;
  // Events: what must end before it ends; whose failure is its failure.
  UserEvents fails_with;
  uint64_t user_event = 0;  // 0: a command's
  bool failure_unknown = false;

  template <typename T>
  T as() const {
    return static_cast<T>(handle);
  }
};
using ObjectRef = std::shared_ptr<Object>;

/// What all worlds of a process share. The callbacks count here.
struct Tally {
  std::atomic<uint64_t> destructors_set{0}, destructors_called{0};
  std::atomic<uint64_t> callbacks_set{0}, callbacks_called{0};
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> successes{0}, refusals{0};  // of calls that were judged
};

/// The errors that a call may answer; none of them: it must succeed.
class Expected {
 public:
  void error(cl_int code) { codes_.insert(code); }
  void error_if(bool wrong, cl_int code) {
    if (wrong) error(code);
  }
  bool success() const { return codes_.empty(); }
  bool allows(cl_int code) const { return success() ? code == CL_SUCCESS : codes_.contains(code); }
  std::string text() const;

 private:
  std::set<cl_int> codes_;
};

class World {
 public:
  /// `alone`: no other thread uses the driver, so that released handles can be tried again.
  World(uint64_t seed, cl_platform_id platform, cl_device_id device, bool alone, Tally& tally);
  ~World();

  Random random;
  Tally& tally;
  const cl_platform_id platform;
  const bool alone;
  ObjectRef root;

  // ---- what there is ----
  const std::vector<ObjectRef>& all(Kind kind) const { return live_[static_cast<size_t>(kind)]; }
  /// Null when there is none.
  ObjectRef any(Kind kind);
  /// One of the context.
  ObjectRef any_of(Kind kind, const ObjectRef& context);
  /// Remembers a new object.
  ObjectRef add(Kind kind, void* handle, ObjectRef context);
  /// Gives one reference back; forgets the object with the last.
  void release(const ObjectRef& object);
  cl_int retain_handle(Kind kind, void* handle);
  cl_int release_handle(Kind kind, void* handle);
  /// Something that is no object of this kind: NULL, another kind's. With `in_list`, also an
  /// address that the loader must not see.
  void* wrong_handle(Kind kind, bool in_list);
  template <typename T>
  T wrong(Kind kind, bool in_list = false) {
    return static_cast<T>(wrong_handle(kind, in_list));
  }
  /// One that was given back, which the driver may still use itself (and then know); null where
  /// there is none, or where other threads might get its address for something new.
  void* dead_handle(Kind kind);

  // ---- waiting ----
  bool pending(const UserEvents& events) const;
  bool failed(const UserEvents& events) const;
  /// Without those that have no say any more.
  UserEvents still_open(const UserEvents& events) const;
  uint64_t new_user_event() { return ++last_user_event_; }
  void settle(uint64_t user_event, cl_int status) { settled_[user_event] = status; }
  bool settled(uint64_t user_event) const { return settled_.contains(user_event); }
  /// Sets the status of all of them that are open.
  void complete(const UserEvents& events);

  struct WaitList {
    std::vector<cl_event> handles;
    UserEvents needs, fails_with;
    bool failure_unknown = false;
    Expected expected;
    cl_uint count = 0;
    const cl_event* list() const { return handles.empty() ? nullptr : handles.data(); }
  };
  /// A wait list for commands of the context, rarely a wrong one.
  WaitList wait_list(const ObjectRef& context);
  /// Before a call that waits in `queue`: completes what it would wait for in vain.
  void make_way(const ObjectRef& queue, const WaitList& waits, bool blocking);
  /// A command was enqueued with this list; `event` may be null.
  void enqueued(const ObjectRef& queue, const WaitList& waits, cl_event event,
                bool waits_for_all = false, bool barrier = false);
  /// What a blocking command answers, beside what is in `expected`.
  void expect_waiting(Expected& expected, const WaitList& waits, bool blocking) const;

  // ---- memory of ours that commands use; it lives as long as the world ----
  std::byte* host_memory(size_t size);
  std::byte* lasting_memory(size_t size);

  // ---- judging ----
  void check(const char* call, const Expected& expected, cl_int code);
  void fail(const std::string& text);
  void step(const char* name) {
    step_ = name;
    ++step_number_;
  }
  const char* step_name() const { return step_; }
  uint64_t step_number() const { return step_number_; }
  uint64_t seed() const { return seed_; }

  /// Completes all user events, waits, checks the events, and gives everything back.
  void close();

 private:
  const uint64_t seed_;
  const char* step_ = "";
  uint64_t step_number_ = 0;
  std::array<std::vector<ObjectRef>, kKinds> live_;
  std::vector<std::pair<Kind, void*>> dead_;
  std::map<uint64_t, cl_int> settled_;
  uint64_t last_user_event_ = 0;
  std::vector<std::byte> arena_;
  std::vector<std::unique_ptr<std::byte[]>> lasting_;
  alignas(16) std::array<std::byte, 4096> nothing_{};  // looks like a handle, and is none
};

}  // namespace tutti::api_fuzz
