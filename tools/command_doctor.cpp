// SPDX-License-Identifier: Apache-2.0
// `tutti doctor`: would an application find the Tutti device, and if not, why.
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/own_files.h"
#include "kernel_compiler/compiler_client.h"
#include "platform/composition_devices.h"
#include "tools/commands.h"
#include "tools/doctor.h"
#include "tools/run_environment.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

constexpr const char* kSeverityNames[] = {"ok", "note", "warning", "problem"};

const char* name_of(Severity severity) { return kSeverityNames[static_cast<size_t>(severity)]; }

struct Diagnosis {
  Findings findings;
  bool known = true;       // what follows could be asked
  bool with_run = false;   // an application that tutti run starts finds the device
  bool by_itself = false;  // any application does
  bool builds = false;     // and can run kernels on it
};

void check_system(Findings& findings) {
  utsname system{};
  uname(&system);
  findings.push_back({Severity::kOk,
                      "system",
                      fmt::format("Tutti " TUTTI_VERSION ", {} {}, {}, glibc {}", system.sysname,
                                  system.release, system.machine, gnu_get_libc_version()),
                      {}});
}

void check_own_files(const Result<TuttiAlone>& alone, const std::string& probe,
                     Findings& findings) {
  const std::string fix = "install or build Tutti completely (make install)";
  if (alone) {
    findings.push_back({Severity::kOk, "driver", alone->library, {}});
  } else {
    findings.push_back({Severity::kProblem, "driver", alone.error().message, fix});
  }
  if (const auto compiler = kernel_compiler::compiler_library()) {
    findings.push_back({Severity::kOk, "driver", "kernel compiler: " + *compiler, {}});
  } else {
    findings.push_back({Severity::kProblem, "driver", compiler.error().message,
                        process_config().compiler.is_default()
                            ? fix
                            : "unset TUTTI_COMPILER, or let it name libtutti-compiler.so"});
  }
  if (find_own_program(kBuilderProgram).empty()) {
    findings.push_back({Severity::kWarning, "driver",
                        "tutti-builder is missing: compilers that crash take applications along",
                        fix});
  }
  if (probe.empty()) {
    findings.push_back({Severity::kWarning, "driver",
                        "tutti-probe is missing: drivers that crash take applications along", fix});
  }
}

void check_application(const Result<TuttiAlone>& alone, const LoaderView& in_run,
                       Diagnosis& diagnosis) {
  const auto add = [&diagnosis](Severity severity, std::string text, std::string fix) {
    diagnosis.findings.push_back({severity, "application", std::move(text), std::move(fix)});
  };
  if (!diagnosis.known) {
    add(Severity::kWarning, "not known whether it finds the Tutti device: tutti-probe is missing",
        "install or build Tutti completely (make install); tutti run -- clinfo shows it");
  } else if (diagnosis.with_run) {
    add(Severity::kOk, "finds the Tutti device when started by tutti run -- APP", {});
  } else {
    add(Severity::kProblem,
        "finds no Tutti device, also when started by tutti run" +
            (in_run.error.empty() ? "" : ": " + in_run.error),
        "put right what is called a problem above; TUTTI_LOG=debug tutti run -- clinfo says more");
  }
  if (diagnosis.by_itself) {
    add(Severity::kOk, "finds it without tutti run, too", {});
  } else if (diagnosis.with_run) {
    add(Severity::kNote, "does not find it without tutti run",
        "set OCL_ICD_VENDORS=" + alone->folder + ", or install with PREFIX=/usr");
  }
}

/// What the options name that does not exist.
std::vector<std::string> unknown_names(const Config& config,
                                       const std::vector<platform::DeviceReport>& devices) {
  std::vector<std::string> problems = platform::selection_problems(config);
  if (const auto spec = platform::chosen_balancer(config, devices); !spec) {
    problems.push_back(fmt::format("{} ({})", spec.error().message, config.balancer.origin));
  }
  if (const auto primary = platform::chosen_primary(config, devices); !primary) {
    problems.push_back(fmt::format("{} ({})", primary.error().message, config.primary.origin));
  }
  return problems;
}

/// As long as it lives, the environment of an application that leaves no traces: what `config` says
/// stands in variables, but for what is written and remembered.
class TrialEnvironment {
 public:
  explicit TrialEnvironment(const Config& config) {
    const std::vector<OptionText> texts = option_texts(config);
    const auto table = option_table();
    for (size_t i = 0; i < table.size(); ++i) {
      const bool writes = table[i].key == "trace" || table[i].key == "summary" ||
                          table[i].key == "record" || table[i].key == "log";
      set(std::string(table[i].variable), writes ? "" : texts[i].value);
    }
    set("TUTTI_CONFIG", "/dev/null");
    set("TUTTI_MODEL", "process");
    set("TUTTI_PROGRAMS", "off");
  }
  ~TrialEnvironment() {
    for (const auto& [name, value] : before_) put(name, value);
  }
  TrialEnvironment(const TrialEnvironment&) = delete;
  TrialEnvironment& operator=(const TrialEnvironment&) = delete;
  /// An empty value unsets.
  void set(const std::string& name, const std::string& value) {
    const char* old = getenv(name.c_str());
    before_.emplace(name, old ? std::optional<std::string>(old) : std::nullopt);
    put(name, value.empty() ? std::nullopt : std::optional(value));
  }

 private:
  static void put(const std::string& name, const std::optional<std::string>& value) {
    if (value) {
      setenv(name.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name.c_str());
    }
  }
  std::map<std::string, std::optional<std::string>> before_;
};

