// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

class ClEnqueueReadBuffer : public QueueTest {
 protected:
  cl_int read(cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void* data,
              cl_uint wait_count = 0, const cl_event* wait_list = nullptr,
              cl_event* event = nullptr) {
    return clEnqueueReadBuffer(queue_, buffer, blocking, offset, size, data, wait_count, wait_list,
                               event);
  }
  cl_int write(cl_mem buffer, cl_bool blocking, size_t offset, size_t size, const void* data,
               cl_uint wait_count = 0, const cl_event* wait_list = nullptr,
               cl_event* event = nullptr) {
    return clEnqueueWriteBuffer(queue_, buffer, blocking, offset, size, data, wait_count, wait_list,
                                event);
  }
};
using ClEnqueueWriteBuffer = ClEnqueueReadBuffer;

struct Range {
  size_t offset;
  size_t size;
};

constexpr size_t kSize = 70001;
const Range kRanges[] = {{0, 1},     {0, kSize},     {kSize - 1, 1}, {1, 2},
                         {3, 5},     {7, 4096},      {4095, 4097},   {64, 64},
                         {63, 65},   {12345, 54321}, {1, kSize - 1}, {0, kSize - 1},
                         {65535, 2}, {32768, 32768}, {17, 1021}};

TEST_F(ClEnqueueReadBuffer, ReadsExactlyTheRange) {
  const std::vector<uint8_t> data = noise(kSize, 1);
  const Buffer buffer = make_buffer_of(data);
  for (const cl_bool blocking : {CL_TRUE, CL_FALSE}) {
    for (const Range& range : kRanges) {
      SCOPED_TRACE(testing::Message() << "offset " << range.offset << ", size " << range.size);
      // Guard bytes at both ends of the host memory, which is unaligned on purpose.
      constexpr size_t kGuard = 13;
      std::vector<uint8_t> host(range.size + 2 * kGuard, 0xa5);
      ASSERT_SUCCESS(read(buffer, blocking, range.offset, range.size, host.data() + kGuard));
      ASSERT_SUCCESS(clFinish(queue_));
      std::vector<uint8_t> expected(host.size(), 0xa5);
      std::copy_n(data.begin() + static_cast<ptrdiff_t>(range.offset), range.size,
                  expected.begin() + kGuard);
      ASSERT_TRUE(same_elements(expected, host));
    }
  }
}

TEST_F(ClEnqueueWriteBuffer, WritesExactlyTheRange) {
  std::vector<uint8_t> expected = noise(kSize, 2);
  const Buffer buffer = make_buffer_of(expected);
  uint32_t seed = 100;
  for (const cl_bool blocking : {CL_TRUE, CL_FALSE}) {
    for (const Range& range : kRanges) {
      SCOPED_TRACE(testing::Message() << "offset " << range.offset << ", size " << range.size);
      const std::vector<uint8_t> change = noise(range.size, ++seed);
      ASSERT_SUCCESS(write(buffer, blocking, range.offset, range.size, change.data()));
      std::copy(change.begin(), change.end(),
                expected.begin() + static_cast<ptrdiff_t>(range.offset));
      ASSERT_TRUE(same_elements(expected, read_all<uint8_t>(buffer, kSize)));
    }
  }
}

TEST_F(ClEnqueueWriteBuffer, BlockingWriteReleasesTheHostMemory) {
  std::vector<uint8_t> data = noise(40000, 3);
  const std::vector<uint8_t> expected = data;
  const Buffer buffer = make_buffer(data.size());
  ASSERT_SUCCESS(write(buffer, CL_TRUE, 0, data.size(), data.data()));
  std::fill(data.begin(), data.end(), uint8_t{0});
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(buffer, data.size())));
}

TEST_F(ClEnqueueWriteBuffer, ManySmallWritesThenOneRead) {
  std::vector<uint8_t> expected = noise(30011, 4);
  const std::vector<uint8_t> source = noise(30011, 5);
  const Buffer buffer = make_buffer_of(expected);
  // Every third piece, of growing size, not waited for
  for (size_t offset = 0, size = 1; offset + size < expected.size(); offset += 3 * size, ++size) {
    ASSERT_SUCCESS(write(buffer, CL_FALSE, offset, size, source.data() + offset));
    std::copy_n(source.begin() + static_cast<ptrdiff_t>(offset), size,
                expected.begin() + static_cast<ptrdiff_t>(offset));
  }
  EXPECT_TRUE(same_elements(expected, read_all<uint8_t>(buffer, expected.size())));
}

