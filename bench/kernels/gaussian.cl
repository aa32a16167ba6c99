// SPDX-License-Identifier: Apache-2.0
// Gaussian blur of an RGBA image in a buffer; beyond its edges the nearest pixel counts. `weights`
// is the filter's square of 2 * RADIUS + 1 columns and rows; `scale` is one over their sum.
#define RADIUS 4

__kernel void gaussian(__global const uchar4* restrict in, __global const float* restrict weights,
                       __global uchar4* restrict out, int width, int height, float scale) {
  const int x = get_global_id(0);
  const int y = get_global_id(1);
  if (x >= width || y >= height) return;
  float4 sum = (float4)(0.0f);
  for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
    const int row = clamp(y + dy, 0, height - 1);
    for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
      const int column = clamp(x + dx, 0, width - 1);
      const float weight = weights[(dy + RADIUS) * (2 * RADIUS + 1) + dx + RADIUS];
      sum += weight * convert_float4(in[row * width + column]);
    }
  }
  out[y * width + x] = convert_uchar4_sat_rte(sum * scale);
}
