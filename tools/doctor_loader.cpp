// SPDX-License-Identifier: Apache-2.0
// What an application sees through the ICD loader.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/cl_error_name.h"
#include "base/lower_case.h"
#include "platform/probe_process.h"
#include "tools/doctor.h"

namespace tutti::tools {
namespace {

// Longer than the driver takes to find that a vendor's hangs.
constexpr int kLoaderSeconds = 90;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream rest(line);
  for (std::string field; std::getline(rest, field, '\t');) fields.push_back(field);
  fields.resize(std::max<size_t>(fields.size(), 5));
  return fields;
}

// "ocl-icd 2.3.1 (/usr/lib/…/libOpenCL.so.1)"
std::string loader_text(const LoaderView& view) {
  const bool khronos = contains_ignoring_case(view.name + view.vendor, "khronos");
  const bool ocl_icd = contains_ignoring_case(view.vendor, "ocl icd") ||
                       contains_ignoring_case(view.vendor, "ocl-icd");
  std::string kind = khronos             ? "Khronos loader"
                     : ocl_icd           ? "ocl-icd"
                     : view.name.empty() ? "a loader that does not tell its name"
                                         : view.name;
  if (!view.version.empty()) kind += " " + view.version;
  return fmt::format("{} ({})", kind, view.path);
}

}  // namespace

bool LoaderView::shows_tutti() const {
  return std::any_of(platforms.begin(), platforms.end(), [](const auto& platform) {
    // Its name may be that of the primary's platform (TUTTI_IDENTITY).
    return platform.version.find(" Tutti ") != std::string::npos && !platform.devices.empty();
  });
}

LoaderView ask_loader(const std::string& probe_program) {
  LoaderView view;
  const platform::RunningProbe running =
      platform::start_probe(probe_program, "--loader", kLoaderSeconds, false);
  if (running.pid < 0) {
    view.error = "tutti-probe cannot be started";
    view.asked = false;
    return view;
  }
  const platform::ProbeOutcome outcome = platform::finish_probe(running);
  std::istringstream answer(outcome.answer);
  for (std::string line; std::getline(answer, line);) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields[0] == "error") view.error = fields[1];
    if (fields[0] == "loader") {
      view.path = fields[1];
      view.name = fields[2];
      view.version = fields[3];
      view.vendor = fields[4];
    }
    if (fields[0] == "platform") view.platforms.push_back({fields[1], fields[2], {}});
    if (fields[0] == "device" && !view.platforms.empty()) {
      view.platforms.back().devices.push_back(fields[1]);
    }
  }
  if (view.error.empty() && !outcome.verdict.safe) view.error = outcome.verdict.reason;
  return view;
}

KernelTrial try_kernel(const std::string& probe_program) {
  KernelTrial trial;
  const platform::RunningProbe running =
      platform::start_probe(probe_program, "--kernel", kLoaderSeconds, false);
  if (running.pid < 0) {
    trial.asked = false;
    trial.error = "tutti-probe cannot be started";
    return trial;
  }
  const platform::ProbeOutcome outcome = platform::finish_probe(running);
  std::istringstream answer(outcome.answer);
  bool right = false;
  for (std::string line; std::getline(answer, line);) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields[0] == "kernel") right = true;
    if (fields[0] != "error") continue;
    const int code = std::atoi(fields[2].c_str());
    trial.error = fields[1];
    if (code != 0) trial.error += fmt::format(": {}", cl_error_name(code));
    if (!fields[3].empty()) trial.error += ": " + fields[3];
  }
  if (!right && trial.error.empty()) {
    trial.error = outcome.verdict.safe ? "there was no answer" : outcome.verdict.reason;
  }
  return trial;
}

void check_kernels(const KernelTrial& all,
                   const std::vector<std::pair<platform::DeviceReport, KernelTrial>>& alone,
                   Findings& findings) {
  if (!all.asked) return;  // said where applications are
  if (all.error.empty()) {
    findings.push_back({Severity::kOk, "kernels", "a small kernel was built and run", {}});
  } else {
    findings.push_back({Severity::kProblem, "kernels",
                        "no application can build and run a kernel: " + all.error,
                        "put right what is said of the driver and the devices; TUTTI_LOG=debug "
                        "tutti run -- APP says more"});
  }
  for (const auto& [device, trial] : alone) {
    if (trial.error.empty()) continue;
    findings.push_back(
        {Severity::kWarning, "kernels",
         fmt::format("{}  {} ({}) cannot build and run a kernel: {}", device.index, device.label(),
                     device.platform, trial.error),
         fmt::format("update or reinstall its driver; TUTTI_DEVICES=-{} leaves it out",
                     device.index)});
  }
}

void check_loader(const LoaderView& as_is, Findings& findings) {
  if (!as_is.asked) {
    findings.push_back({Severity::kWarning, "loader",
                        "not known: " + as_is.error + ", and nothing else asks the ICD loader",
                        "install or build Tutti completely (make install)"});
    return;
  }
  if (as_is.path.empty()) {
    findings.push_back({Severity::kProblem, "loader",
                        "no OpenCL application can start: " + as_is.error,
                        "install an ICD loader: apt-get install ocl-icd-libopencl1"});
    return;
  }
  findings.push_back({Severity::kOk, "loader", loader_text(as_is), {}});
  if (!as_is.error.empty()) {
    findings.push_back({Severity::kWarning, "loader",
                        "with the drivers as they are installed the loader " + as_is.error,
                        "start applications by tutti run, which leaves such drivers out"});
    return;
  }
  std::string shown;
  for (const LoaderView::Platform& platform : as_is.platforms) {
    shown += fmt::format("{}{} ({} device{})", shown.empty() ? "" : ", ", platform.name,
                         platform.devices.size(), platform.devices.size() == 1 ? "" : "s");
  }
  findings.push_back({Severity::kOk,
                      "loader",
                      "shows without tutti run: " + (shown.empty() ? "no platform" : shown),
                      {}});
}

}  // namespace tutti::tools
