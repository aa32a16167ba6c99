// SPDX-License-Identifier: Apache-2.0
#include "kernels/sweeps.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 16;
constexpr std::size_t kRounds = 2;

class Sweeps final : public RepeatedBenchmark {
 public:
  explicit Sweeps(std::size_t size) : size_(size) {
    Random random(22);
    data_.host.resize(size * size);
    for (cl_uint& value : data_.host) value = random.bits();
  }

  /// Rows, columns, and again: half of what one has written on a device the other needs elsewhere.
  void launch(const Session& session) override {
    for (std::size_t round = 0; round < kRounds; ++round) {
      enqueue(session, rows_, range());
      enqueue(session, columns_, range());
    }
  }
  Work work() const override {
    return {16e-9 * static_cast<double>(data_.host.size()) * static_cast<double>(kRounds), "GB"};
  }
  NdRange range() const override { return {{round_up(size_, kLocal)}, {kLocal}}; }

 private:
  void prepare(const Program& program, std::size_t lane) override {
    rows_ = make_kernel(program, "sweep_rows");
    set_args(rows_, data_.device(lane), static_cast<cl_uint>(size_));
    columns_ = make_kernel(program, "sweep_columns");
    set_args(columns_, data_.device(lane), static_cast<cl_uint>(size_));
  }

  void restart() override { data_.expected = data_.host; }

  /// Each element takes what its neighbours have become, both sweeps in one go.
  void advance() override {
    std::vector<cl_uint>& data = data_.expected;
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (std::size_t y = 0; y < size_; ++y) {
        for (std::size_t x = 1; x < size_; ++x) data[y * size_ + x] += 5 * data[y * size_ + x - 1];
        for (std::size_t x = 0; y > 0 && x < size_; ++x) {
          // The row before has been swept both ways.
          data[y * size_ + x] += 5 * data[(y - 1) * size_ + x];
        }
      }
    }
  }

  std::size_t size_;
  InOut<cl_uint> data_{*this};
  Kernel rows_, columns_;
};

}  // namespace

Entry entry_sweeps() {
  return {"sweeps",
          "a matrix in place along its rows, then its columns, twice (1-D, uint)",
          "rows and columns",
          "equal",
          1008,
          embedded::kernels_sweeps_cl,
          [](std::size_t size) { return std::make_unique<Sweeps>(size); }};
}

}  // namespace tutti::bench
