// SPDX-License-Identifier: Apache-2.0
// `tutti config`, and what users see when their configuration cannot be read.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/config.h"
#include "tools_fixture.h"

namespace tutti {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class ConfigCommandTest : public ToolsTest {
 protected:
  void SetUp() override {
    ToolsTest::SetUp();
    unsetenv("TUTTI_CACHE");
    unsetenv("TUTTI_CONFIG");
    setenv("XDG_CONFIG_HOME", (tree_ / "home").c_str(), 1);
  }
  json option(const std::string& prefix, const std::string& variable) {
    const Outcome outcome = shell(prefix + tool() + " config --json");
    EXPECT_EQ(outcome.code, 0);
    const json output = json::parse(outcome.output);
    for (const json& entry : output["options"]) {
      if (entry["variable"] == variable) return entry;
    }
    return {};
  }
};

TEST_F(ConfigCommandTest, SaysWhereEachValueIsFrom) {
  const std::string file =
      tree_.write("home/tutti/tutti.toml", "balancer = 'static'\nseed = 7\nlog='debug:/a:b'\n");
  const std::string prefix = "TUTTI_BALANCER=dynamic:8 TUTTI_VERIFY=1 ";
  EXPECT_EQ(option(prefix, "TUTTI_BALANCER"), (json{{"variable", "TUTTI_BALANCER"},
                                                    {"key", "balancer"},
                                                    {"value", "dynamic:8"},
                                                    {"default", "sigmoid"},
                                                    {"origin", "TUTTI_BALANCER"},
                                                    {"accepted", option_table()[0].accepted},
                                                    {"help", option_table()[0].help}}));
  EXPECT_EQ(option(prefix, "TUTTI_SEED")["origin"], file);
  EXPECT_EQ(option(prefix, "TUTTI_SEED")["value"], "7");
  EXPECT_EQ(option(prefix, "TUTTI_LOG")["value"], "debug:/a:b");
  EXPECT_EQ(option(prefix, "TUTTI_VERIFY")["value"], "1:0.0001");
  EXPECT_EQ(option(prefix, "TUTTI_SPLIT")["value"], "auto");
  EXPECT_EQ(option(prefix, "TUTTI_SPLIT")["origin"], "default");
  const Outcome text = shell(prefix + tool() + " config");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.output, ::testing::ContainsRegex("TUTTI_BALANCER +dynamic:8 +TUTTI_BALANCER\n"));
  EXPECT_THAT(text.output, ::testing::ContainsRegex("TUTTI_SEED +7 +" + file + "\n"));
  EXPECT_THAT(text.output, ::testing::ContainsRegex("TUTTI_DEVICES +.none. +default\n"));
  EXPECT_THAT(text.output, Not(HasSubstr("warning")));
}

TEST_F(ConfigCommandTest, ValuesReadBackAsTheyWere) {
  // Each value that is shown, given as that option's, is shown again.
  const std::string prefix =
      "TUTTI_SPLIT=FORCE TUTTI_DEVICE_TYPE=gpu TUTTI_RACES=distrust TUTTI_VERIFY=1:1e-6 "
      "TUTTI_LOG=trace:/x TUTTI_KEEP_CORES=3 TUTTI_DEVICES=1,-x ";
  const json first = json::parse(shell(prefix + tool() + " config --json").output);
  std::string again;
  for (const json& entry : first["options"]) {
    if (entry["origin"] == "default") continue;
    again += entry["variable"].get<std::string>() + "='" + entry["value"].get<std::string>() + "' ";
  }
  EXPECT_THAT(again, HasSubstr("TUTTI_SPLIT='force'"));
  EXPECT_EQ(json::parse(shell(again + tool() + " config --json").output), first);
}

