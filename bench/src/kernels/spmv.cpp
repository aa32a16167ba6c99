// SPDX-License-Identifier: Apache-2.0
#include "kernels/spmv.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;
constexpr std::uint32_t kLongestRow = 48;

class Spmv final : public KernelBenchmark {
 public:
  explicit Spmv(std::size_t size) : rows_(size) {
    Random random(4);
    x_.host.resize(rows_);
    for (float& value : x_.host) value = small_integer(random);
    row_start_.host = {0};
    for (std::size_t row = 0; row < rows_; ++row) {
      // Rows of 0 to 47 entries anywhere: some rows are empty, and columns may repeat.
      const std::uint32_t entries = random.below(kLongestRow);
      for (std::uint32_t i = 0; i < entries; ++i) {
        column_.host.push_back(
            static_cast<cl_int>(random.below(static_cast<std::uint32_t>(rows_))));
        value_.host.push_back(small_integer(random));
      }
      row_start_.host.push_back(static_cast<cl_int>(column_.host.size()));
    }
    if (column_.host.empty()) {  // a buffer cannot be empty
      column_.host.push_back(0);
      value_.host.push_back(0);
    }
    make_reference();
  }

  Work work() const override {
    const double entries = row_start_.host.back();
    return {(12 * entries + 8 * static_cast<double>(rows_)) * 1e-9, "GB"};
  }
  NdRange range() const override { return {{round_up(rows_, kLocal)}, {kLocal}}; }

 private:
  static float small_integer(Random& random) {
    return static_cast<float>(static_cast<int>(random.below(201)) - 100);
  }

  /// By columns: entries are sorted by column, and each column's multiple is added to y, in
  /// integers. Sums stay below 48 * 100 * 100 < 2^24, so float sums in any order are exact.
  void make_reference() {
    std::vector<std::vector<std::pair<std::size_t, std::int64_t>>> columns(rows_);
    std::size_t row = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(row_start_.host.back()); ++k) {
      while (static_cast<std::size_t>(row_start_.host[row + 1]) <= k) ++row;
      columns[static_cast<std::size_t>(column_.host[k])].emplace_back(
          row, static_cast<std::int64_t>(value_.host[k]));
    }
    std::vector<std::int64_t> y(rows_, 0);
    for (std::size_t c = 0; c < rows_; ++c) {
      const auto factor = static_cast<std::int64_t>(x_.host[c]);
      for (const auto& [r, value] : columns[c]) y[r] += value * factor;
    }
    y_.expect({y.begin(), y.end()});
  }

  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "spmv");
    set_args(kernel, row_start_.device(lane), column_.device(lane), value_.device(lane),
             x_.device(lane), y_.device(lane), static_cast<cl_int>(rows_));
    return kernel;
  }

  std::size_t rows_;
  Input<cl_int> row_start_{*this};
  Input<cl_int> column_{*this};
  Input<float> value_{*this};
  Input<float> x_{*this};
  Output<float> y_{*this, kLocal};
};

}  // namespace

Entry entry_spmv() {
  return {"spmv",
          "sparse matrix (CSR) times vector, indirect reads (1-D, float)",
          "rows and columns; a row has 0 to 47 entries",
          "equal (inputs are small integers, so that float sums are exact)",
          100003,
          embedded::kernels_spmv_cl,
          [](std::size_t size) { return std::make_unique<Spmv>(size); }};
}

}  // namespace tutti::bench
