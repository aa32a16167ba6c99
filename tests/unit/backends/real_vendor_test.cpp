// SPDX-License-Identifier: Apache-2.0
// The backend on every real driver installed: two one-core PoCL devices, llvmpipe, Oclgrind, GPUs.
// A vendor that is not installed is a skipped test; the environment may choose other devices.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <thread>

#include "backends/opencl/quirks.h"
#include "memory_argument.h"
#include "platform/create_backends.h"

namespace tutti::backends {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr const char* kOclgrind = "/usr/lib/oclgrind/liboclgrind-rt-icd.so";

constexpr const char* kSource = R"(
kernel void scale(global uint* data, uint factor) {
  data[get_global_id(0)] = data[get_global_id(0)] * factor + (uint)get_global_offset(0);
}
kernel void groups(global uint* out, local uint* scratch) {
  scratch[get_local_id(0)] = (uint)get_global_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    uint sum = 0;
    for (uint i = 0; i < get_local_size(0); ++i) sum += scratch[i];
    out[get_group_id(0)] = sum;
  }
}
kernel void no_scratch(global uint* out, local uint* scratch) { out[0] = 7; }
kernel void is_null(global uint* out, global uint* nothing) { out[0] = nothing == 0; }
)";

const std::vector<std::unique_ptr<Backend>>& all_backends() {
  static const auto* backends = [] {
    setenv("POCL_DEVICES", "basic basic", 0);
    setenv("RUSTICL_ENABLE", "llvmpipe", 0);
    setenv("LP_NUM_THREADS", "1", 0);
    Config config;
    config.vendors.value = TUTTI_TEST_VENDORS;
    if (std::filesystem::exists(kOclgrind)) config.vendors.value += std::string(":") + kOclgrind;
    return new auto(platform::create_backends(config, nullptr));
  }();
  return *backends;
}

// The parameter is a part of the platform's name, and the number among its devices.
class RealVendor : public ::testing::TestWithParam<std::pair<const char*, size_t>> {
 protected:
  void SetUp() override {
    size_t number = GetParam().second;
    for (const auto& each : all_backends()) {
      if (each->traits().platform_name.find(GetParam().first) == std::string::npos) continue;
      if (number-- == 0) device_ = each.get();
    }
    if (!device_) GTEST_SKIP() << "no such device on this machine";
    queue_ = device_->create_queue({true}).value();
  }
  std::unique_ptr<Kernel> kernel(const char* name) {
    if (!module_) {
      BuildResult result = device_->build(kSource, "-DUNUSED=1");
      module_ = std::move(result.module);
      if (!module_) throw std::runtime_error(result.log);
    }
    return module_->create_kernel(name).value();
  }
  std::vector<cl_uint> read(Memory& memory) {
    std::vector<cl_uint> data(memory.size() / sizeof(cl_uint));
    EXPECT_TRUE(queue_->read_blocking(memory, 0, memory.size(), data.data()));
    return data;
  }
  std::unique_ptr<Memory> iota(size_t count) {
    auto memory = device_->allocate(count * sizeof(cl_uint), nullptr).value();
    std::vector<cl_uint> data(count);
    std::iota(data.begin(), data.end(), 0u);
    EXPECT_TRUE(queue_->write_blocking(*memory, 0, memory->size(), data.data()));
    return memory;
  }

  /// What the module's kernel "k" makes of the words 0 to 3.
  std::vector<cl_uint> four_words(std::unique_ptr<Module> module) {
    module_ = std::move(module);
    const auto made = module_->create_kernel("k").value();
    auto memory = iota(4);
    const std::vector<Argument> arguments{memory_argument(*memory)};
    Launch launch;
    launch.kernel = made.get();
    launch.arguments = arguments;
    launch.global = {4, 1, 1};
    auto completion = queue_->launch(launch, {});
    EXPECT_TRUE(completion && (*completion)->wait());
    return read(*memory);
  }
  /// A launch of "scale" that doubles the memory's words.
  struct Doubling {
    Doubling(std::unique_ptr<Kernel> scale, Memory& memory, size_t words)
        : kernel(std::move(scale)), arguments{memory_argument(memory), {}} {
      arguments[1].bytes = std::as_bytes(std::span(&factor, 1));
      launch.kernel = kernel.get();
      launch.arguments = arguments;
      launch.global = {words, 1, 1};
    }
    Doubling(const Doubling&) = delete;
    Doubling& operator=(const Doubling&) = delete;

