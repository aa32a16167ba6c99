// SPDX-License-Identifier: Apache-2.0
#include "tools/documentation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "tools/completion.h"

namespace tutti::tools {
namespace {

/// What a command line cannot tell of itself. Commands may be missing here, and have less to say.
struct Example {
  std::string_view line, effect;
};
constexpr Example kExamples[] = {
    {"tutti config", "The options that hold, and where each value came from."},
    {"tutti config --toml > ~/.config/tutti/tutti.toml", "A file to begin with."},
    {"tutti devices", "The devices of this machine, those left out and why."},
    {"tutti devices --measure", "And how fast they are."},
    {"tutti doctor", "What is wrong or missing, and what helps."},
    {"tutti doctor hashcat", "Whether hashcat would take the Tutti device, and if not, why."},
    {"tutti explain kernel.cl", "Which kernels of a file are split, and why the others are not."},
    {"tutti explain kernel.cl --kernel blur --global 4096,4096 -DTILE=16",
     "One kernel, at one size, compiled with an option."},
    {"tutti model show", "What is known of the kernels' speeds."},
    {"tutti model clear", "Forget it, as after a change of the machine."},
    {"tutti record show recorded", "The calls of a record."},
    {"tutti replay --devices 0 recorded", "Repeat it on the first device alone, and compare."},
    {"tutti report t.json", "Make t.html of a trace, for any browser."},
    {"tutti report --text t.json", "The same in the terminal."},
    {"tutti run --summary -- clinfo",
     "An application on all devices together; afterwards, which kernels were split, and why not."},
    {"tutti run --trace t.json -- clinfo", "A timeline of the run, for tutti\\-report(1)."},
    {"tutti run --devices 0,1 --balancer static -- clinfo", "On two devices, in fixed shares."},
    {"tutti simulate --devices 2,8,64", "All balancers on 2, 8 and 64 simulated devices."},
};

struct File {
  std::string_view command, file, what;  // no command: concerns all
};
constexpr File kFiles[] = {
    {"", "/etc/tutti/tutti.toml", "The system's configuration."},
    {"", "~/.config/tutti/tutti.toml", "The user's, which wins."},
    {"devices", "/etc/OpenCL/vendors/*.icd", "The vendors' drivers, one line each: the library."},
    {"doctor", "/etc/OpenCL/vendors/*.icd", "The vendors' drivers, one line each: the library."},
    {"run", "/etc/OpenCL/vendors/*.icd", "The vendors' drivers, one line each: the library."},
    {"model", "~/.cache/tutti", "What is remembered. It may be removed at any time."},
    {"run", "~/.cache/tutti", "What is remembered. It may be removed at any time."},
};

/// Installed in share/doc/tutti; every command's pages name README.md.
struct Document {
  std::string_view command, file;
};
constexpr Document kDocuments[] = {
    {"config", "docs/options.md"},  {"explain", "docs/splitting.md"},
    {"model", "docs/balancers.md"}, {"record", "docs/records.md"},
    {"replay", "docs/records.md"},  {"report", "docs/report.md"},
    {"run", "docs/balancers.md"},   {"run", "docs/energy.md"},
    {"run", "docs/splitting.md"},   {"simulate", "docs/balancers.md"},
};

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  // Those without a group are hidden.
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  // --help-all is known to every command, and says the same everywhere.
  const CLI::Option* everywhere = app.get_parent() ? app.get_help_all_ptr() : nullptr;
  return app.get_options([everywhere](const CLI::Option* option) {
    return option->nonpositional() && option != everywhere && !option->get_group().empty();
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

template <typename List, typename Text>
std::string joined(const List& list, std::string_view separator, Text text) {
  std::string all;
  for (const auto& item : list) all += (all.empty() ? "" : std::string(separator)) + text(item);
  return all;
}

/// Text as roff prints it: no line may begin with its control characters.
std::string roff(std::string_view text) {
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((i == 0 || text[i - 1] == '\n') && (text[i] == '.' || text[i] == '\'')) made += "\\&";
    if (text[i] == '\\') {
      made += "\\e";
    } else if (text[i] == '-') {
      made += "\\-";
    } else if (text[i] == '~') {
      made += "\\(ti";
    } else if (text[i] == '^') {
      made += "\\(ha";
    } else if (text[i] == '`') {
      made += "\\(ga";
    } else {
      made += text[i];
    }
  }
  return made;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string sentence(std::string text) {
  if (!text.empty() && text.find_last_of(".!?") != text.size() - 1) text += '.';
  return text;
}

/// "explain" or "record show".
std::string name_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent && parent->get_parent() ? name_of(*parent) + " " + command.get_name()
                                        : command.get_name();
}

/// Of a command of tutti's own: what stands in a table for it.
std::string_view command_of(std::string_view line) {
  line.remove_prefix(line.find(' ') + 1);
  return line.substr(0, line.find(' '));
}

std::string values_sentence(const CLI::Option& option) {
  const std::vector<std::string> values = values_of(option);
  const std::string variable = variable_of(option);
  std::string text;
  if (!variable.empty()) {
    text = "See " + bold(variable) + " below.";
  } else if (!values.empty()) {
    text = "One of " + joined(values, ", ", [](const std::string& value) { return bold(value); }) +
           ".";
  }
  return text.empty() ? text : text + "\n";
}

std::string roff_option(const CLI::Option& option) {
  std::string line = joined(spellings(option), ", ", bold);
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    line += " " + italic(type.substr(0, type.find(":{")));
  }
  return fmt::format(".TP\n{}\n{}\n{}", line, roff(sentence(option.get_description())),
                     values_sentence(option));
}

/// "Exit code: …" of a footer, and what else it says.
struct Footer {
  std::string exit_status, rest;
};
Footer footer_of(const CLI::App& command) {
  constexpr std::string_view kExit = "Exit code: ";
  Footer footer{{}, command.get_footer()};
  if (const size_t at = footer.rest.find(kExit); at != footer.rest.npos) {
    footer.exit_status = footer.rest.substr(at + kExit.size());
    footer.rest.erase(at);
  }
  while (footer.rest.ends_with('\n')) footer.rest.pop_back();
  return footer;
}

std::string synopsis(const CLI::App& command) {
  if (const auto nested = commands_of(command); !nested.empty()) {
    return joined(nested, ".br\n", [](const CLI::App* one) { return synopsis(*one); });
  }
  std::string line = ".B tutti " + roff(name_of(command)) + "\n[" + italic("OPTIONS") + "]";
  for (const CLI::Option* argument : arguments_of(command)) {
    const bool application = is_completed_by(*argument, Completion::kApplication);
    const bool several = !application && argument->get_items_expected_max() > 1;
    std::string text = italic(argument->get_name(true)) + (several ? "..." : "");
    if (application) text = "[\\-\\-] " + text + " [" + italic("ARGS") + "...]";
    line += " " + (argument->get_required() || application ? text : "[" + text + "]");
  }
  return line + "\n";
}

/// Arguments and options; those of a command's own commands under their names.
std::string roff_options(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* argument : arguments_of(command)) {
    text += fmt::format(".TP\n{}\n{}\n{}", italic(argument->get_name(true)),
                        roff(sentence(argument->get_description())), values_sentence(*argument));
  }
  for (const CLI::Option* option : options_of(command)) text += roff_option(*option);
  for (const CLI::App* nested : commands_of(command)) {
    text += fmt::format(".SS \"tutti {}\"\n{}\n", roff(name_of(*nested)),
                        roff(sentence(nested->get_description())));
    if (const std::string rest = footer_of(*nested).rest; !rest.empty()) {
      text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(rest));
    }
    text += roff_options(*nested);
  }
  return text;
}

