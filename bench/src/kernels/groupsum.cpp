// SPDX-License-Identifier: Apache-2.0
#include "kernels/groupsum.cl.h"

#include <algorithm>
#include <numeric>

#include "verify.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 256;

class GroupSum final : public Benchmark {
 public:
  explicit GroupSum(std::size_t size) : in_(size) {
    Random random(7);
    for (cl_uint& value : in_) value = random.bits();
    // Differences of a running sum, 64 bits wide, at the groups' ends.
    std::vector<std::uint64_t> running(size + 1, 0);
    std::inclusive_scan(in_.begin(), in_.end(), running.begin() + 1, std::plus<>(),
                        std::uint64_t{0});
    for (std::size_t begin = 0; begin < size; begin += kLocal) {
      const std::size_t end = std::min(begin + kLocal, size);
      expected_.push_back(static_cast<cl_uint>(running[end] - running[begin]));
    }
    found_.resize(expected_.size());
  }

  void set_up(const Session& session, const Program& program) override {
    device_in_ = DeviceArray<cl_uint>(session, CL_MEM_READ_ONLY, in_.size());
    device_out_ = DeviceArray<cl_uint>(session, CL_MEM_WRITE_ONLY, expected_.size());
    kernel_ = make_kernel(program, "groupsum");
    set_args(kernel_, device_in_, device_out_, LocalBytes{kLocal * sizeof(cl_uint)},
             static_cast<cl_uint>(in_.size()));
  }
  void clear(const Session& session) override { device_out_.fill(session, kPoison); }
  void upload(const Session& session) override { device_in_.write(session, in_); }
  void launch(const Session& session) override { enqueue(session, kernel_, range()); }
  void download(const Session& session) override { device_out_.read(session, found_); }
  Verdict verify(std::size_t) override { return verify_equal<cl_uint>(found_, expected_); }

  Work work() const override {
    return {4e-9 * static_cast<double>(in_.size() + expected_.size()), "GB"};
  }
  NdRange range() const override { return {{round_up(in_.size(), kLocal)}, {kLocal}}; }

 private:
  std::vector<cl_uint> in_;
  std::vector<cl_uint> expected_;
  std::vector<cl_uint> found_;
  DeviceArray<cl_uint> device_in_;
  DeviceArray<cl_uint> device_out_;
  Kernel kernel_;
};

}  // namespace

Entry entry_groupsum() {
  return {"groupsum",
          "sums of 256 elements: local memory, barriers, one result per group (1-D, uint)",
          "number of elements",
          "equal",
          2000003,
          embedded::kernels_groupsum_cl,
          [](std::size_t size) { return std::make_unique<GroupSum>(size); }};
}

}  // namespace tutti::bench
