// SPDX-License-Identifier: Apache-2.0
// What a build does with backends that succeed, fail, or are asked for the rewritten variant.
#include <future>
#include <latch>
#include <thread>

#include "built_program_fakes.h"

namespace tutti::device_virtual {
namespace {

TEST_F(BuiltProgramTest, FindsKernelsByName) {
  const auto program = built(false);
  EXPECT_EQ(program->find("k"), 0u);
  EXPECT_FALSE(program->find("K"));
  EXPECT_NE(program->kernel_key("k"), program->kernel_key("l"));
  EXPECT_EQ(program->kernel_key("k"), built(false)->kernel_key("k"));
}

TEST_F(BuiltProgramTest, VariablesAreAsThePrimarysDriverCountsThem) {
  fakes_[1]->has("__opencl_c_program_scope_global_variables");
  const auto program = built(false);
  EXPECT_EQ(program->variable_bytes(scheduler::backend_bit(1)), 64u);
  EXPECT_EQ(program->variable_bytes(scheduler::backend_bit(0)), 0u);
  EXPECT_EQ(program->variable_bytes(0), 0u);
}

TEST_F(BuiltProgramTest, UntouchedKernelsHaveOneVariant) {
  const auto program = built(false);
  KernelExecutable kernel(program, 0);
  const auto untouched = kernel.vendor_kernel(0, KernelVariant::kUntouched);
  const auto sub_range = kernel.vendor_kernel(0, KernelVariant::kSubRange);
  ASSERT_TRUE(untouched && sub_range);
  EXPECT_EQ(*untouched, *sub_range);
  EXPECT_EQ(fakes_[0]->builds, 1);
  EXPECT_EQ(fakes_[0]->kernels, 1);
}

TEST_F(BuiltProgramTest, RewrittenVariantIsBuiltOnceByManyThreads) {
  const auto program = built(true);
  std::latch building(1);
  fakes_[1]->on_build = [&] { building.wait(); };
  std::atomic<int> succeeded{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      KernelExecutable kernel(program, 0);
      if (kernel.vendor_kernel(1, KernelVariant::kSubRange)) ++succeeded;
    });
  }
  // Meanwhile the other backend, and the untouched variant, are free.
  KernelExecutable kernel(program, 0);
  EXPECT_TRUE(kernel.vendor_kernel(0, KernelVariant::kSubRange));
  EXPECT_TRUE(kernel.vendor_kernel(1, KernelVariant::kUntouched));
  building.count_down();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(succeeded, 8);
  EXPECT_EQ(fakes_[1]->builds, 2);  // untouched, rewritten
  EXPECT_EQ(fakes_[1]->last_source, "rewritten");
}

TEST_F(BuiltProgramTest, FailedRewrittenBuildIsRemembered) {
  const auto program = built(true);
  fakes_[0]->failure = CL_BUILD_PROGRAM_FAILURE;
  KernelExecutable kernel(program, 0);
  for (int i = 0; i < 3; ++i) {
    const auto result = kernel.vendor_kernel(0, KernelVariant::kSubRange);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, CL_BUILD_PROGRAM_FAILURE);
    EXPECT_NE(result.error().message.find("says no"), std::string::npos);
  }
  EXPECT_EQ(fakes_[0]->builds, 2);
  EXPECT_TRUE(kernel.vendor_kernel(0, KernelVariant::kUntouched));
}

TEST_F(BuiltProgramTest, BuildIsTriedAgainWhereTheDeviceWasLost) {
  const auto program = built(true);
  KernelExecutable kernel(program, 0);
  fakes_[0]->failure = CL_DEVICE_NOT_AVAILABLE;
  for (int i = 0; i < 5; ++i) {  // it is away for long
    const auto result = kernel.vendor_kernel(0, KernelVariant::kSubRange);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, CL_DEVICE_NOT_AVAILABLE);
  }
  EXPECT_EQ(kernel.built_on(), 3u);
  EXPECT_EQ(kernel.failed_on(), 0u);
  fakes_[0]->begun_anew = 1;
  fakes_[0]->failure = CL_SUCCESS;
  EXPECT_TRUE(kernel.vendor_kernel(0, KernelVariant::kSubRange));
  EXPECT_EQ(kernel.ready_on(KernelVariant::kSubRange), 1u);
}

