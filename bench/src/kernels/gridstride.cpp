// SPDX-License-Identifier: Apache-2.0
#include "kernels/gridstride.cl.h"

#include <algorithm>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;
constexpr std::size_t kMostItems = 16384;
constexpr cl_uint kRounds = 64;

class GridStride final : public KernelBenchmark {
 public:
  explicit GridStride(std::size_t size) {
    // kRounds steps of x -> a*x + c at once: the affine map is composed with itself by squaring.
    cl_uint factor = 1;
    cl_uint offset = 0;
    cl_uint square_factor = 1664525U;
    cl_uint square_offset = 1013904223U;
    for (cl_uint left = kRounds; left != 0; left /= 2) {
      if (left % 2 != 0) {
        offset = square_factor * offset + square_offset;
        factor *= square_factor;
      }
      square_offset += square_factor * square_offset;
      square_factor *= square_factor;
    }
    Random random(6);
    std::vector<cl_uint> expected;
    for (std::size_t i = 0; i < size; ++i) {
      in_.host.push_back(random.bits());
      expected.push_back(factor * in_.host.back() + offset);
    }
    out_.expect(std::move(expected));
  }

  Work work() const override { return {8e-9 * static_cast<double>(in_.host.size()), "GB"}; }
  /// At most kMostItems items, however many elements there are.
  NdRange range() const override {
    return {{std::min(kMostItems, round_up(in_.host.size(), kLocal))}, {kLocal}};
  }

 private:
  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "gridstride");
    set_args(kernel, in_.device(lane), out_.device(lane), static_cast<cl_uint>(in_.host.size()),
             kRounds);
    return kernel;
  }

  Input<cl_uint> in_{*this};
  Output<cl_uint> out_{*this};
};

}  // namespace

Entry entry_gridstride() {
  return {"gridstride",
          "a loop over the data by get_global_size (1-D, uint)",
          "number of elements; at most 16384 items share them",
          "equal",
          1000003,
          embedded::kernels_gridstride_cl,
          [](std::size_t size) { return std::make_unique<GridStride>(size); }};
}

}  // namespace tutti::bench
