// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/output_file.h"
#include "base/progress_line.h"
#include "tools/commands.h"
#include "tools/report_compare.h"
#include "tools/report_output.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

struct ReportOptions {
  std::vector<std::string> compare;  // two traces or summaries; else none
  bool json = false;
  std::string trace;   // the file that TUTTI_TRACE named
  std::string output;  // empty: the trace's name with .html, beside it; "-": stdout
  bool text = false;   // for a terminal, and to stdout when no output is named
};

int complaint(const std::string& message, int code = kFailed) {
  tools::complain("report", message);
  return code;
}

/// To the file, or to stdout ("-"). `text` is for people, the rest for programs.
int write_report(const std::string& output, const std::string& content, bool text) {
  if (output == "-") {
    if (text) {
      put(content);
    } else {
      fmt::print("{}", content);
    }
    if (std::fflush(stdout) != 0) return complaint(std::strerror(errno));
    return 0;
  }
  // As other tools do: a pipe that somebody names has its reader.
  const Status written = write_output(output, text ? plain(content) : content, Waiting::kAccepted);
  if (!written) return complaint(fmt::format("{}: {}", output, written.error().message));
  return 0;
}

/// Why the page must not go there; empty: it may.
std::string refuses(const std::string& output, const std::vector<std::string>& inputs) {
  const std::string reason = overwrites_input(output, inputs);
  if (!reason.empty()) return reason + "; name another file after -o";
  return overwrites_other(output,
                          {Written::kReportPage, Written::kReportJson, Written::kReportText});
}

int compare(const ReportOptions& options) {
  const std::string output = options.output.empty() ? "-" : options.output;
  if (const std::string refused = refuses(output, options.compare); !refused.empty()) {
    return complaint(refused, kBadUsage);
  }
  ProgressLine progress;
  std::vector<Run> runs;
  for (const std::string& file : options.compare) {
    progress.show("reading " + file);
    auto run = read_run(file);
    progress.end();
    if (!run) return complaint(run.error().message);
    runs.push_back(std::move(*run));
  }
  const Comparison comparison = compare_runs(std::move(runs[0]), std::move(runs[1]));
  const bool page = !options.output.empty() && !options.text && !options.json;
  const int code = write_report(output,
                                options.json ? comparison_json(comparison)
                                : page       ? comparison_page(comparison)
                                             : comparison_text(comparison),
                                !options.json && !page);
  if (code == 0 && output != "-") say("{}\n", output);
  return code;
}

int report(const ReportOptions& options) {
  if (!options.compare.empty()) return compare(options);
  if (options.trace.empty()) {
    return complaint(
        "no trace is named\nUsage: tutti report [OPTIONS] TRACE, or tutti report "
        "--compare A B",
        kBadUsage);
  }
  ProgressLine progress;
  progress.show("reading " + options.trace);
  const Result<TraceFile> trace = read_trace(options.trace);
  progress.end();
  if (!trace) return complaint(trace.error().message);
  progress.show("counting");
  const ReportNumbers numbers = report_numbers(*trace);
  progress.end();
  const std::filesystem::path source(options.trace);
  std::string output = options.output;
  if (output.empty()) {
    output = options.text || options.json
                 ? "-"
                 : std::filesystem::path(source).replace_extension(".html").string();
  }
  if (const std::string refused = refuses(output, {options.trace}); !refused.empty()) {
    return complaint(refused, kBadUsage);
  }
  const int code =
      write_report(output,
                   options.json   ? report_json(*trace, numbers)
                   : options.text ? report_text(*trace, numbers)
                                  : report_page(*trace, numbers, source.filename().string()),
                   options.text);
  if (code != 0 || output == "-") return code;
  if (!trace->complete) {
    complaint(options.trace +
              " breaks off: the application crashed, was killed, or still runs. The report is of "
              "what is there.");
  }
  if (trace->lost > 0) {
    complaint(fmt::format("{} events of {} are lost", trace->lost, options.trace));
  }
  say("{}\n", output);
  return 0;
}

CommandLine add_report(CLI::App& command) {
  const auto options = std::make_shared<ReportOptions>();
  auto* report_trace =
      command.add_option("TRACE", options->trace, "What tutti run --trace has written");
  command
      .add_option("-o,--output", options->output,
                  "The page's file, - for stdout; else TRACE's name with .html, beside it")
      ->check([](const std::string& name) { return output_name_problem(name, true); });
  auto* report_text = command.add_flag("--text", options->text, "As text, on stdout");
  command.add_flag("--json", options->json, "The numbers as JSON, on stdout")
      ->excludes(report_text);
  command
      .add_option("--compare", options->compare,
                  "Two traces, or summaries in JSON, side by side: as text, or with -o as a page")
      ->type_name("A B")
      ->expected(2)
      ->excludes(report_trace);
  return {[options] { return report(*options); }};
}

}  // namespace

const Command kReportCommand{
    "report", "Make a page of a trace: what ran when and where, why, and how well", add_report};

}  // namespace tutti::tools
