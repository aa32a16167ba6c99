// SPDX-License-Identifier: Apache-2.0
// Recorded launches that are updated between enqueuings: what they compute, compared with what the
// host computes, without waiting in between.
#include "mutable_commands.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "svm.h"

namespace tutti::api_tests {
namespace {

class MutableCommands : public MutableTest {
 protected:
  static constexpr size_t kCount = 4096;
  static std::vector<cl_int> all_of(cl_int value) { return std::vector<cl_int>(kCount, value); }
  /// In a context of its own, which it keeps.
  static Queue make_queue_on(cl_device_id device) {
    cl_int code = CL_SUCCESS;
    const Context context(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code));
    EXPECT_SUCCESS(code);
    Queue queue(clCreateCommandQueue(context, device, 0, &code));
    EXPECT_SUCCESS(code);
    return queue;
  }
};

TEST_F(MutableCommands, IsClaimed) {
  EXPECT_EQ(value_of<cl_bitfield>(::tutti::api_tests::query_of(device_, kMutableCapabilities)) &
                ~kUpdateAll,
            cl_bitfield{0});
  if (!options().tutti) return;
  EXPECT_EQ(value_of<cl_bitfield>(::tutti::api_tests::query_of(device_, kMutableCapabilities)),
            kUpdateAll);
}

TEST_F(MutableCommands, TellAboutThemselves) {
  const Buffer buffer = make_buffer_of(all_of(0));
  const Kernel add = kernel("add_one");
  set_args(add, buffer);
  const CommandBuffer commands = make_mutable();
  const std::vector<cl_properties> properties{kUpdatableFields, kUpdateGlobal | kUpdateOffset,
                                              kDispatchAsserts, 0, 0};
  const size_t offset[] = {1, 2}, global[] = {32, 8}, local[] = {4, 2};
  cl_mutable_command_khr sized = nullptr;
  ASSERT_SUCCESS(f_.kernel(commands, nullptr, properties.data(), add, 2, offset, global, local, 0,
                           nullptr, nullptr, &sized));
  cl_mutable_command_khr const plain = record(commands, add, 64);
  const auto told = [&](cl_uint what) { return array_of<size_t>(info_of(sized, what)); };
  for (int round = 0; round < 2; ++round) {  // while it is recorded, and finalized
    EXPECT_EQ(value_of<cl_command_queue>(info_of(sized, kOfQueue)), queue_.get());
    EXPECT_EQ(value_of<cl_command_buffer_khr>(info_of(sized, kOfCommandBuffer)), commands.get());
    EXPECT_EQ(value_of<cl_command_type>(info_of(sized, kOfType)),
              cl_command_type{CL_COMMAND_NDRANGE_KERNEL});
    EXPECT_EQ(array_of<cl_properties>(info_of(sized, kOfProperties)), properties);
    EXPECT_TRUE(check_query(info_of(plain, kOfProperties)).empty());
    EXPECT_EQ(value_of<cl_kernel>(info_of(sized, kOfKernel)), add.get());
    EXPECT_EQ(value_of<cl_uint>(info_of(sized, kOfDimensions)), 2u);
    EXPECT_EQ(told(kOfOffset), (std::vector<size_t>{1, 2}));
    EXPECT_EQ(told(kOfGlobal), (std::vector<size_t>{32, 8}));
    EXPECT_EQ(told(kOfLocal), (std::vector<size_t>{4, 2}));
    EXPECT_EQ(array_of<size_t>(info_of(plain, kOfOffset)), std::vector<size_t>{0});
    EXPECT_EQ(array_of<size_t>(info_of(plain, kOfLocal)), std::vector<size_t>{0});
    if (round == 0) finalize(commands);
  }
  ASSERT_SUCCESS(update(commands, Change(sized).global({64, 4}).dims(2)));
  EXPECT_EQ(told(kOfGlobal), (std::vector<size_t>{64, 4}));
  EXPECT_EQ(told(kOfOffset), (std::vector<size_t>{1, 2}));
  ASSERT_SUCCESS(update(commands, Change(sized).offset({0, 7})));
  EXPECT_EQ(told(kOfOffset), (std::vector<size_t>{0, 7}));
  ASSERT_SUCCESS(update(commands, Change(plain).local({16})));
  EXPECT_EQ(array_of<size_t>(info_of(plain, kOfLocal)), std::vector<size_t>{16});
  EXPECT_CL(CL_INVALID_VALUE, m_.info(plain, CL_QUEUE_CONTEXT, 0, nullptr, nullptr));
}

TEST_F(MutableCommands, NumbersChangeBetweenEnqueuings) {
  for (const size_t size : {size_t{16}, kCount}) {  // small launches may repeat others
    const Buffer buffer = make_buffer_of(all_of(0));
    const Kernel add = kernel("add_scalar");
    const CommandBuffer commands = make_mutable();
    set_args(add, buffer, cl_int{1});
    cl_mutable_command_khr const first = record(commands, add, size);
    set_args(add, buffer, cl_int{2});
    cl_mutable_command_khr const second = record(commands, add, size);
    launch(commands, add, size);  // without a handle
    finalize(commands);
    std::mt19937 random(1);
    cl_int sum = 0, a = 1, b = 2;
    for (int round = 0; round < 300; ++round) {
      if (random() % 3 != 0) {
        a = static_cast<cl_int>(random() % 1000);
        ASSERT_SUCCESS(update(commands, Change(first).arg(1, a)));
      }
      if (random() % 3 == 0) {
        b = static_cast<cl_int>(random() % 1000);
        ASSERT_SUCCESS(update(commands, Change(second).arg(1, b)));
      }
      enqueue(commands);
      sum += a + b + 2;
    }
    EXPECT_TRUE(same_elements(std::vector<cl_int>(size, sum), read_all<cl_int>(buffer, size)));
  }
}

TEST_F(MutableCommands, BuffersChangeBetweenEnqueuings) {
  constexpr size_t kBuffers = 4;
  std::vector<std::vector<cl_int>> expected;
  std::vector<Buffer> buffers;
  for (uint32_t i = 0; i < kBuffers; ++i) {
    expected.push_back(noise_of<cl_int>(kCount, i));
    buffers.push_back(make_buffer_of(expected.back()));
  }
  const Kernel copy = kernel("copy_ints"), add = kernel("add_scalar");
  const CommandBuffer commands = make_mutable();
  set_args(copy, buffers[0], buffers[1]);
  cl_mutable_command_khr const copying = record(commands, copy, kCount);
  set_args(add, buffers[0], cl_int{5});
  cl_mutable_command_khr const adding = record(commands, add, kCount);
  finalize(commands);
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const size_t from = random() % kBuffers, to = (from + 1 + random() % 3) % kBuffers;
    const size_t changed = random() % kBuffers;
    Change copied(copying), added(adding);
    copied.arg(0, buffers[from]).arg(1, buffers[to]);
    added.arg(0, buffers[changed]);
    ASSERT_SUCCESS(update(commands, {&copied, &added}));
    enqueue(commands);
    expected[to] = expected[from];
    for (cl_int& value : expected[changed]) value = static_cast<cl_int>(cl_uint(value) + 5u);
  }
  for (size_t i = 0; i < kBuffers; ++i) {
    EXPECT_TRUE(same_elements(expected[i], read_all<cl_int>(buffers[i], kCount))) << i;
  }
}

