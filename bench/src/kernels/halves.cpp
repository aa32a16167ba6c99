// SPDX-License-Identifier: Apache-2.0
#include "kernels/halves.cl.h"

#include <array>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;
constexpr std::size_t kAlignment = 1024;  // elements: sub-buffers may begin there on all devices
constexpr std::size_t kTurns = 5;
constexpr std::size_t kSteps = 30;  // of the generator, in each launch

class Halves final : public RepeatedBenchmark {
 public:
  explicit Halves(std::size_t size) : begin_(round_up(size / 2 + 1, kAlignment)) {
    Random random(24);
    data_.host.resize(begin_ + size - size / 2);
    for (cl_uint& value : data_.host) value = random.bits();
  }

  /// The halves in turn, which nothing but the queue orders.
  void launch(const Session& session) override {
    for (std::size_t turn = 0; turn < kTurns; ++turn) {
      for (std::size_t half = 0; half < halves_.size(); ++half) {
        detail::set_arg(kernel_.get(), 0, halves_[half].get());
        const auto elements = static_cast<cl_uint>(size_of(half));
        detail::set_arg(kernel_.get(), 1, elements);
        enqueue(session, kernel_, {{round_up(elements, kLocal)}, {kLocal}});
      }
    }
  }
  Work work() const override { return {}; }
  NdRange range() const override { return {{round_up(begin_, kLocal)}, {kLocal}}; }

 private:
  std::size_t size_of(std::size_t half) const {
    return half == 0 ? begin_ : data_.host.size() - begin_;
  }

  void prepare(const Program& program, std::size_t lane) override {
    for (std::size_t half = 0; half < halves_.size(); ++half) {
      const cl_buffer_region region{half * begin_ * sizeof(cl_uint),
                                    size_of(half) * sizeof(cl_uint)};
      cl_int status = CL_SUCCESS;
      halves_[half] = Memory(clCreateSubBuffer(data_.device(lane).get(), CL_MEM_READ_WRITE,
                                               CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
      check(status, "clCreateSubBuffer");
    }
    kernel_ = make_kernel(program, "halves");
    detail::set_arg(kernel_.get(), 2, static_cast<cl_uint>(kSteps));
  }

  void restart() override { data_.expected = data_.host; }

  /// In 64 bits, cut to 32 by division.
  void advance() override {
    for (cl_uint& element : data_.expected) {
      std::uint64_t value = element;
      for (std::size_t step = 0; step < kTurns * kSteps; ++step) {
        value ^= value * 8192 % (std::uint64_t{1} << 32);
        value ^= value / 131072;
        value ^= value * 32 % (std::uint64_t{1} << 32);
      }
      element = static_cast<cl_uint>(value);
    }
  }

  std::size_t begin_;  // of the second half
  InOut<cl_uint> data_{*this};
  std::array<Memory, 2> halves_;
  Kernel kernel_;
};

}  // namespace

Entry entry_halves() {
  return {"halves",
          "two sub-buffers of one buffer in turn, five times (1-D, uint)",
          "number of elements",
          "equal",
          100003,
          embedded::kernels_halves_cl,
          [](std::size_t size) { return std::make_unique<Halves>(size); }};
}

}  // namespace tutti::bench
