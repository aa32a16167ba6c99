// SPDX-License-Identifier: Apache-2.0
// What single features of the language turn into: pointers, types, loops, tests, built-ins.
#include <gtest/gtest.h>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

using Lines = std::vector<std::string>;

// Both are possible, so neither is certain.
TEST(AccessExpression, SelectedPointer) {
  const char* source = R"(
    kernel void k(global int* a, global int* b, int c) {
      size_t g = get_global_id(0);
      global int* p = c ? a : b + 4;
      p[g] = 1;
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"store b[((gid0*4) + 16)] 4", "store a[(gid0*4)] 4"}));
}

TEST(AccessExpression, PointerChosenByData) {
  const char* source = R"(
    kernel void k(global int* a, global int* b, global const int* c) {
      size_t g = get_global_id(0);
      global int* p;
      if (c[g]) p = a + 1; else p = b + g;
      *p = 1;
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"load c[(gid0*4)] 4 exact", "store b[(gid0*4)] 4", "store a[4] 4"}));
}

TEST(AccessExpression, BytesAndCasts) {
  const char* source = R"(
    kernel void k(global uchar* o, global ushort* s) {
      size_t g = get_global_id(0);
      o[g] = 1;
      *(global uint*)(o + 16 * g) = 3;
      s[2 * g + 1] = 7;
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"store o[gid0] 1 exact", "store o[(gid0*16)] 4 exact",
                                     "store s[((gid0*4) + 2)] 2 exact"}));
}

TEST(AccessExpression, Unions) {
  const char* source = R"(
    typedef union { float f; uint u; } U;
    kernel void k(global U* o) {
      size_t g = get_global_id(0);
      o[g].u = 1;
      float f = o[g + 1].f;
      o[g + 2].f = f;
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"store o[(gid0*4)] 4 exact", "load o[((gid0*4) + 4)] 4 exact",
                                     "store o[((gid0*4) + 8)] 4 exact"}));
}

TEST(AccessExpression, Structures) {
  const char* source = R"(
    typedef struct { float x; int id; float4 q; } P;
    kernel void k(global P* o, global const P* in) {
      size_t g = get_global_id(0);
      P p = in[g];
      p.id = 3;
      o[g] = p;
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"load in[(gid0*32)] 4 exact", "load in[((gid0*32) + 8)] 24 exact",
                   "store o[(gid0*32)] 4 exact", "store o[((gid0*32) + 4)] 4 exact",
                   "store o[((gid0*32) + 8)] 24 exact"}));
}

// The loop may end early: nothing in it is certain; what follows is.
TEST(AccessExpression, Break) {
  const char* source = R"(
    kernel void k(global int* o, global const int* in, int n) {
      int g = get_global_id(0);
      for (int i = 0; i < n; i++) {
        if (in[i] == g) break;
        o[g * n + i] = 1;
      }
      o[g] = 2;
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"loop k0 to zext64((n + -1))", "load in[(k0*4)] 4 in k0 if n > 0 && k0 < n",
                   "store o[(sext64(((trunc32(gid0)*n) + k0))*4)] 4 in k0 if n > 0 && k0 < n",
                   "store o[(sext64(trunc32(gid0))*4)] 4 exact"}));
}

TEST(AccessExpression, Continue) {
  const char* source = R"(
    kernel void k(global int* o, int n) {
      int g = get_global_id(0);
      for (int i = 0; i < n; i++) {
        if (i == 3) continue;
        o[g * n + i] = 1;
      }
    }
  )";
  EXPECT_EQ(
      describe(source),
      (Lines{"loop k0 to zext64((n + -1)) exact",
             "store o[(sext64(((trunc32(gid0)*n) + k0))*4)] 4 in k0 if n > 0 && k0 != 3 exact"}));
}

// The counter of a loop that has ended is not the counter of any iteration.
TEST(AccessExpression, ValueAfterALoop) {
  const char* source = R"(
    kernel void k(global int* o, int n) {
      int g = get_global_id(0);
      int i;
      for (i = 0; i < n; i++) o[g * n + i] = 1;
      o[i + g] = 2;
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"loop k0 to zext64((n + -1)) exact",
                   "store o[((sext64((trunc32(gid0)*n))*4) + (k0*4))] 4 in k0 if n > 0 exact",
                   "store o[((zext64(hull(n, 0)) + sext64(trunc32(gid0)))*4)] 4 exact"}));
}

TEST(AccessExpression, SearchLoop) {
  const char* source = R"(
    kernel void k(global int* o, global const int* in) {
      int i = 0;
      while (in[i]) i++;
      o[i] = 1;
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"loop k0", "load in[(k0*4)] 4 in k0", "store o[?64] 4 exact"}));
}

