// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/source_ranges.h"

#include <algorithm>
#include <string_view>

namespace tutti::kernel_compiler {

std::optional<size_t> offset_of(const clang::SourceManager& sources, const std::string& text,
                                clang::SourceLocation location) {
  if (!location.isValid() || !location.isFileID()) return std::nullopt;
  if (sources.getFileID(location) != sources.getMainFileID()) return std::nullopt;
  const size_t offset = sources.getFileOffset(location);
  return offset < text.size() ? std::optional(offset) : std::nullopt;
}

void blank(std::string& text, size_t begin, size_t end) {
  constexpr std::string_view kMark = "#line ";
  for (size_t at = begin; at < end; ++at) {
    const bool begins_line = at == 0 || text[at - 1] == '\n';
    if (begins_line && text.compare(at, kMark.size(), kMark) == 0) {
      at = std::min(end, text.find('\n', at));
    } else if (text[at] != '\n') {
      text[at] = ' ';
    }
  }
}

}  // namespace tutti::kernel_compiler
