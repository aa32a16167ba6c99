// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/built_program.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/config.h"
#include "base/keep_forever.h"
#include "base/log.h"
#include "base/name_list.h"
#include "device_virtual/built_in_kernels.h"
#include "device_virtual/on_each_backend.h"
#include "kernel_compiler/build_options.h"
#include "kernel_compiler/compile_cache.h"

namespace tutti::device_virtual {
namespace {

using backends::ProgramForm;
using scheduler::KernelVariant;

/// How many entries a list by backend needs, up to the last one wanted.
size_t list_size(scheduler::BackendMask wanted) { return std::bit_width(wanted); }

void append_paragraph(std::string& log, const std::string& text) {
  if (text.empty()) return;
  if (!log.empty() && log.back() != '\n') log += '\n';
  log += text;
}

/// How one vendor fared.
struct Verdict {
  bool asked = false;
  bool ok = false;
  cl_int code = CL_SUCCESS;
  std::string log;
};

/// The codes that the entry point has for its failures.
struct FailureCodes {
  cl_int failure;
  cl_int options;  // a vendor refuses the options
};
constexpr FailureCodes kBuildCodes{CL_BUILD_PROGRAM_FAILURE, CL_INVALID_BUILD_OPTIONS};
constexpr FailureCodes kCompileCodes{CL_COMPILE_PROGRAM_FAILURE, CL_INVALID_COMPILER_OPTIONS};
constexpr FailureCodes kLinkCodes{CL_LINK_PROGRAM_FAILURE, CL_INVALID_LINKER_OPTIONS};

/// What the application is told when no vendor could do it: the one reason they all gave, where the
/// specification knows it for the entry point.
cl_int common_failure(const std::vector<Verdict>& verdicts, const FailureCodes& codes) {
  // The last one was asked; others may be gaps.
  const cl_int first = verdicts.empty() ? codes.failure : verdicts.back().code;
  const bool same = std::all_of(verdicts.begin(), verdicts.end(), [&](const auto& verdict) {
    return !verdict.asked || verdict.code == first;
  });
  if (!same) return codes.failure;
  switch (first) {
    case CL_INVALID_BUILD_OPTIONS:
    case CL_INVALID_COMPILER_OPTIONS:
    case CL_INVALID_LINKER_OPTIONS:
      return codes.options;
    case CL_COMPILER_NOT_AVAILABLE:
    case CL_LINKER_NOT_AVAILABLE:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_OUT_OF_RESOURCES:
      return first;
    default:
      return codes.failure;
  }
}

/// Puts the vendors' verdicts into the outcome's log and code. True when at least one could.
bool judge(scheduler::BackendSet& backends, const std::vector<Verdict>& verdicts,
           const FailureCodes& codes, BuildOutcome& outcome) {
  const bool any = std::any_of(verdicts.begin(), verdicts.end(),
                               [](const Verdict& verdict) { return verdict.ok; });
  for (uint32_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].ok || !verdicts[i].asked) continue;
    const std::string title = device_title(backends.traits(i));
    if (any && verdicts[i].code == CL_DEVICE_NOT_AVAILABLE) {
      log(LogLevel::kInfo, "{} is lost while a program is built: {}", title, verdicts[i].log);
      append_paragraph(outcome.log, "warning: " + title + " is lost: it takes no part yet\n");
    } else if (any) {
      log(level_without_vendors(LogLevel::kWarning),
          "{} is left out for a program that it cannot build ({}): {}", title, verdicts[i].code,
          verdicts[i].log);
      append_paragraph(outcome.log,
                       "warning: " + title + " is left out for this program: it cannot build it\n");
    } else {
      append_paragraph(outcome.log, title + ": error " + std::to_string(verdicts[i].code) + "\n");
    }
    append_paragraph(outcome.log, verdicts[i].log);
  }
  if (!any) outcome.code = common_failure(verdicts, codes);
  return any;
}

