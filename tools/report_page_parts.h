// SPDX-License-Identifier: Apache-2.0
// The report's pages, put together of their parts (tools/report/) into one file that needs
// nothing else.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::tools {

enum class PageKind : uint8_t { kReport, kComparison };
/// `data`: JSON; whatever its texts are, they end no element of the page.
std::string page_of(PageKind kind, const std::string& data);

}  // namespace tutti::tools
