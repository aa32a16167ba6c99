// SPDX-License-Identifier: Apache-2.0
// The library's one exported function, and the way of a request through it.
#include <clang/Basic/Stack.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/ErrorHandling.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <mutex>
#include <stdexcept>

#include "base/thread_signals.h"
#include "kernel_compiler/access_analysis.h"
#include "kernel_compiler/compiler_api.h"
#include "kernel_compiler/front_end.h"
#include "kernel_compiler/function_bodies.h"
#include "kernel_compiler/kernel_selection.h"
#include "kernel_compiler/kernel_signature.h"
#include "kernel_compiler/summary_json.h"
#include "kernel_compiler/unit_linking.h"
#include "kernel_compiler/used_features.h"
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
bool read_options(const CompileRequest& request, const std::string& options,
                  FrontEndSettings& settings, CompileOutput& output) {
  settings.request = &request;
  settings.options = parse_build_options(options);
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

/// Why the rewritten text cannot be used; empty when it can.
std::string failure_of(const FrontEndSettings& settings, const RewriteResult& rewriting) {
  std::string log;
  if (!rewriting.failure.empty() || rewriting.text.empty() ||
      check(settings, rewriting.text, log)) {
    return rewriting.failure;
  }
  return "the rewritten program does not compile: " + log.substr(0, log.find('\n'));
}

/// `rewritten`: the kernels that need the sub-range variant; `failure`: why there is none.
void mark_rewritten(const std::set<std::string>& rewritten, const std::string& failure,
                    scheduler::ProgramSummary& summary) {
  for (auto& kernel : summary.kernels) {
    kernel.needs_rewrite = rewritten.contains(kernel.name);
    if (!kernel.needs_rewrite || !kernel.whole_reason.empty()) continue;
    kernel.whole_reason = failure;
    if (failure.empty() && kernel.uses("__opencl_c_subgroups")) {
      kernel.whole_reason =
          "its sub-groups need not be as large in the variant that computes a part of a launch";
    }
  }
}

/// Adopts the rewritten text when it compiles; else the kernels that need it stay whole.
void adopt_rewriting(const FrontEndSettings& settings, RewriteResult rewriting,
                     CompileOutput& output) {
  if (rewriting.kernels.empty()) {
    return;
  }
  const std::string failure = failure_of(settings, rewriting);
  if (failure.empty()) {
    output.rewritten = std::move(rewriting.text);
  }
  mark_rewritten(rewriting.kernels, failure, output.summary);
}

/// As parse(), of what stands outside of functions, where a text has errors inside of them alone.
std::unique_ptr<llvm::Module> parse_declarations(FrontEndSettings settings, const std::string& text,
                                                 llvm::LLVMContext& context,
                                                 const TreeVisitor& visit, Emit emit) {
  // What is an error for the application's sake alone stays one, and empty functions are no news.
  settings.options.warnings_are_errors = false;
  settings.options.no_warnings = true;
  const std::string declarations = without_bodies(settings, text);
  std::string log;
  return declarations.empty() ? nullptr : parse(settings, declarations, context, visit, emit, log);
}

std::string first_error(std::string_view log) {
  constexpr std::string_view kError = "error: ";
  const size_t at = log.find(kError);
  if (at == std::string_view::npos) return "errors";
  const std::string_view rest = log.substr(at + kError.size());
  return std::string(rest.substr(0, rest.find('\n')));
}

/// A program of which `module` has the declarations only.
void leave_to_vendors(const llvm::Module& module, uint32_t language, CompileOutput& output) {
  note_used_features(module, language, output.summary.kernels);
  keep_all_whole(module,
                 "only its device's compiler knows its program (" + output.left_to_vendors + ")",
                 output.summary.kernels);
  for (auto& kernel : output.summary.kernels) kernel.uses_anything = true;
}

void compile(const CompileRequest& request, CompileOutput& output) {
  FrontEndSettings settings;
  if (!read_options(request, request.options, settings, output)) {
    return;
  }
  output.vendor_options = settings.options.vendor_options;
  if (!preprocess(settings, output)) {
    output.preprocessed.clear();
    return;
  }
  llvm::LLVMContext context;
  std::set<std::string> foreign;
  RewriteResult rewriting;
  const LinkScope linked_later;
  const auto visit = [&](clang::ASTContext& tree, clang::CodeGenerator& generator) {
    output.summary.kernels = declared_kernels(tree, settings.options);
    foreign = foreign_functions(generator);
    rewriting = rewrite_work_items(tree, settings.language, request.unit ? &linked_later : nullptr);
  };
  const auto module =
      parse(settings, output.preprocessed, context, visit, Emit::kReached, output.log);
  if (module == nullptr) {
    const auto declarations =
        parse_declarations(settings, output.preprocessed, context, visit, Emit::kReached);
    if (declarations == nullptr) {
      output.preprocessed.clear();
      return;
    }
    output.left_to_vendors = first_error(output.log);
    if (request.unit) {
      output.summary = {};
    } else {
      leave_to_vendors(*declarations, settings.language, output);
    }
    return;
  }
  if (!rewriting.untouched.empty()) {
    output.original = std::move(output.preprocessed);
    output.preprocessed = std::move(rewriting.untouched);
  }
  if (request.unit) {
    output.summary = {};
  } else {
    note_used_features(*module, settings.language, output.summary.kernels);
    if (!request.not_analysed.empty()) {
      keep_all_whole(*module, request.not_analysed, output.summary.kernels);
    } else {
      output.analysis_steps = analyse_accesses(*module, foreign, output.summary.kernels);
      adopt_rewriting(settings, std::move(rewriting), output);
    }
  }
  output.ok = true;
}

/// One of the units that are linked. It has been compiled before, so its warnings are known.
struct Unit {
  FrontEndSettings settings;
  std::string source;
  std::vector<NamedCall> calls;
  RewriteResult rewriting;
};

/// Rewrites again, now knowing the other units, where that makes a difference.
void rewrite_for_others(std::vector<Unit>& units) {
  std::vector<NamedCall> all;
  for (const Unit& unit : units) {
    all.insert(all.end(), unit.calls.begin(), unit.calls.end());
  }
  const LinkScope scope{affected_functions(all)};
  for (Unit& unit : units) {
    const std::set<std::string> known = affected_functions(unit.calls);
    const bool changed =
        std::any_of(unit.calls.begin(), unit.calls.end(), [&](const NamedCall& call) {
          return scope.affected.contains(call.callee) && !known.contains(call.callee);
        });
    if (!changed) {
      continue;
    }
    std::string log;
    check(unit.settings, unit.source, log, [&](clang::ASTContext& tree) {
      unit.rewriting = rewrite_work_items(tree, unit.settings.language, &scope);
    });
  }
}

void adopt_rewritings(std::vector<Unit>& units, CompileOutput& output) {
  std::set<std::string> kernels;
  bool any = false;
  for (const Unit& unit : units) {
    kernels.insert(unit.rewriting.kernels.begin(), unit.rewriting.kernels.end());
    any |= !unit.rewriting.text.empty();
  }
  if (kernels.empty() && !any) {
    return;
  }
  std::string failure;
  for (size_t i = 0; i < units.size() && failure.empty(); ++i) {
    failure = failure_of(units[i].settings, units[i].rewriting);
  }
  for (size_t i = 0; i < units.size() && failure.empty(); ++i) {
    output.units[i].rewritten = std::move(units[i].rewriting.text);
    for (auto& kernel : output.summary.kernels) {
      const auto found = units[i].rewriting.shards.find(kernel.name);
      if (found != units[i].rewriting.shards.end()) kernel.shard_arguments = found->second;
      const auto panels = units[i].rewriting.panels.find(kernel.name);
      if (panels != units[i].rewriting.panels.end()) kernel.panel_arguments = panels->second;
    }
  }
  mark_rewritten(kernels, failure, output.summary);
}

void link(const CompileRequest& request, CompileOutput& output) {
  llvm::LLVMContext context;
  std::vector<Unit> units(request.units.size());
  std::vector<std::unique_ptr<llvm::Module>> modules;
  std::vector<std::set<std::string>> foreign(units.size());
  const LinkScope not_yet_known;
  uint32_t newest = 0;  // the units' language
  for (size_t i = 0; i < units.size(); ++i) {
    Unit& unit = units[i];
    const UnitSource& source = request.units[i];
    if (!read_options(request, source.options, unit.settings, output)) {
      return;
    }
    newest = std::max(newest, unit.settings.language);
    std::string log;
    unit.source = request.kernels.empty()
                      ? source.source
                      : only_kernels(unit.settings, source.source, request.kernels, output.log);
    if (unit.source.empty() && !request.kernels.empty()) return;
    const auto visit = [&](clang::ASTContext& tree, clang::CodeGenerator& generator) {
      auto kernels = declared_kernels(tree, unit.settings.options);
      std::move(kernels.begin(), kernels.end(), std::back_inserter(output.summary.kernels));
      foreign[i] = foreign_functions(generator);
      unit.calls = named_calls(tree, "unit" + std::to_string(i));
      // A program of one unit is a whole one.
      unit.rewriting = request.shards
                           ? rewrite_work_items(tree, unit.settings.language, nullptr,
                                                request.panels ? Shards::kPanels : Shards::kYes)
                           : rewrite_work_items(tree, unit.settings.language, &not_yet_known);
    };
    modules.push_back(parse(unit.settings, unit.source, context, visit, Emit::kAll, log));
    if (modules.back() == nullptr) {
      output.log += log;
      modules.back() = parse_declarations(unit.settings, unit.source, context, visit, Emit::kAll);
      if (modules.back() == nullptr) {
        output.left_to_vendors.clear();
        return;
      }
      if (output.left_to_vendors.empty()) output.left_to_vendors = first_error(log);
    }
    const std::string& changed = unit.rewriting.untouched;
    output.units.push_back({changed.empty() ? unit.source : changed, {}});
  }
  const std::string contradiction = redefined_builtin(modules, foreign);
  const auto module = link_modules(std::move(modules), output.log);
  if (module == nullptr) {
    output.left_to_vendors.clear();
    return;
  }
  const bool known = output.left_to_vendors.empty();
  if (request.library) {
    output.summary = {};
    output.ok = known;
    return;
  }
  if (!known) {
    leave_to_vendors(*module, newest, output);
    return;
  }
  std::set<std::string> declared;
  for (const auto& names : foreign) {
    declared.insert(names.begin(), names.end());
  }
  const auto unresolved =
      request.foreign_units ? std::vector<std::string>() : unresolved_names(*module, declared);
  for (const std::string& name : unresolved) {
    output.log += "error: undefined reference to '" + name + "'\n";
  }
  if (!unresolved.empty()) {
    return;
  }
  std::erase_if(declared, [&](const std::string& name) {
    const llvm::Function* function = module->getFunction(name);
    return function != nullptr && !function->isDeclaration();
  });
  note_used_features(*module, newest, output.summary.kernels);
  if (!request.not_analysed.empty()) {
    keep_all_whole(*module, request.not_analysed, output.summary.kernels);
    output.ok = true;
    return;
  }
  if (!request.shards) rewrite_for_others(units);
  output.analysis_steps = analyse_accesses(*module, declared, output.summary.kernels);
  if (!contradiction.empty()) {
    for (auto& kernel : output.summary.kernels) {
      kernel.whole_reason = "a unit of the program defines " + contradiction + " anew";
      kernel.uses_addresses = true;
    }
  }
  adopt_rewritings(units, output);
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
    if (request->units.empty()) {
      compile(*request, output);
    } else {
      link(*request, output);
    }
    if (!output.ok && output.left_to_vendors.empty()) {
      output.units.clear();
      output.summary = {};
    }
  } catch (const std::exception& error) {
    output = {};
    output.failure = error.what();
  }
  return encode_output(output);
}

struct Job {
  std::string_view request;
  std::string response;
  bool failed = false;
};

void* run_job(void* argument) {
  pthread_setname_np(pthread_self(), "tutti-compile");
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
/// has, and where the application's handlers of signals do not run.
bool run_in_thread(Job& job) {
  constexpr size_t kStackBytes = size_t{64} << 20;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) {
    return false;
  }
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  int error = 0;
  {
    const SignalMask blocked(signals_of_the_application());
    error = pthread_create(&thread, &attributes, run_job, &job);
  }
  pthread_attr_destroy(&attributes);
  return error == 0 && pthread_join(thread, nullptr) == 0 && !job.failed;
}

TuttiCompilerResult compile_entry(const char* request, size_t size) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(on_fatal_error);
    llvm::install_bad_alloc_error_handler(on_fatal_error);
  });
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
