// SPDX-License-Identifier: Apache-2.0
//
// Chains of 100 000 dependent commands: completion must not recurse along them, and finished
// commands must not pile up.
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

constexpr int kLength = 100000;

using LongChains = KernelTest;

TEST_F(LongChains, MarkersBehindAUserEvent) {
  // All of them are held back, then let go at once: the worst case for recursion.
  const Event gate = make_user_event();
  Event last;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 1, gate.list(), last.out()));
  for (int i = 1; i < kLength; ++i) {
    Event next;
    ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 1, last.list(), next.out()));
    last = std::move(next);
  }
  ASSERT_SUCCESS(clFlush(queue_));
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, last.list()));
}

TEST_F(LongChains, FailedMarkersBehindAUserEvent) {
  const Event gate = make_user_event();
  const Queue queue = make_queue();
  Event last;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue, 1, gate.list(), last.out()));
  for (int i = 1; i < kLength; ++i) {
    Event next;
    ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue, 1, last.list(), next.out()));
    last = std::move(next);
  }
  ASSERT_SUCCESS(clFlush(queue));
  ASSERT_SUCCESS(clSetUserEventStatus(gate, -3));
  EXPECT_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clWaitForEvents(1, last.list()));
}

TEST_F(LongChains, FillsByEvents) {
  const Buffer buffer = make_buffer(4);
  Event last;
  for (cl_int i = 0; i < kLength; ++i) {
    Event next;
    ASSERT_SUCCESS(clEnqueueFillBuffer(queue_, buffer, &i, 4, 0, 4, i == 0 ? 0 : 1,
                                       i == 0 ? nullptr : last.list(), next.out()));
    last = std::move(next);
  }
  EXPECT_EQ(read_all<cl_int>(buffer, 1)[0], kLength - 1);
}

TEST_F(LongChains, KernelsInOrder) {
  const Kernel add = kernel("add_one");
  const Buffer data = make_buffer_of(std::vector<cl_int>(1, 0));
  set_args(add, data);
  for (int i = 0; i < kLength / 5; ++i) ASSERT_SUCCESS(launch(add, 1, 1));
  EXPECT_EQ(read_all<cl_int>(data, 1)[0], kLength / 5);
}

}  // namespace
}  // namespace tutti::api_tests