TEST_F(ConfigCommandTest, WarningsAreShown) {
  tree_.write("home/tutti/tutti.toml", "balancr = 'static'\nsplit = 'never'\n");
  const std::string prefix = "TUTTI_BALANCR=x TUTTI_SEED=many ";
  const json output = json::parse(shell(prefix + tool() + " config --json").output);
  EXPECT_THAT(output["warnings"].get<std::vector<std::string>>(),
              ::testing::UnorderedElementsAre(HasSubstr("tutti.toml: balancr is not an option"),
                                              HasSubstr("TUTTI_BALANCR is not an option"),
                                              HasSubstr("TUTTI_SEED=many is not understood")));
  EXPECT_EQ(output["files"].back(),
            (json{{"path", tree_ / "home/tutti/tutti.toml"}, {"exists", true}}));
  const Outcome text = shell(prefix + tool() + " config");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.output, AllOf(HasSubstr("warning: TUTTI_SEED=many is not understood"),
                                 HasSubstr("TUTTI_SPLIT")));
}

TEST_F(ConfigCommandTest, FilesThatCannotBeReadAreNamedAndTheProgramGoesOn) {
  const std::string file = tree_.write("home/tutti/tutti.toml", "split = 'never'\n");
  chmod(file.c_str(), 0);
  const std::string vendors = "TUTTI_VENDORS=" + (tree_ / "stub.so") + " TUTTI_CACHE=/nonexistent ";
  Outcome outcome = shell(as_user(vendors + tool() + " devices"));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr(file + " cannot be read: Permission denied; it is ignored"),
                    HasSubstr("stub-device")));
  chmod(file.c_str(), 0644);
  chmod((tree_ / "home/tutti").c_str(), 0);
  outcome = shell(as_user(vendors + tool() + " devices"));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("cannot be read: Permission denied"), HasSubstr("stub-device")));
  chmod((tree_ / "home/tutti").c_str(), 0755);
  tree_.write("home/tutti/tutti.toml", "split = \n");
  outcome = shell(vendors + tool() + " devices");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr(file + ":"), HasSubstr("The file is ignored"),
                                    HasSubstr("stub-device")));
}

TEST_F(ConfigCommandTest, TheCompilersPlaceMayStandInAFile) {
  tree_.write("home/tutti/tutti.toml", "compiler = '/nonexistent/compiler.so'\n");
  const std::string kernel = tree_.write("k.cl", "kernel void k(global int* o) { *o = 1; }\n");
  const Outcome outcome = shell(tool() + " explain " + kernel);
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.output, HasSubstr("/nonexistent/compiler.so"));
}

TEST_F(ConfigCommandTest, TheTomlFileIsAllCommentsAndItsKeysAreTheOptions) {
  const std::string text = shell(tool() + " config --toml").output;
  std::string uncommented;
  size_t keys = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    EXPECT_TRUE(line.empty() || line[0] == '#') << line;
    if (line.size() < 2 || line[1] == ' ') continue;
    uncommented += line.substr(1) + "\n";
    ++keys;
  }
  EXPECT_EQ(keys, option_table().size() - 1);  // but for TUTTI_CONFIG
  const LoadedConfig loaded = load_config({{}, {tree_.write("all.toml", uncommented)}});
  EXPECT_THAT(loaded.warnings, IsEmpty());
  const std::vector<OptionText> defaults = option_texts(Config{});
  const std::vector<OptionText> values = option_texts(loaded.config);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i].value, defaults[i].value);
}

TEST_F(ConfigCommandTest, TheDocumentationIsUpToDate) {
  const Outcome made = shell(tool() + " config --markdown");
  EXPECT_EQ(made.code, 0);
  EXPECT_EQ(made.output, content_of(TUTTI_TEST_SOURCES "/docs/options.md"))
      << "write it anew: build/bin/tutti config --markdown > docs/options.md";
}

TEST_F(ConfigCommandTest, BadUsage) {
  EXPECT_EQ(shell(tool() + " config --json --markdown").code, 2);
  EXPECT_EQ(shell(tool() + " config --json --toml").code, 2);
  EXPECT_EQ(shell(tool() + " config nonsense").code, 2);
}

}  // namespace
}  // namespace tutti
