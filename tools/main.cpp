// SPDX-License-Identifier: Apache-2.0
// The command `tutti`: runs applications on the virtual device, shows what it consists of, explains
// what it does with kernels.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>

#include "base/config.h"
#include "base/output_file.h"
#include "tools/commands.h"
#include "tools/completion.h"
#include "tools/documentation.h"
#include "tools/settings.h"
#include "tools/usage.h"

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

constexpr char kExplainHelp[] =
    "Options of OpenCL's compiler are given as to clBuildProgram: -D NAME=VALUE -I FOLDER\n"
    "-cl-std=CL2.0 -cl-fast-relaxed-math ...\n"
    "Values of vectors: NAME=1,2,3,4; of a structure's field that is BYTES from its begin:\n"
    "NAME@BYTES=VALUE.\n"
    "What is not given is assumed, and the output says so: a global size, integers of that size,\n"
    "buffers that are large enough and share no memory.\n"
    "Exit code: 0, also for kernels that stay whole; 1 when the file does not compile; 2 for an\n"
    "unknown kernel or argument or other bad usage.";

CLI::App* add_explain(CLI::App& app, tutti::tools::ExplainOptions& options) {
  CLI::App* command = app.add_subcommand(
      "explain", "Show which kernels of a file are split, how, what they touch, and why not");
  command->footer(kExplainHelp);
  command->add_option("FILE", options.files, "OpenCL C source; - for standard input")->required();
  const auto many = [&](const char* name, std::vector<std::string>& values, const char* type,
                        const char* help) {
    return command->add_option(name, values, help)
        ->type_name(type)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
  };
  command->add_flag("--brief", options.brief, "One line per kernel");
  many("--kernel", options.kernels, "NAME", "Only this kernel; may be repeated")
      ->check(tutti::tools::completes(tutti::tools::Completion::kKernel));
  command->add_option("--global", options.global, "Global size")->type_name("X[,Y[,Z]]");
  command->add_option("--local", options.local, "Local size")->type_name("X[,Y[,Z]]");
  command->add_option("--offset", options.offset, "Global offset")->type_name("X[,Y[,Z]]");
  many("--arg", options.arguments, "NAME=VALUE", "A scalar's value, or a buffer's size in bytes");
  command->add_flag("--json", options.json, "As JSON");
  return command;
}

CLI::App* add_simulate(CLI::App& app, tutti::tools::SimulateOptions& options) {
  CLI::App* command =
      app.add_subcommand("simulate", "Try balancers out on simulated devices, up to 1024");
  command->footer(
      "A scenario's keys are the options' names; [[device]] tables: docs/balancers.md.");
  command->add_option("SCENARIO", options.scenario, "TOML file; the options win over it")
      ->check(CLI::ExistingFile);
  command->add_option("--devices", options.devices, "Numbers of devices, one scenario each")
      ->type_name("N[,N...]");
  command->add_option("--balancers", options.balancers, "As TUTTI_BALANCER (default: all)")
      ->type_name("NAME[:X...],...");
  command->add_option("--slices", options.slices, "Slices of the launch per device");
  command->add_option("--load", options.load, "regular, middle or ramp: where slices are costly");
  command->add_option("--noise", options.noise, "Spread of the slices' costs, 0 to 1");
  command->add_option("--spread", options.spread, "How much faster devices may be than others");
  command->add_option("--error", options.error, "By which factor known speeds may be wrong");
  command->add_option("--rate", options.rate, "Slices per second of a device");
  command->add_option("--startup", options.startup, "Seconds that each package costs");
  command->add_option("--floor", options.floor, "Seconds that the shortest package takes");
  command->add_option("--transfer", options.transfer, "Seconds of transfer per slice");
  command->add_option("--min-package", options.min_package, "Slices that fill a device");
  command->add_option("--in-flight", options.in_flight, "Packages of a device at a time");
  command->add_option("--busy-watts", options.busy_watts, "Power of a device that computes");
  command->add_option("--idle-watts", options.idle_watts, "Power of a device that waits");
  command->add_option("--objective", options.objective,
                      "Which devices take part, as TUTTI_OBJECTIVE: time, energy or edp");
  command->add_option("--fail", options.failures, "A device that fails; may be repeated")
      ->type_name("DEVICE@SECONDS");
  command->add_option("--runs", options.runs, "Runs, of which the means are printed");
  command->add_option("--seed", options.seed, "Of everything that is drawn at random");
  command->add_flag("--json", options.json, "As JSON");
  return command;
}

const CLI::App* add_config(CLI::App& app, tutti::tools::ConfigOptions& options) {
  CLI::App* command = app.add_subcommand("config", "Show every option and where its value is from");
  auto* json = command->add_flag("--json", options.json, "As JSON");
  auto* markdown = command->add_flag("--markdown", options.markdown,
                                     "The table of all options, as in docs/options.md");
  auto* toml = command->add_flag("--toml", options.toml,
                                 "A configuration file with every key, commented out");
  json->excludes(markdown)->excludes(toml);
  markdown->excludes(toml);
  return command;
}

