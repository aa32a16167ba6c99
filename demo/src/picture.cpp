// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <stdexcept>

namespace tutti::demo {

Surface make_surface(std::size_t width, std::size_t height) {
  Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width),
                                             static_cast<int>(height)));
  if (const cairo_status_t status = cairo_surface_status(surface.get());
      status != CAIRO_STATUS_SUCCESS) {
    throw std::runtime_error(std::string("cannot draw: ") + cairo_status_to_string(status));
  }
  return surface;
}

void put(const Picture& picture, cairo_surface_t* surface) {
  cairo_surface_flush(surface);
  unsigned char* const data = cairo_image_surface_get_data(surface);
  const std::size_t stride =
      static_cast<std::size_t>(cairo_image_surface_get_stride(surface)) / sizeof(std::uint32_t);
  auto* line = reinterpret_cast<std::uint32_t*>(data);  // of an alignment that fits, says Cairo
  for (std::size_t y = 0; y < picture.height; ++y, line += stride) {
    std::transform(&picture.pixels[y * picture.width],
                   &picture.pixels[y * picture.width] + picture.width, line, [](cl_uint pixel) {
                     // Cairo's blue is in the lowest byte.
                     return (pixel & 0xff) << 16 | (pixel & 0xff00) | (pixel >> 16 & 0xff);
                   });
  }
  cairo_surface_mark_dirty(surface);
}

void write_png(cairo_surface_t* surface, const std::string& path) {
  if (const cairo_status_t status = cairo_surface_write_to_png(surface, path.c_str());
      status != CAIRO_STATUS_SUCCESS) {
    throw std::runtime_error("cannot write " + path + ": " + cairo_status_to_string(status));
  }
}

void write_raw(const Picture& picture, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(picture.pixels.data()),
             static_cast<std::streamsize>(picture.pixels.size() * sizeof(cl_uint)));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

Picture read_raw(std::size_t width, std::size_t height, const std::string& path) {
  Picture picture{width, height, std::vector<cl_uint>(width * height)};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(picture.pixels.data()),
            static_cast<std::streamsize>(picture.pixels.size() * sizeof(cl_uint)));
  if (!file || file.peek() != std::ifstream::traits_type::eof()) {
    throw std::runtime_error(path + " is not a raw picture of " + std::to_string(width) + "x" +
                             std::to_string(height));
  }
  return picture;
}

}  // namespace tutti::demo
