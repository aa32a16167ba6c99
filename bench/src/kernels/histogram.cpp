// SPDX-License-Identifier: Apache-2.0
#include "kernels/histogram.cl.h"

#include "verify.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kBins = 256;
constexpr std::size_t kLocal = 64;

class Histogram final : public Benchmark {
 public:
  explicit Histogram(std::size_t size) : in_(size), counts_(kBins, 0), found_(kBins) {
    Random random(3);
    for (cl_uint& value : in_) {
      value = random.bits();
      // The highest byte of the 32-bit product, by division instead of shift and wrap-around.
      const std::uint64_t product = std::uint64_t{value} * 2654435761U;
      ++counts_[product % (std::uint64_t{1} << 32) / (std::uint64_t{1} << 24)];
    }
  }

  void set_up(const Session& session, const Program& program) override {
    device_in_ = DeviceArray<cl_uint>(session, CL_MEM_READ_ONLY, in_.size());
    device_bins_ = DeviceArray<cl_uint>(session, CL_MEM_READ_WRITE, kBins);
    kernel_ = make_kernel(program, "histogram");
    set_args(kernel_, device_in_, device_bins_, static_cast<cl_uint>(in_.size()));
  }
  void clear(const Session& session) override { device_bins_.fill(session, 0); }
  void upload(const Session& session) override { device_in_.write(session, in_); }
  void launch(const Session& session) override { enqueue(session, kernel_, range()); }
  void download(const Session& session) override { device_bins_.read(session, found_); }

  Verdict verify(std::size_t launches) override {
    std::vector<cl_uint> expected;
    for (const cl_uint count : counts_) {
      expected.push_back(static_cast<cl_uint>(count * launches));
    }
    return verify_equal<cl_uint>(found_, expected);
  }

  Work work() const override { return {4e-9 * static_cast<double>(in_.size()), "GB"}; }
  NdRange range() const override { return {{round_up(in_.size(), kLocal)}, {kLocal}}; }

 private:
  std::vector<cl_uint> in_;
  std::vector<cl_uint> counts_;
  std::vector<cl_uint> found_;
  DeviceArray<cl_uint> device_in_;
  DeviceArray<cl_uint> device_bins_;
  Kernel kernel_;
};

}  // namespace

Entry entry_histogram() {
  return {"histogram",
          "256 counters by global atomics, results unused (1-D, uint)",
          "number of elements",
          "equal; counts accumulate over launches",
          1000003,
          embedded::kernels_histogram_cl,
          [](std::size_t size) { return std::make_unique<Histogram>(size); }};
}

}  // namespace tutti::bench
