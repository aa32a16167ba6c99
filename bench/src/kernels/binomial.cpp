// SPDX-License-Identifier: Apache-2.0
#include "kernels/binomial.cl.h"

#include <limits>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kSteps = 255;
constexpr std::size_t kLocal = kSteps + 1;
constexpr std::size_t kFields = 5;
constexpr double kRate = 0.03;
constexpr double kUnit = std::numeric_limits<float>::epsilon() / 2;

class Binomial final : public KernelBenchmark {
 public:
  explicit Binomial(std::size_t size) : options_count_(size) {
    Random random(14);
    for (std::size_t i = 0; i < size; ++i) {
      const double price = 5 + 45 * double{random.unit()};
      const double strike = 1 + 99 * double{random.unit()};
      const double years = 0.25 + 9.75 * double{random.unit()};
      const double volatility = 0.1 + 0.4 * double{random.unit()};
      // Cox, Ross and Rubinstein's lattice.
      const double dt = years / kSteps;
      const double step = volatility * std::sqrt(dt);
      const double up = (std::exp(kRate * dt) - std::exp(-step)) / (2 * std::sinh(step));
      for (const double field :
           {price, strike, step, up * std::exp(-kRate * dt), (1 - up) * std::exp(-kRate * dt)}) {
        options_.host.push_back(static_cast<float>(field));
      }
    }
    values_.resize(size);
  }

  Verdict verify(std::size_t) override {
    Verdict verdict;
    verdict.checked = expected_.size();
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      // Written so that a NaN is wrong.
      if (std::abs(double{values_.found[i]} - expected_[i]) <= tolerance_[i]) continue;
      if (verdict.wrong++ == 0) {
        verdict.first_wrong = "option " + std::to_string(i) + ": " +
                              std::to_string(values_.found[i]) + ", expected " +
                              std::to_string(expected_[i]) + " ± " + std::to_string(tolerance_[i]);
      }
    }
    return verdict;
  }

  Work work() const override {
    // Three operations per node above the leaves.
    return {1.5e-9 * static_cast<double>(options_count_ * kSteps * (kSteps + 1)), "GFLOP"};
  }
  NdRange range() const override { return {{options_count_ * kLocal}, {kLocal}}; }

  /// Not level by level: the value is the mean of the leaves, weighted by how many ways lead to
  /// each, in double precision.
  void make_reference() override {
    std::vector<double> log_ways;
    for (std::size_t ups = 0; ups <= kSteps; ++ups) {
      log_ways.push_back(std::lgamma(kSteps + 1.0) - std::lgamma(static_cast<double>(ups) + 1) -
                         std::lgamma(static_cast<double>(kSteps - ups) + 1));
    }
    for (std::size_t i = 0; i < options_count_; ++i) {
      const float* option = &options_.host[i * kFields];
      const double log_up = std::log(double{option[3]});
      const double log_down = std::log(double{option[4]});
      double value = 0;
      double leaf_error = 0;
      for (std::size_t ups = 0; ups <= kSteps; ++ups) {
        const auto u = static_cast<double>(ups);
        const double exponent = option[2] * (2 * u - kSteps);
        const double weight = std::exp(log_ways[ups] + u * log_up + (kSteps - u) * log_down);
        const double price = option[0] * std::exp(exponent);
        if (price > option[1]) value += weight * (price - option[1]);
        // Roundings of the exponent, of exp (3 units in the last place), of product and difference.
        leaf_error += weight * kUnit * price * (std::abs(exponent) + 10);
      }
      expected_.push_back(value);
      // On the way up the lattice each level rounds three times, relative to positive terms.
      tolerance_.push_back(leaf_error + 3 * kUnit * kSteps * value);
    }
  }

 private:
  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "binomial");
    set_args(kernel, options_.device(lane), values_.device(lane));
    return kernel;
  }

  std::size_t options_count_;
  std::vector<double> expected_;
  std::vector<double> tolerance_;
  Input<float> options_{*this, kFields};
  Output<float> values_{*this, 1};
};

}  // namespace

Entry entry_binomial() {
  return {"binomial",
          "options priced on a binomial lattice of 255 steps in local memory (1-D, float)",
          "number of options, a work-group each",
          "within the rounding error bound of the float lattice, against double precision",
          2003,
          embedded::kernels_binomial_cl,
          [](std::size_t size) { return std::make_unique<Binomial>(size); }};
}

}  // namespace tutti::bench
