// SPDX-License-Identifier: Apache-2.0
#include "kernels/stencil2d.cl.h"

#include <algorithm>

#include "verify.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocalX = 16;
constexpr std::size_t kLocalY = 8;
constexpr std::size_t kSteps = 10;
constexpr std::uint32_t kLargest = 1U << 28;  // eight times it plus four must fit into a uint

class Stencil2d final : public Benchmark {
 public:
  explicit Stencil2d(std::size_t size) : width_(size), height_(size * 2 / 3 + 1) {
    Random random(9);
    in_.resize(width_ * height_);
    for (cl_uint& value : in_) value = random.below(kLargest);
    found_.resize(in_.size());
    make_reference();
  }

  void set_up(const Session& session, const Program& program) override {
    device_in_ = DeviceArray<cl_uint>(session, CL_MEM_READ_ONLY, in_.size());
    for (DeviceArray<cl_uint>& grid : device_grids_) {
      grid = DeviceArray<cl_uint>(session, CL_MEM_READ_WRITE, in_.size());
    }
    kernel_ = make_kernel(program, "stencil2d");
  }
  void clear(const Session& session) override {
    for (const DeviceArray<cl_uint>& grid : device_grids_) grid.fill(session, kPoison);
  }
  void upload(const Session& session) override { device_in_.write(session, in_); }
  /// From the input into the first grid, then to and fro between the two.
  void launch(const Session& session) override {
    for (std::size_t step = 0; step < kSteps; ++step) {
      set_args(kernel_, step == 0 ? device_in_ : device_grids_[(step - 1) % 2],
               device_grids_[step % 2], static_cast<cl_uint>(width_),
               static_cast<cl_uint>(height_));
      enqueue(session, kernel_, range());
    }
  }
  void download(const Session& session) override {
    device_grids_[(kSteps - 1) % 2].read(session, found_);
  }
  Verdict verify(std::size_t) override { return verify_equal<cl_uint>(found_, expected_); }

  Work work() const override {
    return {8e-9 * static_cast<double>(in_.size()) * static_cast<double>(kSteps), "GB"};
  }
  NdRange range() const override {
    return {{round_up(width_, kLocalX), round_up(height_, kLocalY)}, {kLocalX, kLocalY}};
  }

 private:
  /// The other way round: every cell hands its parts out to its neighbours, in 64 bits.
  void make_reference() {
    const std::size_t w = width_;
    const std::size_t cells = in_.size();
    expected_ = in_;
    std::vector<std::uint64_t> eighths(cells);
    for (std::size_t step = 0; step < kSteps; ++step) {
      std::fill(eighths.begin(), eighths.end(), std::uint64_t{4});
      for (std::size_t i = 0; i < cells; ++i) {
        const std::uint64_t value = expected_[i];
        eighths[i] += 4 * value;
        if (i >= 1) eighths[i - 1] += value;
        if (i + 1 < cells) eighths[i + 1] += value;
        if (i >= w) eighths[i - w] += value;
        if (i + w < cells) eighths[i + w] += value;
      }
      for (std::size_t y = 1; y + 1 < height_; ++y) {
        for (std::size_t x = 1; x + 1 < w; ++x) {
          expected_[y * w + x] = static_cast<cl_uint>(eighths[y * w + x] >> 3);
        }
      }
    }
  }

  std::size_t width_;
  std::size_t height_;
  std::vector<cl_uint> in_;
  std::vector<cl_uint> expected_;
  std::vector<cl_uint> found_;
  DeviceArray<cl_uint> device_in_;
  DeviceArray<cl_uint> device_grids_[2];
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
