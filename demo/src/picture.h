// SPDX-License-Identifier: Apache-2.0
// A picture in memory, and its files. Functions throw std::runtime_error when a file cannot be read
// or written.
#pragma once

#include <cairo.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cl_objects.h"

namespace tutti::demo {

/// Cairo draws surfaces of up to 32767 pixels each way; the strip wants some of it.
inline constexpr std::size_t kMostPixels = 16384;

struct Release {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
using Surface = std::unique_ptr<cairo_surface_t, Release>;
using Canvas = std::unique_ptr<cairo_t, Release>;

struct Picture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<cl_uint> pixels;  ///< R, G, B, A from the lowest byte on; rows from the top
};

/// A surface of so many pixels, all of them black.
Surface make_surface(std::size_t width, std::size_t height);
/// Copies the picture to the surface's upper left corner.
void put(const Picture& picture, cairo_surface_t* surface);

void write_png(cairo_surface_t* surface, const std::string& path);
void write_raw(const Picture& picture, const std::string& path);
/// The file must have exactly width * height * 4 bytes: R, G, B, A of each pixel.
Picture read_raw(std::size_t width, std::size_t height, const std::string& path);

}  // namespace tutti::demo
