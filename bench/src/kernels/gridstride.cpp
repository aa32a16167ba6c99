// SPDX-License-Identifier: Apache-2.0
#include "kernels/gridstride.cl.h"

#include <algorithm>

#include "verify.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;
constexpr std::size_t kMostItems = 16384;
constexpr cl_uint kRounds = 64;

class GridStride final : public Benchmark {
 public:
  explicit GridStride(std::size_t size) : in_(size), expected_(size), found_(size) {
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
    for (std::size_t i = 0; i < size; ++i) {
      in_[i] = random.bits();
      expected_[i] = factor * in_[i] + offset;
    }
  }

  void set_up(const Session& session, const Program& program) override {
    device_in_ = DeviceArray<cl_uint>(session, CL_MEM_READ_ONLY, in_.size());
    device_out_ = DeviceArray<cl_uint>(session, CL_MEM_WRITE_ONLY, in_.size());
    kernel_ = make_kernel(program, "gridstride");
    set_args(kernel_, device_in_, device_out_, static_cast<cl_uint>(in_.size()), kRounds);
  }
  void clear(const Session& session) override { device_out_.fill(session, kPoison); }
  void upload(const Session& session) override { device_in_.write(session, in_); }
  void launch(const Session& session) override { enqueue(session, kernel_, range()); }
  void download(const Session& session) override { device_out_.read(session, found_); }
  Verdict verify(std::size_t) override { return verify_equal<cl_uint>(found_, expected_); }

  Work work() const override { return {8e-9 * static_cast<double>(in_.size()), "GB"}; }
  /// At most kMostItems items, however many elements there are.
  NdRange range() const override {
    return {{std::min(kMostItems, round_up(in_.size(), kLocal))}, {kLocal}};
  }

 private:
  std::vector<cl_uint> in_;
  std::vector<cl_uint> expected_;
  std::vector<cl_uint> found_;
  DeviceArray<cl_uint> device_in_;
  DeviceArray<cl_uint> device_out_;
  Kernel kernel_;
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