    const std::unique_ptr<Kernel> kernel;
    const cl_uint factor = 2;
    Argument arguments[2];
    Launch launch;
  };

  Backend* device_ = nullptr;
  std::unique_ptr<Module> module_;
  std::unique_ptr<Queue> queue_;
};

TEST_P(RealVendor, CompilesAndLinks) {
  ObjectResult kernel_unit = device_->compile(
      "uint f(uint x);\nkernel void k(global uint* o) { o[get_global_id(0)] = f(5u); }\n", "-w");
  ObjectResult helper = device_->compile("uint f(uint x) { return x * 3u; }\n", "");
  ASSERT_TRUE(kernel_unit.object) << kernel_unit.log;
  ASSERT_TRUE(helper.object) << helper.log;
  // With an option: a vendor that takes none gets none.
  Object* const objects[] = {kernel_unit.object.get(), helper.object.get()};
  BuildResult linked = device_->link(objects, "-cl-finite-math-only");
  ASSERT_TRUE(linked.module) << linked.log;
  EXPECT_EQ(four_words(std::move(linked.module)), std::vector<cl_uint>(4, 15));
}

TEST_P(RealVendor, LoadsWhatItHasBuilt) {
  BuildResult built = device_->build(
      "kernel void k(global uint* o) { o[get_global_id(0)] += FROM; }\n", "-DFROM=7");
  ASSERT_TRUE(built.module) << built.log;
  const auto binary = built.module->binary();
  ASSERT_TRUE(binary && !binary->empty());
  built.module.reset();
  BuildResult loaded = device_->load(*binary);
  ASSERT_TRUE(loaded.module) << loaded.log;
  EXPECT_EQ(four_words(std::move(loaded.module)), (std::vector<cl_uint>{7, 8, 9, 10}));
  // Mesa 22.3 aborts the process at a binary that is none.
  const std::byte garbage[64]{};
  if (!device_->traits().platform_name.starts_with("rusticl")) {
    EXPECT_FALSE(device_->load(garbage).module);
  }
}

TEST_P(RealVendor, CompileErrorsHaveALog) {
  const ObjectResult result = device_->compile("kernel void k( { }\n", "");
  EXPECT_FALSE(result.object);
  EXPECT_NE(result.code, CL_SUCCESS);
  EXPECT_FALSE(result.log.empty());
}

// PoCL's device without threads has had several names.
TEST_P(RealVendor, WhereCommandsRunIsKnown) {
  const DeviceTraits& traits = device_->traits();
  const bool pocl = traits.platform_name.starts_with("Portable");
  const bool one_thread =
      traits.device_name.starts_with("basic") || traits.device_name.starts_with("cpu-minimal");
  EXPECT_EQ(traits.synchronous, traits.platform_name == "Oclgrind" || (pocl && one_thread));
}

TEST_P(RealVendor, TraitsAreSane) {
  const DeviceTraits& traits = device_->traits();
  EXPECT_GE(traits.compute_units, 1u);
  EXPECT_GT(traits.global_memory, 1u << 20);
  EXPECT_GT(traits.max_allocation, 1u << 20);
  EXPECT_GE(traits.max_work_group, 64u);
  EXPECT_GT(traits.nominal_gflops, 0);
  EXPECT_THAT(traits.device_version, HasSubstr("OpenCL "));
  const auto name = device_->device_info(CL_DEVICE_NAME).value();
  EXPECT_EQ(text_of(name), traits.device_name);
  EXPECT_FALSE(device_->device_info(0xffff));
}

