// SPDX-License-Identifier: Apache-2.0
// The vendor's objects behind the interface of backends/api: completions (events), memory, kernels,
// modules (programs). Each owns its vendor object and gives it back when it is destroyed, except
// during process exit. Thread-safe as the interface says; a kernel's arguments are set and launched
// under its mutex.
#pragma once

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/api/backend.h"
#include "backends/opencl/division_guard.h"
#include "backends/opencl/quirks.h"
#include "backends/opencl/vendor_functions.h"
#include "base/config.h"
#include "base/fair_mutex.h"
#include "base/live_counters.h"
#include "base/process_exit.h"
#include "base/small_bytes.h"
#include "base/thread_annotations.h"

namespace tutti::backends {

/// Held while a device may run commands in the calling thread: its lock, where it has one, and a
/// guard over what kernels divide, where they need it.
class DeviceTurn {
 public:
  DeviceTurn(FairMutex* enqueuing, bool traps_divisions)
      : turn_(enqueuing), divisions_(traps_divisions) {}
  void unlock() {
    divisions_.release();
    turn_.unlock();
  }

 private:
  FairTurn turn_;
  DivisionGuard divisions_;
};

/// Where another process finds the device.
struct DevicePlace {
  std::string library;                // the driver's; empty: no other process is to look for it
  uint32_t platform = 0, device = 0;  // numbers, in the order in which the driver tells them
};

/// One real device as its objects see it; owned by its backend.
struct VendorDevice {
  VendorDevice() = default;
  VendorDevice(const VendorFunctions* functions, cl_platform_id its_platform,
               cl_device_id its_device, std::string its_name, Quirks its_quirks)
      : cl(functions),
        platform(its_platform),
        device(its_device),
        name(std::move(its_name)),
        quirks(std::move(its_quirks)) {}

  const VendorFunctions* cl = nullptr;
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::string name;  // for messages
  Quirks quirks;
  std::shared_ptr<FairMutex> enqueuing{};  // made where quirks.one_at_a_time
  live::Device* live = nullptr;            // null: nobody counts
  DevicePlace place{};
  /// How often its backend has begun anew (Backend::renew): what belongs to an earlier context is
  /// used no more. Shared by all copies.
  std::shared_ptr<std::atomic<uint32_t>> renewals = std::make_shared<std::atomic<uint32_t>>(0);

  uint32_t generation() const { return renewals->load(std::memory_order_acquire); }
  /// What belongs to a context that was lost says so.
  tl::unexpected<Error> of_lost_context(const char* call) const {
    return failure(call, CL_DEVICE_NOT_AVAILABLE);
  }
  /// Every error of a vendor goes through one of these, and so to the log. The error of a call is
  /// "DEVICE: CALL: CL_…". Who gets it tells the user of it, where there is something to tell, so
  /// that it is at the level `info` here.
  Error error(const char* call, cl_int code) const;
  tl::unexpected<Error> failure(const char* call, cl_int code) const {
    return tl::unexpected<Error>(error(call, code));
  }
  /// An error that nobody else hears of, since the work goes on without. A warning, once for each
  /// call and code.
  void note(const char* call, cl_int code) const { note_vendor_error(name, call, code); }
  /// Of a program: with the compiler's log, which is what the application gets, where there is one.
  template <typename Result>
  Result build_failure(const char* call, cl_int code, std::string log) const {
    Error failed = error(call, code);
    log_text(call, log);
    return {nullptr, failed.code, log.empty() ? std::move(failed.message) : std::move(log)};
  }
  /// Held over whatever may run commands (enqueues, flushes, waits) or touches what they use
  /// (allocating and releasing memory). Nothing but a word where the device takes all comers.
  /// Turns come in the order in which they were asked for: what another device needs waits for the
  /// package that runs, not for all that its device computes.
  DeviceTurn turn() const { return {enqueuing.get(), quirks.traps_divisions}; }
  /// What calls answer once vendors_gone().
  tl::unexpected<Error> gone(const char* call) const;

