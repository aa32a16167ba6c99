// SPDX-License-Identifier: Apache-2.0
#include "kernels/taylor.cl.h"

#include <limits>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;
// Coordinates are within ±1.5: what the series leaves out is below 3^25/25! = 6e-14.
constexpr int kOrder = 24;
constexpr float kLargest = 1.5F;
constexpr double kUnit = std::numeric_limits<float>::epsilon() / 2;
// A term of total degree n has some 4n roundings, and the large terms are those of n < 5; the rest
// are the roundings of the two sums.
constexpr double kRoundings = 32;

class Taylor final : public KernelBenchmark {
 public:
  explicit Taylor(std::size_t size) : n_(size) {
    Random random(16);
    points_.host.resize(2 * n_);
    for (float& coordinate : points_.host) coordinate = (random.unit() * 2 - 1) * kLargest;
    out_.found.resize(n_);
  }

  /// By the host's sine, in double precision. The sum of the terms' sizes is at most sinh(|x|+|y|).
  Verdict verify(std::size_t) override {
    Verdict verdict;
    verdict.checked = n_;
    for (std::size_t i = 0; i < n_; ++i) {
      const double x = points_.host[2 * i];
      const double y = points_.host[2 * i + 1];
      const double expected = std::sin(x + y);
      const double tolerance = kRoundings * kUnit * std::sinh(std::abs(x) + std::abs(y)) + 1e-13;
      // Written so that a NaN is wrong.
      if (std::abs(double{out_.found[i]} - expected) <= tolerance) continue;
      if (verdict.wrong++ == 0) {
        verdict.first_wrong = "element " + std::to_string(i) + ": " +
                              std::to_string(out_.found[i]) + ", expected " +
                              std::to_string(expected) + " ± " + std::to_string(tolerance);
      }
    }
    return verdict;
  }

  Work work() const override {
    // Three operations per term.
    return {1.5e-9 * static_cast<double>(n_ * (kOrder + 1) * (kOrder + 2)), "GFLOP"};
  }
  NdRange range() const override { return {{round_up(n_, kLocal)}, {kLocal}}; }

 private:
  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "taylor");
    set_args(kernel, points_.device(lane), out_.device(lane), cl_int{kOrder},
             static_cast<cl_uint>(n_));
    return kernel;
  }

  std::size_t n_;
  Input<float> points_{*this, 2 * kLocal};
  Output<float> out_{*this, kLocal};
};

}  // namespace

Entry entry_taylor() {
  return {"taylor",
          "a Taylor series in two variables, up to the 24th order (1-D, float2)",
          "number of points",
          "within 32 rounding units of the terms' sizes, against sin(x + y) in double precision",
          200003,
          embedded::kernels_taylor_cl,
          [](std::size_t size) { return std::make_unique<Taylor>(size); }};
}

}  // namespace tutti::bench
