// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/build_options.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tutti::kernel_compiler {
namespace {

using std::string_view;

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// Handed on to the vendors' compilers as they are.
constexpr std::array kVendorFlags = {
    string_view("-cl-single-precision-constant"),
    string_view("-cl-denorms-are-zero"),
    string_view("-cl-fp32-correctly-rounded-divide-sqrt"),
    string_view("-cl-opt-disable"),
    string_view("-cl-strict-aliasing"),
    string_view("-cl-mad-enable"),
    string_view("-cl-no-signed-zeros"),
    string_view("-cl-unsafe-math-optimizations"),
    string_view("-cl-finite-math-only"),
    string_view("-cl-fast-relaxed-math"),
    string_view("-w"),
    string_view("-cl-kernel-arg-info"),  // a unit that is read again from a binary must know of it
};

// Without meaning for a vendor below us: uniform work-groups (which Tutti checks itself) and
// sub-group progress are promises that only allow optimisations, and older compilers refuse the
// words; no vendor's debugger reaches through us, and -g slows the code.
constexpr std::array kDroppedFlags = {
    string_view("-cl-uniform-work-group-size"),
    string_view("-cl-no-subgroup-ifp"),
    string_view("-g"),
};

// Options of one vendor's compiler, given by applications that looked at the vendor's name.
constexpr std::array kForeignPrefixes = {string_view("-cl-nv-"), string_view("-cl-amd"),
                                         string_view("-cl-intel")};

// "Program linking options".
constexpr std::array kLinkFlags = {
    string_view("-cl-denorms-are-zero"),          string_view("-cl-no-signed-zeros"),
    string_view("-cl-unsafe-math-optimizations"), string_view("-cl-finite-math-only"),
    string_view("-cl-fast-relaxed-math"),
};

bool identifier_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

std::optional<uint32_t> language_of(string_view value) {
  // CL1.0 … CL3.1
  if (value.size() != 5 || value.substr(0, 2) != "CL" || value[3] != '.') {
    return std::nullopt;
  }
  const auto version = static_cast<uint32_t>((value[2] - '0') * 100 + (value[4] - '0') * 10);
  constexpr std::array<uint32_t, 6> kKnown = {100, 110, 120, 200, 300, 310};
  if (std::find(kKnown.begin(), kKnown.end(), version) == kKnown.end()) {
    return std::nullopt;
  }
  return version;
}

class Parser {
 public:
  explicit Parser(std::vector<std::string> words) : words_(std::move(words)) {}

  BuildOptions run() {
    while (next_ < words_.size()) {
      option(words_[next_++]);
    }
    return std::move(result_);
  }

 private:
  void option(const std::string& word) {
    const string_view text = word;
    if (text.starts_with("-D") || text.starts_with("-U")) {
      macro(text);
    } else if (text.starts_with("-I")) {
      if (auto folder = argument(text, 2)) {
        result_.include_folders.push_back(std::move(*folder));
      }
    } else if (text.starts_with("-cl-std=")) {
      result_.language = language_of(text.substr(8));
      if (!result_.language) {
        error("unknown language version in '" + word +
              "'; known: CL1.0 CL1.1 CL1.2 CL2.0 CL3.0 CL3.1");
      }
      keep(word);
    } else if (text == "-Werror") {
      // Enforced here; a vendor's own taste in warnings shall not fail the build.
      result_.warnings_are_errors = true;
    } else if (std::find(kVendorFlags.begin(), kVendorFlags.end(), text) != kVendorFlags.end()) {
      result_.no_warnings |= text == "-w";
      result_.single_precision_constants |= text == "-cl-single-precision-constant";
      result_.fast_relaxed_math |= text == "-cl-fast-relaxed-math";
      result_.argument_info |= text == "-cl-kernel-arg-info";
      keep(word);
    } else if (std::find(kDroppedFlags.begin(), kDroppedFlags.end(), text) != kDroppedFlags.end()) {
      result_.uniform_groups |= text == "-cl-uniform-work-group-size";
    } else if (text == "-x") {
      const auto language = argument(text, 2);
      if (language && *language != "cl" && *language != "clc") {
        error("'-x " + *language + "' is not supported: programs are OpenCL C source");
      }
    } else if (text == "-s") {
      argument(text, 2);  // a source file name for debuggers
    } else if (std::any_of(kForeignPrefixes.begin(), kForeignPrefixes.end(),
                           [&](string_view prefix) { return text.starts_with(prefix); })) {
      result_.warnings.push_back("build option '" + word + "' is a vendor's own and was ignored");
    } else {
      error("unknown build option '" + word + "'");
    }
  }