TEST_F(BuiltProgramTest, BuildThatFailsWhileTheDeviceBeginsAnewIsTriedAgain) {
  const auto program = built(true);
  KernelExecutable kernel(program, 0);
  fakes_[0]->failure = CL_OUT_OF_RESOURCES;
  fakes_[0]->on_build = [this] { fakes_[0]->begun_anew = 1; };
  EXPECT_FALSE(kernel.vendor_kernel(0, KernelVariant::kSubRange));
  fakes_[0]->on_build = {};
  fakes_[0]->failure = CL_SUCCESS;
  EXPECT_TRUE(kernel.vendor_kernel(0, KernelVariant::kSubRange));
}

TEST_F(BuiltProgramTest, ProgramThatItsDeviceIsLostByIsLeftAlone) {
  const auto program = built(true);
  KernelExecutable kernel(program, 0);
  fakes_[0]->failure = CL_DEVICE_NOT_AVAILABLE;
  for (uint32_t i = 0; i < 6; ++i) {
    fakes_[0]->begun_anew = i;
    EXPECT_FALSE(kernel.vendor_kernel(0, KernelVariant::kSubRange));
  }
  EXPECT_EQ(fakes_[0]->builds, 1 + 3);
  EXPECT_EQ(kernel.built_on(), 3u);
  EXPECT_TRUE(kernel.vendor_kernel(0, KernelVariant::kUntouched));
}

TEST_F(BuiltProgramTest, BuildsThatAreWorthItEndWhereTheDeviceIsLost) {
  kernel_compiler::CompileOutput output;
  output.ok = true;
  output.preprocessed = "untouched";
  output.summary.kernels.resize(1);
  output.summary.kernels[0].name = "k";
  const auto made =
      std::make_shared<ProgramModules>(*set_, texts_of(std::move(output)), everywhere());
  ProgramModules& modules = *made;
  EXPECT_TRUE(modules.get(0, KernelVariant::kUntouched));
  fakes_[1]->failure = CL_DEVICE_NOT_AVAILABLE;
  constexpr double kSeconds = 3600;  // whatever a build may take
  modules.note_gain(kSeconds, 2, KernelVariant::kUntouched);
  // Who planned with what there is need not plan anew.
  EXPECT_FALSE(modules.build_if_worth(2, KernelVariant::kUntouched));
  EXPECT_EQ(fakes_[1]->builds, 1);
  fakes_[1]->failure = CL_SUCCESS;
  modules.note_gain(kSeconds, 2, KernelVariant::kUntouched);
  EXPECT_TRUE(modules.build_if_worth(2, KernelVariant::kUntouched));
}

constexpr const char* kGoodSource = "kernel void k(global int* a) { a[get_global_id(0)] = 1; }\n";

TEST_F(BuiltProgramTest, AllBackendsGetThePreprocessedSource) {
  auto asked = request("#define NAME k\nkernel void NAME(global int* a) { a[0] = N; }\n");
  asked.options = "-DN=4 -cl-mad-enable";
  const BuildOutcome outcome = build_program(*set_, apart(), asked);
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(outcome.program->built_on(), 3u);
  EXPECT_TRUE(outcome.program->find("k"));
  for (FakeBackend* fake : fakes_) {
    EXPECT_NE(fake->last_source.find("a[0] = 4"), std::string::npos) << fake->last_source;
    EXPECT_NE(fake->last_options.find("-cl-mad-enable"), std::string::npos);
  }
}

