// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>

#include "base/cl_error_name.h"
#include "base/progress_line.h"
#include "record/text.h"
#include "tools/commands.h"
#include "tools/completion.h"
#include "tools/replay.h"
#include "tools/run_environment.h"
#include "tools/settings.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

struct ReplayOptions {
  std::string folder;
  Settings settings;
  double tolerance = 0;
  bool json = false;
};

double milliseconds(uint64_t ns) { return static_cast<double>(ns) * 1e-6; }

bool is_same(const ReplayResult& result) {
  return result.differences.empty() && result.other_codes.empty() && result.failures.empty();
}

/// Tutti's platform, without any ICD loader: there may be none that shows it.
Result<cl_platform_id> load_driver() {
  TUTTI_ASSIGN(const TuttiAlone files, show_tutti_alone());
  void* library = dlopen(files.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail(CL_INVALID_PLATFORM, dlerror());
  const auto get_platforms =
      reinterpret_cast<cl_int(CL_API_CALL*)(cl_uint, cl_platform_id*, cl_uint*)>(
          dlsym(library, "clIcdGetPlatformIDsKHR"));
  cl_platform_id platform = nullptr;
  if (get_platforms == nullptr || get_platforms(1, &platform, nullptr) != CL_SUCCESS ||
      platform == nullptr) {
    return fail(CL_PLATFORM_NOT_FOUND_KHR,
                "Tutti has no device; `tutti devices` shows those left out and why");
  }
  return platform;
}

void print_json(const record::Record& record, const ReplayResult& result) {
  nlohmann::ordered_json output{{"calls", result.calls},
                                {"passed_over", result.passed_over},
                                {"compared", result.compared},
                                {"equal", result.equal},
                                {"within_tolerance", result.within_tolerance},
                                {"not_recorded", result.unknown},
                                {"recorded_s", static_cast<double>(result.recorded_ns) * 1e-9},
                                {"replayed_s", static_cast<double>(result.replayed_ns) * 1e-9},
                                {"differences", nlohmann::ordered_json::array()},
                                {"other_codes", nlohmann::ordered_json::array()},
                                {"kernels", nlohmann::ordered_json::array()},
                                {"failures", result.failures},
                                {"notes", result.notes},
                                {"warnings", record.warnings}};
  for (const auto& entry : result.differences) {
    output["differences"].push_back({{"call", entry.call},
                                     {"text", entry.text},
                                     {"offset", entry.offset},
                                     {"size", entry.size}});
  }
  for (const auto& entry : result.other_codes) {
    output["other_codes"].push_back({{"call", entry.call},
                                     {"text", entry.text},
                                     {"recorded", cl_error_name(entry.recorded)},
                                     {"replayed", cl_error_name(entry.replayed)}});
  }
  for (const auto& [name, kernel] : result.kernels) {
    output["kernels"].push_back({{"name", name},
                                 {"launches", kernel.launches},
                                 {"recorded_s", static_cast<double>(kernel.recorded_ns) * 1e-9},
                                 {"replayed_s", static_cast<double>(kernel.replayed_ns) * 1e-9}});
  }
  fmt::print("{}", json_text(output));
}

constexpr size_t kMostLines = 10;

void print_more(size_t all) {
  if (all > kMostLines) say("  … and {} more\n", all - kMostLines);
}

void print_text(const ReplayResult& result) {
  say("{} calls replayed, {} passed over (queries, and calls that had failed)\n", result.calls,
      result.passed_over);
  const std::string within = result.within_tolerance == 0 ? std::string()
                                                          : fmt::format("{} within the tolerance, ",
                                                                        result.within_tolerance);
  const std::string different = fmt::format("{} different", result.differences.size());
  say("{} reads compared: {} equal, {}{}\n", result.compared, result.equal, within,
      result.differences.empty() ? different : toned(Tone::kBad, different));
  if (result.unknown > 0) say("{} reads whose data are not in the record\n", result.unknown);
  for (size_t i = 0; i < std::min(kMostLines, result.differences.size()); ++i) {
    const auto& entry = result.differences[i];
    say("  call {}: byte {} of {} differs: {}\n", entry.call, entry.offset, entry.size, entry.text);
  }
  print_more(result.differences.size());
  if (!result.other_codes.empty()) {
    say("{} calls ended otherwise than recorded\n", result.other_codes.size());
  }
  for (size_t i = 0; i < std::min(kMostLines, result.other_codes.size()); ++i) {
    const auto& entry = result.other_codes[i];
    say("  call {}: {}, recorded {}: {}\n", entry.call, cl_error_name(entry.replayed),
        cl_error_name(entry.recorded), entry.text);
  }
  print_more(result.other_codes.size());
  for (const std::string& failure : result.failures) say("not replayed: {}\n", failure);
  for (const std::string& note : result.notes) say("note: {}\n", note);
  say("\n{:<32} {:>8} {:>14} {:>14}\n", "kernel", "launches", "recorded/ms", "replayed/ms");
  for (const auto& [name, kernel] : result.kernels) {
    say("{:<32.32} {:>8} {:>14.3f} {:>14.3f}\n", name, kernel.launches,
        milliseconds(kernel.recorded_ns), milliseconds(kernel.replayed_ns));
  }
  say("{:<32} {:>8} {:>14.3f} {:>14.3f}\n", "all, from first to last call", "",
      milliseconds(result.recorded_ns), milliseconds(result.replayed_ns));
}

/// Makes the calls, and tells what came of them.
int replay_calls(record::Record& record, const ReplayOptions& options, std::atomic<uint64_t>& at) {
  const auto platform = load_driver();
  if (!platform) {
    complain("replay", platform.error().message);
    return kSetUpBroken;
  }
  const ReplayResult result = Replay(record, *platform, options.tolerance, at).run();
  if (options.json) {
    print_json(record, result);
  } else {
    print_text(result);
  }
  return is_same(result) && !record.damaged ? 0 : kFailed;
}

/// The same in a process of its own: what a damaged record has a vendor's driver do, or a kernel
/// write, may end it.
int replay_apart(record::Record& record, const ReplayOptions& options) {
  void* const shared = mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::bad_alloc();
  auto& at = *new (shared) std::atomic<uint64_t>{0};
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    return getppid() == parent ? replay_calls(record, options, at) : kFailed;
  }
  int status = 0;
  pid_t ended = child;
  while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) continue;
  if (ended < 0) {
    complain("replay", std::strerror(errno));
    return kFailed;
  }
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const uint64_t call = at.load();
  complain("replay", fmt::format("the calls' process was ended by signal {} ({}){}",
                                 WTERMSIG(status), strsignal(WTERMSIG(status)),
                                 call == 0 || call > record.calls.size()
                                     ? std::string()
                                     : fmt::format(", in call {} or by a command before it: {}",
                                                   call, record::text_of(record.calls[call - 1]))));
  return kFailed;
}

