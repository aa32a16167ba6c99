// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/progress_line.h"
#include "base/safe_file.h"
#include "kernel_compiler/compiler_client.h"
#include "tools/commands.h"
#include "tools/completion.h"
#include "tools/explanation_output.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

struct ExplainOptions {
  std::vector<std::string> files;          // "-": standard input
  std::vector<std::string> build_options;  // words, as clBuildProgram's
  std::vector<std::string> kernels;        // empty: all
  std::string global, local, offset;       // "4096,16"; empty: assumed
  std::vector<std::string> arguments;      // NAME=VALUE
  bool json = false;
  bool brief = false;  // one line per kernel
};

using kernel_compiler::CompileOutput;
using kernel_compiler::CompileRequest;
using scheduler::KernelSummary;

int complaint(int code, const std::string& message) {
  tools::complain("explain", message);
  return code;
}

/// A word as the options string of clBuildProgram takes it.
std::string quoted(const std::string& word) {
  std::string text = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

/// A device that offers everything: what a kernel does to memory does not depend on the device, and
/// the command works without any.
CompileRequest request_for(const std::string& file, const std::string& source,
                           const ExplainOptions& options) {
  CompileRequest request;
  request.source = source;
  for (const std::string& word : options.build_options) request.options += quoted(word) + ' ';
  // As for an application that runs in the file's folder; last, so that it hides nothing.
  const std::string folder = std::filesystem::path(file).parent_path().string();
  if (!folder.empty()) request.options += "-I " + quoted(folder);
  request.extensions = {"cl_khr_byte_addressable_store",
                        "cl_khr_fp64",
                        "cl_khr_fp16",
                        "cl_khr_3d_image_writes",
                        "cl_khr_global_int32_base_atomics",
                        "cl_khr_global_int32_extended_atomics",
                        "cl_khr_local_int32_base_atomics",
                        "cl_khr_local_int32_extended_atomics",
                        "cl_khr_int64_base_atomics",
                        "cl_khr_int64_extended_atomics"};
  request.opencl_c = 310;
  request.fp64 = true;
  request.images = true;
  request.device_macros["__OPENCL_VERSION__"] = "310";
  request.device_macros["__ENDIAN_LITTLE__"] = "1";
  for (const char* feature :
       {"__opencl_c_int64", "__opencl_c_fp64", "__opencl_c_images", "__opencl_c_3d_image_writes",
        "__opencl_c_read_write_images", "__opencl_c_generic_address_space",
        "__opencl_c_atomic_order_acq_rel", "__opencl_c_atomic_order_seq_cst",
        "__opencl_c_atomic_scope_device", "__opencl_c_atomic_scope_all_devices",
        "__opencl_c_program_scope_global_variables",
        "__opencl_c_work_group_collective_functions"}) {
    request.device_macros[feature] = "1";
  }
  return request;
}

/// The compiler's words about the file by the name that the user knows.
std::string with_file_name(std::string log, const std::string& file) {
  constexpr std::string_view kOurs = "<source>:";
  for (size_t at = 0; (at = log.find(kOurs, at)) != std::string::npos; at += file.size()) {
    log.replace(at, kOurs.size() - 1, file);
  }
  return log;
}

/// At most kMostErrors errors with what belongs to them, and how many more there are.
std::string with_few_errors(const std::string& log) {
  constexpr size_t kMostErrors = 20;
  constexpr std::string_view kError = ": error: ";
  size_t count = 0;
  size_t shown_end = log.size();
  for (size_t at = 0; (at = log.find(kError, at)) != std::string::npos; at += kError.size()) {
    if (++count == kMostErrors + 1) shown_end = log.rfind('\n', at) + 1;
  }
  if (count <= kMostErrors) return log;
  return log.substr(0, shown_end) + fmt::format("… and {} more errors\n", count - kMostErrors);
}

/// "4096,16" as numbers; false on anything else, on zero where that means nothing, and on overflow.
bool read_sizes(const std::string& text, uint64_t least, std::vector<uint64_t>& sizes) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (!text.empty()) {
    uint64_t value = 0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < least || value > uint64_t{1} << 40) return false;
    sizes.push_back(value);
    if (sizes.size() > 3 || (stop != end && *stop != ',')) return false;
    if (stop == end) break;
    at = stop + 1;
  }
  return true;
}

