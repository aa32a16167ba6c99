// SPDX-License-Identifier: Apache-2.0
// What `tutti` shows on terminals: colours, lines within the width, and nothing of others' names
// that a terminal would obey.
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/paragraph.h"
#include "tools_fixture.h"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kEscape = "\x1b";
// Clears the screen, by ESC and by a control of C1; breaks the line; is no UTF-8.
const std::string kHostile =
    "evil\x1b[2J\xc2\x9b"
    "3J\xff";

/// stdout and stderr on a terminal of so many columns.
Outcome on_terminal(const std::string& command, unsigned short columns) {
  Outcome outcome;
  winsize size{};
  size.ws_row = 25;
  size.ws_col = columns;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(126);
  }
  if (child < 0) return outcome;
  char block[4096];
  for (;;) {  // ends with EIO, when the last process has closed it
    const ssize_t count = read(terminal, block, sizeof block);
    if (count <= 0) break;
    outcome.output.append(block, static_cast<size_t>(count));
  }
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

/// Of the widest line, without colours, and without what later text replaces.
size_t columns_of(const std::string& output) {
  std::string text;
  for (size_t at = 0; at < output.size(); ++at) {
    if (output.compare(at, 2, "\x1b[") == 0) {
      at = std::min(output.find_first_of("mK", at), output.size());
    } else if (output[at] != '\r') {
      text += output[at];
    } else if (at + 1 < output.size() && output[at + 1] != '\n') {
      text.erase(text.find_last_of('\n') + 1);
    }
  }
  size_t most = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) most = std::max(most, text_columns(line));
  return most;
}

class TerminalTest : public ToolsTest {
 protected:
  void SetUp() override {
    ToolsTest::SetUp();
    for (const char* name : {"NO_COLOR", "COLUMNS"}) unsetenv(name);
    setenv("TERM", "xterm", 1);
    setenv("TUTTI_LOG", "off", 1);
    setenv("TUTTI_VENDORS", (tree_ / "stub.so").c_str(), 1);
    setenv("TUTTI_TEST_STUB", "devices:2 pci-bus:59", 1);
  }
  void TearDown() override {
    unsetenv("TUTTI_LOG");
    setenv("TERM", "dumb", 1);
  }
};

TEST_F(TerminalTest, DevicesInColoursWhereTheyAreWanted) {
  const std::string devices = "TUTTI_DEVICES=0 " + tool() + " devices";
  const Outcome coloured = on_terminal(devices, 120);
  EXPECT_EQ(coloured.code, 0);
  EXPECT_THAT(coloured.output, AllOf(HasSubstr("\x1b[32mused\x1b[0m"),
                                     HasSubstr("\x1b[33mleft out: \x1b[0mnot in")));
  EXPECT_THAT(on_terminal("NO_COLOR=1 " + devices, 120).output, Not(HasSubstr(kEscape)));
  EXPECT_THAT(on_terminal("NO_COLOR= " + devices, 120).output, HasSubstr(kEscape));
  EXPECT_THAT(on_terminal("TERM=dumb " + devices, 120).output, Not(HasSubstr(kEscape)));
  const Outcome piped = shell(devices);
  EXPECT_THAT(piped.output, AllOf(Not(HasSubstr(kEscape)), HasSubstr("used")));
  EXPECT_THAT(piped.output,
              AllOf(HasSubstr("  0  stub-device #1\n     Stub, cpu, 2 compute units at 1024 MHz, "
                              "1024 MiB, local 32 KiB\n     OpenCL 3.0 stub, driver stub\n"
                              "     PCI fff0:3b:00.0\n     used, the primary: the Tutti device "
                              "shows its features and limits\n"),
                    HasSubstr("  1  stub-device #2\n")));
}

