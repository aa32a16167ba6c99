// SPDX-License-Identifier: Apache-2.0
// What CL_PROGRAM_BINARIES hands out and clCreateProgramWithBinary takes, of executables, compiled
// objects and libraries alike: the preprocessed sources (so no include file is needed again) with
// their options, in a versioned container with a checksum. Values and pure functions.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tutti::device_virtual {

struct ProgramBinary {
  struct Unit {
    std::string source;
    std::string options;  // for vendors' compilers
    bool il = false;      // the source is SPIR-V
    bool operator==(const Unit&) const = default;
  };
  cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
  bool linked = false;  // by clLinkProgram; else one unit, built in one go or not at all
  /// Of a library: it takes the options of what it is linked with.
  bool takes_link_options = false;
  std::string link_options;  // of a linked executable, for vendors' linkers
  std::vector<Unit> units;   // at least one
  bool operator==(const ProgramBinary&) const = default;
};

std::vector<std::byte> pack(const ProgramBinary& program);
/// Nothing when the bytes are of another maker or version, cut short or damaged.
std::optional<ProgramBinary> unpack(std::span<const std::byte> binary);

}  // namespace tutti::device_virtual
