// SPDX-License-Identifier: Apache-2.0
// A picture in memory, and its files. A plain value; functions throw std::runtime_error when a file
// cannot be read or written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::demo {

struct Colour {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
};

struct Picture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> rgba;  ///< 4 bytes a pixel, rows from the top

  Picture(std::size_t w, std::size_t h) : width(w), height(h), rgba(4 * w * h) {}

  /// Fills a rectangle, clipped to the picture.
  void fill(std::size_t x, std::size_t y, std::size_t w, std::size_t h, Colour colour);
};

void write_png(const Picture& picture, const std::string& path);
void write_raw(const Picture& picture, const std::string& path);
/// The file must have exactly width * height * 4 bytes.
Picture read_raw(std::size_t width, std::size_t height, const std::string& path);

}  // namespace tutti::demo
