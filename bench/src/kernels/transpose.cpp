// SPDX-License-Identifier: Apache-2.0
#include "kernels/transpose.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kTile = 16;

class Transpose final : public KernelBenchmark {
 public:
  explicit Transpose(std::size_t size) : width_(size), height_(size / 2 + 1) {
    Random random(8);
    in_.host.resize(width_ * height_);
    for (cl_uint& value : in_.host) value = random.bits();
    // Each row of the input is dealt out to the ends of growing columns.
    std::vector<std::vector<cl_uint>> columns(width_);
    auto next = in_.host.begin();
    while (next != in_.host.end()) {
      for (std::vector<cl_uint>& column : columns) column.push_back(*next++);
    }
    std::vector<cl_uint> expected;
    for (const std::vector<cl_uint>& column : columns) {
      expected.insert(expected.end(), column.begin(), column.end());
    }
    out_.expect(std::move(expected));
  }

  Work work() const override { return {8e-9 * static_cast<double>(in_.host.size()), "GB"}; }
  NdRange range() const override {
    return {{round_up(width_, kTile), round_up(height_, kTile)}, {kTile, kTile}};
  }

 private:
  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "transpose");
    set_args(kernel, in_.device(lane), out_.device(lane), static_cast<cl_uint>(width_),
             static_cast<cl_uint>(height_));
    return kernel;
  }

  std::size_t width_;
  std::size_t height_;
  Input<cl_uint> in_{*this};
  Output<cl_uint> out_{*this};
};

}  // namespace

Entry entry_transpose() {
  return {"transpose",
          "matrix transposed tile by tile in local memory (2-D, uint)",
          "columns; the matrix has half as many rows",
          "equal",
          2003,
          embedded::kernels_transpose_cl,
          [](std::size_t size) { return std::make_unique<Transpose>(size); }};
}

}  // namespace tutti::bench
