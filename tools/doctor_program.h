// SPDX-License-Identifier: Apache-2.0
// `tutti doctor PROGRAM`: would the program take the Tutti device, and as good as the primary
// natively. Used by one thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/profiles.h"
#include "platform/capability_merger.h"

namespace tutti::tools {

/// A check of a program's profile, judged.
struct JudgedCheck {
  ProfileCheck check;
  bool holds = false;                // of the Tutti device
  bool primary_holds = false;        // of the primary, natively
  bool answered = false;             // by the Tutti device
  std::string value, primary_value;  // "not answered" where it is not
  std::string fix;                   // what helps; empty where it holds, or nothing does
};

/// What a setting of the program's profile has come to.
struct ProfileSetting {
  std::string key, value;  // the profile's
  std::string holds;       // what holds instead, since somebody has set it; empty: the profile's
  std::string origin;      // of what holds
};

/// A property of the Tutti device, and of the primary natively.
struct PropertyPair {
  std::string property, value, primary_value;
};

struct ProgramReport {
  std::string program;  // the profile's, else as it was named
  bool known = false;   // it has a profile
  std::vector<ProfileSetting> settings;
  std::vector<JudgedCheck> checks;
  std::vector<PropertyPair> properties;  // all that programs commonly check

  /// No check fails after which the program takes no device.
  bool accepted() const;
};

/// The virtual device that is judged: `devices` is not empty and lives longer, `config` has the
/// profile's settings in it.
struct JudgedDevices {
  std::span<const platform::DeviceFacts> devices;
  size_t primary = 0;  // an index into them
  const Config& config;
};

/// `profile`: null where there is none for the program.
ProgramReport judge_program(const std::string& program, const Profile* profile,
                            const JudgedDevices& judged);

}  // namespace tutti::tools