int replay(const ReplayOptions& options) {
  ProgressLine progress;
  progress.show("reading " + options.folder);
  auto record = record::read(options.folder);
  progress.end();
  if (!record) {
    complain("replay", record.error().message);
    return kBadUsage;
  }
  for (const std::string& warning : record->warnings) {
    complain("replay", warning);
  }
  setenv("TUTTI_RECORD", "", 1);  // no record of the replay
  set_environment(options.settings);
  if (const std::string problem =
          output_problem(load_config(ConfigSources::of_process()).config, {});
      !problem.empty()) {
    complain("replay", problem);
    return kBadUsage;
  }
  return replay_apart(*record, options);
}

CommandLine add_replay(CLI::App& command) {
  const auto options = std::make_shared<ReplayOptions>();
  command.footer(
      "Exit code: 0 when all that the application had read is the same; 1 when something differs "
      "or\n"
      "the record is damaged; 2 when there is no record.");
  command.add_option("FOLDER", options->folder, "A record, made by TUTTI_RECORD=FOLDER")
      ->required()
      ->check(completes(Completion::kRecord));
  add_settings(command, {"devices", "balancer", "summary"}, options->settings);
  command
      .add_option("--tolerance", options->tolerance,
                  "Data that differ, taken as 32-bit floats, may do so by this relative error")
      ->check(CLI::NonNegativeNumber);
  command.add_flag("--json", options->json, "As JSON");
  return {[options] { return replay(*options); }};
}

}  // namespace

const Command kReplayCommand{
    "replay", "Run a record without its application, compare the results, report times",
    add_replay};

}  // namespace tutti::tools
