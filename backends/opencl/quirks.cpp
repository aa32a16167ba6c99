// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/quirks.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <thread>

#include "base/lower_case.h"

namespace tutti::backends {
namespace {

bool is_pocl(const DeviceTraits& traits) {
  return traits.platform_name == "Portable Computing Language";
}
bool is_rusticl(const DeviceTraits& traits) { return traits.platform_name == "rusticl"; }
bool is_oclgrind(const DeviceTraits& traits) {
  return contains_ignoring_case(traits.platform_name, "oclgrind");
}

}  // namespace

DriverVersion driver_version_of(const std::string& text) {
  DriverVersion version;
  if (std::sscanf(text.c_str(), "%u.%u", &version.major, &version.minor) < 1) return {};
  return version;
}

Quirks quirks_of(const DeviceTraits& traits) {
  Quirks quirks;
  // An interpreter (Oclgrind) has locks of its own instead.
  quirks.host_atomics =
      traits.type == CL_DEVICE_TYPE_CPU && traits.node.empty() &&
      (is_pocl(traits) || is_rusticl(traits) || contains_ignoring_case(traits.vendor, "intel"));
  if (is_pocl(traits)) {
    // PoCL 3.1 to 5.0; not 6.0. Two devices that run the same program binary at the same time abort
    // the process: "pocl_release_dlhandle_cache: Assertion `found->ref_count > 0' failed", where
    // one launch begins at 0 and the other does not: what is let go of is looked for by kernel and
    // local size alone. A distinct option gives each device a cache entry, and so a binary, of its
    // own.
    quirks.distinct_builds = driver_version_of(traits.driver_version) < DriverVersion{6, 0};
    // PoCL 3.1. Its compiler has one lock: a program takes 0.6 s on each of 14 devices, one after
    // the other; what is in its cache is there in 20 ms. Devices of other types (remote ones, for
    // example) have their compilers elsewhere.
    quirks.serial_builds = traits.type == CL_DEVICE_TYPE_CPU && traits.node.empty();
    // PoCL 3.1. Four times of the clock: a third of what launching a tiny kernel takes on `basic`.
    quirks.costly_profiling = true;
    if (!traits.node.empty()) {
      // PoCL 8.0-pre's remote client. clEnqueueReadBufferRect and clEnqueueWriteBufferRect move the
      // right bytes of the buffer from or to the wrong ones of the host, if its rows are not
      // packed.
      quirks.ignores_host_pitch = true;
      // Likewise. A launch on a sub-buffer whose parent was written before crashes in
      // pocl_create_command_struct: the content of the sub-buffer is taken to be nowhere.
      quirks.no_sub_buffers = true;
      // Likewise. Threads that enqueue at the same time crash it now and then.
      quirks.one_at_a_time = true;
    }
  }
  if (is_rusticl(traits)) {
    // Mesa 22.3 and 25.0. clLinkProgram fails with "Conflicting SPIR-V versions: 1.0 … vs 1.4" when
    // some units have signed arithmetic (whose decoration 1.4 brought) and others have none.
    quirks.uniform_units = true;
    // Mesa 22.3; not 25.0. Every kernel answers CL_KERNEL_WORK_GROUP_SIZE with its lanes (32 on
    // llvmpipe), while groups up to the device's maximum are accepted and computed rightly.
    quirks.understates_group_size = driver_version_of(traits.driver_version) < DriverVersion{25, 0};
    // Mesa 22.3. clCreateImage of CL_MEM_OBJECT_IMAGE1D_BUFFER is CL_INVALID_OPERATION where the
    // buffer was made with CL_MEM_USE_HOST_PTR.
    quirks.no_images_over_host_memory = true;
  }
  if (is_oclgrind(traits)) {
    // Oclgrind 21.10. Commands run in the thread that flushes or waits for them, and what it keeps
    // of them is shared by all queues without a lock: "munmap_chunk(): invalid pointer" in
    // asyncQueueRelease, about once in 2500 launches; and an assertion in Memory::deallocateBuffer
    // where memory is released while another thread runs a kernel.
    quirks.synchronous = true;
    quirks.one_at_a_time = true;
  }
  // Intel's CPU runtime, 2026.22: its LLVM's, which print a backtrace and end the process.
  quirks.handles_crashes = traits.type == CL_DEVICE_TYPE_CPU && !is_pocl(traits) &&
                           contains_ignoring_case(traits.vendor, "intel");
  if (contains_ignoring_case(traits.vendor, "nvidia")) {
    // Driver 580, H200: a launch with its event takes 5 µs, on a profiling queue 10.
    quirks.costly_profiling = true;
    // Driver 580, H200: from a global offset of 2^31 on, all ids are wrong (its sign is extended),
    // with no error; larger sizes without an offset are computed rightly.
    quirks.narrow_offsets = true;
    // Driver 580, H100: a non-blocking write of pageable memory takes the content that this has
    // when it is enqueued, also where an earlier read of the same queue is still to fill it.
    quirks.reads_ahead = true;
    // Driver 580, H200: programs are built one at a time, whatever the threads, contexts and
    // devices. hashcat's m00000_a3-pure.cl takes 2.0 s for each; its binary loads in 0.15 s.
    quirks.equal_binaries = true;
    // Driver 580, H200: 256 for every kernel, also one whose reqd_work_group_size is 512. 1024
    // run, as OpenMM relies on.
    quirks.advises_group_size = true;
  }
  return quirks;
}

Quirks quirks_of(const DeviceTraits& traits, std::optional<bool> runs_in_enqueuing_thread) {
  Quirks quirks = quirks_of(traits);
  // PoCL's device without threads (`basic` until 3.1, `cpu-minimal` since 4.0): commands run where
  // they are enqueued or flushed, and one that waits for an unfinished user event never returns.
  // When such a command ends that others wait for, its thread locks each of them and runs it, which
  // locks it again: the thread hangs in pocl_update_event_running (3.1). Or another thread's
  // clWaitForEvents returns while the command still runs (6.0). It takes two threads that enqueue
  // at the same time, since alone every command has ended when its enqueue returns.
  if (runs_in_enqueuing_thread.value_or(is_pocl(traits) && traits.node.empty())) {
    quirks.synchronous = true;
    quirks.one_at_a_time = true;
    // PoCL 6.0; not 3.1. Its handler of SIGFPE skips divisions in the threads of its `cpu` devices
    // alone: in any other one it calls the handler before it, which is the address 0 as a rule.
    quirks.traps_divisions =
        is_pocl(traits) && driver_version_of(traits.driver_version) > DriverVersion{3, 1};
  }
  return quirks;
}

void describe_quirks(const Quirks& quirks, DeviceTraits& traits) {
  traits.synchronous = quirks.synchronous;
  // GPUs have engines for transfers beside those that compute. A CPU has its cores for both.
  traits.serial = traits.synchronous || (traits.type & CL_DEVICE_TYPE_GPU) == 0;
  traits.costly_profiling = quirks.costly_profiling;
  traits.reads_ahead = quirks.reads_ahead;
  traits.advises_groups = quirks.advises_group_size;
  traits.host_atomics = quirks.host_atomics;
  traits.images_over_host_memory = !quirks.no_images_over_host_memory;
  traits.sub_buffers = !quirks.no_sub_buffers;
  const std::string kind =
      traits.platform_name + "/" + traits.device_name + "/" + traits.driver_version;
  if (quirks.equal_binaries) traits.binary_kind = kind;
  if (quirks.serial_builds && !quirks.distinct_builds) traits.build_kind = kind;
  if (quirks.narrow_offsets) traits.max_offset = INT32_MAX;
  traits.overlaps_launches = (traits.type & CL_DEVICE_TYPE_GPU) != 0 && !traits.synchronous;
}

double nominal_gflops(const DeviceTraits& traits) {
  const double clock_ghz = traits.clock_mhz > 0 ? traits.clock_mhz * 1e-3 : 2.0;
  // llvmpipe (Mesa 22.3) reports eight units on a machine with two cores.
  const uint32_t cores = std::max(1u, std::thread::hardware_concurrency());
  const double units = std::max(1u, traits.type == CL_DEVICE_TYPE_CPU && traits.node.empty()
                                        ? std::min(cores, traits.compute_units)
                                        : traits.compute_units);
  double per_cycle = 16;  // a CPU core: 8 lanes, multiply and add
  if (is_oclgrind(traits)) {
    per_cycle = 0.01;  // an interpreter
  } else if (is_rusticl(traits) && traits.type == CL_DEVICE_TYPE_CPU) {
    // llvmpipe, measured at 2 to 5 times a PoCL core.
    per_cycle = 32;
  } else if (traits.type == CL_DEVICE_TYPE_GPU) {
    const bool intel = contains_ignoring_case(traits.vendor, "intel");
    const bool amd = contains_ignoring_case(traits.vendor, "amd") ||
                     contains_ignoring_case(traits.vendor, "advanced micro");
    // Units are execution units of 8 lanes (Intel), of 64 lanes (AMD), multiprocessors of 128 lanes
    // (NVIDIA since Maxwell); two operations per lane.
    per_cycle = intel ? 16 : amd ? 128 : 256;
  }
  return std::max(1e-3, units * clock_ghz * per_cycle);
}

std::string vendor_build_options(const DeviceTraits& traits, const Quirks& quirks,
                                 std::string options, uint32_t number) {
  constexpr std::string_view kNewest = "-cl-std=CL3.1", kBefore = "-cl-std=CL3.0";
  const size_t at = has_feature(traits, kOpenClC31) ? std::string::npos : options.find(kNewest);
  if (at != std::string::npos) options.replace(at, kNewest.size(), kBefore);
  if (!quirks.distinct_builds) return options;
  const std::string own = "-D TUTTI_DEVICE_" + std::to_string(number);
  return options.empty() ? own : options + " " + own;
}

std::string vendor_unit(const Quirks& quirks, const std::string& source, uint64_t number) {
  if (!quirks.uniform_units) return source;
  return source + "\nint __tutti_unit_" + std::to_string(number) + "(int x){return x+1;}\n";
}

std::string distinct_unit(uint32_t number) {
  return "void __tutti_device_" + std::to_string(number) + "(void){}\n";
}

}  // namespace tutti::backends
