// SPDX-License-Identifier: Apache-2.0
// `tutti devices --measure` on a real device, and on one that cannot do all that is measured.
#include <nlohmann/json.hpp>

#include "tools_fixture.h"

namespace tutti {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

using MeasureTest = ToolsTest;

TEST_F(MeasureTest, ARealDevice) {
  const std::string log = tree_ / "log";
  const Outcome outcome = shell("TUTTI_VENDORS=" TUTTI_TEST_POCL " POCL_DEVICES=basic " + tool() +
                                " devices --measure --json 2>" + log);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(std::filesystem::file_size(log), 0u);  // no progress in a pipe
  const json output = json::parse(outcome.output);
  ASSERT_EQ(output["devices"].size(), 1u);
  const json& measured = output["devices"][0]["measured"];
  EXPECT_EQ(measured["errors"], json::array());
  // Wide bounds: each is wrong by orders of magnitude where a unit or a size is mistaken.
  const auto expect_between = [&measured](const char* name, double least, double most) {
    ASSERT_TRUE(measured[name].is_number()) << name;
    EXPECT_GT(measured[name].get<double>(), least) << name;
    EXPECT_LT(measured[name].get<double>(), most) << name;
  };
  expect_between("write_gb_per_s", 0.05, 500);
  expect_between("read_gb_per_s", 0.05, 500);
  expect_between("launch_us", 0.01, 100000);
  expect_between("float_gflop_per_s", 0.1, 2000);
  expect_between("double_gflop_per_s", 0.1, 2000);
  EXPECT_TRUE(measured["pinned_write_gb_per_s"].is_null());
  EXPECT_TRUE(measured["pinned_read_gb_per_s"].is_null());
}

TEST_F(MeasureTest, PinnedMemoryOfGpus) {
  const json output =
      json::parse(shell("TUTTI_VENDORS=" + (tree_ / "stub.so") + " TUTTI_TEST_STUB=type:gpu " +
                        tool() + " devices --measure --json")
                      .output);
  const json& measured = output["devices"][0]["measured"];
  EXPECT_GT(measured["pinned_write_gb_per_s"].get<double>(), 0);
  EXPECT_GT(measured["pinned_read_gb_per_s"].get<double>(), 0);
  EXPECT_THAT(measured["errors"].get<std::vector<std::string>>(),
              Not(Contains(HasSubstr("pinned"))));
}

TEST_F(MeasureTest, WhatCannotBeMeasuredIsSaid) {
  // The stub runs no kernels but its own.
  const std::string prefix = "TUTTI_VENDORS=" + (tree_ / "stub.so") +
                             " TUTTI_TEST_STUB='type:gpu devices:2 null:clEnqueueMapBuffer' ";
  const json output =
      json::parse(shell(prefix + "TUTTI_DEVICES=1 " + tool() + " devices --measure --json").output);
  ASSERT_EQ(output["devices"].size(), 2u);
  for (const json& device : output["devices"]) {  // the one that is left out, too
    const json& measured = device["measured"];
    EXPECT_GT(measured["write_gb_per_s"].get<double>(), 0);
    EXPECT_GT(measured["read_gb_per_s"].get<double>(), 0);
    EXPECT_TRUE(measured["pinned_write_gb_per_s"].is_null());
    EXPECT_TRUE(measured["launch_us"].is_null());
    EXPECT_TRUE(measured["float_gflop_per_s"].is_null());
    const auto errors = measured["errors"].get<std::vector<std::string>>();
    EXPECT_THAT(errors, ::testing::ElementsAre(HasSubstr("pinned transfers: the driver has no"),
                                               HasSubstr("launch latency: clCreateKernel: CL_"),
                                               HasSubstr("single precision: clCreateKernel: CL_")));
  }
  const Outcome text = shell(prefix + tool() + " devices --measure");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.output,
              AllOf(HasSubstr("measured: to the device "), HasSubstr("GB/s"),
                    HasSubstr("not measured: launch latency: "), Not(HasSubstr("GFLOP/s"))));
  const Outcome none =
      shell(prefix + "TUTTI_TEST_STUB=error:clCreateContext:-6 " + tool() + " devices --measure");
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.output,
              HasSubstr("not measured: opening: clCreateContext: CL_OUT_OF_HOST_MEMORY"));
}

}  // namespace
}  // namespace tutti