TEST(AccessExpression, TwoLoopsOneAfterTheOther) {
  const char* source = R"(
    kernel void k(global float* o, global const float* in) {
      float t[8];
      for (int i = 0; i < 8; i++) t[i] = in[8 * get_global_id(0) + i];
      for (int i = 0; i < 8; i++) o[8 * get_global_id(0) + i] = t[(i * 3) & 7];
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"loop k0 to zext64(7) exact", "loop k1 to zext64(7) exact",
                                     "load in[((gid0*32) + (k0*4))] 4 in k0 exact",
                                     "store o[((gid0*32) + (k1*4))] 4 in k1 exact"}));
}

TEST(AccessExpression, AsynchronousCopies) {
  const char* source = R"(
    kernel void k(global float* o, global const float* in, local float* l, uint n) {
      event_t e = async_work_group_copy(l, in + get_group_id(0) * n, n, 0);
      wait_group_events(1, &e);
      e = async_work_group_strided_copy(o + get_group_id(0), l, n, get_num_groups(0), 0);
      wait_group_events(1, &e);
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"loop k0 to (zext64(n) + -1) exact", "loop k1 to (zext64(n) + -1) exact",
                   "load in[((zext64(n)*group0*4) + (k0*4))] 4 in k0 if zext64(n) != 0 exact",
                   "store o[((group0*4) + ((k1*4)*ngroups0))] 4 in k1 if zext64(n) != 0 exact"}));
}

TEST(AccessExpression, SecondResults) {
  const char* source = R"(
    kernel void k(global float* o, global int* e, global float4* s) {
      size_t g = get_global_id(0);
      float x = fract((float)g, o + g);
      o[g + 1] = frexp(x, e + g);
      float4 c;
      s[g] = sincos((float4)(x), &c) + c + sincos((float4)(x), s + g + 9);
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"store o[(gid0*4)] 4 exact", "store e[(gid0*4)] 4 exact",
                   "store o[((gid0*4) + 4)] 4 exact", "store s[((gid0*16) + 144)] 16 exact",
                   "store s[(gid0*16)] 16 exact"}));
}

// Any byte of any buffer that such a pointer can lead to.
TEST(AccessExpression, PointersInAnArray) {
  const char* source = R"(
    kernel void k(global float* a, global const float* b, constant float* c, int i) {
      global const float* t[2] = {a, b};
      a[get_global_id(0)] = t[i & 1][get_global_id(0)] + c[3];
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"load a[?64] 0", "load b[?64] 0", "load c[12] 4 exact",
                                     "store a[(gid0*4)] 4 exact"}));
}

TEST(AccessExpression, Switch) {
  const char* source = R"(
    kernel void k(global int* o, int m) {
      int g = get_global_id(0);
      switch (m) {
        case 0: o[g] = 1; break;
        case 1:
        case 2: o[g + 10] = 2; break;
        default: o[g + 100] = 3;
      }
    }
  )";
  EXPECT_EQ(
      describe(source),
      (Lines{"store o[(sext64(trunc32(gid0))*4)] 4 if m == 0 exact",
             "store o[((sext64(trunc32(gid0))*4) + 40)] 4",
             "store o[((sext64(trunc32(gid0))*4) + 400)] 4 if m != 2 && m != 1 && m != 0 exact"}));
}

// Dimensions above 2 have the specification's defaults.
TEST(AccessExpression, WorkItemFunctions) {
  const char* source = R"(
    kernel void k(global int* o, constant int* c) {
      o[get_global_id(2) + get_global_id(5) + get_global_size(7) + get_work_dim()] =
          c[get_local_id(1)];
      o[get_local_size(0) * get_num_groups(1) + get_global_offset(2)] = 1;
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"load c[(lid1*4)] 4 exact",
                                     "store o[((zext64(hull(1, 2, 3))*4) + (gid2*4) + 4)] 4 exact",
                                     "store o[((goff2*4) + (lsize0*ngroups1*4))] 4 exact"}));
}

TEST(AccessExpression, DimensionByValue) {
  const char* source = R"(
    kernel void k(global int* o, uint d) { o[get_global_id(d)] = 1; }
  )";
  EXPECT_EQ(describe(source), (Lines{"store o[?64] 4 exact"}));
}

TEST(AccessExpression, LinearIds) {
  const char* source = R"(
    kernel void k(global int* o) {
      int a = get_local_id(0);
      o[get_group_id(1) * get_num_groups(0) + get_group_id(0)] = a;
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"store o[((group0*4) + (group1*ngroups0*4))] 4 exact"}));
}

