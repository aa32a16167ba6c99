// SPDX-License-Identifier: Apache-2.0
#include "kernels/scan.cl.h"

#include "verify.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kBlock = 256;

class Scan final : public Benchmark {
 public:
  explicit Scan(std::size_t size) : in_(size), found_(size), blocks_((size + kBlock - 1) / kBlock) {
    Random random(11);
    std::uint64_t total = 0;
    for (cl_uint& value : in_) {
      value = random.bits();
      total += value;
    }
    // From the end: what is left of the total, 64 bits wide.
    expected_.resize(size);
    for (std::size_t i = size; i-- > 0;) {
      expected_[i] = static_cast<cl_uint>(total);
      total -= in_[i];
    }
  }

  void set_up(const Session& session, const Program& program) override {
    device_in_ = DeviceArray<cl_uint>(session, CL_MEM_READ_ONLY, in_.size());
    device_out_ = DeviceArray<cl_uint>(session, CL_MEM_READ_WRITE, in_.size());
    device_sums_ = DeviceArray<cl_uint>(session, CL_MEM_READ_WRITE, blocks_);
    const auto n = static_cast<cl_uint>(in_.size());
    scan_blocks_ = make_kernel(program, "scan_blocks");
    set_args(scan_blocks_, device_in_, device_out_, device_sums_, n);
    scan_sums_ = make_kernel(program, "scan_sums");
    set_args(scan_sums_, device_sums_, static_cast<cl_uint>(blocks_));
    add_ = make_kernel(program, "scan_add");
    set_args(add_, device_out_, device_sums_, n);
  }
  void clear(const Session& session) override {
    device_out_.fill(session, kPoison);
    device_sums_.fill(session, kPoison);
  }
  void upload(const Session& session) override { device_in_.write(session, in_); }
  void launch(const Session& session) override {
    enqueue(session, scan_blocks_, range());
    enqueue(session, scan_sums_, {{kBlock}, {kBlock}});
    enqueue(session, add_, range());
  }
  void download(const Session& session) override { device_out_.read(session, found_); }
  Verdict verify(std::size_t) override { return verify_equal<cl_uint>(found_, expected_); }

  Work work() const override { return {8e-9 * static_cast<double>(in_.size()), "GB"}; }
  NdRange range() const override { return {{blocks_ * kBlock}, {kBlock}}; }

 private:
  std::vector<cl_uint> in_;
  std::vector<cl_uint> expected_;
  std::vector<cl_uint> found_;
  std::size_t blocks_;
  DeviceArray<cl_uint> device_in_;
  DeviceArray<cl_uint> device_out_;
  DeviceArray<cl_uint> device_sums_;
  Kernel scan_blocks_;
  Kernel scan_sums_;
  Kernel add_;
};

}  // namespace

Entry entry_scan() {
  return {"scan",
          "prefix sums: blocks in local memory, then their sums, then both added (1-D, uint)",
          "number of elements",
          "equal",
          2000003,
          embedded::kernels_scan_cl,
          [](std::size_t size) { return std::make_unique<Scan>(size); }};
}

}  // namespace tutti::bench
