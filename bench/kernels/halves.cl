// SPDX-License-Identifier: Apache-2.0
// Steps of a pseudo-random generator for each element, in place.
__kernel void halves(__global uint* data, uint size, uint rounds) {
  const uint i = get_global_id(0);
  if (i >= size) return;
  uint value = data[i];
  for (uint k = 0; k < rounds; ++k) {
    value ^= value << 13;
    value ^= value >> 17;
    value ^= value << 5;
  }
  data[i] = value;
}
