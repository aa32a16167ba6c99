// SPDX-License-Identifier: Apache-2.0
// Which kernels use addresses that are none of their arguments', or keep those of arguments.
#include <gtest/gtest.h>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

struct Case {
  const char* name;
  const char* source;  // the kernel is called k
  bool uses;
};

void PrintTo(const Case& item, std::ostream* stream) { *stream << item.name; }

class AddressUse : public testing::TestWithParam<Case> {};

TEST_P(AddressUse, IsFound) {
  const CompileOutput output = compiled(GetParam().source, "-cl-std=CL2.0");
  EXPECT_EQ(kernel_of(output, "k").uses_addresses, GetParam().uses);
}

#define NODE "typedef struct N { global struct N* next; int v; } N;\n"

const Case kCases[] = {
    {"Arguments",
     "kernel void k(global int* o, global const int* i) { o[get_global_id(0)] = i[7]; }", false},
    {"OneOfTwoArguments",
     "kernel void k(global int* a, global int* b, int c) {\n"
     "  global int* p = c ? a : b;\n  for (int i = 0; i < c; ++i) *p++ = i;\n}",
     false},
    {"LocalAndPrivate",
     "kernel void k(global int* o, local int* l, int n) {\n"
     "  int own[16]; for (int i = 0; i < 16; ++i) own[i] = l[i];\n"
     "  o[get_global_id(0)] = own[n & 15];\n}",
     false},
    {"ProgramsConstants",
     "constant int table[4] = {1, 2, 3, 4};\n"
     "kernel void k(global int* o, int n) { o[0] = table[n & 3]; }",
     false},
    {"Vectors", "kernel void k(global float* o) { vstore4(vload4(0, o), 1, o); }", false},
    {"Atomics", "kernel void k(global int* o) { atomic_add(o, 1); }", false},
    {"DistanceWithinAnArgument",
     "kernel void k(global int* o, int n) { global int* p = o + n; o[0] = (int)(p - o); }", false},
    {"Structures",
     "typedef struct { int a; float b; } S;\n"
     "kernel void k(global S* o, S s) { o[get_global_id(0)] = s; }",
     false},
    {"List",
     NODE "kernel void k(global N* head, global int* o) {\n"
          "  int s = 0; for (global N* n = head; n; n = n->next) s += n->v; *o = s;\n}",
     true},
    {"MakesAList",
     NODE "kernel void k(global N* n) { n[get_global_id(0)].next = n + get_global_id(0) + 1; }",
     true},
    {"Number", "kernel void k(ulong a, global int* o) { *o = *(global int*)a; }", true},
    {"KeepsANumber", "kernel void k(global int* a, global ulong* o) { *o = (ulong)a; }", true},
    {"StructureOfPointers",
     "typedef struct { global int* p; int n; } S;\n"
     "kernel void k(S s, global int* o) { *o = s.p[s.n]; }",
     true},
    {"ArrayOfPointers",
     "kernel void k(global int* a, global int* b, global int* o, int n) {\n"
     "  global int* p[4] = {a, b, a, b}; *o = p[n & 3][0];\n}",
     true},
    {"ThroughAFunction",
     NODE "int last(global N* n) { while (n->next) n = n->next; return n->v; }\n"
          "kernel void k(global N* n, global int* o) { *o = last(n); }",
     true},
    {"Printf", "kernel void k(global int* a) { printf(\"%p\", a); }", true},
    {"PrintfOfANumber", "kernel void k(global int* a) { printf(\"%d\", a[0]); }", false},
};
INSTANTIATE_TEST_SUITE_P(Kernels, AddressUse, testing::ValuesIn(kCases),
                         [](const auto& item) { return std::string(item.param.name); });

}  // namespace
}  // namespace tutti::kernel_compiler
