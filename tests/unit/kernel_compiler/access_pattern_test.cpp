// SPDX-License-Identifier: Apache-2.0
// Whole kernels of common shapes, and what is said of their accesses.
#include <gtest/gtest.h>

#include <algorithm>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

using Lines = std::vector<std::string>;

TEST(AccessPattern, MandelbrotWithGuards) {
  const char* source = R"(
    kernel void k(global uchar4* out, const uint w, const uint h, float x0, int most) {
      uint x = get_global_id(0), y = get_global_id(1);
      if (x >= w || y >= h) return;
      float a = 0, b = 0;
      int i = 0;
      while (i < most && a * a + b * b <= 4.0f) {
        float t = a * a - b * b + x0;
        b = 2 * a * b;
        a = t;
        ++i;
      }
      out[y * w + x] = (uchar4)(i, 0, 0, 255);
    }
  )";
  EXPECT_EQ(
      describe(source),
      (Lines{"store out[(zext64((trunc32(gid0) + (trunc32(gid1)*w)))*4)] 4 if trunc32(gid1) <u h "
             "&& trunc32(gid0) <u w exact"}));
}

// The store to vel covers the fourth lane as well, which was loaded just before.
TEST(AccessPattern, NBody) {
  const char* source = R"(
    kernel void k(global const float4* pos, global float4* out, global float4* vel, int n) {
      int i = get_global_id(0);
      float4 p = pos[i];
      float3 a = 0;
      for (int j = 0; j < n; j++) {
        float3 d = pos[j].xyz - p.xyz;
        a += d * rsqrt(dot(d, d) + 0.1f);
      }
      vel[i].xyz += a;
      out[i] = p + vel[i];
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"loop k0 to zext64((n + -1)) exact",
                                     "load pos[(sext64(trunc32(gid0))*16)] 16 exact",
                                     "load pos[(k0*16)] 16 in k0 if n > 0 exact",
                                     "load vel[(sext64(trunc32(gid0))*16)] 16 exact",
                                     "store vel[(sext64(trunc32(gid0))*16)] 16 exact",
                                     "store out[(sext64(trunc32(gid0))*16)] 16 exact"}));
}

TEST(AccessPattern, TiledGemm) {
  const char* source = R"(
    kernel void k(int m, int n, int kk, global const float* a, global const float* b,
                  global float* c) {
      local float as[16][16], bs[16][16];
      const int r = get_local_id(1), s = get_local_id(0);
      const int row = get_global_id(1), col = get_global_id(0);
      float sum = 0;
      for (int t = 0; t < kk / 16; t++) {
        as[r][s] = a[row * kk + t * 16 + s];
        bs[r][s] = b[(t * 16 + r) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < 16; i++) sum += as[r][i] * bs[i][s];
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      c[row * n + col] = sum;
    }
  )";
  EXPECT_EQ(
      describe(source),
      (Lines{"loop k0 to zext64((sdiv(kk, 16) + -1)) exact", "loop k1 to zext64(15) exact",
             "load a[((sext64((trunc32(lid0) + (trunc32(gid1)*kk)))*4) + (k0*64))] 4 in k0 if kk > "
             "15 exact",
             "load b[(sext64(((trunc32(gid0) + (trunc32(lid1)*n)) + ((n*16)*k0)))*4)] 4 in k0 if "
             "kk > 15 exact",
             "store c[(sext64((trunc32(gid0) + (trunc32(gid1)*n)))*4)] 4 exact"}));
}

// How often the loop runs is known although a barrier, of which Clang does not say that it returns,
// stands in it.
TEST(AccessPattern, BarrierInALoopInSteps) {
  const char* source = R"(
    kernel void k(global const float* x, global float* y, int n) {
      local float tile[16];
      float sum = 0;
      for (int i = 0; i < n; i += 16) {
        tile[get_local_id(0)] = x[i];
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += tile[0];
      }
      y[get_global_id(0)] = sum;
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"loop k0 to zext64(udiv((n + -1), 16)) exact",
                   "load x[(k0*64)] 4 in k0 if n > 0 exact", "store y[(gid0*4)] 4 exact"}));
}

