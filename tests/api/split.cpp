// SPDX-License-Identifier: Apache-2.0
#include "split.h"

namespace tutti::api_tests {
namespace {

// Made at first use, released after all tests. Test bodies see plain handles.
struct Shared : testing::Environment {
  Context context;
  Queue queue;
  Program program;

  void TearDown() override {
    program.reset();
    queue.reset();
    context.reset();
  }
};

Shared* shared = static_cast<Shared*>(testing::AddGlobalTestEnvironment(new Shared));

}  // namespace

const std::vector<size_t> kSplitSizes = {1,    63,   64,    65,    4096, 4097,
                                         6400, 9973, 16384, 20001, 65537};

void SplitTest::SetUpTestSuite() {}

void SplitTest::SetUp() {
  ContextTest::SetUp();
  if (HasFatalFailure()) return;
  if (shared->context.get() == nullptr) {
    shared->context = std::move(context_);
    context_ = Context(shared->context.get());
    ASSERT_SUCCESS(clRetainContext(context_));
    shared->queue = make_queue();
    shared->program = build(split_source());
  } else {
    ASSERT_SUCCESS(clRetainContext(shared->context));
    context_ = Context(shared->context.get());
  }
  queue_ = shared->queue;
  program_ = shared->program;
  ASSERT_NE(queue_, nullptr);
  ASSERT_NE(program_, nullptr);
}

void SplitTest::TearDown() {
  if (queue_ == nullptr) return;
  EXPECT_SUCCESS(clFinish(queue_));
}

Kernel SplitTest::kernel(const char* name) const { return make_kernel(program_, name); }

void SplitTest::launch(cl_kernel kernel, size_t items, size_t offset) const {
  const size_t global = round_up(items, kGroup);
  EXPECT_SUCCESS(clEnqueueNDRangeKernel(queue_, kernel, 1, offset == 0 ? nullptr : &offset, &global,
                                        &kGroup, 0, nullptr, nullptr));
}

void SplitTest::launch2(cl_kernel kernel, size_t width, size_t height, size_t offset_x,
                        size_t offset_y) const {
  const size_t global[2] = {round_up(width, kGroup2[0]), round_up(height, kGroup2[1])};
  const size_t offset[2] = {offset_x, offset_y};
  EXPECT_SUCCESS(
      clEnqueueNDRangeKernel(queue_, kernel, 2, offset, global, kGroup2, 0, nullptr, nullptr));
}

void SplitTest::launch3(cl_kernel kernel, const std::array<size_t, 3>& items,
                        const std::array<size_t, 3>& offset) const {
  size_t global[3];
  for (size_t d = 0; d < 3; ++d) global[d] = round_up(items[d], kGroup3[d]);
  EXPECT_SUCCESS(clEnqueueNDRangeKernel(queue_, kernel, 3, offset.data(), global, kGroup3, 0,
                                        nullptr, nullptr));
}

const std::string& split_source() {
  // GUARD: element 0 of every guarded buffer; see Guarded.
  static const std::string source = R"CLC(
#define GUARD 32

// ---- work-items in helpers and macros

uint global_index(void) { return get_global_id(0) - get_global_offset(0); }
uint groups_in_row(uint dim) { return get_num_groups(dim); }
uint helper_of_helper(uint dim) { return get_group_id(dim) * 1000 + groups_in_row(dim); }
#define LINEAR_GROUP() (get_group_id(1) * get_num_groups(0) + get_group_id(0))

kernel void helper_ids(global uint* out, uint n) {
  uint i = global_index();
  if (i >= n) return;
  out[GUARD + i] = helper_of_helper(0) + (uint)get_global_size(0) * 7u +
                   (uint)get_global_offset(0) * 11u + (uint)get_local_id(0);
}

kernel void macro_ids(global uint* out, uint width, uint height) {
  uint x = get_global_id(0) - get_global_offset(0);
  uint y = get_global_id(1) - get_global_offset(1);
  if (x >= width || y >= height) return;
  out[GUARD + y * width + x] = LINEAR_GROUP() * 100 + get_local_id(1) * 16 + get_local_id(0);
}

kernel void ids_3d(global uint* out, uint w, uint h, uint d) {
  uint x = get_global_id(0) - get_global_offset(0);
  uint y = get_global_id(1) - get_global_offset(1);
  uint z = get_global_id(2) - get_global_offset(2);
  if (x >= w || y >= h || z >= d) return;
  uint group = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) +
               get_group_id(0);
  out[GUARD + (z * h + y) * w + x] =
      group * 64 + (get_local_id(2) * 4 + get_local_id(1)) * 4 + get_local_id(0) +
      (uint)get_global_offset(2) * 100000u;
}

kernel void grid_stride(global uint* data, uint n) {
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) data[GUARD + i] += i;
}

