// SPDX-License-Identifier: Apache-2.0
//
// An in-order queue: what was enqueued first is seen to be complete first, and the data are as if
// one command had followed the other, however independent they are.
#include <random>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class InOrderQueue : public KernelTest {
 protected:
  static constexpr size_t kCount = 6400;
  static constexpr size_t kBytes = kCount * sizeof(cl_uint);

  cl_int status(const Event& event) const {
    cl_int value = CL_QUEUED;
    EXPECT_SUCCESS(
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof value, &value, nullptr));
    return value;
  }
  /// From the newest to the oldest: behind one that is complete all are.
  void check_order(const std::vector<Event>& events) const {
    bool complete = false;
    for (size_t i = events.size(); i-- > 0;) {
      const bool now = status(events[i]) == CL_COMPLETE;
      ASSERT_TRUE(now || !complete)
          << "command " << i + 1 << " is complete, and " << i << " is not";
      complete = now;
    }
  }
};

TEST_F(InOrderQueue, RandomIndependentCommandsAreSeenInOrder) {
  constexpr size_t kBuffers = 6;
  const size_t global = kCount, local = 64;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Kernel step = kernel("times_plus");
    std::vector<Buffer> buffers;
    std::vector<std::vector<cl_uint>> expected;
    for (size_t b = 0; b < kBuffers; ++b) {
      expected.emplace_back(kCount, static_cast<cl_uint>(b));
      buffers.push_back(make_buffer_of(expected.back()));
    }
    std::vector<Event> events;
    std::vector<std::vector<cl_uint>> kept, found;
    found.reserve(64);
    kept.reserve(64);
    std::vector<std::vector<cl_uint>> wanted;
    for (int i = 0; i < 60; ++i) {
      const size_t b = random() % kBuffers, other = (b + 1 + random() % (kBuffers - 1)) % kBuffers;
      const cl_uint value = random();
      Event event;
      switch (random() % 8) {
        case 0:
          ASSERT_SUCCESS(clEnqueueFillBuffer(queue_, buffers[b], &value, sizeof value, 0, kBytes, 0,
                                             nullptr, event.out()));
          expected[b].assign(kCount, value);
          break;
        case 1:
          ASSERT_SUCCESS(clEnqueueCopyBuffer(queue_, buffers[b], buffers[other], 0, 0, kBytes, 0,
                                             nullptr, event.out()));
          expected[other] = expected[b];
          break;
        case 2:
          kept.emplace_back(kCount, value);
          ASSERT_SUCCESS(clEnqueueWriteBuffer(queue_, buffers[b], CL_FALSE, 0, kBytes,
                                              kept.back().data(), 0, nullptr, event.out()));
          expected[b] = kept.back();
          break;
        case 3:
          found.emplace_back(kCount);
          wanted.push_back(expected[b]);
          ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, buffers[b], CL_FALSE, 0, kBytes,
                                             found.back().data(), 0, nullptr, event.out()));
          break;
        default:
          set_args(step, buffers[b], cl_uint{5}, value);
          ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, step, 1, nullptr, &global, &local, 0,
                                                nullptr, event.out()));
          for (cl_uint& element : expected[b]) element = element * 5 + value;
          break;
      }
      events.push_back(std::move(event));
      if (i % 7 == 0) check_order(events);
      if (HasFatalFailure()) return;
    }
    // Whoever waits for one has waited for all before it.
    const size_t middle = random() % events.size();
    ASSERT_SUCCESS(clWaitForEvents(1, events[middle].list()));
    for (size_t i = 0; i <= middle; ++i) EXPECT_EQ(status(events[i]), CL_COMPLETE) << i;
    ASSERT_SUCCESS(clFinish(queue_));
    for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(same_elements(wanted[i], found[i]));
    for (size_t b = 0; b < kBuffers; ++b) {
      std::vector<cl_uint> seen(kCount);
      ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, buffers[b], CL_TRUE, 0, kBytes, seen.data(), 0,
                                         nullptr, nullptr));
      EXPECT_TRUE(same_elements(expected[b], seen)) << "buffer " << b;
    }
  }
}

TEST_F(InOrderQueue, ReadAndWriteThroughTheSameHostMemory) {
  // The read's target is the source of the write that follows.
  const Buffer from = make_buffer_of(std::vector<cl_uint>(kCount, 11));
  const Buffer to = make_buffer_of(std::vector<cl_uint>(kCount, 22));
  const Kernel step = kernel("times_plus");
  const size_t global = kCount, local = 64;
  for (cl_uint i = 0; i < 20; ++i) {
    std::vector<cl_uint> between(kCount, 0), seen(kCount, 0);
    const std::vector<cl_uint> start(kCount, i);
    ASSERT_SUCCESS(
        clEnqueueWriteBuffer(queue_, from, CL_TRUE, 0, kBytes, start.data(), 0, nullptr, nullptr));
    set_args(step, from, cl_uint{3}, cl_uint{1});
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, step, 1, nullptr, &global, &local, 0, nullptr, nullptr));
    ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, from, CL_FALSE, 0, kBytes, between.data(), 0,
                                       nullptr, nullptr));
    ASSERT_SUCCESS(
        clEnqueueWriteBuffer(queue_, to, CL_FALSE, 0, kBytes, between.data(), 0, nullptr, nullptr));
    ASSERT_SUCCESS(
        clEnqueueReadBuffer(queue_, to, CL_TRUE, 0, kBytes, seen.data(), 0, nullptr, nullptr));
    ASSERT_TRUE(same_elements(std::vector<cl_uint>(kCount, i * 3 + 1), seen));
  }
}

}  // namespace
}  // namespace tutti::api_tests
