// SPDX-License-Identifier: Apache-2.0
// cl_khr_semaphore and cl_khr_external_semaphore: what orders commands across queues, and handles.
#include <CL/cl_ext.h>
#include <unistd.h>

#include <algorithm>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

// As headers of 2024 have it.
constexpr cl_semaphore_properties_khr kDeviceList = 0x2053;  // CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR
constexpr cl_semaphore_properties_khr kBinary[] = {CL_SEMAPHORE_TYPE_KHR,
                                                   CL_SEMAPHORE_TYPE_BINARY_KHR, 0};
constexpr size_t kSemaphoreItems = 1 << 16;

class Semaphores : public KernelTest {
 protected:
  using Properties = std::vector<cl_semaphore_properties_khr>;

  void SetUp() override {
    KernelTest::SetUp();
    if (HasFatalFailure()) return;
    if (!claims("cl_khr_semaphore")) GTEST_SKIP() << "no semaphores";
    find(create_, "clCreateSemaphoreWithPropertiesKHR");
    find(retain_, "clRetainSemaphoreKHR");
    find(release_, "clReleaseSemaphoreKHR");
    find(info_, "clGetSemaphoreInfoKHR");
    find(wait_, "clEnqueueWaitSemaphoresKHR");
    find(signal_, "clEnqueueSignalSemaphoresKHR");
    if (claims("cl_khr_external_semaphore")) find(handle_, "clGetSemaphoreHandleForTypeKHR");
  }
  void TearDown() override {
    for (cl_semaphore_khr semaphore : made_) {
      EXPECT_SUCCESS(release_(semaphore));
    }
    KernelTest::TearDown();
  }

  bool claims(const std::string& name) const {
    const std::string list = " " + string_of(query_of(device_, CL_DEVICE_EXTENSIONS)) + " ";
    return list.find(" " + name + " ") != std::string::npos;
  }
  template <typename Function>
  void find(Function& function, const char* name) const {
    function =
        reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(platform_, name));
    ASSERT_NE(function, nullptr) << name;
  }
  cl_semaphore_khr make(const cl_semaphore_properties_khr* properties = kBinary) {
    cl_int code = CL_SUCCESS;
    cl_semaphore_khr semaphore = create_(context_, properties, &code);
    EXPECT_SUCCESS(code);
    if (semaphore != nullptr) made_.push_back(semaphore);
    return semaphore;
  }
  void expect_none(cl_int expected, const Properties& properties) const {
    cl_int code = CL_SUCCESS;
    EXPECT_EQ(create_(context_, properties.empty() ? nullptr : properties.data(), &code), nullptr);
    EXPECT_CL(expected, code);
  }
  Query asked(cl_semaphore_khr semaphore, cl_semaphore_info_khr name) const {
    return [=, this](size_t size, void* value, size_t* size_ret) {
      return info_(semaphore, name, size, value, size_ret);
    };
  }
  cl_semaphore_payload_khr payload(cl_semaphore_khr semaphore) const {
    return value_of<cl_semaphore_payload_khr>(asked(semaphore, CL_SEMAPHORE_PAYLOAD_KHR));
  }
  void signal(cl_command_queue queue, cl_semaphore_khr semaphore, cl_event* event = nullptr) const {
    ASSERT_SUCCESS(signal_(queue, 1, &semaphore, nullptr, 0, nullptr, event));
  }
  void wait(cl_command_queue queue, cl_semaphore_khr semaphore, cl_event* event = nullptr) const {
    ASSERT_SUCCESS(wait_(queue, 1, &semaphore, nullptr, 0, nullptr, event));
  }
  cl_int status(cl_event event) const {
    return value_of<cl_int>(query_of(event, CL_EVENT_COMMAND_EXECUTION_STATUS));
  }
  void fill(cl_command_queue queue, cl_mem buffer, cl_int value) const {
    ASSERT_SUCCESS(clEnqueueFillBuffer(queue, buffer, &value, sizeof value, 0,
                                       kSemaphoreItems * sizeof value, 0, nullptr, nullptr));
  }
  void expect_all(cl_mem buffer, cl_int value) const {
    EXPECT_TRUE(same_elements(std::vector<cl_int>(kSemaphoreItems, value),
                              read_all<cl_int>(buffer, kSemaphoreItems)));
  }

  clCreateSemaphoreWithPropertiesKHR_fn create_ = nullptr;
  clRetainSemaphoreKHR_fn retain_ = nullptr;
  clReleaseSemaphoreKHR_fn release_ = nullptr;
  clGetSemaphoreInfoKHR_fn info_ = nullptr;
  clEnqueueWaitSemaphoresKHR_fn wait_ = nullptr;
  clEnqueueSignalSemaphoresKHR_fn signal_ = nullptr;
  clGetSemaphoreHandleForTypeKHR_fn handle_ = nullptr;
  std::vector<cl_semaphore_khr> made_;
};

