// SPDX-License-Identifier: Apache-2.0
// A trace file as plain data: what scheduler/observe/run_trace.h writes, read again. A trace that
// is cut off anywhere is read as far as it goes. Value types; texts are kept once, by number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tutti::tools {

enum class SliceKind : uint8_t { kApi, kHost, kDecision, kPackage, kKernel, kTransfer, kMerge };
inline constexpr size_t kSliceKinds = 7;
const char* slice_kind_name(SliceKind kind);  // as the events' category

enum class TransferWay : uint8_t { kToDevice, kToHost, kOnDevice };
inline constexpr size_t kTransferWays = 3;

/// A slice of a row. Times in nanoseconds from the trace's begin.
struct TraceSlice {
  SliceKind kind = SliceKind::kApi;
  TransferWay way = TransferWay::kToDevice;
  uint32_t row = 0;       // index into TraceFile::rows
  uint32_t name = 0;      // text
  uint32_t kernel = 0;    // text; of packages, launches, transfers
  uint32_t argument = 0;  // text; of transfers
  uint32_t why = 0;       // text; of transfers and host work; an api call's error
  uint32_t device = 0;    // as `tutti devices` numbers it
  uint64_t begin = 0, end = 0;
  uint64_t command = 0;           // 0: none
  uint64_t first = 0, count = 0;  // packages: slices of the launch
  uint64_t bytes = 0;             // transfers and host work
};

struct TraceRow {
  uint32_t process = 0, thread = 0;
  std::string group, name;
};

struct TraceArrow {
  uint32_t from_row = 0, to_row = 0;
  uint64_t from = 0, to = 0;
};

struct TraceDevice {
  uint32_t index = 0;
  std::string name, platform;
  bool shares_host_memory = false;
};

/// What was done on a device for want of memory, or for a launch's shards.
struct TraceMemoryEvent {
  bool eviction = false;  // else a shard was made or changed
  uint64_t begin = 0, end = 0;
  uint64_t bytes = 0;
};

/// The memory of a device: how many bytes buffers had there, each from its time until the next
/// one's, and what was done there.
struct TraceMemory {
  uint32_t device = 0;  // its index
  std::vector<std::pair<uint64_t, uint64_t>> bytes;
  std::vector<TraceMemoryEvent> events;
};

/// An energy sensor, and the watts that it told: each from its time until the next one's.
struct TraceSensor {
  std::string name;
  std::vector<uint32_t> devices;  // that it serves
  uint32_t process = 0;           // whose counter it is
  std::vector<std::pair<uint64_t, double>> power;
};

/// What was decided for a launch, and what became of it.
struct TraceLaunch {
  uint32_t kernel = 0;  // text
  uint64_t command = 0;
  bool split = false, failed = false;
  bool ended = false;  // else the trace stops before it does
  std::string mode, reason;
  uint32_t line = 0, dimension = 0;
  uint64_t slices = 0, items = 0;
  std::vector<uint64_t> global, local;
  std::vector<uint32_t> candidates;
  uint64_t begin = 0, end = 0;
  // What the planner expected of its alternatives; 0: it did not know.
  uint64_t expected_whole = 0, expected_split = 0;
};

enum class WaitKind : uint8_t { kNamed, kOrder, kData };
inline constexpr size_t kWaitKinds = 3;

/// That a command waited for another one.
struct TraceWait {
  uint64_t on = 0;
  WaitKind kind = WaitKind::kNamed;
};

/// A command as it was enqueued.
struct TraceCommand {
  uint64_t number = 0;
  uint32_t queue = 0;             // 0: of none, as a user event is
  uint32_t what = 0, kernel = 0;  // texts
  uint64_t enqueued = 0;
  std::vector<TraceWait> waits;
};

struct TraceFile {
  std::string program;
  uint64_t process = 0;
  bool complete = false;              // the application ended in good order
  uint64_t begin = 0;                 // nanoseconds of the machine's steady clock
  uint64_t duration = 0;              // to the last event's end
  uint64_t lost = 0;                  // events that could not be written
  std::vector<TraceDevice> devices;   // by index
  std::vector<TraceMemory> memories;  // of devices where buffers had some
  std::vector<TraceSensor> sensors;
  std::string energy_absent;       // of which devices no energy is known, and why
  std::vector<TraceRow> rows;      // in the order in which they are shown
  std::vector<TraceSlice> slices;  // by row, then by begin
  std::vector<TraceArrow> arrows;
  std::vector<TraceCommand> commands;  // by number
  std::vector<TraceLaunch> launches;   // in the order of their decisions
  std::vector<std::string> texts;      // number 0 is empty
};

// An error's message is for a person, and names the file.

/// What a file, or a pipe, holds.
Result<std::string> trace_text(const std::string& path);
Result<TraceFile> parse_trace(std::string_view text, const std::string& path);
Result<TraceFile> read_trace(const std::string& path);

}  // namespace tutti::tools
