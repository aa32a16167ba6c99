// SPDX-License-Identifier: Apache-2.0
// `tutti documentation`, for the build and for packagers: not in the help.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "base/output_file.h"
#include "tools/commands.h"
#include "tools/completion.h"
#include "tools/documentation.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

struct DocumentationOptions {
  std::string form, folder;
};

int print_documentation(const CLI::App& app, const DocumentationOptions& options) {
  if (options.form != "man") {
    fmt::print("{}", options.form == "bash"  ? bash_completion()
                     : options.form == "zsh" ? zsh_completion()
                                             : fish_completion());
    return 0;
  }
  const std::vector<ManualPage> pages = manual_pages(app);
  if (options.folder.empty()) {
    fmt::print("{}", pages.front().text);
    return 0;
  }
  for (const ManualPage& page : pages) {
    const std::string path = options.folder + "/" + page.file;
    if (const Status written = write_output(path, page.text); !written) {
      complain("documentation", fmt::format("cannot write {}: {}", path, written.error().message));
      return kFailed;
    }
  }
  return 0;
}

CommandLine add_documentation(CLI::App& command) {
  const auto options = std::make_shared<DocumentationOptions>();
  command.group("");
  command.add_option("FORM", options->form, "man, bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"man", "bash", "zsh", "fish"}));
  command
      .add_option("FOLDER", options->folder, "Write all manual pages to it, in place of tutti(1)")
      ->check(CLI::ExistingDirectory);
  return {[options, &command] { return print_documentation(*command.get_parent(), *options); }};
}

}  // namespace

const Command kDocumentationCommand{"documentation", "Print a manual page or completions",
                                    add_documentation, true};

}  // namespace tutti::tools