TEST_F(MutableCommands, LocalSizesAndLocalMemoryChange) {
  const auto data = noise_of<cl_int>(kCount, 3);
  const Buffer in = make_buffer_of(data), out = make_buffer_of(all_of(0));
  const Kernel reverse = kernel("reverse_in_group");
  size_t local = 16;
  set_args(reverse, in, out, LocalBytes{local * sizeof(cl_int)});
  const CommandBuffer commands = make_mutable();
  cl_mutable_command_khr const command = record(commands, reverse, kCount, {}, &local);
  finalize(commands);
  size_t most = 0;
  ASSERT_SUCCESS(clGetKernelWorkGroupInfo(reverse, device_, CL_KERNEL_WORK_GROUP_SIZE, sizeof most,
                                          &most, nullptr));
  for (const size_t size : {size_t{16}, size_t{4}, size_t{64}, size_t{1}, size_t{32}}) {
    if (size > most) continue;
    ASSERT_SUCCESS(
        update(commands, Change(command).arg(2, LocalBytes{size * sizeof(cl_int)}).local({size})));
    enqueue(commands);
    std::vector<cl_int> expected(kCount);
    for (size_t i = 0; i < kCount; ++i) expected[i] = data[i / size * size + size - 1 - i % size];
    EXPECT_TRUE(same_elements(expected, read_all<cl_int>(out, kCount))) << size;
  }
}