kernel void write_group_result(global uint* out) {
  if (get_local_id(0) == 0) out[GUARD + get_group_id(0)] = get_group_id(0) * 3 + get_num_groups(0);
}

// ---- in place, several buffers

kernel void in_place(global uint* data, uint n, uint factor, uint term) {
  uint i = get_global_id(0);
  if (i < n) data[GUARD + i] = data[GUARD + i] * factor + term;
}

kernel void in_place_offset(global uint* data, uint n, uint factor) {
  uint i = get_global_id(0);
  if (i < n) data[GUARD + i] = data[GUARD + i] * factor + i;
}

kernel void three_in_two_out(global const int* a, global const int* b, constant int* c,
                             global int* sum, global int* difference, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  sum[GUARD + i] = a[GUARD + i] + b[GUARD + i] + c[i % 5];
  difference[GUARD + i] = a[GUARD + i] - b[GUARD + i];
}

kernel void same_twice(global const uint* in, global uint* out, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[GUARD + n + i] = in[GUARD + i] * 2 + 1;
}

kernel void in_place_two_names(global uint* a, global uint* b, uint n) {
  uint i = get_global_id(0);
  if (i < n) a[GUARD + i] = b[GUARD + i] + 5;
}

kernel void copy_words(global const uint* in, global uint* out, uint n, uint add) {
  uint i = get_global_id(0);
  if (i < n) out[i] = in[i] + add;
}

// ---- stencils, reads from elsewhere

kernel void stencil(global const int* in, global int* out, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  int left = i > 0 ? in[GUARD + i - 1] : 0;
  int right = i + 1 < n ? in[GUARD + i + 1] : 0;
  out[GUARD + i] = left / 4 + in[GUARD + i] / 2 + right / 4 + 1;
}

kernel void stencil_2d(global const int* in, global int* out, uint w, uint h) {
  uint x = get_global_id(0), y = get_global_id(1);
  if (x >= w || y >= h) return;
  uint i = GUARD + y * w + x;
  if (x == 0 || y == 0 || x == w - 1 || y == h - 1) { out[i] = in[i]; return; }
  out[i] = (in[i - 1] + in[i + 1] + in[i - w] + in[i + w]) / 4;
}

kernel void gather(global const int* in, global const uint* index, global int* out, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[GUARD + i] = in[GUARD + index[GUARD + i]];
}

kernel void reversed(global const int* in, global int* out, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[GUARD + n - 1 - i] = in[GUARD + i];
}

kernel void transpose(global const int* in, global int* out, uint w, uint h) {
  uint x = get_global_id(0), y = get_global_id(1);
  if (x < w && y < h) out[GUARD + x * h + y] = in[GUARD + y * w + x];
}

kernel void scatter(global const int* in, global const uint* index, global int* out, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[GUARD + index[GUARD + i]] = in[GUARD + i];
}

// ---- sparse writes

kernel void every_third(global uint* out, uint n) {
  uint i = get_global_id(0);
  if (i < n && i % 3 == 1) out[GUARD + i] = i;
}

kernel void strided(global uint* out, uint n, uint stride) {
  uint i = get_global_id(0);
  if (i < n) out[GUARD + i * stride] = i ^ 0x5555u;
}

kernel void where_flag(global uint* out, global const uchar* flag, uint n) {
  uint i = get_global_id(0);
  if (i < n && flag[GUARD + i] > 127) out[GUARD + i] += 1000;
}

kernel void loop_writes(global uint* out, global const uint* counts, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  for (uint k = 0; k < counts[GUARD + i]; ++k) out[GUARD + i * 4 + k] = i * 10 + k;
}

kernel void bounded_loop(global uint* out, uint n, uint from, uint to) {
  uint i = get_global_id(0);
  if (i >= n) return;
  for (uint k = from; k < to; ++k) out[GUARD + i * 8 + k] = i + k;
}

