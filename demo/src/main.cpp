// SPDX-License-Identifier: Apache-2.0
// tutti-demo: an ordinary OpenCL program that renders a picture with one kernel launch and prints
// one line of JSON with what it took. Exit status: 0 done, 1 OpenCL or a file failed, 2 wrong
// usage.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cl_objects.h"
#include "kernels/render.cl.h"
#include "picture.h"
#include "strip.h"

namespace tutti::demo {
namespace {

using Clock = std::chrono::steady_clock;
using bench::ClError;

constexpr std::size_t kLocalX = 32;
constexpr std::size_t kLocalY = 4;

struct Arguments {
  std::string platform;
  std::string device;
  std::string size = "1920x1080";
  std::string out;
  std::string raw;
  std::string from_raw;
  std::string strip;
  double centre_x = -0.74545;
  double centre_y = 0.11265;
  double view_width = 0.0026;
  int iterations = 1000;
  int repeat = 1;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Size {
  std::size_t width = 0;
  std::size_t height = 0;
};

Size parse_size(const std::string& text) {
  Size size;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%zux%zu%c", &size.width, &size.height, &rest) != 2 ||
      size.width == 0 || size.height == 0 || size.width > kMostPixels ||
      size.height > kMostPixels) {
    throw CLI::ValidationError("--size", "wants WxH with 1 to " + std::to_string(kMostPixels) +
                                             " pixels each, not " + text);
  }
  return size;
}

/// Seconds from the launch on.
struct Times {
  double kernel = 0;   ///< until the kernel has finished
  double picture = 0;  ///< until the pixels are in host memory
};

/// Renders the view and reads it into `pixels`, which has the picture's size.
Times render(const bench::Session& session, const bench::Kernel& kernel, const Arguments& arguments,
             Size size, const bench::DeviceArray<cl_uint>& image, std::vector<cl_uint>& pixels) {
  const double step = arguments.view_width / static_cast<double>(size.width);
  bench::set_args(kernel, image, static_cast<cl_int>(size.width), static_cast<cl_int>(size.height),
                  static_cast<float>(arguments.centre_x), static_cast<float>(arguments.centre_y),
                  static_cast<float>(step), static_cast<float>(1 / step),
                  cl_int{arguments.iterations});
  const bench::NdRange range = {
      {bench::round_up(size.width, kLocalX), bench::round_up(size.height, kLocalY)},
      {kLocalX, kLocalY}};
  Times times;
  const Clock::time_point start = Clock::now();
  bench::enqueue(session, kernel, range);
  session.finish();
  times.kernel = seconds_since(start);
  image.read(session, pixels);
  session.finish();
  times.picture = seconds_since(start);
  return times;
}

Picture compute(const Arguments& arguments, Size size, nlohmann::ordered_json& report) {
  const Clock::time_point start = Clock::now();
  const bench::Session session(bench::choose_device(arguments.platform, arguments.device));
  const Clock::time_point build_start = Clock::now();
  const bench::Program program = session.build(embedded::kernels_render_cl, "-cl-std=CL1.2");
  const bench::Kernel kernel = bench::make_kernel(program, "render");
  const double build_seconds = seconds_since(build_start);

  // Drivers compile at the first launch: a small preview takes that out of the picture's time.
  const Size small = {std::max<std::size_t>(1, size.width / 8),
                      std::max<std::size_t>(1, size.height / 8)};
  std::vector<cl_uint> preview(small.width * small.height);
  const bench::DeviceArray<cl_uint> preview_image(session, CL_MEM_WRITE_ONLY, preview.size());
  const Times preview_times = render(session, kernel, arguments, small, preview_image, preview);

  std::vector<cl_uint> pixels(size.width * size.height);
  const bench::DeviceArray<cl_uint> image(session, CL_MEM_WRITE_ONLY, pixels.size());
  Times best;
  std::vector<double> all;
  for (int i = 0; i < arguments.repeat; ++i) {
    const Times times = render(session, kernel, arguments, size, image, pixels);
    all.push_back(times.picture);
    if (i == 0 || times.picture < best.picture) best = times;
  }
  if (std::any_of(pixels.begin(), pixels.end(), [](cl_uint v) { return v >> 24 != 255; })) {
    throw ClError("the device left pixels unwritten");
  }

  report["platform"] = session.choice().platform_name;
  report["device"] = session.choice().device_name;
  report["build_s"] = build_seconds;
  report["preview_s"] = preview_times.picture;
  report["kernel_s"] = best.kernel;
  report["picture_s"] = best.picture;
  report["picture_s_all"] = all;
  report["total_s"] = seconds_since(start);

  return {size.width, size.height, std::move(pixels)};
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Renders a view of the Mandelbrot set with one OpenCL kernel launch."};
  app.add_option("--platform", arguments.platform, "Index or part of the name");
  app.add_option("--device", arguments.device, "Index or part of the name");
  app.add_option("--size", arguments.size, "Pixels, WxH")->capture_default_str();
  app.add_option("--out", arguments.out, "Write the picture to this PNG file");
  app.add_option("--raw", arguments.raw, "Write the bare pixels (RGBA) to this file");
  app.add_option("--from-raw", arguments.from_raw, "Take pixels from this file; compute nothing");
  app.add_option("--strip", arguments.strip,
                 "JSON: which device computed which rows; drawn beside the picture in --out");
  app.add_option("--x", arguments.centre_x, "Centre of the view")->capture_default_str();
  app.add_option("--y", arguments.centre_y, "Centre of the view")->capture_default_str();
  app.add_option("--view-width", arguments.view_width, "Width of the view")
      ->check(CLI::Range(1e-4, 10.0))
      ->capture_default_str();
  app.add_option("--iterations", arguments.iterations, "Largest number of iterations")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--repeat", arguments.repeat, "Compute so many times; the best time is reported")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  Size size;
  try {
    app.parse(argc, argv);
    size = parse_size(arguments.size);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  // A strip that cannot be read is known before the work is done.
  std::vector<Package> packages;
  if (!arguments.strip.empty()) packages = read_packages(arguments.strip);

  nlohmann::ordered_json report = {{"width", size.width}, {"height", size.height}};
  const Picture picture = arguments.from_raw.empty()
                              ? compute(arguments, size, report)
                              : read_raw(size.width, size.height, arguments.from_raw);
  if (!arguments.raw.empty()) {
    write_raw(picture, arguments.raw);
    report["raw"] = arguments.raw;
  }
  if (!arguments.out.empty()) {
    Surface surface;
    if (packages.empty()) {
      surface = make_surface(picture.width, picture.height);
      put(picture, surface.get());
    } else {
      surface = with_strip(picture, packages);
    }
    write_png(surface.get(), arguments.out);
    report["out"] = arguments.out;
  }
  std::cout << report.dump() << '\n';
  return 0;
}

}  // namespace
}  // namespace tutti::demo

int main(int argc, char** argv) {
  try {
    return tutti::demo::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "tutti-demo: " << error.what() << '\n';
    return 1;
  }
}
