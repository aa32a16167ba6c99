// SPDX-License-Identifier: Apache-2.0
// The interface of one real device, as the scheduler drives it. Objects are created by their
// Backend and must not outlive it (backends live until the process ends). Every method may be
// called from any thread at any time, except the destructor; none takes a lock of the scheduler,
// none calls back. Errors carry the vendor's code and, as message, the vendor's name and call.
#pragma once

#include <CL/cl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti::backends {

/// What kernels may do with unified shared memory, for each kind of allocation in the words of
/// cl_intel_unified_shared_memory; 0: there is no such allocation.
struct UnifiedMemory {
  cl_bitfield host = 0, device = 0, single_shared = 0, cross_shared = 0;
  cl_bitfield shared() const { return single_shared | cross_shared; }
  bool any() const { return (host | device | shared()) != 0; }
};
inline constexpr std::string_view kUnifiedMemory = "cl_intel_unified_shared_memory";

/// The way to a device of another host and back, as it was when the device was found.
struct DeviceLink {
  double round_trip = 0;                  // seconds, of a command that moves next to nothing
  double to_device = 0, from_device = 0;  // bytes per second, beyond that
};

/// What is known of a device before it is used; never changes.
struct DeviceTraits {
  uint32_t index = 0;  // in the list of all devices, as `tutti devices` numbers them
  std::string platform_name;
  std::string platform_vendor;
  std::string device_name;
  std::string vendor;
  std::string driver_version;
  std::string device_version;  // "OpenCL 3.0 …"
  cl_device_type type = CL_DEVICE_TYPE_CPU;
  uint32_t compute_units = 1;
  uint32_t clock_mhz = 0;
  uint64_t global_memory = 0;   // bytes
  uint64_t max_allocation = 0;  // bytes
  uint64_t local_memory = 0;    // bytes, of a work-group
  uint64_t max_work_group = 1;
  std::array<uint64_t, 3> max_work_items{UINT64_MAX, UINT64_MAX, UINT64_MAX};
  uint64_t max_constant = UINT64_MAX;  // bytes, of a __constant argument's buffer
  struct ImageSizes {                  // the largest, in pixels
    uint64_t width = UINT64_MAX, height = UINT64_MAX;
    uint64_t width_3d = UINT64_MAX, height_3d = UINT64_MAX, depth_3d = UINT64_MAX;
    uint64_t buffer = UINT64_MAX;  // of an image made from a buffer
    uint64_t layers = UINT64_MAX;
  } image_sizes;
  /// What kernels may use there that not all devices have: extensions ("cl_khr_fp64"), and features
  /// of OpenCL C 3.0 ("__opencl_c_images"), which devices of OpenCL 2.x have by their version.
  std::vector<std::string> features;
  uint32_t memory_alignment =
      1;  // bytes, of sub-buffer origins (CL_DEVICE_MEM_BASE_ADDR_ALIGN / 8)
  bool pins_host_memory = false;    // transfers of memory from allocate_pinned() are faster
  bool shares_host_memory = false;  // a USE_HOST_PTR buffer is the host's memory itself (probed)
  bool host_atomics = false;        // its atomics on the host's memory are the processor's own
  bool sub_buffers = true;          // a launch's argument may be a part of a buffer
  // Images can be made from buffers that are the host's memory, and not from those of its own
  // alone.
  bool images_over_host_memory = true;
  bool synchronous = false;          // commands run in the thread that enqueues, flushes or waits
  bool serial = false;               // one command at a time: transfers wait for kernels that run
  bool costly_profiling = false;     // a queue that measures times launches more slowly
  bool reads_ahead = false;          // a write may read its source while earlier commands still run
  bool markers = true;               // Queue::mark() is there
  bool overlaps_launches = false;    // launches on two queues fill what each leaves of the device
  uint64_t max_offset = UINT64_MAX;  // of a launch, in work-items
  bool advises_groups = false;       // CL_KERNEL_WORK_GROUP_SIZE is advice: larger groups may run
  bool smaller_groups = false;       // the last work-groups of a launch may be smaller than others
  double nominal_gflops = 1.0;       // rough single-precision peak, for first contact only
  std::string pci_address;           // "0000:3b:00.0"; empty: not known, or none
  std::string node;         // where it is, on another host (base/nodes.h); empty: on this one
  DeviceLink link{};        // where it is on another host; else nothing
  std::string binary_kind;  // devices of one kind load each other's binaries; empty: of none
  std::string build_kind;   // devices of one kind find what one of them has built; empty: of none
  uint32_t max_parts = 1;   // into how many parts divide() can cut it; 1: it cannot
  std::vector<std::string> built_in_kernels;  // by name; `features` has them, too
  cl_device_svm_capabilities svm = 0;         // what allocate_shared() can be asked for …
  UnifiedMemory unified{};                    // … and this …
  bool buffer_addresses = false;              // … and SharedKind::kBuffer
  bool semaphores = false;                    // create_semaphore() is there
  bool external_memory = false;               // import_memory() of handles is there
  bool gl_sharing = false;   // in_context() is there, and import_memory() of GlObject
  bool own_process = false;  // a helper drives it, not this process
  bool came_later = false;   // it was away when the process started: all this is of an earlier one
  /// What it gets and gives passes a link between hosts.
  bool is_far() const { return link.to_device > 0; }
};

