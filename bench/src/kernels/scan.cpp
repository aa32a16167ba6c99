// SPDX-License-Identifier: Apache-2.0
#include "kernels/scan.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kBlock = 256;

class Scan final : public ArrayBenchmark {
 public:
  explicit Scan(std::size_t size) : blocks_((size + kBlock - 1) / kBlock) {
    Random random(11);
    std::uint64_t total = 0;
    in_.host.resize(size);
    for (cl_uint& value : in_.host) {
      value = random.bits();
      total += value;
    }
    // From the end: what is left of the total, 64 bits wide.
    std::vector<cl_uint> expected(size);
    for (std::size_t i = size; i-- > 0;) {
      expected[i] = static_cast<cl_uint>(total);
      total -= in_.host[i];
    }
    out_.expect(std::move(expected));
  }

  void launch(const Session& session) override {
    enqueue(session, scan_blocks_, range());
    enqueue(session, scan_sums_, {{kBlock}, {kBlock}});
    enqueue(session, add_, range());
  }
  Work work() const override { return {8e-9 * static_cast<double>(in_.host.size()), "GB"}; }
  NdRange range() const override { return {{blocks_ * kBlock}, {kBlock}}; }

 private:
  void prepare(const Program& program, std::size_t lane) override {
    const auto n = static_cast<cl_uint>(in_.host.size());
    scan_blocks_ = make_kernel(program, "scan_blocks");
    set_args(scan_blocks_, in_.device(lane), out_.device(lane), sums_.device(lane), n);
    scan_sums_ = make_kernel(program, "scan_sums");
    set_args(scan_sums_, sums_.device(lane), static_cast<cl_uint>(blocks_));
    add_ = make_kernel(program, "scan_add");
    set_args(add_, out_.device(lane), sums_.device(lane), n);
  }

  std::size_t blocks_;
  Input<cl_uint> in_{*this};
  Output<cl_uint> out_{*this};
  Scratch<cl_uint> sums_{*this, blocks_};
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