 private:
  void log_text(const char* call, const std::string& text) const;
};

/// What all queues of a device have moved.
struct TrafficCount {
  std::atomic<uint64_t> to_device{0}, to_host{0};
  Traffic sums() const {
    return {to_device.load(std::memory_order_relaxed), to_host.load(std::memory_order_relaxed)};
  }
};

/// The vendors' functions that take references back.
template <typename Handle>
inline constexpr const char* kReleaseCall = nullptr;
template <>
inline constexpr const char* kReleaseCall<cl_context> = "clReleaseContext";
template <>
inline constexpr const char* kReleaseCall<cl_device_id> = "clReleaseDevice";
template <>
inline constexpr const char* kReleaseCall<cl_event> = "clReleaseEvent";
template <>
inline constexpr const char* kReleaseCall<cl_mem> = "clReleaseMemObject";
template <>
inline constexpr const char* kReleaseCall<cl_command_queue> = "clReleaseCommandQueue";
template <>
inline constexpr const char* kReleaseCall<cl_program> = "clReleaseProgram";
template <>
inline constexpr const char* kReleaseCall<cl_kernel> = "clReleaseKernel";
template <>
inline constexpr const char* kReleaseCall<cl_sampler> = "clReleaseSampler";
template <>
inline constexpr const char* kReleaseCall<cl_semaphore_khr> = "clReleaseSemaphoreKHR";

/// Owns one reference to a vendor's object.
template <typename Handle>
class Owned {
 public:
  using Release = cl_int(CL_API_CALL*)(Handle);
  Owned() = default;
  Owned(Handle handle, Release release) : handle_(handle), release_(release) {}
  Owned(Owned&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), release_(other.release_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (!handle_ || vendors_gone()) return;
    if (const cl_int code = release_(handle_); code != CL_SUCCESS) {
      note_vendor_error("a vendor", kReleaseCall<Handle>, code);
    }
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  Release release_ = nullptr;
};
using OwnedContext = Owned<cl_context>;
using OwnedDevice = Owned<cl_device_id>;
using OwnedEvent = Owned<cl_event>;
using OwnedMemory = Owned<cl_mem>;
using OwnedQueue = Owned<cl_command_queue>;
using OwnedProgram = Owned<cl_program>;
using OwnedKernel = Owned<cl_kernel>;
using OwnedSampler = Owned<cl_sampler>;
using OwnedSemaphore = Owned<cl_semaphore_khr>;

/// Makes a sampler or queue by whichever function the vendor has; the error's message is the call's
/// name.
Result<cl_sampler> create_vendor_sampler(const VendorFunctions& cl, cl_context context,
                                         const SamplerState& state);
Result<cl_command_queue> create_vendor_queue(const VendorFunctions& cl, cl_context context,
                                             cl_device_id device,
                                             cl_command_queue_properties properties,
                                             const QueueHints& hints = {});

/// A vendor's in-order queue and how far it is known to have come. Shared by the queue and its
/// completions, which may outlive it.
class QueueTrack {
 public:
  QueueTrack(OwnedQueue owned, live::Device* counters, uint32_t of_generation)
      : queue(std::move(owned)), generation(of_generation), live_(counters) {}
  const OwnedQueue queue;
  const uint32_t generation;          // of its context
  std::atomic<uint64_t> enqueued{0};  // calls that have returned, without blocking reads
  std::atomic<uint64_t> ended{0};     // of those the first so many have ended
  Mutex marking;                      // a leaf: held while a marker is enqueued

  /// The number of a call that has returned, counted from 1.
  uint64_t note_call() { return enqueued.fetch_add(1, std::memory_order_acq_rel) + 1; }
  /// A call begins, in which some devices run the command already.
  void begin_call() {
    if (live_ && !busy_.load(std::memory_order_relaxed)) begin_busy();
  }
  /// It is over, and is none of those counted: it has failed, or was a blocking read.
  void end_call() { note_idle(ended.load(std::memory_order_relaxed)); }
  void note_ended(uint64_t count) {
    uint64_t known = ended.load(std::memory_order_relaxed);
    while (known < count && !ended.compare_exchange_weak(known, count, std::memory_order_acq_rel)) {
    }
    note_idle(count);
  }
  /// The first `count` calls have ended, as far as the counters need to know.
  void note_idle(uint64_t count) {
    if (live_ && busy_.load(std::memory_order_relaxed) &&
        count >= enqueued.load(std::memory_order_relaxed)) {
      end_busy(count);
    }
  }

  /// Has the vendor begin all that the queue was given; nothing where that was done before. Within
  /// the device's turn. The vendor's code.
  cl_int flush(const VendorDevice& device);
  /// A marker was enqueued, which is none of the calls counted.
  void note_marker() { markers_.fetch_add(1, std::memory_order_acq_rel); }

  /// A call has returned that has no event: behind some of these a milestone is set, by which one
  /// learns of their end without waiting. Within the device's turn.
  void set_milestone(const VendorDevice& device);
  /// Notes the end of what lies before milestones that the queue has passed, if one of them comes
  /// after the first `number` calls.
  void look_at_milestones(const VendorDevice& device, uint64_t number);

