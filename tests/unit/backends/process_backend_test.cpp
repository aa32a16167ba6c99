// SPDX-License-Identifier: Apache-2.0
// A device in a process of its own: the stub vendor driver behind a helper, which works, crashes,
// hangs, is killed and comes back.
#include <gmock/gmock.h>
#include <signal.h>

#include <numeric>
#include <sstream>
#include <thread>

#include "backends/process/lane.h"
#include "backends/process/node_trial.h"
#include "backends/process/process_backend.h"
#include "base/clock.h"
#include "base/own_files.h"
#include "stub_fixture.h"

namespace tutti::backends {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTwoKernels =
    "kernel void scale(global uint* values, uint factor) {}\n"
    "kernel void increment(global uint* values) {}\n";

class ProcessBackendTest : public StubTest {
 protected:
  /// The device in a helper whose driver does what the script says.
  std::unique_ptr<Backend> drive(const std::string& script, uint32_t deadline = 0) {
    setenv("TUTTI_TEST_STUB", script.c_str(), 1);
    Config config;
    config.vendors.value = library_.string();
    config.isolate.value = "all";
    config.deadline.value = deadline;
    auto backends = platform::create_backends(config, &report_);
    if (backends.empty()) return nullptr;
    return std::move(backends.front());
  }
  /// From the next helper on.
  static void script_later(const char* text) { setenv("TUTTI_TEST_STUB", text, 1); }