BuildOutcome failed(cl_int code, std::string log) {
  BuildOutcome outcome;
  outcome.code = code;
  outcome.log = std::move(log);
  return outcome;
}

/// Asks `make(i)` of the best backend of each group, and where that fails of the group's others. It
/// returns why it failed, if it did. Without `load`, backends that can load what another one makes
/// need none of their own. Puts the verdicts into the outcome; true when some could.
template <typename Best, typename Make>
bool make_first(scheduler::BackendSet& backends, const BackendGroups& groups, const Best& best,
                const Make& make, bool load, const FailureCodes& codes, BuildOutcome& outcome) {
  scheduler::BackendMask first = 0, all = 0;
  for (const scheduler::BackendMask group : groups) {
    all |= group;
    if (group != 0) first |= scheduler::backend_bit(best(group));
  }
  std::vector<Verdict> verdicts(list_size(all));
  const auto ask = [&](uint32_t i) noexcept {
    verdicts[i].asked = true;
    try {
      const std::optional<Error> error = make(i);
      verdicts[i].ok = !error;
      if (!error) return;
      verdicts[i] = {true, false, error->code, error->message};
      // Maybe nothing else would find out, nor have it tried again.
      if (error->code != CL_DEVICE_NOT_AVAILABLE) return;
      backends.health().note_failure(i, *error);
      static_cast<void>(backends.health().usable(scheduler::backend_bit(i)));
    } catch (...) {
      verdicts[i].code = CL_OUT_OF_HOST_MEMORY;
    }
  };
  // Where devices load each other's binaries, one of them builds.
  scheduler::BackendMask loading = 0;
  for (uint32_t i = 0; i < list_size(first); ++i) {
    const auto like = [&](uint32_t j) {
      return (first >> j & 1) != 0 && loads(backends.traits(i), backends.traits(j));
    };
    for (uint32_t j = 0; j < i && (first >> i & 1) != 0; ++j) {
      if (like(j)) loading |= scheduler::backend_bit(i);
    }
  }
  on_each_backend(first & ~loading, ask);
  if (load) on_each_backend(loading, ask);
  scheduler::BackendMask others = 0;
  for (const scheduler::BackendMask group : groups) {
    const bool able = std::any_of(verdicts.begin(), verdicts.end(), [&](const Verdict& verdict) {
      return verdict.ok && (group >> (&verdict - verdicts.data()) & 1) != 0;
    });
    const bool spared = !load && (group & first & ~loading) == 0;
    if (!able && !(spared && (first & ~loading) != 0)) others |= group & ~(first & ~loading);
  }
  on_each_backend(others, ask);
  return judge(backends, verdicts, codes, outcome);
}

/// `log` is what the front end said.
BuildOutcome make_executable(scheduler::BackendSet& backends, const BackendGroups& wanted,
                             ProgramTexts texts, std::string log, const FailureCodes& codes) {
  BuildOutcome outcome;
  outcome.log = std::move(log);
  scheduler::BackendMask all = 0;
  for (const scheduler::BackendMask group : wanted) all |= group;
  const auto modules = std::make_shared<ProgramModules>(backends, std::move(texts), all);
  const auto make = [&](uint32_t i) -> std::optional<Error> {
    auto made = modules->get(i, KernelVariant::kUntouched);
    return made ? std::nullopt : std::optional(std::move(made).error());
  };
  const auto best = [&](scheduler::BackendMask group) { return modules->best(group); };
  BackendGroups able = wanted;
  for (scheduler::BackendMask& group : able) {
    group &= modules->usable();
    // What is built at once tells of all kernels.
    if ((group & modules->complete()) != 0) group &= modules->complete();
  }
  if (make_first(backends, able, best, make, true, codes, outcome)) {
    modules->build_what_gained();
    outcome.program = std::make_shared<BuiltProgram>(modules);
  }
  return outcome;
}

