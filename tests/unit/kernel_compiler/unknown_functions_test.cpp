// SPDX-License-Identifier: Apache-2.0
// Programs that have errors for the front end and may have none for a vendor's compiler: what is
// known of their kernels all the same.
#include <gtest/gtest.h>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

/// `call` in the body of a function.
std::string program(const std::string& call) {
  return R"CLC(
struct Pair { int a; char b[3]; };
static float helper(float x) { return )CLC" +
         call + R"CLC(; }
kernel __attribute__((reqd_work_group_size(8, 1, 1)))
void k(global float* out, constant float* table, local int* room, const struct Pair pair, float4 v,
       read_only image2d_t image, sampler_t sampler, const global double* restrict in) {
  if (get_global_id(0) > 3) { out[0] = helper(v.x); }
}
kernel void other(global int* out) { { out[0] = 1; } }
)CLC";
}

TEST(UnknownFunctions, KernelsAreAsDeclaredAndWhole) {
  const CompileOutput known = compiled(program("sqrt(x)"), "-cl-kernel-arg-info");
  const CompileOutput output = run(program("vendors_sqrt(x)"), "-cl-kernel-arg-info");
  EXPECT_FALSE(output.ok);
  EXPECT_EQ(output.left_to_vendors, "use of undeclared identifier 'vendors_sqrt'");
  EXPECT_NE(output.log.find("<source>:3:39: error: "), std::string::npos) << output.log;
  EXPECT_NE(output.preprocessed.find("return vendors_sqrt(x);"), std::string::npos);
  EXPECT_EQ(output.rewritten, "");
  ASSERT_EQ(output.summary.kernels.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const auto& kernel = output.summary.kernels[i];
    const auto& as_known = known.summary.kernels[i];
    EXPECT_EQ(kernel.name, as_known.name);
    EXPECT_EQ(kernel.arguments, as_known.arguments);
    EXPECT_EQ(kernel.attributes, as_known.attributes);
    EXPECT_EQ(kernel.reqd_local[0], as_known.reqd_local[0]);
    EXPECT_EQ(kernel.argument_info, as_known.argument_info);
    EXPECT_EQ(kernel.smaller_groups, as_known.smaller_groups);
    EXPECT_EQ(kernel.features, as_known.features);
    EXPECT_EQ(kernel.whole_reason,
              "only its device's compiler knows its program (use of undeclared identifier "
              "'vendors_sqrt')");
    EXPECT_TRUE(kernel.uses_anything && kernel.uses_addresses);
    EXPECT_FALSE(kernel.needs_rewrite);
    EXPECT_FALSE(as_known.uses_anything);
  }
}

TEST(UnknownFunctions, TypesAndStatementsInsideOfFunctions) {
  for (const char* body :
       {"vendor_t x = 3; out[0] = x;", "out[0] = (vendor_t)3 + convert_vendor(2);",
        "global vendor_t* p = out; *p = 1;", "asm_of_vendor { } out[0] = 1;",
        "if (1) { struct S { vendor_t x; } s; s.x = 1; out[0] = s.x; }"}) {
    const CompileOutput output =
        run("kernel void k(global int* out, int n) { " + std::string(body) + " }\n");
    EXPECT_FALSE(output.ok) << body;
    EXPECT_NE(output.left_to_vendors, "") << body << '\n' << output.log;
    ASSERT_EQ(output.summary.kernels.size(), 1u) << body;
    EXPECT_EQ(output.summary.kernels[0].arguments.size(), 2u) << body;
  }
}

TEST(UnknownFunctions, HelpersWhoseDeclarationsAreUnknown) {
  const CompileOutput output =
      run("static vendor_t twice(vendor_t x) { return x * 2; }\n"
          "kernel void k(global int* out) { out[0] = twice(1); }\n");
  EXPECT_FALSE(output.ok);
  EXPECT_NE(output.left_to_vendors, "") << output.log;
  EXPECT_EQ(kernel_of(output).arguments.size(), 1u);
}

TEST(UnknownFunctions, FilesAreThoseOfTheSource) {
  const CompileOutput output =
      run("void f(void) {\n#line 7 \"other.cl\"\n  vendors();\n}\n"
          "kernel void k(global int* out) { out[0] = 1; }\n");
  EXPECT_EQ(kernel_of(output).file, "other.cl");
}

TEST(UnknownFunctions, WhatIsDeclaredMustBeKnown) {
  for (const char* source : {
           "kernel void k(global int* out, vendor_t x) { out[0] = vendors(x); }\n",
           "typedef vendor_t number;\nkernel void k(number x) { vendors(x); }\n",
           "struct S { vendor_t x; };\nkernel void k(struct S x) { vendors(x.x); }\n",
           "enum { kSize = vendors() };\nstruct S { char x[kSize]; };\n"
           "kernel void k(struct S x) { vendors(x); }\n",
           "kernel void k(global int* out) { out[0] = vendors(1);\n",
           "kernel void k(global int* out) { out[0] = vendors(1); } }\n",
           "#error no\nkernel void k(global int* out) { out[0] = vendors(1); }\n",
       }) {
    const CompileOutput output = run(source);
    EXPECT_FALSE(output.ok) << source;
    EXPECT_EQ(output.left_to_vendors, "") << source;
    EXPECT_EQ(output.preprocessed, "") << source;
    EXPECT_TRUE(output.summary.kernels.empty()) << source;
  }
}

TEST(UnknownFunctions, WarningsThatAreErrorsAreNot) {
  const char* source = "kernel void k(global int* o) { int i; o[0] = i; 3 + 4; }";
  const CompileOutput output = run(source, "-Werror");
  EXPECT_FALSE(output.ok);
  EXPECT_EQ(output.left_to_vendors, "");
  EXPECT_EQ(output.preprocessed, "");
}

TEST(UnknownFunctions, UnitsThatAreLinked) {
  CompileRequest unit = request_for("int root(int x) { return vendors_sqrt(x); }\n");
  unit.unit = true;
  const CompileOutput compiled_unit = run(unit);
  EXPECT_FALSE(compiled_unit.ok);
  EXPECT_NE(compiled_unit.left_to_vendors, "");
  EXPECT_TRUE(compiled_unit.summary.kernels.empty());

  CompileRequest request = request_for({});
  request.units = {{"int root(int x);\nkernel void k(global int* out, int n) { "
                    "out[get_group_id(0)] = root(n); }",
                    ""},
                   {compiled_unit.preprocessed, compiled_unit.vendor_options}};
  const CompileOutput output = run(request);
  EXPECT_FALSE(output.ok);
  EXPECT_EQ(output.left_to_vendors, "use of undeclared identifier 'vendors_sqrt'");
  ASSERT_EQ(output.units.size(), 2u);
  EXPECT_EQ(output.units[1].preprocessed, compiled_unit.preprocessed);
  EXPECT_EQ(output.units[0].rewritten, "");
  const auto& kernel = kernel_of(output);
  EXPECT_EQ(kernel.arguments.size(), 2u);
  EXPECT_TRUE(kernel.uses_anything);
  EXPECT_NE(kernel.whole_reason, "");

  // What does not fit together is an error as ever.
  request.units.push_back(request.units.front());
  const CompileOutput twice = run(request);
  EXPECT_FALSE(twice.ok);
  EXPECT_EQ(twice.left_to_vendors, "");
  EXPECT_TRUE(twice.units.empty());
}

}  // namespace
}  // namespace tutti::kernel_compiler
