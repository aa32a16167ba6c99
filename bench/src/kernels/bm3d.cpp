// SPDX-License-Identifier: Apache-2.0
#include "kernels/bm3d.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocalX = 16;
constexpr std::size_t kLocalY = 4;
constexpr std::size_t kBlock = 8;
constexpr std::size_t kStep = 3;
constexpr std::ptrdiff_t kWindow = 9;
constexpr std::size_t kMost = 8;
constexpr std::uint32_t kThreshold = 40 * kBlock * kBlock * 40;  // 40 grey levels in the mean
constexpr cl_uint kNone = 0xffffffffU;

class Bm3d final : public KernelBenchmark {
 public:
  explicit Bm3d(std::size_t size)
      : width_(std::max(size, kBlock)),
        height_(std::max(size * 3 / 4, kBlock)),
        across_((width_ - kBlock) / kStep + 1),
        down_((height_ - kBlock) / kStep + 1) {
    make_image();
    make_reference();
  }

  Work work() const override { return {}; }
  NdRange range() const override {
    return {{round_up(across_, kLocalX), round_up(down_, kLocalY)}, {kLocalX, kLocalY}};
  }

 private:
  /// Waves, edges and noise: flat regions have many similar blocks, others few or none.
  void make_image() {
    Random random(18);
    for (std::size_t y = 0; y < height_; ++y) {
      for (std::size_t x = 0; x < width_; ++x) {
        const std::uint32_t wave = static_cast<std::uint32_t>(x * y / 16 % 64);
        const std::uint32_t edge = (x / 20 + y / 14) % 3 == 0 ? 120 : 20;
        const std::uint32_t noise = random.below(x < width_ / 2 ? 12 : 100);
        image_.host.push_back(static_cast<cl_uchar>(std::min(255U, wave + edge + noise)));
      }
    }
  }

  /// Offset by offset: the squared differences of image and shifted image, summed over all
  /// rectangles from the corner; a block's distance is then a matter of four of these.
  void make_reference() {
    struct Match {
      std::uint32_t distance;
      std::uint32_t offset;
    };
    std::vector<std::vector<Match>> matches(across_ * down_);
    const auto w = static_cast<std::ptrdiff_t>(width_);
    const auto h = static_cast<std::ptrdiff_t>(height_);
    std::vector<std::uint64_t> sums((width_ + 1) * (height_ + 1), 0);
    std::uint32_t offset = 0;
    for (std::ptrdiff_t dy = -kWindow; dy <= kWindow; ++dy) {
      for (std::ptrdiff_t dx = -kWindow; dx <= kWindow; ++dx, ++offset) {
        if (dx == 0 && dy == 0) continue;
        for (std::ptrdiff_t y = 0; y < h; ++y) {
          std::uint64_t row = 0;
          for (std::ptrdiff_t x = 0; x < w; ++x) {
            const bool inside = x + dx >= 0 && x + dx < w && y + dy >= 0 && y + dy < h;
            const std::int64_t d = inside ? pixel(x, y) - pixel(x + dx, y + dy) : 0;
            row += static_cast<std::uint64_t>(d * d);
            sums[sum_index(x + 1, y + 1)] = sums[sum_index(x + 1, y)] + row;
          }
        }
        constexpr auto kSide = static_cast<std::ptrdiff_t>(kBlock);
        for (std::size_t block = 0; block < matches.size(); ++block) {
          const auto x = static_cast<std::ptrdiff_t>(block % across_ * kStep);
          const auto y = static_cast<std::ptrdiff_t>(block / across_ * kStep);
          if (x + dx < 0 || x + dx + kSide > w || y + dy < 0 || y + dy + kSide > h) continue;
          const std::uint64_t distance = sums[sum_index(x + kSide, y + kSide)] +
                                         sums[sum_index(x, y)] - sums[sum_index(x + kSide, y)] -
                                         sums[sum_index(x, y + kSide)];
          if (distance <= kThreshold) {
            matches[block].push_back({static_cast<std::uint32_t>(distance), offset});
          }
        }
      }
    }
    std::vector<cl_uint> expected;
    for (std::vector<Match>& block : matches) {
      std::stable_sort(block.begin(), block.end(),
                       [](const Match& a, const Match& b) { return a.distance < b.distance; });
      block.resize(kMost, {kNone, kNone});
      for (const Match& match : block) {
        expected.push_back(match.distance);
        expected.push_back(match.offset);
      }
    }
    out_.expect(std::move(expected));
  }

  std::int64_t pixel(std::ptrdiff_t x, std::ptrdiff_t y) const {
    return image_.host[static_cast<std::size_t>(y) * width_ + static_cast<std::size_t>(x)];
  }
  std::size_t sum_index(std::ptrdiff_t x, std::ptrdiff_t y) const {
    return static_cast<std::size_t>(y) * (width_ + 1) + static_cast<std::size_t>(x);
  }

  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "bm3d");
    set_args(kernel, image_.device(lane), out_.device(lane), static_cast<cl_int>(width_),
             static_cast<cl_int>(height_), static_cast<cl_int>(across_), static_cast<cl_int>(down_),
             cl_uint{kThreshold});
    return kernel;
  }

  std::size_t width_;
  std::size_t height_;
  std::size_t across_;
  std::size_t down_;
  Input<cl_uchar> image_{*this};
  Output<cl_uint> out_{*this, kLocalY* across_* kMost * 2};
};

}  // namespace

Entry entry_bm3d() {
  return {"bm3d",
          "BM3D's block matching: the 8 most similar blocks of 8 x 8 in a window (2-D, uchar)",
          "width in pixels, 8 at least; the height is three quarters of it",
          "equal",
          403,
          embedded::kernels_bm3d_cl,
          [](std::size_t size) { return std::make_unique<Bm3d>(size); }};
}

}  // namespace tutti::bench