/// Null and a complaint, or the wishes that the options express.
bool read_wishes(const ExplainOptions& options, LaunchWishes& wishes) {
  const std::tuple<const char*, const std::string&, uint64_t, std::vector<uint64_t>&> sizes[] = {
      {"--global", options.global, 1, wishes.global},
      {"--local", options.local, 1, wishes.local},
      {"--offset", options.offset, 0, wishes.offset}};
  for (const auto& [name, text, least, values] : sizes) {
    if (!read_sizes(text, least, values)) {
      complaint(
          kBadUsage,
          fmt::format("{} {}: one to three sizes are expected, for example 4096,16", name, text));
      return false;
    }
  }
  for (const std::string& text : options.arguments) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      complaint(kBadUsage, fmt::format("--arg {}: NAME=VALUE is expected", text));
      return false;
    }
    wishes.arguments.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return true;
}

/// The kernels asked for, in source order.
std::vector<const KernelSummary*> select_kernels(const ExplainOptions& options,
                                                 const std::vector<KernelSummary>& all) {
  std::vector<const KernelSummary*> selected;
  for (const KernelSummary& kernel : all) {
    if (options.kernels.empty() || std::find(options.kernels.begin(), options.kernels.end(),
                                             kernel.name) != options.kernels.end()) {
      selected.push_back(&kernel);
    }
  }
  return selected;
}

/// Each --kernel is in one of the files.
bool check_kernels(const ExplainOptions& options, const std::vector<KernelSummary>& all) {
  for (const std::string& wanted : options.kernels) {
    const auto is_wanted = [&](const KernelSummary& kernel) { return kernel.name == wanted; };
    if (std::any_of(all.begin(), all.end(), is_wanted)) continue;
    std::string known;
    for (const KernelSummary& kernel : all) known += (known.empty() ? "" : ", ") + kernel.name;
    complaint(kBadUsage,
              fmt::format("no kernel '{}' in {}; there are: {}", wanted,
                          fmt::join(options.files, ", "), known.empty() ? "none" : known));
    return false;
  }
  return true;
}

/// Each --arg is meant for an argument of at least one kernel.
bool check_names(const LaunchWishes& wishes, const std::vector<const KernelSummary*>& kernels) {
  for (const auto& wish : wishes.arguments) {
    bool found = false;
    std::string known;
    for (const KernelSummary* kernel : kernels) {
      known += fmt::format("\n  {}:", kernel->name);
      for (size_t i = 0; i < kernel->arguments.size(); ++i) {
        found |= names_argument(wish.first, *kernel, i);
        known += fmt::format("{} {}", i ? "," : "", kernel->arguments[i].name);
      }
    }
    if (found) continue;
    complaint(kBadUsage, fmt::format("no argument '{}'; there are:{}", wish.first, known));
    return false;
  }
  return true;
}

void print_text(const std::vector<KernelExplanation>& explanations, SourceFiles& sources) {
  bool assumed = false;
  for (const KernelExplanation& kernel : explanations) {
    say("{}\n", explanation_text(kernel, sources, output_columns(100)));
    assumed |= !kernel.global_given || !kernel.local_given;
    for (const ArgumentExplanation& argument : kernel.arguments) assumed |= !argument.value.given;
  }
  if (explanations.empty()) {
    say("{}: no kernel\n", sources.shown(""));
    return;
  }
  const auto split = static_cast<size_t>(
      std::count_if(explanations.begin(), explanations.end(),
                    [](const KernelExplanation& kernel) { return kernel.split; }));
  say("{}: {} kernel{}, {} split, {} whole\n", sources.shown(""), explanations.size(),
      explanations.size() == 1 ? "" : "s", split, explanations.size() - split);
  if (assumed) {
    put(paragraph("",
                  "Assumed: what is marked so, and buffers that are large enough and share no "
                  "memory. To give them: --global 4096,16 --local 64,1 --arg SCALAR=VALUE "
                  "--arg BUFFER=BYTES",
                  0, std::min<size_t>(output_columns(), 95)));
  }
}