inline bool has_feature(const DeviceTraits& traits, std::string_view feature) {
  return std::find(traits.features.begin(), traits.features.end(), feature) !=
         traits.features.end();
}

/// Times of one vendor command, nanoseconds on the vendor's own clock.
struct VendorTimes {
  uint64_t queued = 0, submitted = 0, started = 0, ended = 0;
};

/// One command in flight on the vendor's side (a vendor event).
class Completion {
 public:
  virtual ~Completion() = default;
  /// CL_QUEUED, CL_SUBMITTED, CL_RUNNING or CL_COMPLETE; a negative code when the command failed.
  virtual cl_int poll() = 0;
  /// True once it is known, without asking the vendor, to have ended well.
  virtual bool known_complete() const = 0;
  /// Blocks until the command has ended (flushes its queue first); its error, if it failed.
  virtual Status wait() = 0;
  /// Absent before the end and where the queue does not measure.
  virtual std::optional<VendorTimes> times() = 0;
};
using CompletionPtr = std::shared_ptr<Completion>;
/// Completions of the same backend only.
using WaitList = std::span<const CompletionPtr>;

/// Format and extent of an image, and how its pixels lie in linear memory: in the host's copy of
/// it, or in the buffer that it is made from.
struct ImageShape {
  cl_mem_object_type type = CL_MEM_OBJECT_IMAGE2D;
  cl_image_format format{};
  cl_mem_flags access = CL_MEM_READ_WRITE;  // what kernels do, as given to clCreateImage
  std::array<size_t, 3> extent{1, 1, 1};    // pixels, rows, slices; layers of an array where the
                                            // regions of commands have them
  size_t pixel_size = 1;                    // bytes
  size_t row_pitch = 0;                     // bytes, as CL_IMAGE_ROW_PITCH
  size_t slice_pitch = 0;                   // bytes, as CL_IMAGE_SLICE_PITCH; 0 without slices

  /// Bytes from one index of the second dimension of a region to the next.
  size_t second_pitch() const {
    return type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? slice_pitch : row_pitch;
  }
  /// Bytes from the first pixel to the end of the last one.
  uint64_t span() const {
    return uint64_t{pixel_size} * extent[0] + uint64_t{second_pitch()} * (extent[1] - 1) +
           uint64_t{slice_pitch} * (extent[2] - 1);
  }
};

inline bool same_format(const cl_image_format& a, const cl_image_format& b) {
  return a.image_channel_order == b.image_channel_order &&
         a.image_channel_data_type == b.image_channel_data_type;
}

/// A box of pixels, as in clEnqueueReadImage.
struct ImageBox {
  std::array<size_t, 3> origin{0, 0, 0};
  std::array<size_t, 3> extent{1, 1, 1};
};

/// A pipe, as clCreatePipe makes one.
struct PipeShape {
  uint32_t packet_size = 0;  // bytes
  uint32_t max_packets = 0;
  /// Bytes of all packets.
  uint64_t span() const { return uint64_t{packet_size} * max_packets; }
};

