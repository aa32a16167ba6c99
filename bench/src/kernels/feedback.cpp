// SPDX-License-Identifier: Apache-2.0
#include "kernels/feedback.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;
constexpr std::size_t kBlock = 16 * kLocal;
constexpr std::size_t kRounds = 5;

class Feedback final : public RepeatedBenchmark {
 public:
  explicit Feedback(std::size_t size) : blocks_((size + kBlock - 1) / kBlock) {
    Random random(23);
    data_.host.resize(size);
    for (cl_uint& value : data_.host) value = random.bits();
  }

  /// Every device needs the few sums of all others.
  void launch(const Session& session) override {
    for (std::size_t round = 0; round < kRounds; ++round) {
      enqueue(session, sum_, {{blocks_ * kLocal}, {kLocal}});
      enqueue(session, use_, range());
    }
  }
  Work work() const override {
    return {12e-9 * static_cast<double>(data_.host.size()) * static_cast<double>(kRounds), "GB"};
  }
  NdRange range() const override { return {{round_up(data_.host.size(), kLocal)}, {kLocal}}; }

 private:
  void prepare(const Program& program, std::size_t lane) override {
    const auto size = static_cast<cl_uint>(data_.host.size());
    sum_ = make_kernel(program, "feedback_sum");
    set_args(sum_, data_.device(lane), sums_.device(lane), LocalBytes{kLocal * sizeof(cl_uint)},
             size);
    use_ = make_kernel(program, "feedback_use");
    set_args(use_, data_.device(lane), sums_.device(lane), static_cast<cl_uint>(blocks_), size);
  }

  void restart() override { data_.expected = data_.host; }

  void advance() override {
    for (std::size_t round = 0; round < kRounds; ++round) {
      std::vector<std::uint64_t> sums(blocks_);  // nothing wraps around before the end
      for (std::size_t i = 0; i < data_.expected.size(); ++i) {
        const cl_uint value = data_.expected[i];
        sums[i / kBlock] += std::uint64_t{value ^ (value >> 7)} * 3;
      }
      for (std::size_t i = 0; i < data_.expected.size(); ++i) {
        std::uint64_t value = data_.expected[i];
        for (int k = 0; k < 8; ++k) {
          value = (5 * (value ^ (value >> 11)) + sums[i % blocks_]) % (std::uint64_t{1} << 32);
        }
        data_.expected[i] = static_cast<cl_uint>(value);
      }
    }
  }

  std::size_t blocks_;
  InOut<cl_uint> data_{*this};
  Scratch<cl_uint> sums_{*this, blocks_};
  Kernel sum_, use_;
};

}  // namespace

Entry entry_feedback() {
  return {"feedback",
          "sums of blocks, used by all elements and taken again, five times (1-D, uint)",
          "number of elements",
          "equal",
          1000003,
          embedded::kernels_feedback_cl,
          [](std::size_t size) { return std::make_unique<Feedback>(size); }};
}

}  // namespace tutti::bench
