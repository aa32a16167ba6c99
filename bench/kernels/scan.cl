// SPDX-License-Identifier: Apache-2.0
// Inclusive prefix sums in three launches: each group scans its block, one group scans the blocks'
// sums, and every block takes over the sum of all before it. The local size must be BLOCK.
#define BLOCK 256

// Hillis and Steele: every pass adds the value `distance` to the left.
uint scan_in_group(__local uint* scratch, uint lid, uint value) {
  scratch[lid] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = 1; distance < BLOCK; distance *= 2) {
    const uint left = lid >= distance ? scratch[lid - distance] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    scratch[lid] += left;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return scratch[lid];
}

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void scan_blocks(
    __global const uint* restrict in, __global uint* restrict out, __global uint* restrict sums,
    uint n) {
  __local uint scratch[BLOCK];
  const uint lid = get_local_id(0);
  const uint i = get_global_id(0);
  const uint sum = scan_in_group(scratch, lid, i < n ? in[i] : 0);
  if (i < n) out[i] = sum;
  if (lid == BLOCK - 1) sums[get_group_id(0)] = sum;
}

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void scan_sums(
    __global uint* restrict sums, uint blocks) {
  __local uint scratch[BLOCK];
  const uint lid = get_local_id(0);
  uint carry = 0;
  for (uint begin = 0; begin < blocks; begin += BLOCK) {
    const uint i = begin + lid;
    const uint sum = scan_in_group(scratch, lid, i < blocks ? sums[i] : 0) + carry;
    if (i < blocks) sums[i] = sum;
    carry += scratch[BLOCK - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1))) void scan_add(
    __global uint* restrict out, __global const uint* restrict sums, uint n) {
  const uint block = get_group_id(0);
  const uint i = get_global_id(0);
  if (i < n && block > 0) out[i] += sums[block - 1];
}
