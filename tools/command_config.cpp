// SPDX-License-Identifier: Apache-2.0
// `tutti config`: the options as they hold, and docs/options.md and the commented configuration
// file, all made from the table base/config.def.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/config.h"
#include "tools/commands.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

struct ConfigOptions {
  bool json = false;
  bool markdown = false;  // docs/options.md
  bool toml = false;      // a configuration file with every key, commented out
};

struct FoundFile {
  std::string path;
  bool exists = false;
};

std::vector<FoundFile> files_of(const ConfigSources& sources) {
  std::vector<FoundFile> files;
  for (std::string& path : configuration_files(sources)) {
    std::error_code error;
    const bool exists = std::filesystem::exists(path, error);
    files.push_back({std::move(path), exists});
  }
  return files;
}

void print_json(const LoadedConfig& loaded, const std::vector<FoundFile>& files) {
  nlohmann::ordered_json output{{"options", nlohmann::ordered_json::array()},
                                {"files", nlohmann::ordered_json::array()},
                                {"warnings", loaded.warnings}};
  const auto table = option_table();
  const std::vector<OptionText> texts = option_texts(loaded.config);
  for (size_t i = 0; i < table.size(); ++i) {
    output["options"].push_back({{"variable", table[i].variable},
                                 {"key", table[i].key},
                                 {"value", texts[i].value},
                                 {"default", texts[i].default_value},
                                 {"origin", texts[i].origin},
                                 {"accepted", table[i].accepted},
                                 {"help", table[i].help}});
  }
  for (const FoundFile& file : files) {
    output["files"].push_back({{"path", file.path}, {"exists", file.exists}});
  }
  fmt::print("{}", json_text(output));
}

void print_text(const LoadedConfig& loaded, const std::vector<FoundFile>& files) {
  const auto table = option_table();
  const std::vector<OptionText> texts = option_texts(loaded.config);
  size_t width = 0;
  for (const OptionText& text : texts) width = std::max(width, text.value.size());
  width = std::min<size_t>(width, 40);
  say("Options (what each means: tutti --help, docs/options.md):\n");
  for (size_t i = 0; i < table.size(); ++i) {
    const std::string value = texts[i].value.empty() ? "(none)" : texts[i].value;
    say("  {:<18}  {:<{}}  {}\n", table[i].variable, value, width, texts[i].origin);
  }
  say("\nConfiguration files, the one that wins last:\n");
  if (files.empty()) say("  none\n");
  for (const FoundFile& file : files) {
    say("  {}{}\n", file.path, file.exists ? "" : "  (not there)");
  }
  for (const std::string& warning : loaded.warnings)
    say("\n{} {}\n", toned(Tone::kWarning, "warning:"), warning);
}

// Inside a cell of a table, where a bar would end it.
std::string in_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

// A value as TOML writes it.
std::string toml_value(const std::string& value) {
  const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  return number ? value : "\"" + value + "\"";
}

std::string sentence(std::string_view text) {
  std::string made(text);
  if (!made.empty() && made[0] >= 'a' && made[0] <= 'z') made[0] -= 'a' - 'A';
  return made + ".";
}

int config(const ConfigOptions& options) {
  const auto table = option_table();
  const std::vector<OptionText> defaults = option_texts(Config{});
  if (options.markdown) {
    fmt::print(
        "# Options\n\n"
        "<!-- Written by `tutti config --markdown` from base/config.def. -->\n\n"
        "Environment variables, or the same keys in lower case without `TUTTI_` in "
        "`/etc/tutti/tutti.toml` and `~/.config/tutti/tutti.toml` "
        "(`$XDG_CONFIG_HOME/tutti/tutti.toml`); the user's file wins over the system's, the "
        "environment over both, and over what a program's profile says "
        "([command.md](command.md)). An unknown option or value is a warning that names the "
        "accepted "
        "ones, and the default holds. `tutti config` shows the value of each and where it came "
        "from, `tutti config --toml` prints a file with every key.\n\n"
        "| variable | key | default | accepted | meaning |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < table.size(); ++i) {
      const std::string value =
          defaults[i].default_value.empty() ? "" : "`" + defaults[i].default_value + "`";
      fmt::print("| `{}` | `{}` | {} | {} | {} |\n", table[i].variable, table[i].key, value,
                 in_cell(table[i].accepted), in_cell(table[i].help));
    }
    return 0;
  }
  if (options.toml) {
    fmt::print(
        "# Settings of Tutti. The user's ~/.config/tutti/tutti.toml wins over\n"
        "# /etc/tutti/tutti.toml, the environment (TUTTI_...) over both. What holds, and why:\n"
        "# tutti config\n");
    for (size_t i = 0; i < table.size(); ++i) {
      if (table[i].key == "config") continue;  // names this file
      fmt::print("\n# {}\n# Accepted: {}.\n#{} = {}\n", sentence(table[i].help), table[i].accepted,
                 table[i].key, toml_value(defaults[i].default_value));
    }
    return 0;
  }
  const ConfigSources sources = ConfigSources::of_process();
  const LoadedConfig loaded = load_config(sources);
  if (options.json) {
    print_json(loaded, files_of(sources));
  } else {
    print_text(loaded, files_of(sources));
  }
  return 0;
}

CommandLine add_config(CLI::App& command) {
  const auto options = std::make_shared<ConfigOptions>();
  auto* json = command.add_flag("--json", options->json, "As JSON");
  auto* markdown = command.add_flag("--markdown", options->markdown,
                                    "The table of all options, as in docs/options.md");
  auto* toml = command.add_flag("--toml", options->toml,
                                "A configuration file with every key, commented out");
  json->excludes(markdown)->excludes(toml);
  markdown->excludes(toml);
  return {[options] { return config(*options); }};
}

}  // namespace

const Command kConfigCommand{"config", "Show every option and where its value is from", add_config};

}  // namespace tutti::tools