  void macro(string_view text) {
    auto definition = argument(text, 2);
    if (!definition) {
      return;
    }
    if (definition->empty() || !identifier_start(definition->front())) {
      error("'" + *definition + "' is not a macro name");
      return;
    }
    // Section 5.8.6.1: the definition is truncated by embedded newline characters.
    definition->erase(std::min(definition->find('\n'), definition->size()));
    result_.macros.push_back({std::move(*definition), text[1] == 'U'});
  }

  /// The rest of the word, or the next word.
  std::optional<std::string> argument(string_view text, size_t flag_length) {
    if (text.size() > flag_length) {
      return std::string(text.substr(flag_length));
    }
    if (next_ >= words_.size()) {
      error("build option '" + std::string(text) + "' lacks its argument");
      return std::nullopt;
    }
    return words_[next_++];
  }

  void keep(const std::string& word) {
    if (!result_.vendor_options.empty()) {
      result_.vendor_options += ' ';
    }
    result_.vendor_options += word;
  }

  void error(std::string text) { result_.errors.push_back(std::move(text)); }

  std::vector<std::string> words_;
  size_t next_ = 0;
  BuildOptions result_;
};

}  // namespace

std::vector<std::string> split_options(string_view options) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;  // a word has begun, possibly an empty quoted one
  char quote = 0;
  for (size_t i = 0; i < options.size(); ++i) {
    const char c = options[i];
    const char following = i + 1 < options.size() ? options[i + 1] : '\0';
    if (c == '\\' && quote != '\'' &&
        (following == '"' || following == '\\' || (quote == 0 && is_space(following)) ||
         (quote == 0 && following == '\''))) {
      word += following;
      open = true;
      ++i;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || (c == '\'' && (!open || word == "-D" || word == "-I"))) {
      // A single quote inside a word is a character literal of a macro (-DSEP='a'), not a group.
      quote = c;
      open = true;
    } else if (is_space(c) || c == '\0') {
      if (open) {
        words.push_back(std::move(word));
        word.clear();
        open = false;
      }
    } else {
      word += c;
      open = true;
    }
  }
  if (open) {
    words.push_back(std::move(word));
  }
  return words;
}

BuildOptions parse_build_options(string_view options) {
  return Parser(split_options(options)).run();
}

LinkOptions parse_link_options(string_view options) {
  LinkOptions result;
  for (std::string word : split_options(options)) {
    if (word == "-cl-no-signed-zeroes") word = "-cl-no-signed-zeros";  // as OpenCL 1.2 spells it
    if (word == "-create-library") {
      result.library = true;
    } else if (word == "-enable-link-options") {
      result.link_options_allowed = true;
    } else if (std::find(kLinkFlags.begin(), kLinkFlags.end(), word) != kLinkFlags.end()) {
      if (!result.vendor_options.empty()) result.vendor_options += ' ';
      result.vendor_options += word;
    } else if (word != "-cl-no-subgroup-ifp") {  // a promise that only allows optimisations
      result.errors.push_back("unknown link option '" + word + "'");
    }
  }
  if (result.link_options_allowed && !result.library) {
    // "This option must be specified with the -create-library option."
    result.errors.push_back("-enable-link-options without -create-library");
  }
  return result;
}

}  // namespace tutti::kernel_compiler
