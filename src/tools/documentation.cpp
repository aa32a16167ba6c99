// SPDX-License-Identifier: Apache-2.0
#include "tools/documentation.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <vector>

#include "platform/config.h"
#include "scheduler/balance/balancer.h"

namespace tutti::tools {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) commands.push_back(command);  // others are hidden
  }
  return commands;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  // --help-all is known to every command, and says the same everywhere.
  const CLI::Option* everywhere = app.get_parent() ? app.get_help_all_ptr() : nullptr;
  return app.get_options([everywhere](const CLI::Option* option) {
    return option->nonpositional() && option != everywhere;
  });
}
std::vector<const CLI::Option*> arguments_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

/// "-h", "--help", in this order.
std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> all;
  for (const std::string& name : option.get_snames()) all.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) all.push_back("--" + name);
  return all;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// Its options and those of its own commands.
std::vector<const CLI::Option*> all_options_of(const CLI::App& command) {
  std::vector<const CLI::Option*> options = options_of(command);
  for (const CLI::App* nested : commands_of(command)) {
    for (const CLI::Option* option : options_of(*nested)) {
      if (option != nested->get_help_ptr()) options.push_back(option);
    }
  }
  return options;
}

template <typename List, typename Text>
std::string joined(const List& list, std::string_view separator, Text text) {
  std::string all;
  for (const auto& item : list) {
    const std::string next = text(item);
    if (next.empty()) continue;
    if (!all.empty()) all += separator;
    all += next;
  }
  return all;
}
std::string joined(const std::vector<std::string>& list, std::string_view separator) {
  return joined(list, separator, [](const std::string& item) { return item; });
}

/// What may be written after an option, where that is a short list.
std::vector<std::string> values_of(const CLI::Option& option) {
  return option.check_lname("balancer") ? scheduler::balancer_names() : std::vector<std::string>();
}

std::string names_of(const std::vector<const CLI::App*>& commands) {
  return joined(commands, " ", [](const CLI::App* command) { return command->get_name(); });
}

std::string all_spellings(const CLI::App& app) {
  return joined(app.get_parent() ? all_options_of(app) : options_of(app), " ",
                [](const CLI::Option* option) { return joined(spellings(*option), " "); });
}

// ---- man(7) -------------------------------------------------------------------------------------

/// Text as roff prints it: no line may begin with its control characters.
std::string roff(std::string_view text) {
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((i == 0 || text[i - 1] == '\n') && (text[i] == '.' || text[i] == '\'')) made += "\\&";
    if (text[i] == '\\') {
      made += "\\e";
    } else if (text[i] == '-') {
      made += "\\-";
    } else {
      made += text[i];
    }
  }
  return made;
}

std::string roff_option(const CLI::Option& option) {
  std::string line = joined(spellings(option), ", ",
                            [](const std::string& name) { return "\\fB" + roff(name) + "\\fR"; });
  if (takes_value(option)) line += " \\fI" + roff(option.get_type_name()) + "\\fR";
  return fmt::format(".TP\n{}\n{}\n", line, roff(option.get_description()));
}

std::string roff_command(const CLI::App& command, const std::string& name) {
  std::string text =
      fmt::format(".SS \"tutti {}\"\n{}.\n", roff(name), roff(command.get_description()));
  for (const CLI::Option* argument : arguments_of(command)) {
    text += fmt::format(".TP\n\\fI{}\\fR\n{}\n", roff(argument->get_name(true)),
                        roff(argument->get_description()));
  }
  for (const CLI::Option* option : options_of(command)) {
    if (option != command.get_help_ptr()) text += roff_option(*option);
  }
  // The lines of a footer stay as they are.
  if (const std::string footer = command.get_footer(); !footer.empty()) {
    text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(footer));
  }
  for (const CLI::App* nested : commands_of(command)) {
    text += roff_command(*nested, name + " " + nested->get_name());
  }
  return text;
}

constexpr std::string_view kExamples[][2] = {
    {"tutti doctor", "What is wrong or missing, and what helps."},
    {"tutti devices --measure", "The devices of this machine and how fast they are."},
    {"tutti run --summary -- clinfo",
     "An application on all devices together; afterwards, which kernels were split, and why not."},
    {"tutti explain kernel.cl --kernel blur --global 4096,4096",
     "What would be done with a kernel, without running it."},
};

// ---- shells -------------------------------------------------------------------------------------

/// Inside single quotes.
std::string shell_quoted(std::string_view text) {
  std::string made = "'";
  for (const char c : text) made += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return made + "'";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// zsh's _arguments gives brackets and colons a meaning.
std::string zsh_text(const std::string& text) {
  std::string made;
  for (const char c : first_line(text)) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') made += '\\';
    made += c;
  }
  return made;
}

