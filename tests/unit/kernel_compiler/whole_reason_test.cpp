// SPDX-License-Identifier: Apache-2.0
// What keeps a kernel whole, and what does not.
#include <gtest/gtest.h>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

struct Case {
  const char* name;
  const char* source;  // the kernel is called k
  const char* reason;  // part of the reason; "" = none
  uint32_t line;
};

void PrintTo(const Case& item, std::ostream* stream) { *stream << item.name; }

class WholeReason : public testing::TestWithParam<Case> {};

TEST_P(WholeReason, IsNamedWithItsLine) {
  const Case& item = GetParam();
  CompileRequest request = request_for(item.source, "-cl-std=CL2.0");
  request.extensions.push_back("cl_khr_subgroups");
  const CompileOutput output = compiled(request);
  const auto& kernel = kernel_of(output, "k");
  if (*item.reason == '\0') {
    EXPECT_EQ(kernel.whole_reason, "");
  } else {
    EXPECT_NE(kernel.whole_reason.find(item.reason), std::string::npos) << kernel.whole_reason;
    EXPECT_EQ(kernel.whole_line, item.line) << kernel.whole_reason;
  }
}

const Case kCases[] = {
    {"Nothing", "kernel void k(global int* o) { o[get_global_id(0)] = 1; }", "", 0},
    {"Printf", "kernel void k() {\n  printf(\"%d\\n\", 1);\n}", "calls printf", 2},
    {"PrintfInAHelper",
     "void say(int i) {\n  printf(\"%d\\n\", i);\n}\nkernel void k() { say(3); }", "calls printf",
     2},
    {"VolatileLoad", "kernel void k(global volatile int* o) {\n  while (o[0] == 0);\n}",
     "volatile access to global memory", 2},
    {"VolatileStore", "kernel void k(global volatile int* o) {\n  o[get_global_id(0)] = 1;\n}",
     "volatile access to global memory", 2},
    {"VolatileLocal",
     "kernel void k(local volatile int* o) { o[get_local_id(0)] = 1; while (o[0] == 0); }", "", 0},
    {"AtomicLoad",
     "kernel void k(global atomic_int* a, global int* o) {\n"
     "  o[0] = atomic_load_explicit(a, memory_order_relaxed);\n}",
     "atomic_load", 2},
    {"AtomicStore", "kernel void k(global atomic_int* a) {\n  atomic_store(a, 1);\n}",
     "atomic_store", 2},
    {"AtomicFlag",
     "kernel void k(global atomic_flag* a) {\n  while (atomic_flag_test_and_set(a));\n}",
     "atomic_flag", 2},
    {"AtomicUpdate", "kernel void k(global atomic_int* a) { atomic_fetch_add(a, 1); }", "", 0},
    {"AtomicLoadOfLocal",
     "kernel void k(local atomic_int* a, global int* o) { o[0] = atomic_load_explicit(a, "
     "memory_order_relaxed, memory_scope_work_group); }",
     "", 0},
    {"Image", "kernel void k(write_only image2d_depth_t im, global float4* o) {\n  o[0] = 1;\n}",
     "image argument im", 1},
    {"ImageOfAllShapes",
     "kernel void k(write_only image1d_t a, write_only image1d_buffer_t b,\n"
     "              write_only image1d_array_t c, write_only image2d_array_t d) {\n"
     "  const int i = get_global_id(0);\n"
     "  write_imagef(a, i, 1);\n  write_imagef(b, i, 1);\n  write_imagef(c, (int2)(0, i), 1);\n"
     "  write_imagef(d, (int4)(0, 0, i, 0), 1);\n}",
     "", 0},
    {"Pipe", "kernel void k(read_only pipe int p) { }", "argument p is a pipe", 1},
    {"SubGroup",
     "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
     "kernel void k(global int* o) {\n  o[get_global_id(0)] = get_sub_group_local_id();\n}",
     "", 0},
    {"SubGroupsOfAVariant",
     "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
     "kernel void k(global int* o) {\n"
     "  o[get_global_id(0)] = get_sub_group_local_id() + get_group_id(0);\n}",
     "sub-groups need not be as large", 0},
    {"SubGroupIndex",
     "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
     "kernel void k(global int* o) {\n  sub_group_barrier(CLK_LOCAL_MEM_FENCE);\n"
     "  o[get_sub_group_id()] = 1;\n}",
     "", 0},
    {"SubGroupBarrierForOthers",
     "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
     "kernel void k(global int* o) {\n"
     "  sub_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_device);\n  o[0] = 1;\n}",
     "orders memory between work-groups", 3},
    {"DeviceEnqueue",
     "kernel void k(global int* o) {\n"
     "  ndrange_t r = ndrange_1D(1);\n"
     "  enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, r, ^{ o[0] = 1; });\n}",
     "enqueues kernels", 1},
    {"ProgramScopeVariable",
     "global int counter;\nkernel void k(global int* o) {\n  o[0] = counter;\n}",
     "the program's variable counter", 3},
    {"ProgramScopeVariableUnused",
     "global int counter;\nkernel void other() { counter = 1; }\n"
     "kernel void k(global int* o) { o[0] = 1; }",
     "", 0},
    {"UndefinedFunction", "void f(global int* p);\nkernel void k(global int* o) {\n  f(o);\n}",
     "calls f, which the program does not define", 3},
    {"Recursion",
     "int f(int i) { return i < 2 ? 1 : f(i - 1) + f(i - 2); }\n"
     "kernel void k(global int* o) {\n  o[0] = f(o[1]);\n}",
     "calls f, which is recursive", 3},
    {"KernelCalledAsFunction",
     "kernel void other(global int* o) { o[get_global_id(0)] = 1; }\n"
     "kernel void k(global int* o) { other(o + 5); }",
     "", 0},
    {"StoreThroughAnUnknownPointer",
     "kernel void k(global int* a, global int* b, int i) {\n"
     "  global int* t[2] = {a, b};\n  t[i & 1][0] = 1;\n}",
     "pointer whose buffer is not known", 3},
    {"PointerOutOfMemory",
     "typedef struct { global int* p; } S;\nkernel void k(global S* s) {\n  *s->p = 1;\n}",
     "pointer whose buffer is not known", 3},
    {"PointerOutOfAnInteger", "kernel void k(ulong p) {\n  *(global int*)p = 1;\n}",
     "pointer whose buffer is not known", 2},
    {"GenericPointerResolved",
     "void set(int* p) { *p = 1; }\n"
     "kernel void k(global int* o, local int* l) { set(o + get_global_id(0)); set(l); }",
     "", 0},
    {"GlobalFence", "kernel void k(global int* o) {\n  mem_fence(CLK_GLOBAL_MEM_FENCE);\n}",
     "fence", 2},
    {"LocalFence", "kernel void k(global int* o) { mem_fence(CLK_LOCAL_MEM_FENCE); }", "", 0},
    {"DeviceFence",
     "kernel void k() {\n  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, "
     "memory_scope_device);\n}",
     "fence", 2},
    {"GroupFence",
     "kernel void k() { atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, "
     "memory_scope_work_group); }",
     "", 0},
    {"Barrier", "kernel void k() { barrier(CLK_GLOBAL_MEM_FENCE); }", "", 0},
    {"DeviceBarrier",
     "kernel void k() {\n  work_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_device);\n}",
     "barrier", 2},
    {"InlineAssembly", "kernel void k() {\n  __asm__ volatile(\"nop\");\n}", "assembly", 2},
    {"IrreducibleLoop",
     "kernel void k(global int* o, int n) {\n  int i = 0;\n  if (n > 3) goto inside;\n"
     "again:\n  o[i] = n;\ninside:\n  o[i + 1] = 2;\n  i += 2;\n  if (i < n) goto again;\n}",
     "middle of a loop", 1},
};