void try_kernels(const std::string& probe, TrialEnvironment& environment,
                 const std::vector<platform::DeviceReport>& devices, Diagnosis& diagnosis) {
  const KernelTrial all = try_kernel(probe);
  diagnosis.builds = all.asked && all.error.empty();
  std::vector<std::pair<platform::DeviceReport, KernelTrial>> alone;
  const auto used = std::count_if(devices.begin(), devices.end(),
                                  [](const platform::DeviceReport& device) { return device.used; });
  for (const platform::DeviceReport& device : devices) {
    if (!device.used || used < 2 || !all.asked) continue;
    environment.set("TUTTI_DEVICES", std::to_string(device.index));
    alone.emplace_back(device, try_kernel(probe));
  }
  check_kernels(all, alone, diagnosis.findings);
}

Diagnosis diagnose() {
  Diagnosis diagnosis;
  Findings& findings = diagnosis.findings;
  const std::string probe = find_own_program(kProbeProgram);
  check_system(findings);
  const ConfigSources sources = ConfigSources::of_process();
  const LoadedConfig loaded = load_config(sources);
  check_configuration(sources, loaded, findings);
  check_environment(sources.environment, findings);
  const LoaderView as_is = [&] {
    const TrialEnvironment environment(loaded.config);
    return ask_loader(probe);
  }();
  check_loader(as_is, findings);
  // From here on as in an application that tutti run starts: its environment changes the options.
  const auto alone = show_tutti_alone();
  const Config& config = process_config();
  check_own_files(alone, probe, findings);
  std::vector<platform::DeviceReport> devices;
  // Kept until the process ends, as the driver does.
  static auto backends = platform::choose_devices(config, devices);
  const auto& drivers = platform::vendor_loader(config).drivers();
  check_drivers(drivers, config.vendors.value, findings);
  check_llvm(llvm_of(drivers), findings);
  check_devices(devices, findings);
  check_names(unknown_names(config, devices), findings);
  check_graphics_cards("/sys/bus/pci/devices", devices, findings);
  check_device_nodes("/dev", findings);
  check_cache(cache_folder(config), findings);
  TrialEnvironment environment(config);
  const LoaderView in_run = ask_loader(probe);
  diagnosis.known = in_run.asked;
  diagnosis.with_run = alone && in_run.shows_tutti();
  diagnosis.by_itself = as_is.shows_tutti();
  if (diagnosis.with_run) try_kernels(probe, environment, devices, diagnosis);
  check_application(alone, in_run, diagnosis);
  return diagnosis;
}

void print_json(const Diagnosis& diagnosis) {
  const auto if_known = [&diagnosis](bool value) {
    return diagnosis.known ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json output{{"version", TUTTI_VERSION},
                                {"found", if_known(diagnosis.with_run)},
                                {"found_without_run", if_known(diagnosis.by_itself)},
                                {"runs_kernels", if_known(diagnosis.builds)},
                                {"findings", nlohmann::ordered_json::array()}};
  for (const Finding& finding : diagnosis.findings) {
    output["findings"].push_back({{"severity", name_of(finding.severity)},
                                  {"area", finding.area},
                                  {"text", finding.text},
                                  {"fix", finding.fix}});
  }
  fmt::print("{}", json_text(output));
}

void print_text(const Diagnosis& diagnosis) {
  constexpr Tone kTones[] = {Tone::kGood, Tone::kFaint, Tone::kWarning, Tone::kBad};
  const size_t columns = output_columns();
  const bool narrow = columns < 60;  // what is found stands below its place
  const size_t indentation = narrow ? 4 : 24;
  for (const Finding& finding : diagnosis.findings) {
    const auto severity = static_cast<size_t>(finding.severity);
    const std::string head =
        padded(toned(kTones[severity], kSeverityNames[severity]), 8) + " " + finding.area;
    const std::string begin =
        narrow ? std::string(indentation, ' ') : padded(head, indentation - 1) + " ";
    std::string text = narrow ? head + "\n" : std::string();
    text += paragraph(begin, finding.text, indentation, columns, LongWords::kBreak);
    if (!finding.fix.empty()) {
      const std::string fix(indentation + 2, ' ');
      text += paragraph(fix, "fix: " + finding.fix, fix.size() + 5, columns, LongWords::kBreak);
    }
    put(text);
  }
  const auto count = [&diagnosis](Severity severity) {
    return std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                         [severity](const Finding& f) { return f.severity == severity; });
  };
  say("\nAn application {} the Tutti device{}; problems: {}, warnings: {}.\n",
      !diagnosis.known     ? "may or may not find"
      : diagnosis.with_run ? "finds"
                           : "does not find",
      diagnosis.with_run && !diagnosis.builds ? ", but cannot run kernels on it" : "",
      count(Severity::kProblem), count(Severity::kWarning));
}

/// 0 when applications find the Tutti device and can use it, else 1.
int doctor(bool json) {
  const Diagnosis diagnosis = diagnose();
  if (json) {
    print_json(diagnosis);
  } else {
    print_text(diagnosis);
  }
  const bool sound =
      std::none_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                   [](const Finding& finding) { return finding.severity == Severity::kProblem; });
  return diagnosis.with_run && diagnosis.builds && sound ? 0 : kFailed;
}

CommandLine add_doctor(CLI::App& command) {
  const auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "As JSON");
  command.footer(
      "Exit code: 0 when an application finds the Tutti device and can run kernels on it, and\n"
      "there is no other problem; else 1.");
  return {[json] { return doctor(*json); }};
}

}  // namespace

const Command kDoctorCommand{
    "doctor", "Show what keeps applications from finding Tutti, and what helps", add_doctor};

}  // namespace tutti::tools