/// What a sampler object says.
struct SamplerState {
  bool normalized = true;
  cl_addressing_mode addressing = CL_ADDRESS_CLAMP;
  cl_filter_mode filter = CL_FILTER_NEAREST;
  auto operator<=>(const SamplerState&) const = default;
};

/// An allocation on the device: a buffer, an image or a pipe. The vendor keeps it alive while
/// commands in flight use it.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual uint64_t size() const = 0;
  /// Bytes of an image's pixel; 0 for all else.
  virtual uint64_t pixel_size() const { return 0; }
  /// No image, and no pipe.
  virtual bool is_buffer() const { return pixel_size() == 0; }
};

/// Host memory that a device reads and writes without staging. Not initialised.
class PinnedMemory {
 public:
  virtual ~PinnedMemory() = default;
  virtual std::byte* data() const = 0;
  virtual uint64_t size() const = 0;
};

/// An object of OpenGL, as clCreateFromGLBuffer and the functions of its kind name it.
struct GlObject {
  enum class Kind : uint8_t { kBuffer, kTexture, kRenderbuffer } kind = Kind::kBuffer;
  cl_uint name = 0;
  cl_uint target = 0;  // of a texture, as its level
  cl_int level = 0;
};

/// Memory that another interface has made: it is known by a handle (cl_khr_external_memory), or it
/// is an object of OpenGL.
struct ExternalRequest {
  cl_mem_flags flags = CL_MEM_READ_WRITE;
  uint64_t size = 0;                  // bytes, of a buffer with a handle
  std::optional<ImageShape> image{};  // else it is one
  std::vector<cl_ulong> properties;   // the handle's type and the handle; with the closing 0
  std::optional<GlObject> gl{};       // which says itself what size and shape it has
};
struct ExternalMemory {
  std::unique_ptr<Memory> memory;
  uint64_t size = 0;                  // bytes; an image's span()
  std::optional<ImageShape> image{};  // absent: a buffer
};
/// Between these two commands such memory is OpenCL's, else the other interface's.
enum class HandOver : uint8_t { kAcquire, kRelease };
/// Which interface that is.
enum class ExternalKind : uint8_t { kHandle, kGl };

/// What a vendor's context has beside its platform, in pairs as clCreateContext takes them, without
/// the closing 0.
using ContextProperties = std::vector<cl_context_properties>;

/// What memory with an address of its own is.
enum class SharedKind : uint8_t {
  kVirtual,  // shared virtual memory (clSVMAlloc)
  kHost,     // unified shared memory (cl_intel_unified_shared_memory): of the host,
  kDevice,   // of the device, which the host does not touch,
  kShared,   // of both
  kBuffer,   // a buffer whose address on the device stays (cl_ext_buffer_device_address)
};
constexpr bool is_unified(SharedKind kind) {
  return kind == SharedKind::kHost || kind == SharedKind::kDevice || kind == SharedKind::kShared;
}
/// The host may touch it whenever no command uses it, without telling anybody.
constexpr bool touched_unasked(SharedKind kind) {
  return kind == SharedKind::kHost || kind == SharedKind::kShared;
}

struct SharedRequest {
  SharedKind kind = SharedKind::kVirtual;
  uint64_t size = 0;       // bytes
  uint32_t alignment = 0;  // a power of two; 0: the largest data type's
  cl_bitfield flags = 0;   // cl_svm_mem_flags; cl_mem_alloc_flags_intel of unified memory
};

/// Shared memory: one allocation at one address for kernels of the device that gave it and, unless
/// it is the device's or a buffer, for the host, which touches shared virtual memory between
/// Queue::map_shared() and unmap_shared() unless it is fine-grained. Not initialised.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  virtual std::byte* data() const = 0;
  virtual uint64_t size() const = 0;
  virtual SharedKind kind() const { return SharedKind::kVirtual; }
};

/// A queue on the device, into which kernels that run there enqueue kernels.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
};
struct DeviceQueueOptions {
  uint32_t size = 0;  // bytes; 0: as the vendor likes
  bool profiling = false;
  /// Kernels get it by get_default_queue(). There is one for all who ask for it, as large as they
  /// can be.
  bool as_default = false;
};