INSTANTIATE_TEST_SUITE_P(Cases, WholeReason, testing::ValuesIn(kCases),
                         [](const auto& item) { return std::string(item.param.name); });

TEST(KernelFacts, BarriersAndLocalMemory) {
  const CompileOutput output = compiled(R"(
    void wait() { barrier(CLK_LOCAL_MEM_FENCE); }
    kernel void none(global int* o) { o[0] = 1; }
    kernel void helper(global int* o) { wait(); }
    kernel void argument(local int* l) { l[get_local_id(0)] = 1; }
    kernel void variable(global int* o) {
      local int t[4];
      t[get_local_id(0) & 3] = o[0];
      barrier(CLK_LOCAL_MEM_FENCE);
      o[get_global_id(0)] = t[0];
    }
  )");
  const auto facts = [&](const char* name) {
    const auto& kernel = kernel_of(output, name);
    return std::make_pair(kernel.uses_barrier, kernel.uses_local_memory);
  };
  EXPECT_EQ(facts("none"), std::make_pair(false, false));
  EXPECT_EQ(facts("helper"), std::make_pair(true, false));
  EXPECT_EQ(facts("argument"), std::make_pair(false, true));
  EXPECT_EQ(facts("variable"), std::make_pair(true, true));
}

TEST(KernelFacts, ArgumentsAndAttributes) {
  using scheduler::ArgKind;
  const CompileOutput output = compiled(R"(
    typedef struct { int a; float4 b; } S;
    kernel __attribute__((reqd_work_group_size(8, 4, 1))) __attribute__((vec_type_hint(float4)))
    void k(global float4* restrict out, constant int* c, local uchar* l, const S s, float3 v,
           unsigned int u, volatile global int* f, write_only image2d_t im, sampler_t sm,
           global const S* q) {}
    kernel __attribute__((work_group_size_hint(2, 3, 4))) void second(void) {}
    __kernel_exec(16, float4) void third(void) {}
  )");
  ASSERT_EQ(output.summary.kernels.size(), 3u);
  EXPECT_EQ(output.summary.kernels[2].attributes,
            "work_group_size_hint(16,1,1) vec_type_hint(float4)");
  EXPECT_EQ(output.summary.kernels[0].name, "k");
  EXPECT_EQ(output.summary.kernels[1].name, "second");
  EXPECT_EQ(output.summary.kernels[1].attributes, "work_group_size_hint(2,3,4)");
  EXPECT_TRUE(output.summary.kernels[1].arguments.empty());
  const auto& kernel = output.summary.kernels[0];
  EXPECT_EQ(kernel.attributes, "reqd_work_group_size(8,4,1) vec_type_hint(float4)");
  EXPECT_EQ(kernel.reqd_local[0], 8u);
  EXPECT_EQ(kernel.reqd_local[1], 4u);
  EXPECT_EQ(kernel.reqd_local[2], 1u);
  const std::vector<scheduler::Argument> expected = {
      {ArgKind::kGlobal, "out", "float4*", 0, false, true, false, ""},
      {ArgKind::kConstant, "c", "int*", 0, true, false, false, ""},
      {ArgKind::kLocal, "l", "uchar*", 0, false, false, false, ""},
      {ArgKind::kScalar, "s", "S", 32, false, false, false, ""},
      {ArgKind::kScalar, "v", "float3", 16, false, false, false, ""},
      {ArgKind::kScalar, "u", "uint", 4, false, false, false, ""},
      {ArgKind::kGlobal, "f", "int*", 0, false, false, true, ""},
      {ArgKind::kImage, "im", "image2d_t", 0, false, false, false, "write_only"},
      {ArgKind::kSampler, "sm", "sampler_t", 0, false, false, false, ""},
      {ArgKind::kGlobal, "q", "S*", 0, true, false, false, ""}};
  ASSERT_EQ(kernel.arguments.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(kernel.arguments[i], expected[i])
        << kernel.arguments[i].name << " " << kernel.arguments[i].type_name;
  }
}

