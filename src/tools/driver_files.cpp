// SPDX-License-Identifier: Apache-2.0
#include "tools/driver_files.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "platform/own_files.h"

namespace tutti::tools {

namespace fs = std::filesystem;

// Both ICD loaders take a folder: the Khronos loader reads OCL_ICD_VENDORS as one; ocl-icd takes a
// folder, an .icd file or a library there.
Result<DriverFiles> find_driver() {
  const fs::path root = fs::path(own_binary()).parent_path().parent_path();
  for (const char* place : {"share/tutti/vendors", "etc/OpenCL/vendors"}) {
    const fs::path file = root / place / "tutti.icd";
    std::error_code error;
    if (!fs::exists(file, error)) continue;
    std::string library;
    std::getline(std::ifstream(file), library);
    if (access(library.c_str(), R_OK) != 0) {
      return fail(CL_INVALID_VALUE,
                  fmt::format("{} names {}: {}", file.string(), library, strerror(errno)));
    }
    return DriverFiles{file.parent_path().string(), library};
  }
  return fail(CL_INVALID_VALUE,
              "tutti.icd is neither in ../share/tutti/vendors nor in ../etc/OpenCL/vendors of "
              "this program; is Tutti installed or built completely?");
}

}  // namespace tutti::tools
