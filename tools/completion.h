// SPDX-License-Identifier: Apache-2.0
// What may come next on tutti's command line: `tutti complete` prints it, the shells' scripts ask
// for it, so that they know whatever the command line knows. Functions do not share state.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tutti::tools {

/// What an option's value or an argument is, where no list of values tells.
enum class Completion { kDevices, kKernel, kRecord, kApplication, kProgram };

/// Marks an option or argument: `->check(completes(Completion::kRecord))`. It accepts everything.
/// Nothing need be marked that has CLI::IsMember, CLI::ExistingFile and the like, or whose
/// description says "as TUTTI_NAME" or "(TUTTI_NAME)": it takes what that variable takes.
CLI::Validator completes(Completion kind);

/// Whether an option or argument is marked so.
bool is_completed_by(const CLI::Option& option, Completion kind);

/// The values of an option that has a list of them: IsMember's, or the variable's; else none.
std::vector<std::string> values_of(const CLI::Option& option);

/// The variable TUTTI_NAME that an option stands for; empty: none.
std::string variable_of(const CLI::Option& option);

struct Candidate {
  std::string text;  // the whole word
  std::string description;
};

struct Completions {
  enum class Kind {
    kValues,   // the candidates
    kPaths,    // likewise; they are names of folders
    kFiles,    // any file
    kFolders,  // any folder
    kCommand,  // an application's command line, from the word `command_at` on
  };
  Kind kind = Kind::kValues;
  size_t command_at = 0;
  std::vector<Candidate> candidates;  // all of their place; shells choose those that fit
};

/// `words`: those after "tutti", the last one being written (it may be empty).
Completions complete(const CLI::App& app, const std::vector<std::string>& words);

/// `tutti complete [--] WORDS...`: prints them for the scripts. First line: values, paths, files,
/// folders, or "command N"; then a candidate per line, a tab before its description.
int print_completions(const CLI::App& app, std::vector<std::string> words);

/// Candidates that depend on the machine; each is quick, and empty where nothing is known.
std::vector<Candidate> device_candidates();
/// Of the files of OpenCL C among the words.
std::vector<Candidate> kernel_candidates(const std::vector<std::string>& words);
/// Programs that have a profile.
std::vector<Candidate> program_candidates();
/// Records beside the begun path; where there is none, the folders that may hold some.
std::vector<Candidate> record_candidates(const std::string& begun);
/// Names of kernels in a source, in their order.
std::vector<std::string> kernel_names(std::string_view source);

/// The scripts: for /usr/share/bash-completion, zsh's and fish's folders.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace tutti::tools
