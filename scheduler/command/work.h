// SPDX-License-Identifier: Apache-2.0
// What a command does, as plain values: made by device_virtual, executed by the engine. All offsets
// and sizes are bytes; offsets of views are relative to the view. Arguments have been validated.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/api/backend.h"
#include "scheduler/access/access_cache.h"
#include "scheduler/access/access_eval.h"
#include "scheduler/access/access_summary.h"
#include "scheduler/memory/buffer_image.h"
#include "scheduler/memory/logical_buffer.h"

namespace tutti::scheduler {

/// One kernel argument as set by the application. kReached is none: shared virtual memory that the
/// kernel may reach through pointers that it finds; such slots stand behind the arguments.
struct ArgumentSlot {
  enum class Kind : uint8_t { kUnset, kBytes, kLocal, kBuffer, kSampler, kQueue, kReached };
  Kind kind = Kind::kUnset;
  // kBytes. Scalars are set anew for each of many small launches: no allocation for them.
  boost::container::small_vector<std::byte, 16> bytes;
  uint64_t local_size = 0;         // kLocal
  BufferView view;                 // kBuffer, also images, where a null view.buffer is the NULL
                                   // pointer; kReached, all of it
  Ref<BufferImage> image;          // kBuffer: the image made from the view; null otherwise
  backends::SamplerState sampler;  // kSampler
  std::shared_ptr<backends::DeviceQueue> queue;  // kQueue
  uint32_t home = kNoBackend;                    // kQueue: the device that it is on

  bool has_memory() const {
    return (kind == Kind::kBuffer || kind == Kind::kReached) && view.buffer;
  }
};
/// Immutable once it is part of a command: a kernel object copies it when an argument changes.
struct ArgumentSet : std::vector<ArgumentSlot> {
  using std::vector<ArgumentSlot>::vector;
  uint64_t version = 0;  // of one kernel object's sets: another one after each change
};

enum class KernelVariant : uint8_t {
  kUntouched,
  kSubRange,  // with the hidden argument of access/hidden_argument.h
  kShards,    // with that, where the kernel needs it, and the one of access/shard_argument.h
  kPanels     // with those, and the one of access/panel_argument.h
};
inline constexpr size_t kKernelVariants = 4;

/// A kernel of a built program, with its vendor kernels (made at first use).
class LaunchableKernel {
 public:
  virtual ~LaunchableKernel() = default;
  virtual const KernelSummary& summary() const = 0;
  /// Backends on which the program was built, or can be for all that is known, as bits.
  virtual uint64_t built_on() const = 0;
  /// Backends that were to build it and could not.
  virtual uint64_t failed_on() const { return 0; }
  /// The feature that its program uses and the backend does not have; empty: none is known.
  virtual std::string lacking(uint32_t /*backend*/) const { return {}; }
  /// Those where launches of the variant need no build any more.
  virtual uint64_t ready_on(KernelVariant /*variant*/) const { return built_on(); }
  /// How long it is expected to take to make the others of `backends` ready, first launches
  /// included.
  virtual double seconds_until_ready(uint64_t /*backends*/, KernelVariant /*variant*/) const {
    return 0;
  }
  /// A launch gains so many seconds by the variant's being ready on `backends`; if it is not: it
  /// would have.
  virtual void note_gain(double /*seconds*/, uint64_t /*backends*/, KernelVariant /*variant*/) {}
  /// Makes it ready there if so much was foregone that it is worth while, in this thread or behind
  /// it; true: something has changed.
  virtual bool build_if_worth(uint64_t /*backends*/, KernelVariant /*variant*/) { return false; }
  /// The work-items of a group that the backend takes, as far as its vendor was asked.
  virtual uint64_t most_in_group(uint32_t /*backend*/) const { return UINT64_MAX; }
  /// KernelSummary::shard_arguments; 0: it has no shard variant, which is never asked for then. The
  /// first call may take the front end's time.
  virtual uint32_t shard_arguments() { return 0; }
  /// KernelSummary::panel_arguments; 0: it has no panel variant, likewise.
  virtual uint32_t panel_arguments() { return 0; }
  /// Cheap after the first call. Owned by this object. A kernel that needs no rewriting has one
  /// variant only. Builds the variant on that backend at first use.
  virtual Result<backends::Kernel*> vendor_kernel(uint32_t backend, KernelVariant variant) = 0;
  /// Equal for equal source, options and name: the key under which speeds are remembered.
  virtual uint64_t model_key() const = 0;
  AccessCache& evaluated() const { return evaluated_; }