TEST_F(TerminalTest, NoLineIsWiderThanTheTerminal) {
  const std::string name = "a-device-whose-name-is-longer-than-any-terminal-that-shows-it-is-wide";
  setenv("TUTTI_TEST_STUB", ("devices:2 device:" + name).c_str(), 1);
  tree_.write("k.cl",
              "kernel void k(global int* first, global const int* second, int n) {\n"
              "  for (int i = 0; i < n; ++i) first[second[i]] = first[get_global_id(0) + n] + i;\n"
              "}\n");
  install_icd("etc/OpenCL/vendors");
  const std::string explain =
      "TUTTI_COMPILER=" TUTTI_TEST_COMPILER " " TUTTI_TEST_TOOL " explain " + (tree_ / "k.cl");
  for (const unsigned short columns : {50, 80, 120}) {
    for (const std::string& command :
         {tool() + " devices", tool() + " doctor", tool() + " config", tool() + " --help",
          tool() + " simulate --devices 2", explain}) {
      const Outcome shown = on_terminal(command, columns);
      EXPECT_LE(columns_of(shown.output), columns) << command << "\n" << shown.output;
      EXPECT_GT(columns_of(shown.output), 20u) << command << "\n" << shown.output;
    }
    const Outcome told =
        shell("COLUMNS=" + std::to_string(columns) + " " + tool() + " devices");  // no terminal
    EXPECT_LE(columns_of(told.output), columns) << told.output;
  }
  EXPECT_THAT(shell(tool() + " devices").output, HasSubstr(name + " #2\n"));
}

TEST_F(TerminalTest, NamesOfDevicesAreNotObeyed) {
  setenv("TUTTI_TEST_STUB", ("device:" + kHostile + " driver:" + kHostile).c_str(), 1);
  for (const char* log : {"off", "debug"}) {
    setenv("TUTTI_LOG", log, 1);
    for (const char* command : {" devices", " doctor", " complete -- run --devices \"\""}) {
      const Outcome shown = shell(tool() + command);
      EXPECT_THAT(shown.output, AllOf(Not(HasSubstr(kEscape)), Not(HasSubstr("\xc2\x9b")),
                                      Not(HasSubstr("\xff")), HasSubstr("evil?[2J?3J?")))
          << command;
    }
  }
  setenv("TUTTI_LOG", "off", 1);
  const Outcome shown = shell(tool() + " devices --json");
  EXPECT_THAT(shown.output, AllOf(Not(HasSubstr(kEscape)), Not(HasSubstr("\xc2\x9b"))));
  const auto json = nlohmann::json::parse(shown.output);
  EXPECT_EQ(json["devices"][0]["name"],
            "evil\x1b[2J\xc2\x9b"
            "3J\xef\xbf\xbd");  // as it was
}

TEST_F(TerminalTest, NamesOfFilesAndKernelsAreNotObeyed) {
  install_icd("etc/OpenCL/vendors");
  const std::string file = "evil\x1b[2J.cl";
  tree_.write(file, "kernel void k(global int* x) { x[0] = 1; }\n");
  const std::string in_tree = "cd " + tree_.path() + " && ";
  const std::string explain =
      in_tree + "TUTTI_COMPILER=" TUTTI_TEST_COMPILER " " TUTTI_TEST_TOOL " explain ";
  tree_.write(
      "trace.json",
      R"([{"ph":"M","pid":2,"tid":0,"name":"tutti_trace","args":{"version":1,"program":"a\u001b[2Jpp","process":7}},
{"ph":"M","pid":2,"tid":0,"name":"tutti_device","args":{"device":0,"row":10,"name":"D\u001b[2J","platform":"P","shares_host_memory":true}},
{"ph":"X","pid":2,"tid":1,"cat":"decision","name":"whole w","ts":12.0,"dur":1.0,"args":{"command":2,"kernel":"w\u009b2J","split":false,"mode":"whole","reason":"r\u001b[2J","device":0,"items":10,"global":[10],"candidates":[0]}}
])");
  for (const std::string& command :
       {explain + "'" + file + "'", explain + "--brief '" + file + "'",
        explain + "--json '" + file + "'", explain + "'no\x1b[2J.cl'",
        in_tree + tool() + " report --text trace.json",
        in_tree + tool() + " report --json trace.json",
        in_tree + tool() + " report --text -o t.txt trace.json && cat t.txt",
        in_tree + tool() + " report '\x1b[2J'", tool() + " '\x1b[2J'", tool() + " run '\x1b[2J'",
        tool() + " record show '\x1b[2J'", tool() + " replay '\x1b[2J'",
        "TUTTI_BALANCER='\x1b[2J' " + tool() + " config",
        "TUTTI_BALANCER='\x1b[2J' " + tool() + " config --json"}) {
    const Outcome shown = shell(command);
    EXPECT_THAT(shown.output,
                AllOf(Not(HasSubstr(kEscape)), Not(HasSubstr("\xc2\x9b")), HasSubstr("[2J")))
        << command;
  }
}

}  // namespace
}  // namespace tutti