kernel void only_first_group(global uint* out) {
  if (get_group_id(0) == 0) out[GUARD + get_local_id(0)] = 5;
}

kernel void last_item(global uint* out) {
  if (get_global_id(0) == get_global_size(0) - 1) out[GUARD] = get_global_id(0);
}

kernel void nothing(global uint* out, uint n) {
  if (get_global_id(0) > 0x7fffffff) out[GUARD] = n;
}

// ---- local memory, atomics

kernel void group_sum(global const int* in, global int* out, local int* tile, uint n) {
  uint i = get_global_id(0), l = get_local_id(0);
  tile[l] = i < n ? in[GUARD + i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = get_local_size(0) / 2; s > 0; s /= 2) {
    if (l < s) tile[l] += tile[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) out[GUARD + get_group_id(0)] = tile[0];
}

kernel void group_reverse(global uint* data) {
  local uint tile[64];
  uint l = get_local_id(0);
  tile[l] = data[GUARD + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[GUARD + get_global_id(0)] = tile[63 - l] + get_group_id(0);
}

kernel void histogram(global const uchar* in, volatile global uint* bins, uint n) {
  uint i = get_global_id(0);
  if (i < n) atomic_inc(&bins[GUARD + in[GUARD + i]]);
}

kernel void atomic_min_max(global const int* in, volatile global int* out, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  atomic_min(&out[GUARD], in[GUARD + i]);
  atomic_max(&out[GUARD + 1], in[GUARD + i]);
  atomic_xor(&out[GUARD + 2], in[GUARD + i]);
  atomic_or(&out[GUARD + 3], in[GUARD + i] & 0xff);
  atomic_and(&out[GUARD + 4], in[GUARD + i] | 0xf0f0);
  atomic_sub(&out[GUARD + 5], in[GUARD + i]);
}

kernel void take_tickets(volatile global uint* counter, global uint* ticket, uint n) {
  uint i = get_global_id(0);
  if (i < n) ticket[GUARD + i] = atomic_add(&counter[GUARD], 1u);
}

kernel void compare_exchange_max(global const uint* in, volatile global uint* best, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  uint mine = in[GUARD + i], old = best[GUARD];
  while (mine > old) {
    uint seen = atomic_cmpxchg(&best[GUARD], old, mine);
    if (seen == old) break;
    old = seen;
  }
}

// ---- element types, argument kinds

kernel void chars(global char* data, uint n) {
  uint i = get_global_id(0);
  if (i < n) data[GUARD + i] = (char)(data[GUARD + i] * 3 + (char)i);
}
kernel void shorts(global const short* in, global short* out, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[GUARD + i] = (short)(in[GUARD + i] ^ (short)i);
}
kernel void longs(global ulong* data, uint n) {
  uint i = get_global_id(0);
  if (i < n) data[GUARD + i] = data[GUARD + i] * 6364136223846793005ul + i;
}
kernel void float4s(global const float4* in, global float4* out, float4 scale, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[GUARD + i] = in[GUARD + i].wzyx * scale;
}
// A 3-component vector takes the room of four; vload3 and vstore3 are packed.
kernel void int3s(global const int3* in, global int3* out, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[i + GUARD] = in[i + GUARD] + (int3)(1, 2, 3);
}
kernel void packed3(global const int* in, global int* out, uint n) {
  uint i = get_global_id(0);
  if (i < n) vstore3(vload3(i, in + GUARD).zyx, i, out + GUARD);
}

typedef struct { uint factor; short term; uint4 mask; } Parameters;
kernel void by_struct(global uint* data, Parameters p, uint n) {
  uint i = get_global_id(0);
  if (i < n) data[GUARD + i] = (data[GUARD + i] * p.factor + (uint)(int)p.term) ^ p.mask.z;
}
typedef struct { int key; uchar tag; } Item;
kernel void struct_elements(global Item* items, uint n) {
  uint i = get_global_id(0);
  if (i < n) { items[GUARD + i].key += (int)i; items[GUARD + i].tag = (uchar)(i * 5); }
}
kernel void pairs(global uint2* out, uint n, uint2 start) {
  uint i = get_global_id(0);
  if (i < n) out[GUARD + i] = start + (uint2)(i, i * i);
}
)CLC";
  return source;
}

}  // namespace tutti::api_tests