TEST_F(ClEnqueueReadBuffer, EventsDescribeTheCommand) {
  std::vector<uint8_t> data(64);
  const Buffer buffer = make_buffer(64);
  Event first;
  Event second;
  ASSERT_SUCCESS(write(buffer, CL_FALSE, 0, 64, data.data(), 0, nullptr, first.out()));
  ASSERT_SUCCESS(read(buffer, CL_FALSE, 0, 64, data.data(), 1, first.list(), second.out()));
  EXPECT_EQ(value_of<cl_command_type>(query_of(first, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_WRITE_BUFFER});
  EXPECT_EQ(value_of<cl_command_type>(query_of(second, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_READ_BUFFER});
  ASSERT_SUCCESS(clWaitForEvents(1, second.list()));
  EXPECT_EQ(value_of<cl_int>(query_of(first, CL_EVENT_COMMAND_EXECUTION_STATUS)), CL_COMPLETE);
  EXPECT_EQ(value_of<cl_int>(query_of(second, CL_EVENT_COMMAND_EXECUTION_STATUS)), CL_COMPLETE);
}

TEST_F(ClEnqueueReadBuffer, BlockingReadGivesACompleteEvent) {
  std::vector<uint8_t> data(64);
  const Buffer buffer = make_buffer_of(data);
  Event event;
  ASSERT_SUCCESS(read(buffer, CL_TRUE, 0, 64, data.data(), 0, nullptr, event.out()));
  EXPECT_EQ(value_of<cl_int>(query_of(event, CL_EVENT_COMMAND_EXECUTION_STATUS)), CL_COMPLETE);
}

TEST_F(ClEnqueueReadBuffer, WaitListAcrossQueues) {
  const std::vector<uint8_t> data = noise(5003, 6);
  const Buffer buffer = make_buffer(data.size());
  const Queue other = make_queue();
  Event written;
  ASSERT_SUCCESS(clEnqueueWriteBuffer(other, buffer, CL_FALSE, 0, data.size(), data.data(), 0,
                                      nullptr, written.out()));
  ASSERT_SUCCESS(clFlush(other));
  std::vector<uint8_t> host(data.size());
  ASSERT_SUCCESS(read(buffer, CL_TRUE, 0, host.size(), host.data(), 1, written.list()));
  EXPECT_TRUE(same_elements(data, host));
}

TEST_F(ClEnqueueReadBuffer, RejectsBadArguments) {
  const Buffer buffer = make_buffer(64);
  std::vector<uint8_t> data(256);
  // "CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue."
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE,
            clEnqueueReadBuffer(nullptr, buffer, CL_TRUE, 0, 1, data.data(), 0, nullptr, nullptr));
  // "CL_INVALID_MEM_OBJECT if buffer is not a valid buffer object."
  EXPECT_CL(CL_INVALID_MEM_OBJECT, read(nullptr, CL_TRUE, 0, 1, data.data()));
  // "CL_INVALID_VALUE if the region being read or written specified by (offset, size) is out of
  // bounds or if ptr is a NULL value."
  EXPECT_CL(CL_INVALID_VALUE, read(buffer, CL_TRUE, 0, 65, data.data()));
  EXPECT_CL(CL_INVALID_VALUE, read(buffer, CL_TRUE, 64, 1, data.data()));
  EXPECT_CL(CL_INVALID_VALUE, read(buffer, CL_TRUE, 65, 1, data.data()));
  EXPECT_CL(CL_INVALID_VALUE, read(buffer, CL_TRUE, 0, 64, nullptr));
  // A sum that wraps is out of bounds as well.
  EXPECT_CL(CL_INVALID_VALUE, read(buffer, CL_TRUE, 2, ~size_t{0}, data.data()));
  EXPECT_CL(CL_INVALID_VALUE, read(buffer, CL_TRUE, ~size_t{0}, 2, data.data()));
}

TEST_F(ClEnqueueWriteBuffer, RejectsBadArguments) {
  const Buffer buffer = make_buffer(64);
  std::vector<uint8_t> data(256);
  EXPECT_CL(CL_INVALID_COMMAND_QUEUE,
            clEnqueueWriteBuffer(nullptr, buffer, CL_TRUE, 0, 1, data.data(), 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, write(nullptr, CL_TRUE, 0, 1, data.data()));
  EXPECT_CL(CL_INVALID_VALUE, write(buffer, CL_TRUE, 0, 65, data.data()));
  EXPECT_CL(CL_INVALID_VALUE, write(buffer, CL_TRUE, 63, 2, data.data()));
  EXPECT_CL(CL_INVALID_VALUE, write(buffer, CL_TRUE, 0, 64, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, write(buffer, CL_TRUE, 2, ~size_t{0}, data.data()));
}

TEST_F(ClEnqueueReadBuffer, RejectsBadWaitLists) {
  // "CL_INVALID_EVENT_WAIT_LIST if event_wait_list is NULL and num_events_in_wait_list > 0, or
  // event_wait_list is not NULL and num_events_in_wait_list is 0, or if event objects in
  // event_wait_list are not valid events."
  const Buffer buffer = make_buffer(64);
  std::vector<uint8_t> data(64);
  const Event event = make_user_event();
  const cl_event none = nullptr;
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, read(buffer, CL_TRUE, 0, 64, data.data(), 1, nullptr));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, read(buffer, CL_TRUE, 0, 64, data.data(), 0, event.list()));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, read(buffer, CL_TRUE, 0, 64, data.data(), 1, &none));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, write(buffer, CL_TRUE, 0, 64, data.data(), 1, nullptr));
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, write(buffer, CL_TRUE, 0, 64, data.data(), 1, &none));
  EXPECT_SUCCESS(clSetUserEventStatus(event, CL_COMPLETE));
}

TEST_F(ClEnqueueReadBuffer, RejectsMixedContexts) {
  // "CL_INVALID_CONTEXT if the context associated with command_queue and buffer are not the same
  // or if the context associated with command_queue and events in event_wait_list are not the
  // same."
  const Context other = make_context();
  cl_int code = CL_SUCCESS;
  const Buffer foreign(clCreateBuffer(other, 0, 64, nullptr, &code));
  ASSERT_SUCCESS(code);
  const Event foreign_event(clCreateUserEvent(other, &code));
  ASSERT_SUCCESS(code);
  ASSERT_SUCCESS(clSetUserEventStatus(foreign_event, CL_COMPLETE));
  const Buffer buffer = make_buffer(64);
  std::vector<uint8_t> data(64);
  EXPECT_CL(CL_INVALID_CONTEXT, read(foreign, CL_TRUE, 0, 64, data.data()));
  EXPECT_CL(CL_INVALID_CONTEXT, write(foreign, CL_TRUE, 0, 64, data.data()));
  EXPECT_CL(CL_INVALID_CONTEXT, read(buffer, CL_TRUE, 0, 64, data.data(), 1, foreign_event.list()));
}

}  // namespace
}  // namespace tutti::api_tests
