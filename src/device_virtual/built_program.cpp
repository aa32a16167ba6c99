// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/built_program.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "platform/log.h"

namespace tutti::device_virtual {
namespace {

using scheduler::KernelVariant;

/// Vendors' code is called from threads of ours: nothing may escape from it. Without warnings: the
/// front end has given its own, and a vendor's would reach nobody (PoCL writes them to stderr).
backends::BuildResult build_on(backends::Backend& backend, const std::string& source,
                               const std::string& options) noexcept {
  backends::BuildResult result;
  try {
    result = backend.build(source, options + " -w");
  } catch (const std::bad_alloc&) {
    result.module.reset();
    result.code = CL_OUT_OF_HOST_MEMORY;
  } catch (...) {
    result.module.reset();
    result.code = CL_BUILD_PROGRAM_FAILURE;
  }
  if (result.module == nullptr && result.code == CL_SUCCESS) result.code = CL_BUILD_PROGRAM_FAILURE;
  return result;
}

/// By backend, up to the last one wanted.
std::vector<backends::BuildResult> build_on_all(scheduler::BackendSet& backends,
                                                scheduler::BackendMask wanted,
                                                const std::string& source,
                                                const std::string& options) {
  std::vector<backends::BuildResult> results(static_cast<size_t>(std::bit_width(wanted)));
  std::vector<std::thread> threads;
  threads.reserve(results.size());
  const auto build_one = [&](uint32_t i) {
    results[i] = build_on(backends.at(i), source, options);
  };
  const auto first = static_cast<uint32_t>(std::countr_zero(wanted));
  for (uint32_t i = first + 1; i < results.size(); ++i) {
    if ((wanted & scheduler::backend_bit(i)) == 0) continue;
    try {
      threads.emplace_back(build_one, i);
    } catch (const std::system_error&) {
      build_one(i);  // no thread to be had: one after the other, then
    }
  }
  if (first < results.size()) build_one(first);
  for (std::thread& thread : threads) thread.join();
  return results;
}

std::string device_title(const backends::DeviceTraits& traits) {
  return traits.device_name + " (" + traits.platform_name + ")";
}

void append_paragraph(std::string& log, const std::string& text) {
  if (text.empty()) return;
  if (!log.empty() && log.back() != '\n') log += '\n';
  log += text;
}

/// What the application is told when no vendor could build: the one reason they all gave, where the
/// specification knows it for clBuildProgram.
cl_int common_failure(const std::vector<backends::BuildResult>& results,
                      scheduler::BackendMask wanted) {
  // The last one is wanted; others may be gaps.
  const cl_int first = results.empty() ? CL_BUILD_PROGRAM_FAILURE : results.back().code;
  bool same = true;
  for (uint32_t i = 0; i < results.size(); ++i) {
    same = same && ((wanted & scheduler::backend_bit(i)) == 0 || results[i].code == first);
  }
  const bool known = first == CL_INVALID_BUILD_OPTIONS || first == CL_COMPILER_NOT_AVAILABLE ||
                     first == CL_OUT_OF_HOST_MEMORY || first == CL_OUT_OF_RESOURCES;
  return same && known ? first : CL_BUILD_PROGRAM_FAILURE;
}

BuildOutcome failed(cl_int code, std::string log) {
  BuildOutcome outcome;
  outcome.code = code;
  outcome.log = std::move(log);
  return outcome;
}

}  // namespace

BuiltProgram::BuiltProgram(scheduler::BackendSet& backends, kernel_compiler::CompileOutput compiled,
                           std::vector<std::unique_ptr<backends::Module>> modules)
    : backends_(backends),
      compiled_(std::move(compiled)),
      modules_(std::move(modules)),
      rewritten_(modules_.size()) {
  for (size_t i = 0; i < modules_.size(); ++i) {
    if (modules_[i] != nullptr) built_on_ |= uint64_t{1} << i;
  }
  const std::string& source = compiled_.preprocessed;
  const std::string& options = compiled_.vendor_options;
  key_ = XXH3_64bits_withSeed(options.data(), options.size(),
                              XXH3_64bits(source.data(), source.size()));
}

std::optional<uint32_t> BuiltProgram::find(std::string_view kernel) const {
  const auto& kernels = summary().kernels;
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].name == kernel) return i;
  }
  return std::nullopt;
}

