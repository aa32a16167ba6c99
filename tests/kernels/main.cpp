// SPDX-License-Identifier: Apache-2.0
// tutti-kernel-fuzz: random kernels on a vendor's device and, in random packages, on Tutti. Fails
// when a byte differs, when a summary's claim does not hold, or when too few launches were split
// for the run to mean anything.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apart.h"
#include "tester.h"

namespace tutti::kernel_fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHelp = R"(usage: tutti-kernel-fuzz [OPTION…] [FILE…]
  --seed N            of the kernels and of the packages; without it, one is drawn
  --kernels N         how many (500)
  --only K            this one alone
  --program-size N    kernels in one program (32)
  --jobs N            processes (1)
  --native NAME       platform to compare with (the first that is not the virtual one)
  --virtual NAME      platform under test (Tutti)
  --packages N        packages of each kernel whose claims are checked (2); 0: none
  --least-split N     percent of the kernels that must be split (25)
  --apart             vendors' devices copy what they could share with the host
  --options TEXT      for clBuildProgram
  --keep FOLDER       failing kernels are written there, smallest form
  --no-shrink         as they are
  --trace             every step
FILE: a kept kernel; these are run in place of random ones.
)";

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const bool has_value = i + 1 < argc;
    const auto number = [&] { return std::strtoull(argv[++i], nullptr, 0); };
    if (name == "--no-shrink") {
      options.shrink = false;
    } else if (name == "--trace") {
      options.trace = true;
    } else if (name == "--apart") {
      options.apart = true;
    } else if (name.rfind("--", 0) != 0) {
      options.replay.push_back(name);
    } else if (!has_value) {
      return false;
    } else if (name == "--seed") {
      options.seed = number();
    } else if (name == "--kernels") {
      options.kernels = number();
    } else if (name == "--only") {
      options.only = number();
    } else if (name == "--program-size") {
      options.program_size = std::max<uint64_t>(number(), 1);
    } else if (name == "--jobs") {
      options.jobs = static_cast<uint32_t>(std::max<uint64_t>(number(), 1));
    } else if (name == "--native") {
      options.native = argv[++i];
    } else if (name == "--virtual") {
      options.virtual_platform = argv[++i];
    } else if (name == "--packages") {
      options.packages = static_cast<uint32_t>(number());
    } else if (name == "--least-split") {
      options.least_split = static_cast<uint32_t>(number());
    } else if (name == "--options") {
      options.build_options = argv[++i];
    } else if (name == "--keep") {
      options.keep = argv[++i];
    } else {
      return false;
    }
  }
  return true;
}

/// In a process of its own, so that a crash is one more failure; it ends as any program does, and
/// Tutti writes its summary then.
[[noreturn]] void work(const Options& options, uint32_t job, Counts& counts,
                       const std::string& summary) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setenv("TUTTI_SUMMARY", summary.c_str(), 1);
  setenv("TUTTI_SPLIT", "force", 0);
  setenv("TUTTI_SEED", std::to_string(options.seed % 1000000 + 1000003 * job).c_str(), 0);
  int code = 0;
  try {
    if (options.apart) keep_memory_apart();
    Tester tester(options, counts);
    if (options.replay.empty()) {
      tester.run(job);
    } else {
      for (const std::string& file : options.replay) tester.replay(file);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 2;
  }
  std::exit(code);
}

/// How many of the kernels were split at least once.
uint64_t split_kernels(const std::string& summary) {
  std::ifstream file(summary);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) return 0;
  uint64_t count = 0;
  for (const auto& kernel : json["kernels"]) {
    const std::string name = kernel["name"];
    if (kernel["split"] > 0 && std::stoull(name.substr(1)) < kFirstExtra) ++count;
  }
  return count;
}

int fuzz(int argc, char** argv) {
  Options options;
  options.seed = std::random_device()();
  if (!parse(argc, argv, options)) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  if (options.only || !options.replay.empty()) options.jobs = 1;
  std::fprintf(stderr, "tutti-kernel-fuzz --seed %llu --kernels %llu\n",
               static_cast<unsigned long long>(options.seed),
               static_cast<unsigned long long>(options.kernels));
  void* memory = mmap(nullptr, options.jobs * sizeof(Counts), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  auto* counts = static_cast<Counts*>(memory);
  std::string folder = (fs::temp_directory_path() / "tutti-kernel-fuzz-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 2;
  const auto summary = [&](uint32_t job) { return folder + "/" + std::to_string(job) + ".json"; };
  std::vector<pid_t> processes;
  for (uint32_t job = 0; job < options.jobs; ++job) {
    new (&counts[job]) Counts;
    const pid_t process = fork();
    if (process == 0) work(options, job, counts[job], summary(job));
    processes.push_back(process);
  }
  Counts total;
  uint64_t split = 0;
  int code = 0;
  for (uint32_t job = 0; job < options.jobs; ++job) {
    int status = 0;
    waitpid(processes[job], &status, 0);
    const Counts& one = counts[job];
    if (WIFSIGNALED(status)) {
      std::fprintf(stderr, "signal %d, kernel %llu (%s)\n", WTERMSIG(status),
                   static_cast<unsigned long long>(one.current), one.doing);
      ++total.failures;
    } else if (WEXITSTATUS(status) != 0) {
      code = 2;
    }
    total.kernels += one.kernels;
    total.launches += one.launches;
    total.refused += one.refused;
    total.packages += one.packages;
    total.failures += one.failures;
    split += split_kernels(summary(job));
  }
  fs::remove_all(folder);
  std::fprintf(stderr,
               "%llu kernels, %llu launches, %llu kernels split, %llu refused by both, "
               "%llu packages' claims checked, %llu failures\n",
               static_cast<unsigned long long>(total.kernels),
               static_cast<unsigned long long>(total.launches),
               static_cast<unsigned long long>(split),
               static_cast<unsigned long long>(total.refused),
               static_cast<unsigned long long>(total.packages),
               static_cast<unsigned long long>(total.failures));
  if (code != 0) return code;
  if (total.kernels == 0 || (!options.only && split * 100 < total.kernels * options.least_split)) {
    std::fprintf(stderr, "FAILED: too few kernels were split for this run to mean anything\n");
    return 1;
  }
  return total.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tutti::kernel_fuzz

int main(int argc, char** argv) { return tutti::kernel_fuzz::fuzz(argc, argv); }
