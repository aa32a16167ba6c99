// SPDX-License-Identifier: Apache-2.0
// Each group adds its elements in local memory and writes one result. The local size must be a
// power of two.
__kernel void groupsum(__global const uint* restrict in, __global uint* restrict out,
                       __local uint* scratch, uint n) {
  const uint lid = get_local_id(0);
  const uint i = get_global_id(0);
  scratch[lid] = i < n ? in[i] : 0u;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
    if (lid < half_size) scratch[lid] += scratch[lid + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lid == 0) out[get_group_id(0)] = scratch[0];
}
