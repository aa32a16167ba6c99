// SPDX-License-Identifier: Apache-2.0
//
// Markers and barriers, with and without wait lists, and the three calls they replaced in 1.2.
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class MarkerBarrier : public KernelTest {
 protected:
  cl_int status(cl_event event) {
    return value_of<cl_int>(query_of(event, CL_EVENT_COMMAND_EXECUTION_STATUS));
  }
  cl_command_type type(cl_event event) {
    return value_of<cl_command_type>(query_of(event, CL_EVENT_COMMAND_TYPE));
  }
};

class MarkerBarrierOutOfOrder : public MarkerBarrier {
 protected:
  void SetUp() override {
    if (!device_supports_out_of_order()) GTEST_SKIP() << "no out-of-order queues";
    MarkerBarrier::SetUp();
    if (HasFatalFailure()) return;
    queue_ = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  }
};

TEST_F(MarkerBarrier, CommandTypes) {
  Event marker;
  Event barrier;
  Event legacy;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, marker.out()));
  ASSERT_SUCCESS(clEnqueueBarrierWithWaitList(queue_, 0, nullptr, barrier.out()));
  ASSERT_SUCCESS(clEnqueueMarker(queue_, legacy.out()));
  EXPECT_EQ(type(marker), cl_command_type{CL_COMMAND_MARKER});
  EXPECT_EQ(type(barrier), cl_command_type{CL_COMMAND_BARRIER});
  EXPECT_EQ(type(legacy), cl_command_type{CL_COMMAND_MARKER});
  const cl_event all[] = {marker, barrier, legacy};
  EXPECT_SUCCESS(clWaitForEvents(3, all));
}

TEST_F(MarkerBarrier, WithoutEvents) {
  EXPECT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, nullptr));
  EXPECT_SUCCESS(clEnqueueBarrierWithWaitList(queue_, 0, nullptr, nullptr));
  EXPECT_SUCCESS(clEnqueueBarrier(queue_));
  EXPECT_SUCCESS(clFinish(queue_));
}

TEST_F(MarkerBarrier, MarkerWaitsForItsList) {
  const Event gate1 = make_user_event();
  const Event gate2 = make_user_event();
  const cl_event gates[] = {gate1, gate2};
  Event marker;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 2, gates, marker.out()));
  ASSERT_SUCCESS(clFlush(queue_));
  ASSERT_SUCCESS(clSetUserEventStatus(gate2, CL_COMPLETE));
  EXPECT_NE(status(marker), CL_COMPLETE);
  ASSERT_SUCCESS(clSetUserEventStatus(gate1, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, marker.list()));
  EXPECT_EQ(status(marker), CL_COMPLETE);
}

TEST_F(MarkerBarrier, LegacyWaitForEventsHoldsLaterCommandsBack) {
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 1));
  const Event gate = make_user_event();
  const cl_int two = 2;
  Event fill;
  ASSERT_SUCCESS(clEnqueueWaitForEvents(queue_, 1, gate.list()));
  ASSERT_SUCCESS(clEnqueueFillBuffer(queue_, data, &two, 4, 0, 256, 0, nullptr, fill.out()));
  ASSERT_SUCCESS(clFlush(queue_));
  EXPECT_NE(status(fill), CL_COMPLETE);
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 2), read_all<cl_int>(data, 64)));
}

TEST_F(MarkerBarrierOutOfOrder, MarkerWithoutListWaitsForAllBefore) {
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 0));
  const Event gate = make_user_event();
  const cl_int two = 2;
  Event marker;
  ASSERT_SUCCESS(clEnqueueFillBuffer(queue_, data, &two, 4, 0, 256, 1, gate.list(), nullptr));
  // "If event_wait_list is NULL, then this particular command waits until all previous enqueued
  // commands to command_queue have completed."
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, marker.out()));
  ASSERT_SUCCESS(clFlush(queue_));
  EXPECT_NE(status(marker), CL_COMPLETE);
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, marker.list()));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 2), read_all<cl_int>(data, 64)));
}

TEST_F(MarkerBarrierOutOfOrder, MarkerWithListDoesNotHoldLaterCommandsBack) {
  const Event gate = make_user_event();
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 0));
  const cl_int two = 2;
  Event marker;
  Event fill;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 1, gate.list(), marker.out()));
  ASSERT_SUCCESS(clEnqueueFillBuffer(queue_, data, &two, 4, 0, 256, 0, nullptr, fill.out()));
  // The fill does not depend on the gate: waiting for it must come to an end.
  ASSERT_SUCCESS(clWaitForEvents(1, fill.list()));
  EXPECT_NE(status(marker), CL_COMPLETE);
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
}