TEST_F(Semaphores, Queries) {
  EXPECT_EQ(array_of<cl_semaphore_type_khr>(query_of(device_, CL_DEVICE_SEMAPHORE_TYPES_KHR)),
            std::vector<cl_semaphore_type_khr>{CL_SEMAPHORE_TYPE_BINARY_KHR});
  EXPECT_EQ(array_of<cl_semaphore_type_khr>(query_of(platform_, CL_PLATFORM_SEMAPHORE_TYPES_KHR)),
            std::vector<cl_semaphore_type_khr>{CL_SEMAPHORE_TYPE_BINARY_KHR});
  cl_semaphore_khr semaphore = make();
  ASSERT_NE(semaphore, nullptr);
  EXPECT_EQ(value_of<cl_context>(asked(semaphore, CL_SEMAPHORE_CONTEXT_KHR)), context_.get());
  EXPECT_EQ(value_of<cl_uint>(asked(semaphore, CL_SEMAPHORE_REFERENCE_COUNT_KHR)), 1u);
  EXPECT_SUCCESS(retain_(semaphore));
  EXPECT_EQ(value_of<cl_uint>(asked(semaphore, CL_SEMAPHORE_REFERENCE_COUNT_KHR)), 2u);
  EXPECT_SUCCESS(release_(semaphore));
  EXPECT_EQ(value_of<cl_semaphore_type_khr>(asked(semaphore, CL_SEMAPHORE_TYPE_KHR)),
            cl_semaphore_type_khr{CL_SEMAPHORE_TYPE_BINARY_KHR});
  EXPECT_EQ(array_of<cl_semaphore_properties_khr>(asked(semaphore, CL_SEMAPHORE_PROPERTIES_KHR)),
            Properties(std::begin(kBinary), std::end(kBinary)));
  EXPECT_EQ(array_of<cl_device_id>(asked(semaphore, kDeviceList)),
            std::vector<cl_device_id>{device_});
  EXPECT_EQ(payload(semaphore), 0u);
  signal(queue_, semaphore);
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_EQ(payload(semaphore), 1u);
  wait(queue_, semaphore);
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_EQ(payload(semaphore), 0u);
}

TEST_F(Semaphores, AreMadeOfValidProperties) {
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(create_(nullptr, kBinary, &code), nullptr);
  EXPECT_CL(CL_INVALID_CONTEXT, code);
  const auto device =
      static_cast<cl_semaphore_properties_khr>(reinterpret_cast<uintptr_t>(device_));
  const Properties binary{CL_SEMAPHORE_TYPE_KHR, CL_SEMAPHORE_TYPE_BINARY_KHR};
  const auto with = [&](Properties more) {
    more.insert(more.begin(), binary.begin(), binary.end());
    more.push_back(0);
    return more;
  };
  expect_none(CL_INVALID_VALUE, {});
  expect_none(CL_INVALID_VALUE, {0});
  expect_none(CL_INVALID_PROPERTY, {CL_SEMAPHORE_TYPE_KHR, 77, 0});
  expect_none(CL_INVALID_PROPERTY, with({0x7777, 1}));
  expect_none(CL_INVALID_PROPERTY, with({CL_SEMAPHORE_TYPE_KHR, CL_SEMAPHORE_TYPE_BINARY_KHR}));
  expect_none(CL_INVALID_DEVICE, with({kDeviceList, 0}));
  expect_none(CL_INVALID_DEVICE, with({kDeviceList, device, device, 0}));
  EXPECT_NE(make(with({kDeviceList, device, 0}).data()), nullptr);
}

