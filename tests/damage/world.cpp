// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/printable.h"

namespace tutti::damage {

namespace fs = std::filesystem;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& content) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void Case::note(const std::vector<std::string>& words, const std::string& problem,
                const std::string& output) {
  constexpr size_t kMost = 3000;
  problems_ += fmt::format("  {}: {}\n{}\n", fmt::join(words, " "), problem,
                           printable(output.substr(0, kMost), "\n"));
}

std::string Case::tutti(const std::vector<std::string>& words, const Variables& variables) {
  std::vector<std::string> all{tool_};
  all.insert(all.end(), words.begin(), words.end());
  const Ended ended = run(all, variables);
  if (const std::string problem = problem_of(ended); !problem.empty()) {
    note(words, problem, ended.output);
  }
  return ended.output;
}

void Case::client(const Variables& variables, bool right) {
  const Ended ended = run({self_, "--client"}, variables);
  std::string problem = problem_of(ended);
  if (problem.empty() && right && WEXITSTATUS(ended.status) != 0) problem = "wrong results";
  if (!problem.empty()) note({"the client"}, problem, ended.output);
}

void Case::self(const std::vector<std::string>& words) {
  std::vector<std::string> all{self_};
  all.insert(all.end(), words.begin(), words.end());
  const Ended ended = run(all);
  if (const std::string problem = problem_of(ended); !problem.empty()) {
    note(words, problem, ended.output);
  }
}

void Case::expect(bool condition, const std::string& what) {
  if (!condition) problems_ += "  " + what + "\n";
}

}  // namespace tutti::damage
