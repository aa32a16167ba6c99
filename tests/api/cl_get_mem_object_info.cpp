// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using ClGetMemObjectInfo = QueueTest;
using ClSetMemObjectDestructorCallback = QueueTest;
using ClEnqueueMigrateMemObjects = QueueTest;

TEST_F(ClGetMemObjectInfo, PlainBuffer) {
  const Buffer buffer = make_buffer(1234, CL_MEM_READ_ONLY);
  EXPECT_EQ(value_of<cl_mem_object_type>(query_of(buffer, CL_MEM_TYPE)),
            cl_mem_object_type{CL_MEM_OBJECT_BUFFER});
  EXPECT_EQ(value_of<cl_mem_flags>(query_of(buffer, CL_MEM_FLAGS)), cl_mem_flags{CL_MEM_READ_ONLY});
  EXPECT_EQ(value_of<size_t>(query_of(buffer, CL_MEM_SIZE)), 1234u);
  EXPECT_EQ(value_of<void*>(query_of(buffer, CL_MEM_HOST_PTR)), nullptr);
  EXPECT_EQ(value_of<cl_uint>(query_of(buffer, CL_MEM_MAP_COUNT)), 0u);
  EXPECT_EQ(value_of<cl_uint>(query_of(buffer, CL_MEM_REFERENCE_COUNT)), 1u);
  EXPECT_EQ(value_of<cl_context>(query_of(buffer, CL_MEM_CONTEXT)), context_.get());
  EXPECT_EQ(value_of<cl_mem>(query_of(buffer, CL_MEM_ASSOCIATED_MEMOBJECT)), nullptr);
  EXPECT_EQ(value_of<size_t>(query_of(buffer, CL_MEM_OFFSET)), 0u);
}

TEST_F(ClGetMemObjectInfo, NewerQueries) {
  const Buffer buffer = make_buffer(64);
  if (device_version() >= 200) {
    EXPECT_EQ(value_of<cl_bool>(query_of(buffer, CL_MEM_USES_SVM_POINTER)), cl_bool{CL_FALSE});
  }
  if (device_version() >= 300) {
    // Made by clCreateBuffer: "param_value_size_ret equal to 0"
    EXPECT_TRUE(check_query(query_of(buffer, CL_MEM_PROPERTIES)).empty());
  }
}

TEST_F(ClGetMemObjectInfo, DefaultFlagsAreReadWrite) {
  // "If the value specified for flags is 0, the default is used which is CL_MEM_READ_WRITE."
  const Buffer buffer = make_buffer(64, 0);
  EXPECT_TRUE(value_of<cl_mem_flags>(query_of(buffer, CL_MEM_FLAGS)) == 0 ||
              value_of<cl_mem_flags>(query_of(buffer, CL_MEM_FLAGS)) == CL_MEM_READ_WRITE);
}

TEST_F(ClGetMemObjectInfo, HostPointer) {
  // "If memobj is created with [...] CL_MEM_USE_HOST_PTR specified in mem_flags, return the
  // host_ptr argument value specified when memobj is created. Otherwise a NULL value is returned."
  std::vector<uint8_t> memory(100);
  const Buffer use = make_buffer(100, CL_MEM_USE_HOST_PTR, memory.data());
  EXPECT_EQ(value_of<void*>(query_of(use, CL_MEM_HOST_PTR)), memory.data());
  const Buffer copy = make_buffer(100, CL_MEM_COPY_HOST_PTR, memory.data());
  EXPECT_EQ(value_of<void*>(query_of(copy, CL_MEM_HOST_PTR)), nullptr);
}

TEST_F(ClGetMemObjectInfo, ReferenceCount) {
  const Buffer buffer = make_buffer(1024);
  EXPECT_SUCCESS(clRetainMemObject(buffer));
  EXPECT_EQ(reference_count(buffer.get(), CL_MEM_REFERENCE_COUNT), 2u);
  EXPECT_SUCCESS(clReleaseMemObject(buffer));
  EXPECT_EQ(reference_count(buffer.get(), CL_MEM_REFERENCE_COUNT), 1u);
}

TEST_F(ClGetMemObjectInfo, RejectsUnknownParameter) {
  const Buffer buffer = make_buffer(64);
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetMemObjectInfo(buffer, 0xdead, 0, nullptr, &size));
}

TEST_F(ClGetMemObjectInfo, BufferIsNoImage) {
  if (!options().tutti) GTEST_SKIP() << "vendors may read the image part of a buffer";
  // "CL_INVALID_MEM_OBJECT if image is not a valid image object."
  const Buffer buffer = make_buffer(64);
  size_t size = 0;
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clGetImageInfo(buffer, CL_IMAGE_WIDTH, 0, nullptr, &size));
}

struct Call {
  std::vector<int>* order;
  int number;
  Latch* done;
};

void CL_CALLBACK record(cl_mem, void* user_data) {
  auto* call = static_cast<Call*>(user_data);
  call->order->push_back(call->number);
  call->done->count_down();
}

