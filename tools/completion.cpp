// SPDX-License-Identifier: Apache-2.0
#include "tools/completion.h"

#include <fmt/core.h>

#include <algorithm>
#include <regex>

#include "base/accepted_words.h"
#include "base/config.h"
#include "base/printable.h"

namespace tutti::tools {
namespace {

using Kind = Completions::Kind;

std::string mark_of(Completion kind) {
  return "completes " + std::to_string(static_cast<int>(kind));
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

const CLI::App* command_of(const CLI::App& app, const std::string& name) {
  const auto found =
      app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

/// `arguments`: those without dashes, else the others.
std::vector<const CLI::Option*> options_of(const CLI::App& app, bool arguments) {
  return app.get_options([arguments](const CLI::Option* option) {
    return option->get_positional() == arguments && !option->get_group().empty();
  });
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool takes_next_word(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string_view accepted_by(const std::string& variable) {
  for (const OptionInfo& option : option_table()) {
    if (option.variable == variable) return option.accepted;
  }
  return {};
}

/// The words before the last one, as the command line's parser takes them.
struct Place {
  const CLI::App* app = nullptr;        // the innermost command
  const CLI::Option* option = nullptr;  // whose value the last word is
  size_t arguments = 0;                 // how many there are of the innermost command
  size_t application_at = SIZE_MAX;     // where the application's words begin
  bool only_arguments = false;          // after --
};

const CLI::Option* argument_of(const CLI::App& app, size_t number) {
  const std::vector<const CLI::Option*> arguments = options_of(app, true);
  if (arguments.empty()) return nullptr;
  // The last may take several.
  return number < arguments.size()                        ? arguments[number]
         : arguments.back()->get_items_expected_max() > 1 ? arguments.back()
                                                          : nullptr;
}

bool starts_application(const Place& place) {
  const CLI::Option* argument = argument_of(*place.app, place.arguments);
  return argument && is_completed_by(*argument, Completion::kApplication);
}

Place place_of(const CLI::App& app, const std::vector<std::string>& words) {
  Place place{&app};
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--" && !place.only_arguments) {
      place.only_arguments = true;
    } else if (word.starts_with("-") && word.size() > 1 && !place.only_arguments) {
      const CLI::Option* option = place.app->get_option_no_throw(word);
      if (!option || !takes_next_word(*option)) continue;
      if (i + 2 == words.size()) {
        place.option = option;
        return place;
      }
      ++i;
    } else if (starts_application(place)) {
      place.application_at = i;
      return place;
    } else if (const CLI::App* nested = command_of(*place.app, word);
               nested && place.arguments == 0) {
      place.app = nested;
    } else if (!(word == "help" && place.app == &app)) {
      ++place.arguments;
    }
  }
  if ((place.only_arguments || !words.back().starts_with("-")) && starts_application(place)) {
    place.application_at = words.size() - 1;
  }
  return place;
}

/// Of a value or argument, `before` being what stands in the same word before it.
Completions values_at(const CLI::Option& option, const std::string& before,
                      const std::string& begun, const std::vector<std::string>& words) {
  Completions made;
  const std::string variable = variable_of(option);
  const std::string type = option.get_type_name();
  const std::string_view accepted = accepted_by(variable);
  const auto says = [&](std::string_view what) { return accepted.find(what) != accepted.npos; };
  std::string kept = before;
  if (is_completed_by(option, Completion::kRecord)) {
    made.kind = Kind::kPaths;
    made.candidates = record_candidates(begun);
  } else if (is_completed_by(option, Completion::kKernel)) {
    made.candidates = kernel_candidates(words);
  } else if (is_completed_by(option, Completion::kProgram)) {
    made.candidates = program_candidates();
  } else if (is_completed_by(option, Completion::kDevices) || variable == "TUTTI_DEVICES") {
    // A list; a minus sign leaves devices out.
    const size_t item = begun.find_last_of(',') + 1;
    kept += begun.substr(0, item) + (begun.substr(item).starts_with("-") ? "-" : "");
    made.candidates = device_candidates();
  } else if (const std::vector<std::string> values = values_of(option); !values.empty()) {
    if (type.find(',') != type.npos) kept += begun.substr(0, begun.find_last_of(',') + 1);
    for (const std::string& value : values) made.candidates.push_back({value, ""});
  } else if (says("folder") || type.find("DIR") != type.npos || type.find("FOLDER") != type.npos) {
    made.kind = Kind::kFolders;
  } else if (says("file") || type.find("FILE") != type.npos || option.get_positional() ||
             type.find("PATH") != type.npos) {
    made.kind = Kind::kFiles;
  }
  // What a list names already is not offered again.
  const std::string named = "," + kept.substr(before.size());
  std::erase_if(made.candidates, [&named](const Candidate& candidate) {
    return named.find("," + candidate.text + ",") != named.npos;
  });
  for (Candidate& candidate : made.candidates) candidate.text.insert(0, kept);
  return made;
}

}  // namespace

CLI::Validator completes(Completion kind) {
  return CLI::Validator([](std::string&) { return std::string(); }, "", mark_of(kind));
}

bool is_completed_by(const CLI::Option& option, Completion kind) {
  try {  // which has no other way to ask, and none for what is constant
    return const_cast<CLI::Option&>(option).get_validator(mark_of(kind)) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

std::string variable_of(const CLI::Option& option) {
  const std::string description = option.get_description();
  static const std::regex pattern(R"(([Aa]s |\()(TUTTI_[A-Z_]+)(?![A-Z_=]))");
  std::smatch found;
  if (!std::regex_search(description, found, pattern)) return {};
  return accepted_by(found[2]).empty() ? std::string() : found[2].str();
}

std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // IsMember's list is a part of it
  static const std::regex list(R"(\{([^{}]+)\})");
  std::vector<std::string> values;
  if (std::smatch found; std::regex_search(type, found, list)) {
    std::string text = found[1];
    for (size_t comma = 0; comma != text.npos; text.erase(0, comma + 1)) {
      comma = text.find(',');
      values.push_back(text.substr(0, comma));
      if (comma == text.npos) break;
    }
    return values;
  }
  return accepted_words(accepted_by(variable_of(option)));
}

Completions complete(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const Place place = place_of(app, words);
  const std::string& begun = words.back();
  if (place.application_at != SIZE_MAX) return {Kind::kCommand, place.application_at, {}};
  if (place.option) return values_at(*place.option, "", begun, words);
  const size_t equals = begun.find('=');
  if (begun.starts_with("--") && equals != begun.npos && !place.only_arguments) {
    const CLI::Option* option = place.app->get_option_no_throw(begun.substr(0, equals));
    return option ? values_at(*option, begun.substr(0, equals + 1), begun.substr(equals + 1), words)
                  : Completions{};
  }
  Completions made;
  if (begun.starts_with("-") && !place.only_arguments) {
    for (const CLI::Option* option : options_of(*place.app, false)) {
      // Every command has it, and it says the same everywhere.
      if (place.app->get_parent() && option == place.app->get_help_all_ptr()) continue;
      const std::string description = first_line(option->get_description());
      for (const std::string& name : option->get_lnames()) {
        made.candidates.push_back({"--" + name, description});
      }
      for (const std::string& name : option->get_snames()) {
        made.candidates.push_back({"-" + name, description});
      }
    }
    return made;
  }
  if (const CLI::Option* argument = argument_of(*place.app, place.arguments)) {
    made = values_at(*argument, "", begun, words);
  }
  if (place.arguments > 0) return made;
  for (const CLI::App* command : commands_of(*place.app)) {
    made.kind = Kind::kValues;
    made.candidates.push_back({command->get_name(), first_line(command->get_description())});
  }
  if (place.app == &app && (words.size() < 2 || words[words.size() - 2] != "help")) {
    made.candidates.push_back({"help", "Show the help of a command"});
  }
  return made;
}

int print_completions(const CLI::App& app, std::vector<std::string> words) {
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  const Completions made = complete(app, words);
  constexpr const char* kNames[] = {"values", "paths", "files", "folders", "command"};
  fmt::print("{}", kNames[static_cast<size_t>(made.kind)]);
  if (made.kind == Kind::kCommand) fmt::print(" {}", made.command_at);
  fmt::print("\n");
  for (const Candidate& candidate : made.candidates) {
    // Names of devices and files that a terminal would obey are not offered.
    if (printable(candidate.text) != candidate.text) continue;
    fmt::print("{}{}{}\n", candidate.text, candidate.description.empty() ? "" : "\t",
               printable(candidate.description));
  }
  return 0;
}

}  // namespace tutti::tools
