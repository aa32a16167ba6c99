// SPDX-License-Identifier: Apache-2.0
// Command buffers: their life, what may be asked of them, how they are enqueued, and error codes.
#include "command_buffers.h"

#include <algorithm>
#include <string>

namespace tutti::api_tests {
namespace {

constexpr size_t kCount = 5000;

using CommandBuffers = CommandBufferTest;

std::vector<cl_int> plus(std::vector<cl_int> data, cl_int term) {
  for (cl_int& value : data) value += term;
  return data;
}

cl_int status_of(cl_event event) {
  return value_of<cl_int>(query_of(event, CL_EVENT_COMMAND_EXECUTION_STATUS));
}

TEST_F(CommandBuffers, IsClaimed) {
  if (!options().tutti) GTEST_SKIP() << "of Tutti's version";
  for (const auto& extension : array_of<cl_name_version>(
           ::tutti::api_tests::query_of(device_, CL_DEVICE_EXTENSIONS_WITH_VERSION))) {
    if (std::string(extension.name) != kCommandBufferExtension) continue;
    EXPECT_EQ(extension.version, cl_version{CL_MAKE_VERSION(0, 9, 8)});
  }
  const std::string of_platform =
      string_of(::tutti::api_tests::query_of(platform_, CL_PLATFORM_EXTENSIONS));
  EXPECT_NE(of_platform.find(kCommandBufferExtension), std::string::npos);
  const auto of_device = [&](cl_device_info what) {
    return value_of<cl_bitfield>(::tutti::api_tests::query_of(device_, what));
  };
  const bool enqueues =
      device_version() >= 300 && of_device(CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES) != 0;
  const cl_bitfield enqueue = CL_COMMAND_BUFFER_CAPABILITY_DEVICE_SIDE_ENQUEUE_KHR;
  EXPECT_EQ(of_device(CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR),
            CL_COMMAND_BUFFER_CAPABILITY_KERNEL_PRINTF_KHR |
                CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR | (enqueues ? enqueue : 0));
  EXPECT_EQ(of_device(CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR), cl_bitfield{0});
  EXPECT_EQ(of_device(kCommandBufferQueueProperties),
            cl_bitfield{CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE});
}

TEST_F(CommandBuffers, TellsAboutItself) {
  const cl_command_buffer_properties_khr properties[] = {CL_COMMAND_BUFFER_FLAGS_KHR,
                                                         CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 0};
  cl_int code = CL_SUCCESS;
  const CommandBuffer commands(f_.create(1, queue_.list(), properties, &code));
  ASSERT_SUCCESS(code);
  EXPECT_EQ(value_of<cl_uint>(query_of(commands, CL_COMMAND_BUFFER_NUM_QUEUES_KHR)), 1u);
  EXPECT_EQ(value_of<cl_command_queue>(query_of(commands, CL_COMMAND_BUFFER_QUEUES_KHR)),
            queue_.get());
  EXPECT_EQ(value_of<cl_context>(query_of(commands, kCommandBufferContext)), context_.get());
  EXPECT_EQ(array_of<cl_command_buffer_properties_khr>(
                query_of(commands, CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR)),
            std::vector<cl_command_buffer_properties_khr>(properties, properties + 3));
  const auto state = [&] {
    return value_of<cl_command_buffer_state_khr>(query_of(commands, CL_COMMAND_BUFFER_STATE_KHR));
  };
  EXPECT_EQ(state(), cl_command_buffer_state_khr{CL_COMMAND_BUFFER_STATE_RECORDING_KHR});
  finalize(commands);
  EXPECT_EQ(state(), cl_command_buffer_state_khr{CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR});
  const auto references = [&] {
    return value_of<cl_uint>(query_of(commands, CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR));
  };
  EXPECT_EQ(references(), 1u);
  ASSERT_SUCCESS(f_.retain(commands));
  EXPECT_EQ(references(), 2u);
  ASSERT_SUCCESS(f_.release(commands));
  EXPECT_EQ(references(), 1u);
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, f_.info(commands, CL_QUEUE_CONTEXT, 0, nullptr, &size));
  const CommandBuffer plain = make_commands();
  EXPECT_TRUE(check_query(query_of(plain, CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR)).empty());
}

TEST_F(CommandBuffers, RejectsBadCreation) {
  cl_int code = CL_SUCCESS;
  const auto create = [&](cl_uint count, const cl_command_queue* queues,
                          const std::vector<cl_command_buffer_properties_khr>& properties = {}) {
    EXPECT_EQ(f_.create(count, queues, properties.empty() ? nullptr : properties.data(), &code),
              nullptr);
    return code;
  };
  EXPECT_CL(CL_INVALID_VALUE, create(0, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, create(1, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, create(0, queue_.list()));
  const cl_command_queue two[] = {queue_, queue_};
  EXPECT_CL(CL_INVALID_VALUE, create(2, two));
  const cl_command_queue none = nullptr;
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, create(1, &none));
  EXPECT_CL(CL_INVALID_VALUE, create(1, queue_.list(), {CL_QUEUE_PROPERTIES, 0, 0}));
  EXPECT_CL(CL_INVALID_VALUE,
            create(1, queue_.list(),
                   {CL_COMMAND_BUFFER_FLAGS_KHR, ~cl_command_buffer_properties_khr{0}, 0}));
  EXPECT_CL(CL_INVALID_VALUE,
            create(1, queue_.list(),
                   {CL_COMMAND_BUFFER_FLAGS_KHR, 0, CL_COMMAND_BUFFER_FLAGS_KHR, 0, 0}));
  // CL_COMMAND_BUFFER_DEVICE_SIDE_SYNC_KHR, of another extension.
  EXPECT_CL(CL_INVALID_PROPERTY,
            create(1, queue_.list(), {CL_COMMAND_BUFFER_FLAGS_KHR, 1 << 2, 0}));
}

TEST_F(CommandBuffers, ForeignHandles) {
  EXPECT_CL(CL_INVALID_COMMAND_BUFFER_KHR, f_.retain(nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_BUFFER_KHR, f_.release(nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_BUFFER_KHR, f_.finalize(nullptr));
  EXPECT_CL(CL_INVALID_COMMAND_BUFFER_KHR, f_.enqueue(0, nullptr, nullptr, 0, nullptr, nullptr));
  size_t size = 0;
  EXPECT_CL(CL_INVALID_COMMAND_BUFFER_KHR,
            f_.info(nullptr, CL_COMMAND_BUFFER_STATE_KHR, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_COMMAND_BUFFER_KHR,
            f_.barrier(nullptr, nullptr, nullptr, 0, nullptr, nullptr, nullptr));
  if (!options().strict_handles) return;
  auto* const queue = reinterpret_cast<cl_command_buffer_khr>(queue_.get());
  EXPECT_CL(CL_INVALID_COMMAND_BUFFER_KHR, f_.finalize(queue));
}

TEST_F(CommandBuffers, StatesForbid) {
  const Buffer data = make_buffer(256);
  const Kernel add = kernel("add_one");
  set_args(add, data);
  const CommandBuffer commands = make_commands();
  EXPECT_CL(CL_INVALID_OPERATION, f_.enqueue(0, nullptr, commands, 0, nullptr, nullptr));
  finalize(commands);
  EXPECT_CL(CL_INVALID_OPERATION, f_.finalize(commands));
  const size_t global = 64;
  EXPECT_CL(CL_INVALID_OPERATION, f_.kernel(commands, nullptr, nullptr, add, 1, nullptr, &global,
                                            nullptr, 0, nullptr, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_OPERATION, f_.copy(commands, nullptr, nullptr, data, data, 0, 128, 64, 0,
                                          nullptr, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_OPERATION,
            f_.barrier(commands, nullptr, nullptr, 0, nullptr, nullptr, nullptr));
}

TEST_F(CommandBuffers, RejectsBadEnqueueing) {
  const CommandBuffer commands = make_commands();
  finalize(commands);
  cl_command_queue queues[] = {queue_, queue_};
  EXPECT_CL(CL_INVALID_VALUE, f_.enqueue(1, nullptr, commands, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, f_.enqueue(0, queues, commands, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, f_.enqueue(2, queues, commands, 0, nullptr, nullptr));
  cl_command_queue none = nullptr;
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, f_.enqueue(1, &none, commands, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, f_.enqueue(0, nullptr, commands, 1, nullptr, nullptr));
  const Event user = make_user_event();
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, f_.enqueue(0, nullptr, commands, 0, user.list(), nullptr));
  const Context other = make_context();
  cl_int code = CL_SUCCESS;
  const Queue foreign(clCreateCommandQueue(other, device_, 0, &code));
  ASSERT_SUCCESS(code);
  cl_command_queue given = foreign;
  EXPECT_CL(CL_INVALID_CONTEXT, f_.enqueue(1, &given, commands, 0, nullptr, nullptr));
  const Event elsewhere(clCreateUserEvent(other, &code));
  EXPECT_CL(CL_INVALID_CONTEXT, f_.enqueue(0, nullptr, commands, 1, elsewhere.list(), nullptr));
  EXPECT_SUCCESS(clSetUserEventStatus(user, CL_COMPLETE));
  EXPECT_SUCCESS(clSetUserEventStatus(elsewhere, CL_COMPLETE));
}

TEST_F(CommandBuffers, RejectsBadCommands) {
  const Buffer data = make_buffer(256), other = make_buffer(256);
  const Kernel add = kernel("add_one");
  const CommandBuffer commands = make_commands();
  const size_t global = 64;
  const auto launch_with = [&](cl_command_queue queue, Properties properties, cl_kernel what,
                               cl_uint count, Points points, Mutable handle) {
    return f_.kernel(commands, queue, properties, what, 1, nullptr, &global, nullptr, count, points,
                     nullptr, handle);
  };
  EXPECT_CL(CL_INVALID_KERNEL_ARGS, launch_with(nullptr, nullptr, add, 0, nullptr, nullptr));
  set_args(add, data);
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE, launch_with(queue_, nullptr, add, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_KERNEL, launch_with(nullptr, nullptr, nullptr, 0, nullptr, nullptr));
  const cl_properties properties[] = {1, 1, 0}, nothing[] = {0};
  EXPECT_CL(CL_INVALID_VALUE, launch_with(nullptr, properties, add, 0, nullptr, nullptr));
  EXPECT_SUCCESS(launch_with(nullptr, nothing, add, 0, nullptr, nullptr));
  const cl_sync_point_khr first = 1, unknown = 77, zero = 0;
  EXPECT_CL(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR,
            launch_with(nullptr, nullptr, add, 1, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR,
            launch_with(nullptr, nullptr, add, 0, &first, nullptr));
  EXPECT_CL(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR,
            launch_with(nullptr, nullptr, add, 1, &unknown, nullptr));
  EXPECT_CL(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR,
            f_.barrier(commands, nullptr, nullptr, 1, &zero, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_WORK_DIMENSION, f_.kernel(commands, nullptr, nullptr, add, 4, nullptr,
                                                 &global, nullptr, 0, nullptr, nullptr, nullptr));
  const auto copy_with = [&](cl_mem from, cl_mem to, size_t size) {
    return f_.copy(commands, nullptr, nullptr, from, to, 0, 0, size, 0, nullptr, nullptr, nullptr);
  };
  EXPECT_CL(CL_INVALID_MEM_OBJECT, copy_with(nullptr, data, 64));
  EXPECT_CL(CL_INVALID_VALUE, copy_with(data, other, 512));
  EXPECT_CL(CL_MEM_COPY_OVERLAP, copy_with(data, data, 64));
  const cl_uint pattern = 1;
  EXPECT_CL(CL_INVALID_VALUE, f_.fill(commands, nullptr, nullptr, data, &pattern, 3, 0, 64, 0,
                                      nullptr, nullptr, nullptr));
  const Context context = make_context();
  cl_int code = CL_SUCCESS;
  const Buffer foreign(clCreateBuffer(context, CL_MEM_READ_WRITE, 64, nullptr, &code));
  ASSERT_SUCCESS(code);
  EXPECT_CL(CL_INVALID_CONTEXT, copy_with(data, foreign, 64));
  // Of all that only the launch with empty properties was recorded.
  write_all(data, std::vector<cl_int>(64, 1));
  finalize(commands);
  enqueue(commands);
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 2), read_all<cl_int>(data, 64)));
}

TEST_F(CommandBuffers, ComputesEachTimeItIsEnqueued) {
  const auto data = noise_of<cl_int>(kCount, 1);
  const Buffer buffer = make_buffer_of(data);
  const Kernel add = kernel("add_one");
  set_args(add, buffer);
  const CommandBuffer commands = make_commands();
  for (int i = 0; i < 3; ++i) launch(commands, add, kCount);
  finalize(commands);
  for (int i = 0; i < 200; ++i) enqueue(commands);
  EXPECT_TRUE(same_elements(plus(data, 600), read_all<cl_int>(buffer, kCount)));
  for (int i = 0; i < 50; ++i) {
    const Event event = enqueue_observed(commands);
    ASSERT_SUCCESS(clWaitForEvents(1, event.list()));
    EXPECT_CL(CL_COMPLETE, status_of(event));
  }
  EXPECT_TRUE(same_elements(plus(data, 750), read_all<cl_int>(buffer, kCount)));
}

TEST_F(CommandBuffers, KeepsTheArgumentsOfItsRecording) {
  const auto data = noise_of<cl_int>(kCount, 2);
  const Buffer a = make_buffer_of(data), b = make_buffer_of(data);
  const Kernel add = kernel("add_scalar");
  const CommandBuffer commands = make_commands();
  for (cl_int i = 1; i <= 20; ++i) {
    set_args(add, i % 2 == 0 ? a : b, i);
    launch(commands, add, kCount);
  }
  set_args(add, a, cl_int{1000});
  finalize(commands);
  constexpr int kTimes = 10;
  for (int i = 0; i < kTimes; ++i) {
    enqueue(commands);
    ASSERT_SUCCESS(launch(add, kCount));  // between: the kernel's own arguments
  }
  EXPECT_TRUE(same_elements(plus(data, kTimes * (110 + 1000)), read_all<cl_int>(a, kCount)));
  EXPECT_TRUE(same_elements(plus(data, kTimes * 100), read_all<cl_int>(b, kCount)));
}

TEST_F(CommandBuffers, OutlivesWhatItWasMadeOf) {
  const std::vector<cl_uint> pattern(kCount, 7);
  Buffer from = make_buffer_of(pattern);
  const Buffer to = make_buffer(kCount * sizeof(cl_uint));
  Queue own = make_queue();
  Kernel times_plus = kernel("times_plus");
  CommandBuffer commands = make_commands(own);
  copy(commands, from, to, kCount * sizeof(cl_uint));
  set_args(times_plus, to, cl_uint{3}, cl_uint{5});
  launch(commands, times_plus, kCount);
  finalize(commands);
  from.reset();
  times_plus.reset();
  own.reset();
  program_.reset();
  const Event event = enqueue_observed(commands);
  commands.reset();  // before it has ended
  ASSERT_SUCCESS(clWaitForEvents(1, event.list()));
  EXPECT_TRUE(same_elements(std::vector<cl_uint>(kCount, 26), read_all<cl_uint>(to, kCount)));
}

TEST_F(CommandBuffers, MayBeReleasedWhileItWaits) {
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(kCount, 1));
  const Kernel add = kernel("add_one");
  set_args(add, buffer);
  const Event gate = make_user_event();
  Event event;
  {
    const CommandBuffer commands = make_commands();
    launch(commands, add, kCount);
    launch(commands, add, kCount);
    finalize(commands);
    event = enqueue_observed(commands, {gate});
  }
  EXPECT_GT(status_of(event), CL_COMPLETE);
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, event.list()));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(kCount, 3), read_all<cl_int>(buffer, kCount)));
}

TEST_F(CommandBuffers, WhatFollowsWaitsForIt) {
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(kCount, 0));
  const Kernel add = kernel("add_one");
  set_args(add, buffer);
  const CommandBuffer commands = make_commands();
  for (int i = 0; i < 5; ++i) launch(commands, add, kCount);
  finalize(commands);
  const Event event = enqueue_observed(commands);
  const Queue second = make_queue();
  std::vector<cl_int> seen(kCount);
  ASSERT_SUCCESS(clEnqueueReadBuffer(second, buffer, CL_TRUE, 0, kCount * sizeof(cl_int),
                                     seen.data(), 1, event.list(), nullptr));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(kCount, 5), seen));
}

