// SPDX-License-Identifier: Apache-2.0
#include "strip.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "font.h"

namespace tutti::demo {
namespace {

// Distinct also for most people who see few colours; they repeat after eight devices.
constexpr Colour kColours[] = {{230, 159, 0},   {86, 180, 233}, {0, 158, 115}, {240, 228, 66},
                               {204, 121, 167}, {0, 114, 178},  {213, 94, 0},  {180, 180, 180}};
constexpr Colour kPaper = {18, 18, 24};
constexpr Colour kInk = {225, 225, 230};
constexpr std::size_t kTextColumns = 20;

struct Device {
  std::string name;
  std::size_t rows = 0;
  std::size_t packages = 0;
};

Colour colour_of(std::size_t index) { return kColours[index % std::size(kColours)]; }

Colour darker(Colour colour) {
  const auto part = [](std::uint8_t v) { return static_cast<std::uint8_t>(v * 3 / 4); };
  return {part(colour.r), part(colour.g), part(colour.b)};
}

}  // namespace

std::vector<Package> read_packages(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  try {
    nlohmann::json json = nlohmann::json::parse(file);
    if (json.is_object()) json = json.at("packages");
    std::vector<Package> packages;
    for (const nlohmann::json& one : json) {
      packages.push_back({one.at("device").get<std::string>(), one.at("index").get<std::size_t>(),
                          one.at("first_row").get<std::size_t>(),
                          one.at("last_row").get<std::size_t>()});
    }
    return packages;
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

Picture with_strip(const Picture& picture, const std::vector<Package>& packages) {
  const std::size_t scale = std::max<std::size_t>(1, picture.height / 540);
  const std::size_t margin = 8 * scale;
  const std::size_t bar = 24 * scale;
  const std::size_t bar_x = picture.width + margin;
  const std::size_t text_x = bar_x + bar + margin;
  Picture result(text_x + kTextColumns * kGlyphAdvance * scale + margin, picture.height);
  result.fill(0, 0, result.width, result.height, kPaper);
  for (std::size_t y = 0; y < picture.height; ++y) {
    std::copy_n(&picture.rgba[4 * y * picture.width], 4 * picture.width,
                &result.rgba[4 * y * result.width]);
  }

  std::map<std::size_t, Device> devices;
  for (const Package& package : packages) {
    if (package.first_row >= picture.height || package.last_row < package.first_row) continue;
    const std::size_t rows = std::min(package.last_row, picture.height - 1) - package.first_row + 1;
    Device& device = devices[package.index];
    device.name = package.device;
    device.rows += rows;
    // Packages of one device that follow each other differ in shade.
    const Colour colour = colour_of(package.index);
    result.fill(bar_x, package.first_row, bar, rows,
                device.packages % 2 == 0 ? colour : darker(colour));
    result.fill(bar_x, package.first_row, bar, rows > 2 ? 1 : 0, kPaper);
    ++device.packages;
  }

  std::size_t y = margin;
  const auto line = [&](const std::string& text) {
    draw_text(result, text_x, y, scale, text, kInk);
    y += kLineAdvance * scale;
  };
  line("rows computed by");
  y += margin;
  for (const auto& [index, device] : devices) {
    result.fill(text_x, y, kTextColumns * kGlyphAdvance * scale, 3 * scale, colour_of(index));
    y += 7 * scale;
    const std::string label = std::to_string(index) + ": " + device.name;
    for (std::size_t at = 0; at < label.size() && at < 4 * kTextColumns;) {
      line(label.substr(at, kTextColumns));
      at += kTextColumns;
      while (at < label.size() && label[at] == ' ') ++at;
    }
    char share[64];
    std::snprintf(share, sizeof share, "%.1f%% in %zu package%s",
                  100.0 * static_cast<double>(device.rows) / static_cast<double>(picture.height),
                  device.packages, device.packages == 1 ? "" : "s");
    line(share);
    y += margin;
  }
  return result;
}

}  // namespace tutti::demo
