// SPDX-License-Identifier: Apache-2.0
// The commands of `tutti`: each is defined in a file of its own, command_NAME.cpp, and listed in
// main.cpp. Everything is called from the main thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tutti::tools {

/// Exit codes of our own; otherwise `run` gives the application's.
inline constexpr int kFailed = 1;
inline constexpr int kBadUsage = 2;
inline constexpr int kSetUpBroken = 125;  // as env(1): we failed, not the application
inline constexpr int kCannotExecute = 126;
inline constexpr int kNotFound = 127;

/// What a command has added to the command line. It owns its options.
struct CommandLine {
  std::function<int()> run;  // once they are parsed; the exit code
  /// Takes out of the words, of which the first is the command's name, what is not to be parsed.
  /// May be empty.
  std::function<void(std::vector<std::string>& words)> take_words{};
};

struct Command {
  const char* name;
  const char* description;
  /// Adds the options to `command`, which lives longer than what is returned.
  CommandLine (*add)(CLI::App& command);
  bool sees_all = false;  // it needs the options of all other commands, too
  /// Does what words without any option ask for, which takes no parser; absent where they are not
  /// such. May be null.
  std::optional<int> (*without_options)(const std::vector<std::string>& words) = nullptr;
};

extern const Command kRunCommand, kDevicesCommand, kDoctorCommand, kConfigCommand, kReportCommand,
    kTopCommand, kModelCommand, kExplainCommand, kSimulateCommand, kDocumentationCommand,
    kRecordCommand, kReplayCommand;

/// Variables of the driver that the command line sets; an empty value leaves the environment's.
using Settings = std::map<std::string, std::string>;
/// Puts them into this process's environment.
void set_environment(const Settings& settings);

/// Replaces this process by the application, so that it sees Tutti alone; returns on failure only:
/// also where a balancer or a device is named that does not exist, or a file would be overwritten.
int run_application(const Settings& settings, const std::vector<std::string>& application);

}  // namespace tutti::tools
