// SPDX-License-Identifier: Apache-2.0
#include "kernels/gaussian.cl.h"

#include <array>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocalX = 16;
constexpr std::size_t kLocalY = 4;
constexpr std::size_t kRadius = 4;
constexpr std::size_t kTaps = 2 * kRadius + 1;
constexpr std::size_t kChannels = 4;
// A row of Pascal's triangle is a Gaussian in integers; its sum is 256. A pixel's weighted sum is
// an integer of at most 255 * 2^16 < 2^24: exact in float, in any order.
constexpr std::array<std::uint32_t, kTaps> kPascal = {1, 8, 28, 56, 70, 56, 28, 8, 1};
constexpr std::uint32_t kSum = 1U << 16;

class Gaussian final : public KernelBenchmark {
 public:
  explicit Gaussian(std::size_t size) : width_(size), height_((size * 2 + 2) / 3) {
    Random random(15);
    in_.host.resize(width_ * height_);
    for (cl_uint& pixel : in_.host) pixel = random.bits();
    for (const std::uint32_t a : kPascal) {
      for (const std::uint32_t b : kPascal) weights_.host.push_back(static_cast<float>(a * b));
    }
    make_reference();
  }

  Work work() const override {
    return {2e-9 * static_cast<double>(kTaps * kTaps * kChannels * in_.host.size()), "GFLOP"};
  }
  NdRange range() const override {
    return {{round_up(width_, kLocalX), round_up(height_, kLocalY)}, {kLocalX, kLocalY}};
  }

 private:
  /// One direction after the other, in integers.
  void make_reference() {
    std::vector<cl_uint> expected(in_.host.size(), 0);
    std::vector<std::uint32_t> rows(in_.host.size());
    std::vector<std::uint32_t> line;
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      for (std::size_t y = 0; y < height_; ++y) {
        line.clear();
        for (std::size_t x = 0; x < width_; ++x) {
          line.push_back(in_.host[y * width_ + x] >> (8 * channel) & 0xffU);
        }
        const std::vector<std::uint32_t> blurred = blur(line);
        std::copy(blurred.begin(), blurred.end(), rows.begin() + static_cast<long>(y * width_));
      }
      for (std::size_t x = 0; x < width_; ++x) {
        line.clear();
        for (std::size_t y = 0; y < height_; ++y) line.push_back(rows[y * width_ + x]);
        const std::vector<std::uint32_t> blurred = blur(line);
        for (std::size_t y = 0; y < height_; ++y) {
          // To the nearest, halves to even.
          const std::uint32_t floor = blurred[y] / kSum;
          const std::uint32_t rest = blurred[y] % kSum;
          const bool up = rest > kSum / 2 || (rest == kSum / 2 && floor % 2 != 0);
          expected[y * width_ + x] |= (floor + (up ? 1 : 0)) << (8 * channel);
        }
      }
    }
    out_.expect(std::move(expected));
  }

  static std::vector<std::uint32_t> blur(const std::vector<std::uint32_t>& line) {
    std::vector<std::uint32_t> wide(kRadius, line.front());
    wide.insert(wide.end(), line.begin(), line.end());
    wide.insert(wide.end(), kRadius, line.back());
    std::vector<std::uint32_t> blurred(line.size(), 0);
    for (std::size_t tap = 0; tap < kTaps; ++tap) {
      for (std::size_t i = 0; i < line.size(); ++i) blurred[i] += kPascal[tap] * wide[i + tap];
    }
    return blurred;
  }

  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "gaussian");
    set_args(kernel, in_.device(lane), weights_.device(lane), out_.device(lane),
             static_cast<cl_int>(width_), static_cast<cl_int>(height_), 1.0F / kSum);
    return kernel;
  }

  std::size_t width_;
  std::size_t height_;
  Input<cl_uint> in_{*this};  // RGBA, red in the lowest byte
  Input<float> weights_{*this};
  Output<cl_uint> out_{*this, kLocalY* width_};
};

}  // namespace

Entry entry_gaussian() {
  return {"gaussian",
          "blur of an RGBA image by a filter of 9 x 9, in a buffer (2-D, uchar4)",
          "width in pixels; the height is two thirds of it",
          "equal (weights are integers, so that float sums are exact)",
          1003,
          embedded::kernels_gaussian_cl,
          [](std::size_t size) { return std::make_unique<Gaussian>(size); }};
}

}  // namespace tutti::bench