  /// Its helpers: the process that works, and the one that tells how it ends.
  std::vector<pid_t> helpers() const {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream file(entry.path() / "cmdline");
      std::ostringstream words;
      words << file.rdbuf();
      if (words.str().find("tutti-device") != std::string::npos &&
          words.str().find(library_.string()) != std::string::npos) {
        found.push_back(static_cast<pid_t>(std::stol(name)));
      }
    }
    return found;
  }
  /// Whether there are so many; that one which has told of an end is gone itself takes a moment.
  bool has_helpers(size_t count) const {
    const uint64_t until = now_ns() + 10'000'000'000;
    while (helpers().size() != count) {
      if (now_ns() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }
  void kill_helpers() const {
    for (const pid_t pid : helpers()) kill(pid, SIGKILL);
  }

  std::vector<platform::DeviceReport> report_;
};

/// What a test needs of a device.
struct Used {
  std::unique_ptr<Queue> queue;
  std::unique_ptr<Memory> memory;
  std::unique_ptr<Module> module;
  std::unique_ptr<Kernel> kernel;
};
Used use(Backend& device, uint64_t size) {
  Used used;
  if (auto queue = device.create_queue({})) used.queue = std::move(*queue);
  if (auto memory = device.allocate(size, nullptr)) used.memory = std::move(*memory);
  used.module = device.build(kTwoKernels, "").module;
  if (used.module) {
    if (auto kernel = used.module->create_kernel("scale")) used.kernel = std::move(*kernel);
  }
  return used;
}

/// Multiplies the memory's numbers by three.
Result<CompletionPtr> triple(const Used& used, Memory& memory) {
  const cl_uint factor = 3;
  Argument values, by;
  values.kind = Argument::Kind::kMemory;
  values.memory = &memory;
  values.size = memory.size();
  by.bytes = std::as_bytes(std::span(&factor, 1));
  const Argument arguments[] = {values, by};
  Launch launch;
  launch.kernel = used.kernel.get();
  launch.arguments = arguments;
  launch.global = {memory.size() / sizeof(cl_uint), 1, 1};
  return used.queue->launch(launch, {});
}

Result<CompletionPtr> fill(const Used& used) {
  const cl_uint zero = 0;
  return used.queue->fill(*used.memory, 0, used.memory->size(), std::as_bytes(std::span(&zero, 1)),
                          {});
}

TEST_F(ProcessBackendTest, TheDriverIsNotInThisProcess) {
  const auto device = drive("");
  ASSERT_TRUE(device);
  EXPECT_TRUE(device->traits().own_process);
  EXPECT_FALSE(device->traits().shares_host_memory);
  ASSERT_EQ(report_.size(), 1u);
  EXPECT_TRUE(report_[0].used);
  EXPECT_TRUE(report_[0].apart);
  EXPECT_EQ(dlopen(library_.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
  EXPECT_TRUE(has_helpers(2));
  const auto name = device->device_info(CL_DEVICE_NAME);
  ASSERT_TRUE(name);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(name->data())), device->traits().device_name);
}

TEST_F(ProcessBackendTest, ComputesOnWhatWasWritten) {
  const auto device = drive("");
  ASSERT_TRUE(device);
  // Inline, and in several pieces.
  for (const size_t count : {size_t{5}, size_t{3} << 19}) {
    const uint64_t size = count * sizeof(cl_uint);
    const Used used = use(*device, size);
    ASSERT_TRUE(used.queue && used.memory && used.kernel);
    std::vector<cl_uint> data(count), asked(count), read(count);
    std::iota(data.begin(), data.end(), 1u);
    ASSERT_TRUE(used.queue->write_blocking(*used.memory, 0, size, data.data()));
    ASSERT_TRUE(triple(used, *used.memory));
    const auto reading = used.queue->read(*used.memory, 0, size, asked.data(), {});
    ASSERT_TRUE(reading);
    ASSERT_TRUE(used.queue->read_blocking(*used.memory, 0, size, read.data()));
    ASSERT_TRUE((*reading)->wait());
    for (cl_uint& value : data) value *= 3;
    EXPECT_TRUE(read == data);
    EXPECT_TRUE(asked == data);
    // A source that is another one when the write is carried out counts as it was.
    std::vector<cl_uint> source(count, 7);
    const auto writing = used.queue->write(*used.memory, 0, size, source.data(), {});
    ASSERT_TRUE(writing);
    std::fill(source.begin(), source.end(), 8);
    ASSERT_TRUE(used.queue->finish());
    ASSERT_TRUE(used.queue->read_blocking(*used.memory, 0, size, read.data()));
    EXPECT_TRUE(read == std::vector<cl_uint>(count, 7));
  }
}

TEST_F(ProcessBackendTest, WhatAReadGivesIsThereOnceTheQueueHasFinished) {
  const auto device = drive("");
  ASSERT_TRUE(device);
  const Used used = use(*device, 64);
  const std::vector<cl_uint> data(16, 5);
  ASSERT_TRUE(used.queue->write_blocking(*used.memory, 0, 64, data.data()));
  std::vector<cl_uint> read(16, 0);
  ASSERT_TRUE(used.queue->read(*used.memory, 0, 64, read.data(), {{}, false}));
  ASSERT_TRUE(used.queue->finish());
  EXPECT_EQ(read, data);
}

TEST_F(ProcessBackendTest, TransfersOfPinnedMemoryAndOfRows) {
  const auto device = drive("");
  ASSERT_TRUE(device);
  ASSERT_TRUE(device->traits().pins_host_memory);
  const Used used = use(*device, 4096);
  const auto pinned = device->allocate_pinned(4096);
  ASSERT_TRUE(pinned);
  std::memset((*pinned)->data(), 9, 4096);
  ASSERT_TRUE(used.queue->write_blocking(*used.memory, 0, 4096, (*pinned)->data()));
  std::vector<std::byte> rows(1024, std::byte{1});
  // 16 bytes of every 64.
  ASSERT_TRUE(used.queue->write_rows(*used.memory, {0, 16, 64, 16}, rows.data()));
  ASSERT_TRUE(used.queue->read_blocking(*used.memory, 0, 4096, (*pinned)->data()));
  for (size_t i = 0; i < 1024; ++i) {
    ASSERT_EQ((*pinned)->data()[i], std::byte(i % 64 < 16 ? 1 : 9)) << i;
  }
  std::fill(rows.begin(), rows.end(), std::byte{0});
  ASSERT_TRUE(used.queue->read_rows(*used.memory, {0, 16, 64, 16}, rows.data()));
  for (size_t i = 0; i < 1024; ++i) ASSERT_EQ(rows[i], std::byte(i % 64 < 16 ? 1 : 0)) << i;
}

TEST_F(ProcessBackendTest, AnErrorOfTheVendorIsTheCalls) {
  const auto device = drive("error:clEnqueueFillBuffer:-4");
  ASSERT_TRUE(device);
  const Used used = use(*device, 64);
  const auto filled = fill(used);
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_THAT(filled.error().message, HasSubstr("clEnqueueFillBuffer"));
  EXPECT_TRUE(used.queue->finish());
}

TEST_F(ProcessBackendTest, ACrashCostsTheDeviceAndItComesBack) {
  const auto device = drive("crash:clEnqueueFillBuffer");
  ASSERT_TRUE(device);
  const Used used = use(*device, 64);
  ASSERT_TRUE(used.kernel);
  const std::vector<cl_uint> data(16, 5);
  std::vector<cl_uint> read(16, 0);
  ASSERT_TRUE(used.queue->write_blocking(*used.memory, 0, 64, data.data()));
  const auto before = triple(used, *used.memory);
  ASSERT_TRUE(before);
  const auto filled = fill(used);
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().code, CL_DEVICE_NOT_AVAILABLE);
  EXPECT_THAT(filled.error().message, HasSubstr("crashed"));
  EXPECT_FALSE(device->hangs());
  EXPECT_EQ((*before)->wait().error().code, CL_DEVICE_NOT_AVAILABLE);
  EXPECT_EQ((*before)->poll(), CL_DEVICE_NOT_AVAILABLE);
  EXPECT_FALSE(device->allocate(64, nullptr));
  EXPECT_FALSE(used.queue->finish());

  script_later("");
  ASSERT_TRUE(device->renew());
  EXPECT_EQ(device->renewals(), 1u);
  EXPECT_TRUE(has_helpers(2));
  // Memory is gone with its content; what can be made anew is.
  const auto lost = used.queue->write_blocking(*used.memory, 0, 64, data.data());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, CL_DEVICE_NOT_AVAILABLE);
  const auto memory = device->allocate(64, nullptr);
  ASSERT_TRUE(memory);
  ASSERT_TRUE(used.queue->write_blocking(**memory, 0, 64, data.data()));
  ASSERT_TRUE(triple(used, **memory));
  ASSERT_TRUE(used.queue->read_blocking(**memory, 0, 64, read.data()));
  EXPECT_EQ(read, std::vector<cl_uint>(16, 15));
  // What was lost cannot be waited for.
  EXPECT_FALSE(used.queue->mark(WaitList(&*before, 1), true));
}

