// SPDX-License-Identifier: Apache-2.0
// Two stages of a pipeline: each pixel is smoothed with its neighbours in the frame, then mapped.
// Values wrap around.
__kernel void frames_smooth(__global const uint* restrict in, __global uint* restrict out,
                            uint size) {
  const uint i = get_global_id(0);
  if (i >= size) return;
  const uint before = i > 0 ? i - 1 : 0, after = i + 1 < size ? i + 1 : i;
  out[i] = in[before] + 2 * in[i] + in[after];
}

__kernel void frames_map(__global uint* data, uint size) {
  const uint i = get_global_id(0);
  if (i >= size) return;
  uint value = data[i];
  for (uint k = 0; k < 10; ++k) value = 5 * (value ^ (value >> 11)) + k;
  data[i] = value;
}
