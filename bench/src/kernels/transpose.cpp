// SPDX-License-Identifier: Apache-2.0
#include "kernels/transpose.cl.h"

#include "verify.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kTile = 16;

class Transpose final : public Benchmark {
 public:
  explicit Transpose(std::size_t size) : width_(size), height_(size / 2 + 1) {
    Random random(8);
    in_.resize(width_ * height_);
    for (cl_uint& value : in_) value = random.bits();
    found_.resize(in_.size());
    // Each row of the input is dealt out to the ends of growing columns.
    std::vector<std::vector<cl_uint>> columns(width_);
    auto next = in_.begin();
    while (next != in_.end()) {
      for (std::vector<cl_uint>& column : columns) column.push_back(*next++);
    }
    for (const std::vector<cl_uint>& column : columns) {
      expected_.insert(expected_.end(), column.begin(), column.end());
    }
  }

  void set_up(const Session& session, const Program& program) override {
    device_in_ = DeviceArray<cl_uint>(session, CL_MEM_READ_ONLY, in_.size());
    device_out_ = DeviceArray<cl_uint>(session, CL_MEM_WRITE_ONLY, in_.size());
    kernel_ = make_kernel(program, "transpose");
    set_args(kernel_, device_in_, device_out_, static_cast<cl_uint>(width_),
             static_cast<cl_uint>(height_));
  }
  void clear(const Session& session) override { device_out_.fill(session, kPoison); }
  void upload(const Session& session) override { device_in_.write(session, in_); }
  void launch(const Session& session) override { enqueue(session, kernel_, range()); }
  void download(const Session& session) override { device_out_.read(session, found_); }
  Verdict verify(std::size_t) override { return verify_equal<cl_uint>(found_, expected_); }

  Work work() const override { return {8e-9 * static_cast<double>(in_.size()), "GB"}; }
  NdRange range() const override {
    return {{round_up(width_, kTile), round_up(height_, kTile)}, {kTile, kTile}};
  }

 private:
  std::size_t width_;
  std::size_t height_;
  std::vector<cl_uint> in_;
  std::vector<cl_uint> expected_;
  std::vector<cl_uint> found_;
  DeviceArray<cl_uint> device_in_;
  DeviceArray<cl_uint> device_out_;
  Kernel kernel_;
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