TEST_P(RealVendor, LaunchesPartsWithOffsetsAndChangedArguments) {
  auto scale = kernel("scale");
  auto memory = iota(256);
  cl_uint factor = 2;
  Argument arguments[2] = {memory_argument(*memory), {}};
  arguments[1].bytes = std::as_bytes(std::span(&factor, 1));
  Launch launch;
  launch.kernel = scale.get();
  launch.arguments = arguments;
  launch.global = {64, 1, 1};
  launch.local = std::array<size_t, 3>{16, 1, 1};
  launch.offset = {128, 0, 0};
  ASSERT_TRUE(queue_->launch(launch, {}));
  factor = 3;
  launch.offset = {0, 0, 0};
  launch.local.reset();
  ASSERT_TRUE(queue_->launch(launch, {}));
  const auto data = read(*memory);
  for (cl_uint i = 0; i < 256; ++i) {
    EXPECT_EQ(data[i], i < 64 ? 3 * i : i >= 128 && i < 192 ? 2 * i + 128 : i) << i;
  }
}

TEST_P(RealVendor, LocalMemoryAndNullArguments) {
  auto groups = kernel("groups");
  auto out = device_->allocate(8 * sizeof(cl_uint), nullptr).value();
  Argument arguments[2] = {memory_argument(*out), {}};
  arguments[1].kind = Argument::Kind::kLocal;
  arguments[1].local_size = 8 * sizeof(cl_uint);
  Launch launch;
  launch.kernel = groups.get();
  launch.arguments = arguments;
  launch.global = {64, 1, 1};
  launch.local = std::array<size_t, 3>{8, 1, 1};
  ASSERT_TRUE(queue_->launch(launch, {}));
  const auto sums = read(*out);
  for (cl_uint i = 0; i < 8; ++i) EXPECT_EQ(sums[i], 8 * 8 * i + 28);

  auto no_scratch = kernel("no_scratch");
  arguments[1].local_size = 0;
  launch.kernel = no_scratch.get();
  ASSERT_TRUE(queue_->launch(launch, {}));
  EXPECT_EQ(read(*out)[0], 7u);

  auto is_null = kernel("is_null");
  arguments[1] = {};
  arguments[1].kind = Argument::Kind::kMemory;
  launch.kernel = is_null.get();
  launch.global = {1, 1, 1};
  launch.local.reset();
  ASSERT_TRUE(queue_->launch(launch, {}));
  EXPECT_EQ(read(*out)[0], 1u);
}

TEST_P(RealVendor, ReadsWritesCopiesAndFills) {
  auto a = iota(256), b = device_->allocate(1024, nullptr).value();
  const cl_uint pattern = 0xabcd;
  auto fill = queue_->fill(*b, 0, 1024, std::as_bytes(std::span(&pattern, 1)), {}).value();
  auto copy = queue_->copy(*a, 4 * 10, *b, 4 * 20, 4 * 30, WaitList(std::array{fill})).value();
  const cl_uint values[2] = {7, 8};
  auto write = queue_->write(*b, 4 * 21, 8, values, WaitList(std::array{copy, fill})).value();
  std::vector<cl_uint> data(256);
  auto done = queue_->read(*b, 0, 1024, data.data(), WaitList(std::array{write})).value();
  ASSERT_TRUE(done->wait());
  EXPECT_EQ(done->poll(), CL_COMPLETE);
  for (cl_uint i = 0; i < 256; ++i) {
    const cl_uint expected = i == 21 || i == 22 ? i - 14 : i >= 20 && i < 50 ? i - 10 : pattern;
    EXPECT_EQ(data[i], expected) << i;
  }
}

TEST_P(RealVendor, ManyPatternsOfFill) {
  auto memory = device_->allocate(128 * 6, nullptr).value();
  for (const size_t size : {1, 2, 3, 4, 8, 12, 16, 64, 128}) {
    std::vector<std::byte> pattern(size);
    for (size_t i = 0; i < size; ++i) pattern[i] = static_cast<std::byte>(i + 1);
    ASSERT_TRUE(queue_->fill(*memory, size, size * 2, pattern, {})) << size;
    std::vector<std::byte> data(size * 2);
    ASSERT_TRUE(queue_->read_blocking(*memory, size, size * 2, data.data()));
    for (size_t i = 0; i < size * 2; ++i) EXPECT_EQ(data[i], pattern[i % size]) << size;
  }
}

