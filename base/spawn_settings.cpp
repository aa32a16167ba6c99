// SPDX-License-Identifier: Apache-2.0
#include "base/spawn_settings.h"

#include <fcntl.h>
#include <signal.h>

extern char** environ;  // NOLINT: POSIX leaves its declaration to the program

namespace tutti {

SpawnSettings::SpawnSettings(int flags) {
  posix_spawn_file_actions_init(&actions_);
  posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions_, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions_, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_init(&attributes_);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes_, &none);
  posix_spawnattr_setsigdefault(&attributes_, &all);
  posix_spawnattr_setflags(
      &attributes_, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | flags));
}

SpawnSettings::~SpawnSettings() {
  posix_spawn_file_actions_destroy(&actions_);
  posix_spawnattr_destroy(&attributes_);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<char*> environment_with(std::vector<std::string>& added) {
  std::vector<char*> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    variables.push_back(*entry);
  }
  for (char* entry : pointers_to(added)) variables.push_back(entry);
  return variables;
}

std::vector<std::string> copy_of_environment() {
  std::vector<std::string> none;
  const std::vector<char*> variables = environment_with(none);
  return {variables.begin(), variables.end() - 1};  // without the null
}

}  // namespace tutti