TEST_F(ClSetMemObjectDestructorCallback, CalledInReverseOrder) {
  std::vector<int> order;
  Latch done(3);
  Call calls[] = {{&order, 0, &done}, {&order, 1, &done}, {&order, 2, &done}};
  Buffer buffer = make_buffer(256);
  for (Call& call : calls) {
    ASSERT_SUCCESS(clSetMemObjectDestructorCallback(buffer, record, &call));
  }
  EXPECT_SUCCESS(clRetainMemObject(buffer));
  EXPECT_SUCCESS(clReleaseMemObject(buffer));
  EXPECT_TRUE(order.empty());
  buffer.reset();
  ASSERT_TRUE(done.wait());
  // "The registered callback functions are called in the reverse order in which they were
  // registered."
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
}

TEST_F(ClSetMemObjectDestructorCallback, HostMemoryMayBeFreedInIt) {
  // The use that the specification names: the application's memory is no longer needed then.
  struct Owned {
    std::vector<uint8_t> memory;
    Latch freed;
  } owned{noise(4096, 3), Latch(1)};
  Buffer buffer = make_buffer(4096, CL_MEM_USE_HOST_PTR, owned.memory.data());
  ASSERT_SUCCESS(clSetMemObjectDestructorCallback(
      buffer,
      [](cl_mem, void* data) {
        auto* all = static_cast<Owned*>(data);
        std::vector<uint8_t>().swap(all->memory);
        all->freed.count_down();
      },
      &owned));
  const cl_int zero = 0;
  EXPECT_SUCCESS(clEnqueueFillBuffer(queue_, buffer, &zero, 4, 0, 4096, 0, nullptr, nullptr));
  buffer.reset();
  EXPECT_SUCCESS(clFinish(queue_));
  EXPECT_TRUE(owned.freed.wait());
}

TEST_F(ClSetMemObjectDestructorCallback, SubBufferHasItsOwn) {
  Latch parent_done(1);
  Latch part_done(1);
  std::vector<int> order;
  Call parent_call = {&order, 1, &parent_done};
  Call part_call = {&order, 2, &part_done};
  Buffer parent = make_buffer(1024);
  Buffer part = make_sub_buffer(parent, 0, 512);
  ASSERT_SUCCESS(clSetMemObjectDestructorCallback(parent, record, &parent_call));
  ASSERT_SUCCESS(clSetMemObjectDestructorCallback(part, record, &part_call));
  // The parent lives as long as its part.
  parent.reset();
  EXPECT_TRUE(order.empty());
  part.reset();
  EXPECT_TRUE(part_done.wait());
  EXPECT_TRUE(parent_done.wait());
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
}

TEST_F(ClSetMemObjectDestructorCallback, RejectsBadArguments) {
  // "CL_INVALID_VALUE if pfn_notify is NULL"; "CL_INVALID_MEM_OBJECT if memobj is not valid"
  const Buffer buffer = make_buffer(64);
  EXPECT_CL(CL_INVALID_VALUE, clSetMemObjectDestructorCallback(buffer, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, clSetMemObjectDestructorCallback(nullptr, record, nullptr));
}

TEST_F(ClEnqueueMigrateMemObjects, KeepsTheData) {
  const std::vector<uint8_t> data = noise(4096, 8);
  const Buffer buffer = make_buffer_of(data);
  Event event;
  EXPECT_SUCCESS(clEnqueueMigrateMemObjects(queue_, 1, buffer.list(), 0, 0, nullptr, nullptr));
  EXPECT_SUCCESS(clEnqueueMigrateMemObjects(queue_, 1, buffer.list(), CL_MIGRATE_MEM_OBJECT_HOST, 0,
                                            nullptr, event.out()));
  EXPECT_EQ(value_of<cl_command_type>(query_of(event, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_MIGRATE_MEM_OBJECTS});
  EXPECT_TRUE(same_elements(data, read_all<uint8_t>(buffer, data.size())));
}

TEST_F(ClEnqueueMigrateMemObjects, RejectsBadArguments) {
  const Buffer buffer = make_buffer(64);
  // "CL_INVALID_VALUE if num_mem_objects is zero or if mem_objects is NULL"; "if flags is not 0 or
  // is not any of the values described"
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueMigrateMemObjects(queue_, 0, buffer.list(), 0, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueMigrateMemObjects(queue_, 1, nullptr, 0, 0, nullptr, nullptr));
  EXPECT_CL(CL_INVALID_VALUE,
            clEnqueueMigrateMemObjects(queue_, 1, buffer.list(), cl_mem_migration_flags{1} << 40, 0,
                                       nullptr, nullptr));
  // "CL_INVALID_MEM_OBJECT if any of the memory objects in mem_objects is not a valid memory
  // object."
  const cl_mem none = nullptr;
  EXPECT_CL(CL_INVALID_MEM_OBJECT,
            clEnqueueMigrateMemObjects(queue_, 1, &none, 0, 0, nullptr, nullptr));
  // "CL_INVALID_EVENT_WAIT_LIST if event_wait_list is NULL and num_events_in_wait_list > 0"
  EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST,
            clEnqueueMigrateMemObjects(queue_, 1, buffer.list(), 0, 1, nullptr, nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
