// SPDX-License-Identifier: Apache-2.0
#include "kernels/scatter.cl.h"

#include <numeric>

#include "verify.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;

class Scatter final : public Benchmark {
 public:
  explicit Scatter(std::size_t size)
      : in_(size), permutation_(size), expected_(size), found_(size) {
    Random random(5);
    for (cl_uint& value : in_) value = random.bits();
    std::iota(permutation_.begin(), permutation_.end(), cl_uint{0});
    for (std::size_t i = size; i > 1; --i) {
      std::swap(permutation_[i - 1], permutation_[random.below(static_cast<std::uint32_t>(i))]);
    }
    // A gather through the inverse permutation, in 64-bit arithmetic.
    std::vector<std::size_t> inverse(size);
    for (std::size_t i = 0; i < size; ++i) inverse[permutation_[i]] = i;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t value = in_[inverse[i]];
      const std::uint64_t high = value / 65536;
      const std::uint64_t low = value % 65536;
      expected_[i] = static_cast<cl_uint>((high * 65536 + (high ^ low)) * 73244475U %
                                          (std::uint64_t{1} << 32));
    }
  }

  void set_up(const Session& session, const Program& program) override {
    device_in_ = DeviceArray<cl_uint>(session, CL_MEM_READ_ONLY, in_.size());
    device_permutation_ = DeviceArray<cl_uint>(session, CL_MEM_READ_ONLY, in_.size());
    device_out_ = DeviceArray<cl_uint>(session, CL_MEM_WRITE_ONLY, in_.size());
    kernel_ = make_kernel(program, "scatter");
    set_args(kernel_, device_in_, device_permutation_, device_out_,
             static_cast<cl_uint>(in_.size()));
  }
  void clear(const Session& session) override { device_out_.fill(session, kPoison); }
  void upload(const Session& session) override {
    device_in_.write(session, in_);
    device_permutation_.write(session, permutation_);
  }
  void launch(const Session& session) override { enqueue(session, kernel_, range()); }
  void download(const Session& session) override { device_out_.read(session, found_); }
  Verdict verify(std::size_t) override { return verify_equal<cl_uint>(found_, expected_); }

  Work work() const override { return {12e-9 * static_cast<double>(in_.size()), "GB"}; }
  NdRange range() const override { return {{round_up(in_.size(), kLocal)}, {kLocal}}; }

 private:
  std::vector<cl_uint> in_;
  std::vector<cl_uint> permutation_;
  std::vector<cl_uint> expected_;
  std::vector<cl_uint> found_;
  DeviceArray<cl_uint> device_in_;
  DeviceArray<cl_uint> device_permutation_;
  DeviceArray<cl_uint> device_out_;
  Kernel kernel_;
};

}  // namespace

Entry entry_scatter() {
  return {"scatter",
          "writes through a permutation (1-D, uint)",
          "number of elements",
          "equal",
          1000003,
          embedded::kernels_scatter_cl,
          [](std::size_t size) { return std::make_unique<Scatter>(size); }};
}

}  // namespace tutti::bench
