// SPDX-License-Identifier: Apache-2.0
#include "base/config.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <type_traits>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "base/lower_case.h"
#include "base/memory_reserve.h"
#include "base/nearest.h"
#include "base/nodes.h"
#include "base/safe_file.h"

extern char** environ;  // NOLINT: POSIX leaves its declaration to the program

namespace tutti {
namespace {

constexpr std::string_view kPrefix = "TUTTI_";
// Set by ourselves for the probe process and by test programs for themselves: no options.
constexpr std::string_view kOtherPrefixes[] = {"TUTTI_TEST_", "TUTTI_INSIDE_PROBE"};

// The key of each option, made from its name at start-up: the table has upper case only.
const std::vector<std::string>& option_keys() {
  static const auto* keys = new std::vector<std::string>{
#define TUTTI_OPTION(field, NAME, type, default_value, accepted, help) lower_case(#NAME),
#include "base/config.def"
#undef TUTTI_OPTION
  };
  return *keys;
}

// parse_option(text, type tag): the value, or nothing where the text is not accepted.
template <typename T>
struct Tag {};

std::optional<std::string> parse_option(std::string_view text, Tag<std::string>) {
  return std::string(text);
}

template <typename Integer>
std::optional<Integer> parse_integer(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}
std::optional<uint32_t> parse_option(std::string_view text, Tag<uint32_t>) {
  return parse_integer<uint32_t>(text);
}
std::optional<uint64_t> parse_option(std::string_view text, Tag<uint64_t>) {
  return parse_integer<uint64_t>(text);
}

// The names of an enumeration's values, for both ways.
template <typename Enum>
using Names = std::vector<std::pair<std::string_view, Enum>>;

const Names<IdentityChoice>& names_of(Tag<IdentityChoice>) {
  static const auto* names = new Names<IdentityChoice>{{"auto", IdentityChoice::kAuto},
                                                       {"primary", IdentityChoice::kPrimary},
                                                       {"own", IdentityChoice::kOwn}};
  return *names;
}
const Names<DeviceTypeChoice>& names_of(Tag<DeviceTypeChoice>) {
  static const auto* names =
      new Names<DeviceTypeChoice>{{"auto", DeviceTypeChoice::kAuto},
                                  {"cpu", DeviceTypeChoice::kCpu},
                                  {"gpu", DeviceTypeChoice::kGpu},
                                  {"accelerator", DeviceTypeChoice::kAccelerator}};
  return *names;
}
const Names<SplitMode>& names_of(Tag<SplitMode>) {
  static const auto* names = new Names<SplitMode>{
      {"auto", SplitMode::kAuto}, {"force", SplitMode::kForce}, {"never", SplitMode::kNever}};
  return *names;
}
const Names<ShardMode>& names_of(Tag<ShardMode>) {
  static const auto* names = new Names<ShardMode>{{"needed", ShardMode::kNeeded},
                                                  {"always", ShardMode::kAlways},
                                                  {"stream", ShardMode::kStream},
                                                  {"never", ShardMode::kNever}};
  return *names;
}
const Names<LookAhead>& names_of(Tag<LookAhead>) {
  static const auto* names = new Names<LookAhead>{
      {"auto", LookAhead::kAuto}, {"always", LookAhead::kAlways}, {"never", LookAhead::kNever}};
  return *names;
}
const Names<MemorySize>& names_of(Tag<MemorySize>) {
  static const auto* names = new Names<MemorySize>{
      {"largest", MemorySize::kLargest}, {"sum", MemorySize::kSum}, {"host", MemorySize::kHost}};
  return *names;
}
const Names<FloatSums>& names_of(Tag<FloatSums>) {
  static const auto* names =
      new Names<FloatSums>{{"ordered", FloatSums::kOrdered}, {"any", FloatSums::kAny}};
  return *names;
}
const Names<RaceTrust>& names_of(Tag<RaceTrust>) {
  static const auto* names =
      new Names<RaceTrust>{{"trust", RaceTrust::kTrust}, {"distrust", RaceTrust::kDistrust}};
  return *names;
}

const Names<ModelMemory>& names_of(Tag<ModelMemory>) {
  static const auto* names =
      new Names<ModelMemory>{{"disk", ModelMemory::kDisk}, {"process", ModelMemory::kProcess}};
  return *names;
}

const Names<Switch>& names_of(Tag<Switch>) {
  static const auto* names = new Names<Switch>{{"on", Switch::kOn}, {"off", Switch::kOff}};
  return *names;
}

const Names<BuildPlace>& names_of(Tag<BuildPlace>) {
  static const auto* names =
      new Names<BuildPlace>{{"apart", BuildPlace::kApart}, {"inside", BuildPlace::kInside}};
  return *names;
}

const Names<ProgramMemory>& names_of(Tag<ProgramMemory>) {
  static const auto* names =
      new Names<ProgramMemory>{{"disk", ProgramMemory::kDisk}, {"off", ProgramMemory::kOff}};
  return *names;
}

const Names<EnergyChoice>& names_of(Tag<EnergyChoice>) {
  static const auto* names = new Names<EnergyChoice>{
      {"auto", EnergyChoice::kAuto}, {"on", EnergyChoice::kOn}, {"off", EnergyChoice::kOff}};
  return *names;
}

const Names<Objective>& names_of(Tag<Objective>) {
  static const auto* names = new Names<Objective>{
      {"time", Objective::kTime}, {"energy", Objective::kEnergy}, {"edp", Objective::kEnergyDelay}};
  return *names;
}

template <typename Enum>
requires std::is_enum_v<Enum> std::optional<Enum> parse_option(std::string_view text,
                                                               Tag<Enum> tag) {
  const std::string wanted = lower_case(text);
  for (const auto& [name, value] : names_of(tag)) {
    if (name == wanted) return value;
  }
  return std::nullopt;
}
std::optional<Verify> parse_option(std::string_view text, Tag<Verify>) {
  if (text == "0") return Verify{};
  Verify verify{.on = true};
  if (text.starts_with("vote")) {
    verify.vote = true;
    verify.tolerance = 1e-3;
    text.remove_prefix(4);
  } else if (text.starts_with('1')) {
    text.remove_prefix(1);
  } else {
    return std::nullopt;
  }
  if (text.empty()) return verify;
  if (!text.starts_with(':')) return std::nullopt;
  text.remove_prefix(1);
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), verify.tolerance);
  if (error != std::errc() || end != text.data() + text.size() || !(verify.tolerance >= 0)) {
    return std::nullopt;
  }
  return verify;
}
std::optional<LogTarget> parse_option(std::string_view text, Tag<LogTarget>) {
  const size_t colon = text.find(':');
  const auto level = log_level_of(lower_case(text.substr(0, colon)));
  if (!level || colon + 1 == text.size()) return std::nullopt;
  LogTarget target{*level, {}};
  if (colon != std::string_view::npos) target.file = text.substr(colon + 1);
  return target;
}

