// SPDX-License-Identifier: Apache-2.0
// Whose limits a kernel has, and which devices take no part in a program.
#include "built_program_fakes.h"

namespace tutti::device_virtual {
namespace {

TEST_F(BuiltProgramTest, WorkGroupAnswersAreThePrimarys) {
  KernelExecutable kernel(built(false), 0);
  // Device 0; the other one has 64, 16 and 128.
  EXPECT_EQ(kernel.max_work_group_size().value(), 256u);
  EXPECT_EQ(kernel.preferred_multiple().value(), 64u);
  EXPECT_EQ(kernel.static_local_memory().value(), 512u);
  EXPECT_EQ(kernel.private_memory().value(), 0u);  // no vendor answers
}

TEST_F(BuiltProgramTest, PrimaryIsTheFastestOrThePreferredOne) {
  EXPECT_EQ(set_->primary(3), 0u);
  EXPECT_EQ(set_->primary(2), 1u);
  make_devices("", 2, "", 1);
  EXPECT_EQ(set_->primary(3), 1u);
  EXPECT_EQ(set_->primary(1), 0u);
  KernelExecutable kernel(built(false), 0);
  EXPECT_EQ(kernel.max_work_group_size().value(), 64u);
  EXPECT_TRUE(kernel.takes_group(64).value());
  EXPECT_FALSE(kernel.takes_group(65).value());
}

TEST(PrimaryOf, OneThatWasAwayAtFirstOnlyWhereAllWereOrItIsPreferred) {
  backends::DeviceTraits here, away, other;
  here.index = 0;
  away.index = 1;
  other.index = 2;
  away.nominal_gflops = 1000;
  away.came_later = true;
  other.nominal_gflops = 2;
  const auto primary = [&](std::initializer_list<const backends::DeviceTraits*> devices,
                           std::optional<uint32_t> preferred = std::nullopt) {
    return scheduler::primary_of(std::span(devices.begin(), devices.size()), preferred);
  };
  EXPECT_EQ(primary({&away, &here, &other}), 2u);
  EXPECT_EQ(primary({&here, &away}), 0u);
  EXPECT_EQ(primary({&away}), 0u);
  other.came_later = true;
  EXPECT_EQ(primary({&other, &away}), 1u);
  EXPECT_EQ(primary({&here, &away}, 1), 1u);
}

TEST_F(BuiltProgramTest, GroupsThatAllTakeNeedNoBuildOnThePrimary) {
  make_devices("", 2, "", 1);
  kernel_compiler::CompileOutput output;
  output.summary.kernels.resize(1);
  output.summary.kernels[0].name = "k";
  const auto modules =
      std::make_shared<ProgramModules>(*set_, texts_of(std::move(output)), everywhere());
  KernelExecutable kernel(std::make_shared<BuiltProgram>(modules), 0);
  ASSERT_TRUE(kernel.vendor_kernel(0, KernelVariant::kUntouched));
  EXPECT_TRUE(kernel.takes_group(64).value());
  EXPECT_EQ(fakes_[1]->builds, 0);
  EXPECT_FALSE(kernel.takes_group(128).value());
  EXPECT_EQ(fakes_[1]->builds, 1);
}

TEST_F(BuiltProgramTest, AdviceOnGroupsIsToldAndBindsNobody) {
  fakes_[0]->advises_groups(1024);
  KernelExecutable kernel(built(false), 0);
  EXPECT_EQ(kernel.max_work_group_size().value(), 256u);
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(kernel.takes_group(512).value());
    EXPECT_TRUE(kernel.takes_group(1024).value());
    EXPECT_FALSE(kernel.takes_group(1025).value());
    ASSERT_TRUE(kernel.vendor_kernel(0, KernelVariant::kUntouched));
    ASSERT_TRUE(kernel.vendor_kernel(1, KernelVariant::kUntouched));
  }
  // The planner asks for each device.
  EXPECT_EQ(kernel.most_in_group(0), UINT64_MAX);
  EXPECT_EQ(kernel.most_in_group(1), 64u);
}

TEST_F(BuiltProgramTest, WhereNobodyElseCanThePrimaryIsTheNextBest) {
  fakes_[0]->failure = CL_BUILD_PROGRAM_FAILURE;
  const BuildOutcome outcome = build_program(
      *set_, together(), request("kernel void k(global int* a) { a[get_global_id(0)] = 1; }\n"));
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  KernelExecutable kernel(outcome.program, 0);
  EXPECT_EQ(kernel.max_work_group_size().value(), 64u);
}

TEST_F(BuiltProgramTest, DeviceTakesNoPartInKernelsThatUseWhatItDoesNotHave) {
  fakes_[0]->has("cl_khr_fp64");
  auto asked = request(
      "constant double table[2] = {1.5, 2.5};\n"
      "double twice(double x) { return 2 * x; }\n"
      "kernel void k(global float* a) { a[get_global_id(0)] *= twice(table[1]); }\n"
      "kernel void plain(global float* a) { a[get_global_id(0)] *= 1.1f; }\n");
  asked.extensions = {"cl_khr_fp64"};
  const BuildOutcome outcome = build_program(*set_, apart(), asked);
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(outcome.log, "");
  EXPECT_EQ(outcome.program->built_on(), 3u);
  const KernelExecutable k(outcome.program, 0), plain(outcome.program, 1);
  EXPECT_EQ(k.built_on(), 1u);
  EXPECT_EQ(k.failed_on(), 2u);
  EXPECT_EQ(k.lacking(0), "");
  EXPECT_EQ(k.lacking(1), "cl_khr_fp64");
  EXPECT_EQ(plain.built_on(), 3u);
  EXPECT_EQ(plain.lacking(1), "");
  // Each gets what it can take.
  EXPECT_NE(fakes_[0]->last_source.find("double"), std::string::npos);
  EXPECT_EQ(fakes_[1]->last_source.find("double"), std::string::npos) << fakes_[1]->last_source;
  EXPECT_NE(fakes_[1]->last_source.find("plain"), std::string::npos);
  // The same constant is a float where the device that is shown has no doubles.
  asked.source = "kernel void k(global float* a) { a[get_global_id(0)] *= 1.1; }\n";
  asked.extensions = {};
  EXPECT_EQ(build_program(*set_, apart(), asked).program->built_on(), 3u);
}

TEST_F(BuiltProgramTest, DeviceThatLacksWhatAllKernelsUseBuildsNothing) {
  fakes_[0]->has("cl_khr_fp64");
  auto asked = request("kernel void k(global float* a) { a[get_global_id(0)] *= 1.1; }\n");
  asked.extensions = {"cl_khr_fp64"};
  const BuildOutcome outcome = build_program(*set_, apart(), asked);
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(outcome.program->built_on(), 1u);
  EXPECT_EQ(KernelExecutable(outcome.program, 0).lacking(1), "cl_khr_fp64");
  EXPECT_EQ(fakes_[1]->builds, 0);
}

TEST_F(BuiltProgramTest, FirstBuildIsOfAllKernels) {
  make_devices("", 2, "", 1);  // the second one is the primary
  fakes_[0]->has("cl_khr_fp64");
  auto asked = request(
      "kernel void k(global float* a) { a[get_global_id(0)] *= 1.1; }\n"
      "kernel void plain(global float* a) { a[get_global_id(0)] *= 1.1f; }\n");
  asked.extensions = {"cl_khr_fp64"};
  const BuildOutcome outcome = build_program(*set_, together(), asked);
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(fakes_[0]->builds, 1);
  EXPECT_EQ(fakes_[1]->builds, 0);
  KernelExecutable plain(outcome.program, 1);
  ASSERT_TRUE(plain.vendor_kernel(1, KernelVariant::kUntouched));
  EXPECT_EQ(fakes_[1]->builds, 1);
  EXPECT_EQ(fakes_[1]->last_source.find("void k("), std::string::npos);
}

kernel_compiler::CompileRequest with_features(const std::string& source,
                                              std::initializer_list<const char*> features) {
  kernel_compiler::CompileRequest asked;
  asked.source = source;
  asked.options = "-cl-std=CL3.0";
  asked.opencl_c = 300;
  for (const char* feature : features) asked.device_macros[feature] = "1";
  return asked;
}

TEST_F(BuiltProgramTest, DevicesDecideThemselvesWhatNoneSaysToHave) {
  const BuildOutcome outcome = build_program(
      *set_, apart(),
      with_features("kernel void k(global uint* a) { a[0] = work_group_reduce_add(a[0]); }\n",
                    {"__opencl_c_work_group_collective_functions"}));
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(outcome.program->built_on(), 3u);
}

TEST_F(BuiltProgramTest, KernelsOfANewerLanguageRunWhereItMakesNoDifference) {
  fakes_[0]->has(std::string(backends::kOpenClC31));
  auto asked = with_features(
      "kernel void k(global int* a) { printf(\"%zu\", get_global_id(0)); }\n"
      "kernel void plain(global int* a) { a[get_global_id(0)] = 1; }\n",
      {});
  asked.options = "-cl-std=CL3.1";
  asked.opencl_c = 310;
  const BuildOutcome outcome = build_program(*set_, apart(), asked);
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(KernelExecutable(outcome.program, 0).built_on(), 1u);
  EXPECT_EQ(KernelExecutable(outcome.program, 1).built_on(), 3u);
  EXPECT_EQ(KernelExecutable(outcome.program, 0).lacking(1), backends::kOpenClC31);
}

TEST_F(BuiltProgramTest, KernelWithVariablesOfItsProgramStaysOnThePrimary) {
  const char* const feature = "__opencl_c_program_scope_global_variables";
  for (FakeBackend* fake : fakes_) fake->has(feature);
  const BuildOutcome outcome =
      build_program(*set_, apart(),
                    with_features("global int v;\nkernel void k(global int* a) { a[0] = v++; }\n"
                                  "kernel void plain(global int* a) { a[get_global_id(0)] = 1; }\n",
                                  {feature}));
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(KernelExecutable(outcome.program, 0).built_on(), 1u);
  EXPECT_EQ(KernelExecutable(outcome.program, 1).built_on(), 3u);
  // The primary was lost and came back: the variable's value did not.
  fakes_[0]->begun_anew = 1;
  EXPECT_EQ(KernelExecutable(outcome.program, 0).built_on(), 0u);
  EXPECT_EQ(KernelExecutable(outcome.program, 1).built_on(), 3u);
}

TEST_F(BuiltProgramTest, KernelThatEnqueuesKernelsStaysOnThePrimary) {
  const auto features = {"__opencl_c_device_enqueue", "__opencl_c_generic_address_space",
                         "__opencl_c_program_scope_global_variables"};
  for (FakeBackend* fake : fakes_) {
    for (const char* feature : features) fake->has(feature);
  }
  const BuildOutcome outcome = build_program(
      *set_, apart(),
      with_features("kernel void k(global int* a) {\n"
                    "  enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT,\n"
                    "                 ndrange_1D(1), ^{ a[0] = 1; }); }\n"
                    "kernel void plain(global int* a) { a[get_global_id(0)] = 1; }\n",
                    features));
  ASSERT_EQ(outcome.code, CL_SUCCESS) << outcome.log;
  EXPECT_EQ(KernelExecutable(outcome.program, 0).built_on(), 1u);
  EXPECT_EQ(KernelExecutable(outcome.program, 1).built_on(), 3u);
  const auto& kernel = outcome.program->summary().kernels[0];
  EXPECT_TRUE(kernel.uses_addresses);
  EXPECT_NE(kernel.whole_reason.find("enqueues kernels"), std::string::npos);
}

TEST_F(BuiltProgramTest, SubGroupsAreThoseOfDevicesLikeThePrimary) {
  const char* const feature = "__opencl_c_subgroups";
  const auto asked = with_features(
      "kernel void k(global int* a) { a[get_global_id(0)] = get_sub_group_size(); }\n", {feature});
  for (FakeBackend* fake : fakes_) fake->has(feature);
  const BuildOutcome differing = build_program(*set_, apart(), asked);
  ASSERT_EQ(differing.code, CL_SUCCESS) << differing.log;
  EXPECT_EQ(KernelExecutable(differing.program, 0).built_on(), 1u);
  for (FakeBackend* fake : fakes_) fake->set_name("like the other");
  const BuildOutcome alike = build_program(*set_, apart(), asked);
  EXPECT_EQ(KernelExecutable(alike.program, 0).built_on(), 3u);
}

}  // namespace
}  // namespace tutti::device_virtual
