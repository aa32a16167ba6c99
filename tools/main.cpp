// SPDX-License-Identifier: Apache-2.0
// The command `tutti`: runs applications on the virtual device, shows what it consists of, explains
// what it does with kernels.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <new>
#include <sstream>

#include "base/config.h"
#include "tools/commands.h"
#include "tools/completion.h"
#include "tools/terminal.h"
#include "tools/usage.h"

namespace {

using namespace tutti::tools;

/// In the order of the help.
constexpr const Command* kCommands[] = {&kRunCommand,           &kDevicesCommand, &kDoctorCommand,
                                        &kConfigCommand,        &kReportCommand,  &kTopCommand,
                                        &kModelCommand,         &kExplainCommand, &kSimulateCommand,
                                        &kDocumentationCommand, &kRecordCommand,  &kReplayCommand};

std::string options_help() {
  std::string text =
      "Environment (the same keys, lower case and without TUTTI_, go into "
      "~/.config/tutti/tutti.toml):\n";
  for (const tutti::OptionInfo& option : tutti::option_table()) {
    text +=
        fmt::format("  {:<18}  {}\n{:22}({})\n", option.variable, option.help, "", option.accepted);
  }
  return text;
}

/// The one command whose options are enough for the words; null: all are needed. An application is
/// not to wait for the options of commands that are not called.
const Command* command_alone(const std::vector<std::string>& words) {
  if (words.empty() || std::count(words.begin(), words.end(), "--help-all") > 0) return nullptr;
  for (const Command* command : kCommands) {
    if (words.front() == command->name) return command->sees_all ? nullptr : command;
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const std::string first = words.empty() ? std::string() : words.front();
  if (first == "help") {  // "help explain" is "explain --help"
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  const Command* const alone = command_alone(words);
  if (alone && alone->without_options) {
    if (const std::optional<int> code = alone->without_options(words)) return *code;
  }
  CLI::App app("Tutti: all OpenCL devices of a machine as one device", "tutti");
  app.set_help_all_flag("--help-all", "Print this help and that of all commands and exit");
  app.set_version_flag("--version", "tutti " TUTTI_VERSION);
  app.require_subcommand(1);
  app.formatter(help_formatter());
  app.footer(options_help);
  std::vector<std::pair<const CLI::App*, CommandLine>> added;
  for (const Command* command : kCommands) {
    if (alone && command != alone) continue;
    CLI::App* const line = app.add_subcommand(command->name, command->description);
    added.emplace_back(line, command->add(*line));
  }
  if (first == "complete") {  // for the shells: not in the help
    return print_completions(app, {words.begin() + 1, words.end()});
  }
  for (const auto& [line, command] : added) {
    if (!words.empty() && line->get_name() == words.front() && command.take_words) {
      command.take_words(words);
    }
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as CLI11 takes them
  } catch (const CLI::ParseError& error) {
    const std::string unknown = unknown_word(app, words);  // also where help is asked for
    if (!unknown.empty()) {
      put_error(unknown + "\n");
      return kBadUsage;
    }
    std::ostringstream out, problem;
    const int code = app.exit(error, out, problem);
    put(out.str());
    put_error(problem.str());
    return code == 0 ? 0 : kBadUsage;
  }
  try {
    for (const auto& [line, command] : added) {
      if (line->parsed()) return command.run();
    }
  } catch (const std::bad_alloc&) {
    put_error("tutti: there is not enough memory for this\n");
    return kFailed;
  } catch (const std::exception& error) {
    put_error(fmt::format("tutti: {}\n", error.what()));
    return kFailed;
  }
  return kBadUsage;
}