TEST_F(ProcessBackendTest, WhoWaitsForAHelperThatIsKilledIsTold) {
  const auto device = drive("hang:clEnqueueFillBuffer");
  ASSERT_TRUE(device);
  const Used used = use(*device, 64);
  Result<CompletionPtr> filled;
  std::thread waiting([&] { filled = fill(used); });
  // A call that does not end holds up no other one.
  const std::vector<cl_uint> data(16, 5);
  EXPECT_TRUE(used.queue->write_blocking(*used.memory, 0, 64, data.data()));
  kill_helpers();
  waiting.join();
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().code, CL_DEVICE_NOT_AVAILABLE);
  EXPECT_FALSE(device->hangs());
  script_later("");
  EXPECT_TRUE(device->renew());
  EXPECT_TRUE(used.queue->finish());
}

TEST_F(ProcessBackendTest, AHelperThatDoesNotAnswerInTimeIsEnded) {
  const auto device = drive("hang:clEnqueueFillBuffer", 1);
  ASSERT_TRUE(device);
  const Used used = use(*device, 64);
  const uint64_t begin = now_ns();
  const auto filled = fill(used);
  EXPECT_GE(now_ns() - begin, 1'000'000'000u);
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().code, CL_DEVICE_NOT_AVAILABLE);
  EXPECT_THAT(filled.error().message, HasSubstr("TUTTI_DEADLINE"));
  // Nothing of it goes on.
  EXPECT_TRUE(has_helpers(0));
  EXPECT_FALSE(device->hangs());
  script_later("");
  EXPECT_TRUE(device->renew());
  EXPECT_TRUE(used.queue->finish());
}

TEST_F(ProcessBackendTest, EndsWithItsDevice) {
  auto device = drive("");
  ASSERT_TRUE(device);
  device.reset();
  EXPECT_TRUE(has_helpers(0));
}

TEST_F(ProcessBackendTest, MoreThreadsThanLanesTakeTurns) {
  const auto device = drive("");
  ASSERT_TRUE(device);
  const Used used = use(*device, 64);
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 2 * process::kLanes; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) failed += used.queue->finish() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed.load(), 0);
}

