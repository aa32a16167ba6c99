// SPDX-License-Identifier: Apache-2.0
// Runs `tutti explain` as people do, in a folder of its own and without any vendor driver. Used by
// one thread.
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/temporary_folder.h"
#include "shell.h"

namespace tutti {

using nlohmann::json;

class ExplainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(tree_ / "none");
    setenv("TUTTI_VENDORS", (tree_ / "none").c_str(), 1);
    for (const char* name : {"TUTTI_COMPILER", "TUTTI_LOG"}) unsetenv(name);
    setenv("TUTTI_CONFIG", tree_.write("empty.toml", "").c_str(), 1);
  }

  Outcome run(const std::string& arguments) {
    return shell("cd " + tree_.path() + " && " TUTTI_TEST_TOOL " explain " + arguments);
  }
  /// The one kernel that is explained.
  json kernel(const std::string& source, const std::string& arguments = {}) {
    tree_.write("k.cl", source);
    const json all = explained("k.cl " + arguments);
    EXPECT_EQ(all["kernels"].size(), 1u);
    return all["kernels"][0];
  }
  json explained(const std::string& arguments) {
    const Outcome outcome = run("--json " + arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    const json result = json::parse(outcome.output, nullptr, false);
    EXPECT_FALSE(result.is_discarded()) << outcome.output;
    return result;
  }
  TemporaryFolder tree_;
};

inline json regular(uint64_t bytes, int64_t apart) {
  return {{"pattern", "regular"}, {"bytes", bytes}, {"apart", apart}, {"all_slices", true}};
}

inline json same(uint64_t bytes) {
  return {{"pattern", "same"}, {"bytes", bytes}, {"apart", nullptr}, {"all_slices", true}};
}

}  // namespace tutti
