// SPDX-License-Identifier: Apache-2.0
// out = the transpose of in, which has `height` rows of `width`. A group moves one square through
// local memory, so that reads and writes both run along rows; the padding keeps its columns in
// different banks. The local size must be TILE × TILE.
#define TILE 16

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void transpose(
    __global const uint* restrict in, __global uint* restrict out, uint width, uint height) {
  __local uint tile[TILE][TILE + 1];
  const uint lx = get_local_id(0);
  const uint ly = get_local_id(1);
  const uint left = get_group_id(0) * TILE;
  const uint top = get_group_id(1) * TILE;
  if (left + lx < width && top + ly < height) {
    tile[ly][lx] = in[(top + ly) * width + left + lx];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (left + ly < width && top + lx < height) {
    out[(left + ly) * height + top + lx] = tile[lx][ly];
  }
}
