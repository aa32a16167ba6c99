// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm.cl.h"

#include "verify.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kTile = 16;
constexpr int kLargest = 8;

class Gemm final : public Benchmark {
 public:
  explicit Gemm(std::size_t size) : m_(size), n_(size + 3), k_(size + 1) {
    // Every product and sum is an integer below 2^24: exact in float, whatever the order or fusing.
    if (k_ * kLargest * kLargest >= (std::size_t{1} << 24)) {
      throw std::invalid_argument("gemm: the largest size is 262000");
    }
    Random random(2);
    a_ = integers(random, m_ * k_);
    b_ = integers(random, k_ * n_);
    std::vector<std::int32_t> sums(m_ * n_, 0);
    for (std::size_t i = 0; i < m_; ++i) {
      for (std::size_t p = 0; p < k_; ++p) {
        const auto factor = static_cast<std::int32_t>(a_[i * k_ + p]);
        for (std::size_t j = 0; j < n_; ++j) {
          sums[i * n_ + j] += factor * static_cast<std::int32_t>(b_[p * n_ + j]);
        }
      }
    }
    expected_.assign(sums.begin(), sums.end());
    found_.resize(expected_.size());
  }

  void set_up(const Session& session, const Program& program) override {
    in_a_ = DeviceArray<float>(session, CL_MEM_READ_ONLY, a_.size());
    in_b_ = DeviceArray<float>(session, CL_MEM_READ_ONLY, b_.size());
    out_ = DeviceArray<float>(session, CL_MEM_WRITE_ONLY, expected_.size());
    kernel_ = make_kernel(program, "gemm");
    set_args(kernel_, in_a_, in_b_, out_, static_cast<cl_int>(m_), static_cast<cl_int>(n_),
             static_cast<cl_int>(k_));
  }
  void clear(const Session& session) override { out_.fill(session, kPoison); }
  void upload(const Session& session) override {
    in_a_.write(session, a_);
    in_b_.write(session, b_);
  }
  void launch(const Session& session) override { enqueue(session, kernel_, range()); }
  void download(const Session& session) override { out_.read(session, found_); }
  Verdict verify(std::size_t) override { return verify_equal<float>(found_, expected_); }

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

  std::size_t m_;
  std::size_t n_;
  std::size_t k_;
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> expected_;
  std::vector<float> found_;
  DeviceArray<float> in_a_;
  DeviceArray<float> in_b_;
  DeviceArray<float> out_;
  Kernel kernel_;
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
