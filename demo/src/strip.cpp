// SPDX-License-Identifier: Apache-2.0
#include "strip.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tutti::demo {
namespace {

struct Colour {
  double r = 0;  // 0 to 1
  double g = 0;
  double b = 0;
};

// Okabe and Ito's, distinct also for most people who see few colours; they repeat after eight
// devices.
constexpr Colour kColours[] = {{0.90, 0.62, 0.00}, {0.34, 0.71, 0.91}, {0.00, 0.62, 0.45},
                               {0.94, 0.89, 0.26}, {0.80, 0.47, 0.65}, {0.00, 0.45, 0.70},
                               {0.84, 0.37, 0.00}, {0.70, 0.70, 0.70}};
constexpr Colour kPaper = {0.07, 0.07, 0.09};
constexpr Colour kInk = {0.90, 0.90, 0.92};
constexpr Colour kFaintInk = {0.64, 0.64, 0.68};
constexpr char kFont[] = "DejaVu Sans";  // any other one does where it is missing

struct Device {
  std::string name;
  std::size_t rows = 0;
  std::size_t packages = 0;
};

Colour colour_of(std::size_t index) { return kColours[index % std::size(kColours)]; }

Colour darker(Colour colour) { return {colour.r * 0.72, colour.g * 0.72, colour.b * 0.72}; }

void fill(cairo_t* canvas, double x, double y, double w, double h, Colour colour) {
  cairo_set_source_rgb(canvas, colour.r, colour.g, colour.b);
  cairo_rectangle(canvas, x, y, w, h);
  cairo_fill(canvas);
}

/// Text in lines that are not wider than `width`, from the height `y` down.
class Writer {
 public:
  Writer(cairo_t* canvas, double x, double y, double width, double size)
      : canvas_(canvas), x_(x), y_(y), width_(width), size_(size) {
    set_font(false);
  }
  double y() const { return y_; }
  void skip(double height) { y_ += height; }

  /// Breaks after spaces and hyphens, and within what is wider than a line.
  void write(const std::string& text, Colour colour, bool bold = false) {
    set_font(bold);
    cairo_set_source_rgb(canvas_, colour.r, colour.g, colour.b);
    std::string line;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find_first_of(" -", at), text.size() - 1) + 1;
      std::string piece = text.substr(at, end - at);
      at = end;
      if (!line.empty() && width_of(line + piece) > width_) {
        show(line);
        line.clear();
      }
      for (; line.empty() && width_of(piece) > width_; piece.erase(0, fitting(piece))) {
        show(piece.substr(0, fitting(piece)));
      }
      line += piece;
    }
    if (!line.empty()) show(line);
  }

 private:
  void set_font(bool bold) {
    cairo_select_font_face(canvas_, kFont, CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(canvas_, size_);
  }
  double width_of(std::string text) const {
    while (text.ends_with(' ')) text.pop_back();  // which may stand beyond the line
    cairo_text_extents_t extents;
    cairo_text_extents(canvas_, text.c_str(), &extents);
    return extents.x_advance;
  }
  /// How many bytes of a word fit into a line: at least one character, and whole ones (of UTF-8).
  std::size_t fitting(const std::string& word) const {
    std::size_t end = 0;
    for (std::size_t next = 1; next <= word.size(); ++next) {
      if (next < word.size() && (static_cast<unsigned char>(word[next]) & 0xc0) == 0x80) continue;
      if (end > 0 && width_of(word.substr(0, next)) > width_) break;
      end = next;
    }
    return end;
  }
  void show(const std::string& line) {
    cairo_move_to(canvas_, x_, y_ + size_);
    cairo_show_text(canvas_, line.c_str());
    y_ += 1.35 * size_;
  }

  cairo_t* canvas_;
  double x_, y_, width_, size_;
};

/// The legend, from the picture's top down; where it ends.
double write_legend(cairo_t* canvas, const std::map<std::size_t, Device>& devices, double x,
                    double width, double unit, double scale) {
  std::size_t rows = 0;
  for (const auto& [index, device] : devices) rows += device.rows;
  const double margin = 8 * unit * scale;
  Writer writer(canvas, x, margin, width, 10 * unit * scale);
  writer.write("Rows computed by", kInk, true);
  for (const auto& [index, device] : devices) {
    writer.skip(margin);
    fill(canvas, x, writer.y(), width, 3 * unit * scale, colour_of(index));
    writer.skip(5 * unit * scale);
    writer.write(std::to_string(index) + ": " + device.name, kInk);
    char share[64];
    std::snprintf(share, sizeof share, "%.1f %% in %zu package%s",
                  100.0 * static_cast<double>(device.rows) / static_cast<double>(rows),
                  device.packages, device.packages == 1 ? "" : "s");
    writer.write(share, kFaintInk);
  }
  return writer.y() + margin;
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

Surface with_strip(const Picture& picture, const std::vector<Package>& packages) {
  const double unit = std::max(1.0, static_cast<double>(picture.height) / 540);
  const double margin = 8 * unit, bar = 24 * unit, text_width = 130 * unit;
  const double bar_x = static_cast<double>(picture.width) + margin;
  const double text_x = bar_x + bar + margin;
  const double width = text_x + text_width + margin;
  const double height = static_cast<double>(picture.height);
  Surface surface = make_surface(static_cast<std::size_t>(width), picture.height);
  const Canvas canvas(cairo_create(surface.get()));
  fill(canvas.get(), 0, 0, width, height, kPaper);
  cairo_surface_flush(surface.get());
  put(picture, surface.get());

  std::map<std::size_t, Device> devices;
  for (const Package& package : packages) {
    if (package.first_row >= picture.height || package.last_row < package.first_row) continue;
    const std::size_t rows = std::min(package.last_row, picture.height - 1) - package.first_row + 1;
    Device& device = devices[package.index];
    device.name = package.device;
    device.rows += rows;
    // Packages of one device that follow each other differ in shade.
    const Colour colour = colour_of(package.index);
    fill(canvas.get(), bar_x, static_cast<double>(package.first_row), bar,
         static_cast<double>(rows), device.packages % 2 == 0 ? colour : darker(colour));
    if (rows > 2) {
      fill(canvas.get(), bar_x, static_cast<double>(package.first_row), bar, 1, kPaper);
    }
    ++device.packages;
  }

  // Letters get smaller where many devices want room.
  const Canvas trial(cairo_create(make_surface(1, 1).get()));
  const double wanted = write_legend(trial.get(), devices, text_x, text_width, unit, 1);
  write_legend(canvas.get(), devices, text_x, text_width, unit,
               std::clamp(height / wanted, 0.3, 1.0));
  if (const cairo_status_t status = cairo_status(canvas.get()); status != CAIRO_STATUS_SUCCESS) {
    throw std::runtime_error(std::string("cannot draw: ") + cairo_status_to_string(status));
  }
  return surface;
}

}  // namespace tutti::demo