TEST_P(RealVendor, WindowsOfBuffers) {
  auto scale = kernel("scale");
  const size_t origin = std::max<size_t>(device_->traits().memory_alignment, 128);
  auto memory = iota(origin);  // 4 * origin bytes
  const cl_uint factor = 10;
  Argument arguments[2] = {memory_argument(*memory), {}};
  arguments[0].origin = origin;
  arguments[0].size = origin;
  arguments[1].bytes = std::as_bytes(std::span(&factor, 1));
  Launch launch;
  launch.kernel = scale.get();
  launch.arguments = arguments;
  launch.global = {8, 1, 1};
  ASSERT_TRUE(queue_->launch(launch, {}));
  const auto data = read(*memory);
  for (cl_uint i = 0; i < data.size(); ++i) {
    EXPECT_EQ(data[i], i >= origin / 4 && i < origin / 4 + 8 ? 10 * i : i) << i;
  }
}

TEST_P(RealVendor, WaitListsAcrossQueues) {
  auto other = device_->create_queue({}).value();
  auto memory = iota(64);
  Doubling doubling(kernel("scale"), *memory, 64);
  Launch& launch = doubling.launch;
  // Nobody flushes the first queue; the second one's command must get to run all the same.
  std::vector<CompletionPtr> chain{queue_->launch(launch, {}).value()};
  for (int i = 1; i < 12; ++i) {
    Queue& queue = i % 2 ? *other : *queue_;
    chain.push_back(queue.launch(launch, chain).value());
  }
  ASSERT_TRUE(chain.back()->wait());
  const auto data = read(*memory);
  for (cl_uint i = 0; i < 64; ++i) EXPECT_EQ(data[i], i << 12);
}

TEST_P(RealVendor, LaunchesThatNobodyObserves) {
  auto other = device_->create_queue({}).value();
  auto memory = iota(64);
  Doubling doubling(kernel("scale"), *memory, 64);
  Launch& launch = doubling.launch;
  launch.observed = false;
  const auto first = queue_->launch(launch, {}).value();
  EXPECT_FALSE(first->times());
  // Another queue waits for it, a wait ends it, and a later command's end tells of its own.
  const auto second = other->launch(launch, {{first}}).value();
  EXPECT_TRUE(second->wait());
  EXPECT_TRUE(first->wait());
  EXPECT_EQ(first->poll(), CL_COMPLETE);
  const auto third = queue_->launch(launch, {{second}}).value();
  launch.observed = true;
  const auto last = queue_->launch(launch, {}).value();
  ASSERT_TRUE(last->wait());
  EXPECT_EQ(last->poll(), CL_COMPLETE);
  EXPECT_EQ(third->poll(), CL_COMPLETE);
  launch.observed = false;
  const auto finished = queue_->launch(launch, {}).value();
  ASSERT_TRUE(queue_->finish());
  EXPECT_EQ(finished->poll(), CL_COMPLETE);
  // Completions outlive their queue.
  const auto survivor = other->launch(launch, {}).value();
  other.reset();
  EXPECT_TRUE(survivor->wait());
  const auto data = read(*memory);
  for (cl_uint i = 0; i < 64; ++i) EXPECT_EQ(data[i], i << 6);
}

TEST_P(RealVendor, WritesThatNobodyObserves) {
  auto queue = device_->create_queue({.profiling = true}).value();
  auto other = device_->create_queue({}).value();
  auto memory = iota(64);
  const cl_uint values[2] = {7, 8}, more[2] = {9, 10};
  const auto first = queue->write(*memory, 0, 8, values, {{}, false}).value();
  EXPECT_TRUE(first->wait());
  EXPECT_EQ(first->poll(), CL_COMPLETE);
  EXPECT_FALSE(first->times());  // it has no event of its own
  // Another queue waits for one.
  const auto second = queue->write(*memory, 8, 8, more, {{}, false}).value();
  cl_uint data[5]{};
  ASSERT_TRUE(other->read(*memory, 0, sizeof data, data, WaitList(&second, 1)).value()->wait());
  EXPECT_THAT(data, testing::ElementsAre(7, 8, 9, 10, 4));
  EXPECT_EQ(second->poll(), CL_COMPLETE);
}