TEST_F(BuiltProgramTest, LikeDevicesLoadWhatOneHasBuilt) {
  make_devices("like");
  BuildOutcome outcome = build_program(*set_, apart(), request(kGoodSource));
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(outcome.program->built_on(), 3u);
  EXPECT_EQ(fakes_[0]->builds, 1);
  EXPECT_EQ(fakes_[1]->builds, 0);
  EXPECT_EQ(fakes_[1]->loads, 1);
  // The variant, too, whoever needs it first.
  ASSERT_TRUE(outcome.program->create_kernel(1, KernelVariant::kSubRange, "k"));
  ASSERT_TRUE(outcome.program->create_kernel(0, KernelVariant::kSubRange, "k"));
  EXPECT_EQ(fakes_[0]->builds, 2);
  EXPECT_EQ(fakes_[1]->builds, 0);
  // Where it does not load, or there is nothing to load, it is built.
  fakes_[1]->load_failure = CL_INVALID_BINARY;
  outcome = build_program(*set_, apart(), request(kGoodSource));
  EXPECT_EQ(outcome.program->built_on(), 3u);
  EXPECT_EQ(fakes_[1]->builds, 1);
  fakes_[0]->failure = CL_BUILD_PROGRAM_FAILURE;
  outcome = build_program(*set_, apart(), request(kGoodSource));
  EXPECT_EQ(outcome.program->built_on(), 2u);
  EXPECT_EQ(fakes_[1]->builds, 2);
}

TEST_F(BuiltProgramTest, BackendThatCannotBuildIsLeftOut) {
  fakes_[0]->failure = CL_BUILD_PROGRAM_FAILURE;
  const BuildOutcome outcome = build_program(*set_, apart(), request(kGoodSource));
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(outcome.program->built_on(), 2u);
  EXPECT_NE(outcome.log.find("device 0 (Fake) is left out"), std::string::npos) << outcome.log;
  KernelExecutable kernel(outcome.program, 0);
  EXPECT_FALSE(kernel.vendor_kernel(0, KernelVariant::kUntouched));
  EXPECT_TRUE(kernel.vendor_kernel(1, KernelVariant::kUntouched));
  EXPECT_EQ(kernel.max_work_group_size().value(), 64u);
}

TEST_F(BuiltProgramTest, WhenAllFailTheLogIsTheVendors) {
  fakes_[0]->failure = fakes_[1]->failure = CL_BUILD_PROGRAM_FAILURE;
  const BuildOutcome outcome = build_program(*set_, apart(), request(kGoodSource));
  EXPECT_EQ(outcome.code, CL_BUILD_PROGRAM_FAILURE);
  EXPECT_EQ(outcome.program, nullptr);
  EXPECT_NE(outcome.log.find("device 0 says no"), std::string::npos) << outcome.log;
  EXPECT_NE(outcome.log.find("device 1 says no"), std::string::npos) << outcome.log;
}

TEST_F(BuiltProgramTest, ExceptionsOfABackendAreAFailedBuild) {
  fakes_[1]->on_build = [] { throw std::bad_alloc(); };
  const BuildOutcome outcome = build_program(*set_, apart(), request(kGoodSource));
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(outcome.program->built_on(), 1u);
}

TEST_F(BuiltProgramTest, SourceErrorsNeverReachAVendor) {
  const BuildOutcome outcome = build_program(*set_, apart(), request("kernel void k(oops x) {}\n"));
  EXPECT_EQ(outcome.code, CL_BUILD_PROGRAM_FAILURE);
  EXPECT_NE(outcome.log.find("oops"), std::string::npos) << outcome.log;
  EXPECT_EQ(fakes_[0]->builds + fakes_[1]->builds, 0);
}

constexpr char kUnknown[] = "kernel void k(global int* o) { o[0] = oops(1); }\n";

