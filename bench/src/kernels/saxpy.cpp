// SPDX-License-Identifier: Apache-2.0
#include "kernels/saxpy.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 256;
constexpr int kFactor = 13;

class Saxpy final : public KernelBenchmark {
 public:
  explicit Saxpy(std::size_t size) {
    // Integers whose products and sums stay below 2^24: exact in float, fused or not.
    Random random(13);
    std::vector<float> expected(size);
    for (float& sum : expected) {
      const int x = static_cast<int>(random.below(1U << 20)) - (1 << 19);
      const int y = static_cast<int>(random.below(1U << 20)) - (1 << 19);
      x_.host.push_back(static_cast<float>(x));
      y_.host.push_back(static_cast<float>(y));
      sum = static_cast<float>(kFactor * x + y);
    }
    out_.expect(std::move(expected));
  }

  Work work() const override { return {12e-9 * static_cast<double>(x_.host.size()), "GB"}; }
  NdRange range() const override { return {{round_up(x_.host.size(), kLocal)}, {kLocal}}; }

 private:
  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "saxpy");
    set_args(kernel, x_.device(lane), y_.device(lane), out_.device(lane),
             static_cast<float>(kFactor), static_cast<cl_uint>(x_.host.size()));
    return kernel;
  }

  Input<float> x_{*this, kLocal};
  Input<float> y_{*this, kLocal};
  Output<float> out_{*this, kLocal};
};

}  // namespace

Entry entry_saxpy() {
  return {"saxpy",
          "a * x + y: bound by memory and transfers (1-D, float)",
          "number of elements",
          "equal (inputs are integers, so that float results are exact)",
          8000009,
          embedded::kernels_saxpy_cl,
          [](std::size_t size) { return std::make_unique<Saxpy>(size); }};
}

}  // namespace tutti::bench
