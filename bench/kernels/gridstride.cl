// SPDX-License-Identifier: Apache-2.0
// A loop over the data by get_global_size: few items, many elements each.
__kernel void gridstride(__global const uint* restrict in, __global uint* restrict out, uint n,
                         uint rounds) {
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
    uint value = in[i];
    for (uint r = 0; r < rounds; ++r) value = value * 1664525u + 1013904223u;
    out[i] = value;
  }
}