/// A vendor's object of `text` is made at once, so that what a vendor has to say is said where the
/// application listens. `log` as above.
BuildOutcome make_unit(scheduler::BackendSet& backends, const BackendGroups& wanted,
                       const std::shared_ptr<CompiledUnit>& unit, const std::string& text,
                       std::string log) {
  BuildOutcome outcome;
  outcome.log = std::move(log);
  const auto make = [&](uint32_t i) -> std::optional<Error> {
    auto object = unit->object(backends, i, text);
    return object ? std::nullopt : std::optional(std::move(object).error());
  };
  const auto best = [](scheduler::BackendMask group) {
    return static_cast<uint32_t>(std::countr_zero(group));
  };
  if (make_first(backends, wanted, best, make, false, kCompileCodes, outcome)) {
    outcome.units.push_back(unit);
  }
  return outcome;
}

/// Those of each group that have the feature; all where none has it, whose vendors say why not.
BackendGroups only_with(const scheduler::BackendSet& backends, BackendGroups groups,
                        std::string_view feature) {
  BackendGroups able = groups;
  bool any = false;
  for (scheduler::BackendMask& group : able) {
    for (scheduler::BackendMask rest = group; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<uint32_t>(std::countr_zero(rest));
      const bool has = has_feature(backends.traits(i), feature);
      any |= has;
      if (!has) group &= ~scheduler::backend_bit(i);
    }
  }
  return any ? able : groups;
}

BackendGroups only_primaries(const scheduler::BackendSet& backends, BackendGroups groups) {
  for (scheduler::BackendMask& group : groups) {
    if (group != 0) group = scheduler::backend_bit(backends.primary(group));
  }
  return groups;
}

/// What the front end says, or has said before.
Result<kernel_compiler::CompileOutput> front_end(const kernel_compiler::CompileRequest& request) {
  // Never destroyed: a build may go on while the process exits.
  static const std::string* const folder = [] {
    const Config& config = process_config();
    const std::string cache = cache_folder(config);
    const bool kept = config.programs.value == ProgramMemory::kDisk && !cache.empty();
    return keep_forever(std::make_unique<std::string>(kept ? cache + "/programs" : ""));
  }();
  return kernel_compiler::compile_or_recall(request, *folder);
}

/// ProgramTexts::only of a program that the request builds.
decltype(ProgramTexts::only) selection(const kernel_compiler::CompileRequest& request) {
  kernel_compiler::CompileRequest asked = request;
  asked.source.clear();
  asked.headers.clear();
  asked.options.clear();
  return [asked = std::move(asked)](
             const ProgramTexts& all,
             const std::vector<std::string>& kernels) -> Result<ProgramTexts::Unit> {
    const ProgramTexts::Unit& unit = all.units.front();
    kernel_compiler::CompileRequest part = asked;
    part.units = {{unit.source, unit.options}};
    part.kernels = kernels;
    TUTTI_ASSIGN(auto compiled, front_end(part));
    if (!compiled.ok || compiled.units.empty()) {
      return fail(CL_BUILD_PROGRAM_FAILURE,
                  "some of its kernels alone do not compile: " + compiled.log);
    }
    // Launches pass the hidden argument by what is known of the whole program.
    for (const scheduler::KernelSummary& kernel : compiled.summary.kernels) {
      const auto same = [&](const scheduler::KernelSummary& one) {
        return one.name == kernel.name && one.needs_rewrite == kernel.needs_rewrite;
      };
      if (std::none_of(all.summary.kernels.begin(), all.summary.kernels.end(), same)) {
        return fail(CL_BUILD_PROGRAM_FAILURE,
                    "some of its kernels alone are rewritten in another way");
      }
    }
    kernel_compiler::UnitOutput& made = compiled.units.front();
    return ProgramTexts::Unit{unit.source, std::move(made.preprocessed), std::move(made.rewritten),
                              unit.options};
  };
}

