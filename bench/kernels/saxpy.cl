// SPDX-License-Identifier: Apache-2.0
// out = a * x + y: next to no arithmetic, so the time is that of memory and transfers.
__kernel void saxpy(__global const float* restrict x, __global const float* restrict y,
                    __global float* restrict out, float a, uint n) {
  const uint i = get_global_id(0);
  if (i < n) out[i] = a * x[i] + y[i];
}
