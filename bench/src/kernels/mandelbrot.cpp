// SPDX-License-Identifier: Apache-2.0
#include "kernels/mandelbrot.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocalX = 16;
constexpr std::size_t kLocalY = 4;
// Rounding that differs between devices flips single pixels at the set's border.
constexpr std::size_t kLongestRun = 8;
static_assert(kLongestRun < kLocalX);

/// Escape time of c. Same roundings as the kernel by other means: the squares are carried along,
/// doubling is an addition (both exact), and a value that repeats can never escape (Brent's cycle
/// search), so points inside are cheap.
int escape_time(float cr, float ci, int limit) {
  float a = 0.0F;
  float b = 0.0F;
  float a2 = 0.0F;
  float b2 = 0.0F;
  float seen_a = 0.0F;
  float seen_b = 0.0F;
  int remember_at = 8;
  for (int n = 0; n < limit; ++n) {
    if (!(a2 + b2 <= 4.0F)) return n;
    const float product = a * b;
    b = product + product + ci;
    a = a2 - b2 + cr;
    a2 = a * a;
    b2 = b * b;
    if (a == seen_a && b == seen_b) return limit;
    if (n == remember_at) {
      remember_at *= 2;
      seen_a = a;
      seen_b = b;
    }
  }
  return limit;
}

class Mandelbrot final : public KernelBenchmark {
 public:
  Mandelbrot(std::size_t size, int limit)
      : width_(size),
        height_((size * 2 + 2) / 3),
        limit_(limit),
        step_(3.0F / static_cast<float>(size)) {
    out_.resize(width_ * height_);
  }

  void make_reference() override {
    std::vector<cl_int> expected;
    expected.reserve(width_ * height_);
    for (std::size_t y = 0; y < height_; ++y) {
      const float ci = kTop + static_cast<float>(y) * step_;
      for (std::size_t x = 0; x < width_; ++x) {
        expected.push_back(escape_time(kLeft + static_cast<float>(x) * step_, ci, limit_));
      }
    }
    out_.expect(std::move(expected));
  }

  Verdict verify(std::size_t) override {
    const std::vector<cl_int>& found = out_.found;
    const std::vector<cl_int>& expected = out_.expected;
    return verify_picture(
        width_, height_, 1, kLongestRun,
        [&](std::size_t i) {
          if (found[i] == expected[i]) return Pixel::kEqual;
          return found[i] >= 0 && found[i] <= limit_ ? Pixel::kDifferent : Pixel::kImpossible;
        },
        [&](std::size_t i) {
          return std::to_string(found[i]) + " iterations, expected " + std::to_string(expected[i]);
        });
  }

  Work work() const override {
    double iterations = 0;
    for (const cl_int n : out_.found) iterations += n;
    return {iterations * 8e-9, "GFLOP"};
  }
  NdRange range() const override {
    return {{round_up(width_, kLocalX), round_up(height_, kLocalY)}, {kLocalX, kLocalY}};
  }

 private:
  static constexpr float kLeft = -2.25F;
  static constexpr float kTop = -1.0F;

  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "mandelbrot");
    set_args(kernel, out_.device(lane), static_cast<cl_int>(width_), static_cast<cl_int>(height_),
             kLeft, kTop, step_, cl_int{limit_});
    return kernel;
  }

  std::size_t width_;
  std::size_t height_;
  int limit_;
  float step_;
  Output<cl_int> out_{*this, kLocalY* width_};
};

constexpr char kSize[] = "width in pixels; the height is two thirds of it";
constexpr char kTolerance[] =
    "equal, except at most 1 pixel of 1000, and never more than 8 in a row";

}  // namespace

Entry entry_mandelbrot() {
  return {"mandelbrot",
          "escape times, irregular work (2-D, float)",
          kSize,
          kTolerance,
          1003,
          embedded::kernels_mandelbrot_cl,
          [](std::size_t size) { return std::make_unique<Mandelbrot>(size, 500); }};
}

Entry entry_mandelbrot_deep() {
  return {"mandelbrot_deep",
          "escape times up to 100000, very irregular work (2-D, float)",
          kSize,
          kTolerance,
          103,
          embedded::kernels_mandelbrot_cl,
          [](std::size_t size) { return std::make_unique<Mandelbrot>(size, 100000); },
          "mandelbrot"};
}

}  // namespace tutti::bench