TEST_P(RealVendor, TimesAreOrderedAndReal) {
  constexpr size_t kWords = 1 << 20;
  auto memory = iota(kWords);
  std::vector<cl_uint> data(kWords);
  auto completion = queue_->read(*memory, 0, kWords * sizeof(cl_uint), data.data(), {}).value();
  ASSERT_TRUE(completion->wait());
  const auto times = completion->times();
  const DeviceTraits& traits = device_->traits();
  const bool measures = traits.platform_name != "rusticl" ||
                        driver_version_of(traits.driver_version) >= DriverVersion{25, 0};
  ASSERT_EQ(times.has_value(), measures);
  if (!times) return;
  EXPECT_GT(times->ended - times->queued, 1000u);  // 4 MiB in no microsecond
  EXPECT_LE(times->queued, times->submitted);
  EXPECT_LE(times->submitted, times->started);
  EXPECT_LE(times->started, times->ended);
  EXPECT_GT(times->ended, 0u);
}

TEST_P(RealVendor, CompletionsOutliveTheirQueue) {
  auto memory = iota(1024);
  std::vector<cl_uint> data(1024);
  auto queue = device_->create_queue({}).value();
  auto completion = queue->read(*memory, 0, 4096, data.data(), {}).value();
  queue.reset();
  EXPECT_TRUE(completion->wait());
  EXPECT_EQ(data[1023], 1023u);
}

TEST_P(RealVendor, BuildErrorsGiveTheVendorsLog) {
  const BuildResult result =
      device_->build("kernel void k(global int* a) { a[0] = nonsense; }", "");
  EXPECT_FALSE(result.module);
  EXPECT_EQ(result.code, CL_BUILD_PROGRAM_FAILURE);
  EXPECT_THAT(result.log, HasSubstr("nonsense"));
  const BuildResult good = device_->build(kSource, "");
  ASSERT_TRUE(good.module) << good.log;
  EXPECT_FALSE(good.module->create_kernel("nonsense"));
  EXPECT_GT(good.module->binary().value().size(), 0u);
  auto scale = good.module->create_kernel("scale").value();
  const auto size = scale->work_group_info(CL_KERNEL_WORK_GROUP_SIZE).value();
  EXPECT_EQ(size.size(), sizeof(size_t));
}

