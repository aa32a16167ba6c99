// SPDX-License-Identifier: Apache-2.0
// One step of diffusion on a torus, in integers: as stencil2d, but the first row and column are the
// neighbours of the last ones.
__kernel void torus(__global const uint* restrict in, __global uint* restrict out, uint width,
                    uint height) {
  const uint x = get_global_id(0);
  const uint y = get_global_id(1);
  if (x >= width || y >= height) return;
  const uint left = (x + width - 1) % width, right = (x + 1) % width;
  const uint up = (y + height - 1) % height, down = (y + 1) % height;
  out[y * width + x] = (4 * in[y * width + x] + in[y * width + left] + in[y * width + right] +
                        in[up * width + x] + in[down * width + x] + 4) /
                       8;
}
