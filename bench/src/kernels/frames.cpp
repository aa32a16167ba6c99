// SPDX-License-Identifier: Apache-2.0
#include "kernels/frames.cl.h"

#include <array>

#include "verify.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;
constexpr std::size_t kFrames = 6;

class Frames final : public Benchmark {
 public:
  explicit Frames(std::size_t size) : size_(size), in_(size * kFrames), found_(in_.size()) {
    Random random(26);
    for (cl_uint& value : in_) value = random.bits();
  }

  void set_up(const Session& session, const Program& program) override {
    for (Side& side : sides_) {
      side.in = DeviceArray<cl_uint>(session, CL_MEM_READ_ONLY, size_);
      side.out = DeviceArray<cl_uint>(session, CL_MEM_READ_WRITE, size_);
      const auto size = static_cast<cl_uint>(size_);
      side.smooth = make_kernel(program, "frames_smooth");
      set_args(side.smooth, side.in, side.out, size);
      side.map = make_kernel(program, "frames_map");
      set_args(side.map, side.out, size);
    }
  }
  void clear(const Session& session) override {
    std::fill(found_.begin(), found_.end(), kPoison);
    for (Side& side : sides_) side.out.fill(session, kPoison);
  }
  void upload(const Session&) override {}
  /// Each frame goes in and comes out, with two pairs of buffers in turn.
  void launch(const Session& session) override {
    for (std::size_t frame = 0; frame < kFrames; ++frame) {
      const Side& side = sides_[frame % sides_.size()];
      side.in.write(session, std::span<const cl_uint>(in_).subspan(frame * size_, size_));
      enqueue(session, side.smooth, range());
      enqueue(session, side.map, range());
      side.out.read(session, std::span(found_).subspan(frame * size_, size_));
    }
  }
  void download(const Session&) override {}
  void make_reference() override {
    expected_.resize(in_.size());
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const std::size_t place = i % size_;
      std::uint64_t value = 2 * std::uint64_t{in_[i]};
      value += place == 0 ? in_[i] : in_[i - 1];
      value += place + 1 == size_ ? in_[i] : in_[i + 1];
      value %= std::uint64_t{1} << 32;
      for (std::uint64_t k = 0; k < 10; ++k) {
        value = (5 * (value ^ (value >> 11)) + k) % (std::uint64_t{1} << 32);
      }
      expected_[i] = static_cast<cl_uint>(value);
    }
  }
  Verdict verify(std::size_t) override { return verify_equal<cl_uint>(found_, expected_); }

  Work work() const override { return {}; }
  NdRange range() const override { return {{round_up(size_, kLocal)}, {kLocal}}; }

 private:
  struct Side {
    DeviceArray<cl_uint> in, out;
    Kernel smooth, map;
  };
  std::size_t size_;
  std::vector<cl_uint> in_;
  std::vector<cl_uint> found_;
  std::vector<cl_uint> expected_;
  std::array<Side, 2> sides_;
};

}  // namespace

Entry entry_frames() {
  return {
      "frames",
      "six frames through two stages, in and out, with two pairs of buffers in turn (1-D, uint)",
      "pixels of a frame",
      "equal",
      300007,
      embedded::kernels_frames_cl,
      [](std::size_t size) { return std::make_unique<Frames>(size); }};
}

}  // namespace tutti::bench