TEST_F(MutableCommands, RangesChangeAndMayBecomeEmpty) {
  std::vector<cl_int> expected(kCount, 0);
  const Buffer buffer = make_buffer_of(expected);
  const Kernel add = kernel("add_one");
  set_args(add, buffer);
  const CommandBuffer commands = make_mutable();
  cl_mutable_command_khr const begins_empty = record(commands, add, 0);
  cl_mutable_command_khr const begins_full = record(commands, add, kCount);
  finalize(commands);
  std::mt19937 random(4);
  struct Range {
    size_t offset, size;
  };
  Range ranges[] = {{0, 0}, {0, kCount}};
  cl_mutable_command_khr const handles[] = {begins_empty, begins_full};
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 2; ++i) {
      if (random() % 2 == 0) continue;
      ranges[i].offset = random() % (kCount / 2);
      // Few sizes, since some vendors compile for each work-group size that they choose.
      ranges[i].size = random() % 4 * (kCount / 8);
      ASSERT_SUCCESS(
          update(commands, Change(handles[i]).offset({ranges[i].offset}).global({ranges[i].size})));
    }
    const Event event = round % 3 == 0 ? enqueue_observed(commands) : Event();
    if (!event) enqueue(commands);
    for (const Range& range : ranges) {
      for (size_t j = 0; j < range.size; ++j) ++expected[range.offset + j];
    }
  }
  EXPECT_TRUE(same_elements(expected, read_all<cl_int>(buffer, kCount)));
}

TEST_F(MutableCommands, ManyInOneCall) {
  constexpr size_t kCommands = 20;
  std::vector<Buffer> buffers;
  const Kernel add = kernel("add_scalar");
  const CommandBuffer commands = make_mutable();
  std::vector<cl_mutable_command_khr> handles;
  for (size_t i = 0; i < kCommands; ++i) {
    buffers.push_back(make_buffer_of(all_of(0)));
    set_args(add, buffers.back(), cl_int{0});
    handles.push_back(record(commands, add, kCount));
  }
  finalize(commands);
  for (cl_int round = 1; round <= 10; ++round) {
    std::vector<std::unique_ptr<Change>> changes;
    std::vector<const void*> configs;
    for (size_t i = 0; i < kCommands; ++i) {
      changes.push_back(std::make_unique<Change>(handles[i]));
      changes.back()->arg(1, static_cast<cl_int>(i) * round);
      configs.push_back(&changes.back()->raw());
    }
    const std::vector<cl_uint> types(kCommands, 0);
    ASSERT_SUCCESS(m_.update(commands, kCommands, types.data(), configs.data()));
    enqueue(commands);
  }
  for (size_t i = 0; i < kCommands; ++i) {
    EXPECT_TRUE(
        same_elements(all_of(static_cast<cl_int>(i) * 55), read_all<cl_int>(buffers[i], kCount)));
  }
}