/// The value of one kernel argument at launch. kReached is none: memory over a SharedMemory that
/// the kernel may reach through pointers that it finds; such entries stand behind the arguments.
struct Argument {
  enum class Kind : uint8_t { kBytes, kLocal, kMemory, kSampler, kQueue, kReached };
  Kind kind = Kind::kBytes;
  std::span<const std::byte> bytes;  // kBytes
  uint64_t local_size = 0;           // kLocal, bytes
  Memory* memory = nullptr;          // kMemory, where null is the NULL pointer; kReached
  uint64_t origin = 0;               // kMemory: the window seen by the kernel; origin 0 and size ==
  uint64_t size = 0;                 // memory->size() is the whole allocation
  SamplerState sampler{};            // kSampler
  DeviceQueue* queue = nullptr;      // kQueue
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  /// The raw answer of clGetKernelWorkGroupInfo for this device.
  virtual Result<std::vector<std::byte>> work_group_info(cl_kernel_work_group_info what) = 0;
  /// Likewise of clGetKernelSubGroupInfo, for a local size or a count, as the question wants.
  /// `size`: bytes for which there is room, which can say of how many dimensions; 0: the answer's
  /// size is wanted alone.
  virtual Result<std::vector<std::byte>> sub_group_info(cl_kernel_sub_group_info /*what*/,
                                                        std::span<const size_t> /*input*/,
                                                        size_t /*size*/) {
    return fail(CL_INVALID_OPERATION, "a device without sub-groups");
  }
  /// Likewise of clGetKernelArgInfo, for an index below argument_count().
  virtual Result<std::vector<std::byte>> argument_info(uint32_t /*index*/,
                                                       cl_kernel_arg_info /*what*/) {
    return fail(CL_KERNEL_ARG_INFO_NOT_AVAILABLE, "a device that tells nothing of arguments");
  }
  virtual size_t argument_count() { return 0; }
};

struct Launch {
  Kernel* kernel = nullptr;
  std::span<const Argument> arguments;  // one per vendor argument, in order; then what is reached
  uint32_t dims = 1;
  std::array<size_t, 3> offset{0, 0, 0};
  std::array<size_t, 3> global{1, 1, 1};
  std::optional<std::array<size_t, 3>> local;  // absent: the vendor chooses
  /// Somebody will ask for the launch's own end or times. Otherwise its completion may come with
  /// that of later commands of the queue, and the vendor is spared an event.
  bool observed = true;
};

/// A rectangular region, as clEnqueueReadBufferRect: bytes, rows, slices.
struct Rect {
  std::array<size_t, 3> origin{0, 0, 0};
  size_t row_pitch = 0;
  size_t slice_pitch = 0;
};

/// `count` rows of `length` bytes in a buffer, the first at `offset`, each `pitch` bytes after the
/// one before (of no meaning for a single one).
struct BufferRows {
  uint64_t offset = 0;
  uint64_t length = 0;
  uint64_t pitch = 0;
  uint64_t count = 1;
};

/// What a transfer waits for, and whether somebody will ask for its own end (as Launch::observed).
struct Ordering {
  Ordering(WaitList before = {}, bool asked = true) : wait(before), observed(asked) {}
  WaitList wait;
  bool observed;
};

