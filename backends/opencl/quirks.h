// SPDX-License-Identifier: Apache-2.0
// What vendors do otherwise than one would expect, all in one place: each quirk with its symptom
// and the versions where it was seen, so that it can be checked again and dropped. They are known
// by the driver and its version, or by what a device does in a trial (device_trial.h), never by the
// device's name, which a vendor may change. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/api/backend.h"

namespace tutti::backends {

struct Quirks {
  /// One program is built at a time, and what was built is found on disk when it is built again, by
  /// any process.
  bool serial_builds = false;
  /// Each device's builds get a -D option of their own.
  bool distinct_builds = false;
  /// Units that are linked must use the same features of the vendor's intermediate language.
  bool uniform_units = false;
  /// Commands run in the thread that enqueues or flushes them.
  bool synchronous = false;
  /// Two threads that run commands at once may hang or crash: only one enqueues, flushes or waits
  /// at a time.
  bool one_at_a_time = false;
  /// A kernel's integer division by zero traps in the thread that runs commands, and the driver's
  /// own handler looks away there.
  bool traps_divisions = false;
  /// With its first context come handlers of crashes, over those by which other drivers survive
  /// their kernels' divisions by zero.
  bool handles_crashes = false;
  /// Commands cost several times as much on queues that measure times.
  bool costly_profiling = false;
  /// Offsets of launches are 32-bit numbers with a sign; ids are wrong beyond.
  bool narrow_offsets = false;
  bool reads_ahead = false;
  /// Kernels are the processor's code, and so are their atomics: they hold for all such devices.
  bool host_atomics = false;
  /// Rectangles take the host's rows as if they were packed, whatever pitch is said.
  bool ignores_host_pitch = false;
  /// Launches on sub-buffers crash the driver: none are made.
  bool no_sub_buffers = false;
  /// Images cannot be made from buffers with CL_MEM_USE_HOST_PTR, whatever the device reports.
  bool no_images_over_host_memory = false;
  /// Devices of equal names load each other's binaries, which is faster than to build.
  bool equal_binaries = false;
  /// A kernel's CL_KERNEL_WORK_GROUP_SIZE is too small; the device's maximum holds.
  bool understates_group_size = false;
  /// A kernel's CL_KERNEL_WORK_GROUP_SIZE is advice: larger groups run, up to the device's maximum,
  /// unless the kernel needs too much of something.
  bool advises_group_size = false;
};

/// "6.0+debian" is {6, 0}; {0, 0} where the text does not begin with numbers.
struct DriverVersion {
  unsigned major = 0, minor = 0;
  auto operator<=>(const DriverVersion&) const = default;
};
DriverVersion driver_version_of(const std::string& text);

/// What is known of the driver and its version.
Quirks quirks_of(const DeviceTraits& traits);

/// The same, where a trial has shown whether commands run in the thread that enqueues them (empty:
/// it could not be made).
Quirks quirks_of(const DeviceTraits& traits, std::optional<bool> runs_in_enqueuing_thread);

/// What the quirks are to the scheduler.
void describe_quirks(const Quirks& quirks, DeviceTraits& traits);

/// A rough peak, in GFLOP/s of single precision: units x clock x operations per cycle and unit.
double nominal_gflops(const DeviceTraits& traits);

/// The options for the vendor's compiler: the given ones, with the language by the newest name that
/// the device knows for it, and what the quirks need. `number` is distinct for each device of the
/// process.
std::string vendor_build_options(const DeviceTraits& traits, const Quirks& quirks,
                                 std::string options, uint32_t number);

/// What is compiled of a unit that will be linked: `source`, and what the quirks need. `number` is
/// distinct for each unit of the process.
std::string vendor_unit(const Quirks& quirks, const std::string& source, uint64_t number);

/// A unit that makes a linked program the device's own where builds must be distinct.
std::string distinct_unit(uint32_t number);

}  // namespace tutti::backends
