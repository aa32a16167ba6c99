// SPDX-License-Identifier: Apache-2.0
//
// Launches whose work-items take their work from a counter, each behind a fill of its own counter:
// nothing but the queue's order says that the fill comes first, and that a read sees the end.
// Drivers that execute in the threads that enqueue and wait have failed here.
#include <thread>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

constexpr size_t kListTasks = 8;
constexpr cl_uint kListNumbers = 20011;
constexpr size_t kItems = 512;
constexpr size_t kLocal = 64;
constexpr int kListRounds = 12;

constexpr char kListSource[] = R"CLC(
kernel void take(global uint* next, global uint* out, uint n, uint round) {
  for (uint i = atomic_inc(next); i < n; i = atomic_inc(next)) {
    uint value = i + round;
    for (uint k = 0; k < 40; ++k) value = value * 1664525u + 1013904223u;
    out[i] = value;
  }
}
)CLC";

cl_uint taken(cl_uint i, cl_uint round) {
  cl_uint value = i + round;
  for (int k = 0; k < 40; ++k) value = value * 1664525u + 1013904223u;
  return value;
}

class WorkLists : public QueueTest {
 protected:
  struct Task {
    Kernel kernel;
    Buffer next, out;
  };

  Task make_task(const Program& program) const {
    return {make_kernel(program, "take"), make_buffer(4), make_buffer(kListNumbers * 4)};
  }
  static void enqueue(cl_command_queue queue, const Task& task, cl_uint round) {
    const cl_uint zero = 0;
    EXPECT_SUCCESS(clEnqueueFillBuffer(queue, task.next, &zero, 4, 0, 4, 0, nullptr, nullptr));
    set_args(task.kernel, task.next, task.out, kListNumbers, round);
    EXPECT_SUCCESS(clEnqueueNDRangeKernel(queue, task.kernel, 1, nullptr, &kItems, &kLocal, 0,
                                          nullptr, nullptr));
  }
  static void check(cl_command_queue queue, const Task& task, cl_uint round) {
    cl_uint next = 0;
    std::vector<cl_uint> out(kListNumbers);
    EXPECT_SUCCESS(
        clEnqueueReadBuffer(queue, task.next, CL_TRUE, 0, 4, &next, 0, nullptr, nullptr));
    EXPECT_SUCCESS(clEnqueueReadBuffer(queue, task.out, CL_TRUE, 0, kListNumbers * 4, out.data(), 0,
                                       nullptr, nullptr));
    EXPECT_EQ(next, kListNumbers + kItems) << "round " << round;
    size_t wrong = 0;
    for (cl_uint i = 0; i < kListNumbers; ++i) wrong += out[i] != taken(i, round) ? 1 : 0;
    EXPECT_EQ(wrong, 0u) << "round " << round;
  }
};

TEST_F(WorkLists, IndependentOnesInOneQueue) {
  const Program program = build(kListSource);
  std::vector<Task> tasks;
  for (size_t t = 0; t < kListTasks; ++t) tasks.push_back(make_task(program));
  for (cl_uint round = 0; round < kListRounds; ++round) {
    for (const Task& task : tasks) enqueue(queue_, task, round);
    if (round % 2 == 0) {
      EXPECT_SUCCESS(clFinish(queue_));
    }
    for (const Task& task : tasks) check(queue_, task, round);
  }
}

TEST_F(WorkLists, OnesOfSeveralThreads) {
  const Program program = build(kListSource);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Queue queue = make_queue();
      const Task first = make_task(program), second = make_task(program);
      for (cl_uint round = 0; round < kListRounds; ++round) {
        enqueue(queue, first, round);
        enqueue(queue, second, round + 1);
        EXPECT_SUCCESS(clFlush(queue));
        check(queue, first, round);
        check(queue, second, round + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tutti::api_tests
