// SPDX-License-Identifier: Apache-2.0
// A program's executable: what the front end learned of it and the vendors' modules
// (program_modules). Shared by the program object, its kernels and the commands in flight, so it
// outlives the handles. Thread-safe; no lock is held while a vendor builds.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/api/backend.h"
#include "base/result.h"
#include "device_virtual/program_modules.h"
#include "kernel_compiler/compiler_client.h"
#include "kernel_compiler/spirv_module.h"
#include "scheduler/command/work.h"
#include "scheduler/devices/backend_set.h"

namespace tutti::device_virtual {

/// Of a program compiled in one go.
ProgramTexts texts_of(kernel_compiler::CompileOutput compiled);

class BuiltProgram {
 public:
  explicit BuiltProgram(std::shared_ptr<ProgramModules> modules) : modules_(std::move(modules)) {}

  scheduler::BackendSet& backends() const { return modules_->backends(); }
  const ProgramTexts& texts() const { return modules_->texts(); }
  const scheduler::ProgramSummary& summary() const { return texts().summary; }
  ProgramModules& modules() const { return *modules_; }
  /// Index into summary().kernels; absent when there is no kernel of that name.
  std::optional<uint32_t> find(std::string_view kernel) const;
  /// Backends that have a module, or may get one, as bits.
  uint64_t built_on() const { return modules_->usable(); }
  /// Backends from this number on have none.
  uint32_t backend_end() const { return modules_->backend_end(); }
  /// Equal for equal preprocessed sources, options and kernel name.
  uint64_t kernel_key(std::string_view kernel) const;

  /// A vendor kernel of its own for the caller. Builds the program's variant on that backend when
  /// nobody has before; a failure is remembered and answered again.
  Result<std::unique_ptr<backends::Kernel>> create_kernel(uint32_t backend,
                                                          scheduler::KernelVariant variant,
                                                          const std::string& kernel);
  /// Bytes of its variables in program scope on the primary among `wanted`, as the vendor counts.
  size_t variable_bytes(scheduler::BackendMask wanted);

 private:
  const std::shared_ptr<ProgramModules> modules_;
};

/// The backends behind each device that a program is built for.
using BackendGroups = std::vector<scheduler::BackendMask>;

/// What became of a request to build, compile or link.
struct BuildOutcome {
  cl_int code = CL_SUCCESS;  // CL_INVALID_BUILD_OPTIONS, CL_BUILD_PROGRAM_FAILURE …
  std::string log;           // what CL_PROGRAM_BUILD_LOG answers
  // One of the two when code is CL_SUCCESS, none otherwise:
  std::shared_ptr<BuiltProgram> program;  // an executable
  CompiledUnits units;                    // an object or a library
};

/// Front end, then a vendor: of each group in `wanted`, which are the backends behind one device,
/// the one where the program is expected to run fastest. The others build when they are first
/// needed, and at once where that one cannot; who cannot build what another can is left out, with a
/// warning. When none can, the vendors' logs are the log. Blocks until all this has ended.
/// `request.unit`: the outcome is one compiled unit.
BuildOutcome build_program(scheduler::BackendSet& backends, const BackendGroups& wanted,
                           const kernel_compiler::CompileRequest& request);

/// The same of a program in SPIR-V, of which no front end knows more than its kernels' arguments;
/// `unit` as in a request.
BuildOutcome build_il_program(scheduler::BackendSet& backends, const BackendGroups& wanted,
                              const kernel_compiler::SpirvModule& module,
                              const std::string& options, bool unit);

/// The same of kernels that are built into the devices; none for a device that lacks one of them.
/// `names` have semicolons between them.
BuildOutcome build_built_in_program(scheduler::BackendSet& backends, const BackendGroups& wanted,
                                    const std::string& names);

/// Links `units` in the same way; `request` says all but the units. `request.library`: the outcome
/// is the same units, found to fit together. `in_one_go`: one unit, which vendors build as a
/// program.
BuildOutcome link_program(scheduler::BackendSet& backends, const BackendGroups& wanted,
                          kernel_compiler::CompileRequest request, const CompiledUnits& units,
                          const std::string& link_options, bool in_one_go = false);

/// The options alone, as far as the front end can judge them: CL_SUCCESS, CL_INVALID_BUILD_OPTIONS
/// (or, with request.unit, CL_INVALID_COMPILER_OPTIONS) with its log, or CL_COMPILER_NOT_AVAILABLE.
BuildOutcome check_options(kernel_compiler::CompileRequest request);
BuildOutcome check_il_options(const std::string& options, bool unit);

}  // namespace tutti::device_virtual