 private:
  mutable AccessCache evaluated_;
};

struct KernelWork {
  std::shared_ptr<LaunchableKernel> kernel;
  std::shared_ptr<const ArgumentSet> arguments;
  LaunchShape shape;         // local is 1,1,1 when not given
  bool local_given = false;  // false: the application passed NULL
};
/// As its source names it.
inline std::string_view kernel_name(const KernelWork& work) { return work.kernel->summary().name; }
inline std::string_view argument_name(const KernelWork& work, uint32_t argument) {
  const auto& arguments = work.kernel->summary().arguments;
  return argument < arguments.size() ? std::string_view(arguments[argument].name)
                                     : std::string_view();
}
/// What the performance model remembers a launch under: program, kernel and local size.
inline uint64_t model_key(const KernelWork& work) {
  uint64_t key = work.kernel->model_key();
  if (!work.local_given) return key;
  for (const uint64_t size : work.shape.local) key = (key ^ size) * 0x9E3779B97F4A7C15ull;
  return key;
}
struct ReadWork {
  BufferView from;
  uint64_t offset = 0, size = 0;
  void* to = nullptr;
};
struct WriteWork {
  BufferView to;
  uint64_t offset = 0, size = 0;
  const void* from = nullptr;
};
struct CopyWork {
  BufferView from, to;
  uint64_t from_offset = 0, to_offset = 0, size = 0;
};
struct FillWork {
  BufferView to;
  uint64_t offset = 0, size = 0;
  std::array<std::byte, 128> pattern{};
  uint32_t pattern_size = 1;
};
/// A rectangle between a buffer and host memory. For an image: its pixels as they lie in the host's
/// copy, whole pixels of a box.
struct RectWork {
  bool write = false;  // host → buffer; else buffer → host
  BufferView view;
  backends::Rect buffer_rect, host_rect;
  std::array<size_t, 3> region{1, 1, 1};  // bytes, rows, slices
  void* host = nullptr;                   // read only when `write`
  uint64_t bytes() const { return region[0] * region[1] * region[2]; }
};
struct CopyRectWork {
  BufferView from, to;
  backends::Rect from_rect, to_rect;
  std::array<size_t, 3> region{1, 1, 1};
};
/// A box of an image filled with a colour, as clEnqueueFillImage takes it.
struct FillImageWork {
  BufferView to;
  Ref<BufferImage> image;  // set where the image is made from a buffer
  backends::ImageBox box;
  std::array<std::byte, 16> color{};
};
/// The range becomes valid in the host's copy (unless `discard`); the pointer is host_memory() +
/// view.origin + offset and is known before.
struct MapWork {
  BufferView view;
  uint64_t offset = 0, size = 0;
  bool discard = false;  // CL_MAP_WRITE_INVALIDATE_REGION
  bool writable = true;  // it is not mapped for reading alone
};
struct UnmapWork {
  BufferView view;
  uint64_t offset = 0, size = 0;
  bool written = false;  // mapped for writing: the host's copy becomes the valid one
};
/// Shared virtual memory whose home device has memory of its own: that device's vendor gives the
/// host the range at its own address, or takes it back.
struct MapSharedWork {
  BufferView view;
  uint64_t offset = 0, size = 0;
  bool unmap = false;
  bool writes = false;     // mapped not for reading alone
  cl_map_flags flags = 0;  // of a map
};
/// Nothing but order: markers, barriers, migration hints.
struct MarkerWork {};
/// Something done by the host in its turn (native kernels, calls of vendors, tests). The buffers
/// are the function's own while it runs: their host copies are valid before, and are the valid ones
/// afterwards.
struct HostWork {
  std::function<Status()> function;
  std::vector<BufferView> buffers{};
  /// Its own as well, wherever their content lies.
  std::vector<BufferView> in_place{};
  bool renews = false;     // what they held before is not needed
  bool in_caller = false;  // in the thread that enqueues it, where nothing unfinished is before it
  const char* name = "a native kernel";
};

using Work =
    std::variant<KernelWork, ReadWork, WriteWork, CopyWork, FillWork, RectWork, CopyRectWork,
                 FillImageWork, MapWork, UnmapWork, MapSharedWork, MarkerWork, HostWork>;

/// A transfer of nothing, a launch of no work-items: only its place in the order counts.
inline Work no_work() {
  return HostWork{[] { return Status{}; }};
}

}  // namespace tutti::scheduler
