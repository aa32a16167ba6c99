// SPDX-License-Identifier: Apache-2.0
// What `tutti report` says of a trace, as numbers: the one source of its page and of its text.
// Pure functions of the trace. Times in nanoseconds, speeds in work-items per second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/trace_file.h"

namespace tutti::tools {

/// Of a picture of something over time.
inline constexpr size_t kMostCurvePoints = 1000;

/// A device's memory over the whole trace.
struct MemoryNumbers {
  uint64_t peak = 0;  // bytes that buffers had there
  uint64_t evictions = 0, evicted_bytes = 0;
  uint64_t shard_changes = 0, shard_bytes = 0;
  // For a picture: the bytes from that time on, from the trace's begin to its end, and when
  // buffers were evicted. Several that follow each other may be one, of bytes the most.
  std::vector<std::pair<uint64_t, uint64_t>> bytes;
  std::vector<uint64_t> eviction_times;
};

struct DeviceNumbers {
  TraceDevice device;
  uint64_t busy_ns = 0;    // computing kernels
  double share = 0;        // of all devices' busy time
  double utilisation = 0;  // of the time from the first kernel's begin to the last one's end
  uint64_t packages = 0, whole_launches = 0;
  uint64_t bytes_to_device = 0, bytes_to_host = 0;
  double joules = 0;                                   // while kernels ran there; 0: not known
  std::optional<MemoryNumbers> memory = std::nullopt;  // none: the trace tells nothing of it
};

/// An energy sensor over the whole trace.
struct SensorNumbers {
  std::string name;
  std::vector<uint32_t> devices;
  double joules = 0;
  double busy_joules = 0;                          // of that: while kernels ran
  double watts = 0;                                // on average
  std::vector<std::pair<uint64_t, double>> power;  // watts from that time on, for a picture
};

/// One device's part in one kernel.
struct KernelDeviceNumbers {
  uint32_t device = 0;
  uint64_t packages = 0, whole_launches = 0;
  uint64_t items = 0;  // work-items computed
  uint64_t busy_ns = 0;
  double share = 0;                    // of the kernel's work-items
  double speed = 0;                    // 0: unknown
  uint64_t smallest = 0, largest = 0;  // package, in slices
  double joules = 0;                   // while it computed the kernel; 0: not known
};

struct VerdictNumbers {
  std::string mode, reason;
  uint32_t line = 0;  // of the source that forced it; 0: none
  uint64_t launches = 0;
};

struct LaunchNumbers {
  uint64_t command = 0;
  uint32_t verdict = 0;  // index into KernelNumbers::verdicts
  bool split = false, failed = false, ended = false;
  uint64_t begin = 0, end = 0;
  uint64_t items = 0, slices = 0;
  uint32_t dimension = 0;
  uint64_t packages = 0;
  uint64_t expected_whole_ns = 0, expected_split_ns = 0;  // by the planner; 0: it did not know
  // Of split launches that ended: t_ideal = G / Σ s_i, what the fastest device would have needed
  // alone, and t_ideal by what the launch took. 0: unknown.
  uint64_t ideal_ns = 0, best_ns = 0;
  uint32_t best_device = 0;
  double efficiency = 0;
};

struct MovedNumbers {
  TransferWay way = TransferWay::kToDevice;
  uint32_t device = 0;
  std::string why, argument;
  uint64_t bytes = 0, transfers = 0, ns = 0;
};

struct KernelNumbers {
  std::string name;
  uint64_t launches = 0, split = 0, failed = 0, unfinished = 0;
  uint64_t total_ns = 0;  // sum over the launches that ended
  uint64_t median_ns = 0;
  std::vector<VerdictNumbers> verdicts;      // in the order of their first launch
  std::vector<KernelDeviceNumbers> devices;  // by index
  std::vector<LaunchNumbers> all;            // in the order of their decisions
  std::vector<MovedNumbers> moved;           // the most bytes first
  uint64_t merges = 0, merge_ns = 0;
  // Sums over the split launches whose ideal is known.
  uint64_t measured_launches = 0;
  uint64_t split_ns = 0, ideal_ns = 0, best_ns = 0;
  double efficiency = 0;         // ideal_ns / split_ns; 0: unknown
  double median_efficiency = 0;  // of the launches
  uint32_t best_device = 0;      // the one that is fastest most often
  double share = 0;              // of all kernels' total_ns
  double run_share = 0;          // of the whole traced time: when some launch of it was under way
  // Against the best single device, over the launches of which it is known: what they took, and
  // what that device would have needed for each. gain < 1: Tutti lost by its choice. 0: unknown.
  uint64_t compared_ns = 0, alone_ns = 0;
  double gain = 0;
  uint64_t moved_bytes = 0;
  // Of all devices while they computed it; joules times the seconds of all launches. 0: not known.
  double joules = 0, energy_delay = 0;
};

/// Commands of the application that are no kernels: what it read, wrote, mapped, copied. Where the
/// data lay in the host's memory, nothing else moved.
struct AskedNumbers {
  std::string what;
  uint64_t commands = 0, bytes = 0, ns = 0;
};

/// A command in the graph of who waited for whom.
struct CommandNumbers {
  uint64_t number = 0;
  uint32_t queue = 0;        // 0: of none
  std::string what, kernel;  // "kernel", "read", "marker" …
  uint64_t enqueued = 0;
  // From its first work to its last, packages, transfers and merges alike; both 0: it has none.
  uint64_t begin = 0, end = 0;
  std::vector<TraceWait> waits;  // for commands that are in the list
  bool critical = false;         // on the chain that ended last
};

struct ReportNumbers {
  std::vector<DeviceNumbers> devices;
  std::vector<KernelNumbers> kernels;    // the one that took longest first
  std::vector<MovedNumbers> moved;       // for the application's own commands, not for kernels
  std::vector<AskedNumbers> asked;       // those commands
  std::vector<CommandNumbers> commands;  // by number
  uint64_t lost = 0;                     // events that are not in the trace
  uint64_t launches = 0, split = 0;
  uint64_t bytes_to_device = 0, bytes_to_host = 0;
  std::vector<SensorNumbers> sensors;                       // none: energy is not known
  std::string energy_absent;                                // of which devices it is not, and why
  double joules = 0, energy_seconds = 0, energy_delay = 0;  // of all sensors, over the whole trace
  uint64_t calls = 0, call_ns = 0;  // of the application into OpenCL, those on one thread at a time
};

ReportNumbers report_numbers(const TraceFile& trace);

}  // namespace tutti::tools