TEST_F(MutableCommands, TheSameTwiceInOneCall) {
  const Buffer a = make_buffer_of(all_of(0)), b = make_buffer_of(all_of(0));
  const Kernel add = kernel("add_scalar");
  set_args(add, a, cl_int{1});
  const CommandBuffer commands = make_mutable();
  cl_mutable_command_khr const command = record(commands, add, kCount);
  finalize(commands);
  Change first(command), second(command);
  first.arg(0, b).arg(1, cl_int{7}).global({kCount / 2});
  second.arg(1, cl_int{9});
  ASSERT_SUCCESS(update(commands, {&first, &second}));
  enqueue(commands);
  std::vector<cl_int> expected = all_of(0);
  std::fill_n(expected.begin(), kCount / 2, 9);
  EXPECT_TRUE(same_elements(expected, read_all<cl_int>(b, kCount)));
  EXPECT_TRUE(same_elements(all_of(0), read_all<cl_int>(a, kCount)));
}

TEST_F(MutableCommands, AllOrNothing) {
  const Buffer buffer = make_buffer_of(all_of(0));
  const Kernel add = kernel("add_scalar");
  set_args(add, buffer, cl_int{3});
  const CommandBuffer commands = make_mutable();
  cl_mutable_command_khr const first = record(commands, add, kCount);
  cl_mutable_command_khr const second = record(commands, add, kCount);
  finalize(commands);
  Change good(first), bad(second);
  good.arg(1, cl_int{100}).global({kCount / 2});
  bad.arg(1, cl_int{100}).arg(2, cl_int{1});
  EXPECT_CL(CL_INVALID_ARG_INDEX, update(commands, {&good, &bad}));
  EXPECT_EQ(array_of<size_t>(info_of(first, kOfGlobal)), std::vector<size_t>{kCount});
  enqueue(commands);
  EXPECT_TRUE(same_elements(all_of(6), read_all<cl_int>(buffer, kCount)));
  ASSERT_SUCCESS(update(commands, Change(second).arg(1, cl_int{4})));
  enqueue(commands);
  EXPECT_TRUE(same_elements(all_of(13), read_all<cl_int>(buffer, kCount)));
}

TEST_F(MutableCommands, ArgumentsMayBeSetLater) {
  const Buffer buffer = make_buffer_of(all_of(0));
  const Kernel add = kernel("add_scalar");
  const CommandBuffer commands = make_mutable();
  const std::vector<cl_properties> properties{kUpdatableFields, kUpdateArguments, 0};
  cl_mutable_command_khr const command = record(commands, add, kCount, properties);
  EXPECT_EQ(state_of(commands), cl_command_buffer_state_khr{CL_COMMAND_BUFFER_STATE_RECORDING_KHR});
  finalize(commands);
  const auto refused = [&] {
    EXPECT_EQ(state_of(commands), kFinalizedState);
    EXPECT_CL(CL_INVALID_OPERATION, f_.enqueue(0, nullptr, commands, 0, nullptr, nullptr));
  };
  refused();
  EXPECT_CL(CL_INVALID_OPERATION, f_.finalize(commands));
  ASSERT_SUCCESS(update(commands, Change(command).arg(1, cl_int{4})));
  refused();
  // Those of the application's kernel have nothing to do with it.
  set_args(add, buffer, cl_int{1000});
  refused();
  ASSERT_SUCCESS(update(commands, Change(command).arg(0, buffer)));
  EXPECT_EQ(state_of(commands),
            cl_command_buffer_state_khr{CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR});
  enqueue(commands);
  EXPECT_TRUE(same_elements(all_of(4), read_all<cl_int>(buffer, kCount)));
}

