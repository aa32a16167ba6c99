// SPDX-License-Identifier: Apache-2.0
// Runs cases on a vendor's device and on Tutti, compares, checks the summaries' claims, and shrinks
// what fails. One thread; processes share nothing but the counts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "claims.h"
#include "device.h"

namespace tutti::kernel_fuzz {

struct Options {
  uint64_t seed = 0;
  uint64_t kernels = 500;
  uint64_t program_size = 32;
  std::string native;  // empty: the first platform that is not the virtual one
  std::string virtual_platform = "Tutti";
  std::optional<uint64_t> only;
  std::string keep;
  std::string build_options;
  bool shrink = true;
  bool trace = false;
  bool apart = false;
  uint32_t jobs = 1;
  uint32_t packages = 2;      // whose claims are checked, per kernel
  uint32_t least_split = 25;  // percent of the kernels
  std::vector<std::string> replay;
};

/// Of one process; in memory that its parent sees, also when it dies.
struct Counts {
  uint64_t kernels = 0;
  uint64_t launches = 0;
  uint64_t refused = 0;   // by both devices alike
  uint64_t packages = 0;  // whose claims were checked
  uint64_t failures = 0;
  uint64_t current = 0;  // the kernel at hand
  char doing[32] = "starting";
};

/// Kernels of shrinking and of files count from here, so as not to be counted as split.
constexpr uint64_t kFirstExtra = 1'000'000'000;

class Tester {
 public:
  Tester(const Options& options, Counts& counts);
  /// The programs job, job + jobs, job + 2 · jobs …
  void run(uint32_t job);
  void replay(const std::string& file);

 private:
  struct Item {
    uint64_t number = 0;
    KernelCase kernel;
    std::vector<uint32_t> choices;
  };
  struct Built {
    Program native, tutti, twin;
    scheduler::ProgramSummary summary;
  };
  Item make(uint64_t number) const;
  Built build(const std::vector<const Item*>& items);
  void run_program(const std::vector<Item>& items);
  /// Why it fails; empty where it does not. The first word is the kind of failure.
  std::string judge(const Built& built, const Item& item, uint32_t times);
  std::string judge_alone(const KernelCase& kernel, uint32_t times);
  std::string compare(const KernelCase& kernel, const std::vector<Bytes>& expected,
                      const std::vector<Bytes>& actual) const;
  void report(const Item& item, std::string why);
  void now(uint64_t number, const char* doing);

  const Options& options_;
  Counts& counts_;
  std::unique_ptr<Device> native_;
  std::unique_ptr<Device> tutti_;
  bool atomics64_ = false;
  uint64_t extra_ = kFirstExtra;
  std::mt19937_64 random_;
};

}  // namespace tutti::kernel_fuzz
