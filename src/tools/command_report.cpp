// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "platform/output_file.h"
#include "platform/progress_line.h"
#include "tools/commands.h"
#include "tools/report_output.h"

namespace tutti::tools {
namespace {

int complain(const std::string& message, int code = kFailed) {
  fmt::print(stderr, "tutti report: {}\n", message);
  return code;
}

/// An error's text, or empty.
std::string write_file(const std::string& path, const std::string& content) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wb"), std::fclose);
  if (!file) return std::strerror(errno);
  errno = 0;
  if (std::fwrite(content.data(), 1, content.size(), file.get()) != content.size() ||
      std::fflush(file.get()) != 0) {
    return std::strerror(errno != 0 ? errno : EIO);
  }
  return {};
}

}  // namespace

int report(const ReportOptions& options) {
  ProgressLine progress;
  progress.show("reading " + options.trace);
  const Result<TraceFile> trace = read_trace(options.trace);
  progress.end();
  if (!trace) return complain(trace.error().message);
  progress.show("counting");
  const ReportNumbers numbers = report_numbers(*trace);
  progress.end();
  const std::filesystem::path source(options.trace);
  std::string output = options.output;
  if (output.empty()) {
    output = options.text ? "-" : std::filesystem::path(source).replace_extension(".html").string();
  }
  if (std::string refused = overwrites_input(output, {options.trace}); !refused.empty()) {
    return complain(refused + "; name another file after -o", kBadUsage);
  }
  const std::string content = options.text
                                  ? report_text(*trace, numbers)
                                  : report_page(*trace, numbers, source.filename().string());
  if (output == "-") {
    fmt::print("{}", content);
    if (std::fflush(stdout) != 0) return complain(std::strerror(errno));
    return 0;
  }
  if (const std::string error = write_file(output, content); !error.empty()) {
    return complain(fmt::format("{}: {}", output, error));
  }
  if (!trace->complete) {
    fmt::print(stderr,
               "tutti report: {} breaks off: the application crashed, was killed, or still "
               "runs. The report is of what is there.\n",
               options.trace);
  }
  fmt::print("{}\n", output);
  return 0;
}

}  // namespace tutti::tools
