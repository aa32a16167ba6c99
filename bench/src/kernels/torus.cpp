// SPDX-License-Identifier: Apache-2.0
#include "kernels/torus.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocalX = 16;
constexpr std::size_t kLocalY = 8;
constexpr std::size_t kSteps = 10;            // even: the last one ends where the first one began
constexpr std::uint32_t kLargest = 1U << 28;  // eight times it plus four must fit into a uint

class Torus final : public RepeatedBenchmark {
 public:
  explicit Torus(std::size_t size) : width_(size), height_(size * 2 / 3 + 1) {
    Random random(21);
    data_.host.resize(width_ * height_);
    for (cl_uint& value : data_.host) value = random.below(kLargest);
  }

  /// To and fro between two grids.
  void launch(const Session& session) override {
    for (std::size_t step = 0; step < kSteps; step += 2) {
      enqueue(session, forth_, range());
      enqueue(session, back_, range());
    }
  }
  Work work() const override {
    return {8e-9 * static_cast<double>(data_.host.size()) * static_cast<double>(kSteps), "GB"};
  }
  NdRange range() const override {
    return {{round_up(width_, kLocalX), round_up(height_, kLocalY)}, {kLocalX, kLocalY}};
  }

 private:
  void prepare(const Program& program, std::size_t lane) override {
    const auto width = static_cast<cl_uint>(width_);
    const auto height = static_cast<cl_uint>(height_);
    forth_ = make_kernel(program, "torus");
    set_args(forth_, data_.device(lane), other_.device(lane), width, height);
    back_ = make_kernel(program, "torus");
    set_args(back_, other_.device(lane), data_.device(lane), width, height);
  }

  void restart() override { data_.expected = data_.host; }

  /// The other way round: every cell hands its parts out to its neighbours, in 64 bits.
  void advance() override {
    std::vector<std::uint64_t> eighths(data_.expected.size());
    for (std::size_t step = 0; step < kSteps; ++step) {
      std::fill(eighths.begin(), eighths.end(), std::uint64_t{4});
      for (std::size_t y = 0; y < height_; ++y) {
        const std::size_t row = y * width_;
        const std::size_t below = y + 1 < height_ ? row + width_ : 0;
        for (std::size_t x = 0; x < width_; ++x) {
          const std::size_t right = x + 1 < width_ ? x + 1 : 0;
          const std::uint64_t value = data_.expected[row + x];
          eighths[row + x] += 4 * value + data_.expected[row + right] + data_.expected[below + x];
          eighths[row + right] += value;
          eighths[below + x] += value;
        }
      }
      for (std::size_t i = 0; i < eighths.size(); ++i) {
        data_.expected[i] = static_cast<cl_uint>(eighths[i] >> 3);
      }
    }
  }

  std::size_t width_;
  std::size_t height_;
  InOut<cl_uint> data_{*this};
  Scratch<cl_uint> other_{*this, width_* height_};
  Kernel forth_, back_;
};

}  // namespace

Entry entry_torus() {
  return {"torus",
          "ten steps of a stencil to and fro, whose neighbours wrap around (2-D, uint)",
          "columns; the grid has two thirds as many rows",
          "equal",
          1003,
          embedded::kernels_torus_cl,
          [](std::size_t size) { return std::make_unique<Torus>(size); }};
}

}  // namespace tutti::bench