/// ProgramTexts::shards of a program that the request builds.
decltype(ProgramTexts::shards) shard_variant(const kernel_compiler::CompileRequest& request) {
  kernel_compiler::CompileRequest asked = request;
  asked.source.clear();
  asked.headers.clear();
  asked.options.clear();
  asked.shards = true;
  return [asked = std::move(asked)](
             const ProgramTexts& all,
             scheduler::KernelVariant variant) -> Result<ProgramTexts::Shards> {
    const ProgramTexts::Unit& unit = all.units.front();
    kernel_compiler::CompileRequest whole = asked;
    whole.panels = variant == scheduler::KernelVariant::kPanels;
    whole.units = {{unit.source, unit.options}};
    TUTTI_ASSIGN(auto compiled, front_end(whole));
    if (!compiled.ok || compiled.units.size() != 1 || compiled.units.front().rewritten.empty()) {
      return fail(CL_BUILD_PROGRAM_FAILURE, "there is no variant for shards: " + compiled.log);
    }
    ProgramTexts::Shards shards;
    kernel_compiler::UnitOutput& made = compiled.units.front();
    shards.unit = {unit.source, std::move(made.preprocessed), std::move(made.rewritten),
                   unit.options};
    // Launches pass the other hidden argument by what is known of the program itself.
    for (const scheduler::KernelSummary& kernel : all.summary.kernels) {
      const auto& kernels = compiled.summary.kernels;
      const auto same =
          std::find_if(kernels.begin(), kernels.end(), [&](const scheduler::KernelSummary& one) {
            return one.name == kernel.name && one.needs_rewrite == kernel.needs_rewrite &&
                   one.accesses == kernel.accesses;
          });
      shards.arguments.push_back(same != kernels.end() ? same->shard_arguments : 0);
      shards.panels.push_back(same != kernels.end() ? same->panel_arguments : 0);
    }
    return shards;
  };
}

/// Of a program that has errors for the front end, as `compiled` says: `make(groups)`, where each
/// device's primary has the last word.
template <typename Make>
BuildOutcome leave_to_primaries(scheduler::BackendSet& backends, const BackendGroups& wanted,
                                const kernel_compiler::CompileOutput& compiled,
                                const FailureCodes& codes, const Make& make) {
  const std::string reason = compiled.left_to_vendors, errors = compiled.log;
  BuildOutcome outcome = make(only_primaries(backends, wanted));
  if (outcome.code == CL_SUCCESS) {
    const std::string text =
        "only the primary's compiler knows this program, which runs whole there";
    log(LogLevel::kInfo, "{}: {}", text, reason);
    append_paragraph(outcome.log, "warning: " + text + ": " + reason + "\n");
    return outcome;
  }
  std::string both = errors;
  append_paragraph(both, outcome.log);
  return failed(codes.failure, std::move(both));
}

}  // namespace

ProgramTexts texts_of(kernel_compiler::CompileOutput compiled) {
  ProgramTexts texts;
  std::string source = compiled.original.empty() ? compiled.preprocessed : compiled.original;
  texts.units.push_back({std::move(source), std::move(compiled.preprocessed),
                         std::move(compiled.rewritten), std::move(compiled.vendor_options)});
  texts.summary = std::move(compiled.summary);
  return texts;
}

std::optional<uint32_t> BuiltProgram::find(std::string_view kernel) const {
  const auto& kernels = summary().kernels;
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].name == kernel) return i;
  }
  return std::nullopt;
}

uint64_t BuiltProgram::kernel_key(std::string_view kernel) const {
  return modules_->kernel_key(kernel);
}

Result<std::unique_ptr<backends::Kernel>> BuiltProgram::create_kernel(uint32_t backend,
                                                                      KernelVariant variant,
                                                                      const std::string& kernel) {
  TUTTI_ASSIGN(backends::Module * module, modules_->get(backend, variant));
  return module->create_kernel(kernel);
}

size_t BuiltProgram::variable_bytes(scheduler::BackendMask wanted) {
  const scheduler::BackendMask asked = built_on() & wanted;
  if (asked == 0) return 0;
  const uint32_t primary = backends().primary(asked);
  constexpr std::string_view kFeature = "__opencl_c_program_scope_global_variables";
  if (!backends::has_feature(backends().traits(primary), kFeature)) return 0;
  const auto module = modules_->get(primary, KernelVariant::kUntouched);
  return module ? (*module)->variable_bytes().value_or(0) : 0;
}

