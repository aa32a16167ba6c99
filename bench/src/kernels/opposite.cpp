// SPDX-License-Identifier: Apache-2.0
#include "kernels/opposite.cl.h"

#include <algorithm>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;
constexpr std::size_t kSteps = 4;  // even: the last one ends where the first one began

class Opposite final : public RepeatedBenchmark {
 public:
  explicit Opposite(std::size_t size) : size_(size) {
    Random random(25);
    data_.host.resize(size);
    for (cl_uint& value : data_.host) value = random.bits();
  }

  /// To and fro: whoever has computed a half needs the other one next.
  void launch(const Session& session) override {
    for (std::size_t step = 0; step < kSteps; step += 2) {
      enqueue(session, forth_, range());
      enqueue(session, back_, range());
    }
  }
  Work work() const override {
    return {8e-9 * static_cast<double>(data_.host.size()) * static_cast<double>(kSteps), "GB"};
  }
  NdRange range() const override { return {{round_up(data_.host.size(), kLocal)}, {kLocal}}; }

 private:
  void prepare(const Program& program, std::size_t lane) override {
    const auto size = static_cast<cl_uint>(data_.host.size());
    forth_ = make_kernel(program, "opposite");
    set_args(forth_, data_.device(lane), other_.device(lane), size);
    back_ = make_kernel(program, "opposite");
    set_args(back_, other_.device(lane), data_.device(lane), size);
  }

  void restart() override { data_.expected = data_.host; }

  void advance() override {
    std::vector<cl_uint>& data = data_.expected;
    for (std::size_t step = 0; step < kSteps; ++step) {
      std::rotate(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(data.size() / 2),
                  data.end());
      for (cl_uint& element : data) {
        std::uint64_t value = element;
        for (std::uint64_t k = 0; k < 10; ++k) {
          value = (5 * (value ^ (value >> 11)) + k) % (std::uint64_t{1} << 32);
        }
        element = static_cast<cl_uint>(value);
      }
    }
  }

  std::size_t size_;
  InOut<cl_uint> data_{*this};
  Scratch<cl_uint> other_{*this, size_};
  Kernel forth_, back_;
};

}  // namespace

Entry entry_opposite() {
  return {"opposite",
          "each half is made from the other one, four times to and fro (1-D, uint)",
          "number of elements",
          "equal",
          1000003,
          embedded::kernels_opposite_cl,
          [](std::size_t size) { return std::make_unique<Opposite>(size); }};
}

}  // namespace tutti::bench
