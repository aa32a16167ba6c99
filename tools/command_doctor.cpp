// SPDX-License-Identifier: Apache-2.0
// `tutti doctor`: would an application find the Tutti device, and if not, why; `tutti doctor
// PROGRAM`: would that program take it.
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/live_counters.h"
#include "base/own_files.h"
#include "kernel_compiler/compiler_client.h"
#include "platform/composition_devices.h"
#include "tools/commands.h"
#include "tools/completion.h"
#include "tools/device_view.h"
#include "tools/doctor.h"
#include "tools/doctor_program.h"
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
  check_board(config, live::folder(cache_folder(config)), findings);
  TrialEnvironment environment(config);
  const LoaderView in_run = ask_loader(probe);
  diagnosis.known = in_run.asked;
  diagnosis.with_run = alone && in_run.shows_tutti();
  diagnosis.by_itself = as_is.shows_tutti();
  if (diagnosis.with_run) try_kernels(probe, environment, devices, diagnosis);
  check_application(alone, in_run, diagnosis);
  return diagnosis;
}

nlohmann::ordered_json findings_json(const Findings& findings) {
  auto output = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    output.push_back({{"severity", name_of(finding.severity)},
                      {"area", finding.area},
                      {"text", finding.text},
                      {"fix", finding.fix}});
  }
  return output;
}