BuildOutcome build_program(scheduler::BackendSet& backends, const BackendGroups& wanted,
                           const kernel_compiler::CompileRequest& request) {
  const FailureCodes& codes = request.unit ? kCompileCodes : kBuildCodes;
  auto compiled = front_end(request);
  if (!compiled) return failed(compiled.error().code, compiled.error().message);
  if (compiled->invalid_options) return failed(codes.options, std::move(compiled->log));
  if (!compiled->ok && compiled->left_to_vendors.empty())
    return failed(codes.failure, std::move(compiled->log));
  const auto make = [&](const BackendGroups& groups, std::string log) {
    if (!request.unit) {
      ProgramTexts texts = texts_of(*compiled);
      if (compiled->ok) texts.only = selection(request);
      if (compiled->ok) texts.shards = shard_variant(request);
      return make_executable(backends, groups, std::move(texts), std::move(log), codes);
    }
    const std::string& text = compiled->preprocessed;
    const auto unit = std::make_shared<CompiledUnit>(
        compiled->original.empty() ? text : compiled->original, compiled->vendor_options);
    return make_unit(backends, groups, unit, text, std::move(log));
  };
  if (compiled->ok) return make(wanted, compiled->log);
  return leave_to_primaries(backends, wanted, *compiled, codes,
                            [&](const BackendGroups& groups) { return make(groups, {}); });
}

BuildOutcome build_il_program(scheduler::BackendSet& backends, const BackendGroups& wanted,
                              const kernel_compiler::SpirvModule& module,
                              const std::string& options, bool unit) {
  BuildOutcome valid = check_il_options(options, unit);
  if (valid.code != CL_SUCCESS) return valid;
  std::string text = module.text();
  std::string vendor_options = kernel_compiler::parse_build_options(options).vendor_options;
  if (unit) {
    return make_unit(
        backends, only_with(backends, wanted, backends::kIlPrograms),
        std::make_shared<CompiledUnit>(text, std::move(vendor_options), ProgramForm::kIl), text,
        {});
  }
  ProgramTexts texts;
  texts.units.push_back({text, text, {}, std::move(vendor_options), ProgramForm::kIl});
  texts.summary = module.summary(options);
  return make_executable(backends, wanted, std::move(texts), {}, kBuildCodes);
}

BuildOutcome build_built_in_program(scheduler::BackendSet& backends, const BackendGroups& wanted,
                                    const std::string& names) {
  ProgramTexts texts;
  texts.units.push_back({names, names, {}, {}, ProgramForm::kBuiltIn});
  // What the kernels' arguments are the first device tells that has all of them.
  scheduler::BackendMask all = 0;
  for (const scheduler::BackendMask group : wanted) all |= group;
  if (all == 0) return failed(kBuildCodes.failure, "there is no device");
  const std::vector<std::string> kernels = split_names(names);
  BackendGroups able = wanted;
  for (const std::string& name : kernels) able = only_with(backends, std::move(able), name);
  scheduler::BackendMask first = 0;
  for (const scheduler::BackendMask group : able) first |= group;
  if (first == 0) first = all;
  const uint32_t asked = backends.primary(first);
  const backends::BuildResult built =
      vendor_build(backends.at(asked), names, {}, ProgramForm::kBuiltIn);
  if (built.module == nullptr) return failed(kBuildCodes.failure, built.log);
  for (const std::string& name : kernels) {
    const auto kernel = built.module->create_kernel(name);
    if (!kernel) return failed(kBuildCodes.failure, kernel.error().message);
    auto summary = built_in_kernel(**kernel, name);
    if (!summary) return failed(kBuildCodes.failure, name + ": " + summary.error().message);
    texts.summary.kernels.push_back(std::move(*summary));
  }
  return make_executable(backends, wanted, std::move(texts), {}, kBuildCodes);
}

