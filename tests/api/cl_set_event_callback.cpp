// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <mutex>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClSetEventCallback : public KernelTest {};

struct Calls {
  explicit Calls(int expected) : done(expected) {}

  struct One {
    Calls* all;
    cl_int registered;
  };
  struct Seen {
    cl_event event;
    cl_int registered;
    cl_int status;
  };
  static void CL_CALLBACK record(cl_event event, cl_int status, void* user_data) {
    auto* one = static_cast<One*>(user_data);
    {
      const std::lock_guard<std::mutex> lock(one->all->mutex);
      one->all->seen.push_back({event, one->registered, status});
    }
    one->all->done.count_down();
  }

  std::mutex mutex;
  std::vector<Seen> seen;
  Latch done;
};

TEST_F(ClSetEventCallback, EveryStatusOnce) {
  const Kernel add = kernel("add_one");
  const Buffer data = make_buffer_of(std::vector<cl_int>(64, 0));
  set_args(add, data);
  const Event gate = make_user_event();
  Event event;
  const size_t global = 64;
  ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, add, 1, nullptr, &global, &global, 1, gate.list(),
                                        event.out()));
  Calls calls(6);
  Calls::One ones[] = {{&calls, CL_SUBMITTED}, {&calls, CL_RUNNING},   {&calls, CL_COMPLETE},
                       {&calls, CL_COMPLETE},  {&calls, CL_SUBMITTED}, {&calls, CL_RUNNING}};
  for (Calls::One& one : ones) {
    ASSERT_SUCCESS(clSetEventCallback(event, one.registered, Calls::record, &one));
  }
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  ASSERT_SUCCESS(clFlush(queue_));
  ASSERT_TRUE(calls.done.wait());
  ASSERT_SUCCESS(clFinish(queue_));
  ASSERT_EQ(calls.seen.size(), 6u);
  for (const Calls::Seen& seen : calls.seen) {
    EXPECT_EQ(seen.event, event.get());
    // "event_command_status is equal to the command_exec_callback_type used while registering the
    // callback" (or an error); a driver that skips a state may report the later one.
    EXPECT_LE(seen.status, seen.registered);
    EXPECT_GE(seen.status, CL_COMPLETE);
    if (seen.registered == CL_COMPLETE) {
      EXPECT_EQ(seen.status, CL_COMPLETE);
    }
  }
}

TEST_F(ClSetEventCallback, RegisteredAfterCompletion) {
  Event event;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, event.out()));
  ASSERT_SUCCESS(clFinish(queue_));
  Calls calls(3);
  Calls::One ones[] = {{&calls, CL_SUBMITTED}, {&calls, CL_RUNNING}, {&calls, CL_COMPLETE}};
  for (Calls::One& one : ones) {
    ASSERT_SUCCESS(clSetEventCallback(event, one.registered, Calls::record, &one));
  }
  EXPECT_TRUE(calls.done.wait()) << "a callback for a status already passed is called at once";
}

TEST_F(ClSetEventCallback, UserEvent) {
  const Event event = make_user_event();
  Calls calls(1);
  Calls::One one = {&calls, CL_COMPLETE};
  ASSERT_SUCCESS(clSetEventCallback(event, CL_COMPLETE, Calls::record, &one));
  ASSERT_SUCCESS(clSetUserEventStatus(event, CL_COMPLETE));
  ASSERT_TRUE(calls.done.wait());
  EXPECT_EQ(calls.seen[0].status, CL_COMPLETE);
}

TEST_F(ClSetEventCallback, FailedUserEvent) {
  // "The callback function registered for a command execution status of CL_COMPLETE will be called
  // when the command has completed successfully or is abnormally terminated."
  const Event event = make_user_event();
  Calls calls(1);
  Calls::One one = {&calls, CL_COMPLETE};
  ASSERT_SUCCESS(clSetEventCallback(event, CL_COMPLETE, Calls::record, &one));
  ASSERT_SUCCESS(clSetUserEventStatus(event, -9));
  ASSERT_TRUE(calls.done.wait());
  EXPECT_EQ(calls.seen[0].status, -9);
}