void add_variables(const CLI::App& command, std::vector<std::string>& variables) {
  for (const CLI::Option* option : command.get_options()) {
    variables.push_back(variable_of(*option));
  }
  for (const CLI::App* nested : commands_of(command)) add_variables(*nested, variables);
}

/// `command`: null for all variables.
std::string environment(const CLI::App* command) {
  std::vector<std::string> named;
  if (command) add_variables(*command, named);
  std::string text;
  const std::vector<OptionText> defaults = option_texts(Config{});
  for (size_t i = 0; i < option_table().size(); ++i) {
    const OptionInfo& option = option_table()[i];
    if (command && std::find(named.begin(), named.end(), option.variable) == named.end()) continue;
    const std::string& value = defaults[i].default_value;
    text += fmt::format(".TP\n.B {}\n{}\nAccepted: {}{}\n", roff(option.variable),
                        roff(sentence(std::string(option.help))),
                        roff(sentence(std::string(option.accepted))),
                        value.empty() ? "" : "\nDefault: " + roff(value) + ".");
  }
  text =
      "Every option of the driver is a variable. The same keys, in lower case and without\n"
      "TUTTI_, may stand in the configuration files; the environment wins.\n" +
      text;
  if (command) text += ".PP\nAll others: \\fBtutti\\fR(1).\n";
  return ".SH ENVIRONMENT\n" + text;
}