BuildOutcome link_program(scheduler::BackendSet& backends, const BackendGroups& wanted,
                          kernel_compiler::CompileRequest request, const CompiledUnits& units,
                          const std::string& link_options, bool in_one_go) {
  const FailureCodes& codes = in_one_go ? kBuildCodes : kLinkCodes;
  scheduler::ProgramSummary in_il;  // the kernels of units in SPIR-V
  for (const auto& unit : units) {
    if (!unit->il()) {
      request.units.push_back({unit->source(), unit->options()});
      continue;
    }
    const auto module =
        kernel_compiler::SpirvModule::read(std::as_bytes(std::span<const char>(unit->source())));
    if (!module) return failed(CL_INVALID_BINARY, module.error().message);
    auto summary = module->summary(unit->options());
    std::move(summary.kernels.begin(), summary.kernels.end(), std::back_inserter(in_il.kernels));
  }
  const bool all_in_il = request.units.empty();
  if (request.units.size() < units.size()) {
    request.not_analysed = "a unit of its program is in SPIR-V, which is not analysed";
    request.foreign_units = true;
  }
  kernel_compiler::CompileOutput compiled;
  if (all_in_il) {
    compiled.ok = true;
  } else {
    auto answer = front_end(request);
    if (!answer) return failed(answer.error().code, answer.error().message);
    compiled = std::move(*answer);
  }
  const bool left = !compiled.left_to_vendors.empty();
  if ((!compiled.ok && !left) ||
      (!request.library && compiled.units.size() != request.units.size())) {
    return failed(codes.failure, std::move(compiled.log));
  }
  if (request.library) {
    BuildOutcome outcome;
    if (!left) outcome.log = std::move(compiled.log);
    outcome.units = units;
    return outcome;
  }
  ProgramTexts texts;
  auto made = compiled.units.begin();
  for (const auto& unit : units) {
    if (unit->il()) {
      texts.units.push_back({unit->source(), unit->source(), {}, unit->options(), unit->form()});
    } else {
      texts.units.push_back({unit->source(), std::move(made->preprocessed),
                             std::move(made->rewritten), unit->options()});
      ++made;
    }
  }
  if (!in_one_go) texts.objects = units;
  texts.link_options = link_options;
  texts.summary = std::move(compiled.summary);
  for (auto& kernel : texts.summary.kernels) {
    if (request.foreign_units) kernel.features.emplace_back(backends::kIlPrograms);
  }
  std::move(in_il.kernels.begin(), in_il.kernels.end(), std::back_inserter(texts.summary.kernels));
  if (left) {
    for (auto& kernel : texts.summary.kernels) kernel.uses_anything = true;
    return leave_to_primaries(backends, wanted, compiled, codes, [&](const BackendGroups& groups) {
      return make_executable(backends, groups, std::move(texts), {}, codes);
    });
  }
  if (in_one_go && !request.foreign_units) texts.only = selection(request);
  if (in_one_go && !request.foreign_units && units.size() == 1)
    texts.shards = shard_variant(request);
  return make_executable(backends, wanted, std::move(texts), std::move(compiled.log), codes);
}

BuildOutcome check_il_options(const std::string& options, bool unit) {
  const auto parsed = kernel_compiler::parse_build_options(options);
  if (parsed.errors.empty()) return {};
  return failed((unit ? kCompileCodes : kBuildCodes).options, parsed.errors.front() + "\n");
}

BuildOutcome check_options(kernel_compiler::CompileRequest request) {
  request.source = "\n";
  request.headers.clear();
  auto compiled = front_end(request);
  if (!compiled) return failed(compiled.error().code, compiled.error().message);
  if (compiled->invalid_options) {
    return failed(request.unit ? CL_INVALID_COMPILER_OPTIONS : CL_INVALID_BUILD_OPTIONS,
                  std::move(compiled->log));
  }
  return {};
}

}  // namespace tutti::device_virtual
