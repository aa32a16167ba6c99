// SPDX-License-Identifier: Apache-2.0
// The manual pages and the completions name every command and option of `tutti --help-all`.
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "base/accepted_words.h"
#include "base/config.h"
#include "tools_fixture.h"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream rest(text);
  for (std::string line; std::getline(rest, line);) lines.push_back(line);
  return lines;
}

class DocumentationTest : public ToolsTest {
 protected:
  void SetUp() override {
    ToolsTest::SetUp();
    // What a person sees: commands at the begin of a line, their options below them.
    const std::regex command("[a-z]+"), option(" +(-[a-z],)?(--[a-z-]+).*");
    std::string current;
    for (const std::string& line : lines_of(shell(tool() + " --help-all").output)) {
      if (line.starts_with("Environment")) break;
      std::smatch match;
      if (std::regex_match(line, command)) current = line;
      if (std::regex_match(line, match, option)) options_[current].push_back(match[2]);
    }
    // Else nothing would be looked for.
    ASSERT_THAT(options_[""], ElementsAre("--help", "--help-all", "--version"));
    ASSERT_THAT(options_["run"],
                IsSupersetOf({"--devices", "--balancer", "--summary", "--trace", "--log"}));
    ASSERT_THAT(options_["explain"], IsSupersetOf({"--kernel", "--arg", "--json"}));
    ASSERT_GE(options_.size(), 6u);
  }
  std::string documentation(const std::string& form) {
    const Outcome outcome = shell(tool() + " documentation " + form);
    EXPECT_EQ(outcome.code, 0);
    return outcome.output;
  }
  /// What `tutti complete` answers: the kind of completion, then whole words.
  std::vector<std::string> answer(const std::string& words) {
    const Outcome outcome = shell(tool() + " complete -- " + words);
    EXPECT_EQ(outcome.code, 0);
    std::vector<std::string> lines = lines_of(outcome.output);
    for (std::string& line : lines) line = line.substr(0, line.find('\t'));
    return lines;
  }
  std::vector<std::string> offered(const std::string& words) {
    std::vector<std::string> lines = answer(words);
    EXPECT_FALSE(lines.empty());
    if (!lines.empty()) lines.erase(lines.begin());
    return lines;
  }
  std::map<std::string, std::vector<std::string>> options_;  // by command; "": tutti's own
};

TEST_F(DocumentationTest, EveryCommandHasAPageThatNamesAll) {
  const std::string folder = tree_ / "pages";
  ASSERT_EQ(shell("mkdir " + folder + " && " + tool() + " documentation man " + folder).code, 0);
  const auto page_of = [&folder](const std::string& command) {
    std::ifstream file(folder + "/tutti" + (command.empty() ? "" : "-" + command) + ".1");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  for (const auto& [command, options] : options_) {
    const std::string page = page_of(command);
    for (const std::string& option : options) {
      const std::string roff = "\\fB" + std::regex_replace(option, std::regex("-"), "\\-") + "\\fR";
      EXPECT_THAT(page, HasSubstr(roff)) << command;
    }
    for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS",
                                "ENVIRONMENT", "FILES", "SEE ALSO"}) {
      EXPECT_THAT(page, HasSubstr(std::string(".SH ") + section + "\n")) << command;
    }
    if (command.empty()) continue;
    EXPECT_THAT(page, HasSubstr(".BR tutti (1)"));
    EXPECT_THAT(page_of(""), HasSubstr(".BR tutti\\-" + command + " (1)"));
  }
  EXPECT_THAT(page_of(""), AllOf(HasSubstr(".B TUTTI_BALANCER"), HasSubstr("/etc/tutti/tutti.toml"),
                                 Not(HasSubstr("documentation (1)"))));  // hidden
  EXPECT_EQ(page_of(""), documentation("man"));
  EXPECT_THAT(page_of("run"), AllOf(HasSubstr("126 when"), HasSubstr(".SH EXAMPLES"),
                                    HasSubstr("[\\-\\-] \\fIAPP\\fR")));
  EXPECT_THAT(page_of("record"), HasSubstr(".SS \"tutti record show\""));
  EXPECT_EQ(page_of("documentation"), "");
}

TEST_F(DocumentationTest, TheCompletionsNameAll) {
  for (const auto& [command, options] : options_) {
    if (!command.empty()) {
      EXPECT_THAT(offered("''"), Contains(command));
      EXPECT_THAT(offered("help ''"), Contains(command));
    }
    // A command's own commands count as its part, as above.
    std::vector<std::string> known = offered(command + " -");
    for (const std::string& nested : offered(command.empty() ? "help ''" : command + " ''")) {
      if (command != "record" && command != "model") break;
      for (const std::string& option : offered(command + " " + nested + " -")) {
        known.push_back(option);
      }
    }
    for (const std::string& option : options) EXPECT_THAT(known, Contains(option)) << command;
  }
}

