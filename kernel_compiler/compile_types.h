// SPDX-License-Identifier: Apache-2.0
// What goes into one compilation and what comes out, as plain data, on both sides of the border
// described in compiler_api.h. Value types, no ownership beyond their own strings; free to share.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/access/access_summary.h"

namespace tutti::kernel_compiler {

/// A header of clCompileProgram: found by `#include` under this name before any -I folder.
struct EmbeddedHeader {
  std::string name;
  std::string source;
  bool operator==(const EmbeddedHeader&) const = default;
};

/// One translation unit of a program that is linked: preprocessed text, and the options that were
/// left for the vendors (CompileOutput::vendor_options).
struct UnitSource {
  std::string source;
  std::string options;
  bool operator==(const UnitSource&) const = default;
};

/// What clBuildProgram needs (source in; summary and the vendors' texts out), clCompileProgram
/// (with `unit`), or clLinkProgram (with `units`).
struct CompileRequest {
  std::string source;
  std::string options;  // as given to clBuildProgram or clCompileProgram
  bool unit = false;    // to be linked with others later: nothing is summarised yet
  std::vector<UnitSource>
      units;  // not empty: these are linked; source, options, headers are unused
  // Not empty: the kernels are not analysed and stay whole, for this reason. (The analysis has
  // failed in an earlier compilation of the same.)
  std::string not_analysed;
  // Of `units`: vendors link them with others that are not in OpenCL C, so that names may stay
  // unresolved. With not_analysed.
  bool foreign_units = false;
  bool library = false;  // of `units`: names may stay unresolved, nothing is summarised
  // Of `units`, not empty: these kernels alone, with what they use; all others are left out.
  std::vector<std::string> kernels;
  // Of `units`, one: `rewritten` is the shard variant (scheduler/access/shard_argument.h).
  bool shards = false;
  // With `shards`: the panel variant (scheduler/access/panel_argument.h).
  bool panels = false;
  std::vector<EmbeddedHeader> headers;
  std::vector<std::string> extensions;               // of the virtual device
  uint32_t opencl_c = 120;                           // highest language version: 120, 200, 300 …
  std::map<std::string, std::string> device_macros;  // defined for the source, as by -D
  bool fp64 = false;
  bool images = false;
  uint32_t address_bits = 64;
  bool operator==(const CompileRequest&) const = default;
};

/// What vendors compile of one UnitSource.
struct UnitOutput {
  std::string preprocessed;  // as CompileOutput::preprocessed
  std::string rewritten;  // as CompileOutput::rewritten; empty where it is the same as the former
  bool operator==(const UnitOutput&) const = default;
};

/// What was found in the file system under a path that the preprocessor looked at (file_state.h).
struct FileLookup {
  std::string path;  // as it was asked for, perhaps relative to the working folder
  std::string state;
  bool operator==(const FileLookup&) const = default;
};

struct CompileOutput {
  bool ok = false;
  std::string failure;           // not the program's: the compiler itself could not go on
  bool invalid_options = false;  // the options are at fault: CL_INVALID_BUILD_OPTIONS
  // Not empty where the program has errors inside of functions only, of which this is the first: a
  // vendor's compiler may know more. The texts and what can be summarised are there as if `ok`.
  std::string left_to_vendors;
  std::string log;                // warnings and errors, as shown to the application
  std::string preprocessed;       // what vendors compile
  std::string original;           // the text before it was changed for vendors; empty: it was not
  std::string vendor_options;     // what is left of the options for them
  std::string rewritten;          // the sub-range variant; empty where no kernel needs it
  std::vector<UnitOutput> units;  // one per unit of the request; the texts above are empty then
  scheduler::ProgramSummary summary;
  uint64_t analysis_steps = 0;  // how much the analysis looked at; tells nothing of the program
  // Where `repeatable`, the same request has the same output as long as these find the same; else
  // the output depends on more, such as the time of day.
  std::vector<FileLookup> files;
  bool repeatable = true;
  bool operator==(const CompileOutput&) const = default;
};

}  // namespace tutti::kernel_compiler
