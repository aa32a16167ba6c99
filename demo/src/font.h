// SPDX-License-Identifier: Apache-2.0
// Capital letters, digits and a few signs, 5 by 7 pixels, for captions. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

#include "picture.h"

namespace tutti::demo {

inline constexpr std::size_t kGlyphAdvance = 6;
inline constexpr std::size_t kLineAdvance = 10;

/// Draws one line; lower case is drawn as capitals, unknown signs as blanks.
void draw_text(Picture& picture, std::size_t x, std::size_t y, std::size_t scale,
               std::string_view text, Colour colour);

}  // namespace tutti::demo