// text_of(value): as parse_option() would read it.
std::string text_of(const std::string& value) { return value; }
template <typename Integer>
requires std::is_integral_v<Integer> std::string text_of(Integer value) {
  return std::to_string(value);
}
template <typename Enum>
requires std::is_enum_v<Enum> std::string text_of(Enum value) {
  for (const auto& [name, known] : names_of(Tag<Enum>{})) {
    if (known == value) return std::string(name);
  }
  return {};
}
std::string text_of(const Verify& verify) {
  return verify.on ? fmt::format("{}:{}", verify.vote ? "vote" : "1", verify.tolerance) : "0";
}
std::string text_of(const LogTarget& target) {
  std::string text(kLogLevelNames[static_cast<size_t>(target.level)]);
  return target.file.empty() ? text : text + ":" + target.file;
}

// Texts and numbers have no type of their own to tell good from bad; the few that can be checked
// are here.
bool acceptable(std::string_view key, std::string_view text) {
  if (key == "summary") {
    return text.empty() || text == "-" || (text.size() > 5 && text.ends_with(".json"));
  }
  if (key == "energy_period") {
    const auto milliseconds = parse_integer<uint32_t>(text);
    return milliseconds && *milliseconds >= 1 && *milliseconds <= 10000;
  }
  if (key == "nodes") return parse_nodes(text).has_value();
  return true;
}

/// That the name is unknown, and which ones there are.
std::string unknown_option(const std::string& name, std::string_view written, bool keys) {
  std::vector<std::string> known;
  std::string list;
  for (const OptionInfo& option : option_table()) {
    known.emplace_back(keys ? option.key : option.variable);
    list += (list.empty() ? "" : ", ") + known.back();
  }
  return fmt::format("{} is not an option{} accepted: {}. It is ignored.", name,
                     did_you_mean(written, known), list);
}

/// The single words among the accepted values: "sigmoid[:k_r]" is the word "sigmoid".
std::vector<std::string> words_of(std::string_view accepted) {
  std::vector<std::string> words;
  while (!accepted.empty()) {
    const size_t comma = std::min(accepted.find(", "), accepted.size());
    const std::string_view item = accepted.substr(0, comma);
    if (item.find(' ') == std::string_view::npos) {
      words.emplace_back(item.substr(0, item.find_first_of("[:")));
    }
    accepted.remove_prefix(std::min(comma + 2, accepted.size()));
  }
  return words;
}