std::string zsh_options(const CLI::App& app) {
  std::string lines;
  for (const CLI::Option* option : app.get_parent() ? all_options_of(app) : options_of(app)) {
    for (const std::string& name : spellings(*option)) {
      std::string spec = name + (takes_value(*option) ? "=" : "") + "[" +
                         zsh_text(option->get_description()) + "]";
      if (takes_value(*option)) {
        spec += ":value:(" + joined(values_of(*option), " ") + ")";
      }
      lines += "    " + shell_quoted(spec) + " \\\n";
    }
  }
  return lines;
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  const std::vector<const CLI::App*> commands = commands_of(app);
  std::string text = fmt::format(
      ".\\\" Written by `tutti documentation man`.\n"
      ".TH TUTTI 1 \"\" \"Tutti " TUTTI_VERSION
      "\" \"User Commands\"\n"
      ".SH NAME\ntutti \\- all OpenCL devices of a machine as one device\n.SH SYNOPSIS\n");
  for (const CLI::App* command : commands) {
    text += fmt::format(
        ".B tutti {}\n[\\fIOPTIONS\\fR]{}\n.br\n", roff(command->get_name()),
        joined(arguments_of(*command), "", [](const CLI::Option* argument) {
          return " \\fI" + roff(argument->get_name(true)) + "\\fR";
        }) + (command->get_name() == "run" ? " [\\-\\-] \\fIAPP\\fR [\\fIARGS\\fR...]" : ""));
  }
  text +=
      ".B tutti help\n[\\fICOMMAND\\fR]\n"
      ".SH DESCRIPTION\n"
      "Tutti is an OpenCL installable client driver. It shows applications one platform with one\n"
      "device; behind it stand the machine's devices, each with its vendor's driver. A kernel "
      "that\n"
      "is enqueued once is computed by all of them together, where that is proven safe and pays.\n"
      "This command starts applications on it, and shows what it finds and does.\n"
      ".SH OPTIONS\n";
  for (const CLI::Option* option : options_of(app)) text += roff_option(*option);
  text += ".SH COMMANDS\n";
  for (const CLI::App* command : commands) text += roff_command(*command, command->get_name());
  text +=
      ".SH EXIT STATUS\n"
      "0 on success, 1 when the command's subject is at fault, 2 for bad usage. \\fBtutti run\\fR "
      "gives\n"
      "the application's, or 125 when Tutti is not complete, 126 when the application cannot be\n"
      "executed, 127 when it is not found.\n"
      ".SH ENVIRONMENT\n"
      "The same keys, in lower case and without TUTTI_, may stand in the configuration files; the\n"
      "environment wins.\n";
  const std::vector<OptionText> defaults = option_texts(Config{});
  for (size_t i = 0; i < option_table().size(); ++i) {
    const OptionInfo& option = option_table()[i];
    const std::string& value = defaults[i].default_value;
    text +=
        fmt::format(".TP\n.B {}\n{}.\nAccepted: {}.{}\n", roff(option.variable), roff(option.help),
                    roff(option.accepted), value.empty() ? "" : "\nDefault: " + roff(value) + ".");
  }
  text +=
      ".SH FILES\n"
      ".TP\n.I /etc/tutti/tutti.toml\nThe system's configuration.\n"
      ".TP\n.I ~/.config/tutti/tutti.toml\nThe user's, which wins.\n"
      ".TP\n.I /etc/OpenCL/vendors/*.icd\nThe vendors' drivers, one line each: the library.\n"
      ".TP\n.I ~/.cache/tutti\nWhat is remembered. It may be removed at any time.\n"
      ".SH EXAMPLES\n";
  for (const auto& [command, effect] : kExamples) {
    text += fmt::format(".TP\n.B {}\n{}\n", roff(command), roff(effect));
  }
  return text + ".SH SEE ALSO\n.BR clinfo (1)\n";
}

std::string bash_completion(const CLI::App& app) {
  const std::vector<const CLI::App*> commands = commands_of(app);
  const std::string names = names_of(commands);
  std::string cases, values;
  std::set<std::string> with_value, without_list;  // several commands may have an option
  for (const CLI::App* command : commands) {
    const std::string name = command->get_name();
    const bool file = !arguments_of(*command).empty();
    cases += fmt::format(
        "    {})\n      words={}\n{}      ;;\n", name,
        shell_quoted(
            joined(std::vector{names_of(commands_of(*command)), all_spellings(*command)}, " ")),
        name == "run" ? "      _tutti_run && return\n"
        : file        ? "      [[ $cur == -* ]] || files=yes\n"
                      : "");
    for (const CLI::Option* option : all_options_of(*command)) {
      if (!takes_value(*option)) continue;
      const std::vector<std::string> known = values_of(*option);
      const std::string pattern = joined(spellings(*option), "|");
      const bool first = with_value.insert(pattern).second;
      if (known.empty()) {
        without_list.insert(pattern);
      } else if (first) {
        values += fmt::format("    {}) words={} ;;\n", pattern, shell_quoted(joined(known, " ")));
      }
    }
  }
  const auto pattern = [](const std::string& item) { return item; };
  return fmt::format(R"(# bash completion for tutti. Written by `tutti documentation bash`.

# After `tutti run`: where the application begins, its own completion goes on.
_tutti_run() {{
  local at
  for ((at = command_at + 1; at < COMP_CWORD; at++)); do
    case ${{COMP_WORDS[at]}} in
      --)
        ((at++))
        break
        ;;
      {with_value})
        [[ ${{COMP_WORDS[at + 1]}} == = ]] && ((at++))
        ((at++))
        ;;
      -* | =) ;;
      *) break ;;
    esac
  done
  ((at <= COMP_CWORD)) || return 1
  if ((at == COMP_CWORD)); then
    [[ $cur == -* ]] && return 1
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$at"
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}}