// What the trial with copies found must hold for kernels, also at addresses that only the data type
// aligns.
TEST_P(RealVendor, KernelsWorkOnSharedHostMemory) {
  if (!device_->traits().shares_host_memory) GTEST_SKIP() << "its memory is apart from the host's";
  auto scale = kernel("scale");
  for (const size_t shift : {size_t{0}, size_t{1}, size_t{5}}) {
    std::vector<cl_uint> host(1 << 16, 1);
    const size_t count = host.size() - 16;
    auto memory = device_->allocate(count * 4, host.data() + shift).value();
    const cl_uint factor = 6;
    Argument arguments[2] = {memory_argument(*memory), {}};
    arguments[1].bytes = std::as_bytes(std::span(&factor, 1));
    Launch launch;
    launch.kernel = scale.get();
    launch.arguments = arguments;
    launch.global = {count, 1, 1};
    std::fill_n(host.begin() + static_cast<std::ptrdiff_t>(shift), count, 2u);  // after creation
    auto done = queue_->launch(launch, {}).value();
    ASSERT_TRUE(done->wait());
    for (size_t i = 0; i < host.size(); ++i) {
      ASSERT_EQ(host[i], i >= shift && i < shift + count ? 12u : 1u) << i << " shift " << shift;
    }
    std::fill_n(host.begin() + static_cast<std::ptrdiff_t>(shift), count, 3u);
    ASSERT_TRUE(queue_->launch(launch, {}).value()->wait());
    ASSERT_EQ(host[shift + count - 1], 18u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RealVendor,
                         ::testing::Values(std::pair<const char*, size_t>{"Portable", 0},
                                           std::pair<const char*, size_t>{"Portable", 1},
                                           std::pair<const char*, size_t>{"rusticl", 0},
                                           std::pair<const char*, size_t>{"Oclgrind", 0},
                                           std::pair<const char*, size_t>{"NVIDIA", 0}),
                         [](const auto& test) {
                           return std::string(test.param.first) + std::to_string(test.param.second);
                         });

TEST(RealVendors, SomeAreInstalled) { EXPECT_GE(all_backends().size(), 1u); }

// Two PoCL devices that run one program's binary at the same time abort the process; the builds
// must differ (quirks.cpp).
TEST(RealVendors, DevicesRunTheSameProgramAtTheSameTime) {
  std::vector<std::thread> threads;
  for (const auto& each : all_backends()) {
    Backend* device = each.get();
    threads.emplace_back([device] {
      auto queue = device->create_queue({}).value();
      BuildResult built = device->build(kSource, "");
      ASSERT_TRUE(built.module) << built.log;
      auto kernel = built.module->create_kernel("scale").value();
      auto memory = device->allocate(4096, nullptr).value();
      const cl_uint zero = 0;
      ASSERT_TRUE(queue->fill(*memory, 0, 4096, std::as_bytes(std::span(&zero, 1)), {}));
      Argument arguments[2] = {memory_argument(*memory), {}};
      const bool slow = device->traits().platform_name == "Oclgrind";
      for (cl_uint i = 0; i < (slow ? 10u : 300u); ++i) {
        arguments[1].bytes = std::as_bytes(std::span(&i, 1));
        Launch launch;
        launch.kernel = kernel.get();
        launch.arguments = arguments;
        launch.global = {1024, 1, 1};
        ASSERT_TRUE(queue->launch(launch, {}));
      }
      ASSERT_TRUE(queue->finish());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// One kernel object, several threads: arguments and launch belong together.
TEST(RealVendors, ThreadsShareAKernel) {
  Backend& device = *all_backends().at(0);
  BuildResult built = device.build(kSource, "");
  ASSERT_TRUE(built.module) << built.log;
  auto kernel = built.module->create_kernel("scale").value();
  std::vector<std::thread> threads;
  for (cl_uint number = 2; number < 6; ++number) {
    threads.emplace_back([&device, &kernel, number] {
      auto queue = device.create_queue({}).value();
      auto memory = device.allocate(256, nullptr).value();
      for (int i = 0; i < 50; ++i) {
        const cl_uint one = 1;
        ASSERT_TRUE(queue->fill(*memory, 0, 256, std::as_bytes(std::span(&one, 1)), {}));
        Argument arguments[2] = {memory_argument(*memory), {}};
        arguments[1].bytes = std::as_bytes(std::span(&number, 1));
        Launch launch;
        launch.kernel = kernel.get();
        launch.arguments = arguments;
        launch.global = {64, 1, 1};
        ASSERT_TRUE(queue->launch(launch, {}));
        std::vector<cl_uint> data(64);
        ASSERT_TRUE(queue->read_blocking(*memory, 0, 256, data.data()));
        ASSERT_THAT(data, Each(number));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RealVendors, CoresAreKeptForTheHostWhereTheVendorCan) {
  std::vector<platform::DeviceReport> report;
  Config config;
  config.vendors.value = TUTTI_TEST_VENDORS;
  config.keep_cores.value = 1;
  config.devices.value = "portable";
  const auto backends = platform::create_backends(config, &report);
  if (backends.empty()) GTEST_SKIP() << "PoCL is not installed";
  uint32_t whole = 0;
  for (const platform::FoundDevice& device : platform::vendor_loader(config).devices()) {
    if (device.traits.platform_name == backends[0]->traits().platform_name && whole == 0) {
      whole = device.traits.compute_units;
    }
  }
  // A one-core `basic` device keeps its only core, with a warning.
  EXPECT_EQ(backends[0]->traits().compute_units, whole > 1 ? whole - 1 : 1u);
  EXPECT_TRUE(backends[0]->create_queue({}));
}

}  // namespace
}  // namespace tutti::backends
