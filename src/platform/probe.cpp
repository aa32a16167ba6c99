// SPDX-License-Identifier: Apache-2.0
// probe_libraries(): runs the probe program once per driver that is not remembered, reads its
// verdict from a pipe. The verdict is the line "safe": a crash, a hang (the probe's own watch-dog
// ends it) or an abort leaves none. The pipe and not the exit status decides, since the application
// may ignore or reap child processes.
#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "platform/discovery.h"
#include "platform/log.h"

extern char** environ;  // NOLINT: POSIX leaves its declaration to the program

namespace tutti {
namespace {

namespace fs = std::filesystem;

// Variables that change what a driver does when it is loaded and queried.
constexpr std::string_view kSteeringPrefixes[] = {
    "POCL_",   "RUSTICL_", "LP_",  "OCL_", "CUDA_",  "OCLGRIND_", "GALLIUM_", "MESA_",
    "NVIDIA_", "NV_",      "AMD_", "GPU_", "ROCR_",  "HIP_",      "HSA_",     "INTEL_",
    "NEO",     "ZE_",      "CL_",  "DRI_", "LIBGL_", "LD_",       "LLVM_",    "TUTTI_TEST_"};

constexpr std::string_view kFormat = "tutti-probe 1";
constexpr int kResultPipe = 3;  // as tools/probe/main.cpp has it

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

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

fs::path cache_file(const std::string& cache_folder, const std::string& key) {
  return fs::path(cache_folder) / "probe" / fmt::format("{:016x}", fnv1a(key));
}

// A file holds: the format, "safe" or the reason, then the whole key (two keys may share a hash).
std::optional<ProbeVerdict> recall(const fs::path& path, const std::string& key) {
  std::ifstream file(path, std::ios::binary);
  std::string format, verdict;
  if (!std::getline(file, format) || format != kFormat || !std::getline(file, verdict)) return {};
  const std::string rest{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (rest != key || verdict.empty()) return {};
  if (verdict == "safe") return ProbeVerdict{true, {}};
  return ProbeVerdict{
      false, fmt::format("{} (remembered; remove {} to check again)", verdict, path.string())};
}

void remember(const fs::path& path, const std::string& key, const ProbeVerdict& verdict) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::string temporary = path.string() + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) {
    log(LogLevel::kDebug, "the probe's verdict is not remembered: {}: {}", path.string(),
        strerror(errno));
    return;
  }
  const std::string text =
      fmt::format("{}\n{}\n{}", kFormat, verdict.safe ? "safe" : verdict.reason, key);
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  // Readers see the old file or the whole new one.
  if (!written || rename(temporary.c_str(), path.c_str()) != 0) unlink(temporary.c_str());
}

struct RunningProbe {
  pid_t pid = -1;
  int pipe = -1;
};

RunningProbe start_probe(const DiscoveryOptions& options, const std::string& library) {
  RunningProbe running;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return running;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kResultPipe);
  // The application's blocked signals and handlers must not reach the probe's watch-dog.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::string mark = std::string(kInsideProbe) + "=1";
  std::vector<char*> environment;
  for (char** entry = environ; entry && *entry; ++entry) environment.push_back(*entry);
  environment.push_back(mark.data());
  environment.push_back(nullptr);
  std::string program = options.probe, argument = library;
  std::string seconds = std::to_string(options.probe_seconds);
  std::array<char*, 4> arguments{program.data(), argument.data(), seconds.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(),
                                environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[1]);
  if (error != 0) {
    log(LogLevel::kDebug, "{}: {}", program, strerror(error));
    close(ends[0]);
    return running;
  }
  running.pid = pid;
  running.pipe = ends[0];
  return running;
}

ProbeVerdict finish_probe(const RunningProbe& running) {
  std::string answer;
  std::array<char, 256> block{};
  for (;;) {
    const ssize_t count = read(running.pipe, block.data(), block.size());
    if (count > 0) {
      answer.append(block.data(), static_cast<size_t>(count));
      // The verdict is in; a driver that hangs or crashes when it is unloaded is not waited for.
      if (answer.find('\n') != std::string::npos) break;
    } else if (count == 0 || errno != EINTR) {
      break;
    }
  }
  close(running.pipe);
  int status = 0;
  pid_t waited = -1;
  do {
    waited = waitpid(running.pid, &status, 0);
  } while (waited < 0 && errno == EINTR);
  if (answer == "safe\n") return {true, {}};
  if (waited == running.pid && WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGALRM) return {false, "hangs when it is queried"};
    return {false, fmt::format("crashes when it is queried ({})", strsignal(signal))};
  }
  return {false, "ends the process when it is queried"};
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
    running[i] = start_probe(options, libraries[i]);
  }
  for (size_t i = 0; i < libraries.size(); ++i) {
    if (running[i].pid < 0) continue;  // remembered, or no probe could be started
    verdicts[i] = finish_probe(running[i]);
    if (!cache_folder.empty()) remember(cache_file(cache_folder, keys[i]), keys[i], verdicts[i]);
  }
  return verdicts;
}

}  // namespace tutti
