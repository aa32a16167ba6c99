// SPDX-License-Identifier: Apache-2.0
// The driver's options: the table config.def, read from the program's profile (profiles.h),
// configuration files (TOML) and the environment, of which the later ones win. Reading never fails:
// what is unknown or damaged becomes a warning, and the default stays. A Config is a plain value;
// process_config() is made once, thread-safely, and is never destroyed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/profiles.h"

namespace tutti {

enum class DeviceTypeChoice : uint8_t { kAuto, kCpu, kGpu, kAccelerator };
enum class IdentityChoice : uint8_t { kAuto, kPrimary, kOwn };
enum class SplitMode : uint8_t { kAuto, kForce, kNever };
enum class ShardMode : uint8_t { kNeeded, kAlways, kStream, kNever };
enum class LookAhead : uint8_t { kAuto, kAlways, kNever };
enum class MemorySize : uint8_t { kLargest, kSum, kHost };
enum class RaceTrust : uint8_t { kTrust, kDistrust };
enum class FloatSums : uint8_t { kOrdered, kAny };
enum class ModelMemory : uint8_t { kDisk, kProcess };
enum class ProgramMemory : uint8_t { kDisk, kOff };
enum class Switch : uint8_t { kOn, kOff };
enum class BuildPlace : uint8_t { kApart, kInside };
enum class EnergyChoice : uint8_t { kAuto, kOn, kOff };
/// What the planner makes least: seconds, joules, or joules times seconds.
enum class Objective : uint8_t { kTime, kEnergy, kEnergyDelay };
/// Whether split launches are repeated whole and compared, or those that may be split computed by
/// several devices that vote; floating-point elements may differ by the relative tolerance.
struct Verify {
  bool on = false;
  bool vote = false;
  double tolerance = 1e-4;
  bool operator==(const Verify&) const = default;
};
struct LogTarget {
  LogLevel level = LogLevel::kWarning;
  std::string file;  // empty: stderr
  bool operator==(const LogTarget&) const = default;
};

/// A value and where it came from.
template <typename T>
struct Option {
  T value;
  // "default", the environment variable's name, the file's, or "the profile of OpenMM".
  std::string origin = "default";
  bool is_default() const { return origin == "default"; }
};

struct Config {
#define TUTTI_OPTION(field, NAME, type, default_value, accepted, help) \
  Option<type> field{default_value};
#include "base/config.def"
#undef TUTTI_OPTION
};

/// What a person may want to know of an option, for help texts.
struct OptionInfo {
  std::string_view variable;  // "TUTTI_BALANCER"
  std::string_view key;       // "balancer"
  std::string_view accepted;
  std::string_view help;
};
std::span<const OptionInfo> option_table();

/// An option as a person would write it.
struct OptionText {
  std::string value;          // empty: none
  std::string default_value;  // likewise
  std::string origin;         // as Option's
};
/// One per entry of option_table(), in its order.
std::vector<OptionText> option_texts(const Config& config);

/// What load_config() reads; of_process() is the real thing, tests make their own.
struct ConfigSources {
  std::vector<std::pair<std::string, std::string>> environment;  // NAME, value
  std::vector<std::string> files;  // later ones win; a file that does not exist is passed over
  /// The program whose profile holds where nobody has set anything, and the file that has it.
  ProgramNames program{};
  std::string profiles{};

  static ConfigSources of_process();
};

struct LoadedConfig {
  Config config;
  std::vector<std::string> warnings;  // each a full sentence for a person
};
LoadedConfig load_config(const ConfigSources& sources);

/// Why the driver would not take `text` for the option `variable` ("TUTTI_SPLIT"), in words that
/// name what is accepted; empty: it would. (Which balancers and devices there are is known
/// elsewhere.)
std::string value_problem(std::string_view variable, std::string_view text);

/// The files that load_config() looks at, the one that wins last, whether they exist or not.
std::vector<std::string> configuration_files(const ConfigSources& sources);

/// The process's options. The first call reads them, starts the log and logs the warnings.
const Config& process_config();

/// The folder for what is remembered (not made yet), or empty where there is none (no HOME).
std::string cache_folder(const Config& config);

}  // namespace tutti
