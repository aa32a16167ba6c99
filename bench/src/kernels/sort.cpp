// SPDX-License-Identifier: Apache-2.0
#include "kernels/sort.cl.h"

#include <algorithm>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kSpan = 512;
constexpr std::size_t kLocal = kSpan / 2;

class Sort final : public ArrayBenchmark {
 public:
  explicit Sort(std::size_t size) : padded_(kSpan) {
    while (padded_ < size) padded_ *= 2;
    Random random(12);
    // All sizes of keys, and some keys that are there many times, the padding's among them.
    in_.host.resize(size);
    for (cl_uint& value : in_.host) {
      const std::uint32_t bits = random.bits();
      const std::uint32_t kind = random.below(8);
      value = kind == 0 ? bits | 0xfffffff0U : kind == 1 ? bits & 0xffU : bits;
    }
    std::vector<cl_uint> expected = in_.host;
    std::sort(expected.begin(), expected.end());
    data_.expect(std::move(expected));
    data_.pad(padded_);
  }

  void launch(const Session& session) override {
    enqueue(session, sort_spans_, range());
    for (std::size_t width = 2 * kSpan; width <= padded_; width *= 2) {
      for (std::size_t distance = width / 2; distance >= kSpan; distance /= 2) {
        set_args(step_, data_.device(), static_cast<cl_uint>(width),
                 static_cast<cl_uint>(distance));
        enqueue(session, step_, range());
      }
      set_args(finish_, data_.device(), static_cast<cl_uint>(width));
      enqueue(session, finish_, range());
    }
  }
  Work work() const override { return {}; }
  NdRange range() const override { return {{padded_ / 2}, {kLocal}}; }

 private:
  void prepare(const Program& program, std::size_t lane) override {
    sort_spans_ = make_kernel(program, "sort_spans");
    set_args(sort_spans_, in_.device(lane), data_.device(lane),
             static_cast<cl_uint>(in_.host.size()));
    step_ = make_kernel(program, "sort_step");
    finish_ = make_kernel(program, "sort_finish");
  }

  std::size_t padded_;
  Input<cl_uint> in_{*this};
  Output<cl_uint> data_{*this};
  Kernel sort_spans_;
  Kernel step_;
  Kernel finish_;
};

}  // namespace

Entry entry_sort() {
  return {"sort",
          "bitonic sort, padded to a power of two, many launches in place (1-D, uint)",
          "number of elements",
          "equal",
          300007,
          embedded::kernels_sort_cl,
          [](std::size_t size) { return std::make_unique<Sort>(size); }};
}

}  // namespace tutti::bench
