// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/config.h"
#include "platform/composition_devices.h"
#include "tools/commands.h"
#include "tools/completion.h"
#include "tools/run_environment.h"
#include "tools/settings.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

int failed(int code, const std::string& message) {
  complain("run", message);
  return code;
}

std::string from(const std::string& origin) {
  return origin.starts_with('/') ? " (" + origin + ")" : std::string();
}

/// What is wrong with the devices that the options name. Vendors' drivers are loaded for it.
std::string find_device_problem(const Config& config) {
  const std::vector<std::string> problems = platform::selection_problems(config);
  if (!problems.empty()) return problems.front() + from(config.devices.origin);
  if (!config.balancer.value.starts_with("single:") && config.primary.is_default()) return {};
  std::vector<platform::DeviceReport> report;
  const auto kept = platform::choose_devices(config, report);
  const auto spec = platform::chosen_balancer(config, report);
  if (!spec) return spec.error().message + from(config.balancer.origin);
  const auto primary = platform::chosen_primary(config, report);
  return primary ? std::string() : primary.error().message + from(config.primary.origin);
}

/// The same, found by a child process: the application starts without the vendors' drivers, their
/// threads and what they print. Empty where the child does not answer; the driver will say why.
std::string device_problem(const Config& config) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int stream : {0, 1, 2}) dup2(nowhere, stream);
    const std::string problem = find_device_problem(config);
    (void)!write(ends[1], problem.data(), problem.size());
    _exit(0);  // no driver's destructors
  }
  close(ends[1]);
  std::string answer;
  if (child > 0) {
    std::array<char, 1024> block{};
    for (;;) {
      const ssize_t count = read(ends[0], block.data(), block.size());
      if (count > 0) answer.append(block.data(), static_cast<size_t>(count));
      if (count == 0 || (count < 0 && errno != EINTR)) break;
    }
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(ends[0]);
  return answer;
}

/// Names of balancers and devices that do not exist. The driver would warn and go on with others;
/// who starts an application by hand wants to be asked.
std::string name_problem(const Config& config) {
  if (const auto spec = scheduler::parse_balancer(config.balancer.value); !spec) {
    return spec.error().message + from(config.balancer.origin);
  }
  const bool names_devices =
      !config.devices.value.empty() || config.balancer.value.starts_with("single:");
  return names_devices ? device_problem(config) : std::string();
}

}  // namespace

void set_environment(const Settings& settings) {
  for (const auto& [name, value] : settings) {
    if (!value.empty()) setenv(name.c_str(), value.c_str(), 1);
  }
}

int run_application(const Settings& settings, const std::vector<std::string>& application) {
  const auto alone = show_tutti_alone();
  if (!alone) return failed(kSetUpBroken, alone.error().message);
  set_environment(settings);
  const Config config = load_config(ConfigSources::of_process()).config;
  for (const std::string& problem : {name_problem(config), output_problem(config, application)}) {
    if (!problem.empty()) return failed(kBadUsage, problem);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : application) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  return failed(error == ENOENT ? kNotFound : kCannotExecute,
                fmt::format("{}: {}", arguments[0], strerror(error)));
}

namespace {

struct RunOptions {
  Settings settings;
  std::vector<std::string> application;
};

/// An application that is waited for starts a third of a millisecond earlier.
std::optional<int> run_without_options(const std::vector<std::string>& words) {
  const size_t first = words.size() > 1 && words[1] == "--" ? 2 : 1;
  if (words.size() <= first || (first == 1 && words[1].starts_with("-"))) return std::nullopt;
  return run_application({}, {words.begin() + static_cast<std::ptrdiff_t>(first), words.end()});
}

CommandLine add_run(CLI::App& command) {
  const auto options = std::make_shared<RunOptions>();
  command.footer(
      "After the options: [--] APP [ARGS...]\n"
      "Exit code: the application's; 125 when Tutti is not complete, 126 when the\n"
      "application cannot be executed, 127 when it is not found, 2 for bad usage.");
  // Never parsed: what follows it is not ours.
  command.add_option("APP", options->application, "The application, and its arguments")
      ->check(completes(Completion::kApplication));
  add_settings(command,
               {"devices", "balancer", "summary", "trace", "verify", "split", "objective", "log"},
               options->settings);
  return {[options] {
            if (!options->application.empty()) {
              return run_application(options->settings, options->application);
            }
            return failed(kBadUsage,
                          "no application is named\nUsage: tutti run [OPTIONS] [--] APP [ARGS...]");
          },
          [options, &command](std::vector<std::string>& words) {
            options->application = take_application(command, words);
          }};
}

}  // namespace

const Command kRunCommand{"run", "Run an application so that it sees Tutti alone", add_run, false,
                          run_without_options};

}  // namespace tutti::tools