/// Takes the options of OpenCL's compiler (-DX, -I folder, -cl-std=…) out of the command line's
/// words: ours begin with two dashes.
std::vector<std::string> take_build_options(std::vector<std::string>& arguments) {
  std::vector<std::string> taken;
  std::vector<std::string> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const bool ours = word.size() < 2 || word[0] != '-' || word[1] == '-' || word == "-h";
    if (ours) {
      rest.push_back(word);
      // The value of an option of ours, which may begin with a dash.
      if ((word == "--arg" || word == "--kernel") && i + 1 < arguments.size()) {
        rest.push_back(arguments[++i]);
      }
      continue;
    }
    taken.push_back(word);
    const bool parted =
        word == "-D" || word == "-U" || word == "-I" || word == "-x" || word == "-s";
    if (parted && i + 1 < arguments.size()) taken.push_back(arguments[++i]);
  }
  arguments = std::move(rest);
  return taken;
}

constexpr const char* kStandardInput = "<stdin>";

/// A source file and what became of it.
struct ExplainedFile {
  std::string name, source, log;
  std::vector<KernelSummary> kernels;
};

/// A file's text, or that of standard input.
Result<std::string> read_source(const std::string& file) {
  constexpr uint64_t kMostBytes = 256 * kMiB;
  auto source = file == "-"
                    ? read_rest(Descriptor(dup(STDIN_FILENO)), kMostBytes)
                    : read_file(file, {.most_bytes = kMostBytes, .kind = FileKind::kStream});
  if (source) return std::move(*source);
  return fail(CL_INVALID_VALUE, fmt::format("{} cannot be read: {}", file, source.error().message));
}

/// 0, or an exit code after a complaint.
int compile_file(const std::string& file, const ExplainOptions& options, ExplainedFile& result) {
  auto source = read_source(file);
  if (!source) return complaint(kFailed, source.error().message);
  result.name = file == "-" ? kStandardInput : file;
  result.source = std::move(*source);
  ProgressLine progress;
  progress.show("compiling " + result.name);
  Result<CompileOutput> output =
      kernel_compiler::compile(request_for(file == "-" ? "" : file, result.source, options));
  progress.end();
  if (!output) return complaint(kSetUpBroken, output.error().message);
  result.log = with_few_errors(with_file_name(std::move(output->log), result.name));
  if (!options.json || !output->ok) put_error(result.log);
  if (output->invalid_options) return kBadUsage;
  if (!output->left_to_vendors.empty()) {
    put_error(
        "These errors are inside of functions: where the primary's own compiler has none, the "
        "program runs whole on the primary.\n");
  }
  if (!output->ok) return kFailed;
  result.kernels = std::move(output->summary.kernels);
  return 0;
}

/// One line per kernel.
void print_brief(const std::vector<KernelExplanation>& explanations, const std::string& file) {
  for (const KernelExplanation& kernel : explanations) {
    const auto& verdict = kernel.verdict;
    const std::string what = kernel.split
                                 ? fmt::format("split along dimension {} ({})", verdict.dimension,
                                               scheduler::merge_mode_name(verdict.mode))
                                 : std::string("whole");
    say("{}: {}: {}: {}\n", file, kernel.name, what, verdict.reason);
  }
}

