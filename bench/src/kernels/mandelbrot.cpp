// SPDX-License-Identifier: Apache-2.0
#include "kernels/mandelbrot.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr int kLimit = 500;
constexpr std::size_t kLocalX = 16;
constexpr std::size_t kLocalY = 4;
// A lost group or row shows as a run of wrong pixels at least as long as a group is wide; rounding
// that differs between devices flips single pixels at the set's border.
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
    Verdict verdict;
    verdict.checked = out_.expected.size();
    std::size_t different = 0;
    std::size_t first = 0;
    bool intolerable = false;
    for (std::size_t y = 0; y < height_; ++y) {
      std::size_t run = 0;
      for (std::size_t x = 0; x < width_; ++x) {
        const std::size_t i = y * width_ + x;
        if (out_.found[i] == out_.expected[i]) {
          run = 0;
          continue;
        }
        if (different++ == 0) first = i;
        const bool possible = out_.found[i] >= 0 && out_.found[i] <= kLimit;  // else never written
        if ((++run > kLongestRun || !possible) && !intolerable) {
          intolerable = true;
          first = i;
        }
      }
    }
    if (intolerable || different * 1000 > out_.expected.size()) {
      verdict.wrong = different;
      verdict.first_wrong = "pixel (" + std::to_string(first % width_) + ", " +
                            std::to_string(first / width_) +
                            "): " + std::to_string(out_.found[first]) + " iterations, expected " +
                            std::to_string(out_.expected[first]);
    } else {
      verdict.tolerated = different;
    }
    return verdict;
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
