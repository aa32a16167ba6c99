// SPDX-License-Identifier: Apache-2.0
// A program's executable: what the front end learned of it and one vendor module per backend that
// could build it. Shared by the program object, its kernels and the commands in flight, so it
// outlives the handles. Immutable, except for the rewritten variant's modules, which are built at
// first use, once per backend. Thread-safe; no lock is held while a vendor builds.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/api/backend.h"
#include "device_virtual/compiled_unit.h"
#include "kernel_compiler/compiler_client.h"
#include "platform/result.h"
#include "scheduler/exec/backend_set.h"
#include "scheduler/exec/work.h"

namespace tutti::device_virtual {

using CompiledUnits = std::vector<std::shared_ptr<CompiledUnit>>;

/// What vendors make an executable of.
struct ProgramTexts {
  struct Unit {
    std::string source;     // as a binary keeps it and the front end reads it again
    std::string text;       // as vendors compile it
    std::string rewritten;  // the sub-range variant; empty where it is the same as `text`
    std::string options;    // for vendors' compilers
  };
  std::vector<Unit> units;
  CompiledUnits objects;     // of clLinkProgram: one per unit; empty: one unit, built in one go
  std::string link_options;  // for vendors' linkers
  scheduler::ProgramSummary summary;

  bool linked() const { return !objects.empty(); }
};
/// Of a program compiled in one go.
ProgramTexts texts_of(kernel_compiler::CompileOutput compiled);

class BuiltProgram {
 public:
  /// `modules` by backend, null where the backend is left out.
  BuiltProgram(scheduler::BackendSet& backends, ProgramTexts texts,
               std::vector<std::unique_ptr<backends::Module>> modules);

  scheduler::BackendSet& backends() const { return backends_; }
  const scheduler::ProgramSummary& summary() const { return texts_.summary; }
  const ProgramTexts& texts() const { return texts_; }
  /// Index into summary().kernels; absent when there is no kernel of that name.
  std::optional<uint32_t> find(std::string_view kernel) const;
  /// Backends that have a module, as bits.
  uint64_t built_on() const { return built_on_; }
  /// Backends from this number on have no module.
  uint32_t backend_end() const { return static_cast<uint32_t>(modules_.size()); }
  /// Equal for equal preprocessed sources, options and kernel name.
  uint64_t kernel_key(std::string_view kernel) const;

  /// A vendor kernel of its own for the caller. kSubRange builds the rewritten program on that
  /// backend when nobody has before; a failure is remembered and answered again.
  Result<std::unique_ptr<backends::Kernel>> create_kernel(uint32_t backend,
                                                          scheduler::KernelVariant variant,
                                                          const std::string& kernel);

 private:
  Result<backends::Module*> rewritten_module(uint32_t backend);

  scheduler::BackendSet& backends_;
  const ProgramTexts texts_;
  const std::vector<std::unique_ptr<backends::Module>> modules_;
  uint64_t built_on_ = 0;
  uint64_t key_ = 0;  // of preprocessed sources and options
  MadeOnce<backends::Module> rewritten_;
};

/// What became of a request to build, compile or link.
struct BuildOutcome {
  cl_int code = CL_SUCCESS;  // CL_INVALID_BUILD_OPTIONS, CL_BUILD_PROGRAM_FAILURE …
  std::string log;           // what CL_PROGRAM_BUILD_LOG answers
  // One of the two when code is CL_SUCCESS, none otherwise:
  std::shared_ptr<BuiltProgram> program;  // an executable
  CompiledUnits units;                    // an object or a library
};

/// Front end, then every backend of `wanted` in parallel. Blocks until all have ended. A backend
/// that cannot build what another can is left out, with a warning; when none can, the vendors' logs
/// are the log. `request.unit`: the outcome is one compiled unit.
BuildOutcome build_program(scheduler::BackendSet& backends, scheduler::BackendMask wanted,
                           const kernel_compiler::CompileRequest& request);

/// Links `units` in the same way; `request` says all but the units. `request.library`: the outcome
/// is the same units, found to fit together. `in_one_go`: one unit, which vendors build as a
/// program.
BuildOutcome link_program(scheduler::BackendSet& backends, scheduler::BackendMask wanted,
                          kernel_compiler::CompileRequest request, const CompiledUnits& units,
                          const std::string& link_options, bool in_one_go = false);

/// The options alone, as far as the front end can judge them: CL_SUCCESS, CL_INVALID_BUILD_OPTIONS
/// (or, with request.unit, CL_INVALID_COMPILER_OPTIONS) with its log, or CL_COMPILER_NOT_AVAILABLE.
BuildOutcome check_options(kernel_compiler::CompileRequest request);

}  // namespace tutti::device_virtual