int explain(const ExplainOptions& options) {
  LaunchWishes wishes;
  if (!read_wishes(options, wishes)) return kBadUsage;
  // What is wrong with one file keeps nobody from the others.
  int code = 0;
  std::vector<ExplainedFile> files;
  for (const std::string& file : options.files) {
    ExplainedFile compiled;
    const int error = compile_file(file, options, compiled);
    if (error == 0) files.push_back(std::move(compiled));
    if (code == 0) code = error;
  }
  std::vector<KernelSummary> all;
  for (const ExplainedFile& file : files) {
    all.insert(all.end(), file.kernels.begin(), file.kernels.end());
  }
  if (files.empty()) return code;
  const bool checked =
      check_kernels(options, all) && check_names(wishes, select_kernels(options, all));
  if (!checked) return code == 0 ? kBadUsage : code;
  std::string json;
  ProgressLine progress;
  for (const ExplainedFile& file : files) {
    const std::vector<const KernelSummary*> kernels = select_kernels(options, file.kernels);
    std::vector<KernelExplanation> explanations;
    for (const KernelSummary* kernel : kernels) {
      progress.count("kernels", explanations.size(), kernels.size());
      const auto launch = choose_launch(*kernel, wishes);
      if (!launch) {
        progress.end();
        return complaint(kBadUsage, launch.error().message);
      }
      explanations.push_back(explain(*kernel, *launch));
    }
    progress.end();
    SourceFiles sources(file.name, file.source);
    if (options.json) {
      json += (json.empty() ? "" : ",\n") + explanation_json(explanations, sources, file.log);
    } else if (options.brief) {
      print_brief(explanations, file.name);
    } else {
      print_text(explanations, sources);
    }
  }
  // One file named: the object itself.
  if (options.json && options.files.size() == 1) fmt::print("{}", json);
  if (options.json && options.files.size() > 1) fmt::print("{{\"files\": [\n{}]}}\n", json);
  return code;
}

constexpr char kExplainHelp[] =
    "Options of OpenCL's compiler are given as to clBuildProgram: -D NAME=VALUE -I FOLDER\n"
    "-cl-std=CL2.0 -cl-fast-relaxed-math ...\n"
    "Values of vectors: NAME=1,2,3,4; of a structure's field that is BYTES from its begin:\n"
    "NAME@BYTES=VALUE.\n"
    "What is not given is assumed, and the output says so: a global size, integers of that size,\n"
    "buffers that are large enough and share no memory.\n"
    "With --json, one FILE gives an object with its file, log and kernels; several give\n"
    "{\"files\": [...]} of such objects, in the order of those that compile.\n"
    "Exit code: 0, also for kernels that stay whole; 1 when the file does not compile; 2 for an\n"
    "unknown kernel or argument or other bad usage.";

CommandLine add_explain(CLI::App& command) {
  const auto options = std::make_shared<ExplainOptions>();
  command.footer(kExplainHelp);
  command.add_option("FILE", options->files, "OpenCL C source; - for standard input")->required();
  const auto many = [&](const char* name, std::vector<std::string>& values, const char* type,
                        const char* help) {
    return command.add_option(name, values, help)
        ->type_name(type)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
  };
  command.add_flag("--brief", options->brief, "One line per kernel");
  many("--kernel", options->kernels, "NAME", "Only this kernel; may be repeated")
      ->check(completes(Completion::kKernel));
  command.add_option("--global", options->global, "Global size")->type_name("X[,Y[,Z]]");
  command.add_option("--local", options->local, "Local size")->type_name("X[,Y[,Z]]");
  command.add_option("--offset", options->offset, "Global offset")->type_name("X[,Y[,Z]]");
  many("--arg", options->arguments, "NAME=VALUE", "A scalar's value, or a buffer's size in bytes");
  command.add_flag("--json", options->json, "As JSON");
  return {[options] { return explain(*options); },
          [options](std::vector<std::string>& words) {
            options->build_options = take_build_options(words);
          }};
}

}  // namespace

const Command kExplainCommand{
    "explain", "Show which kernels of a file are split, how, what they touch, and why not",
    add_explain};

}  // namespace tutti::tools