TEST_F(CommandBuffers, EventTellsItsTypeAndCallsBack) {
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(64, 0));
  const Kernel add = kernel("add_one");
  set_args(add, buffer);
  const CommandBuffer launches = make_commands(), copies = make_commands(), empty = make_commands();
  launch(launches, add, 64);
  fill(copies, buffer, cl_int{5}, 64);
  for (const CommandBuffer* commands : {&launches, &copies, &empty}) {
    finalize(*commands);
    const Event event = enqueue_observed(*commands);
    EXPECT_EQ(value_of<cl_command_type>(::tutti::api_tests::query_of(event, CL_EVENT_COMMAND_TYPE)),
              cl_command_type{CL_COMMAND_COMMAND_BUFFER_KHR});
    EXPECT_EQ(
        value_of<cl_command_queue>(::tutti::api_tests::query_of(event, CL_EVENT_COMMAND_QUEUE)),
        queue_.get());
    Latch called;
    ASSERT_SUCCESS(clSetEventCallback(
        event, CL_COMPLETE,
        [](cl_event, cl_int status, void* latch) {
          EXPECT_CL(CL_COMPLETE, status);
          static_cast<Latch*>(latch)->count_down();
        },
        &called));
    EXPECT_TRUE(called.wait());
    EXPECT_CL(CL_COMPLETE, status_of(event));
  }
}

