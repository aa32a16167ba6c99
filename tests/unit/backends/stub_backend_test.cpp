// SPDX-License-Identifier: Apache-2.0
// The backend on the stub vendor: which vendor calls it makes, and what becomes of their errors.
#include <CL/cl_ext.h>
#include <gmock/gmock.h>

#include "backends/opencl/opencl_backend.h"
#include "memory_argument.h"
#include "stub_fixture.h"

namespace tutti::backends {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Pair;

Argument bytes_argument(const cl_uint& value) {
  Argument argument;
  argument.bytes = std::as_bytes(std::span(&value, 1));
  return argument;
}

class StubBackendTest : public StubTest {
 protected:
  /// `platform`: whose device it passes for; empty: the stub's own.
  std::unique_ptr<Backend> backend(const std::string& text = {}, const std::string& platform = {}) {
    const platform::VendorLoader loader = load(text);
    EXPECT_EQ(loader.devices().size(), 1u);
    DeviceTraits traits = loader.devices().at(0).traits;
    if (!platform.empty()) traits.platform_name = platform;
    return std::make_unique<OpenClBackend>(loader.devices()[0].device, std::move(traits), 0);
  }
  static Launch launch_of(Kernel& kernel, std::span<const Argument> arguments, size_t items) {
    Launch launch;
    launch.kernel = &kernel;
    launch.arguments = arguments;
    launch.global = {items, 1, 1};
    return launch;
  }
};

TEST_F(StubBackendTest, DriversWithoutALinkerSaySo) {
  const auto device = backend();
  const ObjectResult result = device->compile("add_one", "");
  EXPECT_FALSE(result.object);
  EXPECT_EQ(result.code, CL_COMPILER_NOT_AVAILABLE);
  EXPECT_THAT(result.log, HasSubstr("clCompileProgram"));
}

TEST_F(StubBackendTest, DriversWithoutPipesSaySo) {
  const auto made = backend()->allocate_pipe({4, 16});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, CL_INVALID_OPERATION);
}

TEST_F(StubBackendTest, QueuesAreToldTheHintsThatTheirVendorKnows) {
  const QueueOptions options{.profiling = false,
                             .hints = {CL_QUEUE_PRIORITY_LOW_KHR, CL_QUEUE_THROTTLE_HIGH_KHR}};
  const auto device = backend("extension:cl_khr_priority_hints");
  ASSERT_TRUE(device->create_queue(options));
  EXPECT_EQ(calls("hint:4"), 1u);
  EXPECT_EQ(calls("hint:1"), 0u);
  ASSERT_TRUE(device->create_queue({}));
  EXPECT_EQ(calls("clCreateCommandQueueWithProperties"), 1u);
  script("extension:cl_khr_throttle_hints");
  ASSERT_TRUE(backend("extension:cl_khr_throttle_hints")->create_queue(options));
  EXPECT_EQ(calls("hint:1"), 1u);
  script("");
  ASSERT_TRUE(backend()->create_queue(options));
  EXPECT_EQ(calls("clCreateCommandQueueWithProperties"), 2u);
}

TEST_F(StubBackendTest, CompilersGetTheLanguageByANameThatTheyKnow) {
  const auto options_of = [this](const char* text) {
    const auto device = backend(text);
    return std::pair(has_feature(device->traits(), kOpenClC31),
                     device->build("add_one", "-cl-std=CL3.1").log);
  };
  EXPECT_THAT(options_of("newest-c:3.1"), Pair(true, HasSubstr("options: -cl-std=CL3.1")));
  script("newest-c:3.0");
  EXPECT_THAT(options_of("newest-c:3.0"), Pair(false, HasSubstr("options: -cl-std=CL3.0")));
}

TEST_F(StubBackendTest, APciAddressOfZerosIsNone) {
  EXPECT_EQ(backend("pci-bus:59")->traits().pci_address, "fff0:3b:00.0");
  script("pci-bus:0");
  EXPECT_EQ(backend("pci-bus:0")->traits().pci_address, "");
}

