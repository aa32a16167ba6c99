// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tools/commands.h"
#include "tools/driver_files.h"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

// What the user had told the ICD loader is meant for the vendors now.
void hand_on_vendors(const fs::path& own_folder) {
  const auto text = [](const char* name) {
    const char* value = getenv(name);
    return std::string(value ? value : "");
  };
  const std::string folder = text("OCL_ICD_VENDORS"), files = text("OCL_ICD_FILENAMES");
  unsetenv("OCL_ICD_FILENAMES");
  std::error_code error;
  const bool nested = !folder.empty() && fs::equivalent(folder, own_folder, error);
  if (!text("TUTTI_VENDORS").empty() || nested || (folder.empty() && files.empty())) return;
  // The Khronos loader adds OCL_ICD_FILENAMES to the folder's drivers.
  std::string vendors = folder.empty() ? "/etc/OpenCL/vendors" : folder;
  if (!files.empty()) vendors += ":" + files;
  setenv("TUTTI_VENDORS", vendors.c_str(), 1);
}

int complain(int code, const std::string& message) {
  fmt::print(stderr, "tutti run: {}\n", message);
  return code;
}

}  // namespace

int run(const RunOptions& options) {
  const auto driver = find_driver();
  if (!driver) return complain(kSetUpBroken, driver.error().message);
  const fs::path folder = driver->vendors_folder;
  hand_on_vendors(folder);
  setenv("OCL_ICD_VENDORS", folder.c_str(), 1);
  const std::pair<const char*, const std::string*> settings[] = {
      {"TUTTI_DEVICES", &options.devices},
      {"TUTTI_BALANCER", &options.balancer},
      {"TUTTI_SUMMARY", &options.summary}};
  for (const auto& [name, value] : settings) {
    if (!value->empty()) setenv(name, value->c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : options.command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  return complain(error == ENOENT ? kNotFound : kCannotExecute,
                  fmt::format("{}: {}", arguments[0], strerror(error)));
}

}  // namespace tutti::tools
