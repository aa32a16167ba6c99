// SPDX-License-Identifier: Apache-2.0
// The machine and the user's surroundings: GPUs, permissions, environment, configuration, cache.
#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/kept_file.h"
#include "base/live_counters.h"
#include "base/lower_case.h"
#include "tools/doctor.h"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

struct Variable {
  std::string_view name;
  std::string_view effect;
};
constexpr Variable kVariables[] = {
    {"OCL_ICD_VENDORS", "the loader looks there for drivers; tutti run hands it to Tutti"},
    {"OPENCL_VENDOR_PATH", "ocl-icd looks there for drivers; tutti run hands it to Tutti"},
    {"OCL_ICD_FILENAMES", "the Khronos loader adds these drivers; tutti run hands them to Tutti"},
    {"OCL_ICD_PLATFORM_SORT", "the order of ocl-icd's platforms"},
    {"OCL_ICD_DEFAULT_PLATFORM", "ocl-icd's default platform"},
    {"OPENCL_LAYERS", "layers that stand between application and drivers"},
    {"POCL_DEVICES", "the devices that PoCL shows"},
    {"POCL_MAX_PTHREAD_COUNT", "the cores that PoCL uses"},
    {"POCL_CACHE_DIR", "where PoCL keeps compiled kernels"},
    {"RUSTICL_ENABLE", "the drivers whose devices Rusticl shows"},
    {"RUSTICL_DEVICE_TYPE", "the device type that Rusticl reports"},
    {"LP_NUM_THREADS", "llvmpipe's threads"},
    {"CUDA_VISIBLE_DEVICES", "the GPUs that NVIDIA's driver shows"},
    {"NVIDIA_VISIBLE_DEVICES", "the GPUs that NVIDIA's container run time shows"},
    {"ROCR_VISIBLE_DEVICES", "the GPUs that AMD's driver shows"},
    {"HIP_VISIBLE_DEVICES", "the GPUs that AMD's driver shows"},
    {"GPU_DEVICE_ORDINAL", "the GPUs that AMD's driver shows"},
    {"ZE_AFFINITY_MASK", "the GPUs that Intel's driver shows"},
    {"LD_LIBRARY_PATH", "libraries of these folders come before the system's"},
    {"LD_PRELOAD", "these libraries come before all others"},
};

/// Below it a cache is called full: PoCL's kernels are some hundred KiB each.
constexpr uint64_t kLittleSpace = uint64_t{16} << 20;

std::string group_name(gid_t group) {
  const ::group* entry = getgrgid(group);
  return entry ? entry->gr_name : std::to_string(group);
}

bool is_gpu_node(const std::string& folder, const std::string& name) {
  const auto numbered = [&name](std::string_view prefix) {
    return name.starts_with(prefix) && name.size() > prefix.size() &&
           name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  };
  if (folder == "dri") return numbered("renderD");
  return name == "kfd" || name == "nvidiactl" || name == "nvidia-uvm" || numbered("nvidia");
}

void check_node(const fs::path& node, Findings& findings) {
  if (access(node.c_str(), R_OK | W_OK) == 0) {
    findings.push_back({Severity::kOk, "permissions", node.string() + " is accessible", {}});
    return;
  }
  const int error = errno;
  struct stat status {};
  std::string fix = "see whether the kernel's driver for it is loaded";
  if (error == EACCES && stat(node.c_str(), &status) == 0) {
    // Group read and write is what distributions give render and video.
    const bool by_group = (status.st_mode & 0060) == 0060 && status.st_gid != 0;
    fix = by_group ? fmt::format("usermod -aG {} USER, and log in again", group_name(status.st_gid))
                   : fmt::format("give users access: it has mode {:o}, group {}",
                                 status.st_mode & 0777, group_name(status.st_gid));
  }
  findings.push_back({Severity::kWarning, "permissions",
                      fmt::format("{} cannot be used: {}", node.string(), strerror(error)), fix});
}

struct CardMaker {
  std::string_view pci_vendor;
  std::string_view name;
  std::vector<std::string_view> words;  // in the names of its platforms and devices
  std::string_view fix;
};

const std::vector<CardMaker>& card_makers() {
  static const auto* makers = new std::vector<CardMaker>{
      {"0x10de", "NVIDIA", {"nvidia"}, "apt-get install nvidia-opencl-icd (non-free)"},
      {"0x1002",
       "AMD",
       {"amd", "radeon"},
       "install ROCm's OpenCL, or mesa-opencl-icd and set RUSTICL_ENABLE=radeonsi"},
      {"0x8086",
       "Intel",
       {"intel"},
       "apt-get install intel-opencl-icd, or mesa-opencl-icd and set RUSTICL_ENABLE=iris"},
  };
  return *makers;
}

