// SPDX-License-Identifier: Apache-2.0
// Global atomics whose result is unused.
__kernel void histogram(__global const uint* restrict in, __global uint* bins, uint n) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  atomic_inc(&bins[(in[i] * 2654435761u) >> 24]);
}