TEST_F(BuiltProgramTest, ErrorsInsideOfFunctionsAreThePrimarysToJudge) {
  const uint32_t primary = set_->primary(everywhere()), other = 1 - primary;
  const BuildOutcome outcome = build_program(*set_, together(), request(kUnknown));
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_TRUE(outcome.log.starts_with("warning: ")) << outcome.log;
  EXPECT_NE(outcome.log.find("'oops'"), std::string::npos) << outcome.log;
  EXPECT_EQ(outcome.log.find("error: "), std::string::npos) << outcome.log;
  EXPECT_NE(fakes_[primary]->last_source.find("oops(1)"), std::string::npos);
  EXPECT_EQ(outcome.program->built_on(), scheduler::backend_bit(primary));
  EXPECT_EQ(fakes_[other]->builds, 0);
  const KernelExecutable kernel(outcome.program, 0);
  EXPECT_NE(kernel.summary().whole_reason, "");
  EXPECT_EQ(kernel.built_on(), scheduler::backend_bit(primary));
  // Its variables, if it has any, are gone with the device.
  ++fakes_[primary]->begun_anew;
  EXPECT_EQ(kernel.built_on(), 0u);
}

TEST_F(BuiltProgramTest, OfSeveralDevicesEachPrimaryIsAsked) {
  const BuildOutcome outcome = build_program(*set_, apart(), request(kUnknown));
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(outcome.program->built_on(), everywhere());
  EXPECT_EQ(KernelExecutable(outcome.program, 0).built_on(),
            scheduler::backend_bit(set_->primary(everywhere())));
}

TEST_F(BuiltProgramTest, WhereThePrimaryFindsErrorsAsWellBothLogsAreShown) {
  const uint32_t primary = set_->primary(everywhere()), other = 1 - primary;
  fakes_[primary]->failure = CL_OUT_OF_RESOURCES;
  const BuildOutcome outcome = build_program(*set_, together(), request(kUnknown));
  EXPECT_EQ(outcome.code, CL_BUILD_PROGRAM_FAILURE);
  EXPECT_EQ(outcome.program, nullptr);
  const size_t ours = outcome.log.find("error: ");
  EXPECT_LT(ours, outcome.log.find(" says no")) << outcome.log;
  EXPECT_EQ(fakes_[other]->builds, 0);
}

TEST_F(BuiltProgramTest, InvalidOptions) {
  auto asked = request(kGoodSource);
  asked.options = "-no-such-option";
  EXPECT_EQ(build_program(*set_, apart(), asked).code, CL_INVALID_BUILD_OPTIONS);
  EXPECT_EQ(check_options(asked).code, CL_INVALID_BUILD_OPTIONS);
  asked.source = "broken {";
  asked.options = "-w";
  EXPECT_EQ(check_options(asked).code, CL_SUCCESS);
}

// ---- what is built when
// --------------------------------------------------------------------------

TEST_F(BuiltProgramTest, OneVariantOnOneDeviceIsBuiltUntilMoreIsNeeded) {
  const BuildOutcome outcome = build_program(*set_, together(), request(kGoodSource));
  ASSERT_NE(outcome.program, nullptr) << outcome.log;
  KernelExecutable kernel(outcome.program, 0);
  EXPECT_TRUE(kernel.vendor_kernel(0, KernelVariant::kUntouched));
  EXPECT_EQ(kernel.max_work_group_size().value(), 256u);
  EXPECT_TRUE(kernel.preferred_multiple());
  EXPECT_TRUE(kernel.static_local_memory());
  EXPECT_EQ(fakes_[0]->builds, 1);
  EXPECT_EQ(fakes_[1]->builds, 0);
  EXPECT_EQ(outcome.program->built_on(), 3u);
  EXPECT_EQ(kernel.ready_on(KernelVariant::kUntouched), 1u);
  EXPECT_GT(kernel.seconds_until_ready(3, KernelVariant::kUntouched), 0);
  EXPECT_TRUE(kernel.vendor_kernel(1, KernelVariant::kUntouched));
  EXPECT_EQ(fakes_[1]->builds, 1);
  EXPECT_EQ(kernel.ready_on(KernelVariant::kUntouched), 3u);
  EXPECT_EQ(kernel.seconds_until_ready(3, KernelVariant::kUntouched), 0);
}