void print_json(const Diagnosis& diagnosis) {
  const auto if_known = [&diagnosis](bool value) {
    return diagnosis.known ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json output{{"version", TUTTI_VERSION},
                                {"found", if_known(diagnosis.with_run)},
                                {"found_without_run", if_known(diagnosis.by_itself)},
                                {"runs_kernels", if_known(diagnosis.builds)},
                                {"findings", findings_json(diagnosis.findings)}};
  fmt::print("{}", json_text(output));
}

void print_findings(const Findings& findings) {
  constexpr Tone kTones[] = {Tone::kGood, Tone::kFaint, Tone::kWarning, Tone::kBad};
  const size_t columns = output_columns();
  const bool narrow = columns < 60;  // what is found stands below its place
  size_t areas = 14;
  for (const Finding& finding : findings) areas = std::max(areas, finding.area.size());
  const size_t indentation = narrow ? 4 : areas + 10;
  for (const Finding& finding : findings) {
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
}

void print_text(const Diagnosis& diagnosis) {
  print_findings(diagnosis.findings);
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

Finding finding_of(const JudgedCheck& judged, const std::string& program) {
  // Lists of extensions are too long to be of use.
  constexpr size_t kLongest = 80;
  const std::string value =
      judged.value.size() > kLongest ? std::string() : "'" + judged.value + "' ";
  const std::string& property = judged.check.property;
  if (judged.holds && !judged.answered) {
    return {Severity::kOk, property, "does not apply: the device does not answer", {}};
  }
  if (judged.holds) return {Severity::kOk, property, value + wanted(judged.check), {}};
  return {judged.check.refuses ? Severity::kProblem : Severity::kWarning, property,
          fmt::format("{}is not as wanted ({}): {} {}; natively the primary is {}", value,
                      wanted(judged.check), program, judged.check.otherwise,
                      judged.primary_holds ? "as wanted" : "no better"),
          judged.fix};
}

Findings findings_of(const ProgramReport& report) {
  Findings findings;
  for (const ProfileSetting& setting : report.settings) {
    const std::string made = setting.key + "=" + setting.value;
    findings.push_back({setting.holds.empty() ? Severity::kOk : Severity::kNote,
                        "settings",
                        setting.holds.empty()
                            ? fmt::format("{} gets {} by its profile", report.program, made)
                            : fmt::format("{} would get {} by its profile; {} holds ({})",
                                          report.program, made, setting.holds, setting.origin),
                        {}});
  }
  for (const JudgedCheck& judged : report.checks) {
    findings.push_back(finding_of(judged, report.program));
  }
  return findings;
}

void print_program_json(const ProgramReport& report, const std::string& primary) {
  nlohmann::ordered_json output{
      {"program", report.program},
      {"known", report.known},
      {"accepted",
       report.known ? nlohmann::ordered_json(report.accepted()) : nlohmann::ordered_json(nullptr)},
      {"primary", primary},
      {"settings", nlohmann::ordered_json::array()},
      {"checks", nlohmann::ordered_json::array()},
      {"properties", nlohmann::ordered_json::array()}};
  for (const ProfileSetting& setting : report.settings) {
    output["settings"].push_back({{"key", setting.key},
                                  {"value", setting.value},
                                  {"holds", setting.holds.empty() ? setting.value : setting.holds},
                                  {"origin", setting.origin}});
  }
  for (const JudgedCheck& judged : report.checks) {
    output["checks"].push_back({{"property", judged.check.property},
                                {"wanted", wanted(judged.check)},
                                {"value", judged.value},
                                {"holds", judged.holds},
                                {"primary_value", judged.primary_value},
                                {"primary_holds", judged.primary_holds},
                                {"refuses", judged.check.refuses},
                                {"otherwise", judged.check.otherwise},
                                {"fix", judged.fix},
                                {"source", judged.check.source}});
  }
  for (const PropertyPair& pair : report.properties) {
    output["properties"].push_back({{"property", pair.property},
                                    {"value", pair.value},
                                    {"primary_value", pair.primary_value}});
  }
  fmt::print("{}", json_text(output));
}

void print_unknown_program(const ProgramReport& report, const std::vector<Profile>& profiles,
                           const std::string& primary) {
  std::string known;
  for (const Profile& profile : profiles) {
    known += (known.empty() ? "" : ", ") + profile.program;
  }
  say("It is not known what {} checks; there are profiles of {}.\n", report.program,
      known.empty() ? "no program" : known);
  say("What programs commonly check, of the Tutti device (natively {}, where that differs):\n",
      primary);
  const size_t columns = output_columns();
  for (const PropertyPair& pair : report.properties) {
    const std::string head = "  " + padded(pair.property, 26);
    const std::string text = pair.value == pair.primary_value
                                 ? pair.value
                                 : fmt::format("{}  (natively {})", pair.value, pair.primary_value);
    put(paragraph(head, text, head.size(), columns, LongWords::kBreak));
  }
}

void print_program(const ProgramReport& report, const std::string& primary) {
  print_findings(findings_of(report));
  const auto worse = std::count_if(
      report.checks.begin(), report.checks.end(),
      [](const JudgedCheck& judged) { return !judged.holds && !judged.check.refuses; });
  say("\n{} {} the Tutti device, whose primary is {}{}.\n", report.program,
      report.accepted() ? "takes" : "does not take", primary,
      report.accepted() && worse != 0 ? ", but not at its best" : "");
}

/// 0 when the program takes the Tutti device, or nothing is known of it; else 1.
int doctor_program(const std::string& named, bool json) {
  static_cast<void>(show_tutti_alone());  // as `tutti run` would have it
  static_cast<void>(process_config());    // its warnings
  const auto profiles = read_profiles(profiles_file());
  if (!profiles) {
    complain("doctor", profiles.error().message);
    return kFailed;
  }
  const Profile* profile = profile_named(*profiles, named);
  ConfigSources sources = ConfigSources::of_process();
  if (profile && !profile->executables.empty()) sources.program = {profile->executables[0], {}};
  if (profile && !profile->libraries.empty()) sources.program = {{}, profile->libraries};
  static const Config config = load_config(sources).config;
  std::vector<platform::DeviceReport> devices;
  // Kept until the process ends, as the driver does.
  static auto backends = platform::choose_devices(config, devices);
  if (backends.empty()) {
    complain("doctor", "no device takes part; tutti doctor says why");
    return kFailed;
  }
  const std::vector<platform::DeviceFacts> facts = platform::facts_of(backends);
  const size_t primary =
      platform::primary_among(backends, platform::preferred_primary(config, devices));
  const ProgramReport report = judge_program(named, profile, {facts, primary, config});
  const std::string& name = facts[primary].traits.device_name;
  if (json) {
    print_program_json(report, name);
  } else if (report.known) {
    print_program(report, name);
  } else {
    print_unknown_program(report, *profiles, name);
  }
  return report.accepted() ? 0 : kFailed;
}

struct DoctorOptions {
  bool json = false;
  std::string program;
};

CommandLine add_doctor(CLI::App& command) {
  const auto options = std::make_shared<DoctorOptions>();
  command.add_flag("--json", options->json, "As JSON");
  command
      .add_option("PROGRAM", options->program,
                  "Whether this program, by its name or executable, would take the Tutti device")
      ->check(completes(Completion::kProgram));
  command.footer(
      "Exit code: 0 when an application finds the Tutti device and can run kernels on it, and\n"
      "there is no other problem; else 1. With a program: 0 when it takes the Tutti device, or\n"
      "nothing is known of it; else 1.");
  return {[options] {
    return options->program.empty() ? doctor(options->json)
                                    : doctor_program(options->program, options->json);
  }};
}

}  // namespace

const Command kDoctorCommand{
    "doctor", "Show what keeps applications from finding Tutti, and what helps", add_doctor};

}  // namespace tutti::tools