TEST_F(CommandBuffers, IsCalledOffWithWhatItWaitsFor) {
  for (const bool unordered : {false, true}) {
    if (unordered && !device_supports_out_of_order()) continue;
    SCOPED_TRACE(unordered);
    const Queue queue = make_queue(unordered ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
    const Buffer buffer = make_buffer_of(std::vector<cl_int>(kCount, 1));
    const Kernel add = kernel("add_one");
    set_args(add, buffer);
    const CommandBuffer commands = make_commands(queue);
    launch(commands, add, kCount);
    launch(commands, add, kCount, {1});
    fill(commands, buffer, cl_int{9}, kCount, {2});
    finalize(commands);
    const Event gate = make_user_event();
    const Event event = enqueue_observed(commands, {gate});
    ASSERT_SUCCESS(clSetUserEventStatus(gate, -5));
    EXPECT_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clWaitForEvents(1, event.list()));
    EXPECT_LT(status_of(event), 0);
    EXPECT_TRUE(same_elements(std::vector<cl_int>(kCount, 1), read_all<cl_int>(buffer, kCount)));
    // Behind what has failed already, too.
    const Event late = enqueue_observed(commands, {gate});
    EXPECT_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clWaitForEvents(1, late.list()));
    EXPECT_TRUE(same_elements(std::vector<cl_int>(kCount, 1), read_all<cl_int>(buffer, kCount)));
  }
}

