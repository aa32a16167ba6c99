// SPDX-License-Identifier: Apache-2.0
#include "picture.h"

#include <png.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace tutti::demo {

void Picture::fill(std::size_t x, std::size_t y, std::size_t w, std::size_t h, Colour colour) {
  for (std::size_t row = y; row < std::min(y + h, height); ++row) {
    for (std::size_t column = x; column < std::min(x + w, width); ++column) {
      std::uint8_t* pixel = &rgba[4 * (row * width + column)];
      pixel[0] = colour.r;
      pixel[1] = colour.g;
      pixel[2] = colour.b;
      pixel[3] = 255;
    }
  }
}

void write_png(const Picture& picture, const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGBA;
  if (png_image_write_to_file(&image, path.c_str(), 0, picture.rgba.data(), 0, nullptr) == 0) {
    throw std::runtime_error("cannot write " + path + ": " + image.message);
  }
}

void write_raw(const Picture& picture, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(picture.rgba.data()),
             static_cast<std::streamsize>(picture.rgba.size()));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

Picture read_raw(std::size_t width, std::size_t height, const std::string& path) {
  Picture picture(width, height);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(picture.rgba.data()),
            static_cast<std::streamsize>(picture.rgba.size()));
  if (!file || file.peek() != std::ifstream::traits_type::eof()) {
    throw std::runtime_error(path + " is not a raw picture of " + std::to_string(width) + "x" +
                             std::to_string(height));
  }
  return picture;
}

}  // namespace tutti::demo