// Positions that come out of memory are unknown.
TEST(AccessPattern, SparseMatrix) {
  const char* source = R"(
    kernel void k(global const int* rows, global const int* cols, global const float* v,
                  global const float* x, global float* y, int n) {
      int r = get_global_id(0);
      if (r < n) {
        float s = 0;
        for (int i = rows[r]; i < rows[r + 1]; i++) s += v[i] * x[cols[i]];
        y[r] = s;
      }
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"loop k0", "load rows[(sext64(trunc32(gid0))*4)] 4 if trunc32(gid0) < n exact",
                   "load rows[((sext64(trunc32(gid0))*4) + 4)] 4 if trunc32(gid0) < n exact",
                   "load v[((sext64(?32)*4) + (k0*4))] 4 in k0 if trunc32(gid0) < n from #0 to #1 "
                   "i32 *4 + 0",
                   "load cols[((sext64(?32)*4) + (k0*4))] 4 in k0 if trunc32(gid0) < n from #0 to "
                   "#1 i32 *4 + 0",
                   "load x[(sext64(?32)*4)] 4 in k0 if trunc32(gid0) < n",
                   "store y[(sext64(trunc32(gid0))*4)] 4 if trunc32(gid0) < n exact"}));
}

TEST(AccessPattern, Scatter) {
  const char* source = R"(
    kernel void k(global const int* p, global const float* in, global float* out) {
      size_t i = get_global_id(0);
      out[p[i]] = in[i];
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"load in[(gid0*4)] 4 exact", "load p[(gid0*4)] 4 exact",
                                     "store out[(sext64(?32)*4)] 4 exact"}));
}

// The sum may wrap around; the bound of the loop is finite only where it does not.
TEST(AccessPattern, GridStride) {
  const char* source = R"(
    kernel void k(global float* a, global const float* b, uint n) {
      for (uint i = get_global_id(0); i < n; i += get_global_size(0)) a[i] = b[i] * 2;
    }
  )";
  EXPECT_EQ(
      describe(source),
      (Lines{"loop k0 to (udiv(smax(((zext64(n) + zext64(trunc32(gsize0)) + -1) - "
             "zext64((trunc32(gsize0) + trunc32(gid0)))), 0), umax(zext64(trunc32(gsize0)), 1)) + "
             "(umin(lshr(smax((zext64(n) + zext64(trunc32(gsize0)) + -1), 0), 32), "
             "1)*4611686018427387904))",
             "load b[(zext64((trunc32(gid0) + (trunc32(gsize0)*k0)))*4)] 4 in k0 if trunc32(gid0) "
             "<u n && (trunc32(gid0) + (trunc32(gsize0)*k0)) <u n",
             "store a[(zext64((trunc32(gid0) + (trunc32(gsize0)*k0)))*4)] 4 in k0 if trunc32(gid0) "
             "<u n && (trunc32(gid0) + (trunc32(gsize0)*k0)) <u n"}));
}

TEST(AccessPattern, GroupSum) {
  const char* source = R"(
    kernel void k(global const float* in, global float* out, local float* s) {
      uint l = get_local_id(0);
      s[l] = in[get_global_id(0)];
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint d = get_local_size(0) / 2; d > 0; d >>= 1) {
        if (l < d) s[l] += s[l + d];
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      if (l == 0) out[get_group_id(0)] = s[0];
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"load in[(gid0*4)] 4 exact",
                                     "store out[(group0*4)] 4 if trunc32(lid0) == 0 exact"}));
}

TEST(AccessPattern, Histogram) {
  const char* source = R"(
    kernel void k(global const uchar* d, volatile global uint* h, uint n) {
      size_t i = get_global_id(0);
      if (i < n) atomic_inc(&h[d[i]]);
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"load d[gid0] 1 if gid0 <u zext64(n) exact",
                                     "atomic h[(zext64(?8)*4)] 4 inc if gid0 <u zext64(n) exact"}));
}

TEST(AccessPattern, StructureByValue) {
  const char* source = R"(
    typedef struct { int n; uint w; float4 v; short a[3]; char b; } S;
    kernel void k(global float* o, S s, global const float* in) {
      int i = get_global_id(0);
      if (i < s.n) o[i * s.w + s.a[1] + s.b] = in[i];
    }
  )";
  EXPECT_EQ(
      describe(source),
      (Lines{"load in[(sext64(trunc32(gid0))*4)] 4 if s > trunc32(gid0) exact",
             "store o[(zext64((sext32(s@38) + sext32(s@34) + (trunc32(gid0)*s@4)))*4)] 4 if s > "
             "trunc32(gid0) exact"}));
}

