// SPDX-License-Identifier: Apache-2.0
// What CL_PROGRAM_BINARIES hands out and clCreateProgramWithBinary takes: the preprocessed source
// (so no include file is needed again) and the options, in a versioned container with a checksum.
// Values and pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tutti::device_virtual {

struct ProgramBinary {
  std::string source;
  std::string options;
  bool operator==(const ProgramBinary&) const = default;
};

std::vector<std::byte> pack(const ProgramBinary& program);
/// Nothing when the bytes are of another maker or version, cut short or damaged.
std::optional<ProgramBinary> unpack(std::span<const std::byte> binary);

}  // namespace tutti::device_virtual
