// SPDX-License-Identifier: Apache-2.0
#include "kernels/groupsum.cl.h"

#include <algorithm>
#include <numeric>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 256;

class GroupSum final : public KernelBenchmark {
 public:
  explicit GroupSum(std::size_t size) {
    Random random(7);
    in_.host.resize(size);
    for (cl_uint& value : in_.host) value = random.bits();
    // Differences of a running sum, 64 bits wide, at the groups' ends.
    std::vector<std::uint64_t> running(size + 1, 0);
    std::inclusive_scan(in_.host.begin(), in_.host.end(), running.begin() + 1, std::plus<>(),
                        std::uint64_t{0});
    std::vector<cl_uint> expected;
    for (std::size_t begin = 0; begin < size; begin += kLocal) {
      const std::size_t end = std::min(begin + kLocal, size);
      expected.push_back(static_cast<cl_uint>(running[end] - running[begin]));
    }
    out_.expect(std::move(expected));
  }

  Work work() const override {
    return {4e-9 * static_cast<double>(in_.host.size() + out_.expected.size()), "GB"};
  }
  NdRange range() const override { return {{round_up(in_.host.size(), kLocal)}, {kLocal}}; }

 private:
  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "groupsum");
    set_args(kernel, in_.device(lane), out_.device(lane), LocalBytes{kLocal * sizeof(cl_uint)},
             static_cast<cl_uint>(in_.host.size()));
    return kernel;
  }

  Input<cl_uint> in_{*this};
  // The kernel knows its place by get_group_id: not to be divided by hand.
  Output<cl_uint> out_{*this};
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