TEST_F(DocumentationTest, CompletesCommandsValuesAndApplications) {
  const std::vector<std::string> balancers = offered("run --balancer ''");
  EXPECT_GE(balancers.size(), 7u);
  EXPECT_THAT(balancers, IsSupersetOf({"sigmoid", "static", "single"}));
  EXPECT_THAT(offered("run --balancer=s"), IsSupersetOf({"--balancer=sigmoid"}));
  EXPECT_THAT(offered("replay --balancer ''"), IsSupersetOf({"sigmoid"}));
  EXPECT_THAT(offered("simulate --objective ''"), ElementsAre("time", "energy", "edp"));
  EXPECT_THAT(offered("simulate --balancers static,''"), Contains("static,hguided"));
  EXPECT_THAT(offered("documentation ''"), ElementsAre("man", "bash", "zsh", "fish"));
  EXPECT_THAT(offered("help ''"), Not(Contains("help")));
  EXPECT_THAT(answer("run tru"), ElementsAre("command 1"));
  EXPECT_THAT(answer("run -- tru"), ElementsAre("command 2"));
  EXPECT_THAT(answer("run --summary tru"), ElementsAre("command 2"));
  EXPECT_THAT(answer("run --devices 0 -- tru"), ElementsAre("command 4"));
  EXPECT_THAT(answer("run --devices=0 tru"), ElementsAre("command 2"));
  // The application's own words are not ours.
  EXPECT_THAT(answer("run true --bal"), ElementsAre("command 1"));
  EXPECT_THAT(answer("report ''"), ElementsAre("files"));
  EXPECT_THAT(answer("nonsense ''"), ElementsAre("values"));
  EXPECT_THAT(answer("run --nonsense=x"), ElementsAre("values"));
}

TEST_F(DocumentationTest, CompletesKernelsOfTheFile) {
  const std::string file = tree_.write(
      "kernels.cl",
      "/* kernel void not_this(int x); */ // kernel void nor_this(int x)\n"
      "constant char text[] = \"kernel void nor_that(\";\n"
      "kernel void one(global int* out);\nint helper(int x) { return x; }\n"
      "__kernel __attribute__((reqd_work_group_size(8, 1, 1)))\nvoid two (global int* out) {}\n"
      "kernel void one(global int* out) { out[0] = helper(1); }\nkernel");
  EXPECT_THAT(offered("explain " + file + " --kernel ''"), ElementsAre("one", "two"));
  EXPECT_THAT(offered("explain -DX " + file + " --kernel one --kernel=t"),
              ElementsAre("--kernel=one", "--kernel=two"));
  EXPECT_THAT(offered("explain " + (tree_ / "none.cl") + " --kernel ''"), ElementsAre());
  // What would keep us waiting is not read.
  ASSERT_EQ(shell("mkfifo " + (tree_ / "pipe.cl")).code, 0);
  EXPECT_THAT(offered("explain " + (tree_ / "pipe.cl") + " --kernel ''"), ElementsAre());
}

TEST_F(DocumentationTest, CompletesRecords) {
  tree_.write("here/first one/calls.tutti", "");
  tree_.write("here/second/calls.tutti", "");
  tree_.write("here/other/deeper/calls.tutti", "");
  const std::string here = tree_ / "here";
  for (const char* command : {"replay", "record show"}) {
    const std::string before = std::string(command) + " '" + here;
    EXPECT_THAT(answer(before + "/'"), ElementsAre("paths", here + "/first one", here + "/second"));
    EXPECT_THAT(offered(before + "/s'"), ElementsAre(here + "/second"));
    EXPECT_THAT(offered(before + "/o'"), ElementsAre(here + "/other/"));
    EXPECT_THAT(offered(before + "/nowhere/'"), ElementsAre());
  }
}

TEST_F(DocumentationTest, CompletesDevicesAndNeverHangs) {
  const std::string cache = "TUTTI_CACHE=" + (tree_ / "cache") + " ";
  const Outcome known =
      shell(cache + "TUTTI_VENDORS=" TUTTI_TEST_POCL " POCL_DEVICES='basic basic' " + tool() +
            " complete -- run --devices 1,");
  EXPECT_THAT(known.output, AllOf(HasSubstr("\n1,0\tPortable"), Not(HasSubstr("\n1,1\t"))));
  // A folder of drivers that does not answer: reading a pipe that nobody writes.
  tree_.write("vendors/readme", "");
  ASSERT_EQ(shell("mkfifo " + (tree_ / "vendors/stuck.icd")).code, 0);
  const Outcome stuck = shell(cache + "TUTTI_VENDORS=" + (tree_ / "vendors") + " timeout 20 " +
                              tool() + " complete -- run --devices ''");
  EXPECT_EQ(stuck.code, 0);
  EXPECT_EQ(stuck.output, "values\n");
}

TEST_F(DocumentationTest, WordsOfOptionsAreAccepted) {
  EXPECT_THAT(accepted_words("sigmoid[:k_r[:k_i[:p]]], model[:tail], static"),
              ElementsAre("sigmoid", "model", "static"));
  EXPECT_THAT(accepted_words("LEVEL or LEVEL:FILE, the level one of off, error, info"),
              ElementsAre("off", "error", "info"));
  EXPECT_THAT(accepted_words("a file name"), ElementsAre());
  size_t lists = 0;
  for (const OptionInfo& option : option_table()) {
    for (const std::string& word : accepted_words(option.accepted)) {
      ++lists;
      ConfigSources sources;
      sources.environment = {{std::string(option.variable), word}};
      EXPECT_THAT(load_config(sources).warnings, ElementsAre()) << option.variable << " " << word;
    }
  }
  EXPECT_GE(lists, 20u);
}

TEST_F(DocumentationTest, BadUsage) {
  EXPECT_EQ(shell(tool() + " documentation").code, 2);
  EXPECT_EQ(shell(tool() + " documentation html").code, 2);
  EXPECT_EQ(shell(tool() + " documentation man " + (tree_ / "nowhere")).code, 2);
  EXPECT_EQ(shell(tool() + " complete").output, "values\n");
}

}  // namespace
}  // namespace tutti
