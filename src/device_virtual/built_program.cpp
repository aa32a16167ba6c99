// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/built_program.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <system_error>
#include <thread>
#include <utility>

#include "kernel_compiler/compile_cache.h"
#include "platform/config.h"
#include "platform/log.h"

namespace tutti::device_virtual {
namespace {

using scheduler::KernelVariant;

/// How many entries a list by backend needs, up to the last one wanted.
size_t list_size(scheduler::BackendMask wanted) { return std::bit_width(wanted); }

/// Calls `work(i)`, which must not throw, for every wanted backend, each in a thread of its own.
template <typename Work>
void on_all(scheduler::BackendMask wanted, const Work& work) {
  std::vector<std::thread> threads;
  const auto first = static_cast<uint32_t>(std::countr_zero(wanted));
  for (uint32_t i = first + 1; i < list_size(wanted); ++i) {
    if ((wanted & scheduler::backend_bit(i)) == 0) continue;
    try {
      threads.emplace_back(work, i);
    } catch (const std::system_error&) {
      work(i);  // no thread to be had: one after the other, then
    }
  }
  if (wanted != 0) work(first);
  for (std::thread& thread : threads) thread.join();
}

std::string device_title(const backends::DeviceTraits& traits) {
  return traits.device_name + " (" + traits.platform_name + ")";
}

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
    if (any) {
      log(LogLevel::kWarning, "{} is left out for a program that it cannot build ({}): {}", title,
          verdicts[i].code, verdicts[i].log);
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

/// One variant of a program on one backend.
backends::BuildResult make_module(scheduler::BackendSet& backends, uint32_t index,
                                  const ProgramTexts& texts, KernelVariant variant) {
  const auto rewritten = [&](const ProgramTexts::Unit& unit) {
    return variant == KernelVariant::kSubRange && !unit.rewritten.empty();
  };
  backends::Backend& backend = backends.at(index);
  if (!texts.linked()) {
    const ProgramTexts::Unit& unit = texts.units.front();
    return vendor_build(backend, rewritten(unit) ? unit.rewritten : unit.text, unit.options);
  }
  std::vector<backends::Object*> objects;
  std::vector<std::unique_ptr<backends::Object>> own;
  for (size_t i = 0; i < texts.units.size(); ++i) {
    const ProgramTexts::Unit& unit = texts.units[i];
    if (rewritten(unit)) {
      backends::ObjectResult made = vendor_compile(backend, unit.rewritten, unit.options);
      if (made.object == nullptr) return {nullptr, made.code, std::move(made.log)};
      objects.push_back(made.object.get());
      own.push_back(std::move(made.object));
    } else {
      const auto object = texts.objects[i]->object(backends, index, unit.text);
      if (!object) return {nullptr, object.error().code, object.error().message};
      objects.push_back(*object);
    }
  }
  return vendor_link(backend, objects, texts.link_options);
}

/// The first of these backends that makes what `index` can load: itself, where there is no other.
uint32_t maker_for(const scheduler::BackendSet& backends, scheduler::BackendMask built,
                   uint32_t index) {
  const std::string& kind = backends.traits(index).binary_kind;
  for (uint32_t i = 0; i < index && !kind.empty(); ++i) {
    if ((built & scheduler::backend_bit(i)) != 0 && backends.traits(i).binary_kind == kind)
      return i;
  }
  return index;
}

/// Those of the wanted backends that cannot load what another one of them makes.
scheduler::BackendMask makers(const scheduler::BackendSet& backends,
                              scheduler::BackendMask wanted) {
  scheduler::BackendMask found = 0;
  for (uint32_t i = 0; i < list_size(wanted); ++i) {
    const bool asked = (wanted & scheduler::backend_bit(i)) != 0;
    if (asked && maker_for(backends, wanted, i) == i) found |= scheduler::backend_bit(i);
  }
  return found;
}

/// The same as `made`, which another backend of the same kind has; without a module where that
/// cannot be had.
backends::BuildResult load_module(backends::Backend& backend, backends::Module& made) {
  const auto binary = made.binary();
  if (!binary || binary->empty()) return {nullptr, CL_INVALID_BINARY, {}};
  backends::BuildResult loaded = vendor_load(backend, *binary);
  if (loaded.module == nullptr) {
    log(LogLevel::kInfo, "{} does not load the binary of a like device: {}",
        device_title(backend.traits()), loaded.log);
  }
  return loaded;
}

/// All wanted backends; `log` is what the front end said.
BuildOutcome make_executable(scheduler::BackendSet& backends, scheduler::BackendMask wanted,
                             ProgramTexts texts, std::string log, const FailureCodes& codes) {
  BuildOutcome outcome;
  outcome.log = std::move(log);
  std::vector<Verdict> verdicts(list_size(wanted));
  std::vector<std::unique_ptr<backends::Module>> modules(verdicts.size());
  const auto make = [&](uint32_t i) noexcept {
    verdicts[i].asked = true;
    try {
      const uint32_t maker = maker_for(backends, wanted, i);
      backends::BuildResult made;
      if (maker != i && modules[maker]) made = load_module(backends.at(i), *modules[maker]);
      if (!made.module) made = make_module(backends, i, texts, KernelVariant::kUntouched);
      modules[i] = std::move(made.module);
      verdicts[i] = {true, modules[i] != nullptr, made.code, std::move(made.log)};
    } catch (...) {
      verdicts[i].code = CL_OUT_OF_HOST_MEMORY;
    }
  };
  const scheduler::BackendMask first = makers(backends, wanted);
  on_all(first, make);
  on_all(wanted & ~first, make);
  if (judge(backends, verdicts, codes, outcome)) {
    outcome.program =
        std::make_shared<BuiltProgram>(backends, std::move(texts), std::move(modules));
  }
  return outcome;
}

/// The vendors' objects are made at once, so that what a vendor has to say is said where the
/// application listens.
BuildOutcome make_unit(scheduler::BackendSet& backends, scheduler::BackendMask wanted,
                       kernel_compiler::CompileOutput compiled) {
  BuildOutcome outcome;
  outcome.log = std::move(compiled.log);
  std::string& source = compiled.original.empty() ? compiled.preprocessed : compiled.original;
  const std::string text = compiled.preprocessed;
  const auto unit =
      std::make_shared<CompiledUnit>(std::move(source), std::move(compiled.vendor_options));
  // The others need none, unless what is linked of it does not load there.
  const scheduler::BackendMask asked = makers(backends, wanted);
  std::vector<Verdict> verdicts(list_size(asked));
  on_all(asked, [&](uint32_t i) noexcept {
    verdicts[i].asked = true;
    try {
      const auto object = unit->object(backends, i, text);
      verdicts[i].ok = object.has_value();
      if (!object) verdicts[i] = {true, false, object.error().code, object.error().message};
    } catch (...) {
      verdicts[i].code = CL_OUT_OF_HOST_MEMORY;
    }
  });
  if (judge(backends, verdicts, kCompileCodes, outcome)) outcome.units.push_back(unit);
  return outcome;
}

/// What the front end says, or has said before.
Result<kernel_compiler::CompileOutput> front_end(const kernel_compiler::CompileRequest& request) {
  static const std::string folder = [] {
    const Config& config = process_config();
    const std::string cache = cache_folder(config);
    const bool kept = config.programs.value == ProgramMemory::kDisk && !cache.empty();
    return kept ? cache + "/programs" : std::string();
  }();
  return kernel_compiler::compile_or_recall(request, folder);
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

BuiltProgram::BuiltProgram(scheduler::BackendSet& backends, ProgramTexts texts,
                           std::vector<std::unique_ptr<backends::Module>> modules)
    : backends_(backends),
      texts_(std::move(texts)),
      modules_(std::move(modules)),
      rewritten_(modules_.size()) {
  for (size_t i = 0; i < modules_.size(); ++i) {
    if (modules_[i] != nullptr) built_on_ |= uint64_t{1} << i;
  }
  for (const ProgramTexts::Unit& unit : texts_.units) {
    key_ = XXH3_64bits_withSeed(unit.text.data(), unit.text.size(), key_);
    key_ = XXH3_64bits_withSeed(unit.options.data(), unit.options.size(), key_);
  }
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
  return rewritten_.get(backend, [&] {
    backends::BuildResult result;
    if (const uint32_t maker = maker_for(backends_, built_on_, backend); maker != backend) {
      const auto made = rewritten_module(maker);
      if (made) result = load_module(backends_.at(backend), **made);
    }
    if (!result.module) {
      result = make_module(backends_, backend, texts_, KernelVariant::kSubRange);
    }
    if (result.module == nullptr) {
      // One device less for splits of this program, not an error of the application's.
      log(LogLevel::kWarning, "{} cannot build the sub-range variant of a program: {}",
          device_title(backends_.traits(backend)), result.log);
    }
    return std::pair(std::move(result.module), Error{result.code, std::move(result.log)});
  });
}

BuildOutcome build_program(scheduler::BackendSet& backends, scheduler::BackendMask wanted,
                           const kernel_compiler::CompileRequest& request) {
  const FailureCodes& codes = request.unit ? kCompileCodes : kBuildCodes;
  auto compiled = front_end(request);
  if (!compiled) return failed(compiled.error().code, compiled.error().message);
  if (compiled->invalid_options) return failed(codes.options, std::move(compiled->log));
  if (!compiled->ok) return failed(codes.failure, std::move(compiled->log));
  if (request.unit) return make_unit(backends, wanted, std::move(*compiled));
  std::string log = std::move(compiled->log);
  return make_executable(backends, wanted, texts_of(std::move(*compiled)), std::move(log), codes);
}

BuildOutcome link_program(scheduler::BackendSet& backends, scheduler::BackendMask wanted,
                          kernel_compiler::CompileRequest request, const CompiledUnits& units,
                          const std::string& link_options, bool in_one_go) {
  const FailureCodes& codes = in_one_go ? kBuildCodes : kLinkCodes;
  for (const auto& unit : units) request.units.push_back({unit->source(), unit->options()});
  auto compiled = front_end(request);
  if (!compiled) return failed(compiled.error().code, compiled.error().message);
  if (!compiled->ok || (!request.library && compiled->units.size() != units.size())) {
    return failed(codes.failure, std::move(compiled->log));
  }
  if (request.library) {
    BuildOutcome outcome;
    outcome.log = std::move(compiled->log);
    outcome.units = units;
    return outcome;
  }
  ProgramTexts texts;
  for (size_t i = 0; i < units.size(); ++i) {
    kernel_compiler::UnitOutput& made = compiled->units[i];
    texts.units.push_back({units[i]->source(), std::move(made.preprocessed),
                           std::move(made.rewritten), units[i]->options()});
  }
  if (!in_one_go) texts.objects = units;
  texts.link_options = link_options;
  texts.summary = std::move(compiled->summary);
  return make_executable(backends, wanted, std::move(texts), std::move(compiled->log), codes);
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