/// `setting`: as a person wrote it.
std::string not_understood(const std::string& setting, std::string_view text,
                           std::string_view accepted) {
  return fmt::format("{} is not understood{} accepted: {}", setting,
                     did_you_mean(text, words_of(accepted)), accepted);
}

/// Sets the option called `key`; false when there is none. `name` is what the person wrote.
bool set_option(LoadedConfig& loaded, std::string_view key, std::string_view text,
                const std::string& name, const std::string& origin) {
  size_t index = 0;
#define TUTTI_OPTION(field, NAME, type, default_value, accepted, help)                             \
  if (option_keys()[index++] == key) {                                                             \
    auto parsed = parse_option(text, Tag<type>{});                                                 \
    if (parsed && acceptable(key, text)) {                                                         \
      loaded.config.field = {std::move(*parsed), origin};                                          \
    } else {                                                                                       \
      loaded.warnings.push_back(not_understood(fmt::format("{}={}", name, text), text, accepted) + \
                                ". It is ignored.");                                               \
    }                                                                                              \
    return true;                                                                                   \
  }
#include "base/config.def"
#undef TUTTI_OPTION
  return false;
}

/// What the program that this is needs of Tutti, as far as it is known.
void read_profile(LoadedConfig& loaded, const ConfigSources& sources) {
  if (sources.profiles.empty() ||
      (sources.program.executable.empty() && sources.program.libraries.empty())) {
    return;
  }
  const auto found = read_profile_of(sources.profiles, sources.program);
  if (!found) {
    loaded.warnings.push_back(fmt::format("{}. No program has a profile.", found.error().message));
    return;
  }
  const std::optional<Profile>& profile = *found;
  if (!profile) return;
  for (const auto& [key, text] : profile->settings) {
    const std::string name = fmt::format("{}: {}", sources.profiles, key);
    if (key == "config" ||
        !set_option(loaded, key, text, name, "the profile of " + profile->program)) {
      loaded.warnings.push_back(unknown_option(name, key, true));
    }
  }
}

/// The value of a setting as the environment would have it; nothing where it is of another kind.
std::optional<std::string> text_of_setting(const toml::node& node) {
  if (const auto* string = node.as_string()) return string->get();
  if (const auto* integer = node.as_integer()) return std::to_string(integer->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  return std::nullopt;
}

/// An array of nodes, each a text, or a table with its address and its attributes.
std::optional<std::string> text_of_nodes(const toml::array& array) {
  std::string text;
  for (const toml::node& item : array) {
    if (!text.empty()) text += ", ";
    const toml::table* const table = item.as_table();
    if (table == nullptr) {
      const auto* const string = item.as_string();
      if (string == nullptr) return std::nullopt;
      text += string->get();
      continue;
    }
    const auto address =
        table->get("address") ? text_of_setting(*table->get("address")) : std::nullopt;
    if (!address) return std::nullopt;
    text += *address;
    for (const auto& [key, value] : *table) {
      if (key.str() == "address") continue;
      if (const auto* const flag = value.as_boolean()) {
        if (flag->get()) text += fmt::format(" {}", key.str());
      } else if (const auto setting = text_of_setting(value)) {
        text += fmt::format(" {}={}", key.str(), *setting);
      } else {
        return std::nullopt;
      }
    }
  }
  return text;
}

void read_settings(LoadedConfig& loaded, const std::string& path, bool must_exist) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    if (must_exist) {
      loaded.warnings.push_back(fmt::format("TUTTI_CONFIG={}: there is no such file.", path));
    }
    return;
  }
  if (!error && !std::filesystem::is_regular_file(status)) {
    loaded.warnings.push_back(fmt::format("{} is not a file; it is ignored.", path));
    return;
  }
  // Whoever can write it chooses which libraries are loaded.
  const auto content = read_file(path, {kMiB, Owner::kUserOrRoot});
  if (!content) {
    loaded.warnings.push_back(
        fmt::format("{} cannot be read: {}; it is ignored.", path, content.error().message));
    return;
  }
  const MemoryEnsured memory;  // toml++ would end the process
  const toml::parse_result result = toml::parse(*content, path);
  if (!result) {
    loaded.warnings.push_back(fmt::format("{}:{}: {}. The file is ignored.", path,
                                          result.error().source().begin.line,
                                          result.error().description()));
    return;
  }
  for (const auto& [key, node] : result.table()) {
    const std::string name = fmt::format("{}: {}", path, key.str());
    const bool list = key.str() == "nodes" && node.is_array();
    const auto text = list ? text_of_nodes(*node.as_array()) : text_of_setting(node);
    if (!text) {
      loaded.warnings.push_back(
          fmt::format("{} must be a text or a whole number{}; it is ignored.", name,
                      list ? ", or an array of texts or of tables with an address" : ""));
      continue;
    }
    if (key.str() == "config" || !set_option(loaded, key.str(), *text, name, path)) {
      loaded.warnings.push_back(unknown_option(name, key.str(), true));
    }
  }
}