TEST_F(BuiltProgramTest, SplitsNeedTheSubRangeVariantOnly) {
  const BuildOutcome outcome = build_program(
      *set_, together(),
      request("kernel void k(global int* a) { a[get_global_id(0)] = get_group_id(0); }\n"));
  ASSERT_NE(outcome.program, nullptr) << outcome.log;
  KernelExecutable kernel(outcome.program, 0);
  EXPECT_TRUE(kernel.vendor_kernel(1, KernelVariant::kSubRange));
  EXPECT_EQ(fakes_[1]->builds, 1);
  EXPECT_EQ(kernel.ready_on(KernelVariant::kUntouched), 1u);
  EXPECT_EQ(kernel.ready_on(KernelVariant::kSubRange), 2u);
}

TEST_F(BuiltProgramTest, ErrorsOfADeviceThatBuildsLaterLeaveItOut) {
  fakes_[1]->failure = CL_BUILD_PROGRAM_FAILURE;
  const BuildOutcome outcome = build_program(*set_, together(), request(kGoodSource));
  ASSERT_NE(outcome.program, nullptr) << outcome.log;
  EXPECT_EQ(fakes_[1]->builds, 0);
  KernelExecutable kernel(outcome.program, 0);
  EXPECT_FALSE(kernel.vendor_kernel(1, KernelVariant::kUntouched));
  EXPECT_EQ(outcome.program->built_on(), 1u);
}

TEST_F(BuiltProgramTest, WhereTheFirstCannotTheOthersAreAskedAtOnce) {
  fakes_[0]->failure = CL_BUILD_PROGRAM_FAILURE;
  const BuildOutcome outcome = build_program(*set_, together(), request(kGoodSource));
  ASSERT_NE(outcome.program, nullptr) << outcome.log;
  EXPECT_EQ(outcome.program->built_on(), 2u);
  EXPECT_NE(outcome.log.find("device 0 (Fake) is left out"), std::string::npos) << outcome.log;
  fakes_[1]->failure = CL_BUILD_PROGRAM_FAILURE;
  const BuildOutcome none = build_program(*set_, together(), request(kGoodSource));
  EXPECT_EQ(none.code, CL_BUILD_PROGRAM_FAILURE);
  EXPECT_NE(none.log.find("device 0 says no"), std::string::npos) << none.log;
  EXPECT_NE(none.log.find("device 1 says no"), std::string::npos) << none.log;
}

TEST_F(BuiltProgramTest, OthersBuildOnceLaunchesHaveForegoneWhatItTakes) {
  const BuildOutcome outcome = build_program(*set_, together(), request(kGoodSource));
  ASSERT_NE(outcome.program, nullptr) << outcome.log;
  KernelExecutable kernel(outcome.program, 0);
  const double builds = kernel.seconds_until_ready(3, KernelVariant::kUntouched);
  kernel.note_gain(0.9 * builds, 3, KernelVariant::kUntouched);
  EXPECT_FALSE(kernel.build_if_worth(3, KernelVariant::kUntouched));
  EXPECT_EQ(fakes_[1]->builds, 0);
  kernel.note_gain(0.2 * builds, 3, KernelVariant::kUntouched);
  EXPECT_TRUE(kernel.build_if_worth(3, KernelVariant::kUntouched));
  EXPECT_EQ(fakes_[1]->builds, 1);
  EXPECT_FALSE(kernel.build_if_worth(3, KernelVariant::kUntouched));
}

TEST_F(BuiltProgramTest, NobodyWaitsForWhatAHelperBuilds) {
  fakes_[1]->has_own_process();
  const BuildOutcome outcome = build_program(*set_, together(), request(kGoodSource));
  ASSERT_NE(outcome.program, nullptr) << outcome.log;
  KernelExecutable kernel(outcome.program, 0);
  std::promise<void> go;
  fakes_[1]->on_build = [&go] { go.get_future().wait(); };
  constexpr double kSeconds = 3600;  // whatever a build may take
  for (int launch = 0; launch < 3; ++launch) {
    kernel.note_gain(kSeconds, 3, KernelVariant::kUntouched);
    EXPECT_FALSE(kernel.build_if_worth(3, KernelVariant::kUntouched));
    EXPECT_EQ(kernel.ready_on(KernelVariant::kUntouched), 1u);
  }
  go.set_value();
  // Who needs it waits for the build that goes on.
  EXPECT_TRUE(kernel.vendor_kernel(1, KernelVariant::kUntouched));
  EXPECT_EQ(kernel.ready_on(KernelVariant::kUntouched), 3u);
  EXPECT_EQ(fakes_[1]->builds, 1);
}

