// SPDX-License-Identifier: Apache-2.0
// Where this code was loaded from, and the project's other files relative to that, so that a build
// tree, an installed tree and a moved one all work. Pure look-ups, thread-safe.
#pragma once

#include <string>

namespace tutti {

/// The absolute path of the shared library or program that contains this code; empty if unknown.
std::string own_binary();

/// A data file of ours (share/tutti), or empty where there is none.
std::string find_own_data(const std::string& name);

/// A program of ours that people do not start themselves, or empty where there is none.
std::string find_own_program(const std::string& name);
/// The one that tries vendors' drivers (discovery.h).
inline constexpr char kProbeProgram[] = "tutti-probe";
/// The environment variable that marks its process, and others where vendors' drivers are tried; in
/// them no vendors are discovered, so that another copy of this driver there cannot start such
/// processes without end.
inline constexpr char kInsideProbe[] = "TUTTI_INSIDE_PROBE";
/// The one that runs compilers (helper_process.h).
inline constexpr char kBuilderProgram[] = "tutti-builder";
/// The one that drives a device (backends/process).
inline constexpr char kDeviceProgram[] = "tutti-device";

}  // namespace tutti