TEST_F(Semaphores, CommandsTakeValidArguments) {
  cl_semaphore_khr semaphore = make();
  cl_semaphore_khr none = nullptr;
  cl_int code = CL_SUCCESS;
  const Context other(clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  const Queue others(clCreateCommandQueue(other, device_, 0, &code));
  ASSERT_SUCCESS(code);
  const Event failed(clCreateUserEvent(context_, &code));
  ASSERT_SUCCESS(clSetUserEventStatus(failed, -1));
  for (const auto command : {wait_, signal_}) {
    EXPECT_CL(CL_INVALID_COMMAND_QUEUE,
              command(nullptr, 1, &semaphore, nullptr, 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_VALUE, command(queue_, 0, &semaphore, nullptr, 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_VALUE, command(queue_, 1, nullptr, nullptr, 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_SEMAPHORE_KHR, command(queue_, 1, &none, nullptr, 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_CONTEXT, command(others, 1, &semaphore, nullptr, 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST,
              command(queue_, 1, &semaphore, nullptr, 1, nullptr, nullptr));
    EXPECT_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
              command(queue_, 1, &semaphore, nullptr, 1, failed.list(), nullptr));
  }
  EXPECT_CL(CL_INVALID_SEMAPHORE_KHR, retain_(nullptr));
  EXPECT_CL(CL_INVALID_SEMAPHORE_KHR, release_(nullptr));
  size_t size = 0;
  EXPECT_CL(CL_INVALID_SEMAPHORE_KHR, info_(nullptr, CL_SEMAPHORE_TYPE_KHR, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_VALUE, info_(semaphore, 0x7777, 0, nullptr, &size));
}

// In order and out of order: what the one queue writes, the other one reads.
TEST_F(Semaphores, OrderQueues) {
  const Kernel add = kernel("add_one");
  for (const cl_command_queue_properties properties :
       {cl_command_queue_properties{0},
        cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
    const Queue producer = make_queue(properties), consumer = make_queue(properties);
    const Buffer data = make_buffer(kSemaphoreItems * sizeof(cl_int));
    set_args(add, data);
    cl_semaphore_khr full = make(), empty = make();
    signal(consumer, empty);
    for (cl_int round = 0; round < 20; ++round) {
      wait(producer, empty);
      ASSERT_SUCCESS(clEnqueueBarrierWithWaitList(producer, 0, nullptr, nullptr));
      fill(producer, data, round);
      ASSERT_SUCCESS(clEnqueueBarrierWithWaitList(producer, 0, nullptr, nullptr));
      signal(producer, full);
      wait(consumer, full);
      ASSERT_SUCCESS(clEnqueueBarrierWithWaitList(consumer, 0, nullptr, nullptr));
      const size_t size = kSemaphoreItems;
      ASSERT_SUCCESS(
          clEnqueueNDRangeKernel(consumer, add, 1, nullptr, &size, nullptr, 0, nullptr, nullptr));
      ASSERT_SUCCESS(clEnqueueBarrierWithWaitList(consumer, 0, nullptr, nullptr));
      signal(consumer, empty);
    }
    ASSERT_SUCCESS(clFinish(consumer));
    expect_all(data, 20);
  }
}

// A wait may be enqueued first, and so may what comes after it: nothing of that begins before.
TEST_F(Semaphores, WaitBeforeSignal) {
  const Queue early = make_queue(), late = make_queue();
  const Buffer data = make_buffer(kSemaphoreItems * sizeof(cl_int));
  const Kernel add = kernel("add_one");
  set_args(add, data);
  cl_semaphore_khr semaphore = make();
  Event waited, added;
  wait(early, semaphore, waited.out());
  const size_t size = kSemaphoreItems;
  ASSERT_SUCCESS(
      clEnqueueNDRangeKernel(early, add, 1, nullptr, &size, nullptr, 0, nullptr, added.out()));
  ASSERT_SUCCESS(clFlush(early));
  EXPECT_GT(status(waited), CL_COMPLETE);
  EXPECT_GT(status(added), CL_COMPLETE);
  fill(late, data, 41);
  signal(late, semaphore);
  ASSERT_SUCCESS(clWaitForEvents(1, added.list()));
  expect_all(data, 42);
  EXPECT_EQ(value_of<cl_command_type>(query_of(waited, CL_EVENT_COMMAND_TYPE)),
            cl_command_type{CL_COMMAND_SEMAPHORE_WAIT_KHR});
}

TEST_F(Semaphores, SignalsWaitForEvents) {
  cl_int code = CL_SUCCESS;
  const Event user(clCreateUserEvent(context_, &code));
  ASSERT_SUCCESS(code);
  cl_semaphore_khr semaphore = make();
  Event signalled, waited;
  const Queue other = make_queue();
  ASSERT_SUCCESS(signal_(queue_, 1, &semaphore, nullptr, 1, user.list(), signalled.out()));
  wait(other, semaphore, waited.out());
  EXPECT_GT(status(signalled), CL_COMPLETE);
  EXPECT_GT(status(waited), CL_COMPLETE);
  EXPECT_EQ(payload(semaphore), 0u);
  ASSERT_SUCCESS(clSetUserEventStatus(user, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, waited.list()));
  EXPECT_EQ(status(signalled), CL_COMPLETE);
  EXPECT_EQ(payload(semaphore), 0u);
}

// Who waits for a signal that is called off hears of it, and so do its successors.
TEST_F(Semaphores, FailuresPassOn) {
  cl_int code = CL_SUCCESS;
  const Event user(clCreateUserEvent(context_, &code));
  ASSERT_SUCCESS(code);
  cl_semaphore_khr semaphore = make();
  Event signalled, waited;
  const Queue other = make_queue();
  ASSERT_SUCCESS(signal_(queue_, 1, &semaphore, nullptr, 1, user.list(), signalled.out()));
  wait(other, semaphore, waited.out());
  ASSERT_SUCCESS(clSetUserEventStatus(user, -7));
  EXPECT_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clWaitForEvents(1, waited.list()));
  EXPECT_LT(status(signalled), 0);
  EXPECT_LT(status(waited), 0);
  EXPECT_SUCCESS(clFinish(other));
}

TEST_F(Semaphores, SeveralAtOnce) {
  const Queue other = make_queue();
  std::vector<cl_semaphore_khr> all;
  for (int i = 0; i < 5; ++i) all.push_back(make());
  const cl_semaphore_payload_khr ignored[] = {1, 2, 3, 4, 5};
  ASSERT_SUCCESS(signal_(queue_, 4, all.data(), ignored, 0, nullptr, nullptr));
  Event waited, first;
  ASSERT_SUCCESS(wait_(other, 5, all.data(), ignored, 0, nullptr, waited.out()));
  EXPECT_GT(status(waited), CL_COMPLETE);
  signal(queue_, all[4]);
  ASSERT_SUCCESS(clWaitForEvents(1, waited.list()));
  ASSERT_SUCCESS(signal_(queue_, 5, all.data(), nullptr, 0, nullptr, nullptr));
  wait(queue_, all[0]);
  ASSERT_SUCCESS(wait_(other, 4, all.data() + 1, nullptr, 0, nullptr, nullptr));
  ASSERT_SUCCESS(clFinish(queue_));
  ASSERT_SUCCESS(clFinish(other));
  for (cl_semaphore_khr semaphore : all) EXPECT_EQ(payload(semaphore), 0u);
}

TEST_F(Semaphores, TimesAreMeasured) {
  const Queue measuring = make_queue(CL_QUEUE_PROFILING_ENABLE);
  cl_semaphore_khr semaphore = make();
  Event signalled, waited;
  signal(measuring, semaphore, signalled.out());
  wait(measuring, semaphore, waited.out());
  ASSERT_SUCCESS(clFinish(measuring));
  for (cl_event event : {signalled.get(), waited.get()}) {
    cl_ulong last = 0;
    for (const cl_profiling_info what : {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                         CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END}) {
      const auto time = value_of<cl_ulong>(profiling_of(event, what));
      EXPECT_GE(time, last);
      last = time;
    }
  }
}

// Released while commands use it, and never signalled at all.
TEST_F(Semaphores, CommandsKeepThem) {
  cl_int code = CL_SUCCESS;
  cl_semaphore_khr semaphore = create_(context_, kBinary, &code);
  ASSERT_SUCCESS(code);
  Event waited;
  const Queue other = make_queue();
  wait(other, semaphore, waited.out());
  signal(queue_, semaphore);
  EXPECT_SUCCESS(release_(semaphore));
  EXPECT_SUCCESS(clWaitForEvents(1, waited.list()));
}

class ExternalSemaphores : public Semaphores {
 protected:
  void SetUp() override {
    Semaphores::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (handle_ == nullptr) GTEST_SKIP() << "no external semaphores";
    imports_ = array_of<cl_uint>(query_of(device_, CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR));
    exports_ = array_of<cl_uint>(query_of(device_, CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR));
  }
  bool goes_both_ways(cl_uint type) const {
    return std::count(imports_.begin(), imports_.end(), type) != 0 &&
           std::count(exports_.begin(), exports_.end(), type) != 0;
  }
  static Properties exported(cl_uint type) {
    return {CL_SEMAPHORE_TYPE_KHR,
            CL_SEMAPHORE_TYPE_BINARY_KHR,
            CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR,
            type,
            CL_SEMAPHORE_EXPORT_HANDLE_TYPES_LIST_END_KHR,
            0};
  }
  static Properties imported(cl_uint type, int handle) {
    return {CL_SEMAPHORE_TYPE_KHR, CL_SEMAPHORE_TYPE_BINARY_KHR, type,
            static_cast<cl_semaphore_properties_khr>(handle), 0};
  }

  std::vector<cl_uint> imports_, exports_;
};

TEST_F(ExternalSemaphores, Queries) {
  EXPECT_FALSE(imports_.empty() && exports_.empty());
  EXPECT_EQ(array_of<cl_uint>(query_of(platform_, CL_PLATFORM_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR)),
            imports_);
  EXPECT_EQ(array_of<cl_uint>(query_of(platform_, CL_PLATFORM_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR)),
            exports_);
  for (const cl_uint type : exports_) {
    const Properties properties = exported(type);
    cl_semaphore_khr semaphore = make(properties.data());
    EXPECT_EQ(array_of<cl_uint>(asked(semaphore, CL_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR)),
              std::vector<cl_uint>{type});
    EXPECT_EQ(array_of<cl_semaphore_properties_khr>(asked(semaphore, CL_SEMAPHORE_PROPERTIES_KHR)),
              properties);
    int handle = -1;
    size_t size = 0;
    EXPECT_CL(CL_INVALID_SEMAPHORE_KHR,
              handle_(nullptr, device_, type, sizeof handle, &handle, &size));
    EXPECT_CL(CL_INVALID_DEVICE, handle_(semaphore, nullptr, type, sizeof handle, &handle, &size));
    EXPECT_CL(CL_INVALID_VALUE, handle_(semaphore, device_, 0x7777, sizeof handle, &handle, &size));
    EXPECT_CL(CL_INVALID_VALUE, handle_(semaphore, device_, type, 1, &handle, &size));
    EXPECT_SUCCESS(handle_(semaphore, device_, type, 0, nullptr, &size));
    EXPECT_EQ(size, sizeof handle);
    Properties twice = exported(type);
    twice.insert(twice.begin() + 3, type);
    expect_none(CL_INVALID_VALUE, twice);
    Properties both = exported(type);
    if (!imports_.empty()) {
      both.insert(both.end() - 1, {imports_.front(), cl_semaphore_properties_khr{0}});
      expect_none(CL_INVALID_OPERATION, both);
    }
  }
}

TEST_F(ExternalSemaphores, ReferToOnePayload) {
  constexpr cl_uint kType = CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR;
  if (!goes_both_ways(kType)) GTEST_SKIP() << "no such handles";
  cl_semaphore_khr inner = make(exported(kType).data());
  int handle = -1;
  ASSERT_SUCCESS(handle_(inner, device_, kType, sizeof handle, &handle, nullptr));
  cl_semaphore_khr outer = make(imported(kType, handle).data());
  ASSERT_NE(outer, nullptr);
  const Queue other = make_queue();
  const Buffer data = make_buffer(kSemaphoreItems * sizeof(cl_int));
  const Kernel add = kernel("add_one");
  set_args(add, data);
  for (cl_int round = 0; round < 10; ++round) {
    wait(other, outer);
    const size_t size = kSemaphoreItems;
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(other, add, 1, nullptr, &size, nullptr, 0, nullptr, nullptr));
    fill(queue_, data, round);
    signal(queue_, inner);
    ASSERT_SUCCESS(clFinish(other));
    expect_all(data, round + 1);
  }
}

TEST_F(ExternalSemaphores, CopiesTakeTheSignal) {
  constexpr cl_uint kType = CL_SEMAPHORE_HANDLE_SYNC_FD_KHR;
  if (!goes_both_ways(kType)) GTEST_SKIP() << "no such handles";
  cl_int(CL_API_CALL * import_again)(cl_semaphore_khr, cl_properties*, int) = nullptr;
  find(import_again, "clReImportSemaphoreSyncFdKHR");
  cl_semaphore_khr inner = make(exported(kType).data());
  const auto signal_and_export = [&] {
    signal(queue_, inner);
    int handle = -1;
    EXPECT_SUCCESS(handle_(inner, device_, kType, sizeof handle, &handle, nullptr));
    return handle;
  };
  const auto expect_signalled = [&](cl_semaphore_khr semaphore) {
    wait(queue_, semaphore);
    EXPECT_SUCCESS(clFinish(queue_));
  };
  cl_semaphore_khr outer = make(imported(kType, signal_and_export()).data());
  ASSERT_NE(outer, nullptr);
  expect_signalled(outer);
  ASSERT_SUCCESS(import_again(outer, nullptr, signal_and_export()));
  expect_signalled(outer);
  ASSERT_SUCCESS(import_again(outer, nullptr, -1));
  expect_signalled(outer);
  EXPECT_CL(CL_INVALID_SEMAPHORE_KHR, import_again(inner, nullptr, -1));
  EXPECT_CL(CL_INVALID_SEMAPHORE_KHR, import_again(nullptr, nullptr, -1));
}

class NoSemaphores : public ContextTest {};

TEST_F(NoSemaphores, WhereSeveralDevicesStandBehind) {
  const std::string list = " " + string_of(query_of(device_, CL_DEVICE_EXTENSIONS)) + " ";
  if (list.find(" cl_khr_semaphore ") != std::string::npos) GTEST_SKIP() << "there are";
  for (const char* name : {"clCreateSemaphoreWithPropertiesKHR", "clEnqueueWaitSemaphoresKHR",
                           "clGetSemaphoreHandleForTypeKHR"}) {
    EXPECT_EQ(clGetExtensionFunctionAddressForPlatform(platform_, name), nullptr) << name;
  }
  EXPECT_EQ(list.find("semaphore"), std::string::npos);
  size_t size = 0;
  EXPECT_CL(CL_INVALID_VALUE,
            clGetDeviceInfo(device_, CL_DEVICE_SEMAPHORE_TYPES_KHR, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_VALUE,
            clGetPlatformInfo(platform_, CL_PLATFORM_SEMAPHORE_TYPES_KHR, 0, nullptr, &size));
}

}  // namespace
}  // namespace tutti::api_tests
