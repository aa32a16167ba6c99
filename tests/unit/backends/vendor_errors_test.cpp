// SPDX-License-Identifier: Apache-2.0
// Whatever a vendor's function answers but CL_SUCCESS is in the log, with the function's name.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "backends/opencl/opencl_backend.h"
#include "base/log.h"
#include "memory_argument.h"
#include "stub_fixture.h"

namespace tutti::backends {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LoggedStubTest : public StubTest {
 protected:
  void SetUp() override {
    StubTest::SetUp();
    start_log(LogLevel::kInfo, log_file());
  }
  void TearDown() override {
    start_log(LogLevel::kWarning);
    StubTest::TearDown();
  }
  std::string log_file() const { return folder_.string() + "/log"; }
  std::string logged() const {
    std::stringstream text;
    text << std::ifstream(log_file()).rdbuf();
    return text.str();
  }
  std::unique_ptr<Backend> backend(const std::string& text) {
    const platform::VendorLoader loader = load(text);
    if (loader.devices().empty()) return nullptr;
    const platform::FoundDevice& found = loader.devices()[0];
    return std::make_unique<OpenClBackend>(found.device, found.traits, 0);
  }
};

/// Uses all that a backend can do, and goes on where something fails.
void use_everything(Backend& device) {
  const auto queue = device.create_queue({true});
  const auto other = device.create_queue({});
  const auto memory = device.allocate(1024, nullptr);
  (void)device.allocate_pinned(4096);
  BuildResult built = device.build("add_one scale", "-DX");
  std::unique_ptr<Kernel> kernel;
  if (built.module) {
    (void)built.module->binary();
    if (auto made = built.module->create_kernel("add_one")) kernel = std::move(*made);
  }
  if (kernel) (void)kernel->work_group_info(CL_KERNEL_WORK_GROUP_SIZE);
  if (!queue || !other || !memory) return;
  std::byte data[1024]{};
  const cl_uint pattern = 1;
  (void)(*queue)->write_blocking(**memory, 0, 1024, data);
  (void)(*queue)->read_blocking(**memory, 0, 1024, data);
  (void)(*queue)->fill(**memory, 0, 1024, std::as_bytes(std::span(&pattern, 1)), {});
  (void)(*queue)->copy(**memory, 0, **memory, 512, 128, {});
  (void)(*queue)->write(**memory, 0, 64, data, {});
  if (const auto read = (*queue)->read(**memory, 0, 64, data, {})) {
    (void)(*read)->wait();
    (void)(*read)->times();
  }
  if (kernel) {
    std::vector<Argument> arguments{memory_argument(**memory)};
    arguments[0].origin = 128;
    arguments[0].size = 128;
    Launch launch;
    launch.kernel = kernel.get();
    launch.arguments = arguments;
    launch.global = {8, 1, 1};
    launch.observed = false;
    if (const auto run = (*queue)->launch(launch, {})) {
      // Another queue waits for what has no event yet.
      const CompletionPtr list[] = {*run};
      launch.observed = true;
      if (const auto next = (*other)->launch(launch, list)) (void)(*next)->wait();
      (void)(*run)->wait();
    }
  }
  (void)(*queue)->flush();
  (void)(*queue)->write_blocking(**memory, 0, 64, data);
  (void)(*queue)->finish();
}

TEST(AskVendor, OnceMoreWhereItFailsForWantOfSomething) {
  for (const cl_int error : {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_INVALID_VALUE}) {
    int calls = 0;
    const auto once = [&] { return ++calls == 1 ? error : CL_SUCCESS; };
    const bool answers = error != CL_INVALID_VALUE;  // that is an answer
    EXPECT_EQ(ask_vendor(once), answers ? CL_SUCCESS : error);
    EXPECT_EQ(calls, answers ? 2 : 1);
  }
  int calls = 0;
  const auto told = query_bytes("clGetDeviceInfo", [&](size_t size, void* value, size_t* all) {
    if (++calls % 2 == 1) return CL_OUT_OF_RESOURCES;
    if (all) *all = 1;
    if (size == 1) *static_cast<char*>(value) = 'x';
    return CL_SUCCESS;
  });
  ASSERT_TRUE(told);
  EXPECT_EQ(text_of(*told), "x");
}

class EveryVendorFunction : public LoggedStubTest,
                            public ::testing::WithParamInterface<const char*> {};

TEST_P(EveryVendorFunction, TellsTheLogOfItsErrors) {
  const std::string function = GetParam();
  // What is said once is said once per device.
  if (const auto device = backend("type:cpu native:here device:dev-" + function +
                                  " error:" + function + ":-6666")) {
    use_everything(*device);
  }
  // Pinned memory is for GPUs. What ends later is waited for.
  for (const std::string more : {"type:gpu ", "type:gpu event:2 "}) {
    if (logged().find(function) != std::string::npos) break;
    script(more.c_str());
    const auto device = backend({});
    script((more + "device:more error:" + function + ":-6666").c_str());
    if (device) use_everything(*device);
  }
  EXPECT_GT(calls(function.c_str()), 0u) << "the test does not use it";
  EXPECT_THAT(logged(), HasSubstr(function));
  EXPECT_THAT(logged(), HasSubstr("error -6666"));
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryVendorFunction,
    ::testing::Values(
        "clGetPlatformInfo", "clGetDeviceIDs", "clGetDeviceInfo", "clCreateContext",
        "clReleaseContext", "clCreateCommandQueue", "clReleaseCommandQueue", "clCreateBuffer",
        "clCreateSubBuffer", "clReleaseMemObject", "clCreateProgramWithSource", "clBuildProgram",
        "clReleaseProgram", "clGetProgramBuildInfo", "clGetProgramInfo", "clCreateKernel",
        "clReleaseKernel", "clSetKernelArg", "clGetKernelInfo", "clGetKernelWorkGroupInfo",
        "clWaitForEvents", "clGetEventInfo", "clReleaseEvent", "clGetEventProfilingInfo", "clFlush",
        "clFinish", "clEnqueueReadBuffer", "clEnqueueWriteBuffer", "clEnqueueCopyBuffer",
        "clEnqueueFillBuffer", "clEnqueueNDRangeKernel", "clEnqueueMapBuffer",
        "clEnqueueUnmapMemObject", "clEnqueueMarkerWithWaitList", "clEnqueueNativeKernel"),
    [](const auto& test) { return std::string(test.param); });

TEST_F(LoggedStubTest, NothingIsSaidWhereNothingFails) {
  for (const char* type : {"type:cpu native:thread device:silent", "type:gpu device:silent"}) {
    if (const auto device = backend(type)) use_everything(*device);
  }
  EXPECT_EQ(logged(), "");
}

TEST_F(LoggedStubTest, CommandsThatFailLaterAndWhatCompilersSay) {
  const auto device = backend("type:gpu device:late");
  const auto queue = device->create_queue({}).value();
  const auto memory = device->allocate(64, nullptr).value();
  std::byte data[64];
  script("event:-9999 device:late");
  const auto read = queue->read(*memory, 0, 64, data, {}).value();
  EXPECT_EQ(read->poll(), -9999);
  EXPECT_THAT(logged(), HasSubstr("late: command: error -9999"));
  script("");
  EXPECT_FALSE(device->build("#error", "").module);
  EXPECT_THAT(logged(), HasSubstr("late: clBuildProgram: CL_BUILD_PROGRAM_FAILURE"));
  EXPECT_THAT(logged(), HasSubstr("stub: <source>:1: error: #error"));
}

TEST_F(LoggedStubTest, WhatDriversTellTheContext) {
  const auto device = backend("type:gpu device:told notify:out-of-paper");
  EXPECT_TRUE(device->create_queue({}));
  EXPECT_THAT(logged(), HasSubstr("told: out-of-paper"));
}

// A vendor that gives no marker: what has no event is waited for all the same.
TEST_F(LoggedStubTest, WaitListsHoldWithoutMarkers) {
  const auto device = backend("type:gpu device:unmarked");
  const auto queue = device->create_queue({}).value();
  const auto other = device->create_queue({}).value();
  const auto memory = device->allocate(64, nullptr).value();
  std::byte data[64]{};
  const auto write = queue->write(*memory, 0, 64, data, {{}, false}).value();
  script("error:clEnqueueMarkerWithWaitList:-5");
  const uint64_t before = calls("clFinish");
  EXPECT_TRUE(other->read(*memory, 0, 64, data, WaitList(&write, 1)));
  EXPECT_EQ(calls("clFinish"), before + 1);
  EXPECT_EQ(write->poll(), CL_COMPLETE);
  // And where that fails, too, nothing runs before its time.
  const auto again = queue->write(*memory, 0, 64, data, {{}, false}).value();
  script("error:clEnqueueMarkerWithWaitList:-5 error:clFinish:-36");
  const uint64_t reads = calls("clEnqueueReadBuffer");
  const auto refused = other->read(*memory, 0, 64, data, WaitList(&again, 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(calls("clEnqueueReadBuffer"), reads);
  script("");
}

class Trials : public LoggedStubTest {
 protected:
  bool synchronous(const std::string& text) {
    const auto device = backend("device:tried " + text);
    return device->traits().synchronous;
  }
};

TEST_F(Trials, CommandsThatRunInTheEnqueuingThread) {
  EXPECT_TRUE(synchronous("native:here"));
  EXPECT_EQ(calls("clEnqueueNativeKernel"), 1u);
  // Remembered: another backend of the same device asks no more.
  EXPECT_TRUE(synchronous("native:thread"));
  EXPECT_EQ(calls("clEnqueueNativeKernel"), 1u);
}
TEST_F(Trials, CommandsThatRunInThreadsOfTheDriver) {
  EXPECT_FALSE(synchronous("native:thread"));
  EXPECT_EQ(calls("clEnqueueNativeKernel"), 1u);
}
TEST_F(Trials, ThreadsThatHelpWhileTheyWait) { EXPECT_FALSE(synchronous("native:wait")); }
TEST_F(Trials, DevicesLikeGpusWithNativeKernels) {
  EXPECT_TRUE(synchronous("native:here type:gpu"));
}
TEST_F(Trials, NoTrialWithoutNativeKernels) {
  EXPECT_FALSE(synchronous("platform:Portable"));
  EXPECT_EQ(calls("clEnqueueNativeKernel"), 0u);
}
TEST_F(Trials, AFailedTrialIsInTheLog) {
  EXPECT_FALSE(synchronous("native:here error:clEnqueueNativeKernel:-59"));
  EXPECT_THAT(logged(), HasSubstr("tried: clEnqueueNativeKernel: CL_INVALID_OPERATION"));
}

}  // namespace
}  // namespace tutti::backends
