// SPDX-License-Identifier: Apache-2.0
// Sums of blocks, of 16 elements per work-item, and a step of all elements that uses them. Values
// wrap around.
__kernel void feedback_sum(__global const uint* restrict data, __global uint* restrict sums,
                           __local uint* partial, uint size) {
  const uint item = get_local_id(0), items = get_local_size(0);
  const uint begin = get_group_id(0) * items * 16;
  uint sum = 0;
  for (uint k = 0; k < 16; ++k) {
    const uint i = begin + k * items + item;
    if (i < size) sum += (data[i] ^ (data[i] >> 7)) * 3u;
  }
  partial[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = items / 2; distance > 0; distance /= 2) {
    if (item < distance) partial[item] += partial[item + distance];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) sums[get_group_id(0)] = partial[0];
}

__kernel void feedback_use(__global uint* restrict data, __global const uint* restrict sums,
                           uint blocks, uint size) {
  const uint i = get_global_id(0);
  if (i >= size) return;
  uint value = data[i];
  const uint sum = sums[i % blocks];
  for (uint k = 0; k < 8; ++k) value = 5 * (value ^ (value >> 11)) + sum;
  data[i] = value;
}
