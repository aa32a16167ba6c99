// SPDX-License-Identifier: Apache-2.0
// Candidates that depend on the machine. Somebody waits at a prompt: what may take long is asked by
// a process that nobody waits for, and its answer is kept for the next time.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>

#include "base/config.h"
#include "base/kept_file.h"
#include "base/printable.h"
#include "platform/composition_devices.h"
#include "record/files.h"
#include "tools/completion.h"

namespace tutti::tools {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(1000);
constexpr unsigned kWatchdogSeconds = 30;
constexpr uint64_t kLargestSource = 4 * kMiB;

namespace fs = std::filesystem;

/// Where the devices of these vendors are kept: what is set for them may change what they show.
std::string kept_devices() {
  const std::string folder = cache_folder(process_config());
  if (folder.empty()) return {};
  std::string settings;
  for (char** entry = environ; *entry; ++entry) {
    for (const char* prefix : {"TUTTI_", "POCL_", "RUSTICL_", "CUDA_", "OCL_", "OPENCL_"}) {
      if (std::string_view(*entry).starts_with(prefix)) settings += *entry + std::string("\n");
    }
  }
  return folder + "/devices-" + std::to_string(std::hash<std::string>()(settings));
}

/// "index<tab>platform, name" per line.
std::string listed_devices() {
  std::vector<platform::DeviceReport> report;
  static const auto backends = platform::choose_devices(process_config(), report);
  std::string text;
  for (const platform::DeviceReport& device : report) {
    text += std::to_string(device.index) + "\t" + printable(device.platform) + ", " +
            printable(device.label()) + "\n";
  }
  return text;
}

/// In a process of its own, which outlives us where vendors take their time or hang.
[[noreturn]] void list_devices_for(int pipe, const std::string& kept) {
  setsid();
  alarm(kWatchdogSeconds);
  const int nothing = open("/dev/null", O_RDWR);
  for (int stream = 0; stream < 3; ++stream) dup2(nothing, stream);
  const std::string text = listed_devices();
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(pipe, text.data() + written, text.size() - written);
    if (count <= 0) break;
    written += static_cast<size_t>(count);
  }
  if (!kept.empty()) (void)keep_file(kept, text);
  _exit(0);
}

/// Empty where nothing came in time.
std::string asked_devices(const std::string& kept) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  signal(SIGPIPE, SIG_IGN);  // the child's, when we no longer listen
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    list_devices_for(ends[1], kept);
  }
  close(ends[1]);
  std::string text;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  bool complete = false;
  while (child > 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd waiting{ends[0], POLLIN, 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) <= 0) break;
    char part[4096];
    const ssize_t count = read(ends[0], part, sizeof part);
    if (count <= 0) {
      complete = count == 0;
      break;
    }
    text.append(part, static_cast<size_t>(count));
  }
  close(ends[0]);
  return complete ? text : std::string();
}

/// Comments, strings and directives become spaces.
std::string without_comments(std::string_view source) {
  std::string made;
  for (size_t i = 0; i < source.size();) {
    const std::string_view rest = source.substr(i);
    size_t end = i + 1;
    if (rest.starts_with("//")) {
      end = source.find('\n', i);
    } else if (rest.starts_with("/*")) {
      end = source.find("*/", i + 2);
      if (end != source.npos) end += 2;
    } else if (rest[0] == '"' || rest[0] == '\'') {
      for (; end < source.size() && source[end] != rest[0] && source[end] != '\n'; ++end) {
        if (source[end] == '\\') ++end;
      }
      ++end;
    } else {
      made += rest[0];
      i = end;
      continue;
    }
    made += ' ';
    i = std::min(end, source.size());
  }
  return made;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Words and single signs.
std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end == i) end = i + 1;
    if (text[i] > ' ' || is_word(text[i])) tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

}  // namespace

std::vector<Candidate> program_candidates() {
  std::vector<Candidate> candidates;
  const auto profiles = read_profiles(profiles_file());
  if (!profiles) return candidates;
  for (const Profile& profile : *profiles) {
    candidates.push_back({profile.program, "What it checks of a device"});
  }
  return candidates;
}

std::vector<Candidate> device_candidates() {
  const std::string kept = kept_devices();
  std::string text = asked_devices(kept);
  if (text.empty() && !kept.empty()) text = read_kept(kept).value_or(std::string());
  std::vector<Candidate> candidates;
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    if (tab == line.npos) continue;
    candidates.push_back({line.substr(0, tab), line.substr(tab + 1)});
    // The begin of its name does, too, and says more.
    const std::string name = line.substr(line.find(", ", tab) + 2);
    const std::string begin = name.substr(0, name.find_first_of(" ,"));
    if (std::find(names.begin(), names.end(), begin) == names.end()) names.push_back(begin);
  }
  for (const std::string& name : names) candidates.push_back({name, "all devices of this name"});
  return candidates;
}

std::vector<std::string> kernel_names(std::string_view source) {
  std::vector<std::string> names;
  const std::vector<std::string> tokens = tokens_of(without_comments(source));
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] != "kernel" && tokens[i] != "__kernel") continue;
    for (++i; i + 1 < tokens.size() && tokens[i] != ";" && tokens[i] != "{"; ++i) {
      if (tokens[i] == "__attribute__") {
        size_t depth = 0;
        do {
          ++i;
          depth += tokens[i] == "(" ? 1 : 0;
          depth -= tokens[i] == ")" && depth > 0 ? 1 : 0;
        } while (depth > 0 && i + 1 < tokens.size());
      } else if (tokens[i + 1] == "(" && is_word(tokens[i][0])) {
        // A declaration and its definition are one kernel.
        if (std::find(names.begin(), names.end(), tokens[i]) == names.end()) {
          names.push_back(tokens[i]);
        }
        break;
      }
    }
  }
  return names;
}

std::vector<Candidate> kernel_candidates(const std::vector<std::string>& words) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const auto source = read_file(words[i], {.most_bytes = kLargestSource});
    if (!source) continue;
    for (const std::string& name : kernel_names(*source)) {
      candidates.push_back({name, "in " + words[i]});
    }
  }
  return candidates;
}

std::vector<Candidate> record_candidates(const std::string& begun) {
  const std::string before = begun.substr(0, begun.find_last_of('/') + 1);
  std::string folder = before.empty() ? "." : before;
  const char* home = std::getenv("HOME");
  if (folder.starts_with("~/") && home) folder.replace(0, 1, home);
  std::vector<Candidate> records, folders;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    const std::string text = before + entry->path().filename().string();
    if (!text.starts_with(begun) || !entry->is_directory(unknown)) continue;
    if (fs::is_regular_file(record::calls_file(entry->path().string()), unknown)) {
      records.push_back({text, "a record"});
    } else if (!entry->path().filename().string().starts_with(".")) {
      folders.push_back({text + "/", ""});
    }
  }
  std::vector<Candidate>& found = records.empty() ? folders : records;
  std::sort(found.begin(), found.end(),
            [](const Candidate& a, const Candidate& b) { return a.text < b.text; });
  return found;
}

}  // namespace tutti::tools