/// A vendor queue, in-order. Calls never wait for the device, except where
/// the vendor executes in the calling thread (DeviceTraits::synchronous).
class Queue {
 public:
  virtual ~Queue() = default;
  /// Sets the arguments that changed and launches, under the kernel's lock.
  virtual Result<CompletionPtr> launch(const Launch& launch, WaitList wait) = 0;
  /// The same, of a launch that nobody observes and that waits for nothing, behind another one of
  /// this queue. `run` is the completion of that one and becomes this one's. It may stay the same
  /// object unless that one is observed; else nobody has waited for it yet, nor does meanwhile.
  virtual Status launch_again(const Launch& launch, CompletionPtr& run);
  virtual Result<CompletionPtr> read(Memory& from, uint64_t offset, uint64_t size, void* to,
                                     Ordering ordering) = 0;
  virtual Result<CompletionPtr> write(Memory& to, uint64_t offset, uint64_t size, const void* from,
                                      Ordering ordering) = 0;
  /// As write, but returns when `from` may be reused or freed.
  virtual Status write_blocking(Memory& to, uint64_t offset, uint64_t size, const void* from) = 0;
  /// As read, but returns when `to` holds the data. In an in-order queue: all before it has ended.
  virtual Status read_blocking(Memory& from, uint64_t offset, uint64_t size, void* to) = 0;
  /// The same for rows, which lie in the host's memory at the same pitch, the first at `from` or
  /// `to`. One vendor call where there is one for it.
  virtual Status write_rows(Memory& to, const BufferRows& rows, const void* from);
  virtual Status read_rows(Memory& from, const BufferRows& rows, void* to);
  virtual Result<CompletionPtr> copy(Memory& from, uint64_t from_offset, Memory& to,
                                     uint64_t to_offset, uint64_t size, Ordering ordering) = 0;
  /// offset and size are multiples of pattern.size().
  virtual Result<CompletionPtr> fill(Memory& to, uint64_t offset, uint64_t size,
                                     std::span<const std::byte> pattern, Ordering ordering) = 0;
  /// `to` and `from` point at the box's first pixel; pitches in bytes, from one index of the box's
  /// second and third dimension to the next.
  virtual Result<CompletionPtr> read_image(Memory& from, const ImageBox& box, void* to,
                                           size_t second_pitch, size_t third_pitch, WaitList wait);
  virtual Result<CompletionPtr> write_image(Memory& to, const ImageBox& box, const void* from,
                                            size_t second_pitch, size_t third_pitch, WaitList wait);
  /// Images of one format; `box` is the source's, `origin` the target's.
  virtual Result<CompletionPtr> copy_image(Memory& from, const ImageBox& box, Memory& to,
                                           const std::array<size_t, 3>& origin, WaitList wait);
  /// `color`: as fill_color of clEnqueueFillImage, four components of four bytes.
  virtual Result<CompletionPtr> fill_image(Memory& to, const ImageBox& box,
                                           std::span<const std::byte, 16> color, WaitList wait);
  /// The host may touch the range from when this returns, as `flags` say, until unmap_shared() of
  /// the same begin has returned. (Devices without shared memory refuse, here and below.)
  virtual Status map_shared(SharedMemory& memory, uint64_t offset, uint64_t size,
                            cl_map_flags flags);
  virtual Status unmap_shared(SharedMemory& memory, uint64_t offset);
  /// Ends when all has that the queue was given before, and what is in `wait`. `observed`: as of a
  /// launch. (Devices without markers refuse.)
  virtual Result<CompletionPtr> mark(WaitList wait, bool observed);
  /// Nothing where all has been flushed that the queue was given.
  virtual Status flush() = 0;
  virtual Status finish() = 0;
};

/// A binary semaphore (cl_khr_semaphore). Who waits for it, and who signals it, does so in queues
/// of its own, so that neither holds up anything else.
class Semaphore {
 public:
  virtual ~Semaphore() = default;
  /// Ends when the semaphore has been signalled, and makes it unsignalled. The vendor may block.
  virtual Result<CompletionPtr> wait() = 0;
  virtual Result<CompletionPtr> signal() = 0;
  /// The raw answer of clGetSemaphoreInfoKHR.
  virtual Result<std::vector<std::byte>> info(cl_uint what) = 0;
  /// What clGetSemaphoreHandleForTypeKHR gives. CL_INVALID_OPERATION where there is no such
  /// function.
  virtual Result<std::vector<std::byte>> export_handle(cl_uint type) = 0;
  /// As clReImportSemaphoreSyncFdKHR. CL_INVALID_OPERATION likewise.
  virtual Status import_again(int descriptor) = 0;
};

/// A program built for one device.
class Module {
 public:
  virtual ~Module() = default;
  virtual Result<std::unique_ptr<Kernel>> create_kernel(const std::string& name) = 0;
  virtual const std::string& build_log() const = 0;
  /// The vendor's binary; empty where it has none.
  virtual Result<std::vector<std::byte>> binary() = 0;
  /// Bytes of its variables in program scope, as its vendor counts them; 0 where that does not say.
  virtual Result<size_t> variable_bytes() { return 0; }
};

