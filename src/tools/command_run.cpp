// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "platform/own_files.h"
#include "tools/commands.h"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

// The folder that holds tutti.icd and nothing else: of an installed tree, or of a build tree.
// Both ICD loaders take a folder: the Khronos loader reads OCL_ICD_VENDORS as one; ocl-icd takes a
// folder, an .icd file or a library there.
fs::path vendors_folder() {
  const fs::path root = fs::path(own_binary()).parent_path().parent_path();
  for (const char* place : {"share/tutti/vendors", "etc/OpenCL/vendors"}) {
    std::error_code error;
    if (fs::exists(root / place / "tutti.icd", error)) return root / place;
  }
  return {};
}

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
  const fs::path folder = vendors_folder();
  if (folder.empty()) {
    return complain(
        kSetUpBroken,
        "tutti.icd is neither in ../share/tutti/vendors nor in ../etc/OpenCL/vendors of "
        "this program; is Tutti installed or built completely?");
  }
  std::string library;
  std::getline(std::ifstream(folder / "tutti.icd"), library);
  if (access(library.c_str(), R_OK) != 0) {
    return complain(kSetUpBroken, fmt::format("{} names {}: {}", (folder / "tutti.icd").string(),
                                              library, strerror(errno)));
  }
  hand_on_vendors(folder);
  setenv("OCL_ICD_VENDORS", folder.c_str(), 1);
  const std::pair<const char*, const std::string*> settings[] = {
      {"TUTTI_DEVICES", &options.devices},
      {"TUTTI_BALANCER", &options.balancer},
      {"TUTTI_SUMMARY", &options.summary},
      {"TUTTI_TRACE", &options.trace}};
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
