// SPDX-License-Identifier: Apache-2.0
#include "kernels/stencil2d.cl.h"

#include <algorithm>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocalX = 16;
constexpr std::size_t kLocalY = 8;
constexpr std::size_t kSteps = 10;
constexpr std::uint32_t kLargest = 1U << 28;  // eight times it plus four must fit into a uint

class Stencil2d final : public ArrayBenchmark {
 public:
  explicit Stencil2d(std::size_t size) : width_(size), height_(size * 2 / 3 + 1) {
    Random random(9);
    in_.host.resize(width_ * height_);
    for (cl_uint& value : in_.host) value = random.below(kLargest);
    make_reference();
  }

  /// From the input into the first grid, then to and fro between the two.
  void launch(const Session& session) override {
    for (std::size_t step = 0; step < kSteps; ++step) {
      set_args(kernel_, step == 0 ? in_.device() : grid(step - 1), grid(step),
               static_cast<cl_uint>(width_), static_cast<cl_uint>(height_));
      enqueue(session, kernel_, range());
    }
  }
  Work work() const override {
    return {8e-9 * static_cast<double>(in_.host.size()) * static_cast<double>(kSteps), "GB"};
  }
  NdRange range() const override {
    return {{round_up(width_, kLocalX), round_up(height_, kLocalY)}, {kLocalX, kLocalY}};
  }

 private:
  void prepare(const Program& program, std::size_t) override {
    kernel_ = make_kernel(program, "stencil2d");
  }

  /// The last step's is the output.
  const DeviceArray<cl_uint>& grid(std::size_t step) const {
    return (kSteps - 1 - step) % 2 == 0 ? out_.device() : other_.device();
  }

  /// The other way round: every cell hands its parts out to its neighbours, in 64 bits.
  void make_reference() {
    const std::size_t w = width_;
    const std::size_t cells = in_.host.size();
    std::vector<cl_uint> expected = in_.host;
    std::vector<std::uint64_t> eighths(cells);
    for (std::size_t step = 0; step < kSteps; ++step) {
      std::fill(eighths.begin(), eighths.end(), std::uint64_t{4});
      for (std::size_t i = 0; i < cells; ++i) {
        const std::uint64_t value = expected[i];
        eighths[i] += 4 * value;
        if (i >= 1) eighths[i - 1] += value;
        if (i + 1 < cells) eighths[i + 1] += value;
        if (i >= w) eighths[i - w] += value;
        if (i + w < cells) eighths[i + w] += value;
      }
      for (std::size_t y = 1; y + 1 < height_; ++y) {
        for (std::size_t x = 1; x + 1 < w; ++x) {
          expected[y * w + x] = static_cast<cl_uint>(eighths[y * w + x] >> 3);
        }
      }
    }
    out_.expect(std::move(expected));
  }

  std::size_t width_;
  std::size_t height_;
  Input<cl_uint> in_{*this};
  Output<cl_uint> out_{*this};
  Scratch<cl_uint> other_{*this, width_* height_};
  Kernel kernel_;
};

}  // namespace

Entry entry_stencil2d() {
  return {"stencil2d",
          "ten steps of a 5-point stencil between two buffers (2-D, uint)",
          "columns; the grid has two thirds as many rows",
          "equal",
          1503,
          embedded::kernels_stencil2d_cl,
          [](std::size_t size) { return std::make_unique<Stencil2d>(size); }};
}

}  // namespace tutti::bench
