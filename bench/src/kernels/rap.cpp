// SPDX-License-Identifier: Apache-2.0
#include "kernels/rap.cl.h"

#include <queue>

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kLocal = 64;
constexpr std::size_t kUnits = 15;
constexpr std::size_t kLargestBudget = 63;
constexpr std::size_t kKinds = 32;
constexpr std::uint32_t kMostProjects = 12;
constexpr std::uint32_t kLargestWeight = 100;

class Rap final : public KernelBenchmark {
 public:
  explicit Rap(std::size_t size) : n_(size) {
    Random random(19);
    // Each further unit yields less than the one before, or as much.
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      std::uint32_t gain = 50 + random.below(200);
      std::uint32_t sum = 0;
      for (std::size_t units = 0; units <= kUnits; ++units) {
        profit_.host.push_back(sum);
        sum += gain;
        gain -= std::min(gain, random.below(30));
      }
    }
    first_.host.push_back(0);
    for (std::size_t p = 0; p < n_; ++p) {
      // Problems grow along the range, and differ from one to the next.
      const auto largest = static_cast<std::uint32_t>(8 + (kLargestBudget - 8) * p / n_);
      budget_.host.push_back(random.below(largest + 1));
      for (std::uint32_t projects = random.below(kMostProjects + 1); projects > 0; --projects) {
        kind_.host.push_back(random.below(kKinds));
        weight_.host.push_back(1 + random.below(kLargestWeight));
      }
      first_.host.push_back(static_cast<cl_uint>(kind_.host.size()));
    }
    if (kind_.host.empty()) {  // a buffer cannot be empty
      kind_.host.push_back(0);
      weight_.host.push_back(0);
    }
    make_reference();
  }

  Work work() const override { return {}; }
  NdRange range() const override { return {{round_up(n_, kLocal)}, {kLocal}}; }

 private:
  /// Unit by unit to the project that gains most: the best, since gains never grow.
  void make_reference() {
    std::vector<cl_uint> expected;
    for (std::size_t p = 0; p < n_; ++p) {
      struct Next {
        std::uint32_t gain;
        std::size_t project;
        std::size_t units;
        bool operator<(const Next& other) const { return gain < other.gain; }
      };
      const auto next = [this](std::size_t project, std::size_t units) {
        const cl_uint* profit = &profit_.host[kind_.host[project] * (kUnits + 1)];
        return Next{weight_.host[project] * (profit[units] - profit[units - 1]), project, units};
      };
      std::priority_queue<Next> offers;
      for (std::size_t j = first_.host[p]; j < first_.host[p + 1]; ++j) offers.push(next(j, 1));
      cl_uint sum = 0;
      for (cl_uint left = budget_.host[p]; left > 0 && !offers.empty(); --left) {
        const Next best = offers.top();
        offers.pop();
        sum += best.gain;
        if (best.units < kUnits) offers.push(next(best.project, best.units + 1));
      }
      expected.push_back(sum);
    }
    out_.expect(std::move(expected));
  }

  Kernel make(const Program& program, std::size_t lane) const override {
    Kernel kernel = make_kernel(program, "rap");
    set_args(kernel, first_.device(lane), kind_.device(lane), weight_.device(lane),
             budget_.device(lane), profit_.device(lane), out_.device(lane),
             static_cast<cl_uint>(n_));
    return kernel;
  }

  std::size_t n_;
  Input<cl_uint> first_{*this};
  Input<cl_uint> kind_{*this};
  Input<cl_uint> weight_{*this};
  Input<cl_uint> budget_{*this, kLocal};
  Input<cl_uint> profit_{*this};
  Output<cl_uint> out_{*this, kLocal};
};

}  // namespace

Entry entry_rap() {
  return {"rap",
          "resource allocation by dynamic programming, a problem per item, irregular (1-D, uint)",
          "number of problems; later ones are larger",
          "equal",
          100003,
          embedded::kernels_rap_cl,
          [](std::size_t size) { return std::make_unique<Rap>(size); }};
}

}  // namespace tutti::bench