TEST_F(StubBackendTest, PinnedMemoryIsTheProcessesOwnMappedForGood) {
  constexpr uint64_t kSize = (5 << 20) + 3;
  const auto device = backend("type:gpu");
  const int64_t before = live_objects();
  auto pinned = device->allocate_pinned(kSize).value();
  EXPECT_EQ(pinned->size(), kSize);
  EXPECT_EQ(calls("clEnqueueMapBuffer"), 1u);
  std::fill_n(pinned->data(), kSize, std::byte{1});
  EXPECT_EQ(calls("clEnqueueUnmapMemObject"), 0u);
  pinned.reset();
  EXPECT_EQ(calls("clEnqueueUnmapMemObject"), 1u);
  EXPECT_EQ(live_objects(), before + 1);  // the context, made at first use
  // A driver that maps elsewhere has not pinned these pages.
  for (const char* refusal :
       {"host-copy", "error:clCreateBuffer:-4", "error:clEnqueueMapBuffer:-12"}) {
    script((std::string("type:gpu ") + refusal).c_str());
    EXPECT_FALSE(device->allocate_pinned(kSize)) << refusal;
    EXPECT_EQ(live_objects(), before + 1) << refusal;
  }
}

TEST_F(StubBackendTest, OnlyChangedArgumentsAreSet) {
  const auto device = backend();
  auto queue = device->create_queue({}).value();
  auto module = std::move(device->build("add_one scale", "").module);
  ASSERT_TRUE(module);
  auto kernel = module->create_kernel("scale").value();
  auto memory = device->allocate(64, nullptr).value();
  std::vector<cl_uint> data(16, 1);
  ASSERT_TRUE(queue->write_blocking(*memory, 0, 64, data.data()));

  cl_uint factor = 2;
  std::vector<Argument> arguments{memory_argument(*memory), bytes_argument(factor)};
  ASSERT_TRUE(queue->launch(launch_of(*kernel, arguments, 16), {}));
  EXPECT_EQ(calls("clSetKernelArg"), 2u);
  ASSERT_TRUE(queue->launch(launch_of(*kernel, arguments, 16), {}));
  EXPECT_EQ(calls("clSetKernelArg"), 2u);
  factor = 3;
  ASSERT_TRUE(queue->launch(launch_of(*kernel, arguments, 16), {}));
  EXPECT_EQ(calls("clSetKernelArg"), 3u);
  ASSERT_TRUE(queue->read_blocking(*memory, 0, 64, data.data()));
  EXPECT_THAT(data, Each(12u));

  // A new allocation may get the address of the old one; the vendor's argument is stale all the
  // same.
  memory.reset();
  memory = device->allocate(64, nullptr).value();
  arguments[0] = memory_argument(*memory);
  ASSERT_TRUE(queue->launch(launch_of(*kernel, arguments, 16), {}));
  EXPECT_EQ(calls("clSetKernelArg"), 4u);
}

TEST_F(StubBackendTest, APartOfABufferReplacesNull) {
  const auto device = backend();
  auto queue = device->create_queue({}).value();
  auto module = std::move(device->build("add_one", "").module);
  auto kernel = module->create_kernel("add_one").value();
  auto memory = device->allocate(64, nullptr).value();
  std::vector<Argument> arguments{memory_argument(*memory)};
  arguments[0].memory = nullptr;
  script("error:clEnqueueNDRangeKernel:-54");  // the argument is set, nothing runs
  EXPECT_FALSE(queue->launch(launch_of(*kernel, arguments, 8), {}));
  EXPECT_EQ(calls("clSetKernelArg"), 1u);
  arguments[0] = memory_argument(*memory);
  arguments[0].size = 32;
  EXPECT_FALSE(queue->launch(launch_of(*kernel, arguments, 8), {}));
  EXPECT_EQ(calls("clSetKernelArg"), 2u);
}