 private:
  struct Milestone {
    OwnedEvent marker;
    uint64_t calls_before = 0;
  };
  void begin_busy();
  void end_busy(uint64_t count);
  /// Counts the calls that are not counted yet: not one by one, which would cost each something.
  void count_calls();

  live::Device* const live_;
  std::atomic<uint64_t> markers_{0};
  std::atomic<uint64_t> flushed_{0};   // of calls and markers together
  std::atomic<bool> busy_{false};      // not all that was called has ended; only counted
  std::atomic<uint64_t> counted_{0};   // calls
  std::atomic<uint32_t> unmarked_{0};  // calls without an event since the last milestone
  std::deque<Milestone> milestones_ TUTTI_GUARDED_BY(marking);  // in the queue's order
};

class OpenClCompletion final : public Completion {
 public:
  /// Takes over the event; without one, the command has ended when a marker behind it has, which is
  /// enqueued when somebody asks. `before`: track->enqueued when the call began.
  OpenClCompletion(const VendorDevice& device, std::shared_ptr<QueueTrack> track, cl_event event,
                   uint64_t before)
      : device_(device),
        track_(std::move(track)),
        before_(before),
        number_(track_->note_call()),
        own_event_(event != nullptr),
        event_(event) {}
  ~OpenClCompletion() override;

  cl_int poll() override;
  Status wait() override;
  std::optional<VendorTimes> times() override;

  /// What others wait for; null only where the vendor failed. Within the device's turn.
  cl_event event() const;
  cl_command_queue queue() const { return track_->queue.get(); }
  uint32_t generation() const { return track_->generation; }
  bool known_complete() const override {
    return status_.load(std::memory_order_acquire) == CL_COMPLETE || ended_unseen();
  }
  void flush_queue() const;
  /// Waits for all of its queue, and so for this: what to do where event() is null. Within the
  /// device's turn.
  cl_int finish_queue() const;

  /// Of a launch without an event of its own: nobody has asked for its end yet, so that a marker
  /// behind a later one will do for it, too.
  bool may_stand_for_more() const {
    return !own_event_ && event_.load(std::memory_order_relaxed) == nullptr;
  }
  /// It ends when the newest call on its queue has, which has just returned.
  void stand_for_newest() { number_.store(track_->note_call(), std::memory_order_release); }

 private:
  /// Without an event of its own nobody will hear of its failure.
  bool ended_unseen() const {
    return !own_event_ &&
           track_->ended.load(std::memory_order_acquire) >= number_.load(std::memory_order_acquire);
  }

  const VendorDevice& device_;
  const std::shared_ptr<QueueTrack> track_;
  const uint64_t before_;         // so many calls lie before this one in the queue, at least
  std::atomic<uint64_t> number_;  // it is among the first so many
  const bool own_event_;
  mutable std::atomic<cl_event> event_;
  std::atomic<cl_int> status_{CL_QUEUED};  // what was last seen
};

/// Of an image of its own, whose pitches are the vendor's.
cl_image_desc description_of(const ImageShape& shape);

/// Another one for each object of the process: a vendor may give a new one the address of a dead
/// one. Never 0.
uint64_t next_object_number();

/// A buffer, an image or a pipe. A window of a buffer (what a virtual sub-buffer shows to a kernel)
/// becomes a vendor sub-buffer when first used, and is kept as long as the buffer. In another
/// context than its own it is made anew, where its content is the host's; else it is of no use
/// there.
class OpenClMemory final : public Memory {
 public:
  /// A vendor's handle and a number that no other handle of the process ever has: a vendor may give
  /// a new object the address of a dead one. Of a pointer into shared memory: its own number.
  struct View {
    cl_mem handle = nullptr;
    uint64_t number = 0;
    const void* address = nullptr;           // of shared memory: what kernels get instead
    SharedKind kind = SharedKind::kVirtual;  // of that
  };

