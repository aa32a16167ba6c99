// SPDX-License-Identifier: Apache-2.0
// Runs cases on a vendor's device and on Tutti, compares, checks the summaries' claims, and shrinks
// what fails. One thread; processes share nothing but the counts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/progress_line.h"
#include "claims.h"
#include "device.h"
#include "options.h"

namespace tutti::kernel_fuzz {

/// Kernels of shrinking and of files count from here, so as not to be counted as split.
constexpr uint64_t kFirstExtra = 1'000'000'000;

constexpr uint64_t kMostFailures = 20;

/// The programs number, number + count, number + 2 · count … of a run.
struct Lane {
  uint32_t number = 0;
  uint32_t count = 1;
  uint64_t from = 0;         // kernels before it are done
  uint64_t alone_until = 0;  // kernels before it are built one by one: together they crashed
};

/// A random case, by its number alone; `choices`: what it was made of.
KernelCase case_of(const Options& options, uint64_t number, const Offer& offer,
                   std::vector<uint32_t>* choices = nullptr);
KernelCase read_case(const std::string& file);

class Tester {
 public:
  Tester(const Options& options, Counts& counts);
  /// Stops at kMostFailures.
  void run(const Lane& lane);
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
  void run_item(const Built& built, const Item& item, uint32_t times);
  Built build(const std::vector<const Item*>& items);
  void run_program(const std::vector<Item>& items);
  /// Why it fails; empty where it does not. The first word is the kind of failure.
  std::string judge(const Built& built, const Item& item, uint32_t times);
  std::string judge_alone(const KernelCase& kernel, uint32_t times);
  /// `settled`: 1 for each byte that counts.
  std::string compare(const KernelCase& kernel, const std::vector<Bytes>& expected,
                      const std::vector<Bytes>& actual, const std::vector<Bytes>& settled) const;
  /// Clears `settled` where the native result is another one for other content of what the
  /// application never writes: `times` contents, the first of which has every bit changed.
  void unsettle(const Built& built, const Item& item, const std::vector<Bytes>& expected,
                uint32_t times, std::vector<Bytes>& settled);
  void report(const Item& item, std::string why);
  void keep(const Item& item, const std::string& why, const std::string& text) const;
  void now(const char* doing);

  const Options& options_;
  Counts& counts_;
  std::unique_ptr<Device> native_;
  std::unique_ptr<Device> tutti_;
  Offer offer_;
  uint64_t extra_ = kFirstExtra;
  std::mt19937_64 random_;
  ProgressLine progress_;
};

}  // namespace tutti::kernel_fuzz
