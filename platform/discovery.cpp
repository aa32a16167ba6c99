// SPDX-License-Identifier: Apache-2.0
#include "platform/discovery.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/log.h"
#include "base/own_files.h"
#include "base/process_exit.h"
#include "base/safe_file.h"

namespace tutti::platform {
namespace {

namespace fs = std::filesystem;

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

// The file is read as both ICD loaders read it: its first line; blanks around it do no harm.
VendorLibrary read_icd_file(const fs::path& path) {
  VendorLibrary found;
  found.icd = path.string();
  const auto file = read_file(path, {});
  const std::string line = file ? file->substr(0, file->find('\n')) : std::string();
  if (!file || file->empty()) {
    found.reason = "the .icd file cannot be read or is empty";
    return found;
  }
  const char* blanks = " \t\r\n";
  const size_t first = line.find_first_not_of(blanks);
  if (first == std::string::npos || line.find('\0') != std::string::npos) {
    found.reason = "the .icd file names no library";
    return found;
  }
  found.library = line.substr(first, line.find_last_not_of(blanks) - first + 1);
  return found;
}

void add_folder(const fs::path& folder, std::vector<VendorLibrary>& found) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator entry(folder, error);
  if (error) {
    log(LogLevel::kInfo, "{}: {}", folder.string(), error.message());
    return;
  }
  for (; entry != fs::directory_iterator(); entry.increment(error)) {
    if (error) break;
    if (entry->path().extension() == ".icd") files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());  // the order of devices must not depend on the file system
  for (const fs::path& file : files) found.push_back(read_icd_file(file));
}

std::vector<VendorLibrary> list_candidates(const DiscoveryOptions& options) {
  std::vector<VendorLibrary> found;
  if (options.vendors.empty()) {
    add_folder(options.system_folder, found);
    return found;
  }
  std::string_view rest = options.vendors;
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string item(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    if (item.empty()) continue;
    std::error_code error;
    if (fs::is_directory(item, error)) {
      add_folder(item, found);
    } else if (fs::path(item).extension() == ".icd") {
      // As ocl-icd does, a name without a folder is one of the system's files.
      const bool bare = item.find('/') == std::string::npos && !fs::exists(item, error);
      found.push_back(
          read_icd_file(bare ? fs::path(options.system_folder) / item : fs::path(item)));
    } else {
      VendorLibrary library;
      library.library = item;
      found.push_back(std::move(library));
    }
  }
  return found;
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool is_self(const std::string& path) {
  if (base_name(path).find("libtutti") != std::string::npos) return true;
  return path.find('/') != std::string::npos && same_file(path, own_binary());
}

// Bound lazily, as by ICD loaders: LLVM's names alone take a millisecond of every start. Names that
// nobody defines have been found by the probe, which binds all.
void load(VendorLibrary& library) {
  if (vendors_gone()) {
    library.reason = "the process ends";
    return;
  }
  void* handle = dlopen(library.library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle) {
    const char* text = dlerror();
    library.reason = fmt::format("cannot be loaded: {}", text ? text : "no reason given");
    return;
  }
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name) library.path = map->l_name;
  void* function = dlsym(handle, "clGetExtensionFunctionAddress");
  if (!library.path.empty() && is_self(library.path)) {
    library.reason = "this is Tutti itself";
  } else if (!function) {
    library.reason = "not an OpenCL driver (no clGetExtensionFunctionAddress)";
  } else {
    library.handle = handle;
    library.get_extension_function = function;
    return;
  }
  dlclose(handle);
}

}  // namespace

std::vector<VendorLibrary> discover_vendors(const DiscoveryOptions& options,
                                            const StaysApart& stays_apart) {
  if (getenv(kInsideProbe) && !options.in_helper) return {};
  std::vector<VendorLibrary> found = list_candidates(options);
  if (found.empty()) {
    log(LogLevel::kInfo, "no vendor driver is named in {}",
        options.vendors.empty() ? options.system_folder : options.vendors);
  }
  std::vector<std::string> names;
  for (VendorLibrary& library : found) {
    if (library.reason.empty() && is_self(library.library)) {
      library.reason = "this is Tutti itself";
    }
    if (library.reason.empty()) names.push_back(library.library);
  }
  const std::vector<ProbeVerdict> verdicts = probe_libraries(names, options);
  auto verdict = verdicts.begin();
  for (size_t i = 0; i < found.size(); ++i) {
    VendorLibrary& library = found[i];
    if (!library.reason.empty()) continue;
    const ProbeVerdict& answer = *verdict++;
    if (!answer.safe) {
      library.reason = answer.reason;
      continue;
    }
    library.apart = stays_apart && stays_apart(library);
    if (!library.reason.empty() || library.apart) continue;
    load(library);
    if (!library.ok()) continue;
    for (size_t j = 0; j < i; ++j) {
      if (found[j].handle == library.handle) {
        library.reason = "already loaded" + (found[j].icd.empty() ? "" : " for " + found[j].icd);
        dlclose(library.handle);
        library.handle = nullptr;
        break;
      }
    }
  }
  for (const VendorLibrary& library : found) {
    if (library.ok()) {
      log(LogLevel::kDebug, "vendor driver {} loaded from {}", library.library, library.path);
    } else if (library.apart) {
      log(LogLevel::kDebug, "vendor driver {} is in processes of its own, from {}", library.library,
          library.path);
    } else {
      log(LogLevel::kInfo, "vendor driver {} is left out: {}",
          library.library.empty() ? library.icd : library.library, library.reason);
    }
  }
  return found;
}

}  // namespace tutti::platform
