// SPDX-License-Identifier: Apache-2.0
// The manual page and the completions name every command and option of `tutti --help-all`.
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "platform/config.h"
#include "tools_fixture.h"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

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
  /// What bash offers after these words, the last of which is begun.
  std::vector<std::string> offered(const std::string& words) {
    const std::string file = tree_.write("tutti.bash", documentation("bash"));
    const std::string script =
        tree_.write("try.sh", "source " + file + "\nCOMP_WORDS=(" + words +
                                  ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_tutti\n"
                                  "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
    return lines_of(shell("bash " + script).output);
  }
  std::map<std::string, std::vector<std::string>> options_;  // by command; "": tutti's own
};

TEST_F(DocumentationTest, TheManualPageNamesAll) {
  const std::string page = documentation("man");
  std::map<std::string, std::string> sections;  // of the commands
  std::string current;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with(".SH")) current.clear();
    // A command's own commands count as its part, as above.
    if (line.starts_with(".SS \"tutti ")) {
      current = line.substr(11, line.find_first_of(" \"", 11) - 11);
    }
    sections[current] += line + "\n";
  }
  for (const auto& [command, options] : options_) {
    ASSERT_TRUE(sections.count(command)) << command;
    for (const std::string& option : options) {
      const std::string roff = "\\fB" + std::regex_replace(option, std::regex("-"), "\\-") + "\\fR";
      EXPECT_THAT(sections[command], HasSubstr(roff)) << command;
    }
  }
  EXPECT_THAT(page, AllOf(HasSubstr(".B TUTTI_BALANCER"), HasSubstr("/etc/tutti/tutti.toml")));
  EXPECT_THAT(page, Not(HasSubstr("tutti documentation\\fR")));  // hidden
}

TEST_F(DocumentationTest, TheCompletionsNameAll) {
  const std::string zsh = documentation("zsh"), fish = documentation("fish");
  for (const auto& [command, options] : options_) {
    if (!command.empty()) {
      EXPECT_THAT(offered("tutti ''"), Contains(command));
      EXPECT_THAT(offered("tutti help ''"), Contains(command));
      EXPECT_THAT(zsh, AllOf(HasSubstr("    '" + command + ":"),
                             HasSubstr("      " + command + ") _arguments")));
      EXPECT_THAT(fish, HasSubstr("-f -a " + command + " -d "));
    }
    const std::vector<std::string> bash = offered("tutti " + command + " -");
    const std::string condition =
        command.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + command;
    for (const std::string& option : options) {
      EXPECT_THAT(bash, Contains(option)) << command;
      EXPECT_TRUE(std::regex_search(zsh, std::regex("'" + option + "=?\\["))) << option;
      EXPECT_TRUE(std::regex_search(
          fish, std::regex("'" + condition + "'( -s [a-z])? -l " + option.substr(2) + " ")))
          << condition << " " << option;
    }
  }
}

TEST_F(DocumentationTest, BashCompletesCommandsValuesAndApplications) {
  EXPECT_THAT(offered("tutti d"), ElementsAre("devices", "doctor"));
  EXPECT_THAT(offered("tutti run --balancer s"),
              UnorderedElementsAre("sigmoid", "static", "single"));
  EXPECT_THAT(offered("tutti run --balancer = si"), UnorderedElementsAre("sigmoid", "single"));
  const std::vector<std::string> balancers = offered("tutti run --balancer ''");
  EXPECT_GE(balancers.size(), 7u);
  for (const std::string& name : balancers) {  // the options' table names all, too
    EXPECT_THAT(std::string(option_table()[0].accepted), HasSubstr(name));
  }
  EXPECT_THAT(offered("tutti devices --me"), ElementsAre("--measure"));
  for (const char* before : {"", "--", "--summary", "--devices 0", "--devices = 0 --"}) {
    EXPECT_THAT(offered(std::string("tutti run ") + before + " tru"), Contains("true")) << before;
  }
  // The application's own words are not ours.
  EXPECT_THAT(offered("tutti run true --bal"), Not(Contains("--balancer")));
  tree_.write("kernel.cl", "");
  EXPECT_THAT(offered("tutti explain " + (tree_ / "kern")), ElementsAre(tree_ / "kernel.cl"));
}

TEST_F(DocumentationTest, BadUsage) {
  EXPECT_EQ(shell(tool() + " documentation").code, 2);
  EXPECT_EQ(shell(tool() + " documentation html").code, 2);
}

}  // namespace
}  // namespace tutti