TEST_F(CommandBuffers, MeasuresItsTimes) {
  for (const cl_command_queue_properties unordered :
       {cl_command_queue_properties{0},
        cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
    if (unordered != 0 && !device_supports_out_of_order()) continue;
    const Queue queue = make_queue(CL_QUEUE_PROFILING_ENABLE | unordered);
    const Buffer buffer = make_buffer_of(std::vector<cl_int>(kCount, 1));
    const Buffer other = make_buffer(kCount * sizeof(cl_int));
    const Kernel add = kernel("add_one");
    set_args(add, buffer);
    const CommandBuffer commands = make_commands();  // recorded in order
    for (int i = 0; i < 10; ++i) launch(commands, add, kCount);
    copy(commands, buffer, other, kCount * sizeof(cl_int));
    finalize(commands);
    const Event unmeasured = enqueue_observed(commands);
    ASSERT_SUCCESS(clWaitForEvents(1, unmeasured.list()));
    cl_ulong time = 0;
    EXPECT_CL(CL_PROFILING_INFO_NOT_AVAILABLE,
              clGetEventProfilingInfo(unmeasured, CL_PROFILING_COMMAND_START, sizeof time, &time,
                                      nullptr));
    for (int round = 0; round < 5; ++round) {
      const Event event = enqueue_observed(commands, {}, queue);
      ASSERT_SUCCESS(clWaitForEvents(1, event.list()));
      std::vector<cl_ulong> times;
      for (const cl_profiling_info what : {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                           CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END}) {
        times.push_back(value_of<cl_ulong>(profiling_of(event, what)));
      }
      EXPECT_GT(times.front(), 0u);
      EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    }
    ASSERT_SUCCESS(clFinish(queue));
    EXPECT_TRUE(same_elements(std::vector<cl_int>(kCount, 61), read_all<cl_int>(other, kCount)));
  }
}

TEST_F(CommandBuffers, RunsOnOtherQueues) {
  if (!device_supports_out_of_order()) GTEST_SKIP() << "no out-of-order queues";
  const Queue unordered = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const Queue ordered = make_queue();
  for (const Queue* recorded : {&unordered, &ordered}) {
    for (const Queue* run : {&unordered, &ordered}) {
      const Buffer a = make_buffer_of(std::vector<cl_uint>(kCount, 1));
      const Buffer b = make_buffer_of(std::vector<cl_uint>(kCount, 0));
      const Kernel times_plus = kernel("times_plus");
      const CommandBuffer commands = make_commands(*recorded);
      // Of what is recorded in order each comes after the one before without more words.
      const auto after = [&](cl_sync_point_khr point) {
        return recorded == &ordered ? Waits{} : Waits{point};
      };
      set_args(times_plus, a, cl_uint{2}, cl_uint{3});
      const auto first = launch(commands, times_plus, kCount);
      set_args(times_plus, a, cl_uint{5}, cl_uint{7});
      const auto second = launch(commands, times_plus, kCount, after(first));
      const auto third = copy(commands, a, b, kCount * sizeof(cl_uint), after(second));
      set_args(times_plus, b, cl_uint{11}, cl_uint{13});
      launch(commands, times_plus, kCount, after(third));
      finalize(commands);
      std::vector<cl_uint> expected(kCount, 1), result;
      for (int round = 0; round < 6; ++round) {
        const Event event = enqueue_observed(commands, {}, *run);
        ASSERT_SUCCESS(clWaitForEvents(1, event.list()));
        for (cl_uint& value : expected) value = (value * 2 + 3) * 5 + 7;
      }
      result = expected;
      for (cl_uint& value : result) value = value * 11 + 13;
      EXPECT_TRUE(same_elements(expected, read_all<cl_uint>(a, kCount)));
      EXPECT_TRUE(same_elements(result, read_all<cl_uint>(b, kCount)));
    }
  }
}

TEST_F(CommandBuffers, BarriersOrderWhatHasNoOtherOrder) {
  if (!device_supports_out_of_order()) GTEST_SKIP() << "no out-of-order queues";
  const Queue unordered = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  constexpr size_t kParts = 8;
  std::vector<Buffer> parts;
  const Kernel add = kernel("add_scalar");
  const Buffer all = make_buffer_of(std::vector<cl_int>(kParts * kCount, 0));
  const CommandBuffer commands = make_commands(unordered);
  for (size_t i = 0; i < kParts; ++i) {
    parts.push_back(make_buffer_of(std::vector<cl_int>(kCount, 0)));
    set_args(add, parts[i], static_cast<cl_int>(i + 1));
    launch(commands, add, kCount);
  }
  barrier(commands);
  for (size_t i = 0; i < kParts; ++i) {
    const size_t bytes = kCount * sizeof(cl_int);
    ASSERT_SUCCESS(f_.copy(commands, nullptr, nullptr, parts[i], all, 0, i * bytes, bytes, 0,
                           nullptr, nullptr, nullptr));
  }
  const auto gathered = barrier(commands);
  set_args(add, all, cl_int{100});
  const auto last = launch(commands, add, kParts * kCount, {gathered});
  barrier(commands, {last});
  launch(commands, add, kParts * kCount);
  finalize(commands);
  for (cl_int round = 1; round <= 4; ++round) {
    const Event event = enqueue_observed(commands);
    ASSERT_SUCCESS(clWaitForEvents(1, event.list()));
    std::vector<cl_int> expected;
    for (size_t i = 0; i < kParts; ++i) {
      expected.insert(expected.end(), kCount, round * static_cast<cl_int>(i + 1) + 200);
    }
    EXPECT_TRUE(same_elements(expected, read_all<cl_int>(all, kParts * kCount)));
  }
}

TEST_F(CommandBuffers, DoesNotWaitForWhatElseIsInAnUnorderedQueue) {
  if (!device_supports_out_of_order()) GTEST_SKIP() << "no out-of-order queues";
  const Queue unordered = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const Buffer held = make_buffer_of(std::vector<cl_int>(64, 0));
  const Buffer free = make_buffer_of(std::vector<cl_int>(64, 0));
  const Kernel add = kernel("add_one"), other = kernel("add_one");
  set_args(add, held);
  set_args(other, free);
  const CommandBuffer commands = make_commands(unordered);
  launch(commands, other, 64);
  barrier(commands);
  launch(commands, other, 64);
  finalize(commands);
  const Event gate = make_user_event();
  const size_t global = 64;
  ASSERT_SUCCESS(clEnqueueNDRangeKernel(unordered, add, 1, nullptr, &global, nullptr, 1,
                                        gate.list(), nullptr));
  const Event event = enqueue_observed(commands);
  EXPECT_SUCCESS(clWaitForEvents(1, event.list()));
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  ASSERT_SUCCESS(clFinish(unordered));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 2), read_all<cl_int>(free, 64)));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 1), read_all<cl_int>(held, 64)));
}

