// SPDX-License-Identifier: Apache-2.0
// What `tutti doctor` looks at. Each check adds findings for a person; none changes anything. The
// checks take what they look at as arguments, so that tests can make it up. Used by one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "platform/create_backends.h"

namespace tutti::tools {

enum class Severity : uint8_t {
  kOk,
  kNote,     // worth knowing, nothing to put right
  kWarning,  // something is missing or broken, Tutti works without it
  kProblem,  // keeps applications from working with Tutti
};

struct Finding {
  Severity severity = Severity::kOk;
  std::string area;  // "drivers", "cache" …
  std::string text;  // one line
  std::string fix;   // one line; empty where there is nothing to do
};
using Findings = std::vector<Finding>;

/// What the machine's ICD loader shows an application.
struct LoaderView {
  struct Platform {
    std::string name, version;
    std::vector<std::string> devices;
  };
  std::string path, name, version, vendor;  // of the loader
  std::vector<Platform> platforms;
  std::string error;  // why there is no loader, or how it ended; else empty
  bool asked = true;  // false: tutti-probe, which asks, cannot be started

  bool shows_tutti() const;
};
/// Asks in a process of its own, with this process's environment.
LoaderView ask_loader(const std::string& probe_program);
/// `as_is`: without `tutti run`.
void check_loader(const LoaderView& as_is, Findings& findings);

/// What became of a small kernel that was built and run on the Tutti device, as by an application.
struct KernelTrial {
  bool asked = true;  // false: tutti-probe, which tries, cannot be started
  std::string error;  // empty: its result was right
};
/// Tries it in a process of its own, with this process's environment.
KernelTrial try_kernel(const std::string& probe_program);
/// `all`: on all devices together; `alone`: on each of them, where there are several.
void check_kernels(const KernelTrial& all,
                   const std::vector<std::pair<platform::DeviceReport, KernelTrial>>& alone,
                   Findings& findings);

/// Names in the options that mean nothing on this machine.
void check_names(const std::vector<std::string>& problems, Findings& findings);
void check_configuration(const ConfigSources& sources, const LoadedConfig& loaded,
                         Findings& findings);
/// Variables that change which drivers and devices there are. NAME and value.
void check_environment(const std::vector<std::pair<std::string, std::string>>& environment,
                       Findings& findings);
void check_cache(const std::string& folder, Findings& findings);
/// Whose processes launches are planned around. `own`: where this user's publish.
void check_board(const Config& config, const std::string& own, Findings& findings);

/// The files through which drivers reach GPUs, those that exist below `root` ("/dev").
void check_device_nodes(const std::filesystem::path& root, Findings& findings);
/// Graphics cards (`pci`: "/sys/bus/pci/devices") that no driver shows.
void check_graphics_cards(const std::filesystem::path& pci,
                          const std::vector<platform::DeviceReport>& devices, Findings& findings);

void check_drivers(const std::vector<platform::FoundDriver>& drivers, const std::string& vendors,
                   Findings& findings);
void check_devices(const std::vector<platform::DeviceReport>& devices, Findings& findings);

/// The shared LLVM that a loaded driver uses: driver, and LLVM's file.
using LlvmUse = std::pair<std::string, std::string>;
std::vector<LlvmUse> llvm_of(const std::vector<platform::FoundDriver>& drivers);
void check_llvm(const std::vector<LlvmUse>& uses, Findings& findings);

}  // namespace tutti::tools