struct BuildResult {
  std::unique_ptr<Module> module;  // null: the build failed
  cl_int code = CL_SUCCESS;
  std::string log;
};

/// A translation unit compiled for one device, to be linked with others. Immutable.
class Object {
 public:
  virtual ~Object() = default;
};

struct ObjectResult {
  std::unique_ptr<Object> object;  // null: the compilation failed
  cl_int code = CL_SUCCESS;
  std::string log;
};

/// What the text of a program is.
enum class ProgramForm : uint8_t {
  kSource,   // OpenCL C
  kIl,       // SPIR-V, in the host's byte order
  kBuiltIn,  // names of kernels that are built into the device, with semicolons between them
};

/// What a device has that takes programs in SPIR-V (DeviceTraits::features).
inline constexpr std::string_view kIlPrograms = "cl_khr_il_program";
/// What a device has that lists this version of the language. Others get its programs as such of
/// OpenCL C 3.0, and have none of the kernels for which that makes a difference.
inline constexpr std::string_view kOpenClC31 = "OpenCL C 3.1";

/// How the application would have a queue's commands treated, in the words of
/// cl_khr_priority_hints and cl_khr_throttle_hints; 0: it does not say. Devices without the
/// extension are not told.
struct QueueHints {
  cl_uint priority = 0;  // CL_QUEUE_PRIORITY_HIGH_KHR …
  cl_uint throttle = 0;  // CL_QUEUE_THROTTLE_HIGH_KHR …
};
inline constexpr std::string_view kPriorityHints = "cl_khr_priority_hints";
inline constexpr std::string_view kThrottleHints = "cl_khr_throttle_hints";

struct QueueOptions {
  bool profiling = false;
  QueueHints hints{};
};

