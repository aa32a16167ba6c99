// SPDX-License-Identifier: Apache-2.0
// Explanations as text for a terminal, and as JSON. Pure functions beside reading
// the source files that are quoted; used by one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/explanation.h"

namespace tutti::tools {

/// The source files that explanations quote, read when first asked for.
class SourceFiles {
 public:
  /// `text` is the content of `file`, the one that the user named.
  SourceFiles(std::string file, const std::string& text);

  /// The file to show for KernelExplanation::file.
  const std::string& shown(const std::string& file) const { return file.empty() ? file_ : file; }
  /// Line `number` without white space at its ends; absent when it cannot be read.
  std::optional<std::string> line(const std::string& file, uint32_t number);

 private:
  std::string file_;
  std::map<std::string, std::vector<std::string>> lines_;
};

/// One block for a terminal of so many columns, at least 20; with tone marks, ends with a newline.
std::string explanation_text(const KernelExplanation& kernel, SourceFiles& sources, size_t columns);

/// Of the whole file; `log` holds the compiler's warnings.
std::string explanation_json(const std::vector<KernelExplanation>& kernels, SourceFiles& sources,
                             const std::string& log);

}  // namespace tutti::tools
