// SPDX-License-Identifier: Apache-2.0
#include "kernels/spmv.cl.h"

#include "verify.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;
constexpr std::uint32_t kLongestRow = 48;

class Spmv final : public Benchmark {
 public:
  explicit Spmv(std::size_t size) : rows_(size), row_start_{0}, x_(size), found_(size) {
    Random random(4);
    for (float& value : x_) value = small_integer(random);
    for (std::size_t row = 0; row < rows_; ++row) {
      // Rows of 0 to 47 entries anywhere: some rows are empty, and columns may repeat.
      const std::uint32_t entries = random.below(kLongestRow);
      for (std::uint32_t i = 0; i < entries; ++i) {
        column_.push_back(static_cast<cl_int>(random.below(static_cast<std::uint32_t>(rows_))));
        value_.push_back(small_integer(random));
      }
      row_start_.push_back(static_cast<cl_int>(column_.size()));
    }
    if (column_.empty()) {  // a buffer cannot be empty
      column_.push_back(0);
      value_.push_back(0);
    }
    make_reference();
  }

  void set_up(const Session& session, const Program& program) override {
    device_row_start_ = DeviceArray<cl_int>(session, CL_MEM_READ_ONLY, row_start_.size());
    device_column_ = DeviceArray<cl_int>(session, CL_MEM_READ_ONLY, column_.size());
    device_value_ = DeviceArray<float>(session, CL_MEM_READ_ONLY, value_.size());
    device_x_ = DeviceArray<float>(session, CL_MEM_READ_ONLY, x_.size());
    device_y_ = DeviceArray<float>(session, CL_MEM_WRITE_ONLY, rows_);
    kernel_ = make_kernel(program, "spmv");
    set_args(kernel_, device_row_start_, device_column_, device_value_, device_x_, device_y_,
             static_cast<cl_int>(rows_));
  }
  void clear(const Session& session) override { device_y_.fill(session, kPoison); }
  void upload(const Session& session) override {
    device_row_start_.write(session, row_start_);
    device_column_.write(session, column_);
    device_value_.write(session, value_);
    device_x_.write(session, x_);
  }
  void launch(const Session& session) override { enqueue(session, kernel_, range()); }
  void download(const Session& session) override { device_y_.read(session, found_); }
  Verdict verify(std::size_t) override { return verify_equal<float>(found_, expected_); }

  Work work() const override {
    const double entries = row_start_.back();
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
    for (std::size_t k = 0; k < static_cast<std::size_t>(row_start_.back()); ++k) {
      while (static_cast<std::size_t>(row_start_[row + 1]) <= k) ++row;
      columns[static_cast<std::size_t>(column_[k])].emplace_back(
          row, static_cast<std::int64_t>(value_[k]));
    }
    std::vector<std::int64_t> y(rows_, 0);
    for (std::size_t c = 0; c < rows_; ++c) {
      const auto factor = static_cast<std::int64_t>(x_[c]);
      for (const auto& [r, value] : columns[c]) y[r] += value * factor;
    }
    expected_.assign(y.begin(), y.end());
  }

  std::size_t rows_;
  std::vector<cl_int> row_start_;
  std::vector<cl_int> column_;
  std::vector<float> value_;
  std::vector<float> x_;
  std::vector<float> expected_;
  std::vector<float> found_;
  DeviceArray<cl_int> device_row_start_;
  DeviceArray<cl_int> device_column_;
  DeviceArray<float> device_value_;
  DeviceArray<float> device_x_;
  DeviceArray<float> device_y_;
  Kernel kernel_;
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
