// SPDX-License-Identifier: Apache-2.0
// A helper that drives a device, from the application's side: it is started, asked, and ended. One
// that has ended, or has not answered in time and was ended for that, answers nothing any more: all
// calls fail with CL_DEVICE_NOT_AVAILABLE. Thread-safe; calls that take long hold up no others.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/process/lane.h"
#include "backends/process/protocol.h"
#include "backends/process/shared_arena.h"
#include "base/helper_process.h"
#include "base/thread_annotations.h"

namespace tutti::backends::process {

/// What a helper may take to load its driver, and to try its device where nothing else is said. One
/// that takes longer hangs, as far as users see.
inline constexpr uint32_t kStartSeconds = 60;

/// A helper that has loaded a driver and drives nothing yet.
struct StartedHelper {
  std::unique_ptr<HelperProcess> process;
  Descriptor output;  // what it writes to its standard output
  Listing listing;
};
/// What a helper is started with.
struct HelperSubject {
  std::string program;  // tutti-device
  std::string library;  // the driver's
  std::string node;     // the device of another host that the driver shall find (base/nodes.h)
  uint32_t start_seconds = kStartSeconds;
};
/// One that may still be at it.
struct StartingHelper {
  std::unique_ptr<HelperProcess> process;
  Descriptor output;
};
Result<StartingHelper> begin_helper(const HelperSubject& subject);
/// Waits until it has loaded the driver. An error says why that cannot be had in a helper.
Result<StartedHelper> end_helper(StartingHelper starting);
/// Both.
Result<StartedHelper> start_helper(const HelperSubject& subject);

/// How long calls may take, nanoseconds; 0: for ever.
struct CallBounds {
  uint64_t calls = 0;
  uint64_t builds = 0;
  uint64_t trial = 0;  // of the device by its helper, before it counts; 0: as its start
};

class Channel {
 public:
  /// Has the helper drive the device. `name`: for messages.
  static Result<std::unique_ptr<Channel>> open(StartedHelper helper, Service service,
                                               const std::string& name, const CallBounds& bounds,
                                               SharedArena& arena);
  /// That of a helper which was never there; `reason`: why.
  static Result<std::unique_ptr<Channel>> never_there(const std::string& name, std::string reason,
                                                      const DeviceTraits& traits,
                                                      SharedArena& arena);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Of the device as its helper knows it.
  const DeviceTraits& traits() const { return traits_; }

  /// An answer: what is behind its code.
  class Answer {
   public:
    Answer(std::vector<std::byte> bytes, size_t begin) : bytes_(std::move(bytes)), begin_(begin) {}
    Reader reader() const { return Reader(std::span(bytes_).subspan(begin_)); }

   private:
    std::vector<std::byte> bytes_;
    size_t begin_;
  };
  /// A call that is under way. What nobody ends is waited for.
  class Call {
   public:
    Call() = default;
    Call(Call&& other) noexcept
        : channel_(other.channel_),
          lane_(std::exchange(other.lane_, nullptr)),
          large_(std::move(other.large_)),
          name_(other.name_) {}
    Call& operator=(Call&& other) noexcept {
      std::swap(channel_, other.channel_);
      std::swap(lane_, other.lane_);
      std::swap(large_, other.large_);
      std::swap(name_, other.name_);
      return *this;
    }
    ~Call() {
      if (lane_ != nullptr) channel_->let_go(*this);
    }
    explicit operator bool() const { return lane_ != nullptr; }

   private:
    friend class Channel;
    Channel* channel_ = nullptr;
    Lane* lane_ = nullptr;
    SharedRange large_;  // a request that a lane has no room for
    const char* name_ = "";
  };
  /// `name`: what is done, for messages.
  Result<Call> begin(const char* name, Op op, const Writer& request);
  Result<Answer> end(Call call, bool builds = false);
  Result<Answer> call(const char* name, Op op, const Writer& request, bool builds = false);

  /// The application has let go of it. Never fails: what cannot be noted is not told.
  void drop(ObjectKind kind, uint64_t number) noexcept;

  /// It has not ended, as far as is known.
  bool alive() const { return alive_.load(std::memory_order_acquire); }
  /// It was told to end, and has not: nobody knows what it still does.
  bool hangs() const { return hangs_.load(std::memory_order_acquire); }
  /// What calls answer when it has ended.
  tl::unexpected<Error> gone(const char* name);

 private:
  Channel(StartedHelper helper, SharedRange room, std::string name, const CallBounds& bounds,
          SharedArena& arena);
  Lane* take_lane() TUTTI_EXCLUDES(mutex_);
  void give_back(Lane* lane) TUTTI_EXCLUDES(mutex_);
  std::vector<Dropped> take_dropped() TUTTI_EXCLUDES(mutex_);
  /// Ends the helper, or finds that it has ended; who comes later waits for that.
  void lose(const char* name, LaneEnd why) TUTTI_EXCLUDES(mutex_);
  /// What kernels have printed goes to the application's standard output, once.
  void show_output() TUTTI_EXCLUDES(output_mutex_);
  Result<Answer> answer_of(Call& call, uint64_t deadline_ns);
  /// Its lane is free again once it is answered.
  void let_go(Call& call) noexcept;
  /// Until when an answer is waited for.
  uint64_t deadline(bool builds) const;

  const std::unique_ptr<HelperProcess> process_;  // used by open(), then by lose() alone
  const Descriptor output_;
  SharedRange room_;       // of the lanes
  const LanesHead* head_;  // in it
  const std::string name_;
  const CallBounds bounds_;
  SharedArena& arena_;
  DeviceTraits traits_;
  std::atomic<bool> alive_{true}, hangs_{false};
  std::atomic<uint64_t> shown_{0};
  Mutex output_mutex_;  // held while it is shown, so that it is in order
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Lane*> idle_ TUTTI_GUARDED_BY(mutex_);
  std::vector<Dropped> dropped_ TUTTI_GUARDED_BY(mutex_);
  bool losing_ TUTTI_GUARDED_BY(mutex_) = false, lost_ TUTTI_GUARDED_BY(mutex_) = false;
  std::string reason_ TUTTI_GUARDED_BY(mutex_);  // how it has ended
};

}  // namespace tutti::backends::process