TEST(KernelFacts, LanguageAndOptionsSayWhetherLastWorkGroupsMayBeSmaller) {
  const auto may = [](const std::string& options) {
    CompileRequest request = request_for("kernel void k(global int* o) { o[0] = 1; }", options);
    request.opencl_c = 300;
    const auto output = compile(request);
    EXPECT_TRUE(output && output->ok) << options;
    return output && output->ok && output->summary.kernels.at(0).smaller_groups;
  };
  EXPECT_FALSE(may(""));
  EXPECT_FALSE(may("-cl-std=CL1.2"));
  EXPECT_TRUE(may("-cl-std=CL2.0"));
  EXPECT_TRUE(may("-cl-std=CL3.0"));
  EXPECT_FALSE(may("-cl-std=CL3.0 -cl-uniform-work-group-size"));
}

TEST(KernelFacts, OnlyWhatKernelsReachIsLookedAt) {
  const CompileOutput output = compiled(R"(
    int after(int x);
    int twice(int x) { return after(x) + after(x); }
    int __attribute__((overloadable)) pick(int x) { return twice(x); }
    int __attribute__((overloadable)) pick(float x) { return printf("%f", x); }
    void never(global int* o) { printf("%d", *o); never(o); }
    static void prints(void) { printf("."); }
    void further(void) { prints(); }
    kernel void silent(global int* o) { o[get_global_id(0)] = pick(3); }
    int after(int x) { return x + 1; }
    kernel void loud(global int* o) { further(); silent(o); }
  )");
  EXPECT_EQ(kernel_of(output, "silent").whole_reason, "");
  EXPECT_EQ(kernel_of(output, "silent").accesses.size(), 1u);
  EXPECT_NE(kernel_of(output, "loud").whole_reason.find("calls printf"), std::string::npos);
}

