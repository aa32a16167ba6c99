// SPDX-License-Identifier: Apache-2.0
// Recurrences along the rows of a matrix, and along its columns, in place: a work-item has a line.
// Values wrap around.
__kernel void sweep_rows(__global uint* data, uint size) {
  const uint y = get_global_id(0);
  if (y >= size) return;
  uint carried = 0;
  for (uint x = 0; x < size; ++x) {
    carried = 5 * carried + data[y * size + x];
    data[y * size + x] = carried;
  }
}

__kernel void sweep_columns(__global uint* data, uint size) {
  const uint x = get_global_id(0);
  if (x >= size) return;
  uint carried = 0;
  for (uint y = 0; y < size; ++y) {
    carried = 5 * carried + data[y * size + x];
    data[y * size + x] = carried;
  }
}
