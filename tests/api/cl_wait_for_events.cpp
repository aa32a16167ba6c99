// SPDX-License-Identifier: Apache-2.0
//
// clWaitForEvents, clGetEventInfo, clFlush and clFinish.
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using ClWaitForEvents = KernelTest;
using ClGetEventInfo = KernelTest;
using ClFinish = KernelTest;

TEST_F(ClWaitForEvents, ManyEvents) {
  const Kernel add = kernel("add_one");
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 0));
  set_args(add, data);
  const size_t global = 64;
  std::vector<Event> owners(300);
  std::vector<cl_event> events;
  for (Event& event : owners) {
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, add, 1, nullptr, &global, &global, 0, nullptr, event.out()));
    events.push_back(event);
  }
  ASSERT_SUCCESS(clWaitForEvents(static_cast<cl_uint>(events.size()), events.data()));
  for (const cl_event event : events) {
    cl_int status = -1;
    ASSERT_SUCCESS(
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr));
    ASSERT_EQ(status, CL_COMPLETE);
  }
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 300), read_all<cl_int>(data, 64)));
}

TEST_F(ClWaitForEvents, WaitImpliesFlush) {
  // "clWaitForEvents [...] performs an implicit flush on all command-queues" of the events
  Event marker;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, marker.out()));
  EXPECT_SUCCESS(clWaitForEvents(1, marker.list()));
  const cl_event twice[] = {marker, marker};
  EXPECT_SUCCESS(clWaitForEvents(2, twice));
}

TEST_F(ClWaitForEvents, RejectsBadArguments) {
  Event marker;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, marker.out()));
  // "CL_INVALID_VALUE if num_events is zero or event_list is NULL."
  EXPECT_CL(CL_INVALID_VALUE, clWaitForEvents(0, marker.list()));
  EXPECT_CL(CL_INVALID_VALUE, clWaitForEvents(1, nullptr));
  // "CL_INVALID_EVENT if event objects specified in event_list are not valid event objects."
  const cl_event with_null[] = {marker, nullptr};
  EXPECT_CL(CL_INVALID_EVENT, clWaitForEvents(2, with_null));
}

TEST_F(ClWaitForEvents, RejectsMixedContexts) {
  // "CL_INVALID_CONTEXT if events specified in event_list do not belong to the same context."
  const Context other = make_context();
  cl_int code = CL_SUCCESS;
  const Event foreign(clCreateUserEvent(other, &code));
  ASSERT_SUCCESS(code);
  ASSERT_SUCCESS(clSetUserEventStatus(foreign, CL_COMPLETE));
  const Event own = make_user_event();
  ASSERT_SUCCESS(clSetUserEventStatus(own, CL_COMPLETE));
  const cl_event mixed[] = {own, foreign};
  EXPECT_CL(CL_INVALID_CONTEXT, clWaitForEvents(2, mixed));
}

TEST_F(ClGetEventInfo, Basics) {
  Event marker;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, marker.out()));
  EXPECT_EQ(value_of<cl_command_queue>(query_of(marker, CL_EVENT_COMMAND_QUEUE)), queue_.get());
  EXPECT_EQ(value_of<cl_context>(query_of(marker, CL_EVENT_CONTEXT)), context_.get());
  EXPECT_EQ(value_of<cl_command_type>(query_of(marker, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_MARKER});
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_EQ(value_of<cl_int>(query_of(marker, CL_EVENT_COMMAND_EXECUTION_STATUS)), CL_COMPLETE);
}

TEST_F(ClGetEventInfo, ReferenceCount) {
  const Event event = make_user_event();
  EXPECT_EQ(reference_count(event.get(), CL_EVENT_REFERENCE_COUNT), 1u);
  EXPECT_SUCCESS(clRetainEvent(event));
  EXPECT_EQ(reference_count(event.get(), CL_EVENT_REFERENCE_COUNT), 2u);
  EXPECT_SUCCESS(clReleaseEvent(event));
  EXPECT_EQ(reference_count(event.get(), CL_EVENT_REFERENCE_COUNT), 1u);
  EXPECT_SUCCESS(clSetUserEventStatus(event, CL_COMPLETE));
}

TEST_F(ClGetEventInfo, RejectsUnknownParameter) {
  const Event event = make_user_event();
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetEventInfo(event, 0xdead, 0, nullptr, &size));
  EXPECT_SUCCESS(clSetUserEventStatus(event, CL_COMPLETE));
}

TEST_F(ClGetEventInfo, PollingReachesTheEnd) {
  // Asking again and again after a flush must come to CL_COMPLETE by itself.
  const Kernel add = kernel("add_one");
  const Buffer data = make_buffer_of(std::vector<cl_int>(6400, 0));
  set_args(add, data);
  Event event;
  const size_t global = 6400;
  const size_t local = 64;
  ASSERT_SUCCESS(
      clEnqueueNDRangeKernel(queue_, add, 1, nullptr, &global, &local, 0, nullptr, event.out()));
  ASSERT_SUCCESS(clFlush(queue_));
  cl_int status = CL_QUEUED;
  cl_int before = CL_QUEUED;
  while (status > CL_COMPLETE) {
    before = status;
    ASSERT_SUCCESS(
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr));
    ASSERT_LE(status, before) << "the status went backwards";
  }
  EXPECT_EQ(status, CL_COMPLETE);
  // Complete means that the results are there, for every queue.
  const Queue other = make_queue();
  std::vector<cl_int> seen(6400);
  ASSERT_SUCCESS(
      clEnqueueReadBuffer(other, data, CL_TRUE, 0, 25600, seen.data(), 0, nullptr, nullptr));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(6400, 1), seen));
}

TEST_F(ClFinish, EmptyQueue) {
  EXPECT_SUCCESS(clFlush(queue_));
  EXPECT_SUCCESS(clFinish(queue_));
  EXPECT_SUCCESS(clFinish(queue_));
}

TEST_F(ClFinish, CompletesEverything) {
  const Kernel add = kernel("add_one");
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 0));
  set_args(add, data);
  std::vector<cl_int> seen(64, -1);
  for (int i = 0; i < 50; ++i) ASSERT_SUCCESS(launch(add, 64, 64));
  ASSERT_SUCCESS(
      clEnqueueReadBuffer(queue_, data, CL_FALSE, 0, 256, seen.data(), 0, nullptr, nullptr));
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 50), seen));
}

TEST_F(ClFinish, RejectsNull) {
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clFlush(nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, clFinish(nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
