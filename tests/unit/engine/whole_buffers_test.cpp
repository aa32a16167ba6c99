// SPDX-License-Identifier: Apache-2.0
// Devices whose drivers launch on all of a buffer only, where an argument shows a part of one.
// (Random programs on such devices are in engine_property_test.cpp.)
#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class WholeBuffers : public EngineTest {
 protected:
  static constexpr uint32_t kItems = kBytes - 3 * kGroup;
  static constexpr uint64_t kIn = 2 * kGroup, kOut = kGroup;  // where the arguments begin

  static BufferView part(const Ref<LogicalBuffer>& buffer, uint64_t origin) {
    BufferView view;
    view.buffer = buffer;
    view.origin = origin;
    view.size = kItems;
    return view;
  }
  KernelWork kernel(KernelForm form, const Ref<LogicalBuffer>& in, const Ref<LogicalBuffer>& out) {
    KernelWork work = map_kernel(in, out, 1);
    work.kernel = fake_kernel(form, set->count());
    auto arguments = std::make_shared<ArgumentSet>(*work.arguments);
    (*arguments)[0].view = part(in, kIn);
    (*arguments)[1].view = part(out, kOut);
    std::memcpy((*arguments)[2].bytes.data(), &kItems, sizeof kItems);
    work.arguments = arguments;
    work.shape.global[0] = kItems;
    return work;
  }
};

TEST_F(WholeBuffers, AnArgumentMayShowAPart) {
  for (const FakeKinds& devices :
       std::vector<FakeKinds>{{kWholeBuffers},
                              {kWholeBuffers, kWholeBuffers},
                              {kOwnMemory, kWholeBuffers, kSharesHost}}) {
    for (const SplitMode mode : {SplitMode::kAuto, SplitMode::kForce, SplitMode::kNever}) {
      for (const KernelForm form :
           {KernelForm::kMap, KernelForm::kSparse, KernelForm::kGather, KernelForm::kStencil,
            KernelForm::kScatter, KernelForm::kCount}) {
        SCOPED_TRACE(to_string(devices) + ", " + std::to_string(static_cast<int>(mode)) + ", " +
                     std::to_string(static_cast<int>(form)));
        start(devices, mode);
        auto stream = engine->create_stream({});
        const auto in = buffer(3), out = buffer(5);
        auto expected = filled(5);
        const auto given = filled(3);
        for (int times = 0; times < 3; ++times) {
          const auto launched = enqueue(*stream, kernel(form, in, out));
          ASSERT_TRUE(launched) << launched.error().message;
          for (uint32_t i = 0; i < kItems; ++i) {
            apply(form, given.data() + kIn, expected.data() + kOut, i, kItems, 1);
          }
        }
        ASSERT_TRUE(engine->finish(*stream));
        EXPECT_EQ(read(*stream, out), expected);
        engine.reset();
      }
    }
  }
}

// It has none, or one that leaves an argument as it is, such as a pointer to constants.
TEST_F(WholeBuffers, WithoutTheVariantItIsToldAtTheLaunch) {
  for (const uint32_t shifted : {0u, 1u, 2u}) {
    for (const FakeKinds& devices :
         std::vector<FakeKinds>{{kWholeBuffers}, {kWholeBuffers, kWholeBuffers}}) {
      start(devices, SplitMode::kForce);
      auto stream = engine->create_stream({});
      const auto in = buffer(3), out = buffer(5);
      KernelWork work = kernel(KernelForm::kMap, in, out);
      KernelSummary summary = summary_of(KernelForm::kMap);
      summary.shard_arguments = shifted;
      work.kernel = std::make_shared<FakeKernel>(
          summary, [](const FakeItem& item) { run_item(KernelForm::kMap, item); }, set->count());
      const auto launched = enqueue(*stream, work);
      if (launched) {
        static_cast<void>(engine->finish(*stream));
        EXPECT_EQ((*launched)->status(), CL_INVALID_OPERATION);
      } else {
        EXPECT_EQ(launched.error().code, CL_INVALID_OPERATION);
      }
      for (const FakeBackend* fake : fakes) EXPECT_EQ(fake->launches, 0u);
      engine.reset();
    }
  }
}

}  // namespace
}  // namespace tutti::testing