TEST_F(MutableCommands, TheKernelAndItsCommandsAreApart) {
  const Buffer buffer = make_buffer_of(all_of(0));
  const Kernel add = kernel("add_scalar");
  set_args(add, buffer, cl_int{1});
  const CommandBuffer commands = make_mutable(), others = make_mutable();
  cl_mutable_command_khr const command = record(commands, add, kCount);
  record(others, add, kCount);
  finalize(commands);
  finalize(others);
  set_args(add, buffer, cl_int{10});
  cl_int sum = 0;
  for (cl_int round = 1; round <= 50; ++round) {
    ASSERT_SUCCESS(update(commands, Change(command).arg(1, 100 * round)));
    enqueue(commands);
    ASSERT_SUCCESS(launch(add, kCount));
    enqueue(others);
    sum += 100 * round + 10 + 1;
  }
  EXPECT_TRUE(same_elements(all_of(sum), read_all<cl_int>(buffer, kCount)));
}

TEST_F(MutableCommands, WhatIsInFlightStaysAsItWas) {
  const Buffer a = make_buffer_of(all_of(0)), b = make_buffer_of(all_of(0));
  const Kernel add = kernel("add_scalar");
  set_args(add, a, cl_int{1});
  const CommandBuffer commands = make_mutable();
  cl_mutable_command_khr const command = record(commands, add, kCount);
  finalize(commands);
  const Event gate = make_user_event();
  const Event held = enqueue_observed(commands, {gate});
  ASSERT_SUCCESS(update(commands, Change(command).arg(0, b).arg(1, cl_int{20})));
  enqueue(commands);
  ASSERT_SUCCESS(update(commands, Change(command).global({kCount / 2}).arg(1, cl_int{300})));
  const Event last = enqueue_observed(commands);
  ASSERT_SUCCESS(clSetUserEventStatus(gate, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, last.list()));
  std::vector<cl_int> expected = all_of(20);
  std::fill_n(expected.begin(), kCount / 2, 320);
  EXPECT_TRUE(same_elements(all_of(1), read_all<cl_int>(a, kCount)));
  EXPECT_TRUE(same_elements(expected, read_all<cl_int>(b, kCount)));
}

TEST_F(MutableCommands, InAnUnorderedQueue) {
  if (!device_supports_out_of_order()) GTEST_SKIP() << "no out-of-order queues";
  const Queue unordered = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const Buffer buffer = make_buffer_of(std::vector<cl_uint>(kCount, 1));
  const Kernel times_plus = kernel("times_plus");
  set_args(times_plus, buffer, cl_uint{3}, cl_uint{1});
  const CommandBuffer commands = make_mutable(unordered);
  const size_t global = kCount;
  cl_sync_point_khr point = 0;
  cl_mutable_command_khr handles[2] = {};
  ASSERT_SUCCESS(f_.kernel(commands, nullptr, nullptr, times_plus, 1, nullptr, &global, nullptr, 0,
                           nullptr, &point, &handles[0]));
  ASSERT_SUCCESS(f_.kernel(commands, nullptr, nullptr, times_plus, 1, nullptr, &global, nullptr, 1,
                           &point, nullptr, &handles[1]));
  finalize(commands);
  cl_uint expected = 1;
  Event before;
  for (cl_uint round = 0; round < 60; ++round) {
    const cl_uint term = round * 7, size = round % 5 == 4 ? 0 : kCount;
    Change first(handles[0]), second(handles[1]);
    first.arg(2, term).global({size});
    second.arg(1, round);
    ASSERT_SUCCESS(update(commands, {&first, &second}));
    std::vector<cl_event> waits;
    if (before) waits.push_back(before);
    before = enqueue_observed(commands, waits);
    if (size != 0) expected = expected * 3 + term;
    expected = expected * round + 1;
  }
  ASSERT_SUCCESS(clWaitForEvents(1, before.list()));
  EXPECT_TRUE(
      same_elements(std::vector<cl_uint>(kCount, expected), read_all<cl_uint>(buffer, kCount)));
}

