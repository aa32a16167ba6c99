// SPDX-License-Identifier: Apache-2.0
//
// clCreateUserEvent and clSetUserEventStatus, and what user events hold back.
#include <atomic>
#include <thread>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClUserEvent : public KernelTest {
 protected:
  cl_int status(cl_event event) {
    return value_of<cl_int>(query_of(event, CL_EVENT_COMMAND_EXECUTION_STATUS));
  }
  cl_int write(cl_mem buffer, const std::vector<cl_int>& data, const Event* wait, Event* event) {
    return clEnqueueWriteBuffer(queue_, buffer, CL_FALSE, 0, data.size() * 4, data.data(),
                                wait == nullptr ? 0 : 1, wait == nullptr ? nullptr : wait->list(),
                                event->out());
  }
};

TEST_F(ClUserEvent, StatusFollowsTheApplication) {
  // "The execution status of the user event object created is set to CL_SUBMITTED."
  const Event event = make_user_event();
  EXPECT_EQ(status(event), CL_SUBMITTED);
  EXPECT_EQ(value_of<cl_command_type>(query_of(event, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_USER});
  EXPECT_EQ(value_of<cl_command_queue>(query_of(event, CL_EVENT_COMMAND_QUEUE)), nullptr);
  EXPECT_EQ(value_of<cl_context>(query_of(event, CL_EVENT_CONTEXT)), context_.get());
  EXPECT_SUCCESS(clSetUserEventStatus(event, CL_COMPLETE));
  EXPECT_EQ(status(event), CL_COMPLETE);
  EXPECT_SUCCESS(clWaitForEvents(1, event.list()));
}

TEST_F(ClUserEvent, ErrorStatus) {
  const Event event = make_user_event();
  EXPECT_SUCCESS(clSetUserEventStatus(event, -77));
  EXPECT_EQ(status(event), -77);
  // "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST if the execution status of any of the events in
  // event_list is a negative integer value."
  EXPECT_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clWaitForEvents(1, event.list()));
}

TEST_F(ClUserEvent, RejectsBadArguments) {
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(clCreateUserEvent(nullptr, &code), nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
  const Event event = make_user_event();
  // "CL_INVALID_VALUE if the execution_status is not CL_COMPLETE or a negative integer value."
  for (const cl_int bad : {CL_QUEUED, CL_SUBMITTED, CL_RUNNING, 17}) {
    EXPECT_CL(CL_INVALID_VALUE, clSetUserEventStatus(event, bad));
  }
  EXPECT_SUCCESS(clSetUserEventStatus(event, CL_COMPLETE));
  // "CL_INVALID_OPERATION if the execution_status for event has already been changed by a previous
  // call to clSetUserEventStatus."
  EXPECT_CL(CL_INVALID_OPERATION, clSetUserEventStatus(event, CL_COMPLETE));
  EXPECT_CL(CL_INVALID_OPERATION, clSetUserEventStatus(event, -1));
  // "CL_INVALID_EVENT if event is not a valid user event object."
  EXPECT_CL(CL_INVALID_EVENT, clSetUserEventStatus(nullptr, CL_COMPLETE));
  Event marker;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, marker.out()));
  EXPECT_CL(CL_INVALID_EVENT, clSetUserEventStatus(marker, CL_COMPLETE));
}

TEST_F(ClUserEvent, HoldsCommandsBack) {
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(256, 1));
  const std::vector<cl_int> data(256, 2);
  const Event gate = make_user_event();
  Event held;
  ASSERT_SUCCESS(write(buffer, data, &gate, &held));
  ASSERT_SUCCESS(clFlush(queue_));
  // Nothing may start before the gate opens; the specification makes this a fact, not a race.
  EXPECT_TRUE(is_one_of(status(held), {CL_QUEUED, CL_SUBMITTED}));
  const Queue other = make_queue();
  std::vector<cl_int> seen(256);
  ASSERT_SUCCESS(
      clEnqueueReadBuffer(other, buffer, CL_TRUE, 0, 1024, seen.data(), 0, nullptr, nullptr));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(256, 1), seen));
  EXPECT_TRUE(is_one_of(status(held), {CL_QUEUED, CL_SUBMITTED}));
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_TRUE(same_elements(data, read_all<cl_int>(buffer, 256)));
  EXPECT_EQ(status(held), CL_COMPLETE);
}

TEST_F(ClUserEvent, HoldsAKernelBackWithItsArguments) {
  // The arguments are those at the time of the enqueue, whatever is set while the kernel waits.
  const Kernel add = kernel("add_scalar");
  const Buffer data = make_buffer_of(std::vector<cl_int>(6400, 0));
  const Event gate = make_user_event();
  const size_t global = 6400;
  const size_t local = 64;
  for (cl_int value : {1, 10, 100}) {
    set_args(add, data, value);
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, add, 1, nullptr, &global, &local, 1, gate.list(), nullptr));
  }
  set_args(add, data, cl_int{1000000});
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(6400, 111), read_all<cl_int>(data, 6400)));
}

