// SPDX-License-Identifier: Apache-2.0
#include "tools/run_environment.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/output_file.h"
#include "base/own_files.h"
#include "base/safe_file.h"

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
  std::string folder = text("OCL_ICD_VENDORS");
  if (folder.empty()) folder = text("OPENCL_VENDOR_PATH");  // as ocl-icd takes them
  const std::string files = text("OCL_ICD_FILENAMES");
  unsetenv("OCL_ICD_FILENAMES");
  std::error_code error;
  const bool nested = !folder.empty() && fs::equivalent(folder, own_folder, error);
  if (!text("TUTTI_VENDORS").empty() || nested || (folder.empty() && files.empty())) return;
  // The Khronos loader adds OCL_ICD_FILENAMES to the folder's drivers.
  std::string vendors = folder.empty() ? "/etc/OpenCL/vendors" : folder;
  if (!files.empty()) vendors += ":" + files;
  setenv("TUTTI_VENDORS", vendors.c_str(), 1);
}

}  // namespace

Result<TuttiAlone> show_tutti_alone() {
  const fs::path folder = vendors_folder();
  if (folder.empty()) {
    return fail(CL_INVALID_VALUE,
                "tutti.icd is neither in ../share/tutti/vendors nor in ../etc/OpenCL/vendors of "
                "this program; is Tutti installed or built completely?");
  }
  // The Khronos loader that comes with CUDA 13 appends the files' names to what it is given.
  TuttiAlone made{folder.string() + '/', {}};
  made.library = first_line_of((folder / "tutti.icd").string());
  if (access(made.library.c_str(), R_OK) != 0) {
    return fail(CL_INVALID_VALUE, fmt::format("{} names {}: {}", (folder / "tutti.icd").string(),
                                              made.library, strerror(errno)));
  }
  hand_on_vendors(folder);
  setenv("OCL_ICD_VENDORS", made.folder.c_str(), 1);
  return made;
}

std::string output_problem(const Config& config, const std::vector<std::string>& inputs) {
  struct Output {
    const char* variable;
    std::string file;
    std::optional<Written> kind;  // what an earlier run has left there; none: anything
  };
  const Output outputs[] = {
      {"TUTTI_TRACE", config.trace.value, Written::kTrace},
      {"TUTTI_SUMMARY", config.summary.value == "-" ? "" : config.summary.value, Written::kSummary},
      {"TUTTI_LOG", config.log.value.file, std::nullopt}};
  std::vector<std::string> read = inputs;
  for (const Output& output : outputs) {
    if (output.file.empty()) continue;
    std::string refused = overwrites_input(output.file, read);
    if (refused.empty() && output.kind) refused = overwrites_other(output.file, {*output.kind});
    if (!refused.empty()) return fmt::format("{}: {}", output.variable, refused);
    read.push_back(output.file);  // nor may two be written to one file
  }
  return {};
}

}  // namespace tutti::tools