TEST(KernelFacts, InliningDoesNotExplode) {
  // 2^40 calls, if everything were inlined.
  const auto compile = [](const std::string& leaf) {
    std::string source = "int f0(global int* o, int i) { return " + leaf + "; }\n";
    for (int i = 1; i <= 40; ++i) {
      const std::string callee = "f" + std::to_string(i - 1);
      source += "int f" + std::to_string(i) + "(global int* o, int i) { return " + callee +
                "(o, i + 1) ^ " + callee + "(o, i - 1); }\n";
    }
    source += "kernel void k(global int* o) { o[get_global_id(0)] = f40(o, 3); }\n";
    return kernel_of(compiled(source), "k");
  };
  EXPECT_NE(compile("o[i]").whole_reason.find("too large to analyse"), std::string::npos);
  // What only computes need not be inlined.
  EXPECT_EQ(describe(compile("i * 3")), std::vector<std::string>{"store o[(gid0*4)] 4 exact"});
}

TEST(KernelFacts, LargeFunctionsThatOnlyCompute) {
  // Each of them is called 200 times, which would be 80,000 instructions.
  const auto compile = [](const std::string& parameter, const std::string& statement) {
    std::string body;
    for (int i = 0; i < 100; ++i)
      body += "  s[" + std::to_string(i % 8) + "] += s[i] * 7 + t[i & 3];\n";
    // `parameter` ends with the name of one of the kernel's arguments.
    const std::string argument = parameter.empty() ? "" : std::string(", ") + parameter.back();
    std::string source = "constant int t[4] = {1, 2, 3, 5};\nvoid mix(int* s, int i" + parameter +
                         ") {\n" + body + statement +
                         "}\nkernel void k(global int* o, int n, read_only image2d_t r,\n"
                         "              write_only image2d_t w) {\n  int s[8] = {n};\n";
    for (int i = 0; i < 200; ++i) source += "  mix(s, n" + argument + ");\n";
    source += "  o[get_global_id(0)] = s[n & 7];\n}\n";
    return kernel_of(compiled(source), "k");
  };
  EXPECT_EQ(describe(compile("", "")).back(), "store o[(gid0*4)] 4 exact");
  EXPECT_EQ(compile("", "").whole_reason, "");
  const std::string too_large = "calls mix, which is recursive or too large to analyse";
  EXPECT_EQ(compile(", global int* o", "  s[0] += o[i];\n").whole_reason, too_large);
  EXPECT_EQ(compile(", global int* o", "  o[i] = s[0];\n").whole_reason, too_large);
  EXPECT_EQ(compile(", read_only image2d_t r", "  s[0] += read_imagei(r, (int2)(i, 0)).x;\n")
                .whole_reason,
            too_large);
  EXPECT_EQ(compile(", write_only image2d_t w", "  write_imagei(w, (int2)(i, 0), (int4)(s[0]));\n")
                .whole_reason,
            too_large);
  EXPECT_EQ(compile("", "  barrier(CLK_LOCAL_MEM_FENCE);\n").whole_reason, too_large);
  EXPECT_EQ(compile("", "  printf(\"x\");\n").whole_reason, too_large);
  EXPECT_EQ(compile("", "  *(global int*)(size_t)i = 1;\n").whole_reason, too_large);
}