TEST_F(BuiltProgramTest, WhatAHelperBuildsOutlivesTheProgram) {
  fakes_[1]->has_own_process();
  std::promise<void> go, begun, ended;
  fakes_[1]->on_build = [&] {
    begun.set_value();
    go.get_future().wait();
  };
  fakes_[1]->on_module_end = [&ended] { ended.set_value(); };
  {
    const BuildOutcome outcome = build_program(*set_, together(), request(kGoodSource));
    ASSERT_NE(outcome.program, nullptr) << outcome.log;
    KernelExecutable kernel(outcome.program, 0);
    constexpr double kSeconds = 3600;
    kernel.note_gain(kSeconds, 3, KernelVariant::kUntouched);
    EXPECT_FALSE(kernel.build_if_worth(3, KernelVariant::kUntouched));
    begun.get_future().wait();
  }
  go.set_value();
  ended.get_future().wait();
}

const double kSideBySide = scheduler::BuildTimes::side_by_side(3);

// The first device's build may be found in its driver's cache; that says nothing of another one's.
TEST_F(BuiltProgramTest, WhatIsNewToADriverIsExpectedToTakeLonger) {
  make_devices("", 4);
  const auto seconds = [this](std::optional<bool> kept, uint64_t devices) {
    for (FakeBackend* fake : fakes_) fake->kept = kept;
    const BuildOutcome outcome = build_program(*set_, together(), request(kGoodSource));
    EXPECT_NE(outcome.program, nullptr) << outcome.log;
    return KernelExecutable(outcome.program, 0)
        .seconds_until_ready(devices, KernelVariant::kUntouched);
  };
  EXPECT_GT(seconds(false, 15) * kSideBySide, 0.3);
  EXPECT_LT(seconds(true, 15), 0.1);
  EXPECT_LT(seconds(std::nullopt, 15), 0.1);
  EXPECT_LT(seconds(false, 7), 0.1) << "two builds are ventured";
}

TEST_F(BuiltProgramTest, WhatALikeDeviceHasBuiltTakesNextToNothing) {
  const auto seconds = [this](const std::string& kind) {
    make_devices("", 4, kind);
    for (FakeBackend* fake : fakes_) fake->kept = false;
    const BuildOutcome outcome = build_program(*set_, together(), request(kGoodSource));
    EXPECT_NE(outcome.program, nullptr) << outcome.log;
    return KernelExecutable(outcome.program, 0).seconds_until_ready(15, KernelVariant::kUntouched);
  };
  EXPECT_GT(seconds("") * kSideBySide, 0.3);
  EXPECT_LT(seconds("equal"), 0.1);
}

TEST_F(BuiltProgramTest, WhatHasGainedInEarlierProcessesIsBuiltAtOnce) {
  const TemporaryFolder folder;
  const std::string file = folder / "model.db";
  std::optional<bool> kept = false;
  // A process that gains `seconds` by the other devices; whether they built at once.
  const auto runs = [&](double seconds) {
    make_devices("", 4);
    for (FakeBackend* fake : fakes_) fake->kept = kept;
    set_->model().remember_in(file);
    for (uint32_t i = 0; i < 4; ++i) set_->model().set_device(i, std::to_string(i));
    const BuildOutcome outcome = build_program(*set_, together(), request(kGoodSource));
    EXPECT_NE(outcome.program, nullptr) << outcome.log;
    outcome.program->modules().note_gain(seconds / kSideBySide, 15, KernelVariant::kUntouched);
    set_->model().flush();
    EXPECT_EQ(fakes_[1]->builds, fakes_[2]->builds);
    return fakes_[1]->builds == 1;
  };
  EXPECT_FALSE(runs(0.1));
  // 0.45 s for the third of them, one at a time: twice as many runs to come pay for less.
  EXPECT_FALSE(runs(0.1));
  EXPECT_FALSE(runs(0.1));
  EXPECT_TRUE(runs(0.1));
  kept = true;  // found on disk from now on
  EXPECT_TRUE(runs(0.1));
}