std::string files(std::string_view command) {
  std::string text = ".SH FILES\n";
  for (const File& file : kFiles) {
    if (!file.command.empty() && file.command != (command.empty() ? "run" : command)) continue;
    text += fmt::format(".TP\n.I {}\n{}\n", roff(file.file), roff(file.what));
  }
  return text;
}

std::string examples(std::string_view command) {
  std::string text;
  for (const Example& example : kExamples) {
    if (!command.empty() && command_of(example.line) != command) continue;
    text += fmt::format(".TP\n.B {}\n{}\n", roff(example.line), example.effect);
  }
  return text.empty() ? text : ".SH EXAMPLES\n" + text;
}

std::string see_also(const CLI::App& app, std::string_view command) {
  std::vector<std::string> pages;
  if (!command.empty()) pages.push_back("tutti");
  for (const CLI::App* other : commands_of(app)) {
    if (other->get_name() != command) pages.push_back("tutti-" + other->get_name());
  }
  pages.push_back("tutti-bench");
  pages.push_back("clinfo");
  std::string text = ".SH SEE ALSO\n";
  for (const std::string& page : pages) {
    text += ".BR " + roff(page) + " (1)" + (page == pages.back() ? "\n" : ",\n");
  }
  text += ".PP\nIn share/doc/tutti:";
  for (const Document& document : kDocuments) {
    if (document.command == command) text += " " + italic(document.file) + ",";
  }
  return text + " " + italic("README.md") + ".\n";
}

std::string head(const std::string& page, std::string summary) {
  if (summary.size() > 1 && summary[1] >= 'a' && summary[1] <= 'z') {
    summary[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(summary[0])));
  }
  std::string title = page;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format(
      ".\\\" Written by `tutti documentation man`.\n"
      ".TH {} 1 \"\" \"Tutti " TUTTI_VERSION
      "\" \"User Commands\"\n"
      ".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
      roff(title), roff(page), roff(summary));
}

std::string page_of(const CLI::App& app, const CLI::App& command) {
  const Footer footer = footer_of(command);
  const std::string name = command.get_name();
  std::string text = head("tutti-" + name, command.get_description()) + synopsis(command) +
                     ".SH DESCRIPTION\n" + roff(sentence(command.get_description())) + "\n";
  // The lines of a footer stay as they are.
  if (!footer.rest.empty()) text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(footer.rest));
  text += ".SH OPTIONS\n" + roff_options(command) + ".SH EXIT STATUS\n";
  text += footer.exit_status.empty()
              ? "0 on success, 1 when the command's subject is at fault, 2 for bad usage.\n"
              : roff(sentence("Of " + name + ": " + footer.exit_status)) + "\n";
  return text + environment(&command) + files(name) + examples(name) + see_also(app, name);
}

std::string main_page(const CLI::App& app) {
  std::string text =
      head("tutti", "all OpenCL devices of a machine as one device") + ".B tutti\n" +
      italic("COMMAND") + " [" + italic("OPTIONS") + "] [" + italic("ARGUMENTS") + "]\n.br\n" +
      ".B tutti help\n[" + italic("COMMAND") +
      "]\n"
      ".SH DESCRIPTION\n"
      "Tutti is an OpenCL installable client driver. It shows applications one platform with one\n"
      "device; behind it stand the machine's devices, each with its vendor's driver. A kernel "
      "that\n"
      "is enqueued once is computed by all of them together, where that is proven safe and pays.\n"
      "This command starts applications on it, and shows what it finds and does.\n"
      ".SH OPTIONS\n";
  for (const CLI::Option* option : options_of(app)) text += roff_option(*option);
  text += ".SH COMMANDS\nEach has a page of its own.\n";
  for (const CLI::App* command : commands_of(app)) {
    text += fmt::format(".TP\n.BR tutti\\-{} (1)\n{}\n", roff(command->get_name()),
                        roff(sentence(command->get_description())));
  }
  return text +
         ".SH EXIT STATUS\n"
         "0 on success, 1 when the command's subject is at fault, 2 for bad usage.\n"
         "\\fBtutti run\\fR gives the application's: see \\fBtutti\\-run\\fR(1).\n" +
         environment(nullptr) + files("") + examples("") + see_also(app, "");
}

}  // namespace

std::vector<ManualPage> manual_pages(const CLI::App& app) {
  std::vector<ManualPage> pages{{"tutti.1", main_page(app)}};
  for (const CLI::App* command : commands_of(app)) {
    pages.push_back({"tutti-" + command->get_name() + ".1", page_of(app, *command)});
  }
  return pages;
}

}  // namespace tutti::tools
