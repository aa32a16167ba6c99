// SPDX-License-Identifier: Apache-2.0
#include "kernels/nbody.cl.h"

#include <array>
#include <limits>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;
constexpr float kDt = 0.01F;
constexpr float kSoftening2 = 0.0025F;
constexpr double kUnit = std::numeric_limits<float>::epsilon() / 2;

class NBody final : public KernelBenchmark {
 public:
  explicit NBody(std::size_t size) : n_(size) {
    position_.host.resize(4 * n_);
    velocity_.host.resize(4 * n_);
    Random random(1);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t c = 0; c < 3; ++c) {
        position_.host[4 * i + c] = random.unit();
        velocity_.host[4 * i + c] = (random.unit() - 0.5F) * 0.01F;
      }
      position_.host[4 * i + 3] = (0.5F + random.unit()) / static_cast<float>(n_);
      velocity_.host[4 * i + 3] = static_cast<float>(i % 1024);
    }
    new_position_.resize(4 * n_);
    new_velocity_.resize(4 * n_);
  }

  Verdict verify(std::size_t) override {
    Verdict verdict;
    compare("velocity", new_velocity_.found, expected_velocity_, velocity_tolerance_, verdict);
    compare("position", new_position_.found, expected_position_, position_tolerance_, verdict);
    return verdict;
  }

  Work work() const override {
    // The field's customary count: 20 operations per pair.
    return {20e-9 * static_cast<double>(n_) * static_cast<double>(n_), "GFLOP"};
  }
  NdRange range() const override { return {{round_up(n_, kLocal)}, {kLocal}}; }

  /// In double precision, each pair once and applied to both ends (Newton's third law). Beside each
  /// sum goes the sum of its terms' sizes, which is what bounds a float summation's error.
  void make_reference() override {
    std::vector<std::array<double, 3>> sum(n_);
    std::vector<std::array<double, 3>> size(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      const double mass_i = position_.host[4 * i + 3];
      for (std::size_t j = i + 1; j < n_; ++j) {
        std::array<double, 3> d{};
        double r2 = kSoftening2;
        for (std::size_t c = 0; c < 3; ++c) {
          d[c] = double{position_.host[4 * j + c]} - double{position_.host[4 * i + c]};
          r2 += d[c] * d[c];
        }
        const double strength = 1.0 / (r2 * std::sqrt(r2));
        const double mass_j = position_.host[4 * j + 3];
        for (std::size_t c = 0; c < 3; ++c) {
          const double pull = strength * d[c];
          sum[i][c] += mass_j * pull;
          sum[j][c] -= mass_i * pull;
          size[i][c] += mass_j * std::abs(pull);
          size[j][c] += mass_i * std::abs(pull);
        }
      }
    }
    // Roundings of n additions walk like sqrt(n); the constant covers each term's own roundings.
    const double relative = (32 + 8 * std::sqrt(static_cast<double>(n_))) * kUnit;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t c = 0; c < 4; ++c) {
        const double v0 = velocity_.host[4 * i + c];
        const double p0 = position_.host[4 * i + c];
        const double a = c < 3 ? sum[i][c] : 0;
        const double v = v0 + a * kDt;
        const double p = c < 3 ? p0 + v * kDt : p0;
        // The fourth components are only passed on: those must be equal.
        const double v_error =
            c < 3 ? kDt * relative * size[i][c] + 4 * kUnit * (std::abs(v0) + std::abs(v)) : 0;
        const double p_error = c < 3 ? kDt * v_error + 4 * kUnit * (std::abs(p0) + std::abs(p)) : 0;
        expected_velocity_.push_back(v);
        expected_position_.push_back(p);
        velocity_tolerance_.push_back(v_error);
        position_tolerance_.push_back(p_error);
      }
    }
  }

 private:
  static void compare(const char* what, const std::vector<float>& found,
                      const std::vector<double>& expected, const std::vector<double>& tolerance,
                      Verdict& verdict) {
    verdict.checked += expected.size();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // Written so that a NaN is wrong.
      if (std::abs(double{found[i]} - expected[i]) <= tolerance[i]) continue;
      if (verdict.wrong++ == 0) {
        verdict.first_wrong = std::string(what) + " of body " + std::to_string(i / 4) +
                              ", component " + std::to_string(i % 4) + ": " +
                              std::to_string(found[i]) + ", expected " +
                              std::to_string(expected[i]) + " ± " + std::to_string(tolerance[i]);
      }
    }
  }

  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "nbody");
    set_args(kernel, position_.device(lane), velocity_.device(lane), new_position_.device(lane),
             new_velocity_.device(lane), static_cast<cl_int>(n_), kDt, kSoftening2);
    return kernel;
  }

  std::size_t n_;
  std::vector<double> expected_position_;
  std::vector<double> expected_velocity_;
  std::vector<double> position_tolerance_;
  std::vector<double> velocity_tolerance_;
  Input<float> position_{*this};
  Input<float> velocity_{*this, 4 * kLocal};
  Output<float> new_position_{*this, 4 * kLocal};
  Output<float> new_velocity_{*this, 4 * kLocal};
};

}  // namespace

Entry entry_nbody() {
  return {"nbody",
          "one step of gravity between all pairs (1-D, float4)",
          "number of bodies",
          "within the rounding error bound of a float sum, per element, against double precision",
          6007,
          embedded::kernels_nbody_cl,
          [](std::size_t size) { return std::make_unique<NBody>(size); }};
}

}  // namespace tutti::bench
