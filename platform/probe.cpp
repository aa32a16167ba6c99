// SPDX-License-Identifier: Apache-2.0
// probe_libraries(): runs the probe program once per driver that is not remembered.
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>

#include "base/kept_file.h"
#include "base/log.h"
#include "platform/discovery.h"
#include "platform/probe_process.h"

extern char** environ;  // NOLINT: POSIX leaves its declaration to the program

namespace tutti::platform {
namespace {

namespace fs = std::filesystem;

// Variables that change what a driver does when it is loaded and queried.
constexpr std::string_view kSteeringPrefixes[] = {
    "POCL_",   "RUSTICL_", "LP_",  "OCL_", "CUDA_",  "OCLGRIND_", "GALLIUM_", "MESA_",
    "NVIDIA_", "NV_",      "AMD_", "GPU_", "ROCR_",  "HIP_",      "HSA_",     "INTEL_",
    "NEO",     "ZE_",      "CL_",  "DRI_", "LIBGL_", "LD_",       "LLVM_",    "TUTTI_TEST_"};

constexpr std::string_view kFormat = "tutti-probe 1";

std::string steering_variables() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    for (const std::string_view prefix : kSteeringPrefixes) {
      if (text.starts_with(prefix)) {
        entries.emplace_back(text);
        break;
      }
    }
  }
  std::sort(entries.begin(), entries.end());
  std::string all;
  for (const std::string& entry : entries) all += entry + '\n';
  return all;
}

// The file that dlopen would take. A bare soname is looked up where the usual folders have it; one
// found elsewhere is keyed by its name alone.
std::string likely_file(const std::string& library) {
  if (library.find('/') != std::string::npos) return library;
  std::vector<std::string> folders;
  if (const char* paths = getenv("LD_LIBRARY_PATH")) {
    std::string_view rest = paths;
    while (!rest.empty()) {
      const size_t colon = std::min(rest.find(':'), rest.size());
      folders.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
        "/usr/local/lib", "/usr/lib64", "/lib64", "/usr/lib", "/lib"}) {
    folders.emplace_back(folder);
  }
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + library;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return library;
}

// Everything that may change the verdict; a line each.
std::string key_of(const std::string& library, const std::string& variables) {
  const std::string file = likely_file(library);
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) status = {};
  utsname system{};
  uname(&system);
  return fmt::format("{}\n{}\n{}.{} {}\n{}\n{}", library, file, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec, status.st_size, system.release, variables);
}

fs::path cache_file(const std::string& cache_folder, const std::string& key) {
  return fs::path(cache_folder) / "probe" / kept_name(key);
}

// A file holds: the format, "safe" or the reason, then the whole key (two keys may share a hash).
std::optional<ProbeVerdict> recall(const fs::path& path, const std::string& key) {
  const auto kept = read_kept(path.string());
  if (!kept) return {};
  std::istringstream file(*kept);
  std::string format, verdict;
  if (!std::getline(file, format) || format != kFormat || !std::getline(file, verdict)) return {};
  const std::string rest{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (rest != key || verdict.empty()) return {};
  if (verdict == "safe") return ProbeVerdict{true, {}};
  return ProbeVerdict{
      false, fmt::format("{} (remembered; remove {} to check again)", verdict, path.string())};
}

void remember(const fs::path& path, const std::string& key, const ProbeVerdict& verdict) {
  const std::string text =
      fmt::format("{}\n{}\n{}", kFormat, verdict.safe ? "safe" : verdict.reason, key);
  if (const Status kept = keep_file(path.string(), text); !kept) {
    log(LogLevel::kDebug, "the probe's verdict is not remembered: {}", kept.error().message);
  }
}

}  // namespace

std::vector<ProbeVerdict> probe_libraries(const std::vector<std::string>& libraries,
                                          const DiscoveryOptions& options) {
  const std::string& cache_folder = options.cache_folder;
  std::vector<ProbeVerdict> verdicts(libraries.size(), ProbeVerdict{true, {}});
  if (options.probe.empty()) {
    log(LogLevel::kDebug, "no probe program: vendor drivers are not checked beforehand");
    return verdicts;
  }
  const std::string variables = steering_variables();
  std::vector<std::string> keys(libraries.size());
  std::vector<RunningProbe> running(libraries.size());
  for (size_t i = 0; i < libraries.size(); ++i) {
    keys[i] = key_of(libraries[i], variables);
    if (!cache_folder.empty()) {
      if (auto known = recall(cache_file(cache_folder, keys[i]), keys[i])) {
        verdicts[i] = *known;
        continue;
      }
    }
    running[i] = start_probe(options.probe, libraries[i], options.probe_seconds, true);
  }
  for (size_t i = 0; i < libraries.size(); ++i) {
    if (running[i].pid < 0) continue;  // remembered, or no probe could be started
    verdicts[i] = finish_probe(running[i]).verdict;
    if (cache_folder.empty() || verdicts[i].transient) continue;
    remember(cache_file(cache_folder, keys[i]), keys[i], verdicts[i]);
  }
  return verdicts;
}

}  // namespace tutti::platform
