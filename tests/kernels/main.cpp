// SPDX-License-Identifier: Apache-2.0
// tutti-kernel-fuzz: random kernels on a vendor's device and, in random packages, on Tutti. Fails
// when a byte differs and that is no vendor's fault, when a summary's claim does not hold, or when
// too few launches were split for the run to mean anything.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <stdexcept>

#include "natively.h"
#include "processes.h"

namespace tutti::kernel_fuzz {
namespace {

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
  --balancers LIST    "all", or some of them and "force", with commas: each program for another one,
                      which must find its kernels worth splitting; "force": random packages
  --apart             vendors' devices copy what they could share with the host
  --apart-gpus        they say that they are GPUs: only Tutti takes their memory for apart
  --apart-half        every second vendor's do
  --kinds LIST        "all", or some of exchange-loops, float-atomics, explicit-atomics, sub-groups,
                      collectives, generic, variables, shared-memory, columns: further features,
                      where both devices offer them
  --options TEXT      for clBuildProgram
  --keep FOLDER       failing kernels are written there, smallest form; vendors' faults are not
  --no-shrink         as they are
  --trace             every step
  --natively N        the files without Tutti, on platform N compared with --native's: exit code 0,
                      or 10 different, 11 refused, 12 no such platform
  --report FILE       which platform is at work then
FILE: a kept kernel; these are run in place of random ones.
)";

std::vector<std::string> split_list(const std::string& text) {
  if (text == "all") {
    return {"force", "static", "dynamic", "hguided", "autotune", "adaptive", "model", "sigmoid"};
  }
  std::vector<std::string> list;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) list.push_back(item);
  return list;
}

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
      options.apart = Apart::kAll;
    } else if (name == "--apart-gpus") {
      options.apart = Apart::kGpus;
    } else if (name == "--apart-half") {
      options.apart = Apart::kHalf;
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
    } else if (name == "--balancers") {
      options.balancers = split_list(argv[++i]);
    } else if (name == "--kinds") {
      options.kinds = kinds_of(argv[++i]);
    } else if (name == "--natively") {
      options.natively = static_cast<uint32_t>(number());
    } else if (name == "--report") {
      options.report = argv[++i];
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

int fuzz(int argc, char** argv) {
  Options options;
  options.seed = std::random_device()();
  try {
    if (!parse(argc, argv, options)) {
      std::fputs(kHelp, stderr);
      return 2;
    }
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  if (options.natively) {
    try {
      return run_natively(options);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 2;
    }
  }
  const bool one = options.only || !options.replay.empty();
  if (one) options.jobs = 1;
  if (!options.replay.empty() && options.balancers.size() > 1) options.balancers.resize(1);
  std::fprintf(stderr, "tutti-kernel-fuzz --seed %llu --kernels %llu\n",
               static_cast<unsigned long long>(options.seed),
               static_cast<unsigned long long>(options.kernels));
  const Totals totals = run_processes(options);
  const Counts& counts = totals.counts;
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::fprintf(stderr,
               "%llu kernels, %llu launches, %llu kernels split (%llu streamed, %llu with panels), "
               "%llu refused by both, "
               "%llu packages' claims checked, %llu vendors' faults, %llu failures\n",
               number(counts.kernels), number(counts.launches), number(totals.split),
               number(totals.streamed), number(totals.panels), number(counts.refused),
               number(counts.packages), number(counts.vendor_faults), number(counts.failures));
  if (totals.broken) return 2;
  const bool enough = totals.split * 100 >= totals.watched * options.least_split;
  if (counts.kernels == 0 || (!options.only && !enough)) {
    std::fprintf(stderr, "FAILED: too few kernels were split for this run to mean anything\n");
    return 1;
  }
  return counts.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tutti::kernel_fuzz

int main(int argc, char** argv) { return tutti::kernel_fuzz::fuzz(argc, argv); }