// ---- compiled in parts --------------------------------------------------------------------------

constexpr const char* kKernelUnit =
    "int f(int i);\nkernel void k(global int* o) { o[get_global_id(0)] = f(1); }\n";
constexpr const char* kHelperUnit = "int f(int i) { return i + (int)get_group_id(0); }\n";

class LinkedProgramTest : public BuiltProgramTest {
 protected:
  CompiledUnits unit(const char* source) {
    auto asked = request(source);
    asked.unit = true;
    const BuildOutcome outcome = build_program(*set_, apart(), asked);
    EXPECT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
    EXPECT_EQ(outcome.program, nullptr);
    EXPECT_EQ(outcome.units.size(), 1u);
    return outcome.units;
  }
  CompiledUnits both() {
    CompiledUnits units = unit(kKernelUnit);
    units.push_back(unit(kHelperUnit).front());
    return units;
  }
};

TEST_F(LinkedProgramTest, ObjectsAreMadeOnceAndLinkedOnEveryBackend) {
  const CompiledUnits units = both();
  for (int round = 0; round < 2; ++round) {
    const BuildOutcome outcome = link_program(*set_, apart(), request(""), units, "-cl-mad-enable");
    ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
    EXPECT_EQ(outcome.program->built_on(), 3u);
    EXPECT_TRUE(outcome.program->summary().kernels.at(0).needs_rewrite);
  }
  for (const FakeBackend* fake : fakes_) {
    EXPECT_EQ(fake->builds, 0);
    EXPECT_EQ(fake->compilations, 2);
    EXPECT_EQ(fake->linked_objects.size(), 2u);
    EXPECT_EQ(fake->last_options, "-cl-mad-enable");
  }
}

TEST_F(LinkedProgramTest, LikeDevicesLoadWhatOneHasLinked) {
  make_devices("like");
  const CompiledUnits units = both();
  EXPECT_EQ(fakes_[1]->compilations, 0);
  BuildOutcome outcome = link_program(*set_, apart(), request(""), units, "");
  ASSERT_NE(outcome.program, nullptr) << outcome.log;
  EXPECT_EQ(outcome.program->built_on(), 3u);
  EXPECT_EQ(fakes_[1]->loads, 1);
  EXPECT_TRUE(fakes_[1]->linked_objects.empty());
  fakes_[1]->load_failure = CL_INVALID_BINARY;
  outcome = link_program(*set_, apart(), request(""), units, "");
  EXPECT_EQ(outcome.program->built_on(), 3u);
  EXPECT_EQ(fakes_[1]->linked_objects.size(), 2u);
  EXPECT_EQ(fakes_[1]->compilations, 2);
}

TEST_F(LinkedProgramTest, RewrittenVariantLinksTheUnitsThatChange) {
  CompiledUnits units = both();
  units.push_back(unit("kernel void other(global int* o) { o[0] = 1; }\n").front());
  const BuildOutcome outcome = link_program(*set_, apart(), request(""), units, "");
  ASSERT_NE(outcome.program, nullptr);
  const std::vector<backends::Object*> untouched = fakes_[0]->linked_objects;
  ASSERT_TRUE(outcome.program->create_kernel(0, KernelVariant::kSubRange, "k"));
  const std::vector<backends::Object*> rewritten = fakes_[0]->linked_objects;
  ASSERT_EQ(rewritten.size(), 3u);
  EXPECT_NE(rewritten[0], untouched[0]);
  EXPECT_NE(rewritten[1], untouched[1]);
  EXPECT_EQ(rewritten[2], untouched[2]);
  EXPECT_EQ(fakes_[0]->compilations, 5);
  EXPECT_EQ(fakes_[1]->compilations, 3);
}