const CLI::App* add_top(CLI::App& app, tutti::tools::TopOptions& options) {
  CLI::App* command =
      app.add_subcommand("top", "Show what running processes do with their devices, live");
  command->footer(
      "Busy: the share of the time with something of the process in the device's queues. Watts "
      "are\n"
      "of the whole device or package. Processes of this user that run with TUTTI_TOP=on (the\n"
      "default) are seen.");
  command->add_flag("--once", options.once, "Print one interval's numbers and end");
  command->add_flag("--json", options.json, "The same as JSON");
  command->add_option("--interval", options.interval, "Seconds between two pictures")
      ->check(CLI::Range(0.05, 3600.0));
  return command;
}

// For the build and for packagers: not in the help.
struct DocumentationOptions {
  std::string form, folder;
};
CLI::App* add_documentation(CLI::App& app, DocumentationOptions& options) {
  CLI::App* command = app.add_subcommand("documentation", "Print a manual page or completions");
  command->group("");
  command->add_option("FORM", options.form, "man, bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"man", "bash", "zsh", "fish"}));
  command
      ->add_option("FOLDER", options.folder, "Write all manual pages to it, in place of tutti(1)")
      ->check(CLI::ExistingDirectory);
  return command;
}

int print_documentation(const CLI::App& app, const DocumentationOptions& options) {
  using namespace tutti::tools;
  if (options.form != "man") {
    fmt::print("{}", options.form == "bash"  ? bash_completion()
                     : options.form == "zsh" ? zsh_completion()
                                             : fish_completion());
    return 0;
  }
  const std::vector<ManualPage> pages = manual_pages(app);
  if (options.folder.empty()) {
    fmt::print("{}", pages.front().text);
    return 0;
  }
  for (const ManualPage& page : pages) {
    std::ofstream file(options.folder + "/" + page.file, std::ios::binary);
    file << page.text;
    file.close();
    if (!file) {
      fmt::print(stderr, "tutti documentation: cannot write {}/{}\n", options.folder, page.file);
      return kFailed;
    }
  }
  return 0;
}

CLI::App* add_record(CLI::App& app, tutti::tools::RecordShowOptions& options, std::string& output) {
  CLI::App* command = app.add_subcommand(
      "record", "Record an application's OpenCL calls, or show what was recorded");
  command->require_subcommand(0, 1);
  command->footer("After the options: -- APP [ARGS...]");
  command->add_option("-o,--output", output,
                      "The record's folder, which must be new or empty; else APP.record");
  CLI::App* show = command->add_subcommand("show", "List the calls");
  show->add_option("FOLDER", options.folder, "A record")
      ->required()
      ->check(tutti::tools::completes(tutti::tools::Completion::kRecord));
  show->add_option("--source", options.source, "Only the source of the program of this number");
  show->add_flag("--sources", options.sources, "Only the list of programs that have a source");
  return command;
}

const CLI::App* add_replay(CLI::App& app, tutti::tools::ReplayOptions& options) {
  CLI::App* command = app.add_subcommand(
      "replay", "Run a record without its application, compare the results, report times");
  command->footer(
      "Exit code: 0 when all that the application had read is the same; 1 when something differs "
      "or\n"
      "the record is damaged; 2 when there is no record.");
  command->add_option("FOLDER", options.folder, "A record, made by TUTTI_RECORD=FOLDER")
      ->required()
      ->check(tutti::tools::completes(tutti::tools::Completion::kRecord));
  tutti::tools::add_settings(*command, {"devices", "balancer", "summary"}, options.settings);
  command
      ->add_option("--tolerance", options.tolerance,
                   "Data that differ, taken as 32-bit floats, may do so by this relative error")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--json", options.json, "As JSON");
  return command;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tutti::tools;
  CLI::App app("Tutti: all OpenCL devices of a machine as one device", "tutti");
  app.set_help_all_flag("--help-all", "Print this help and that of all commands and exit");
  app.set_version_flag("--version", "tutti " TUTTI_VERSION);
  app.require_subcommand(1);
  app.formatter(help_formatter());
  app.footer(options_help);

  RunOptions run_options;
  CLI::App* run_command =
      app.add_subcommand("run", "Run an application so that it sees Tutti alone");
  run_command->footer(
      "After the options: [--] APP [ARGS...]\n"
      "Exit code: the application's; 125 when Tutti is not complete, 126 when the\n"
      "application cannot be executed, 127 when it is not found, 2 for bad usage.");
  // Never parsed: what follows it is not ours.
  run_command->add_option("APP", run_options.command, "The application, and its arguments")
      ->check(completes(Completion::kApplication));
  add_settings(*run_command,
               {"devices", "balancer", "summary", "trace", "verify", "split", "objective", "log"},
               run_options.settings);

  CLI::App* devices_command = app.add_subcommand(
      "devices", "Show the vendor drivers and devices, used or left out and why");
  DevicesOptions devices_options;
  devices_command->add_flag("--json", devices_options.json, "As JSON");
  devices_command->add_flag("--measure", devices_options.measure,
                            "Measure each device: transfers, launch latency, peak arithmetic");

  CLI::App* doctor_command = app.add_subcommand(
      "doctor", "Show what keeps applications from finding Tutti, and what helps");
  bool doctor_json = false;
  doctor_command->add_flag("--json", doctor_json, "As JSON");
  doctor_command->footer(
      "Exit code: 0 when an application finds the Tutti device and can run kernels on it, and\n"
      "there is no other problem; else 1.");

  ConfigOptions config_options;
  const CLI::App* config_command = add_config(app, config_options);

  ReportOptions report_options;
  CLI::App* report_command = app.add_subcommand(
      "report", "Make a page of a trace: what ran when and where, why, and how well");
  auto* report_trace = report_command->add_option("TRACE", report_options.trace,
                                                  "What tutti run --trace has written");
  report_command
      ->add_option("-o,--output", report_options.output,
                   "The page's file, - for stdout; else TRACE's name with .html, beside it")
      ->check([](const std::string& name) { return tutti::output_name_problem(name, true); });
  auto* report_text = report_command->add_flag("--text", report_options.text, "As text, on stdout");
  report_command->add_flag("--json", report_options.json, "The numbers as JSON, on stdout")
      ->excludes(report_text);
  report_command
      ->add_option("--compare", report_options.compare,
                   "Two traces, or summaries in JSON, side by side: as text, or with -o as a page")
      ->type_name("A B")
      ->expected(2)
      ->excludes(report_trace);

  TopOptions top_options;
  const CLI::App* top_command = add_top(app, top_options);

  ModelOptions model_options;
  CLI::App* model_command =
      app.add_subcommand("model", "Show or forget what is remembered of kernels' speeds");
  model_command->require_subcommand(1);
  CLI::App* show_model = model_command->add_subcommand("show", "Every kernel on every device");
  show_model->add_flag("--json", model_options.json, "As JSON");
  const CLI::App* clear_model = model_command->add_subcommand("clear", "Forget all");

  ExplainOptions explain_options;
  const CLI::App* explain_command = add_explain(app, explain_options);

  SimulateOptions simulate_options;
  const CLI::App* simulate_command = add_simulate(app, simulate_options);
  DocumentationOptions documentation_options;
  const CLI::App* documentation_command = add_documentation(app, documentation_options);

  RecordShowOptions record_show_options;
  RecordOptions record_options;
  CLI::App* record_command = add_record(app, record_show_options, record_options.folder);
  ReplayOptions replay_options;
  const CLI::App* replay_command = add_replay(app, replay_options);

  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "complete") {  // for the shells: not in the help
    return print_completions(app, {words.begin() + 1, words.end()});
  }
  if (!words.empty() && words.front() == "help") {  // "help explain" is "explain --help"
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  // What follows the options is the application's, and not ours to parse.
  const auto take_application = [&words](const CLI::App& command) {
    const size_t first = std::min(application_start(command, words), words.size());
    const bool mark = first < words.size() && words[first] == "--";
    const auto begin = words.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<std::string> application(begin + (mark ? 1 : 0), words.end());
    words.erase(begin, words.end());
    return application;
  };
  if (!words.empty() && words.front() == "run") {
    run_options.command = take_application(*run_command);
  }
  if (words.size() > 1 && words.front() == "record" && words[1].starts_with("-")) {
    record_options.command = take_application(*record_command);
  }
  if (!words.empty() && words.front() == "explain") {
    explain_options.build_options = take_build_options(words);
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as CLI11 takes them
  } catch (const CLI::ParseError& error) {
    const std::string unknown = unknown_word(app, words);  // also where help is asked for
    if (unknown.empty()) return app.exit(error) == 0 ? 0 : kBadUsage;
    fmt::print(stderr, "{}\n", unknown);
    return kBadUsage;
  }
  if (documentation_command->parsed()) return print_documentation(app, documentation_options);
  if (config_command->parsed()) return config(config_options);
  if (doctor_command->parsed()) return doctor(doctor_json);
  if (devices_command->parsed()) return devices(devices_options);
  if (report_command->parsed()) return report(report_options);
  if (top_command->parsed()) return top(top_options);
  if (model_command->parsed()) {
    model_options.clear = clear_model->parsed();
    return model(model_options);
  }
  if (explain_command->parsed()) return explain(explain_options);
  if (simulate_command->parsed()) return simulate(simulate_options);
  if (!record_show_options.folder.empty()) return record_show(record_show_options);
  if (record_command->parsed()) return record_run(record_options);
  if (replay_command->parsed()) return replay(replay_options);
  if (run_options.command.empty()) {
    fmt::print(stderr,
               "tutti run: no application is named\n"
               "Usage: tutti run [OPTIONS] [--] APP [ARGS...]\n");
    return kBadUsage;
  }
  return run(run_options);
}