  /// The vendor's object, and the generation of its context.
  struct Made {
    OwnedMemory memory;
    uint32_t generation = 0;
  };
  struct Shape {
    uint64_t size = 0;
    cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
    uint64_t pixel_size = 0;
    const std::byte* shared = nullptr;  // the address of shared memory, of which it is all
    uint32_t shared_generation = 0;     // of that memory's context
    SharedKind shared_kind = SharedKind::kVirtual;
  };
  /// `again` makes it in the present context; empty: its content is the old one's.
  OpenClMemory(const VendorDevice& device, Made made, const Shape& shape,
               std::function<Result<Made>()> again);
  ~OpenClMemory() override;
  cl_mem_object_type type() const { return shape_.type; }
  uint64_t size() const override { return shape_.size; }
  uint64_t pixel_size() const override { return shape_.pixel_size; }
  bool is_buffer() const override { return shape_.type == CL_MEM_OBJECT_BUFFER; }
  /// Where it is not to be had in the present context, the old one, which vendors refuse there.
  cl_mem handle() {
    static_cast<void>(is_present());
    return handle_.load(std::memory_order_acquire);
  }
  Result<View> view(uint64_t origin, uint64_t size);
  /// The same for a kernel's argument, which of shared memory is an address.
  Result<View> argument_view(uint64_t origin, uint64_t size);
  /// Null where it is no shared memory, or not of the present context.
  const std::byte* shared() const {
    return shape_.shared_generation == device_.generation() ? shape_.shared : nullptr;
  }
  SharedKind shared_kind() const { return shape_.shared_kind; }
  bool can_be_renewed() const { return again_ != nullptr; }
  /// The number of the view of all; 0 for a part.
  uint64_t number_of_all(uint64_t origin, uint64_t size) const {
    return origin == 0 && size == shape_.size ? number_.load(std::memory_order_relaxed) : 0;
  }

 private:
  struct Window {
    OwnedMemory memory;
    uint64_t number = 0;
  };
  using Windows = std::map<std::pair<uint64_t, uint64_t>, Window>;
  /// Whether it is of the present context, at the latest now.
  bool is_present() {
    return generation_.load(std::memory_order_acquire) == device_.generation() || renew();
  }
  bool renew() TUTTI_EXCLUDES(mutex_);

  const VendorDevice& device_;
  const Shape shape_;
  const std::function<Result<Made>()> again_;
  std::atomic<uint32_t> generation_;
  std::atomic<cl_mem> handle_;
  std::atomic<uint64_t> number_;
  Mutex mutex_;
  // Those of lost contexts stay, since a call that has begun may use them; the last one is present.
  std::vector<OwnedMemory> made_ TUTTI_GUARDED_BY(mutex_);
  Windows windows_ TUTTI_GUARDED_BY(mutex_);
  std::vector<Windows> old_windows_ TUTTI_GUARDED_BY(mutex_);
};

/// A vendor's program, which is made anew in the present context where its own was lost.
/// Thread-safe; its lock is held meanwhile, so that this happens once.
class OpenClProgram {
 public:
  struct Made {
    OwnedProgram program;
    uint32_t generation = 0;
    bool built_in = false;  // of kernels that are built into the device
  };
  struct Present {
    cl_program handle = nullptr;
    uint32_t generation = 0;
  };
  OpenClProgram(const VendorDevice& device, Made made, std::function<Result<Made>()> again)
      : device_(device), again_(std::move(again)) {
    made_.push_back(std::move(made));
  }
  Result<Present> present() TUTTI_EXCLUDES(mutex_);

 private:
  const VendorDevice& device_;
  const std::function<Result<Made>()> again_;
  Mutex mutex_;
  std::vector<Made> made_ TUTTI_GUARDED_BY(mutex_);  // as of memory
};

/// Called before each launch of a kernel, which it may have compiled elsewhere, until it returns
/// false; empty where there is nothing to gain (first_launches.h).
using CompileAhead = std::function<bool(const Launch&)>;
using MakeAhead = std::function<CompileAhead(const std::string& kernel)>;

class OpenClKernel final : public Kernel {
 public:
  /// Of a program that has a kernel of this name.
  static Result<std::unique_ptr<OpenClKernel>> create(const VendorDevice& device,
                                                      std::shared_ptr<OpenClProgram> program,
                                                      const std::string& name,
                                                      const CompileAhead& ahead);

  Result<std::vector<std::byte>> work_group_info(cl_kernel_work_group_info what) override;
  Result<std::vector<std::byte>> sub_group_info(cl_kernel_sub_group_info what,
                                                std::span<const size_t> input,
                                                size_t size) override;
  Result<std::vector<std::byte>> argument_info(uint32_t index, cl_kernel_arg_info what) override;
  size_t argument_count() override;

