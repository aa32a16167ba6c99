// SPDX-License-Identifier: Apache-2.0
// What the application asks a helper that drives a device, by backends/api's functions. A request
// is: an Op; what the application has let go of meanwhile (a list of Dropped); what the Op says
// below. An answer is: an error code and its text; and, where the code is CL_SUCCESS, what the Op
// says. Objects are named by numbers that the helper gives, of which 0 is none. Stateless.
#pragma once

#include <cstdint>

#include "backends/api/backend.h"
#include "backends/process/wire.h"

namespace tutti::backends::process {

enum class Op : uint32_t {
  kInfo,          // cl_device_info; bytes
  kCreateQueue,   // QueueOptions; number
  kAllocate,      // size; number
  kImage,         // ImageShape; number
  kImageOver,     // number, origin, size, ImageShape; number
  kImageFormats,  // flags, type; list
  kPin,           // offset, size; number
  kBuild,         // ProgramText; a Built
  kCompile,       // ProgramText; a Built
  kLink,          // list of numbers, options; a Built
  kCreateKernel,  // number of a module, name; number, count of arguments
  kBinary,        // number of a module; bytes
  kVariables,     // number of a module; size
  kKernelInfo,    // number, KernelQuestion, what, index, list of sizes, size; bytes
  kLaunch,        // queue, a launch, wait list; Enqueued
  kLaunchAgain,   // queue, a launch, a completion's number; Enqueued
  kRead,          // queue, number, offset, size, Place, wait list, observed; Enqueued
  kWrite,         // likewise
  kReadNow,       // queue, number, offset, size, Place; how far the queue has come, bytes if inline
  kWriteNow,      // queue, number, offset, size, Place, bytes if inline; how far …
  kReadRows,      // queue, number, BufferRows, Place; how far …
  kWriteRows,     // likewise
  kCopy,          // queue, number, offset, number, offset, size, wait list, observed; Enqueued
  kFill,          // queue, number, offset, size, pattern, wait list, observed; Enqueued
  kReadImage,     // queue, number, ImageBox, Place, pitches, wait list; Enqueued
  kWriteImage,    // likewise
  kCopyImage,     // queue, number, ImageBox, number, origin, wait list; Enqueued
  kFillImage,     // queue, number, ImageBox, color, wait list; Enqueued
  kMark,          // queue, wait list, observed; Enqueued
  kFlush,         // queue
  kFinish,        // queue; how far …
  kPoll,          // completion; status, VendorTimes
  kWait,          // completion; VendorTimes
  kRest,          // offset: the answer to the request before goes there; nothing
  kNothing,       // only lets go
};

enum class ObjectKind : uint32_t {
  kQueue,
  kMemory,
  kPinned,
  kModule,
  kObject,
  kKernel,
  kCompletion
};

struct Dropped {
  ObjectKind kind;
  uint32_t unused;
  uint64_t number;
};

/// Where bytes of a transfer lie: an offset in the arena, or in the message itself.
using Place = uint64_t;
inline constexpr Place kInline = UINT64_MAX;
/// So many bytes travel in the messages of blocking transfers.
inline constexpr uint64_t kMostInline = uint64_t{16} << 10;

enum class TextKind : uint32_t { kSource, kIl, kBuiltIn, kBinary };
struct ProgramText {
  TextKind kind = TextKind::kSource;
  std::string text, options;
};

/// From the first of these bytes of the host's memory to the last one.
inline uint64_t span_of(const BufferRows& rows) {
  return rows.count > 1 ? rows.pitch * (rows.count - 1) + rows.length : rows.length;
}

/// What an enqueued command is known by.
struct Enqueued {
  uint64_t completion = 0;
  uint64_t before = 0;  // so many commands of the queue were enqueued before it, at least
  uint64_t number = 0;  // it is among the first so many
};

struct Times {
  uint32_t known = 0;
  uint32_t unused = 0;
  VendorTimes times;
};

enum class KernelQuestion : uint32_t { kWorkGroup, kSubGroup, kArgument };

/// A launch, but for what numbers name.
struct LaunchShape {
  uint32_t dims = 1;
  uint32_t has_local = 0;
  std::array<size_t, 3> offset{}, global{}, local{};
  uint32_t observed = 1;
  uint32_t arguments = 0;
};
struct ArgumentShape {
  Argument::Kind kind = Argument::Kind::kBytes;
  uint64_t local_size = 0, memory = 0, origin = 0, size = 0;
  SamplerState sampler{};
};

void put(Writer& to, const DeviceTraits& traits);
DeviceTraits get_traits(Reader& from);
/// But for its number, its clock, and how fast its link is.
bool same_device(DeviceTraits a, DeviceTraits b);
void put(Writer& to, const ProgramText& text);
ProgramText get_text(Reader& from);

/// One of a driver's devices, as a helper tells of it when it has loaded the driver.
struct ListedDevice {
  uint32_t platform = 0, device = 0;  // numbers, in the order in which the driver tells them
  DeviceTraits traits;
  std::string reason;  // why it cannot be used; empty if it can
};
struct Listing {
  std::string path;    // the file that was loaded
  std::string reason;  // why the driver has no device that can be used; empty if it has one
  std::vector<ListedDevice> devices;
};
std::string text_of(const Listing& listing);
/// Nothing where the text is none of these.
std::optional<Listing> get_listing(std::string_view text);

/// Which of them a helper is to drive, and where it is asked to.
struct Service {
  uint32_t platform = 0, device = 0;
  uint32_t index = 0;       // of DeviceTraits
  uint32_t keep_cores = 0;  // of a processor, for the host
  uint64_t arena = 0;       // bytes
  uint64_t lanes = 0;       // where they lie
};

/// What of a device another process can use: the others' traits say that it has not the rest.
void leave_out_what_stays_behind(DeviceTraits& traits);
/// The answer of a device in a process of its own to a query of what stays behind; absent: its own.
std::optional<std::vector<std::byte>> answer_without(cl_device_info what);
/// Its own answer, without what stays behind.
std::vector<std::byte> leave_out(cl_device_info what, std::vector<std::byte> answer);

}  // namespace tutti::backends::process
