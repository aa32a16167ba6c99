// SPDX-License-Identifier: Apache-2.0
// One step of diffusion on a grid, in integers: a cell keeps half and takes an eighth of each of
// its four neighbours, rounded to nearest. Cells at the edge never change.
__kernel void stencil2d(__global const uint* restrict in, __global uint* restrict out, uint width,
                        uint height) {
  const uint x = get_global_id(0);
  const uint y = get_global_id(1);
  if (x >= width || y >= height) return;
  const uint i = y * width + x;
  const uint centre = in[i];
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
    out[i] = centre;
  } else {
    out[i] = (4 * centre + in[i - 1] + in[i + 1] + in[i - width] + in[i + width] + 4) / 8;
  }
}