TEST_F(CommandBuffers, UsedSimultaneously) {
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(kCount, 0));
  const Buffer copied = make_buffer(kCount * sizeof(cl_int));
  const Kernel add = kernel("add_one");
  set_args(add, buffer);
  const CommandBuffer commands = make_commands();
  for (int i = 0; i < 4; ++i) launch(commands, add, kCount);
  copy(commands, buffer, copied, kCount * sizeof(cl_int));
  finalize(commands);
  const Event gate = make_user_event();
  std::vector<Event> events;
  for (int i = 0; i < 10; ++i) events.push_back(enqueue_observed(commands, {gate}));
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  for (const Event& event : events) ASSERT_SUCCESS(clWaitForEvents(1, event.list()));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(kCount, 40), read_all<cl_int>(copied, kCount)));
}

TEST_F(CommandBuffers, ManyEventsThatNobodyWaitsFor) {
  const Buffer buffer = make_buffer_of(std::vector<cl_int>(64, 0));
  const Kernel add = kernel("add_one");
  set_args(add, buffer);
  const CommandBuffer commands = make_commands();
  for (int i = 0; i < 3; ++i) launch(commands, add, 64);
  finalize(commands);
  std::vector<Event> events;
  for (int i = 0; i < 2000; ++i) events.push_back(enqueue_observed(commands));
  ASSERT_SUCCESS(clFinish(queue_));
  for (const Event& event : events) EXPECT_CL(CL_COMPLETE, status_of(event));
  EXPECT_TRUE(same_elements(std::vector<cl_int>(64, 6000), read_all<cl_int>(buffer, 64)));
}

}  // namespace
}  // namespace tutti::api_tests
