// SPDX-License-Identifier: Apache-2.0
// Parts of devices: backends that come later, and streams whose kernels run on some backends only.
#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineParts : public EngineTest {
 protected:
  FakeBackend& fake(uint32_t backend) { return static_cast<FakeBackend&>(set->at(backend)); }
};

TEST_F(EngineParts, KernelsStayOnWhatTheirStreamMayUse) {
  for (const SplitMode split : {SplitMode::kAuto, SplitMode::kForce}) {
    engine.reset();
    fakes.clear();
    start({kOwnMemory, kSharesHost, kOwnMemory}, split);
    auto in = buffer(2);
    for (uint32_t i = 0; i < 3; ++i) {
      auto out = buffer(0);
      auto stream = engine->create_stream({.backends = backend_bit(i)});
      std::vector<uint64_t> before;
      for (auto* one : fakes) before.push_back(one->launches);
      ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 1)));
      EXPECT_EQ(read(*stream, out), filled(7));
      for (uint32_t j = 0; j < 3; ++j) EXPECT_EQ(fakes[j]->launches > before[j], i == j);
    }
    // Two of three, together.
    auto out = buffer(0);
    auto stream = engine->create_stream({.backends = backend_bit(0) | backend_bit(2)});
    const uint64_t before = fakes[1]->launches;
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 1)));
    EXPECT_EQ(read(*stream, out), filled(7));
    EXPECT_EQ(fakes[1]->launches, before);
  }
}

TEST_F(EngineParts, StreamsOverDifferentPartsShareBuffers) {
  for (const SplitMode split : {SplitMode::kAuto, SplitMode::kForce}) {
    engine.reset();
    fakes.clear();
    start({kOwnMemory, kCostlyTimes}, split);
    auto early = buffer(1);  // made before the parts are
    auto whole = engine->create_stream({});
    const uint32_t units[] = {1, 2};
    auto parts = set->parts(0, units);
    ASSERT_TRUE(parts);
    ASSERT_EQ(set->count(), 4u);
    EXPECT_EQ(set->real_count(), 2u);
    auto first = engine->create_stream({.backends = backend_bit((*parts)[0])});
    auto second = engine->create_stream({.backends = backend_bit((*parts)[1]) | backend_bit(1)});
    auto late = buffer(0);
    // early → late on the first part, late → early on the second, early → late on the whole.
    Ref<Command> last = *enqueue(*first, map_kernel(early, late, 1));    // 4
    last = *enqueue(*second, map_kernel(late, early, 2), {last.get()});  // 14
    last = *enqueue(*whole, map_kernel(early, late, 3), {last.get()});   // 45
    Command* waited = last.get();
    ASSERT_TRUE(engine->wait({&waited, 1}));
    EXPECT_EQ(read(*first, late), filled(45));
    EXPECT_EQ(read(*whole, early), filled(14));
    EXPECT_EQ(fake((*parts)[0]).launches > 0, true);
    EXPECT_TRUE(engine->finish(*first));
    EXPECT_TRUE(engine->finish(*second));
    EXPECT_TRUE(engine->finish(*whole));
  }
}

TEST_F(EngineParts, PackagesTakeTurnsOnTheQueuesOfADeviceThatOverlapsThem) {
  start({kCostlyTimes, kOwnMemory}, SplitMode::kForce);
  auto in = buffer(2), out = buffer(0);
  auto stream = engine->create_stream({});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(enqueue(*stream, map_kernel(in, out, 1)));
  EXPECT_EQ(read(*stream, out), filled(7));
  EXPECT_EQ(fakes[0]->launching_queues, 2u);
  EXPECT_EQ(fakes[1]->launching_queues, 1u);
}

TEST_F(EngineParts, EqualPartsAreMadeOnce) {
  start({kSharesHost}, SplitMode::kAuto);
  const uint32_t two[] = {1, 1};
  const uint32_t one[] = {1};
  const uint32_t other[] = {2};
  const auto made = set->parts(0, two);
  ASSERT_TRUE(made);
  EXPECT_EQ(*set->parts(0, two), *made);
  EXPECT_EQ(*set->parts(0, one), std::vector<uint32_t>{made->front()});
  EXPECT_EQ(set->count(), 3u);
  EXPECT_EQ(*set->parts(0, other), std::vector<uint32_t>{3});
  // Parts of a part.
  EXPECT_EQ(*set->parts(3, two), (std::vector<uint32_t>{4, 5}));
  // The places end somewhere, with an error.
  cl_int code = CL_SUCCESS;
  for (uint32_t units = 10; units < 100 && code == CL_SUCCESS; ++units) {
    code = code_of(set->parts(0, {&units, 1}).map([](const auto&) {}));
  }
  EXPECT_EQ(code, CL_DEVICE_PARTITION_FAILED);
  EXPECT_EQ(set->count(), kMostBackends);
  EXPECT_EQ(*set->parts(0, two), *made);
}

TEST_F(EngineParts, AKernelThatIsNotBuiltThereFails) {
  start({kSharesHost, kSharesHost}, SplitMode::kAuto);
  auto in = buffer(1), out = buffer(0);
  auto work = map_kernel(in, out, 1);  // for the two that exist now
  const uint32_t one[] = {1};
  auto stream = engine->create_stream({.backends = backend_bit(set->parts(0, one)->front())});
  const auto outcome = enqueue(*stream, std::move(work));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, CL_OUT_OF_RESOURCES);
}

}  // namespace
}  // namespace tutti::testing