  Mutex& mutex() TUTTI_RETURN_CAPABILITY(mutex_) { return mutex_; }
  cl_kernel handle() const TUTTI_REQUIRES(mutex_) { return kernel_.get(); }
  /// It is launched.
  void count_launch() TUTTI_REQUIRES(mutex_) {
    if (!live_) return;
    live::add_alone(live_->launches, 1);
    device_.live->last_kernel.store(live_number_, std::memory_order_relaxed);
  }
  void compile_ahead(const Launch& launch) TUTTI_REQUIRES(mutex_) {
    if (compile_ahead_ && !compile_ahead_(launch)) compile_ahead_ = nullptr;
  }
  /// Sets the arguments that differ from what the vendor has.
  Status set_arguments(std::span<const Argument> arguments) TUTTI_REQUIRES(mutex_);

 private:
  // What the vendor's kernel holds for one argument.
  struct Held {
    bool set = false;
    Argument::Kind kind = Argument::Kind::kBytes;
    std::vector<std::byte> bytes;
    uint64_t value = 0;  // kLocal: the size; kMemory: the view's number, 0 for NULL;
                         // kQueue: its number
    SamplerState sampler{};
    /// For certain; false: it must be looked at closely.
    bool is(const Argument& argument) const {
      if (!set || kind != argument.kind) return false;
      if (kind == Argument::Kind::kBytes) return same_bytes(bytes, argument.bytes);
      // A part has no number here, nor has what is held when that is NULL.
      return kind == Argument::Kind::kMemory && value != 0 && argument.memory != nullptr &&
             static_cast<const OpenClMemory*>(argument.memory)
                     ->number_of_all(argument.origin, argument.size) == value;
    }
    bool is_number_like(const Argument& argument) const {
      return set && kind == Argument::Kind::kBytes && argument.kind == kind &&
             bytes.size() == argument.bytes.size();
    }
  };
  /// What it may reach: addresses, and kinds of unified memory. Of that all is named, since Intel's
  /// processors refuse kernels for which a list is given (docs/platform-notes.md).
  struct Reached {
    std::vector<const void*> shared, buffers;
    uint32_t unified = 0;  // a bit for each kind
    bool empty() const { return shared.empty() && buffers.empty() && unified == 0; }
    bool operator==(const Reached&) const = default;
  };
  OpenClKernel(const VendorDevice& device, std::shared_ptr<OpenClProgram> program,
               const std::string& name, CompileAhead compile_ahead);
  /// Makes the vendor's kernel of the present program.
  Status make() TUTTI_REQUIRES(mutex_);
  Status set_argument(uint32_t index, const Argument& argument, Held& held) TUTTI_REQUIRES(mutex_);
  /// Names the shared memory that the kernel may reach through pointers that it finds.
  Status set_reached(std::span<const Argument> reached) TUTTI_REQUIRES(mutex_);

  Result<cl_sampler> sampler(const SamplerState& state) TUTTI_REQUIRES(mutex_);

  const VendorDevice& device_;
  const std::shared_ptr<OpenClProgram> program_;
  const std::string name_;
  live::Kernel* const live_;  // null: nobody counts
  const uint32_t live_number_;
  Mutex mutex_;
  CompileAhead compile_ahead_ TUTTI_GUARDED_BY(mutex_);
  OwnedKernel kernel_ TUTTI_GUARDED_BY(mutex_);
  uint32_t generation_ TUTTI_GUARDED_BY(mutex_) = 0;
  std::vector<Held> arguments_ TUTTI_GUARDED_BY(mutex_);
  Reached reached_ TUTTI_GUARDED_BY(mutex_);  // as the vendor has it
  // Kept with the kernel: launches in flight may use them. There are a few possible states only.
  std::map<SamplerState, OwnedSampler> samplers_ TUTTI_GUARDED_BY(mutex_);
};

class OpenClObject final : public Object {
 public:
  explicit OpenClObject(std::shared_ptr<OpenClProgram> program) : program_(std::move(program)) {}
  const std::shared_ptr<OpenClProgram>& program() const { return program_; }

 private:
  const std::shared_ptr<OpenClProgram> program_;
};

class OpenClModule final : public Module {
 public:
  /// `ahead` makes a kernel's; empty where there is nothing to gain.
  OpenClModule(const VendorDevice& device, std::shared_ptr<OpenClProgram> program, std::string log,
               MakeAhead ahead = {})
      : device_(device),
        program_(std::move(program)),
        log_(std::move(log)),
        ahead_(std::move(ahead)) {}

  Result<std::unique_ptr<Kernel>> create_kernel(const std::string& name) override;
  const std::string& build_log() const override { return log_; }
  Result<std::vector<std::byte>> binary() override;
  Result<size_t> variable_bytes() override;

 private:
  const VendorDevice& device_;
  const std::shared_ptr<OpenClProgram> program_;
  const std::string log_;
  const MakeAhead ahead_;
};

}  // namespace tutti::backends