TEST_F(StubBackendTest, AnArgumentThatFailedIsSetAgain) {
  const auto device = backend();
  auto queue = device->create_queue({}).value();
  auto module = std::move(device->build("add_one", "").module);
  auto kernel = module->create_kernel("add_one").value();
  auto memory = device->allocate(64, nullptr).value();
  const Argument argument = memory_argument(*memory);
  script("error:clSetKernelArg:-5");
  const auto failed = queue->launch(launch_of(*kernel, {&argument, 1}, 16), {});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, CL_OUT_OF_RESOURCES);
  EXPECT_THAT(failed.error().message, HasSubstr("clSetKernelArg: CL_OUT_OF_RESOURCES"));
  script("");
  EXPECT_TRUE(queue->launch(launch_of(*kernel, {&argument, 1}, 16), {}));
}

TEST_F(StubBackendTest, TheNumberOfArgumentsIsChecked) {
  const auto device = backend();
  auto queue = device->create_queue({}).value();
  auto module = std::move(device->build("add_one", "").module);
  auto kernel = module->create_kernel("add_one").value();
  const auto launched = queue->launch(launch_of(*kernel, {}, 16), {});
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().code, CL_INVALID_KERNEL_ARGS);
}

TEST_F(StubBackendTest, OffsetsAndWindows) {
  const auto device = backend();
  auto queue = device->create_queue({}).value();
  auto module = std::move(device->build("add_one", "").module);
  auto kernel = module->create_kernel("add_one").value();
  auto memory = device->allocate(1024, nullptr).value();
  const cl_uint zero = 0;
  ASSERT_TRUE(queue->fill(*memory, 0, 1024, std::as_bytes(std::span(&zero, 1)), {}));
  Argument argument = memory_argument(*memory);
  argument.origin = 256;
  argument.size = 128;
  Launch launch = launch_of(*kernel, {&argument, 1}, 8);
  launch.offset = {4, 0, 0};
  ASSERT_TRUE(queue->launch(launch, {}));
  ASSERT_TRUE(queue->launch(launch, {}));
  EXPECT_EQ(calls("clCreateSubBuffer"), 1u);
  std::vector<cl_uint> data(256);
  ASSERT_TRUE(queue->read_blocking(*memory, 0, 1024, data.data()));
  for (size_t i = 0; i < data.size(); ++i) {
    EXPECT_EQ(data[i], i >= 64 + 4 && i < 64 + 12 ? 2u : 0u) << i;
  }
  argument.origin = 4;  // misaligned
  EXPECT_EQ(queue->launch(launch, {}).error().code, CL_MISALIGNED_SUB_BUFFER_OFFSET);
  argument.origin = 1024;  // outside
  EXPECT_EQ(queue->launch(launch, {}).error().code, CL_INVALID_VALUE);
}

TEST_F(StubBackendTest, FillsWithoutTheVendorsFunctionAndWithOddPatterns) {
  const auto device = backend("null:clEnqueueFillBuffer");
  auto queue = device->create_queue({}).value();
  auto memory = device->allocate(60, nullptr).value();
  const char pattern[] = {'a', 'b', 'c'};
  const auto bytes = std::as_bytes(std::span(pattern));
  ASSERT_TRUE(queue->fill(*memory, 0, 60, bytes, {}));
  std::string data(60, ' ');
  ASSERT_TRUE(queue->read_blocking(*memory, 0, 60, data.data()));
  EXPECT_EQ(data.substr(0, 7), "abcabca");
  EXPECT_EQ(queue->fill(*memory, 0, 59, bytes, {}).error().code, CL_INVALID_VALUE);
  EXPECT_EQ(queue->fill(*memory, 0, 60, {}, {}).error().code, CL_INVALID_VALUE);
}

TEST_F(StubBackendTest, QueuesByTheFunctionThatThereIs) {
  const auto device = backend("null:clCreateCommandQueue");
  EXPECT_TRUE(device->create_queue({true}));
  EXPECT_GE(calls("clCreateCommandQueueWithProperties"), 1u);
}

