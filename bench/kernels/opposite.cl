// SPDX-License-Identifier: Apache-2.0
// Each element of the result comes from the other half of the input. Values wrap around.
__kernel void opposite(__global const uint* restrict in, __global uint* restrict out, uint size) {
  const uint i = get_global_id(0);
  if (i >= size) return;
  uint value = in[(i + size / 2) % size];
  for (uint k = 0; k < 10; ++k) value = 5 * (value ^ (value >> 11)) + k;
  out[i] = value;
}
