// SPDX-License-Identifier: Apache-2.0
#include "kernels/mandelbrot.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr int kLimit = 500;
constexpr std::size_t kLocalX = 16;
constexpr std::size_t kLocalY = 4;
// Rounding that differs between devices flips single pixels at the set's border.
constexpr std::size_t kLongestRun = 8;
static_assert(kLongestRun < kLocalX);

/// Escape time of c. Same roundings as the kernel by other means: the squares are carried along,
/// doubling is an addition (both exact), and a value that repeats can never escape (Brent's cycle
/// search), so points inside are cheap.
int escape_time(float cr, float ci) {
  float a = 0.0F;
  float b = 0.0F;
  float a2 = 0.0F;
  float b2 = 0.0F;
  float seen_a = 0.0F;
  float seen_b = 0.0F;
  int remember_at = 8;
  for (int n = 0; n < kLimit; ++n) {
    if (!(a2 + b2 <= 4.0F)) return n;
    const float product = a * b;
    b = product + product + ci;
    a = a2 - b2 + cr;
    a2 = a * a;
    b2 = b * b;
    if (a == seen_a && b == seen_b) return kLimit;
    if (n == remember_at) {
      remember_at *= 2;
      seen_a = a;
      seen_b = b;
    }
  }
  return kLimit;
}

class Mandelbrot final : public KernelBenchmark {
 public:
  explicit Mandelbrot(std::size_t size)
      : width_(size), height_((size * 2 + 2) / 3), step_(3.0F / static_cast<float>(size)) {
    std::vector<cl_int> expected;
    expected.reserve(width_ * height_);
    for (std::size_t y = 0; y < height_; ++y) {
      const float ci = kTop + static_cast<float>(y) * step_;
      for (std::size_t x = 0; x < width_; ++x) {
        expected.push_back(escape_time(kLeft + static_cast<float>(x) * step_, ci));
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
          return found[i] >= 0 && found[i] <= kLimit ? Pixel::kDifferent : Pixel::kImpossible;
        },
        [&](std::size_t i) {
          return std::to_string(found[i]) + " iterations, expected " + std::to_string(expected[i]);
        });
  }

  Work work() const override {
    double iterations = 0;
    for (const cl_int n : out_.expected) iterations += n;
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
             kLeft, kTop, step_, cl_int{kLimit});
    return kernel;
  }

  std::size_t width_;
  std::size_t height_;
  float step_;
  Output<cl_int> out_{*this, kLocalY* width_};
};

}  // namespace

Entry entry_mandelbrot() {
  return {"mandelbrot",
          "escape times, irregular work (2-D, float)",
          "width in pixels; the height is two thirds of it",
          "equal, except at most 1 pixel of 1000, and never more than 8 in a row",
          1003,
          embedded::kernels_mandelbrot_cl,
          [](std::size_t size) { return std::make_unique<Mandelbrot>(size); }};
}

}  // namespace tutti::bench
