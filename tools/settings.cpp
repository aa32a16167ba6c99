// SPDX-License-Identifier: Apache-2.0
#include "tools/settings.h"
#include "base/config.h"
#include "base/output_file.h"
#include "scheduler/balance/balancer.h"

namespace tutti::tools {
namespace {

struct Setting {
  std::string_view key;
  const char* value;  // of the option alone, and only --KEY=VALUE gives another; null: it takes
                      // the next word
  const char* value_name;  // in the help
  bool file;
};

constexpr Setting kSettings[] = {
    {"devices", nullptr, "LIST", false},
    {"balancer", nullptr, "NAME[:X...]", false},
    {"objective", nullptr, "GOAL", false},
    {"split", nullptr, "MODE", false},
    {"verify", "1", "[1|vote[:TOLERANCE]]", false},
    {"summary", "-", "[FILE.json]", true},
    {"trace", nullptr, "FILE", true},
    {"log", nullptr, "LEVEL[:FILE]", false},
};

const OptionInfo& option_of(std::string_view key) {
  const auto table = option_table();
  return *std::find_if(table.begin(), table.end(),
                       [key](const OptionInfo& option) { return option.key == key; });
}

/// Empty where the driver takes the value.
std::string problem_of(const Setting& setting, const std::string& text) {
  if (setting.file) {
    if (std::string missing = output_name_problem(text, setting.value != nullptr);
        !missing.empty()) {
      return missing;
    }
  } else if (text.starts_with("--")) {
    return fmt::format("its value is missing before '{}'", text);
  }
  if (setting.key == "balancer") {
    const auto spec = scheduler::parse_balancer(text);
    return spec ? std::string() : spec.error().message;
  }
  return value_problem(option_of(setting.key).variable, text);
}

}  // namespace

void add_settings(CLI::App& command, std::initializer_list<std::string_view> keys,
                  Settings& settings) {
  for (const std::string_view key : keys) {
    const Setting& setting = *std::find_if(std::begin(kSettings), std::end(kSettings),
                                           [key](const Setting& s) { return s.key == key; });
    const OptionInfo& info = option_of(key);
    std::string help(info.help);
    help[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(help[0])));
    help += fmt::format(". Accepted: {} ({})", info.accepted, info.variable);
    std::string& value = settings[std::string(info.variable)];
    CLI::Option* option =
        setting.value ? command.add_flag(fmt::format("--{}{{{}}}", key, setting.value), value, help)
                      : command.add_option(fmt::format("--{}", key), value, help);
    if (!setting.value) option->type_name(setting.value_name);
    option->check([&setting](const std::string& text) {
      return text.empty() ? std::string() : problem_of(setting, text);
    });
  }
}

std::vector<std::string> take_application(const CLI::App& command,
                                          std::vector<std::string>& words) {
  const auto start = [&]() -> size_t {
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word == "--" || !word.starts_with("-")) return i;
      const CLI::Option* option = command.get_option_no_throw(word);
      if (option && option->get_items_expected_max() > 0) ++i;  // its value is the next one
    }
    return words.size();
  };
  const size_t first = std::min(start(), words.size());
  const bool mark = first < words.size() && words[first] == "--";
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(first);
  std::vector<std::string> application(begin + (mark ? 1 : 0), words.end());
  words.erase(begin, words.end());
  return application;
}

}  // namespace tutti::tools
