// SPDX-License-Identifier: Apache-2.0
#include "kernels/worklist.cl.h"

#include "array_benchmark.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kTasks = 8;
constexpr std::size_t kItems = 2048;  // that share a counter
constexpr std::size_t kLocal = 64;

class WorkList final : public ArrayBenchmark {
 public:
  explicit WorkList(std::size_t size) {
    // Below 2^20: squares of factors do not wrap.
    constexpr std::size_t kBound = std::size_t{1} << 20;
    std::vector<cl_uint> smallest(kBound);
    for (std::size_t factor = 2; factor < kBound; ++factor) {
      if (smallest[factor] != 0) continue;
      for (std::size_t multiple = factor; multiple < kBound; multiple += factor) {
        if (smallest[multiple] == 0) smallest[multiple] = static_cast<cl_uint>(factor);
      }
    }
    Random random(29);
    for (std::size_t t = 0; t < kTasks; ++t) {
      Task& task = tasks_.emplace_back(*this);
      std::vector<cl_uint> expected;
      for (std::size_t i = 0; i < size; ++i) {
        task.in.host.push_back(2 + random.bits() % (kBound - 2));
        expected.push_back(smallest[task.in.host.back()]);
      }
      task.out.expect(std::move(expected));
    }
  }

  void launch(const Session& session) override {
    for (const Task& task : tasks_) {
      task.next.device().fill(session, 0);
      enqueue(session, task.kernel, range());
    }
  }
  Work work() const override { return {}; }
  NdRange range() const override { return {{kItems}, {kLocal}}; }

 private:
  struct Task {
    explicit Task(ArrayBenchmark& owner) : in(owner), out(owner), next(owner, 1) {}
    Input<cl_uint> in;
    Output<cl_uint> out;
    Scratch<cl_uint> next;
    Kernel kernel;
  };

  void prepare(const Program& program, std::size_t lane) override {
    for (Task& task : tasks_) {
      task.kernel = make_kernel(program, "worklist");
      set_args(task.kernel, task.next.device(lane), task.in.device(lane), task.out.device(lane),
               static_cast<cl_uint>(task.in.host.size()));
    }
  }

  std::deque<Task> tasks_;
};

}  // namespace

Entry entry_worklist() {
  return {"worklist",
          "eight independent launches whose work-items take their work from a counter (1-D, uint)",
          "numbers per launch",
          "equal",
          200003,
          embedded::kernels_worklist_cl,
          [](std::size_t size) { return std::make_unique<WorkList>(size); }};
}

}  // namespace tutti::bench