TEST_F(MutableCommands, LetGoOfWhatAnUpdateReplaces) {
  Buffer old = make_buffer_of(all_of(0));
  const Buffer buffer = make_buffer_of(all_of(0));
  Latch gone;
  ASSERT_SUCCESS(clSetMemObjectDestructorCallback(
      old, [](cl_mem, void* latch) { static_cast<Latch*>(latch)->count_down(); }, &gone));
  const Kernel add = kernel("add_one");
  set_args(add, old);
  const CommandBuffer commands = make_mutable();
  cl_mutable_command_khr const command = record(commands, add, kCount);
  finalize(commands);
  EXPECT_EQ(reference_count(old.get(), CL_MEM_REFERENCE_COUNT), 1u);
  enqueue(commands);
  ASSERT_SUCCESS(update(commands, Change(command).arg(0, buffer)));
  EXPECT_EQ(reference_count(buffer.get(), CL_MEM_REFERENCE_COUNT), 1u);
  set_args(add, buffer);
  old.reset();
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_TRUE(gone.wait());
  enqueue(commands);
  EXPECT_TRUE(same_elements(all_of(1), read_all<cl_int>(buffer, kCount)));
}

TEST_F(MutableCommands, KeepWhatTheApplicationReleases) {
  if (!options().tutti) GTEST_SKIP() << "the specification leaves it undefined";
  const auto first = noise_of<cl_int>(kCount, 5), second = noise_of<cl_int>(kCount, 6);
  Buffer a = make_buffer_of(first), b = make_buffer_of(second);
  const Buffer out = make_buffer_of(all_of(0));
  Kernel copy = kernel("copy_ints");
  set_args(copy, a, out);
  const CommandBuffer commands = make_mutable();
  cl_mutable_command_khr const command = record(commands, copy, kCount);
  finalize(commands);
  copy.reset();
  a.reset();
  ASSERT_SUCCESS(update(commands, Change(command).offset({0})));
  enqueue(commands);
  EXPECT_TRUE(same_elements(first, read_all<cl_int>(out, kCount)));
  ASSERT_SUCCESS(update(commands, Change(command).arg(0, b)));
  b.reset();
  ASSERT_SUCCESS(update(commands, Change(command).offset({0})));
  enqueue(commands);
  EXPECT_TRUE(same_elements(second, read_all<cl_int>(out, kCount)));
}

TEST_F(MutableCommands, UpdatedAndEnqueuedByDifferentThreads) {
  constexpr cl_int kRounds = 200, kBig = 1000;
  const Buffer buffer = make_buffer_of(all_of(0));
  const Kernel add = kernel("add_scalar");
  set_args(add, buffer, cl_int{1});
  const CommandBuffer commands = make_mutable();
  cl_mutable_command_khr const command = record(commands, add, kCount);
  finalize(commands);
  std::atomic<bool> done{false};
  std::atomic<cl_int> failures{0};
  const auto updater = [&](cl_int value) {
    while (!done) {
      Change change(command);
      if (update(commands, change.arg(1, value)) != CL_SUCCESS) ++failures;
    }
  };
  std::thread first(updater, 1), second(updater, kBig);
  for (cl_int round = 0; round < kRounds; ++round) enqueue(commands);
  EXPECT_SUCCESS(clFinish(queue_));
  done = true;
  first.join();
  second.join();
  EXPECT_EQ(failures, 0);
  const auto result = read_all<cl_int>(buffer, kCount);
  EXPECT_EQ(result[0] / kBig + result[0] % kBig, kRounds);
  EXPECT_TRUE(same_elements(all_of(result[0]), result));
}

