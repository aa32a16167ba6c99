// SPDX-License-Identifier: Apache-2.0
// The library's one exported function, and the way of a request through it.
#include <clang/Basic/Stack.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/ErrorHandling.h>
#include <pthread.h>
#include <signal.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>

#include "kernel_compiler/access_analysis.h"
#include "kernel_compiler/compiler_api.h"
#include "kernel_compiler/front_end.h"
#include "kernel_compiler/kernel_signature.h"
#include "kernel_compiler/summary_json.h"
#include "kernel_compiler/work_item_rewriter.h"

namespace tutti::kernel_compiler {
namespace {

/// LLVM cannot go on. Thrown out of LLVM's frames, which have unwind tables but no clean-up: what
/// they held leaks, and the application lives.
class FatalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void on_fatal_error(void*, const char* reason, bool) { throw FatalError(reason); }

void refuse_options(CompileOutput& output, const std::string& text) {
  output.invalid_options = true;
  output.log += "error: " + text + "\n";
}

std::string version_text(uint32_t version) {
  return std::to_string(version / 100) + "." + std::to_string(version / 10 % 10);
}

/// Options, or false with the log filled in.
bool read_options(const CompileRequest& request, FrontEndSettings& settings,
                  CompileOutput& output) {
  settings.request = &request;
  settings.options = parse_build_options(request.options);
  for (const std::string& warning : settings.options.warnings) {
    output.log += "warning: " + warning + "\n";
  }
  for (const std::string& error : settings.options.errors) {
    refuse_options(output, error);
  }
  // Section 5.8.6.5: without -cl-std, the highest 1.x version that the device supports.
  settings.language =
      settings.options.language.value_or(request.opencl_c < 120 ? request.opencl_c : 120);
  if (settings.language > request.opencl_c) {
    refuse_options(output, "-cl-std=CL" + version_text(settings.language) +
                               ": the device supports OpenCL C up to version " +
                               version_text(request.opencl_c));
  }
  return !output.invalid_options;
}

/// Adopts the rewritten text when it compiles; else the kernels that need it stay whole.
void adopt_rewriting(const FrontEndSettings& settings, RewriteResult rewriting,
                     CompileOutput& output) {
  if (rewriting.kernels.empty()) {
    return;
  }
  if (rewriting.failure.empty()) {
    std::string log;
    if (check(settings, rewriting.text, log)) {
      output.rewritten = std::move(rewriting.text);
    } else {
      rewriting.failure =
          "the rewritten program does not compile: " + log.substr(0, log.find('\n'));
    }
  }
  for (auto& kernel : output.summary.kernels) {
    kernel.needs_rewrite = rewriting.kernels.contains(kernel.name);
    if (kernel.needs_rewrite && !rewriting.failure.empty() && kernel.whole_reason.empty()) {
      kernel.whole_reason = rewriting.failure;
    }
  }
}

void compile(const CompileRequest& request, CompileOutput& output) {
  FrontEndSettings settings;
  if (!read_options(request, settings, output)) {
    return;
  }
  output.vendor_options = settings.options.vendor_options;
  if (!preprocess(settings, output.preprocessed, output.log)) {
    output.preprocessed.clear();
    return;
  }
  llvm::LLVMContext context;
  std::set<std::string> foreign;
  RewriteResult rewriting;
  const auto module = parse(
      settings, output.preprocessed, context,
      [&](clang::ASTContext& tree, clang::CodeGenerator& generator) {
        output.summary.kernels = declared_kernels(tree, settings.options);
        foreign = foreign_functions(generator);
        rewriting = rewrite_work_items(tree, settings.language);
      },
      output.log);
  if (module == nullptr) {
    output.preprocessed.clear();
    return;
  }
  analyse_accesses(*module, foreign, output.summary.kernels);
  if (!rewriting.untouched.empty()) output.preprocessed = std::move(rewriting.untouched);
  adopt_rewriting(settings, std::move(rewriting), output);
  output.ok = true;
}

std::string answer(std::string_view request_text) {
  CompileOutput output;
  const auto request = decode_request(request_text);
  if (!request) {
    output.log = "error: " + request.error().message + "\n";
    return encode_output(output);
  }
  try {
    compile(*request, output);
  } catch (const std::exception& error) {
    std::string log = std::move(output.log);
    output = {};
    output.log = std::move(log) + "error: the kernel compiler failed: " + error.what() + "\n";
  }
  return encode_output(output);
}

struct Job {
  std::string_view request;
  std::string response;
  bool failed = false;
};

void* run_job(void* argument) {
  auto& job = *static_cast<Job*>(argument);
  clang::noteBottomOfStack();
  try {
    job.response = answer(job.request);
  } catch (...) {  // memory ran out
    job.failed = true;
  }
  return nullptr;
}

/// Runs the job in a thread with a stack for deeply nested sources, whatever little the caller's
/// has, and with all signals blocked, so that the application's handlers do not run on it.
bool run_in_thread(Job& job) {
  constexpr size_t kStackBytes = size_t{64} << 20;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) {
    return false;
  }
  pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, run_job, &job);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return error == 0 && pthread_join(thread, nullptr) == 0 && !job.failed;
}

TuttiCompilerResult compile_entry(const char* request, size_t size) {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(on_fatal_error); });
  Job job{{request, size}, {}, false};
  if (!run_in_thread(job)) {
    return {nullptr, 0};
  }
  auto* copy = static_cast<char*>(std::malloc(job.response.size() + 1));
  if (copy == nullptr) {
    return {nullptr, 0};
  }
  std::memcpy(copy, job.response.c_str(), job.response.size() + 1);
  return {copy, job.response.size()};
}

void release_entry(TuttiCompilerResult result) { std::free(const_cast<char*>(result.json)); }

}  // namespace
}  // namespace tutti::kernel_compiler

extern "C" __attribute__((visibility("default"))) const TuttiCompilerApi*
tutti_kernel_compiler_v1() {
  static constexpr TuttiCompilerApi kApi = {1, tutti::kernel_compiler::compile_entry,
                                            tutti::kernel_compiler::release_entry};
  return &kApi;
}