TEST_F(StubBackendTest, ErrorsNameDeviceAndCall) {
  const auto device = backend();
  auto queue = device->create_queue({}).value();
  auto memory = device->allocate(64, nullptr).value();
  std::byte data[64]{};
  ASSERT_TRUE(queue->write_blocking(*memory, 0, 64, data));  // so that there is something to finish
  script(
      "error:clEnqueueReadBuffer:-5 error:clEnqueueWriteBuffer:-6 error:clCreateBuffer:-4 "
      "error:clFinish:-36 error:clFlush:-36 error:clCreateCommandQueue:-6");
  EXPECT_EQ(queue->read(*memory, 0, 64, data, {}).error().message,
            "stub-device: clEnqueueReadBuffer: CL_OUT_OF_RESOURCES");
  EXPECT_EQ(queue->write_blocking(*memory, 0, 64, data).error().code, CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(device->allocate(64, nullptr).error().code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_EQ(queue->finish().error().code, CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(queue->flush().error().code, CL_INVALID_COMMAND_QUEUE);
  EXPECT_THAT(device->create_queue({}).error().message, HasSubstr("clCreateCommandQueue"));
}

TEST_F(StubBackendTest, WhatIsKnownToHaveEndedIsNotFinishedAgain) {
  const auto device = backend();
  auto queue = device->create_queue({}).value();
  auto memory = device->allocate(64, nullptr).value();
  std::byte data[64]{};
  const uint64_t before = calls("clFinish");  // of the trial whether memory is shared
  const auto finished = [&] { return calls("clFinish") - before; };
  ASSERT_TRUE(queue->finish());
  EXPECT_EQ(finished(), 0u);
  auto write = queue->write(*memory, 0, 64, data, {}).value();
  ASSERT_TRUE(queue->finish());
  ASSERT_TRUE(queue->finish());
  EXPECT_EQ(finished(), 1u);
  ASSERT_TRUE(queue->write_blocking(*memory, 0, 64, data));  // the bytes may still be on their way
  ASSERT_TRUE(queue->finish());
  EXPECT_EQ(finished(), 2u);
  ASSERT_TRUE(queue->read_blocking(*memory, 0, 64, data));
  ASSERT_TRUE(queue->finish());
  EXPECT_EQ(finished(), 2u);
}

TEST_F(StubBackendTest, ACommandThatFailsLater) {
  const auto device = backend();
  auto queue = device->create_queue({true}).value();
  auto memory = device->allocate(64, nullptr).value();
  std::byte data[64]{};
  script("event:-9999");
  auto completion = queue->read(*memory, 0, 64, data, {}).value();
  EXPECT_EQ(completion->poll(), -9999);
  EXPECT_EQ(completion->wait().error().code, -9999);
  EXPECT_THAT(completion->wait().error().message, HasSubstr("error -9999"));
  EXPECT_FALSE(completion->times());
}

TEST_F(StubBackendTest, TimesOnlyWhereTheQueueMeasures) {
  const auto device = backend();
  auto memory = device->allocate(64, nullptr).value();
  std::byte data[64]{};
  auto measuring = device->create_queue({true}).value();
  auto completion = measuring->read(*memory, 0, 64, data, {}).value();
  const auto times = completion->times();
  ASSERT_TRUE(times);
  EXPECT_EQ(times->submitted, times->queued + 10);
  EXPECT_EQ(times->started, times->queued + 20);
  EXPECT_EQ(times->ended, times->queued + 30);
  script("equal-times");  // numbers of no meaning
  EXPECT_FALSE(completion->times());
  auto plain = device->create_queue({}).value();
  EXPECT_FALSE(plain->read(*memory, 0, 64, data, {}).value()->times());
}

TEST_F(StubBackendTest, FailedBuildsGiveTheLog) {
  const auto device = backend();
  const BuildResult result = device->build("#error", "-DX");
  EXPECT_FALSE(result.module);
  EXPECT_EQ(result.code, CL_BUILD_PROGRAM_FAILURE);
  EXPECT_THAT(result.log, HasSubstr("<source>:1: error"));
  const BuildResult good = device->build("add_one", "-DX");
  ASSERT_TRUE(good.module);
  EXPECT_THAT(good.module->build_log(), HasSubstr("options: -DX"));
  EXPECT_EQ(good.module->create_kernel("nothing").error().code, CL_INVALID_KERNEL_NAME);
  EXPECT_EQ(good.module->binary().value().size(), 7u);
  script("error:clCreateProgramWithSource:-6");
  EXPECT_EQ(device->build("add_one", "").code, CL_OUT_OF_HOST_MEMORY);
}

TEST_F(StubBackendTest, NoContextNoAnything) {
  const auto device = backend("error:clCreateContext:-5 type:gpu");
  EXPECT_THAT(device->create_queue({}).error().message, HasSubstr("clCreateContext"));
  EXPECT_EQ(device->allocate(1, nullptr).error().code, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(device->build("add_one", "").code, CL_OUT_OF_RESOURCES);
  script("");  // and it is tried again
  EXPECT_TRUE(device->create_queue({}));
}

TEST_F(StubBackendTest, WhatCannotBeTriedIsTakenForWhatIsSafe) {
  // Two threads in PoCL's device without threads wait for each other for ever.
  const std::string pocl = "Portable Computing Language", failing = "error:clCreateContext:-5";
  EXPECT_FALSE(backend("native:thread", pocl)->traits().synchronous);
  script(("native:thread " + failing).c_str());
  EXPECT_TRUE(backend("native:thread " + failing, pocl)->traits().synchronous);
}

TEST_F(StubBackendTest, OneContextForAll) {
  const auto device = backend();
  EXPECT_TRUE(device->create_queue({}));
  EXPECT_TRUE(device->create_queue({}));
  EXPECT_TRUE(device->allocate(1, nullptr));
  EXPECT_EQ(calls("clCreateContext"), 1u);
}

TEST_F(StubBackendTest, HostMemoryIsSharedOnlyWhereATrialSaysSo) {
  const auto device = backend();
  EXPECT_TRUE(device->traits().shares_host_memory);
  std::vector<cl_uint> host(16, 5);
  auto shared = device->allocate(64, host.data()).value();
  auto queue = device->create_queue({}).value();
  const cl_uint seven = 7;
  ASSERT_TRUE(queue->fill(*shared, 0, 64, std::as_bytes(std::span(&seven, 1)), {}));
  ASSERT_TRUE(queue->finish());
  EXPECT_THAT(host, Each(7u));
}

TEST_F(StubBackendTest, CopiesOfHostMemoryAreNotShared) {
  const auto device = backend("host-copy");
  EXPECT_FALSE(device->traits().shares_host_memory);
  std::byte host[64];
  EXPECT_EQ(device->allocate(64, host).error().code, CL_INVALID_HOST_PTR);
}

TEST_F(StubBackendTest, HostMemoryIsNotTriedOnGpus) {
  const auto device = backend("type:gpu");
  EXPECT_FALSE(device->traits().shares_host_memory);
  EXPECT_EQ(calls("clCreateContext"), 0u);
}

TEST_F(StubBackendTest, EverythingIsGivenBack) {
  {
    const auto device = backend();
    auto queue = device->create_queue({}).value();
    auto module = std::move(device->build("add_one", "").module);
    auto kernel = module->create_kernel("add_one").value();
    auto memory = device->allocate(1024, nullptr).value();
    Argument argument = memory_argument(*memory);
    argument.origin = 128;
    argument.size = 128;
    auto first = queue->launch(launch_of(*kernel, {&argument, 1}, 16), {}).value();
    const CompletionPtr list[] = {first};
    ASSERT_TRUE(queue->launch(launch_of(*kernel, {&argument, 1}, 16), list));
    EXPECT_GT(live_objects(), 5);
  }
  EXPECT_EQ(live_objects(), 0);
}

}  // namespace
}  // namespace tutti::backends