uint64_t BuiltProgram::kernel_key(std::string_view kernel) const {
  return XXH3_64bits_withSeed(kernel.data(), kernel.size(), key_);
}

Result<std::unique_ptr<backends::Kernel>> BuiltProgram::create_kernel(uint32_t backend,
                                                                      KernelVariant variant,
                                                                      const std::string& kernel) {
  if (backend >= modules_.size() || modules_[backend] == nullptr) {
    return fail(CL_INVALID_PROGRAM_EXECUTABLE, "the program was not built on this device");
  }
  if (variant == KernelVariant::kUntouched) return modules_[backend]->create_kernel(kernel);
  TUTTI_ASSIGN(backends::Module * module, rewritten_module(backend));
  return module->create_kernel(kernel);
}

Result<backends::Module*> BuiltProgram::rewritten_module(uint32_t backend) {
  using State = RewrittenModule::State;
  RewrittenModule& slot = rewritten_[backend];
  const auto answer = [&]() -> Result<backends::Module*> {
    if (slot.module != nullptr) return slot.module.get();
    return tl::unexpected<Error>(slot.error);
  };
  {
    std::unique_lock lock(mutex_);
    rewritten_built_.wait(lock, [&] { return slot.state != State::kBuilding; });
    if (slot.state == State::kBuilt) return answer();
    slot.state = State::kBuilding;
  }
  backends::BuildResult result =
      build_on(backends_.at(backend), compiled_.rewritten, compiled_.vendor_options);
  if (result.module == nullptr) {
    // One device less for splits of this program, not an error of the application's.
    log(LogLevel::kWarning, "{} cannot build the sub-range variant of a program: {}",
        device_title(backends_.traits(backend)), result.log);
  }
  {
    const std::lock_guard lock(mutex_);
    slot.module = std::move(result.module);
    slot.error = Error{result.code, std::move(result.log)};
    slot.state = State::kBuilt;
  }
  rewritten_built_.notify_all();
  return answer();
}

BuildOutcome build_program(scheduler::BackendSet& backends, scheduler::BackendMask wanted,
                           const kernel_compiler::CompileRequest& request) {
  auto compiled = kernel_compiler::compile(request);
  if (!compiled) return failed(compiled.error().code, compiled.error().message);
  if (compiled->invalid_options) {
    return failed(CL_INVALID_BUILD_OPTIONS, std::move(compiled->log));
  }
  if (!compiled->ok) return failed(CL_BUILD_PROGRAM_FAILURE, std::move(compiled->log));

  auto results = build_on_all(backends, wanted, compiled->preprocessed, compiled->vendor_options);
  const bool any = std::any_of(results.begin(), results.end(),
                               [](const auto& result) { return result.module != nullptr; });
  BuildOutcome outcome;
  outcome.log = compiled->log;
  std::vector<std::unique_ptr<backends::Module>> modules(results.size());
  for (uint32_t i = 0; i < results.size(); ++i) {
    modules[i] = std::move(results[i].module);
    if (modules[i] != nullptr || (wanted & scheduler::backend_bit(i)) == 0) continue;
    const std::string title = device_title(backends.traits(i));
    if (any) {
      log(LogLevel::kWarning, "{} is left out for a program that it cannot build ({}): {}", title,
          results[i].code, results[i].log);
      append_paragraph(outcome.log,
                       "warning: " + title + " is left out for this program: it cannot build it\n");
    } else {
      append_paragraph(outcome.log, title + ": error " + std::to_string(results[i].code) + "\n");
    }
    append_paragraph(outcome.log, results[i].log);
  }
  if (!any) {
    outcome.code = common_failure(results, wanted);
    return outcome;
  }
  outcome.program =
      std::make_shared<BuiltProgram>(backends, std::move(*compiled), std::move(modules));
  return outcome;
}

BuildOutcome check_options(kernel_compiler::CompileRequest request) {
  request.source = "\n";
  auto compiled = kernel_compiler::compile(request);
  if (!compiled) return failed(compiled.error().code, compiled.error().message);
  if (compiled->invalid_options) return failed(CL_INVALID_BUILD_OPTIONS, std::move(compiled->log));
  return {};
}

}  // namespace tutti::device_virtual
