// SPDX-License-Identifier: Apache-2.0
// A successfully built program: what the front end learned of it and one vendor module per backend
// that could build it. Shared by the program object, its kernels and the commands in flight, so it
// outlives the handles. Immutable, except for the rewritten variant's modules, which are built at
// first use, once per backend. Thread-safe; no lock is held while a vendor builds.
#pragma once

#include <CL/cl.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/api/backend.h"
#include "kernel_compiler/compiler_client.h"
#include "platform/result.h"
#include "scheduler/exec/backend_set.h"
#include "scheduler/exec/work.h"

namespace tutti::device_virtual {

class BuiltProgram {
 public:
  /// `modules` by backend, null where the backend is left out.
  BuiltProgram(scheduler::BackendSet& backends, kernel_compiler::CompileOutput compiled,
               std::vector<std::unique_ptr<backends::Module>> modules);

  scheduler::BackendSet& backends() const { return backends_; }
  const scheduler::ProgramSummary& summary() const { return compiled_.summary; }
  /// What a program binary keeps.
  const std::string& preprocessed() const { return compiled_.preprocessed; }
  const std::string& vendor_options() const { return compiled_.vendor_options; }
  /// Index into summary().kernels; absent when there is no kernel of that name.
  std::optional<uint32_t> find(std::string_view kernel) const;
  /// Backends that have a module, as bits.
  uint64_t built_on() const { return built_on_; }
  /// Backends from this number on have no module.
  uint32_t backend_end() const { return static_cast<uint32_t>(modules_.size()); }
  /// Equal for equal preprocessed source, options and kernel name.
  uint64_t kernel_key(std::string_view kernel) const;

  /// A vendor kernel of its own for the caller. kSubRange builds the rewritten program on that
  /// backend when nobody has before; a failure is remembered and answered again.
  Result<std::unique_ptr<backends::Kernel>> create_kernel(uint32_t backend,
                                                          scheduler::KernelVariant variant,
                                                          const std::string& kernel);

 private:
  // kNone ──(first caller)──▶ kBuilding ──▶ kBuilt (module or error, constant from then on)
  struct RewrittenModule {
    enum class State : uint8_t { kNone, kBuilding, kBuilt };
    State state = State::kNone;                // guarded by mutex_
    std::unique_ptr<backends::Module> module;  // constant once kBuilt
    Error error;                               // constant once kBuilt; why there is no module
  };

  Result<backends::Module*> rewritten_module(uint32_t backend);

  scheduler::BackendSet& backends_;
  const kernel_compiler::CompileOutput compiled_;
  const std::vector<std::unique_ptr<backends::Module>> modules_;
  uint64_t built_on_ = 0;
  uint64_t key_ = 0;  // of preprocessed source and options
  std::mutex mutex_;
  std::condition_variable rewritten_built_;
  std::vector<RewrittenModule> rewritten_;  // per backend
};

/// What became of a build request.
struct BuildOutcome {
  cl_int code = CL_SUCCESS;               // CL_INVALID_BUILD_OPTIONS, CL_BUILD_PROGRAM_FAILURE …
  std::string log;                        // what CL_PROGRAM_BUILD_LOG answers
  std::shared_ptr<BuiltProgram> program;  // null unless code is CL_SUCCESS
};

/// Front end, then every backend of `wanted` in parallel. Blocks until all have ended. A backend
/// that cannot build what another can is left out, with a warning; when none can, the vendors' logs
/// are the log.
BuildOutcome build_program(scheduler::BackendSet& backends, scheduler::BackendMask wanted,
                           const kernel_compiler::CompileRequest& request);

/// The options alone, as far as the front end can judge them: CL_SUCCESS,
/// CL_INVALID_BUILD_OPTIONS with its log, or CL_COMPILER_NOT_AVAILABLE.
BuildOutcome check_options(kernel_compiler::CompileRequest request);

}  // namespace tutti::device_virtual
