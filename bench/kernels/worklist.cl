// SPDX-License-Identifier: Apache-2.0
// Work-items take numbers from one counter until there are none left ("persistent threads"), and
// compute the smallest factor of each by trial division. Who takes which number depends on time, so
// the kernel runs whole; several launches on their own data can run side by side.
__kernel void worklist(__global uint* next, __global const uint* restrict in,
                       __global uint* restrict out, uint n) {
  for (uint i = atomic_inc(next); i < n; i = atomic_inc(next)) {
    const uint value = in[i];
    uint factor = value % 2 == 0 ? 2 : 3;
    while (factor * factor <= value && value % factor != 0) factor += 2;
    out[i] = factor * factor <= value ? factor : value;
  }
}
