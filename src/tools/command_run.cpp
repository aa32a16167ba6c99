// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/commands.h"
#include "tools/run_environment.h"

namespace tutti::tools {
namespace {

int complain(int code, const std::string& message) {
  fmt::print(stderr, "tutti run: {}\n", message);
  return code;
}

}  // namespace

int run(const RunOptions& options) {
  const auto alone = show_tutti_alone();
  if (!alone) return complain(kSetUpBroken, alone.error().message);
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