/// Bytes that a device's queues were told to move so far.
struct Traffic {
  uint64_t to_device = 0, to_host = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceTraits& traits() const = 0;
  virtual Traffic traffic() const { return {}; }
  /// It has not answered in time, and answers no more. What it was given may still be carried out.
  virtual bool hangs() const { return false; }
  /// Begins anew with a context of its own, for a device that was lost: nothing of the old one is
  /// used again. Queues, kernels, modules and objects are made anew when they are next used, and so
  /// is memory at the host's addresses; all other memory is to be let go of. An error: there is no
  /// new one.
  virtual Status renew() { return {}; }
  /// How often it has begun anew: what programs kept in variables of their own is gone then.
  virtual uint32_t renewals() const { return 0; }
  /// The raw answer of clGetDeviceInfo.
  virtual Result<std::vector<std::byte>> device_info(cl_device_info what) const = 0;
  virtual Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) = 0;
  /// (Devices whose kernels enqueue none refuse.)
  virtual Result<std::shared_ptr<DeviceQueue>> create_device_queue(
      const DeviceQueueOptions& options);
  /// Allocates `size` bytes. With `host` (only where traits().shares_host_memory): the memory at
  /// `host` itself is the allocation; the caller keeps it alive and gives size accessible bytes.
  virtual Result<std::unique_ptr<Memory>> allocate(uint64_t size, void* host) = 0;
  /// Host memory for fast transfers; other devices of the vendor have use of it too.
  virtual Result<std::unique_ptr<PinnedMemory>> allocate_pinned([[maybe_unused]] uint64_t size) {
    return fail(CL_INVALID_OPERATION, traits().device_name + " pins no host memory");
  }
  /// Makes transfers from and to memory of the host that is there as fast. The memory outlives it.
  virtual Result<std::unique_ptr<PinnedMemory>> pin(std::byte* /*data*/, uint64_t size) {
    return Backend::allocate_pinned(size);
  }
  /// As clSVMAlloc and the functions of its kind.
  virtual Result<std::unique_ptr<SharedMemory>> allocate_shared(const SharedRequest& request);
  /// All of it as memory for commands and arguments; kernels get its own address. `shared` outlives
  /// it.
  virtual Result<std::unique_ptr<Memory>> memory_over(SharedMemory& shared);
  /// (Devices that import none refuse, here and below.)
  virtual Result<ExternalMemory> import_memory(const ExternalRequest& request);
  /// Of memory that was imported, all of one kind. Waits for it, and for nothing else.
  virtual Status hand_over(std::span<const std::shared_ptr<Memory>> memory, HandOver what,
                           ExternalKind kind);
  /// The same device with a vendor context of its own, made now, that shares objects with the
  /// OpenGL context in `properties`. `number`: as of divide(). The vendor's own error.
  virtual Result<std::unique_ptr<Backend>> in_context(const ContextProperties& properties,
                                                      uint32_t number);
  /// Of what in_context() gave, as renew(): in a context with these properties, made now; with
  /// none, nothing is made, and the old one is let go of.
  virtual Status change_context(const ContextProperties& properties);
  /// Whether it is a device of the OpenGL context in `properties`; with `current`, the one where
  /// that is. The vendor's own error.
  virtual Result<bool> is_of_gl_context(const ContextProperties& properties, bool current);
  /// As clCreateSemaphoreWithPropertiesKHR: `properties` with the closing 0, without devices.
  /// (Devices without semaphores refuse.)
  virtual Result<std::unique_ptr<Semaphore>> create_semaphore(std::span<const cl_ulong> properties);
  /// An image of its own. (Devices without images refuse, here and below.)
  virtual Result<std::unique_ptr<Memory>> allocate_image(const ImageShape& shape);
  /// An image made from `size` bytes of a buffer at `origin`; it keeps the vendor's buffer alive.
  virtual Result<std::unique_ptr<Memory>> image_over(Memory& buffer, uint64_t origin, uint64_t size,
                                                     const ImageShape& shape);
  /// An empty pipe, which kernels alone fill and empty. (Devices without pipes refuse.)
  virtual Result<std::unique_ptr<Memory>> allocate_pipe(const PipeShape& shape);
  /// As clGetSupportedImageFormats.
  virtual Result<std::vector<cl_image_format>> image_formats(cl_mem_flags flags,
                                                             cl_mem_object_type type);
  /// Builds OpenCL C source; adds what this vendor needs to its options (quirks.cpp).
  virtual BuildResult build(const std::string& source, const std::string& options) = 0;
  /// The same of a program in SPIR-V, in the host's byte order. (Devices that take none refuse.)
  virtual BuildResult build_il(const std::string& il, const std::string& options);
  /// Of kernels built into the device, whose names have semicolons between them.
  virtual BuildResult take_built_in(const std::string& names);
  /// Whether build() finds what an earlier process has built, and so takes next to nothing; absent:
  /// it is not known.
  virtual std::optional<bool> build_is_kept(const std::string& /*source*/,
                                            const std::string& /*options*/) const {
    return std::nullopt;
  }
  /// Makes a module of what binary() gave of one on a device of the same binary_kind.
  virtual BuildResult load(std::span<const std::byte> /*binary*/) {
    return {nullptr, CL_INVALID_BINARY, "this device's driver loads no binaries"};
  }
  /// Parts of the device that do not meet, with so many compute units each (in sum no more than it
  /// has), as devices of their own. The i-th is numbered first_number + i, which is distinct for
  /// each device of the process. CL_DEVICE_PARTITION_FAILED where the vendor cannot.
  virtual Result<std::vector<std::unique_ptr<Backend>>> divide(
      [[maybe_unused]] std::span<const uint32_t> units, [[maybe_unused]] uint32_t first_number) {
    return fail(CL_DEVICE_PARTITION_FAILED, traits().device_name + " cannot be divided");
  }
  /// Compiles a unit; options as for build().
  virtual ObjectResult compile(const std::string& /*source*/, const std::string& /*options*/) {
    return {nullptr, CL_COMPILER_NOT_AVAILABLE, "this device's driver cannot compile and link"};
  }
  virtual ObjectResult compile_il(const std::string& il, const std::string& options);
  /// Links objects of this backend to an executable; `options` are a linker's.
  virtual BuildResult link(std::span<Object* const> /*objects*/, const std::string& /*options*/) {
    return {nullptr, CL_LINKER_NOT_AVAILABLE, "this device's driver cannot compile and link"};
  }
};

/// Whether the device's images may be as large as this one.
bool takes_extent(const DeviceTraits& device, const ImageShape& shape);

}  // namespace tutti::backends