TEST(AccessPattern, StructureByValueChanged) {
  const char* source = R"(
    typedef struct { int n; uint w; } S;
    kernel void k(global float* o, S s) {
      int i = get_global_id(0);
      s.n += 5;
      if (i < s.n) { s.w = 3; o[i * s.w] = s.n; }
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"store o[(zext64((trunc32(gid0)*3))*4)] 4 if (s + 5) > trunc32(gid0) exact"}));
}

TEST(AccessPattern, VectorArguments) {
  const char* source = R"(
    kernel void k(global int* o, int2 wh, const uint4 q) {
      int2 p = (int2)(get_global_id(0), get_global_id(1));
      int2 c = min(p + (int2)(1, 2), wh - 1);
      o[c.y * wh.x + c.x] = q.z;
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"store o[((sext64((smin((trunc32(gid1) + 2), (wh@4 + -1))*wh)) + "
                   "smin(sext64((trunc32(gid0) + 1)), sext64((wh + -1))))*4)] 4 exact"}));
}

TEST(AccessPattern, VloadVstore) {
  const char* source = R"(
    kernel void k(global float* o, global const float* in, global const half* h) {
      size_t g = get_global_id(0);
      float3 a = vload3(g, in);
      vstore4((float4)(a, vload_half(g, h)), g, o);
    }
  )";
  EXPECT_EQ(describe(source), (Lines{"load in[(gid0*12)] 12 exact", "load h[(gid0*2)] 2 exact",
                                     "store o[(gid0*16)] 16 exact"}));
}

// Twelve bytes of each sixteen: the padding is nobody's.
TEST(AccessPattern, VectorsOfThree) {
  const char* source = R"(
    kernel void k(global float3* o, global const float3* in) {
      size_t g = get_global_id(0);
      o[g] = in[g] * 2;
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"load in[(gid0*16)] 12 exact", "store o[(gid0*16)] 12 exact"}));
}

TEST(AccessPattern, HelperFunction) {
  const char* source = R"(
    float at(global const float* p, int i, int n) {
      if (i < 0) i = 0;
      if (i >= n) i = n - 1;
      return p[i];
    }
    kernel void k(global float* o, global const float* in, int n) {
      int i = get_global_id(0);
      o[i] = at(in, i - 1, n) + at(in, i + 1, n);
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"load in[(sext64(hull((trunc32(gid0) + -1), 0, (n + -1)))*4)] 4 exact",
                   "load in[(sext64(hull((n + -1), (smax(-1, trunc32(gid0)) + 1)))*4)] 4 exact",
                   "store o[(sext64(trunc32(gid0))*4)] 4 exact"}));
}

TEST(AccessPattern, EarlyReturns) {
  const char* source = R"(
    kernel void k(global float* o, int n, int m) {
      int i = get_global_id(0);
      if (i >= n) return;
      o[i] = 1;
      if (i == m) return;
      o[i + n] = 2;
    }
  )";
  EXPECT_EQ(
      describe(source),
      (Lines{"store o[(sext64(trunc32(gid0))*4)] 4 if trunc32(gid0) < n exact",
             "store o[(sext64((trunc32(gid0) + n))*4)] 4 if trunc32(gid0) < n && trunc32(gid0) != "
             "m exact"}));
}

TEST(AccessPattern, NestedLoops) {
  const char* source = R"(
    kernel void k(global float* o, int n, int m) {
      int g = get_global_id(0);
      for (int i = 0; i < n; i++)
        for (int j = i; j < m; j++) o[(g * n + i) * m + j] = i * j;
    }
  )";
  EXPECT_EQ(
      describe(source),
      (Lines{"loop k0 to zext64((n + -1)) exact", "loop k1 to zext64(((m + -1) + (k0*-1))) exact",
             "store o[((sext64(((trunc32(gid0)*n*m) + ((m + 1)*k0)))*4) + (k1*4))] 4 in k0,k1 if n "
             "> 0 && k0 < m exact"}));
}

TEST(AccessPattern, DecreasingLoop) {
  const char* source = R"(
    kernel void k(global float* o, int n) {
      int g = get_global_id(0);
      for (int i = n - 1; i >= 0; --i) o[g * n + i] = i;
    }
  )";
  EXPECT_EQ(
      describe(source),
      (Lines{"loop k0 to zext64((n + -1)) exact",
             "store o[((sext64((((trunc32(gid0) + 1)*n) + -1))*4) + (k0*-4))] 4 in k0 if n > 0 "
             "exact"}));
}

