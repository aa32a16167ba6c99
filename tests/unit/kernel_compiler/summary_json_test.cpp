// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/summary_json.h"

#include <gtest/gtest.h>

#include <random>

namespace tutti::kernel_compiler {
namespace {

using namespace scheduler;

KernelSummary sample() {
  KernelSummary kernel;
  kernel.name = "k\"\n";
  kernel.file = "folder/k.cl";
  kernel.arguments.push_back({ArgKind::kGlobal, "out", "float4*", 0, false, true, true, ""});
  kernel.arguments.push_back(
      {ArgKind::kImage, "im", "image2d_t", 0, false, false, false, "read_only"});
  kernel.arguments.push_back({ArgKind::kScalar, "n", "int", 4, true, false, false, ""});
  kernel.argument_info = true;
  kernel.attributes = "reqd_work_group_size(8,4,1)";
  kernel.reqd_local[0] = 8;
  kernel.reqd_local[1] = 4;
  kernel.reqd_local[2] = 1;
  kernel.smaller_groups = true;
  kernel.exprs = {{ExprKind::kConst, 64, 0, INT64_MIN, {}},
                  {ExprKind::kArg, 32, 2, 0, {}},
                  {ExprKind::kLoop, 64, 0, 0, {}},
                  {ExprKind::kAdd, 64, 0, 0, {0, 2, 2}},
                  {ExprKind::kGlobalId, 64, 2, 0, {}}};
  kernel.loops = {{1u, true}, {std::nullopt, false}};
  Access access;
  access.kind = AccessKind::kAtomic;
  access.offset = 3;
  access.size = 16;
  access.guards = {{Compare::kSGe, 4, 0}, {Compare::kEq, 0, 4}};
  access.loops = {1, 0};
  access.guards_exact = true;
  access.is_volatile = true;
  access.atomic_op = "umax";
  access.result_used = access.decides_loop = access.seldom = true;
  access.line = 77;
  Access loaded;
  loaded.size = 4;
  loaded.content =
      ContentBounds{.first = 1, .end = 1, .width = 32, .is_signed = true, .scale = 12, .added = -8};
  kernel.accesses = {access, loaded};
  kernel.whole_reason = "calls printf";
  kernel.whole_line = 3;
  kernel.needs_rewrite = kernel.uses_addresses = kernel.uses_anything = true;
  kernel.uses_barrier = kernel.uses_local_memory = true;
  return kernel;
}

TEST(SummaryJson, ContentThatCannotBeIsDamage) {
  for (const auto change : {+[](ContentBounds& content) { content.first = 7; },
                            +[](ContentBounds& content) { content.end = 0; },  // no load
                            +[](ContentBounds& content) { content.width = 64; },
                            +[](ContentBounds& content) { content.scale = 0; },
                            +[](ContentBounds& content) { content.added = int64_t{1} << 50; }}) {
    KernelSummary kernel = sample();
    change(*kernel.accesses[1].content);
    EXPECT_FALSE(decode_kernel(encode_kernel(kernel)));
  }
}

TEST(SummaryJson, ComesBackEqual) {
  const ProgramSummary summary{{sample(), KernelSummary{}}};
  const auto back = decode_summary(encode_summary(summary));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, summary);
  const auto kernel = decode_kernel(encode_kernel(sample()));
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(*kernel, sample());
}

TEST(SummaryJson, RequestsAndOutputsComeBackEqual) {
  CompileRequest request;
  request.source = "kernel void k() {}";
  request.options = "-DA=\"x\"";
  request.headers = {{"a/b.h", "int x;"}};
  request.unit = request.library = request.foreign_units = true;
  request.units = {{"text", "-w"}, {"other", ""}};
  request.not_analysed = "for a reason";
  request.extensions = {"cl_khr_fp64"};
  request.opencl_c = 200;
  request.device_macros = {{"__OPENCL_VERSION__", "300"}};
  request.fp64 = request.images = true;
  request.address_bits = 32;
  const auto request_back = decode_request(encode_request(request));
  ASSERT_TRUE(request_back) << request_back.error().message;
  EXPECT_EQ(*request_back, request);

  CompileOutput output{true,
                       "failure",
                       false,
                       "first error",
                       "log",
                       "text",
                       "original",
                       "-w",
                       "rewritten",
                       {},
                       {{sample()}},
                       17,
                       {{"inc/a.h", "absent"}, {"b.h", "folder"}},
                       false};
  output.units = {{"a", "b"}, {"c", ""}};
  const auto output_back = decode_output(encode_output(output));
  ASSERT_TRUE(output_back) << output_back.error().message;
  EXPECT_EQ(*output_back, output);
}

TEST(SummaryJson, AcceptsBytesThatAreNoUtf8) {
  CompileRequest request;
  request.source = "// \xff\xfe umlaut \xe4\nkernel void k() {}";
  const auto back = decode_request(encode_request(request));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_NE(back->source.find("kernel void k() {}"), std::string::npos);
}

TEST(SummaryJson, RefusesAnotherVersion) {
  std::string text = encode_summary({{sample()}});
  const std::string version = "\"version\":" + std::to_string(kSummaryVersion);
  const size_t at = text.find(version);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, version.size(), "\"version\":999");
  EXPECT_FALSE(decode_summary(text));
}

TEST(SummaryJson, RefusesIndicesOutOfRange) {
  const auto refuses = [](auto&& damage) {
    KernelSummary kernel = sample();
    damage(kernel);
    return !decode_kernel(encode_kernel(kernel));
  };
  EXPECT_TRUE(refuses([](KernelSummary& k) { k.exprs[3].operands[0] = 3; }));
  EXPECT_TRUE(refuses([](KernelSummary& k) { k.exprs[3].operands.clear(); }));
  EXPECT_TRUE(refuses([](KernelSummary& k) { k.exprs[1].index = 3; }));
  EXPECT_TRUE(refuses([](KernelSummary& k) { k.exprs[2].index = 2; }));
  EXPECT_TRUE(refuses([](KernelSummary& k) { k.exprs[4].index = 3; }));
  EXPECT_TRUE(refuses([](KernelSummary& k) { k.exprs[0].width = 65; }));
  EXPECT_TRUE(refuses([](KernelSummary& k) { k.exprs[0].width = 0; }));
  EXPECT_TRUE(refuses([](KernelSummary& k) { k.loops[0].last = 5; }));
  EXPECT_TRUE(refuses([](KernelSummary& k) { k.accesses[0].offset = 5; }));
  EXPECT_TRUE(refuses([](KernelSummary& k) { k.accesses[0].argument = 3; }));
  EXPECT_TRUE(refuses([](KernelSummary& k) { k.accesses[0].loops[0] = 2; }));
  EXPECT_TRUE(refuses([](KernelSummary& k) { k.accesses[0].guards[0].right = 5; }));
}

TEST(SummaryJson, SurvivesDamage) {
  const std::string good = encode_summary({{sample()}});
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (unsigned edits = 1 + random() % 3; edits > 0 && !text.empty(); --edits) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, 1 + random() % 20);
          break;
        default:
          text.insert(at, 1, "0123456789-[]{},\""[random() % 17]);
          break;
      }
    }
    accepted += decode_summary(text) ? 1 : 0;
  }
  EXPECT_LT(accepted, 3000);  // and no crash; changes of a number or name may be valid
  for (const char* text :
       {"", "null", "[]", "{}", "{\"version\":1}", "1e999", "{\"kernels\":[]}"}) {
    EXPECT_FALSE(decode_summary(text)) << text;
  }
}

}  // namespace
}  // namespace tutti::kernel_compiler