TEST(KernelFacts, WhatAtomicsResultsDecide) {
  const auto facts = [](const std::string& body) {
    std::string text;
    const auto kernel = kernel_of(
        compiled("kernel void k(global const int* a, global int* n, global int* o, int key, local "
                 "int* l) {\n  int i = get_global_id(0);\n" +
                 body + "\n}"),
        "k");
    for (const scheduler::Access& access : kernel.accesses) {
      if (access.kind != scheduler::AccessKind::kAtomic) continue;
      text += access.decides_loop ? "loop " : "- ";
      text += access.seldom ? "seldom " : "often ";
    }
    return text + kernel.whole_reason;
  };
  // A search: found by a match, or behind many tests of data.
  EXPECT_EQ(facts("if (a[i] == key) o[atomic_inc(n)] = i;"), "- seldom ");
  EXPECT_EQ(facts("if (a[i] > key) o[atomic_inc(n)] = i;"), "- often ");
  EXPECT_EQ(facts("if (a[i] == 1) o[atomic_inc(n)] = i;"), "- often ");
  EXPECT_EQ(facts("if (i == key) o[atomic_inc(n)] = i;"), "- often ");
  EXPECT_EQ(facts("if (a[i] & 1) if (a[i + 1] & 2) if (a[i + 2] & 4) if (a[i + 3] & 8)\n"
                  "if (a[i + 4] & 16) if (a[i + 5] & 32) o[atomic_inc(n)] = i;"),
            "- seldom ");
  // In a loop that does not care, whose bound is read from memory that the kernel does not write.
  EXPECT_EQ(facts("for (int k = 0; k < a[0]; ++k) if (a[i + k] == key) {\n"
                  "  int at = atomic_inc(n); if (at < 9) o[at] = i; else atomic_dec(n); }"),
            "- seldom - seldom ");
  // Directly; by a value that goes through a branch, private or local memory, or the buffer.
  EXPECT_EQ(facts("if (a[i] == key) while (atomic_xchg(n, 1)) o[i] += 1;"), "loop seldom ");
  EXPECT_EQ(facts("int b; do { b = atomic_inc(n); o[i] += b; } while (b < key);"), "loop often ");
  EXPECT_EQ(facts("int on = 1; while (on) { if (atomic_inc(n) > 7) on = 0; o[i] += on; }"),
            "loop often ");
  EXPECT_EQ(facts("int m[4] = {1, 1, 1, 1}; while (m[key & 3]) m[i & 3] = atomic_inc(n) < 7;"),
            "loop often ");
  EXPECT_EQ(facts("for (;;) { if (a[i] == key) l[0] = atomic_inc(n);\n"
                  "  barrier(CLK_LOCAL_MEM_FENCE); if (l[0] > 5) break; }"),
            "loop seldom ");
  EXPECT_EQ(facts("while (n[0] < key) if (a[i] == key) o[i] = atomic_inc(n);"), "loop seldom ");
  EXPECT_EQ(facts("for (int k = 0; k < o[0]; ++k) if (a[k] == key) o[0] = atomic_inc(n);"),
            "loop seldom ");
  EXPECT_EQ(facts("for (int k = 0; k < 9; ++k) { if (a[k] == key) if (atomic_inc(n) > 3) return;\n"
                  "  o[i * 9 + k] = 1; }"),
            "loop seldom ");
  // Before the loop, it is one value among others.
  EXPECT_EQ(
      facts("if (a[i] == key) { int c = atomic_inc(n); for (int k = 0; k < c; ++k) o[k] = 1; }"),
      "- seldom ");
}

TEST(KernelFacts, ThirtyTwoBitAddresses) {
  CompileRequest request =
      request_for("kernel void k(global int* o, uint n) { o[get_global_id(0) + n] = 1; }");
  request.address_bits = 32;
  EXPECT_EQ(describe(kernel_of(compiled(request))),
            (std::vector<std::string>{"store o[sext64(((n*4) + (gid0*4)))] 4 exact"}));
}

}  // namespace
}  // namespace tutti::kernel_compiler
