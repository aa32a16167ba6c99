// SPDX-License-Identifier: Apache-2.0
// Profiles of programs, read from share/tutti/profiles.toml: how a program is recognised, what it
// checks of an OpenCL device, and which settings it gets where the user has made none. Whether a
// check holds is judged by the tools; here it is plain data. Thread-safe, stateless.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tutti {

/// One thing that a program looks at, and what it does where it is not as it wants it.
struct ProfileCheck {
  std::string property;  // "device vendor": one of those that tools/device_view.h knows
  /// Of texts: one of these is in it, or begins it. Of lists (extensions): one of these is an item.
  std::vector<std::string> contains, begins, lacks;
  double at_least = 0;  // of numbers; 0: nothing is asked
  double below = 0;     // likewise
  bool ignore_case = false;
  bool refuses = false;   // the program takes no device that fails; else it treats it worse
  std::string otherwise;  // what follows, in words
  std::string help;       // what helps and is no setting of Tutti's; may be empty
  std::string source;     // "owner/repository: file"
};

struct Profile {
  std::string program;                   // "OpenMM"
  std::vector<std::string> executables;  // names of files, without folders
  std::vector<std::string> libraries;    // of a program that is a library: without ".so…"
  std::vector<std::pair<std::string, std::string>> settings;  // keys of config.def, and values
  std::vector<ProfileCheck> checks;
};

/// What is known of a process: names of files, without folders.
struct ProgramNames {
  std::string executable;
  std::vector<std::string> libraries;  // that are loaded, without ".so…"

  /// This process's; empty in the command `tutti` and in other programs of ours, for which there
  /// are no profiles.
  static ProgramNames of_process();
};

/// profiles.toml of this installation; empty where there is none.
std::string profiles_file();

/// The error says what is wrong, with file and line. A file that does not exist has no profiles.
Result<std::vector<Profile>> read_profiles(const std::string& path);

/// Null where none fits.
const Profile* profile_of(const std::vector<Profile>& profiles, const ProgramNames& program);
/// The same from the file, which is looked into no further where it does not name the program: this
/// happens in every process.
Result<std::optional<Profile>> read_profile_of(const std::string& path,
                                               const ProgramNames& program);
/// By a program's name or that of its executable, which may have a folder; upper and lower case are
/// alike.
const Profile* profile_named(const std::vector<Profile>& profiles, std::string_view name);

}  // namespace tutti