TEST_F(ProcessBackendTest, TheWayToItIsMeasured) {
  const auto device = drive("");
  ASSERT_TRUE(device);
  EXPECT_FALSE(device->traits().is_far());  // only that of nodes matters
  const auto link = process::measure_link(*device);
  ASSERT_TRUE(link.has_value()) << link.error().message;
  EXPECT_GT(link->round_trip, 0);
  EXPECT_GT(link->to_device, 0);
  EXPECT_GT(link->from_device, 0);
  EXPECT_LT(link->to_device * link->round_trip, 1e12);  // a number
}

TEST_F(ProcessBackendTest, WhatIsGivenOfTheWayIsNotMeasured) {
  const auto device = drive("");
  ASSERT_TRUE(device);
  const auto half = process::measure_link(*device, {0.25, 0});
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(half->round_trip, 0.25);
  EXPECT_GT(half->to_device, 0);
  const auto other = process::measure_link(*device, {0, 1000});
  ASSERT_TRUE(other.has_value());
  EXPECT_GT(other->round_trip, 0);
  EXPECT_EQ(other->from_device, 1000);
  kill_helpers();  // nobody is asked
  const auto all = process::measure_link(*device, {0.25, 1000});
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->to_device, 1000);
}

class AwayAtFirst : public ProcessBackendTest {
 protected:
  /// The device as it was in an earlier process, changed by `change`.
  std::unique_ptr<Backend> away(const std::function<void(DeviceTraits&)>& change = {},
                                uint32_t seconds = process::kStartSeconds) {
    const auto earlier = drive("");
    if (!earlier) return nullptr;
    process::ProcessDevice device;
    device.subject = {find_own_program(kDeviceProgram), library_.string(), {}, seconds};
    device.bounds.trial = seconds * uint64_t{1'500'000'000};  // tells it from the start
    device.name = earlier->traits().device_name;
    DeviceTraits traits = earlier->traits();
    if (change) change(traits);
    auto made = process::drive_when_there(device, traits, "was not started: it is off");
    return made ? std::move(*made) : nullptr;
  }
};

TEST_F(AwayAtFirst, FailsUntilItIsThere) {
  const auto device = away();
  ASSERT_TRUE(device);
  EXPECT_TRUE(device->traits().came_later);
  EXPECT_FALSE(device->hangs());
  for (const Status& asked : {device->allocate(16, nullptr).map([](auto&&) {}),
                              device->create_queue({}).map([](auto&&) {}),
                              device->device_info(CL_DEVICE_NAME).map([](auto&&) {})}) {
    ASSERT_FALSE(asked);
    EXPECT_EQ(asked.error().code, CL_DEVICE_NOT_AVAILABLE);
    EXPECT_THAT(asked.error().message, HasSubstr("it is off"));
  }
  const BuildResult built = device->build(kTwoKernels, {});
  EXPECT_EQ(built.code, CL_DEVICE_NOT_AVAILABLE);
  ASSERT_TRUE(device->renew());
  EXPECT_EQ(device->renewals(), 1u);
  use(*device, 64);
}

TEST_F(AwayAtFirst, IsNotWaitedForWhereItsDriverHangs) {
  const auto device = away({}, 2);
  ASSERT_TRUE(device);
  // While it loads the driver, and while it tries the device.
  for (const auto& [hangs, after] :
       {std::pair("hang:clGetDeviceIDs", "2 s"), std::pair("hang:clCreateContext", "3 s")}) {
    script_later(hangs);
    const Status renewed = device->renew();
    ASSERT_FALSE(renewed) << hangs;
    EXPECT_THAT(renewed.error().message, HasSubstr(std::string("has not ended after ") + after));
    EXPECT_TRUE(has_helpers(0));
  }
  script_later("");
  EXPECT_TRUE(device->renew());
}

TEST_F(AwayAtFirst, MustBeWhatItWas) {
  // Where it is faster, or its link is, that is no matter.
  const auto faster = away([](DeviceTraits& traits) {
    traits.clock_mhz += 100;
    traits.nominal_gflops *= 2;
    traits.link = {1, 2, 3};
  });
  ASSERT_TRUE(faster);
  EXPECT_TRUE(faster->renew());
  const auto other = away([](DeviceTraits& traits) { traits.features.emplace_back("cl_other"); });
  ASSERT_TRUE(other);
  const Status renewed = other->renew();
  ASSERT_FALSE(renewed);
  EXPECT_THAT(renewed.error().message, HasSubstr("not what it was"));
}

}  // namespace
}  // namespace tutti::backends