TEST(AccessExpression, IntegerFunctions) {
  const char* source = R"(
    kernel void k(global int* o, int n) {
      int i = get_global_id(0);
      o[clamp(i - 1, 0, n - 1)] = mad24(i, 2, 3);
      o[max(i, 3) & ~7] = abs(i);
      o[i % n] = 2;
      o[(i << 2) | 1] = 4;
      o[i / 16] = 5;
      o[convert_uchar(i)] = 6;
    }
  )";
  EXPECT_EQ(
      describe(source),
      (Lines{"store o[(smin((zext64(smax(1, trunc32(gid0))) + -1), (sext64(n) + -1))*4)] 4 exact",
             "store o[(udiv(zext64(smax(3, trunc32(gid0))), 8)*32)] 4 exact",
             "store o[(sext64(srem(trunc32(gid0), n))*4)] 4 exact",
             "store o[((sext64((trunc32(gid0)*4))*4) + 4)] 4 exact",
             "store o[(sext64(sdiv(trunc32(gid0), 16))*4)] 4 exact",
             "store o[(zext64(trunc8(gid0))*4)] 4 exact"}));
}

TEST(AccessExpression, IndexTypes) {
  const char* source = R"(
    kernel void k(global int* o, uint u, ulong l, short s, char c) {
      o[u] = 1;
      o[l + get_global_id(0)] = 2;
      o[s] = 3;
      o[(uchar)c] = 4;
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"store o[(zext64(u)*4)] 4 exact", "store o[((l*4) + (gid0*4))] 4 exact",
                   "store o[(sext64(s)*4)] 4 exact", "store o[(zext64(c)*4)] 4 exact"}));
}

// Constants of the program are no memory object; what they hold is not followed.
TEST(AccessExpression, ProgramScopeConstants) {
  const char* source = R"(
    constant int table[4] = {1, 2, 3, 4};
    kernel void k(global int* o) {
      size_t g = get_global_id(0);
      o[table[g & 3]] = 0;
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"store o[(sext64(?32)*4)] 4 exact"}));
}

TEST(AccessExpression, PrivateAndLocalMemory) {
  const char* source = R"(
    kernel void k(local int* l, global int* o) {
      int p[4] = {1, 2, 3, 4};
      l[get_local_id(0)] = p[get_local_id(0) & 3];
      barrier(CLK_LOCAL_MEM_FENCE);
      o[get_global_id(0)] = l[3];
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"store o[(gid0*4)] 4 exact"}));
}

// No guard, and no certainty.
TEST(AccessExpression, TestsThatAreNotUnderstood) {
  const char* source = R"(
    kernel void k(global int* o, global const float* in, float f) {
      size_t g = get_global_id(0);
      if (f > 1.0f) o[g] = 1;
      if (in[g] != 0) o[g + 1] = 1;
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"store o[(gid0*4)] 4", "load in[(gid0*4)] 4 exact",
                                     "store o[((gid0*4) + 4)] 4"}));
}

// Either of two is no list of guards; neither of two is.
TEST(AccessExpression, AlternativeTests) {
  const char* source = R"(
    kernel void k(global int* o, int a, int b) {
      size_t g = get_global_id(0);
      if (a == 1 || b == 2) o[g] = 1;
      if (!(a == 3 || b == 4)) o[g + 1] = 1;
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"store o[(gid0*4)] 4", "store o[((gid0*4) + 4)] 4 if b != 4 && a != 3 exact"}));
}

TEST(AccessExpression, LoopInsideATest) {
  const char* source = R"(
    kernel void k(global int* o, int n, int m) {
      int g = get_global_id(0);
      if (g < m) {
        for (int i = 0; i < n; ++i) {
          if (i > g) o[g * n + i] = 1;
        }
      }
    }
  )";
  EXPECT_EQ(
      describe(source),
      (Lines{"loop k0 to zext64((n + -1)) exact",
             "store o[(sext64(((trunc32(gid0)*n) + k0))*4)] 4 in k0 if n > 0 && trunc32(gid0) < m "
             "&& k0 > trunc32(gid0) exact"}));
}

TEST(AccessExpression, AtomicOperations) {
  const char* source = R"(
    kernel void k(volatile global int* a, volatile global uint* b, volatile global float* f,
                  volatile local int* l) {
      size_t g = get_global_id(0);
      atomic_add(a, 1);
      int old = atomic_sub(a + g, 1);
      atomic_max(b, 7u);
      atomic_min(a, old);
      atomic_xchg(f + 1, 1.0f);
      atomic_cmpxchg(a + 2, 1, 2);
      atomic_or(l, 3);
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"atomic a[0] 4 add exact", "atomic a[(gid0*4)] 4 sub used exact",
                   "atomic b[0] 4 umax exact", "atomic a[0] 4 min exact",
                   "atomic f[4] 4 xchg exact", "atomic a[8] 4 cmpxchg exact"}));
}

}  // namespace
}  // namespace tutti::kernel_compiler
