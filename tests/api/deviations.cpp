// SPDX-License-Identifier: Apache-2.0
#include "deviations.h"

#include <fnmatch.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>

namespace tutti::api_tests {
namespace {

std::string trimmed(const std::string& text) {
  const char* blank = " \t`";
  const size_t first = text.find_first_not_of(blank);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

bool is_prefix(const std::string& prefix, const std::string& text) {
  return prefix == "*" || text.compare(0, prefix.size(), prefix) == 0;
}

class Listener : public testing::EmptyTestEventListener {
 public:
  explicit Listener(const std::vector<Deviation>& deviations) : deviations_(deviations) {}

  void OnTestEnd(const testing::TestInfo& info) override {
    const std::string name = std::string(info.test_suite_name()) + "." + info.name();
    if (info.result()->Skipped()) return;
    const bool expected_to_fail = expects_failure(name);
    if (info.result()->Failed() && !expected_to_fail) failures_.push_back(name);
    if (info.result()->Passed() && expected_to_fail) passes_.push_back(name);
    if (info.result()->Failed() && expected_to_fail) ++known_;
  }

  int summary() const {
    for (const std::string& name : failures_) std::cout << "failed: " << name << "\n";
    for (const std::string& name : passes_) {
      std::cout << "passed, but listed as a deviation: " << name << "\n";
    }
    std::cout << failures_.size() << " unexpected failures, " << passes_.size()
              << " unexpected passes, " << known_ << " known deviations\n";
    return failures_.empty() && passes_.empty() ? 0 : 1;
  }

 private:
  bool expects_failure(const std::string& name) const {
    for (const Deviation& deviation : deviations_) {
      if (deviation.run && fnmatch(deviation.test.c_str(), name.c_str(), 0) == 0) return true;
    }
    return false;
  }

  const std::vector<Deviation> deviations_;
  std::vector<std::string> failures_;
  std::vector<std::string> passes_;
  int known_ = 0;
};

}  // namespace

std::vector<Deviation> load_deviations(const std::string& path, const std::string& platform,
                                       const std::string& device) {
  std::vector<Deviation> deviations;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] != '|') continue;
    std::vector<std::string> cells;
    std::stringstream row(line.substr(1));
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(trimmed(cell));
    // platform | device | test | effect | what
    if (cells.size() < 5) continue;
    const bool fails = cells[3] == "fails";
    const bool not_run = cells[3] == "hangs" || cells[3] == "crashes";
    if ((!fails && !not_run) || !is_prefix(cells[0], platform) || !is_prefix(cells[1], device)) {
      continue;
    }
    deviations.push_back({cells[2], fails});
  }
  return deviations;
}

int run_tests(const std::vector<Deviation>& deviations) {
  std::string filter = testing::GTEST_FLAG(filter);
  bool has_negative = filter.find('-') != std::string::npos;
  for (const Deviation& deviation : deviations) {
    if (deviation.run) continue;
    filter += (has_negative ? ":" : "-") + deviation.test;
    has_negative = true;
  }
  testing::GTEST_FLAG(filter) = filter;

  auto* listener = new Listener(deviations);  // owned by GoogleTest
  testing::UnitTest::GetInstance()->listeners().Append(listener);
  // The listener's verdict replaces GoogleTest's: it knows the deviations. GoogleTest's counts
  // too when something failed outside a test (environments, suites).
  const int verdict = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed()) return verdict;
  return listener->summary();
}

}  // namespace tutti::api_tests
