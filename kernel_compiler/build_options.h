// SPDX-License-Identifier: Apache-2.0
// The options strings of clBuildProgram, clCompileProgram and clLinkProgram, parsed (OpenCL 3.0,
// sections 5.8.6 and 5.8.7).
// Pure functions on values; knows nothing of Clang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::kernel_compiler {

/// One -D or -U, in the order given.
struct MacroOption {
  std::string text;  // "name", or "name=definition"
  bool undefine = false;
  bool operator==(const MacroOption&) const = default;
};

struct BuildOptions {
  std::vector<MacroOption> macros;
  std::vector<std::string> include_folders;
  std::optional<uint32_t> language;  // of -cl-std=CLx.y, as 120
  bool no_warnings = false;
  bool warnings_are_errors = false;
  bool single_precision_constants = false;
  bool fast_relaxed_math = false;
  bool argument_info = false;         // -cl-kernel-arg-info
  bool uniform_groups = false;        // -cl-uniform-work-group-size
  std::string vendor_options;         // those that still mean something to a vendor's compiler
  std::vector<std::string> warnings;  // remarks for the build log
  std::vector<std::string> errors;    // non-empty: CL_INVALID_BUILD_OPTIONS
};

/// Splits at white space as a shell would: "…" and '…' group, a backslash takes the next quote,
/// backslash or space literally. An open quote reaches to the end.
std::vector<std::string> split_options(std::string_view options);

BuildOptions parse_build_options(std::string_view options);

/// The options of clLinkProgram (section 5.8.7).
struct LinkOptions {
  bool library = false;               // -create-library
  bool link_options_allowed = false;  // -enable-link-options
  std::string vendor_options;         // those that a vendor's linker takes
  std::vector<std::string> errors;    // non-empty: CL_INVALID_LINKER_OPTIONS
};
LinkOptions parse_link_options(std::string_view options);

}  // namespace tutti::kernel_compiler
