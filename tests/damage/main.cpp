// SPDX-License-Identifier: Apache-2.0
// tutti-damage-tests TUTTI: damages files and has them read (README.md).
#include <fmt/format.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/own_files.h"
#include "world.h"

namespace {

using namespace tutti::damage;
namespace fs = std::filesystem;

constexpr const Subject* kSubjects[] = {&kShow,  &kReplay,   &kReport,   &kExplain,
                                        &kModel, &kPrograms, &kVerdicts, &kFiles};

struct Options {
  std::string tool, subject, keep;
  uint64_t seed = 1;
  double times = 1;
  int64_t only = -1;
};

/// What the client leaves is what is damaged.
bool make_good_files(const GoodFiles& good, const std::string& self) {
  fs::create_directories(good.folder);
  const Variables kept{{"TUTTI_CACHE", good.cache()}, {"TUTTI_MODEL", "disk"}};
  struct Run {
    const char* what;
    Variables variables;
  };
  for (const Run& each :
       {Run{"--client", {{"TUTTI_RECORD", good.record()}}},
        Run{"--client-with-programs", {{"TUTTI_RECORD", good.record_with_programs()}}},
        Run{"--client",
            {{"TUTTI_TRACE", good.trace()},
             {"TUTTI_SUMMARY", good.summary()},
             {"TUTTI_SPLIT", "force"}}}}) {
    Variables all = kept;
    all.insert(all.end(), each.variables.begin(), each.variables.end());
    const Ended ended = run({self, each.what}, all);
    if (ended.status != 0 || !ended.output.empty()) {
      fmt::print(stderr, "the client fails on good files: {}\n{}\n", ended.status, ended.output);
      return false;
    }
  }
  return true;
}

/// True: all is well.
bool run_case(const Subject& subject, uint64_t number, const Options& options,
              const GoodFiles& good, const std::string& self, const std::string& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  Case made(good, options.tool, self, folder, options.seed, number);
  subject.run(made);
  if (!options.keep.empty() && (options.only >= 0 || !made.problems().empty())) {
    const std::string kept = fmt::format("{}/{}-{}", options.keep, subject.name, number);
    fs::create_directories(options.keep);
    fs::copy(folder, kept,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing |
                 fs::copy_options::skip_symlinks);
  }
  if (made.problems().empty()) return true;
  fmt::print("FAILED: --subject {} --seed {} --case {}\n{}\n", subject.name, options.seed, number,
             made.problems());
  return false;
}

int run_all(const Options& options, const std::string& scratch) {
  const std::string self = tutti::own_binary();
  const GoodFiles good{scratch + "/good"};
  if (!make_good_files(good, self)) return 1;
  uint64_t failures = 0, all = 0;
  for (const Subject* subject : kSubjects) {
    if (!options.subject.empty() && options.subject != subject->name) continue;
    const auto start = std::chrono::steady_clock::now();
    const auto cases = static_cast<uint64_t>(static_cast<double>(subject->cases) * options.times);
    const uint64_t first = options.only >= 0 ? static_cast<uint64_t>(options.only) : 0;
    const uint64_t end = options.only >= 0 ? first + 1 : cases;
    for (uint64_t i = first; i < end; ++i, ++all) {
      if (!run_case(*subject, i, options, good, self, scratch + "/case")) ++failures;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fmt::print("{}: {} cases in {:.1f} s\n", subject->name, end - first, took.count());
    std::fflush(stdout);
  }
  fmt::print("{} cases, {} failed\n", all, failures);
  return failures == 0 && all > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string first = argc == 2 ? argv[1] : "";
  if (first == "--client") return run_client(false);
  if (first == "--client-with-programs") return run_client(true);
  if (argc == 3 && std::string(argv[1]) == "--answer") return evaluate_answer(argv[2]);
  Options options;
  CLI::App app("Damages files at random, and has tutti and the driver read them");
  app.add_option("TUTTI", options.tool, "The command")->required();
  app.add_option("--seed", options.seed, "Of the damage");
  app.add_option("--times", options.times, "So many times as many cases as in a short run");
  app.add_option("--subject", options.subject, "Only this one");
  app.add_option("--case", options.only, "Only this one");
  app.add_option("--keep", options.keep, "A folder for the files of cases that fail");
  CLI11_PARSE(app, argc, argv);
  std::string scratch = (fs::temp_directory_path() / "tutti-damage-XXXXXX").string();
  if (mkdtemp(scratch.data()) == nullptr) return 1;
  const int code = run_all(options, scratch);
  fs::remove_all(scratch);
  return code;
}
