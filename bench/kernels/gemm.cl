// SPDX-License-Identifier: Apache-2.0
// C = A * B, row-major, in tiles of local memory; sizes need not divide by the tile.
#define TILE 16

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void gemm(__global const float* restrict a, __global const float* restrict b,
          __global float* restrict c, int m, int n, int k) {
  __local float tile_a[TILE][TILE];
  __local float tile_b[TILE][TILE];
  const int lx = get_local_id(0);
  const int ly = get_local_id(1);
  const int column = get_global_id(0);
  const int row = get_global_id(1);

  float sum = 0.0f;
  for (int base = 0; base < k; base += TILE) {
    tile_a[ly][lx] = (row < m && base + lx < k) ? a[row * k + base + lx] : 0.0f;
    tile_b[ly][lx] = (base + ly < k && column < n) ? b[(base + ly) * n + column] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE; ++i) sum += tile_a[ly][i] * tile_b[i][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
