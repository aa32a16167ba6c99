// SPDX-License-Identifier: Apache-2.0
#include "natively.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "claims.h"
#include "device.h"

extern char** environ;

namespace tutti::kernel_fuzz {
namespace {

namespace fs = std::filesystem;

// Exit codes of run_natively; anything else is no answer.
constexpr int kAgrees = 0;
constexpr int kDiffers = 10;
constexpr int kRefuses = 11;
constexpr int kNoSuchPlatform = 12;

/// Platforms with a device, without those whose name contains `name`.
std::vector<std::string> platforms_but(const std::string& name) {
  cl_uint count = 0;
  clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(count);
  if (count > 0) clGetPlatformIDs(count, platforms.data(), nullptr);
  std::vector<std::string> names;
  for (cl_platform_id platform : platforms) {
    char text[256] = "";
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text, text, nullptr);
    cl_uint devices = 0;
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
    if (devices > 0 && std::string(text).find(name) == std::string::npos) names.emplace_back(text);
  }
  return names;
}

std::string read_line(const std::string& file) {
  std::string line;
  std::getline(std::ifstream(file) >> std::ws, line);
  return line;
}

/// The exit status as waitpid gives it; −1 where the process could not be started.
int run_self(const std::vector<std::string>& arguments) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    // Tutti is seen by the loader, but finds no vendors.
    if (text.rfind("TUTTI_", 0) != 0) environment.push_back(text);
  }
  environment.insert(environment.end(), {"TUTTI_VENDORS=/nonexistent", "TUTTI_LOG=off"});
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
    list.push_back(nullptr);
    return list;
  };
  pid_t process = 0;
  int status = -1;
  const auto argv = pointers(arguments), envp = pointers(environment);
  if (posix_spawn(&process, argv.front(), nullptr, nullptr, argv.data(), envp.data()) != 0 ||
      waitpid(process, &status, 0) != process) {
    return -1;
  }
  return status;
}

/// Up to three packages, as unequal as they come.
Pieces pieces_of(const EvaluatedLaunch& launch, bool rewritten) {
  Pieces pieces;
  pieces.dimension = launch.split() ? launch.access.verdict().dimension : 0;
  pieces.local = launch.shape.local;
  pieces.rewritten = rewritten;
  const uint64_t slices = launch.shape.groups(pieces.dimension);
  const uint64_t first = launch.split() ? (slices + 2) / 3 : slices;
  const uint64_t second = std::min(slices - first, (slices + 1) / 2);
  for (const auto& [begin, count] : std::vector<std::pair<uint64_t, uint64_t>>{
           {0, first}, {first, second}, {first + second, slices - first - second}}) {
    if (count > 0) pieces.ranges.emplace_back(begin, count);
  }
  return pieces;
}

}  // namespace

std::string first_platform_but(const std::string& name) {
  const auto names = platforms_but(name);
  if (names.empty()) throw std::runtime_error("no platform but " + name);
  return names.front();
}

std::string vendors_fault(const std::vector<KernelCase>& kernels, const Options& options) {
  std::string folder = (fs::temp_directory_path() / "tutti-kernel-fuzz-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return {};
  const std::string report = folder + "/platform";
  std::vector<std::string> arguments = {fs::read_symlink("/proc/self/exe").string(), "--virtual",
                                        options.virtual_platform, "--report", report};
  if (!options.native.empty()) arguments.insert(arguments.end(), {"--native", options.native});
  if (!options.build_options.empty()) {
    arguments.insert(arguments.end(), {"--options", options.build_options});
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    arguments.push_back(folder + "/" + std::to_string(i) + ".kernel");
    std::ofstream(arguments.back()) << to_text(kernels[i]);
  }
  std::string fault;
  for (uint32_t platform = 0; fault.empty(); ++platform) {
    auto all = arguments;
    all.insert(all.end(), {"--natively", std::to_string(platform)});
    const int status = run_self(all);
    const std::string name = read_line(report);
    if (status != -1 && WIFSIGNALED(status)) {
      if (!name.empty()) fault = name + ": signal " + std::to_string(WTERMSIG(status));
    } else if (status != -1 && WEXITSTATUS(status) == kDiffers) {
      fault = name + ": computes it wrongly";
    } else if (status != -1 && WEXITSTATUS(status) == kRefuses) {
      fault = name + ": refuses it";
    } else if (status == -1 || WEXITSTATUS(status) != kAgrees) {
      if (status == -1 || WEXITSTATUS(status) != kNoSuchPlatform) {
        std::fprintf(stderr, "(the vendors could not be asked)\n");
      }
      break;
    }
  }
  fs::remove_all(folder);
  return fault;
}

int run_natively(const Options& options) {
  const auto platforms = platforms_but(options.virtual_platform);
  if (*options.natively >= platforms.size()) return kNoSuchPlatform;
  const std::string name = platforms[*options.natively];
  const std::string native = options.native.empty() ? platforms.front() : options.native;
  std::vector<KernelCase> kernels;
  for (const std::string& file : options.replay) {
    std::ifstream in(file);
    kernels.push_back(from_text(std::string((std::istreambuf_iterator<char>(in)), {})));
  }
  const auto reference = Device::find(native, true);
  const auto device = Device::find(name, true);
  if (!reference || !device) return kNoSuchPlatform;
  std::string kernels_text;
  uint32_t language = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    kernels_text += "\n" + kernels[i].text(i);
    language = std::max(language, kernels[i].language);
  }
  const std::string build_options = options.build_options + language_option(language);
  const bool atomics64 = reference->atomics64() && device->atomics64();
  const std::string source = prelude(false, atomics64) + kernels_text;
  const auto at_work = [&](const std::string& platform) {
    if (!options.report.empty()) std::ofstream(options.report) << platform << '\n';
  };
  // What Tutti hands to vendors: the sub-range variants where there are any.
  const auto made = compiled(source, *reference, build_options);
  const uint64_t max_group = std::min(reference->max_work_group(), device->max_work_group());
  bool refused = false;
  // Every kernel's results, whole and in packages.
  const auto results = [&](Device& on) {
    std::vector<std::vector<Bytes>> whole, in_packages;
    try {
      const Program program = on.build(source, build_options);
      const Program variant =
          on.build(made.rewritten.empty() ? made.preprocessed : made.rewritten, build_options);
      for (size_t i = 0; i < kernels.size(); ++i) {
        whole.push_back(on.run(program, i, kernels[i]));
        for (const auto& summary : made.summary.kernels) {
          if (summary.name != "k" + std::to_string(i)) continue;
          const auto launch = evaluated(summary, kernels[i], max_group);
          const Pieces pieces = pieces_of(launch, summary.needs_rewrite);
          try {
            in_packages.push_back(on.run_pieces(variant, i, kernels[i], pieces));
          } catch (const LaunchFailed&) {
            in_packages.emplace_back();  // another result than that of the whole launch
          }
        }
      }
    } catch (const ClError& error) {
      std::fprintf(stderr, "%s\n", error.what());
      refused = true;
    }
    return std::pair(whole, in_packages);
  };
  at_work(native);
  const auto expected = results(*reference);
  // Nothing to compare with. `native` may be a part of the name.
  if (refused) return name.find(native) != std::string::npos ? kRefuses : kAgrees;
  at_work(name);
  // Where packages alone give something else, Tutti's variant or its cuts are at fault.
  if (expected.first != expected.second) return kAgrees;
  const auto actual = results(*device);
  if (refused) return kRefuses;
  return actual == expected ? kAgrees : kDiffers;
}

}  // namespace tutti::kernel_fuzz
