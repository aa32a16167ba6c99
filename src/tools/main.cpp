// SPDX-License-Identifier: Apache-2.0
// The command `tutti`: runs applications on the virtual device, shows what it consists of.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "platform/config.h"
#include "tools/commands.h"

namespace {

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

// Where the application begins among the arguments of `run` (index 2 and on): at the first that is
// neither an option nor an option's value, or after "--". What follows is not ours to parse.
int application_start(const CLI::App& run_command, int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--" || !argument.starts_with("-")) return i;
    const CLI::Option* option = run_command.get_option_no_throw(argument);
    if (option && option->get_items_expected_max() > 0) ++i;  // its value is the next one
  }
  return argc;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tutti::tools;
  CLI::App app("Tutti: all OpenCL devices of a machine as one device", "tutti");
  app.set_version_flag("--version", "tutti " TUTTI_VERSION);
  app.require_subcommand(1);
  app.footer(options_help);

  RunOptions run_options;
  CLI::App* run_command =
      app.add_subcommand("run", "Run an application so that it sees Tutti alone");
  run_command->footer("After the options: [--] APP [ARGS...]");
  run_command->add_option("--devices", run_options.devices,
                          "Which devices take part, as TUTTI_DEVICES");
  run_command->add_option("--balancer", run_options.balancer,
                          "How work is shared out, as TUTTI_BALANCER");
  // A flag, so that only --summary=FILE takes a value: the next word is the application.
  run_command->add_flag("--summary{-}", run_options.summary,
                        "Summary at exit on stderr, or with --summary=FILE.json as JSON in a file");

  CLI::App* devices_command = app.add_subcommand(
      "devices", "Show the vendor drivers and devices, used or left out and why");
  bool json = false;
  devices_command->add_flag("--json", json, "As JSON");

  int own_arguments = argc;
  if (argc > 1 && std::string_view(argv[1]) == "run") {
    own_arguments = application_start(*run_command, argc, argv);
    int first = own_arguments;
    if (first < argc && std::string_view(argv[first]) == "--") ++first;
    run_options.command.assign(argv + first, argv + argc);
  }
  try {
    app.parse(own_arguments, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  if (devices_command->parsed()) return devices(json);
  if (run_options.command.empty()) {
    fmt::print(stderr,
               "tutti run: no application is named\n"
               "Usage: tutti run [OPTIONS] [--] APP [ARGS...]\n");
    return kBadUsage;
  }
  return run(run_options);
}