// Bytes in the files of a folder, and how many files; what cannot be read is passed over.
std::pair<uint64_t, size_t> size_of(const fs::path& folder) {
  uint64_t bytes = 0;
  size_t files = 0;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(folder, options, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (!at->is_regular_file(ignored)) continue;
    const uintmax_t size = at->file_size(ignored);
    if (!ignored) bytes += size;
    ++files;
  }
  return {bytes, files};
}

// Empty where a file can be written, else why not.
std::string why_not_writable(const fs::path& folder) {
  const auto own = OwnFolder::open(folder.string(), OwnFolder::Missing::kFails);
  if (!own) return own.error().message;
  const std::string name = fmt::format("doctor-{}", getpid());
  const Status kept = own->keep(name, std::string(4096, 'x'));
  own->remove(name);
  return kept ? std::string() : kept.error().message;
}

}  // namespace

void check_names(const std::vector<std::string>& problems, Findings& findings) {
  for (const std::string& problem : problems) {
    findings.push_back({Severity::kWarning, "configuration", problem,
                        "tutti devices lists the devices, docs/balancers.md the balancers"});
  }
}

void check_configuration(const ConfigSources& sources, const LoadedConfig& loaded,
                         Findings& findings) {
  for (const std::string& warning : loaded.warnings) {
    findings.push_back({Severity::kWarning, "configuration", warning,
                        "tutti config shows what holds, docs/options.md what is accepted"});
  }
  std::string read;
  for (const std::string& path : configuration_files(sources)) {
    std::error_code error;
    if (fs::exists(path, error)) read += (read.empty() ? "" : ", ") + path;
  }
  if (loaded.warnings.empty()) {
    findings.push_back({Severity::kOk,
                        "configuration",
                        read.empty() ? "no configuration file: defaults" : "read from " + read,
                        {}});
  }
}

void check_environment(const std::vector<std::pair<std::string, std::string>>& environment,
                       Findings& findings) {
  const size_t before = findings.size();
  for (const auto& [name, value] : environment) {
    const auto* known = std::find_if(std::begin(kVariables), std::end(kVariables),
                                     [&n = name](const Variable& v) { return v.name == n; });
    std::string effect;
    if (known != std::end(kVariables)) effect = known->effect;
    for (const OptionInfo& option : option_table()) {
      if (option.variable == name) effect = option.help;
    }
    if (effect.empty()) continue;
    const bool hides = name.ends_with("_VISIBLE_DEVICES") &&
                       (value.empty() || value == "-1" || value == "none" || value == "void");
    findings.push_back({hides ? Severity::kWarning : Severity::kNote, "environment",
                        fmt::format("{}={}: {}{}", name, value, effect, hides ? ": none" : ""),
                        hides ? "unset " + name : ""});
  }
  if (findings.size() == before) {
    findings.push_back(
        {Severity::kOk, "environment", "nothing that changes drivers or devices is set", {}});
  }
}

void check_cache(const std::string& folder, Findings& findings) {
  const auto add = [&findings](Severity severity, std::string text, std::string fix) {
    findings.push_back({severity, "cache", std::move(text), std::move(fix)});
  };
  if (folder.empty()) {
    add(Severity::kNote, "nothing is remembered: neither HOME nor XDG_CACHE_HOME is set",
        "set TUTTI_CACHE to a folder");
    return;
  }
  const std::string fix = "make the folder writable, or set TUTTI_CACHE to another one";
  std::error_code error;
  if (!fs::exists(folder, error)) {
    // The driver makes it when it has something to remember.
    fs::path parent = folder;
    while (!fs::exists(parent, error) && parent.has_relative_path()) parent = parent.parent_path();
    if (access(parent.c_str(), W_OK | X_OK) == 0) {
      add(Severity::kOk, folder + " does not exist yet", {});
    } else {
      add(Severity::kWarning,
          fmt::format("{} cannot be made: {}: {}", folder, parent.string(), strerror(errno)), fix);
    }
    return;
  }
  if (!fs::is_directory(folder, error)) {
    add(Severity::kWarning, folder + " is not a folder", fix);
    return;
  }
  struct statvfs space {};
  const bool known = statvfs(folder.c_str(), &space) == 0;
  const uint64_t free = known ? uint64_t{space.f_bavail} * space.f_frsize : 0;
  if (const std::string why = why_not_writable(folder); !why.empty()) {
    add(Severity::kWarning,
        fmt::format("{} cannot be written: {}; nothing is remembered", folder, why),
        why == kOthersMayWrite ? "chmod go-w " + folder : fix);
  } else if (known && free < kLittleSpace) {
    add(Severity::kWarning, fmt::format("{} is nearly full: {} KiB are left", folder, free >> 10),
        "free some space, or set TUTTI_CACHE to another folder");
  } else {
    const auto [bytes, files] = size_of(folder);
    add(Severity::kOk,
        fmt::format("{}: {} file{}, {} KiB, {} MiB free", folder, files, files == 1 ? "" : "s",
                    (bytes + 1023) >> 10, free >> 20),
        {});
  }
}