TEST_F(LinkedProgramTest, BackendThatCannotLinkIsLeftOut) {
  const CompiledUnits units = both();
  fakes_[1]->link_failure = CL_LINK_PROGRAM_FAILURE;
  const BuildOutcome outcome = link_program(*set_, apart(), request(""), units, "");
  ASSERT_NE(outcome.program, nullptr);
  EXPECT_EQ(outcome.program->built_on(), 1u);
  EXPECT_NE(outcome.log.find("device 1"), std::string::npos) << outcome.log;
}

TEST_F(LinkedProgramTest, BackendThatWasLostCompilesAndLinksWhenItIsBack) {
  const CompiledUnits units = both();
  fakes_[1]->failure = CL_DEVICE_NOT_AVAILABLE;
  auto asked = request("int g(int i) { return i; }\n");
  asked.unit = true;
  const BuildOutcome third = build_program(*set_, apart(), asked);
  ASSERT_EQ(third.code, CL_SUCCESS) << third.log;
  EXPECT_NE(third.log.find("device 1 (Fake) is lost"), std::string::npos) << third.log;
  CompiledUnits all = units;
  all.push_back(third.units.front());
  const BuildOutcome outcome = link_program(*set_, apart(), request(""), all, "");
  ASSERT_NE(outcome.program, nullptr) << outcome.log;
  EXPECT_EQ(outcome.program->built_on(), 3u);
  fakes_[1]->begun_anew = 1;
  fakes_[1]->failure = CL_SUCCESS;
  EXPECT_TRUE(outcome.program->create_kernel(1, KernelVariant::kUntouched, "k"));
  EXPECT_EQ(fakes_[1]->linked_objects.size(), 3u);
}

TEST_F(BuiltProgramTest, DeviceThatIsLostInABuildIsTriedAndLost) {
  fakes_[1]->failure = CL_DEVICE_NOT_AVAILABLE;
  const BuildOutcome outcome = build_program(*set_, apart(), request(kGoodSource));
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(set_->health().lost(), 2u);  // fake devices have no queues
}

TEST_F(LinkedProgramTest, WhenNoneCanTheCodeIsTheEntryPoints) {
  const CompiledUnits units = both();
  for (FakeBackend* fake : fakes_) fake->link_failure = CL_OUT_OF_RESOURCES;
  EXPECT_EQ(link_program(*set_, apart(), request(""), units, "").code, CL_OUT_OF_RESOURCES);
  for (FakeBackend* fake : fakes_) fake->link_failure = CL_BUILD_PROGRAM_FAILURE;
  EXPECT_EQ(link_program(*set_, apart(), request(""), units, "").code, CL_LINK_PROGRAM_FAILURE);
  for (FakeBackend* fake : fakes_) fake->failure = CL_INVALID_BUILD_OPTIONS;
  auto asked = request(kHelperUnit);
  asked.unit = true;
  EXPECT_EQ(build_program(*set_, apart(), asked).code, CL_INVALID_COMPILER_OPTIONS);
}

TEST_F(LinkedProgramTest, LibrariesNeverReachAVendor) {
  const CompiledUnits units = both();
  auto asked = request("");
  asked.library = true;
  const BuildOutcome outcome = link_program(*set_, apart(), asked, units, "");
  EXPECT_EQ(outcome.code, CL_SUCCESS);
  EXPECT_EQ(outcome.units, units);
  EXPECT_TRUE(fakes_[0]->linked_objects.empty());
}

TEST_F(LinkedProgramTest, InOneGoVendorsBuild) {
  const CompiledUnits units{std::make_shared<CompiledUnit>(kGoodSource, "-cl-mad-enable")};
  const BuildOutcome outcome = link_program(*set_, apart(), request(""), units, "", true);
  ASSERT_NE(outcome.program, nullptr) << outcome.log;
  EXPECT_FALSE(outcome.program->texts().linked());
  EXPECT_EQ(fakes_[0]->builds, 1);
  EXPECT_EQ(fakes_[0]->compilations, 0);
}

}  // namespace
}  // namespace tutti::device_virtual
