// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kTile = 16;
constexpr int kLargest = 8;

class Gemm final : public KernelBenchmark {
 public:
  explicit Gemm(std::size_t size) : m_(size), n_(size + 3), k_(size + 1) {
    // Every product and sum is an integer below 2^24: exact in float, whatever the order or fusing.
    if (k_ * kLargest * kLargest >= (std::size_t{1} << 24)) {
      throw std::invalid_argument("gemm: the largest size is 262000");
    }
    Random random(2);
    a_.host = integers(random, m_ * k_);
    b_.host = integers(random, k_ * n_);
    c_.resize(m_ * n_);
  }

  void make_reference() override {
    std::vector<std::int32_t> sums(m_ * n_, 0);
    for (std::size_t i = 0; i < m_; ++i) {
      for (std::size_t p = 0; p < k_; ++p) {
        const auto factor = static_cast<std::int32_t>(a_.host[i * k_ + p]);
        for (std::size_t j = 0; j < n_; ++j) {
          sums[i * n_ + j] += factor * static_cast<std::int32_t>(b_.host[p * n_ + j]);
        }
      }
    }
    c_.expect({sums.begin(), sums.end()});
  }

  Work work() const override {
    return {2e-9 * static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(k_),
            "GFLOP"};
  }
  NdRange range() const override {
    return {{round_up(n_, kTile), round_up(m_, kTile)}, {kTile, kTile}};
  }

 private:
  static std::vector<float> integers(Random& random, std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = static_cast<float>(static_cast<int>(random.below(2 * kLargest + 1)) - kLargest);
    }
    return values;
  }

  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "gemm");
    set_args(kernel, a_.device(lane), b_.device(lane), c_.device(lane), static_cast<cl_int>(m_),
             static_cast<cl_int>(n_), static_cast<cl_int>(k_));
    return kernel;
  }

  std::size_t m_;
  std::size_t n_;
  std::size_t k_;
  Input<float> a_{*this, kTile* k_};
  Input<float> b_{*this};
  Output<float> c_{*this, kTile* n_};
};

}  // namespace

Entry entry_gemm() {
  return {"gemm",
          "dense matrix product in tiles of local memory (2-D, float)",
          "N: (N x N+1) times (N+1 x N+3)",
          "equal (inputs are small integers, so that float sums are exact)",
          323,
          embedded::kernels_gemm_cl,
          [](std::size_t size) { return std::make_unique<Gemm>(size); }};
}

}  // namespace tutti::bench