std::string_view variable(const ConfigSources& sources, std::string_view name) {
  for (const auto& [key, value] : sources.environment) {
    if (key == name) return value;
  }
  return {};
}

}  // namespace

std::span<const OptionInfo> option_table() {
  static const auto* table = [] {
    auto* made = new std::vector<OptionInfo>{
#define TUTTI_OPTION(field, NAME, type, default_value, accepted, help) \
  {"TUTTI_" #NAME, {}, accepted, help},
#include "base/config.def"
#undef TUTTI_OPTION
    };
    for (size_t i = 0; i < made->size(); ++i) (*made)[i].key = option_keys()[i];
    return made;
  }();
  return *table;
}

std::vector<OptionText> option_texts(const Config& config) {
  const Config defaults;
  return {
#define TUTTI_OPTION(field, NAME, type, default_value, accepted, help) \
  {text_of(config.field.value), text_of(defaults.field.value), config.field.origin},
#include "base/config.def"
#undef TUTTI_OPTION
  };
}

std::string value_problem(std::string_view variable, std::string_view text) {
  for (const OptionInfo& option : option_table()) {
    if (option.variable != variable) continue;
    LoadedConfig tried;
    set_option(tried, option.key, text, {}, {});
    if (tried.warnings.empty()) return {};
    return not_understood(fmt::format("'{}'", text), text, option.accepted);
  }
  return {};
}

std::vector<std::string> configuration_files(const ConfigSources& sources) {
  const auto file = variable(sources, "TUTTI_CONFIG");
  return file.empty() ? sources.files : std::vector<std::string>{std::string(file)};
}

ConfigSources ConfigSources::of_process() {
  ConfigSources sources;
  sources.files.emplace_back("/etc/tutti/tutti.toml");
  sources.program = ProgramNames::of_process();
  sources.profiles = profiles_file();
  // A set-uid program must not load what its caller names.
  if (getauxval(AT_SECURE)) return sources;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    sources.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (const auto folder = variable(sources, "XDG_CONFIG_HOME"); folder.starts_with('/')) {
    sources.files.push_back(std::string(folder) + "/tutti/tutti.toml");
  } else if (const auto home = variable(sources, "HOME"); home.starts_with('/')) {
    sources.files.push_back(std::string(home) + "/.config/tutti/tutti.toml");
  }
  return sources;
}

LoadedConfig load_config(const ConfigSources& sources) {
  LoadedConfig loaded;
  read_profile(loaded, sources);
  const bool named = !variable(sources, "TUTTI_CONFIG").empty();
  for (const std::string& path : configuration_files(sources)) read_settings(loaded, path, named);
  for (const auto& entry : sources.environment) {
    const std::string& name = entry.first;
    const std::string& value = entry.second;
    if (!name.starts_with(kPrefix)) continue;
    if (std::any_of(std::begin(kOtherPrefixes), std::end(kOtherPrefixes),
                    [&name](std::string_view other) { return name.starts_with(other); })) {
      continue;
    }
    const auto table = option_table();
    const auto known = std::find_if(table.begin(), table.end(), [&name](const auto& option) {
      return option.variable == name;
    });
    if (known == table.end()) {
      loaded.warnings.push_back(unknown_option(name, name, false));
    } else if (!value.empty()) {  // NAME= unsets, as is usual
      set_option(loaded, known->key, value, name, name);
    }
  }
  return loaded;
}

const Config& process_config() {
  static const Config* config = [] {
    LoadedConfig loaded = load_config(ConfigSources::of_process());
    start_log(loaded.config.log.value.level, loaded.config.log.value.file);
    for (const std::string& warning : loaded.warnings) log(LogLevel::kWarning, "{}", warning);
    return new Config(std::move(loaded.config));
  }();
  return *config;
}

std::string cache_folder(const Config& config) {
  if (!config.cache.value.empty()) return config.cache.value;
  if (getauxval(AT_SECURE)) return {};
  if (const char* folder = getenv("XDG_CACHE_HOME"); folder && folder[0] == '/') {
    return std::string(folder) + "/tutti";
  }
  if (const char* home = getenv("HOME"); home && home[0] == '/') {
    return std::string(home) + "/.cache/tutti";
  }
  return {};
}

}  // namespace tutti
