// SPDX-License-Identifier: Apache-2.0
// How programs of ours are started from within the application, by posix_spawn: with nothing of its
// streams, and with no signal blocked or handled.
#pragma once

#include <spawn.h>

#include <string>
#include <vector>

namespace tutti {

class SpawnSettings {
 public:
  /// `flags`: POSIX_SPAWN_… beside those for the signals.
  explicit SpawnSettings(int flags = 0);
  ~SpawnSettings();
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t* actions() { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// As posix_spawn takes them, with a null at the end; refers to `texts`.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

/// The application's environment and, behind it, `added` ("NAME=value"), likewise.
std::vector<char*> environment_with(std::vector<std::string>& added);
/// As it is now ("NAME=value"), for threads of our own: the application may change its variables.
std::vector<std::string> copy_of_environment();

}  // namespace tutti
