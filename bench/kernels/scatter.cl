// SPDX-License-Identifier: Apache-2.0
// Writes through a permutation: where an item writes is known only from data.
__kernel void scatter(__global const uint* restrict in, __global const uint* restrict permutation,
                      __global uint* restrict out, uint n) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  const uint value = in[i];
  out[permutation[i]] = (value ^ (value >> 16)) * 0x45d9f3bu;
}