_tutti() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command='' command_at words='' files=''
  COMPREPLY=()
  # --option=value comes as three words.
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $prev == = ]]; then
    prev=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((command_at = 1; command_at < COMP_CWORD; command_at++)); do
    if [[ ${{COMP_WORDS[command_at]}} != -* ]]; then
      command=${{COMP_WORDS[command_at]}}
      break
    fi
  done
  case $command in
    '') words={top} ;;
    help) words={names} ;;
{cases}  esac
  case $prev in
{values}    {without_list}) return ;;
  esac
  if [[ $files ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    compopt -o filenames 2>/dev/null
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  fi
}}
complete -F _tutti tutti
)",
                     fmt::arg("with_value", joined(with_value, "|", pattern)),
                     fmt::arg("top", shell_quoted(names + " help " + all_spellings(app))),
                     fmt::arg("names", shell_quoted(names)), fmt::arg("cases", cases),
                     fmt::arg("values", values),
                     fmt::arg("without_list", joined(without_list, "|", pattern)));
}

std::string zsh_completion(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : commands_of(app)) {
    const std::string name = command->get_name();
    commands +=
        fmt::format("    {}\n", shell_quoted(name + ":" + zsh_text(command->get_description())));
    const std::string nested = names_of(commands_of(*command));
    const std::string rest = name == "run"                    ? "'*::application:_normal'"
                             : !nested.empty()                ? "'1:command:(" + nested + ")'"
                             : arguments_of(*command).empty() ? "'*::nothing:'"
                                                              : "'*:file:_files'";
    cases +=
        fmt::format("      {}) _arguments \\\n{}    {} ;;\n", name, zsh_options(*command), rest);
  }
  return fmt::format(R"(#compdef tutti
# Written by `tutti documentation zsh`.
_tutti() {{
  local -a commands
  local state line
  commands=(
{commands}    'help:Show the help of a command'
  )
  _arguments -C \
{options}    '1:command:->command' '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
      case $words[1] in
      help) _describe command commands ;;
{cases}      esac ;;
  esac
}}
_tutti "$@"
)",
                     fmt::arg("commands", commands), fmt::arg("options", zsh_options(app)),
                     fmt::arg("cases", cases));
}

std::string fish_completion(const CLI::App& app) {
  std::string text = "# Written by `tutti documentation fish`.\n";
  const auto add_options = [&text](const CLI::App& of, const std::string& condition) {
    for (const CLI::Option* option : of.get_parent() ? all_options_of(of) : options_of(of)) {
      text += fmt::format("complete -c tutti -n {}", shell_quoted(condition));
      for (const std::string& name : option->get_snames()) text += " -s " + name;
      for (const std::string& name : option->get_lnames()) text += " -l " + name;
      if (takes_value(*option)) {
        text += " -x";
        const std::string values = joined(values_of(*option), " ");
        if (!values.empty()) text += " -a " + shell_quoted(values);
      }
      text += " -d " + shell_quoted(first_line(option->get_description())) + "\n";
    }
  };
  text += "complete -c tutti -n __fish_use_subcommand -f\n";
  add_options(app, "__fish_use_subcommand");
  for (const CLI::App* command : commands_of(app)) {
    const std::string name = command->get_name();
    text += fmt::format("complete -c tutti -n __fish_use_subcommand -f -a {} -d {}\n", name,
                        shell_quoted(first_line(command->get_description())));
    add_options(*command, "__fish_seen_subcommand_from " + name);
    if (const std::string nested = names_of(commands_of(*command)); !nested.empty()) {
      text += fmt::format("complete -c tutti -n '__fish_seen_subcommand_from {}' -f -a '{}'\n",
                          name, nested);
    }
    if (name == "run") {
      text +=
          "complete -c tutti -n '__fish_seen_subcommand_from run' -a "
          "'(__fish_complete_subcommand)'\n";
    }
  }
  return text;
}

}  // namespace tutti::tools
