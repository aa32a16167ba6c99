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

TEST_F(InOrderQueue, SmallLaunchesWithEventsAndWritesBetween) {
  constexpr size_t kItems = 64, kLaunches = 600, kEach = 50;
  const size_t global = kItems;
  const Queue other = make_queue();
  const Program program = build(R"(
      kernel void add(global int* total, global const int* term) {
        total[get_global_id(0)] += term[get_global_id(0)];
      })");
  const Kernel add = kernel("add_scalar"), sum = make_kernel(program, "add");
  const Buffer total = make_buffer_of(std::vector<cl_int>(kItems, 0));
  const Buffer term = make_buffer_of(std::vector<cl_int>(kItems, 0));
  const Buffer seen = make_buffer(kLaunches / kEach * sizeof(cl_int));
  set_args(sum, total, term);
  Latch called(kLaunches / kEach);
  const auto count_down = [](cl_event, cl_int status, void* latch) {
    EXPECT_EQ(status, CL_COMPLETE);
    static_cast<Latch*>(latch)->count_down();
  };
  std::vector<std::vector<cl_int>> written(kLaunches, std::vector<cl_int>(kItems, 0));
  std::vector<cl_int> wanted;
  std::vector<Event> events;
  cl_int expected = 0;
  for (size_t i = 0; i < kLaunches; ++i) {
    const auto number = static_cast<cl_int>(i % 9);
    Event event;
    if (i % 3 == 0) {
      // Every other of these as an event, and some of them blocking.
      std::fill(written[i].begin(), written[i].end(), number);
      Event write;
      ASSERT_SUCCESS(clEnqueueWriteBuffer(queue_, term, i % 4 == 0 ? CL_TRUE : CL_FALSE, 0,
                                          kItems * sizeof(cl_int), written[i].data(), 0, nullptr,
                                          i % 2 == 0 ? write.out() : nullptr));
      if (i % 2 == 0) events.push_back(std::move(write));
      ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, sum, 1, nullptr, &global, &global, 0, nullptr,
                                            event.out()));
    } else {
      set_args(add, total, number);
      ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, add, 1, nullptr, &global, &global, 0, nullptr,
                                            event.out()));
    }
    expected += number;
    EXPECT_EQ(value_of<cl_command_type>(query_of(event.get(), CL_EVENT_COMMAND_TYPE)),
              static_cast<cl_command_type>(CL_COMMAND_NDRANGE_KERNEL));
    if (i % kEach == kEach - 1) {
      // What another queue sees behind this event, before the next launch.
      Event copied;
      wanted.push_back(expected);
      ASSERT_SUCCESS(clSetEventCallback(event, CL_COMPLETE, count_down, &called));
      ASSERT_SUCCESS(clEnqueueCopyBuffer(other, total, seen, 0, i / kEach * sizeof(cl_int),
                                         sizeof(cl_int), 1, event.list(), copied.out()));
      ASSERT_SUCCESS(clFlush(other));
      ASSERT_SUCCESS(clWaitForEvents(1, copied.list()));
      EXPECT_EQ(status(event), CL_COMPLETE);
    }
    if (i % 4 != 3) events.push_back(std::move(event));  // else it is released at once
    if (i % 70 == 60) {
      check_order(events);
      if (HasFatalFailure()) return;
    }
  }
  ASSERT_SUCCESS(clWaitForEvents(1, events[events.size() / 2].list()));
  EXPECT_EQ(status(events[events.size() / 2 - 1]), CL_COMPLETE);
  ASSERT_SUCCESS(clFinish(queue_));
  for (const Event& event : events) EXPECT_EQ(status(event), CL_COMPLETE);
  EXPECT_TRUE(called.wait());
  EXPECT_EQ(read_all<cl_int>(total, kItems), std::vector<cl_int>(kItems, expected));
  EXPECT_EQ(read_all<cl_int>(seen, wanted.size()), wanted);
}

}  // namespace
}  // namespace tutti::api_tests