void check_board(const Config& config, const std::string& own, Findings& findings) {
  const auto add = [&findings](Severity severity, std::string text, std::string fix = {}) {
    findings.push_back({severity, "neighbours", std::move(text), std::move(fix)});
  };
  if (config.neighbours.value == Switch::kOff || config.top.value == Switch::kOff) {
    const bool deaf = config.neighbours.value == Switch::kOff;
    add(Severity::kNote,
        fmt::format("launches are {} ({}=off)",
                    deaf ? "not planned around other processes" : "not shown to other processes",
                    deaf ? "TUTTI_NEIGHBOURS" : "TUTTI_TOP"));
    return;
  }
  const std::string& folder = config.board.value;
  const live::Board board = live::board_for(folder, own);
  if (board.of_machine) {
    add(Severity::kOk, fmt::format("launches are planned around those of all users: {}", folder));
    return;
  }
  const std::string alone = "launches are planned around those of this user alone";
  if (board.problem.empty()) {
    add(Severity::kOk, fmt::format("{} (TUTTI_BOARD=user)", alone));
  } else if (board.missing) {
    add(Severity::kNote, fmt::format("{}: there is no {}", alone, folder),
        fmt::format("as root, until the next start: install -d -m 1777 {}", folder));
  } else {
    add(Severity::kWarning, fmt::format("{}: {}: {}", alone, folder, board.problem),
        board.problem == kNotSticky
            ? "chmod +t " + folder
            : fmt::format("as root: install -d -m 1777 {}; or set TUTTI_BOARD=user", folder));
  }
}

void check_device_nodes(const fs::path& root, Findings& findings) {
  std::vector<fs::path> nodes;
  for (const char* folder : {"", "dri"}) {
    std::error_code error;
    for (fs::directory_iterator at(root / folder, error), end; !error && at != end;
         at.increment(error)) {
      if (is_gpu_node(folder, at->path().filename().string())) nodes.push_back(at->path());
    }
  }
  std::sort(nodes.begin(), nodes.end());
  for (const fs::path& node : nodes) check_node(node, findings);
  if (nodes.empty()) {
    findings.push_back(
        {Severity::kOk, "permissions", fmt::format("no GPU's files in {}", root.string()), {}});
  }
}

void check_graphics_cards(const fs::path& pci, const std::vector<platform::DeviceReport>& devices,
                          Findings& findings) {
  std::vector<size_t> cards(card_makers().size());
  std::error_code error;
  for (fs::directory_iterator at(pci, error), end; !error && at != end; at.increment(error)) {
    const std::string kind = first_line_of(at->path() / "class");
    // Display controllers, and accelerators, as data centres' cards may call themselves.
    if (!kind.starts_with("0x03") && !kind.starts_with("0x12")) continue;
    const std::string vendor = first_line_of(at->path() / "vendor");
    for (size_t i = 0; i < cards.size(); ++i) cards[i] += card_makers()[i].pci_vendor == vendor;
  }
  for (size_t i = 0; i < cards.size(); ++i) {
    if (cards[i] == 0) continue;
    const CardMaker& maker = card_makers()[i];
    const bool shown = std::any_of(devices.begin(), devices.end(), [&maker](const auto& device) {
      return device.type != CL_DEVICE_TYPE_CPU &&
             std::any_of(maker.words.begin(), maker.words.end(), [&device](std::string_view word) {
               return contains_ignoring_case(device.platform + " " + device.name, word);
             });
    });
    const std::string text =
        fmt::format("{} graphics card{} of {}", cards[i], cards[i] == 1 ? "" : "s", maker.name);
    if (shown) {
      findings.push_back({Severity::kOk, "devices", text + " with a driver", {}});
    } else {
      findings.push_back({Severity::kNote, "devices", text + ", which no OpenCL driver shows",
                          std::string(maker.fix)});
    }
  }
}

}  // namespace tutti::tools
