// SPDX-License-Identifier: Apache-2.0
#include "kernels/sort.cl.h"

#include <algorithm>

#include "verify.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kSpan = 512;
constexpr std::size_t kLocal = kSpan / 2;

class Sort final : public Benchmark {
 public:
  explicit Sort(std::size_t size) : in_(size), found_(size), padded_(kSpan) {
    while (padded_ < size) padded_ *= 2;
    Random random(12);
    // All sizes of keys, and some keys that are there many times, the padding's among them.
    for (cl_uint& value : in_) {
      const std::uint32_t bits = random.bits();
      const std::uint32_t kind = random.below(8);
      value = kind == 0 ? bits | 0xfffffff0U : kind == 1 ? bits & 0xffU : bits;
    }
    expected_ = in_;
    std::sort(expected_.begin(), expected_.end());
  }

  void set_up(const Session& session, const Program& program) override {
    device_in_ = DeviceArray<cl_uint>(session, CL_MEM_READ_ONLY, in_.size());
    device_data_ = DeviceArray<cl_uint>(session, CL_MEM_READ_WRITE, padded_);
    sort_spans_ = make_kernel(program, "sort_spans");
    set_args(sort_spans_, device_in_, device_data_, static_cast<cl_uint>(in_.size()));
    step_ = make_kernel(program, "sort_step");
    finish_ = make_kernel(program, "sort_finish");
  }
  void clear(const Session& session) override { device_data_.fill(session, kPoison); }
  void upload(const Session& session) override { device_in_.write(session, in_); }
  void launch(const Session& session) override {
    enqueue(session, sort_spans_, range());
    for (std::size_t width = 2 * kSpan; width <= padded_; width *= 2) {
      for (std::size_t distance = width / 2; distance >= kSpan; distance /= 2) {
        set_args(step_, device_data_, static_cast<cl_uint>(width), static_cast<cl_uint>(distance));
        enqueue(session, step_, range());
      }
      set_args(finish_, device_data_, static_cast<cl_uint>(width));
      enqueue(session, finish_, range());
    }
  }
  void download(const Session& session) override { device_data_.read(session, found_); }
  Verdict verify(std::size_t) override { return verify_equal<cl_uint>(found_, expected_); }

  Work work() const override { return {}; }
  NdRange range() const override { return {{padded_ / 2}, {kLocal}}; }

 private:
  std::vector<cl_uint> in_;
  std::vector<cl_uint> expected_;
  std::vector<cl_uint> found_;
  std::size_t padded_;
  DeviceArray<cl_uint> device_in_;
  DeviceArray<cl_uint> device_data_;
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