TEST_F(MutableCommands, OnASubDevice) {
  const cl_device_partition_property one_unit[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  cl_uint count = 0;
  if (clCreateSubDevices(device_, one_unit, 0, nullptr, &count) != CL_SUCCESS) {
    GTEST_SKIP() << "the device has no such parts";
  }
  std::vector<cl_device_id> handles(count);
  ASSERT_SUCCESS(clCreateSubDevices(device_, one_unit, count, handles.data(), nullptr));
  std::vector<Handle<cl_device_id, clReleaseDevice>> parts;
  for (cl_device_id const handle : handles) parts.emplace_back(handle);
  const Queue queue = make_queue_on(parts.back());
  ASSERT_NE(queue.get(), nullptr);
  cl_context context = nullptr;
  ASSERT_SUCCESS(
      clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl_context), &context, nullptr));
  const char* text = common_source().c_str();
  cl_int code = CL_SUCCESS;
  const Program program(clCreateProgramWithSource(context, 1, &text, nullptr, &code));
  ASSERT_SUCCESS(code);
  ASSERT_SUCCESS(clBuildProgram(program, 0, nullptr, "", nullptr, nullptr));
  const Kernel add = make_kernel(program, "add_scalar");
  std::vector<cl_int> zeros = all_of(0), seen = all_of(-1);
  const Buffer buffer(clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                     kCount * sizeof(cl_int), zeros.data(), &code));
  ASSERT_SUCCESS(code);
  set_args(add, buffer, cl_int{0});
  const CommandBuffer commands = make_mutable(queue);
  cl_mutable_command_khr const command = record(commands, add, kCount);
  EXPECT_EQ(value_of<cl_command_queue>(info_of(command, kOfQueue)), queue.get());
  finalize(commands);
  for (cl_int round = 1; round <= 20; ++round) {
    ASSERT_SUCCESS(update(commands, Change(command).arg(1, round)));
    enqueue(commands);
  }
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, kCount * sizeof(cl_int),
                                     seen.data(), 0, nullptr, nullptr));
  EXPECT_TRUE(same_elements(all_of(210), seen));
}

TEST_F(MutableCommands, SharedPointersChange) {
  if (device_version() < 200 || value_of<cl_device_svm_capabilities>(::tutti::api_tests::query_of(
                                    device_, CL_DEVICE_SVM_CAPABILITIES)) == 0) {
    GTEST_SKIP() << "no shared virtual memory";
  }
  Shared<cl_int> a(context_, kCount), b(context_, kCount);
  const cl_int zero = 0;
  for (const auto* shared : {&a, &b}) {
    ASSERT_SUCCESS(clEnqueueSVMMemFill(queue_, shared->get(), &zero, sizeof zero, shared->bytes(),
                                       0, nullptr, nullptr));
  }
  const Kernel add = kernel("add_scalar");
  ASSERT_SUCCESS(clSetKernelArgSVMPointer(add, 0, a.get()));
  ASSERT_SUCCESS(set_arg(add, 1, cl_int{1}));
  const CommandBuffer commands = make_mutable();
  cl_mutable_command_khr const command = record(commands, add, kCount);
  finalize(commands);
  for (cl_int round = 0; round < 20; ++round) {
    Change change(command);
    change.svm(0, round % 2 == 0 ? b.get() : a.get()).arg(1, round);
    void* reached[] = {a.get(), b.get()};
    change.exec_info(CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof reached, reached);
    ASSERT_SUCCESS(update(commands, change));
    enqueue(commands);
  }
  const auto load = [&](const Shared<cl_int>& shared) {
    std::vector<cl_int> data(kCount);
    EXPECT_SUCCESS(clEnqueueSVMMemcpy(queue_, CL_TRUE, data.data(), shared.get(), shared.bytes(), 0,
                                      nullptr, nullptr));
    return data;
  };
  EXPECT_TRUE(same_elements(all_of(1 + 3 + 5 + 7 + 9 + 11 + 13 + 15 + 17 + 19), load(a)));
  EXPECT_TRUE(same_elements(all_of(2 + 4 + 6 + 8 + 10 + 12 + 14 + 16 + 18), load(b)));
}

}  // namespace
}  // namespace tutti::api_tests