TEST(AccessPattern, RowsOfAnImage) {
  const char* source = R"(
    kernel void k(write_only image2d_t im, global const float4* p, int w) {
      int x = get_global_id(0), y = get_global_id(1) + 3;
      if (x < get_image_width(im) && y < get_image_height(im)) write_imagef(im, (int2)(x, y), p[x]);
    }
  )";
  // An image's layout: bytes of a row, of a slice (@8), of a pixel (@16); its width (@24), height.
  EXPECT_EQ(describe(source).back(),
            "store im[(((sext64(trunc32(gid0))*im@16) + (sext64((trunc32(gid1) + 3))*im)) + k0)] 1 "
            "in k0 if im@24 > trunc32(gid0) && (trunc32(gid1) + 3) < im@28 && "
            "sext64(trunc32(gid0)) <u zext64(im@24) && "
            "sext64((trunc32(gid1) + 3)) <u zext64(im@28) exact");
}

TEST(AccessPattern, WhileLoopInSteps) {
  const char* source = R"(
    kernel void k(global int* o, uint n) {
      uint g = get_global_id(0);
      uint i = 0;
      while (i < n) { o[g * n + i] = i; i += 2; }
    }
  )";
  EXPECT_EQ(
      describe(source),
      (Lines{
          "loop k0 to (udiv(smax(((zext64(n) + zext64(2) + -1) - zext64(2)), 0), umax(zext64(2), "
          "1)) + (umin(lshr(smax((zext64(n) + zext64(2) + -1), 0), 32), 1)*4611686018427387904))",
          "store o[(zext64(((trunc32(gid0)*n) + (k0*2)))*4)] 4 in k0 if n != 0 && (k0*2) <u n"}));
}

TEST(AccessPattern, PointerWalk) {
  const char* source = R"(
    kernel void k(global const int* p, global int* o, int n) {
      global const int* q = p + get_global_id(0) * n;
      int s = 0;
      while (n--) s += *q++;
      o[get_global_id(0)] = s;
    }
  )";
  EXPECT_EQ(describe(source),
            (Lines{"loop k0 to zext64((n + -1)) exact",
                   "load p[((sext64(n)*gid0*4) + (k0*4))] 4 in k0 if n != 0 exact",
                   "store o[(gid0*4)] 4 exact"}));
}

// A vendor's compiler may keep a store that changes nothing, and then it is one.
TEST(AccessPattern, StoresOfWhatIsThere) {
  const std::string types = "struct S { int a, b, c; }; struct T { int a, b; };\n";
  const std::vector<std::pair<std::string, std::string>> kernels{
      {"int", "p[i] = p[i];"},
      {"int", "p[i] |= 0;"},
      {"int", "p[i] = (p[i] ^ 5) ^ 5;"},
      {"int", "int t = p[i]; if (n > 3) t = p[i]; p[i] = t;"},
      {"float2", "float2 t = p[i].yx; p[i] = t.yx;"},
      {"float4", "float4 t = p[i]; t.xy = t.xy; p[i] = t;"},
      {"struct S", "p[i] = p[i];"},
      {"struct T", "p[i] = p[i];"},
      {"struct T", "struct T t = p[i]; p[i] = t;"},
      {"uchar", "vstore4(vload4(i, p), i, p);"},
      {"int", "global int* q = p + i; *q = p[i];"},
  };
  for (const auto& [type, body] : kernels) {
    const std::string source = types + "kernel void k(global " + type +
                               "* p, int n) { int i = get_global_id(0); " + body + " }";
    const Lines lines = describe(source);
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.starts_with("store p[");
    })) << source;
  }
}

// What is stored is known where it is read again: nothing is loaded.
TEST(AccessPattern, AStoredIndex) {
  EXPECT_EQ(describe("kernel void k(global int* a, global int* b) {"
                     "  int i = get_global_id(0); a[i] = 2 * i; b[a[i]] = 1; }"),
            (Lines{"store a[(sext64(trunc32(gid0))*4)] 4 exact",
                   "store b[(sext64((trunc32(gid0)*2))*4)] 4 exact"}));
}

}  // namespace
}  // namespace tutti::kernel_compiler