TEST_F(MarkerBarrierOutOfOrder, BarrierHoldsLaterCommandsBack) {
  const Event gate = make_user_event();
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 0));
  const cl_int two = 2;
  Event barrier;
  Event fill;
  ASSERT_SUCCESS(clEnqueueBarrierWithWaitList(queue_, 1, gate.list(), barrier.out()));
  ASSERT_SUCCESS(clEnqueueFillBuffer(queue_, data, &two, 4, 0, 256, 0, nullptr, fill.out()));
  ASSERT_SUCCESS(clFlush(queue_));
  EXPECT_NE(status(barrier), CL_COMPLETE);
  EXPECT_NE(status(fill), CL_COMPLETE);
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, fill.list()));
  EXPECT_EQ(status(barrier), CL_COMPLETE);
}

// The same chain of updates, ordered by barriers only
TEST_F(MarkerBarrierOutOfOrder, BarriersOrderKernels) {
  const Kernel step = kernel("times_plus");
  const Buffer data = make_buffer_of(std::vector<cl_uint>(6400, 1));
  cl_uint expected = 1;
  for (cl_uint i = 1; i <= 30; ++i) {
    set_args(step, data, cl_uint{3}, i);
    ASSERT_SUCCESS(launch(step, 6400, 64));
    switch (i % 3) {
      case 0:
        ASSERT_SUCCESS(clEnqueueBarrierWithWaitList(queue_, 0, nullptr, nullptr));
        break;
      case 1:
        ASSERT_SUCCESS(clEnqueueBarrier(queue_));
        break;
      default: {
        Event marker;
        ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, marker.out()));
        ASSERT_SUCCESS(clEnqueueBarrierWithWaitList(queue_, 1, marker.list(), nullptr));
      }
    }
    expected = expected * 3 + i;
  }
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_TRUE(same_elements(std::vector<cl_uint>(6400, expected), read_all<cl_uint>(data, 6400)));
}

TEST_F(MarkerBarrier, RejectsBadArguments) {
  Event marker;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, marker.out()));
  const cl_event none = nullptr;
  // "CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue."
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clEnqueueMarkerWithWaitList(nullptr, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clEnqueueBarrierWithWaitList(nullptr, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clEnqueueBarrier(nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clEnqueueMarker(nullptr, marker.out()));
  // "CL_INVALID_EVENT_WAIT_LIST if event_wait_list is NULL and num_events_in_wait_list > 0, [...]
  // or if event objects in event_wait_list are not valid events."
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, clEnqueueMarkerWithWaitList(queue_, 1, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, clEnqueueMarkerWithWaitList(queue_, 1, &none, nullptr));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, clEnqueueBarrierWithWaitList(queue_, 1, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, clEnqueueBarrierWithWaitList(queue_, 1, &none, nullptr));
  // 1.1: "CL_INVALID_VALUE if event is a NULL value"
  EXPECT_CL(CL_INVALID_VALUE, clEnqueueMarker(queue_, nullptr));
}

TEST_F(MarkerBarrier, LegacyWaitForEventsRejectsBadArguments) {
  const cl_event none = nullptr;
  const Event user = make_user_event();
  // 1.1: "CL_INVALID_VALUE if num_events is zero or event_list is NULL"
  EXPECT_CL(CL_INVALID_VALUE, clEnqueueWaitForEvents(queue_, 0, user.list()));
  EXPECT_CL(CL_INVALID_VALUE, clEnqueueWaitForEvents(queue_, 1, nullptr));
  EXPECT_CL(CL_INVALID_EVENT, clEnqueueWaitForEvents(queue_, 1, &none));
  EXPECT_SUCCESS(clSetUserEventStatus(user, CL_COMPLETE));
}

TEST_F(MarkerBarrier, RejectsMixedContexts) {
  // "CL_INVALID_CONTEXT if context associated with command_queue and events in event_wait_list are
  // not the same."
  const Context other = make_context();
  cl_int code = CL_SUCCESS;
  const Event foreign(clCreateUserEvent(other, &code));
  ASSERT_SUCCESS(code);
  ASSERT_SUCCESS(clSetUserEventStatus(foreign, CL_COMPLETE));
  EXPECT_CL(CL_INVALID_CONTEXT, clEnqueueMarkerWithWaitList(queue_, 1, foreign.list(), nullptr));
  EXPECT_CL(CL_INVALID_CONTEXT, clEnqueueBarrierWithWaitList(queue_, 1, foreign.list(), nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