TEST_F(ClUserEvent, ReleasedByAnotherThreadDuringFinish) {
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(256, 1));
  const std::vector<cl_int> data(256, 2);
  const Event gate = make_user_event();
  Event held;
  ASSERT_SUCCESS(write(buffer, data, &gate, &held));
  std::atomic<bool> open{false};
  std::thread opener([&] {
    open = true;
    EXPECT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  });
  EXPECT_SUCCESS(clFinish(queue_));
  EXPECT_TRUE(open) << "clFinish returned although the gate was shut";
  EXPECT_EQ(status(held), CL_COMPLETE);
  opener.join();
  EXPECT_TRUE(same_elements(data, read_all<cl_int>(buffer, 256)));
}

TEST_F(ClUserEvent, ReleasedByAnotherThreadDuringBlockingRead) {
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(256, 5));
  const Event gate = make_user_event();
  std::thread opener([&] { EXPECT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE)); });
  std::vector<cl_int> seen(256);
  EXPECT_SUCCESS(
      clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, 1024, seen.data(), 1, gate.list(), nullptr));
  opener.join();
  EXPECT_TRUE(same_elements(std::vector<cl_int>(256, 5), seen));
}

TEST_F(ClUserEvent, ReleaseBeforeTheGateOpens) {
  // The event lives on inside: a command waits for it. (The handle is needed to open the gate, so
  // one reference is taken more.)
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(256, 1));
  const std::vector<cl_int> data(256, 3);
  const Event gate = make_user_event();
  ASSERT_SUCCESS(clRetainEvent(gate));
  Event held;
  ASSERT_SUCCESS(write(buffer, data, &gate, &held));
  ASSERT_SUCCESS(clReleaseEvent(gate));
  held.reset();
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_TRUE(same_elements(data, read_all<cl_int>(buffer, 256)));
}

TEST_F(ClUserEvent, GatesInEveryOrder) {
  // Two gates, two queues, opened in the order opposite to that of the enqueues.
  const Buffer first = make_buffer_of(std::vector<cl_int>(64, 0));
  const Buffer second = make_buffer_of(std::vector<cl_int>(64, 0));
  const Queue other = make_queue();
  const Event gate1 = make_user_event();
  const Event gate2 = make_user_event();
  const std::vector<cl_int> data(64, 9);
  Event held1;
  Event held2;
  ASSERT_SUCCESS(write(first, data, &gate1, &held1));
  ASSERT_SUCCESS(clEnqueueWriteBuffer(other, second, CL_FALSE, 0, 256, data.data(), 1, gate2.list(),
                                      held2.out()));
  ASSERT_SUCCESS(clFlush(queue_));
  ASSERT_SUCCESS(clFlush(other));
  ASSERT_SUCCESS(clSetUserEventStatus(gate2, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, held2.list()));
  EXPECT_TRUE(is_one_of(status(held1), {CL_QUEUED, CL_SUBMITTED}));
  ASSERT_SUCCESS(clSetUserEventStatus(gate1, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, held1.list()));
}

TEST_F(ClUserEvent, ErrorFailsTheDependents) {
  // "if the execution status of any event in the wait list is negative [...] all enqueued commands
  // that wait on this user event will be terminated"
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(64, 1));
  const std::vector<cl_int> data(64, 2);
  const Event gate = make_user_event();
  Event direct;
  Event indirect;
  ASSERT_SUCCESS(write(buffer, data, &gate, &direct));
  const Queue other = make_queue();
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(other, 1, direct.list(), indirect.out()));
  ASSERT_SUCCESS(clFlush(queue_));
  ASSERT_SUCCESS(clFlush(other));
  ASSERT_SUCCESS(clSetUserEventStatus(gate, -5));
  EXPECT_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clWaitForEvents(1, direct.list()));
  EXPECT_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clWaitForEvents(1, indirect.list()));
  EXPECT_LT(status(direct), 0);
  EXPECT_LT(status(indirect), 0);
  // "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST if the [...] operation is blocking and the
  // execution status of any of the events in event_wait_list is a negative integer value."
  std::vector<cl_int> seen(64);
  const Queue third = make_queue();
  EXPECT_CL(
      CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
      clEnqueueReadBuffer(third, buffer, CL_TRUE, 0, 256, seen.data(), 1, direct.list(), nullptr));
  // The terminated write wrote nothing.
  const Queue fourth = make_queue();
  ASSERT_SUCCESS(
      clEnqueueReadBuffer(fourth, buffer, CL_TRUE, 0, 256, seen.data(), 0, nullptr, nullptr));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 1), seen));
}

}  // namespace
}  // namespace tutti::api_tests