TEST_F(ClSetEventCallback, DependentsOfAFailedEvent) {
  // "if the command is terminated abnormally, event_command_status is a negative value"
  const Event gate = make_user_event();
  Event event;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 1, gate.list(), event.out()));
  Calls calls(1);
  Calls::One one = {&calls, CL_COMPLETE};
  ASSERT_SUCCESS(clSetEventCallback(event, CL_COMPLETE, Calls::record, &one));
  ASSERT_SUCCESS(clFlush(queue_));
  ASSERT_SUCCESS(clSetUserEventStatus(gate, -42));
  ASSERT_TRUE(calls.done.wait());
  EXPECT_LT(calls.seen[0].status, 0);
}

TEST_F(ClSetEventCallback, CallbackUsesTheApi) {
  // A callback may call everything that does not block: here it enqueues the next command, asks,
  // retains, registers a callback in turn, and opens a gate.
  struct Shared {
    cl_command_queue queue;
    cl_mem buffer;
    cl_event gate;
    Latch done{1};
    std::atomic<cl_int> codes[7];
  } shared;
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(64, 1));
  const Event gate = make_user_event();
  shared.queue = queue_;
  shared.buffer = buffer;
  shared.gate = gate;
  Event first;
  ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 0, nullptr, first.out()));
  ASSERT_SUCCESS(clSetEventCallback(
      first, CL_COMPLETE,
      [](cl_event event, cl_int, void* user_data) {
        auto* s = static_cast<Shared*>(user_data);
        const cl_int value = 7;
        cl_event filled = nullptr;
        s->codes[0] = clRetainEvent(event);
        s->codes[1] = clReleaseEvent(event);
        s->codes[2] =
            clEnqueueFillBuffer(s->queue, s->buffer, &value, 4, 0, 256, 0, nullptr, &filled);
        s->codes[3] = clSetEventCallback(
            filled, CL_COMPLETE,
            [](cl_event, cl_int, void* inner) { static_cast<Shared*>(inner)->done.count_down(); },
            s);
        s->codes[4] = clFlush(s->queue);
        s->codes[5] = clReleaseEvent(filled);
        s->codes[6] = clSetUserEventStatus(s->gate, CL_COMPLETE);
      },
      &shared));
  ASSERT_SUCCESS(clFlush(queue_));
  ASSERT_SUCCESS(clWaitForEvents(1, gate.list()));
  ASSERT_TRUE(shared.done.wait());
  for (const std::atomic<cl_int>& code : shared.codes) EXPECT_SUCCESS(code.load());
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 7), read_all<cl_int>(buffer, 64)));
}

TEST_F(ClSetEventCallback, CalledEvenWhenTheEventIsReleased) {
  const Event gate = make_user_event();
  Calls calls(1);
  Calls::One one = {&calls, CL_COMPLETE};
  {
    Event event;
    ASSERT_SUCCESS(clEnqueueMarkerWithWaitList(queue_, 1, gate.list(), event.out()));
    ASSERT_SUCCESS(clSetEventCallback(event, CL_COMPLETE, Calls::record, &one));
  }
  ASSERT_SUCCESS(clFlush(queue_));
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  EXPECT_TRUE(calls.done.wait());
}

TEST_F(ClSetEventCallback, RejectsBadArguments) {
  const Event event = make_user_event();
  Calls calls(1);
  Calls::One one = {&calls, CL_COMPLETE};
  // "CL_INVALID_VALUE if pfn_event_notify is NULL or if command_exec_callback_type is not
  // CL_SUBMITTED, CL_RUNNING, or CL_COMPLETE."
  EXPECT_CL(CL_INVALID_VALUE, clSetEventCallback(event, CL_COMPLETE, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, clSetEventCallback(event, CL_QUEUED, Calls::record, &one));
  EXPECT_CL(CL_INVALID_VALUE, clSetEventCallback(event, -1, Calls::record, &one));
  EXPECT_CL(CL_INVALID_EVENT, clSetEventCallback(nullptr, CL_COMPLETE, Calls::record, &one));
  ASSERT_SUCCESS(clSetUserEventStatus(event, CL_COMPLETE));
  EXPECT_TRUE(calls.seen.empty());
}

}  // namespace
}  // namespace tutti::api_tests
