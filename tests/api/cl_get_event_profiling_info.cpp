// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClGetEventProfilingInfo : public KernelTest {
 protected:
  struct Times {
    cl_ulong queued, submit, start, end;
  };
  Times times_of(cl_event event) {
    return {value_of<cl_ulong>(profiling_of(event, CL_PROFILING_COMMAND_QUEUED)),
            value_of<cl_ulong>(profiling_of(event, CL_PROFILING_COMMAND_SUBMIT)),
            value_of<cl_ulong>(profiling_of(event, CL_PROFILING_COMMAND_START)),
            value_of<cl_ulong>(profiling_of(event, CL_PROFILING_COMMAND_END))};
  }
  void expect_ordered(const Times& times) {
    EXPECT_GT(times.queued, 0u);
    EXPECT_LE(times.queued, times.submit);
    EXPECT_LE(times.submit, times.start);
    EXPECT_LE(times.start, times.end);
  }
  cl_int query(cl_event event, cl_profiling_info param) {
    cl_ulong value = 0;
    return clGetEventProfilingInfo(event, param, sizeof(value), &value, nullptr);
  }
};

TEST_F(ClGetEventProfilingInfo, EveryCommandHasOrderedTimes) {
  const Queue queue = make_queue(CL_QUEUE_PROFILING_ENABLE);
  const Kernel add = kernel("add_one");
  const Buffer data = make_buffer_of(std::vector<cl_int>(6400, 0));
  const Buffer other = make_buffer(25600);
  set_args(add, data);
  std::vector<cl_int> host(6400);
  const size_t global = 6400;
  const size_t local = 64;
  const cl_int zero = 0;
  cl_int code = CL_SUCCESS;
  std::vector<Event> events(7);
  ASSERT_SUCCESS(
      clEnqueueNDRangeKernel(queue, add, 1, nullptr, &global, &local, 0, nullptr, events[0].out()));
  ASSERT_SUCCESS(clEnqueueCopyBuffer(queue, data, other, 0, 0, 25600, 0, nullptr, events[1].out()));
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue, other, CL_FALSE, 0, 25600, host.data(), 0, nullptr,
                                     events[2].out()));
  ASSERT_SUCCESS(clEnqueueWriteBuffer(queue, other, CL_FALSE, 0, 25600, host.data(), 0, nullptr,
                                      events[3].out()));
  ASSERT_SUCCESS(clEnqueueFillBuffer(queue, data, &zero, 4, 0, 25600, 0, nullptr, events[4].out()));
  void* mapped = clEnqueueMapBuffer(queue, data, CL_FALSE, CL_MAP_READ, 0, 25600, 0, nullptr,
                                    events[5].out(), &code);
  ASSERT_SUCCESS(code);
  ASSERT_SUCCESS(clEnqueueUnmapMemObject(queue, data, mapped, 0, nullptr, events[6].out()));
  ASSERT_SUCCESS(clFinish(queue));
  cl_ulong last_end = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    SCOPED_TRACE(i);
    const Times times = times_of(events[i]);
    expect_ordered(times);
    // One clock: the commands of an in-order queue end one after the other.
    EXPECT_GE(times.end, last_end);
    last_end = times.end;
    if (device_version() >= 200) {
      // "CL_PROFILING_COMMAND_COMPLETE: [...] when the command [...] and any child commands [...]
      // have finished execution."
      EXPECT_GE(value_of<cl_ulong>(profiling_of(events[i], CL_PROFILING_COMMAND_COMPLETE)),
                times.end);
    }
  }
}

TEST_F(ClGetEventProfilingInfo, DependentCommandsOnTwoQueuesShareTheClock) {
  const Queue first = make_queue(CL_QUEUE_PROFILING_ENABLE);
  const Queue second = make_queue(CL_QUEUE_PROFILING_ENABLE);
  const Buffer data = make_buffer(1 << 20);
  const cl_int zero = 0;
  Event a;
  Event b;
  ASSERT_SUCCESS(clEnqueueFillBuffer(first, data, &zero, 4, 0, 1 << 20, 0, nullptr, a.out()));
  ASSERT_SUCCESS(clFlush(first));
  ASSERT_SUCCESS(clEnqueueFillBuffer(second, data, &zero, 4, 0, 1 << 20, 1, a.list(), b.out()));
  ASSERT_SUCCESS(clFinish(second));
  const Times earlier = times_of(a);
  const Times later = times_of(b);
  expect_ordered(earlier);
  expect_ordered(later);
  EXPECT_LE(earlier.queued, later.queued);
  EXPECT_LE(earlier.end, later.start);
}

TEST_F(ClGetEventProfilingInfo, NotAvailable) {
  // "CL_PROFILING_INFO_NOT_AVAILABLE if the CL_QUEUE_PROFILING_ENABLE flag is not set for the
  // command-queue, if the execution status of the command identified by event is not CL_COMPLETE
  // or if event is a user event object."
  Event event;
  const cl_int zero = 0;
  const Buffer data = make_buffer(64);
  ASSERT_SUCCESS(clEnqueueFillBuffer(queue_, data, &zero, 4, 0, 64, 0, nullptr, event.out()));
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_CL(CL_PROFILING_INFO_NOT_AVAILABLE, query(event, CL_PROFILING_COMMAND_START));
  const Event user = make_user_event();
  EXPECT_CL(CL_PROFILING_INFO_NOT_AVAILABLE, query(user, CL_PROFILING_COMMAND_QUEUED));
  ASSERT_SUCCESS(clSetUserEventStatus(user, CL_COMPLETE));
  EXPECT_CL(CL_PROFILING_INFO_NOT_AVAILABLE, query(user, CL_PROFILING_COMMAND_QUEUED));
}

TEST_F(ClGetEventProfilingInfo, NotAvailableBeforeTheEnd) {
  const Queue queue = make_queue(CL_QUEUE_PROFILING_ENABLE);
  const Event gate = make_user_event();
  const Buffer data = make_buffer(64);
  const cl_int zero = 0;
  Event event;
  ASSERT_SUCCESS(clEnqueueFillBuffer(queue, data, &zero, 4, 0, 64, 1, gate.list(), event.out()));
  EXPECT_CL(CL_PROFILING_INFO_NOT_AVAILABLE, query(event, CL_PROFILING_COMMAND_END));
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  ASSERT_SUCCESS(clFinish(queue));
  EXPECT_SUCCESS(query(event, CL_PROFILING_COMMAND_END));
}

TEST_F(ClGetEventProfilingInfo, RejectsBadArguments) {
  const Queue queue = make_queue(CL_QUEUE_PROFILING_ENABLE);
  const Buffer data = make_buffer(64);
  const cl_int zero = 0;
  Event event;
  ASSERT_SUCCESS(clEnqueueFillBuffer(queue, data, &zero, 4, 0, 64, 0, nullptr, event.out()));
  ASSERT_SUCCESS(clFinish(queue));
  EXPECT_CL(CL_INVALID_VALUE, query(event, 0xdead));
  EXPECT_CL(CL_INVALID_EVENT, query(nullptr, CL_PROFILING_COMMAND_END));
}

}  // namespace
}  // namespace tutti::api_tests
