// SPDX-License-Identifier: Apache-2.0
#include "tools/usage.h"

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/paragraph.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

constexpr size_t kColumns = 80, kFewColumns = 70;

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(descriptions_); }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry("  " + make_option_name(option, is_positional) + make_option_opts(option),
                 make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return entry("  " + command->get_name(), command->get_description());
  }

 private:
  std::string entry(std::string head, const std::string& description) const {
    if (head.size() + 2 > descriptions_) {
      return head + "\n" +
             paragraph(std::string(descriptions_, ' '), description, descriptions_, columns_);
    }
    head.resize(descriptions_, ' ');
    return paragraph(head, description, descriptions_, columns_);
  }

  const size_t columns_ = std::min(output_columns(kColumns), kColumns);
  const size_t descriptions_ = columns_ < kFewColumns ? 8 : 28;
};

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() { return std::make_shared<HelpFormatter>(); }

std::string unknown_word(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  std::string called = app.get_name();
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") break;
    if (word.size() > 1 && word[0] == '-') {
      const size_t equals = word.find('=');
      // Of short ones the value may follow at once: -oFILE.
      const std::string name = word[1] == '-' ? word.substr(0, equals) : word.substr(0, 2);
      const CLI::Option* option = at->get_option_no_throw(name);
      if (!option) {
        const std::vector<std::string> known = options_of(*at);
        return fmt::format("{}: there is no option '{}'{} options: {}", called,
                           word.substr(0, equals), did_you_mean(word.substr(0, equals), known),
                           joined(known));
      }
      const bool attached = word[1] == '-' ? equals != std::string::npos : word.size() > 2;
      if (option->get_items_expected_max() > 0 && !attached) ++i;
      continue;
    }
    const std::vector<std::string> known = commands_of(*at);
    if (known.empty()) continue;  // an argument
    const auto nested = at->get_subcommands(
        [&word](const CLI::App* command) { return command->get_name() == word; });
    if (nested.empty()) {
      return fmt::format("{}: there is no command '{}'{} commands: {}", called, word,
                         did_you_mean(word, known), joined(known));
    }
    at = nested.front();
    called += " " + word;
  }
  return {};
}

}  // namespace tutti::tools
