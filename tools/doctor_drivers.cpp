// SPDX-License-Identifier: Apache-2.0
// The vendors' drivers and devices: what is wrong with those left out, and what helps.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "base/lower_case.h"
#include "tools/doctor.h"

namespace tutti::tools {
namespace {

using platform::DeviceReport;
using platform::FoundDriver;

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

// How to be rid of a driver that cannot be put right.
std::string removal(const FoundDriver& driver) {
  return driver.icd.empty() ? "take it out of TUTTI_VENDORS" : "remove " + driver.icd;
}

// dlopen's message begins with the file that it stumbled over: the driver's or one that it needs.
std::string missing_file(const FoundDriver& driver, const std::string& reason) {
  constexpr std::string_view before = "cannot be loaded: ";
  const std::string rest = reason.substr(before.size());
  const std::string file = rest.substr(0, rest.find(": "));
  if (file == driver.library) {
    return fmt::format("install the package that brings {}, or {}", file, removal(driver));
  }
  return fmt::format("install the package that brings {}, which {} needs", file,
                     file_name(driver.library));
}

struct Advice {
  Severity severity = Severity::kWarning;
  std::string fix;
};

// The reasons that platform/discovery.cpp, platform/probe_process.cpp, dlopen and
// platform/vendor_loader.cpp give.
Advice advise(const FoundDriver& driver) {
  const std::string& reason = driver.reason;
  const auto says = [&reason](std::string_view text) {
    return reason.find(text) != std::string::npos;
  };
  if (!driver.node.empty()) {
    if (says("refused")) {
      return {Severity::kWarning,
              "write tunnel=ssh behind its address in TUTTI_NODES; or insecure, where nobody else "
              "uses the network"};
    }
    if (says("remote client")) {
      return {Severity::kWarning,
              "name a PoCL that was built with ENABLE_REMOTE_CLIENT=1 and "
              "ENABLE_LOADABLE_DRIVERS=0 as TUTTI_NODE_DRIVER"};
    }
    return {Severity::kWarning,
            "see whether pocld runs there and listens at this port and the next one, or take the "
            "node out of TUTTI_NODES"};
  }
  if (says("this is Tutti itself")) return {Severity::kOk, {}};
  if (says("already loaded")) return {Severity::kNote, removal(driver)};
  if (says("another copy of Tutti")) {
    return {Severity::kWarning, "keep one copy of Tutti: " + removal(driver)};
  }
  if (says(".icd file")) {
    return {Severity::kWarning,
            "its first line must be a driver's library: reinstall the driver's package, or " +
                removal(driver)};
  }
  if (says("cannot be loaded")) {
    if (says("No such file")) return {Severity::kWarning, missing_file(driver, reason)};
    if (says("wrong ELF class")) {
      return {Severity::kWarning,
              "install the driver for this architecture, or " + removal(driver)};
    }
    if (says("Permission denied")) return {Severity::kWarning, "make the file readable for all"};
    return {Severity::kWarning,
            "reinstall the driver (it is damaged or does not fit its libraries), or " +
                removal(driver)};
  }
  if (says("queried")) {  // crashes, hangs, ends the process when it is
    return {Severity::kWarning,
            "update or reinstall the driver (another LLVM in LD_LIBRARY_PATH or LD_PRELOAD can be "
            "the cause), or " +
                removal(driver)};
  }
  if (says("it has no device")) {
    if (contains_ignoring_case(driver.library, "rusticl")) {
      return {Severity::kNote,
              "name its drivers: RUSTICL_ENABLE=llvmpipe for the CPU, or radeonsi, iris, nouveau"};
    }
    if (contains_ignoring_case(driver.library, "mesaopencl")) {
      return {Severity::kNote,
              "nothing: Clover shows a platform without devices where Mesa drives no AMD card"};
    }
    if (contains_ignoring_case(driver.library, "pocl")) {
      return {Severity::kWarning,
              "PoCL needs a folder for its cache that can be written (POCL_CACHE_DIR, else below "
              "HOME), and devices that exist in POCL_DEVICES, if that is set"};
    }
    if (contains_ignoring_case(driver.library, "nvidia")) {
      return {Severity::kWarning, "see whether nvidia-smi shows the card, and /dev/nvidia* below"};
    }
    return {Severity::kNote, "nothing, unless this machine has a device for it"};
  }
  return {Severity::kWarning, "update the driver, or " + removal(driver)};
}

}  // namespace

void check_drivers(const std::vector<FoundDriver>& drivers, const std::string& vendors,
                   Findings& findings) {
  if (drivers.empty()) {
    const bool named = !vendors.empty();
    findings.push_back({Severity::kWarning, "drivers",
                        "no driver is named in " + (named ? vendors : "/etc/OpenCL/vendors"),
                        named ? "let TUTTI_VENDORS name folders of .icd files, .icd files or "
                                "libraries, or unset it"
                              : "install your GPU's OpenCL driver, or one for the CPU: apt-get "
                                "install pocl-opencl-icd"});
  }
  for (const FoundDriver& driver : drivers) {
    if (driver.ok) {
      findings.push_back({Severity::kOk, "drivers", driver.label() + ": works", {}});
      continue;
    }
    Advice advice = advise(driver);
    findings.push_back({advice.severity, "drivers",
                        fmt::format("{}: {}", driver.label(), driver.reason),
                        std::move(advice.fix)});
  }
}

void check_devices(const std::vector<DeviceReport>& devices, Findings& findings) {
  bool any = false;
  for (const DeviceReport& device : devices) {
    const std::string name = fmt::format("{}  {} ({}, {})", device.index, device.label(),
                                         device.platform, device.version);
    any |= device.used;
    if (device.used) {
      findings.push_back({Severity::kOk,
                          "devices",
                          name + (device.apart ? ": used, in a process of its own" : ": used"),
                          {}});
    } else if (device.reason == "not in TUTTI_DEVICES") {
      findings.push_back({Severity::kNote, "devices", name + ": " + device.reason,
                          "unset TUTTI_DEVICES, or name the device in it"});
    } else {
      findings.push_back({Severity::kWarning, "devices", name + ": left out: " + device.reason,
                          "TUTTI_DEVICES=" + std::to_string(device.index) +
                              " takes it all the same, where OpenCL allows it"});
    }
  }
  if (!any) {
    findings.push_back({Severity::kProblem, "devices", "there is no device that Tutti can use",
                        "see what is said of the drivers; apt-get install pocl-opencl-icd makes "
                        "the CPU a device"});
  }
}

std::vector<LlvmUse> llvm_of(const std::vector<FoundDriver>& drivers) {
  std::vector<LlvmUse> uses;
  for (const FoundDriver& driver : drivers) {
    if (driver.library.empty()) continue;
    // Only if it is loaded already, be it used or not. Its own dependencies are searched, and
    // nothing else.
    void* handle = dlopen(driver.library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) continue;
    Dl_info place{};
    void* function = dlsym(handle, "LLVMContextCreate");
    if (function && dladdr(function, &place) && place.dli_fname) {
      uses.push_back({file_name(driver.library), place.dli_fname});
    }
    dlclose(handle);
  }
  return uses;
}

void check_llvm(const std::vector<LlvmUse>& uses, Findings& findings) {
  std::map<std::string, std::string> users;  // LLVM's file: drivers
  for (const auto& [driver, llvm] : uses) {
    std::string& list = users[file_name(llvm)];
    list += (list.empty() ? "" : ", ") + driver;
  }
  std::string text;
  for (const auto& [llvm, drivers] : users) {
    text += fmt::format("{}{} in {}", text.empty() ? "" : "; ", llvm, drivers);
  }
  if (users.size() > 1) {
    findings.push_back({Severity::kWarning, "libraries",
                        "drivers bring several LLVMs, whose names may meet: " + text,
                        "if an application crashes, leave one driver out by TUTTI_VENDORS"});
  } else {
    findings.push_back({Severity::kOk,
                        "libraries",
                        users.empty() ? "no driver uses a shared LLVM"
                                      : "one shared LLVM among the drivers: " + text,
                        {}});
  }
}

}  // namespace tutti::tools
